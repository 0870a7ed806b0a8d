"""One method and one entry of the table give a command, a tool, a route and a place in the reference."""

from __future__ import annotations

import json
import re
import runpy
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import jsonschema  # type: ignore[import-untyped]
import pytest
from click.testing import CliRunner
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from starlette.testclient import TestClient

import reasoningbank
from mcp_processes import clean_environment
from promises import promise
from reasoningbank import errors
from reasoningbank.bank import Bank
from reasoningbank.cli import app
from reasoningbank.cli.built import built_command, plain
from reasoningbank.mcp import schemas, tools
from reasoningbank.mcp.banks import Banks
from reasoningbank.mcp.calls import Caller
from reasoningbank.mcp.protocol_sessions import SCOPES
from reasoningbank.memories.memories import Memories
from reasoningbank.operations import methods as binding
from reasoningbank.operations import table
from reasoningbank.operations.operation import Command, Operation, Route, Tool
from reasoningbank.settings import Settings
from reasoningbank.types.access import ACCESSES
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


def _add(monkeypatch: pytest.MonkeyPatch, entry: Operation, method: Callable[..., object]) -> None:
    """Adds a method of the bank and its entry, whose command is ``longest``, and nothing else."""
    operations = (*table.OPERATIONS, entry)
    monkeypatch.setattr(Bank, entry.method, method, raising=False)
    binding.described.cache_clear()
    binding.function_of.cache_clear()
    for module in (table, app, routes, binding):
        monkeypatch.setattr(module, "OPERATIONS", operations)
    commands = app._commands()
    monkeypatch.setattr(app, "_ALL", commands)
    monkeypatch.setattr(app, "COMMANDS", {**app.COMMANDS, "longest": entry.summary})
    monkeypatch.setattr(app, "_SECTION_OF", {name.split()[0]: section for name, (section, _) in commands.items()})
    monkeypatch.setattr(tools, "tools_of", schemas.specs_of)


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch) -> None:
    """Adds the operation of the longest memory."""
    _add(monkeypatch, ENTRY, longest)


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
        await endpoints({**scope, TENANT: "acme", SCOPES: ACCESSES}, receive, send)

    client = TestClient(owned)
    assert client.get("/api/v1/longest?least=1").json()["id"] == wanted.id
    assert client.get("/api/v1/longest?least=x").status_code == 400
    described = client.get("/openapi.json").json()["paths"]["/api/v1/longest"]["get"]
    assert [each["name"] for each in described["parameters"]] == ["least", "project_id"]
    banks.close()

    made = runpy.run_path(str(TOOL))
    assert "## rbank longest\n" in made["cli_page"]()
    assert "## memory_longest\n" in made["mcp_page"]()
    assert "## GET /api/v1/longest\n" in made["rest_page"]()
    assert "### bank.longest\n" in made["python_page"]()


METHOD = '''
    def longest(self, *, least: int = 0) -> Memory:
        """Find the memory whose text is the longest.

        Args:
            least: At least so many tokens.
        """
        return max((each for each in self.memories.list() if each.tokens >= least), key=lambda each: each.tokens)

'''
WRITTEN_ENTRY = """    Operation(
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
    ),
"""


@promise("operations:once")
def test_a_server_offers_a_new_operation_at_once(tmp_path: Path) -> None:
    """The package with one more method and one more entry serves the tool, with nothing written anew."""
    package = Path(reasoningbank.__file__).parent
    copy = tmp_path / "src" / "reasoningbank"
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for name, place, added in (
        ("bank.py", "    def close(self) -> None:\n", METHOD.lstrip("\n")),
        ("operations/table.py", "    # ---- every day\n", WRITTEN_ENTRY),
    ):
        before, found, after = (copy / name).read_text("utf-8").partition(place)
        assert found
        (copy / name).write_text(f"{before}{added}{found}{after}", "utf-8")
    home = tmp_path / "home"
    with Bank.open(tenant="acme", project="shop", settings=Settings(home=home)) as bank:
        bank.record(title="Short", content="Wait.", outcome="success")
        wanted = bank.record(title="Long", content="Wait twice as long after each failure.", outcome="success")

    async def asked() -> tuple[list[str], Any]:
        server = StdioServerParameters(
            command=sys.executable,
            args=["-m", "reasoningbank.cli", "--tenant", "acme", "--project", "shop", "serve"],
            env={**clean_environment(home), "PYTHONPATH": str(copy.parent)},
        )
        async with Client(server, read_timeout_seconds=60) as client:
            listed = await client.list_tools()
            answer = await client.call_tool("memory_longest", {"least": 1})
            return [each.name for each in listed.tools], answer

    names, answer = anyio.run(asked)
    assert names == ["memory_longest", *schemas.tools_of("core,admin")]
    assert answer.structured_content["id"] == wanted.id


def widest(self: Memories) -> Memory:
    """Find the memory that weighs the most."""
    return max(self.list(), key=lambda each: each.tokens)


