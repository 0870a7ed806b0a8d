"""One method and one entry of the table give a command, a tool, a route and a place in the reference."""

from __future__ import annotations

import json
import runpy
from collections.abc import Callable
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import pytest
from click.testing import CliRunner
from starlette.testclient import TestClient

from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.cli import app
from reasoningbank.mcp import schemas, tools
from reasoningbank.mcp.banks import Banks
from reasoningbank.mcp.calls import Caller
from reasoningbank.operations import methods as binding
from reasoningbank.operations import table
from reasoningbank.operations.operation import Command, Operation, Route, Tool
from reasoningbank.settings import Settings
from reasoningbank.types.memory import Memory
from reasoningbank.web import app as web
from reasoningbank.web import routes
from reasoningbank.web.requests import TENANT

TOOL = Path(__file__).resolve().parents[2] / "tools" / "write_reference.py"
ENTRY = Operation(
    method="longest",
    summary="Find the longest memory.",
    command=Command(name="longest", section="Memories"),
    tool=Tool(
        name="memory_longest",
        profiles=("core",),
        description="Finds the longest memory.",
        inputs="least project_id",
        outputs="id title tokens",
    ),
    route=Route(method="GET", path="/longest", inputs="least"),
)


def longest(bank: Bank, *, least: int = 0) -> Memory:
    """Find the memory whose text is the longest.

    Args:
        least: At least so many tokens.
    """
    return max((each for each in bank.memories.list() if each.tokens >= least), key=lambda each: each.tokens)


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Adds the method and the entry, and nothing else."""
    operations = (*table.OPERATIONS, ENTRY)
    monkeypatch.setattr(Bank, "longest", longest, raising=False)
    for module in (table, app, schemas, routes, binding):
        monkeypatch.setattr(module, "OPERATIONS", operations)
    commands = app._commands()
    monkeypatch.setattr(app, "_ALL", commands)
    monkeypatch.setattr(app, "COMMANDS", {**app.COMMANDS, "longest": ENTRY.summary})
    monkeypatch.setattr(app, "_SECTION_OF", {name.split()[0]: section for name, (section, _) in commands.items()})
    monkeypatch.setattr(tools, "tools_of", schemas.specs_of)
    return lambda: None


@promise(
    "operations:once",
    "An operation is one method and one entry of a table: command, tool, route, schemas and reference follow from it.",
    source="DESIGN D17; issue 10",
)
@promise(
    "web:openapi",
    "GET /openapi.json describes every endpoint of `serve --web` as OpenAPI 3.1.",
    source="issue 10",
)
@pytest.mark.usefixtures("added")
def test_one_method_and_one_entry_are_a_command_a_tool_a_route_and_a_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("REASONINGBANK_HOME", str(home))
    with Bank.open(tenant="acme", project="shop", settings=Settings(home=home)) as bank:
        bank.record(title="Short", content="Wait.", outcome="success")
        wanted = bank.record(title="Long", content="Wait twice as long after each failure.", outcome="success")

    run = CliRunner()
    assert "longest" in run.invoke(app.rbank, ["--help"]).stdout
    helped = run.invoke(app.rbank, ["longest", "--help"]).stdout
    assert "--least N" in helped
    assert "At least so many tokens." in helped
    line = ["--tenant", "acme", "--project", "shop", "longest", "--least", "1"]
    assert json.loads(run.invoke(app.rbank, [*line, "--json"]).stdout)["id"] == wanted.id
    assert wanted.title in run.invoke(app.rbank, line).stdout

    banks = Banks(Settings(home=home), project="shop")
    offered = tools.Tools(banks)
    spec = offered.specs["memory_longest"]
    answer = offered.call("memory_longest", {"least": 1}, Caller(tenant="acme", session="s"))
    assert (answer.failed, answer.fields["id"]) == (False, wanted.id)
    jsonschema.validate(dict(answer.fields), spec.output_schema)
    assert spec.input_schema["properties"]["least"] == {"type": "integer"}
    assert offered.call("memory_longest", {"least": "many"}, Caller(tenant="acme", session="s")).failed

    endpoints = web.build_web(banks)

    async def owned(scope, receive, send):  # type: ignore[no-untyped-def]  # an ASGI application
        await endpoints({**scope, TENANT: "acme"}, receive, send)

    client = TestClient(owned)
    assert client.get("/longest?least=1").json()["id"] == wanted.id
    assert client.get("/longest?least=x").status_code == 400
    described = client.get("/openapi.json").json()["paths"]["/longest"]["get"]
    assert [each["name"] for each in described["parameters"]] == ["least", "project_id"]
    banks.close()

    made = runpy.run_path(str(TOOL))
    assert "## rbank longest\n" in made["cli_page"]()
    assert "## memory_longest\n" in made["mcp_page"]()
    assert "## GET /longest\n" in made["rest_page"]()
    assert "### bank.longest\n" in made["python_page"]()
