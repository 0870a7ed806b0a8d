"""The reference pages are complete and name only what exists."""

from __future__ import annotations

import importlib
import json
import pkgutil
import re
import subprocess
import sys
from dataclasses import fields, is_dataclass
from pathlib import Path

import click
import pytest

import reasoningbank.types
from promises import promise
from reasoningbank.cli.app import COMMANDS, GROUPS, SubGroup, command_of
from reasoningbank.mcp.schemas import specs_of
from reasoningbank.operations.json import properties_of, schema_of
from reasoningbank.operations.methods import answer_schema, interface
from reasoningbank.operations.operation import PROFILES, Operation
from reasoningbank.operations.table import OPERATIONS, SHAPES
from reasoningbank.settings import PREFIX, Settings
from reasoningbank.web.routes import openapi

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs" / "reference"
CLI = (REFERENCE / "cli.md").read_text(encoding="utf-8")
MCP = (REFERENCE / "mcp.md").read_text(encoding="utf-8")
REST = (REFERENCE / "rest.md").read_text(encoding="utf-8")
SETTINGS = (REFERENCE / "settings.md").read_text(encoding="utf-8")
SEED = (REFERENCE / "seed-api.md").read_text(encoding="utf-8")
SHARED = {"--json", "--url", "--tenant", "--project", "--team", "--org"}
BY_COMMAND = {each.command.name: each for each in OPERATIONS if each.command is not None}


def all_commands() -> list[str]:
    """Every command, those of groups by two words."""
    found = []
    for name in COMMANDS:
        command = command_of(name)
        found.append(name)
        if isinstance(command, SubGroup):
            found += [f"{name} {action}" for action in command.list_commands(click.Context(command))]
    return found


def section(name: str, page: str = CLI) -> str:
    """What a page says under one heading."""
    match = re.search(rf"^## {re.escape(name)}\n(.*?)(?=^## |\Z)", page, flags=re.DOTALL | re.MULTILINE)
    assert match, name
    return match.group(1)