@promise("operations:once")
def test_a_method_of_a_resource_is_on_the_page_of_python_by_its_entry_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = Operation(method="memories.widest", summary="Find it.", command=Command(name="widest", section="Memories"))
    monkeypatch.setattr(Memories, "widest", widest, raising=False)
    monkeypatch.setattr(table, "OPERATIONS", (*table.OPERATIONS, entry))
    page = runpy.run_path(str(TOOL))["python_page"]()
    assert "### bank.memories.widest\n" in page
    assert "Find the memory that weighs the most." in page
    monkeypatch.setattr(table, "OPERATIONS", table.OPERATIONS[:-1])
    assert "### bank.memories.widest\n" not in runpy.run_path(str(TOOL))["python_page"]()


@dataclass(frozen=True)
class Silent:
    """A result that nobody has written a text for."""

    number: int


@pytest.mark.parametrize(
    ("result", "plural", "said"),
    [
        (int, "", "answers int, which is not a JSON object: answer a dataclass"),
        (tuple[Memory, ...], "", "which is not a JSON object: answer a dataclass, or name the list with `plural`"),
        (Silent, "", "answers Silent, which has no text for people: add a function of it to _TEXTS in reasoningbank/"),
        (Memory | Silent, "", "answers Silent, which has no text for people"),
        (tuple[Memory, ...], "wishes", "answers the list 'wishes', which has no text for people: add a function of it"),
    ],
)
@promise(
    "operations:shown",
    "An operation whose answer has no JSON or no text is refused where it is read from the table, with what to add.",
    source="issue 10",
)
def test_an_answer_without_json_or_text_is_named_before_anybody_calls_it(
    result: object, plural: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wished(bank: Bank) -> object:
        """Wish."""
        return bank

    wished.__annotations__["return"] = result
    monkeypatch.setattr(Bank, "wished", wished, raising=False)
    entry = Operation(
        method="wished", summary="Wish.", command=Command(name="wished", section="Memories"), plural=plural
    )
    for module in (table, binding):
        monkeypatch.setattr(module, "OPERATIONS", (*table.OPERATIONS, entry))
    binding.described.cache_clear()
    binding.function_of.cache_clear()
    for load in (lambda: built_command(entry), binding.written_interface, lambda: binding.answer_schema(entry)):
        with pytest.raises(TypeError, match=re.escape(said)) as refused:
            load()
        assert str(refused.value).startswith("operation 'wished' answers ")


@promise("operations:shown")
@pytest.mark.parametrize("operation", table.OPERATIONS, ids=lambda each: each.method)
def test_every_answer_can_be_shown(operation: Operation) -> None:
    schema = binding.answer_schema(operation)
    kinds = schema.get("anyOf", [schema])
    assert kinds
    assert all(kind["properties"] for kind in kinds)


def motto(bank: Bank) -> str:
    """Say what the bank is about."""
    return f"{bank.scope.project} learns."


@promise("operations:shown")
def test_an_answer_that_is_one_text_is_shown_as_it_is_and_is_the_field_text_in_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = Operation(
        method="motto",
        summary="Say it.",
        command=Command(name="longest", section="Memories"),
        tool=Tool(name="bank_motto", profiles=("core",), description="Says it.", inputs="project_id", outputs="text"),
        route=Route(method="GET", path="/motto"),
        reads=True,
    )
    _add(monkeypatch, entry, motto)
    monkeypatch.setenv("REASONINGBANK_HOME", str(tmp_path / "home"))
    run, line = CliRunner(), ["--tenant", "acme", "--project", "shop", "longest"]
    helped = run.invoke(app.rbank, ["longest", "--help"])
    assert (helped.exit_code, "Say what the bank is about." in helped.stdout) == (0, True)
    assert run.invoke(app.rbank, line).stdout == "shop learns.\n"
    assert json.loads(run.invoke(app.rbank, [*line, "--json"]).stdout) == {"text": "shop learns."}
    banks = Banks(Settings(home=tmp_path / "home"), project="shop")
    answer = tools.Tools(banks).call("bank_motto", {}, Caller(tenant="acme", session="s"))
    banks.close()
    assert (answer.failed, dict(answer.fields)) == (False, {"text": "shop learns."})
    assert "shop learns." in answer.text
    described = routes.openapi()["paths"]["/api/v1/motto"]["get"]["responses"]["200"]["content"]["application/json"]
    assert described["schema"]["properties"] == {"text": {"type": "string"}}


_OF_PYTHON = re.compile(r"\bNone\b|\b[Rr]aises [A-Z]\w+|\bdatetime\b|`[A-Z]\w*`|\b[A-Z]+_[A-Z_]+\b|\w\.py\b")
"""Words of Python: its values, a method that raises, names of classes and constants, source files."""
_CLASSES = {name for name in (*reasoningbank.__all__, *vars(errors)) if re.fullmatch(r"([A-Z][a-z]+){2,}", name)}


@promise(
    "operations:plain-help",
    "The help of a command speaks to whoever types it: no value of Python, no class, no constant, no source file.",
    source="DESIGN D17",
)
@pytest.mark.parametrize("operation", [each for each in table.OPERATIONS if each.command], ids=lambda each: each.method)
def test_the_help_of_a_command_does_not_speak_python(operation: Operation) -> None:
    described = binding.described(operation.method)
    text = plain("\n".join([described.summary, described.details, *(each.help for each in described.parameters)]))
    assert _OF_PYTHON.findall(text) == []
    assert _CLASSES & set(re.findall(r"\w+", text)) == set()