@promise("docs:cli-complete")
def test_the_generated_files_are_those_of_today() -> None:
    tool = ROOT / "tools" / "write_reference.py"
    done = subprocess.run([sys.executable, str(tool), "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@promise("docs:cli-complete")
@pytest.mark.parametrize("name", all_commands())
def test_every_command_option_and_field_is_documented(name: str) -> None:
    command = command_of(name)
    assert command is not None
    text, shared = section(f"rbank {name}"), CLI.partition("## Exit status")[0]
    for parameter in command.params if name not in GROUPS else ():
        if isinstance(parameter, click.Option):
            for flag in parameter.opts:
                assert f"`{flag}" in (text + shared if flag in SHARED else text), flag
            assert parameter.help, (name, parameter.name)
    if name in BY_COMMAND:
        for field in answer_schema(BY_COMMAND[name]).get("properties", {}):
            assert f"`{field}`" in text, field


@promise("docs:cli-complete")
def test_the_page_documents_no_command_or_option_that_is_not_there() -> None:
    assert re.findall(r"^## rbank (.+)$", CLI, flags=re.MULTILINE) == all_commands()
    for name in all_commands():
        command = command_of(name)
        assert command is not None
        known = {flag for parameter in command.params for flag in parameter.opts}
        assert set(re.findall(r"^\| `(--[a-z0-9-]+)", section(f"rbank {name}"), flags=re.MULTILINE)) <= known


@pytest.mark.promise("operations:once")
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.method)
def test_every_operation_is_offered_somewhere_and_every_offer_is_documented(operation: Operation) -> None:
    assert operation.command or operation.tool or operation.route
    assert interface(operation).summary
    if operation.command is not None:
        assert operation.summary in (command_of(operation.command.name) or click.Command("")).get_short_help_str(300)
    if operation.tool is not None:
        said = section(operation.tool.name, MCP)
        assert operation.tool.description in said
    if operation.route is not None:
        assert operation.summary in section(f"{operation.route.method} {operation.route.place}", REST)


def public_types() -> dict[str, type]:
    """Every dataclass of the types and of composed operations, by name."""
    names = [f"reasoningbank.types.{module.name}" for module in pkgutil.iter_modules(reasoningbank.types.__path__)]
    modules = [importlib.import_module(name) for name in [*names, "reasoningbank.operations.composed"]]
    kinds = [each for module in modules for each in vars(module).values() if isinstance(each, type)]
    return {each.__name__: each for each in kinds if is_dataclass(each)}


@pytest.mark.promise("operations:once")
@pytest.mark.parametrize("name", list(SHAPES))
def test_every_shape_is_of_a_type_and_names_only_what_the_type_has(name: str) -> None:
    assert properties_of(schema_of(public_types()[name]))


@pytest.mark.promise("web:openapi")
def test_the_openapi_description_names_every_route_and_only_what_it_defines() -> None:
    described = openapi()
    assert described["openapi"] == "3.1.0"
    assert re.findall(r"\{(\w+)\}", json.dumps(list(described["paths"])))
    ids = []
    for path, methods in described["paths"].items():
        for method, each in methods.items():
            assert method in {"get", "post", "patch", "delete"}
            ids.append(each["operationId"])
            placed = {one["name"] for one in each.get("parameters", ()) if one["in"] == "path"}
            assert placed == set(re.findall(r"\{(\w+)\}", path))
            assert each["responses"]["default"]["content"]["application/problem+json"]["schema"]["$ref"]
    assert len(ids) == len(set(ids))
    routed = {each.route.place for each in OPERATIONS if each.route is not None}
    assert routed < set(described["paths"])


def bare_objects(schema: object) -> bool:
    """Whether an object somewhere in a schema has neither named fields nor says that it is a free map."""
    if isinstance(schema, list):
        return any(map(bare_objects, schema))
    if not isinstance(schema, dict):
        return False
    bare = schema.get("type") == "object" and not schema.get("properties") and "additionalProperties" not in schema
    return bare or any(map(bare_objects, schema.values()))


@promise(
    "interface:described",
    "No body, argument or answer in OpenAPI and in the tools is an object of which nothing is said.",
    source="issue 10",
)
def test_no_object_of_an_interface_is_left_undescribed() -> None:
    described = openapi()["paths"]
    assert bare_objects({"items": {"type": "object"}})
    assert not [f"{method} {path}" for path, each in described.items() for method in each if bare_objects(each[method])]
    specs = specs_of(",".join(PROFILES)).values()
    assert not [each.name for each in specs if bare_objects(each.input_schema) or bare_objects(each.output_schema)]
    body = described["/api/v1/conversations"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert body["required"] == ["conv_id"]
    assert set(body["properties"]["actions"]["items"]["properties"]) >= {"text", "parameters", "uses"}


@promise("docs:settings-complete", "Every setting is documented with its variable.", source="spec/clients 4e")
def test_every_setting_is_documented() -> None:
    documented = set(re.findall(rf"^\| `({PREFIX}[A-Z_]+)`", SETTINGS, flags=re.MULTILINE))
    assert documented == {f"{PREFIX}{field.name.upper()}" for field in fields(Settings)}


def seed_rows() -> list[tuple[str, str]]:
    """Go name and counterpart of every row."""
    return re.findall(r"^\| `([^`]+)` \| ([^|]+) \|", SEED, flags=re.MULTILINE)


@promise(
    "docs:seed-api",
    "Every public name of seed 004 has a counterpart that exists or an issue that will bring it.",
    source="issue, Domain; seed 004",
)
def test_every_counterpart_named_as_present_exists() -> None:
    present = [name for _, cell in seed_rows() for name in re.findall(r"`([^`]+)`", cell)]
    assert len(present) > 100
    for name in sorted(set(present)):
        assert resolved(name) is not None, name


@promise("docs:seed-api")
def test_every_row_has_a_counterpart_or_a_planned_issue() -> None:
    rows = seed_rows()
    assert len(rows) == len({name for name, _ in rows}) >= 189
    for name, cell in rows:
        assert cell.startswith("`reasoningbank.") or re.fullmatch(r"issue: [a-z ]+ \(planned\)", cell), name
    for name in ("SignalStore", "CosineSimilarity", "Service.GetMemoryVector", "Service.ListMemories", "Service.Stats"):
        assert name in dict(rows)


def resolved(name: str) -> object:
    """The object of a dotted name: the longest module in it, then attributes; a dataclass field counts."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            place: object = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for part in parts[end:]:
            place = getattr(place, part)
        return place
    return None
