"""Write what is made from the table of operations: reference pages, the listing of tools, the options of commands.

``--check`` writes nothing and fails when a file is not what it should be.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from reasoningbank import aio, bank
from reasoningbank.cli.app import COMMANDS, EXIT_CODES, GROUPS, SubGroup, command_of
from reasoningbank.cli.built import plain
from reasoningbank.mcp.schemas import specs_of
from reasoningbank.mcp.schemas import written as written_tools
from reasoningbank.operations.methods import answer_schema, described, resource_class, resources, written_interface
from reasoningbank.operations.operation import PROFILES
from reasoningbank.operations.signature import read_docstring
from reasoningbank.operations.table import OPERATIONS
from reasoningbank.web.routes import openapi

ROOT = Path(__file__).resolve().parents[1]
_MADE = "<!-- Made by `make reference` from the table of operations; do not edit. -->\n\n"
_SHARED = {"url", "tenant", "project", "team", "org", "as_json"}


def files() -> Iterator[tuple[str, str]]:
    """Give every file by its path in the repository; the pages are made from what was written before them."""
    yield "src/reasoningbank/operations/interface.json", written_interface()
    described.cache_clear()
    yield "src/reasoningbank/mcp/tools.json", written_tools()
    yield "docs/reference/cli.md", cli_page()
    yield "docs/reference/mcp.md", mcp_page()
    yield "docs/reference/rest.md", rest_page()
    yield "docs/reference/python.md", python_page()


def cli_page() -> str:
    """Return the page of the command line."""
    parts = [
        "# The command line\n\n"
        + _MADE
        + "`rbank [--url URL] [--tenant T] [--project P] [--team TEAM] [--org ORG] COMMAND ... [--json]`. It is also "
        "installed as `reasoningbank`. Options of every command stand before the command or after it; after it "
        "wins. `--json` stands after it.\n\n"
        "* Data goes to stdout; warnings, progress, hints and errors to stderr.\n"
        '* `--json` prints one JSON object. An error is then `{"error", "message", "hint"}` on stderr, and stdout '
        "stays empty.\n* `-h` or `--help` after any command shows its options; `--version` shows the version.\n"
        "* The beginning of an id, of at least four characters, stands for the id where it is unique. An ambiguous one "
        "is an error that lists what it may mean. Of a node or an edge that is erased without a question the whole id "
        "is needed.\n"
        "* On a terminal `list`, `sessions` and `metrics` are tables; `search`, `status` and `stats` have colours. "
        "In a pipe, for an agent, with `NO_COLOR` or `TERM=dumb` the text is plain.\n\n"
        "[Settings](settings.md) lists the environment variables and the settings file.\n\n"
        "## Options of every command\n",
        _options([each for each in command_of("get").params if each.name in _SHARED]),  # type: ignore[union-attr]
        "## Exit status\n\n```text\n" + EXIT_CODES.replace("\b\nExit status:\n", "") + "```\n",
    ]
    operations = {each.command.name: each for each in OPERATIONS if each.command is not None}
    for name in COMMANDS:
        command = command_of(name)
        assert command is not None
        if not isinstance(command, SubGroup):
            parts.append(_command(name, command, operations.get(name)))
            continue
        parts.append(f"## rbank {name}\n\n{GROUPS[name]}\n")
        for action in command.list_commands(click.Context(command)):
            whole = f"{name} {action}"
            inner = command_of(whole)
            assert inner is not None
            parts.append(_command(whole, inner, operations.get(whole)))
    return "\n".join(parts)


def _command(name: str, command: click.Command, operation: Any) -> str:
    takes = " ".join(
        each.make_metavar(click.Context(command)) for each in command.params if isinstance(each, click.Argument)
    )
    own = [each for each in command.params if isinstance(each, click.Option) and each.name not in _SHARED]
    text = " ".join((command.help or "").split("\n\n")[0].split())
    rest = "\n\n".join(" ".join(part.split()) for part in (command.help or "").split("\n\n")[1:])
    lines = [
        f"## rbank {name}\n",
        f"`rbank {name}{f' {takes}' if takes else ''}{' [OPTIONS]' if own else ''}`\n",
        f"{text}\n",
    ]
    lines += [f"{rest}\n"] if rest else []
    lines += [_options(own)] if own else []
    if operation is not None:
        lines.append(f"JSON: {_fields(answer_schema(operation))}.\n")
    return "\n".join(lines)


def _options(options: Sequence[click.Parameter]) -> str:
    rows = ["| option | meaning |", "|---|---|"]
    for each in options:
        record = each.get_help_record(click.Context(click.Command("rbank")))
        if record is not None:
            flag, said = (_cell(text) for text in record)
            rows.append(f"| `{flag}` | {said} |")
    return "\n".join(rows) + "\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _fields(schema: Mapping[str, Any], depth: int = 4) -> str:
    """Return the names of an object's fields, those of inner objects in brackets; of one of several, of each."""
    kinds = [each for each in schema.get("anyOf", ()) if each.get("properties")]
    if kinds:
        return "; or ".join(_fields(each, depth) for each in kinds)
    words = []
    for name, inner in schema.get("properties", {}).items():
        while "items" in inner or inner.get("additionalProperties"):
            inner = inner.get("items") or inner["additionalProperties"]
        named = inner.get("properties") or any("properties" in each for each in inner.get("anyOf", ()))
        inside = _fields(inner, depth - 1) if depth and named else ""
        words.append(f"`{name}` ({inside})" if inside else f"`{name}`")
    return ", ".join(words) or "an object that depends on the arguments"


_ONE_SERVER = """## One server for all windows

On stdio `rbank serve` is a relay: it answers `initialize` and `tools/list` at once, and passes everything else to one
server that all windows, hooks and commands of the user share. That server holds the embedding model once.

* The first who needs it starts it. It ends after 30 minutes without a connection, and unloads a local model after 10
  minutes without use ([settings](settings.md)).
* It is one per user, version, installation and settings. After an update new windows get a new server, and the old one
  serves its windows to their end. Tenant, project, team, org, profile and URL come with each connection, so windows
  that differ in them share it.
* Its socket is in `/run/user/UID/reasoningbank`, else in `/tmp/reasoningbank-UID`: directory `0700`, socket `0600`, and
  processes of other users are refused. Its warnings are in the `.log` file beside it.
  What a killed server leaves there is removed by whatever looks for a server, as `rbank status` does; a log that holds
  warnings is kept for a week.
* When it is killed, the relays start the next one. A call that only asks is repeated; a search is then at most logged
  twice. A call that writes is answered with the JSON-RPC error -32000, which says that it is not known whether it was
  done; it is never sent twice.
* Each process serves for itself with `--no-shared` or `REASONINGBANK_SHARED=false`, on Windows, with a `memory://`
  bank, and where the directory cannot be used: its path is too long for a socket, or others can enter it.
* `rbank search`, `briefing`, `record` and `experience` use the server when it runs; they start none.
"""


def mcp_page() -> str:
    """Return the page of the tools."""
    variants: dict[str, list[tuple[Any, list[str]]]] = {}
    for profile in PROFILES:
        for name, spec in specs_of(profile).items():
            known = variants.setdefault(name, [])
            same = next((profiles for one, profiles in known if _shape(one) == _shape(spec)), None)
            if same is None:
                known.append((spec, [profile]))
            else:
                same.append(profile)
    parts = [
        "# The tools of the MCP server\n\n"
        + _MADE
        + "`rbank serve --profile NAME` offers the tools of a profile. An answer is what the tool promises or, with "
        "`isError`, `error`, `message` and `hint`. A number above the most that is named here is an error that names "
        "it.\n",
        _ONE_SERVER,
    ]
    for name, known in variants.items():
        parts.append(f"## {name}\n")
        for spec, profiles in known:
            parts += _tool(spec, profiles)
    return "\n".join(parts)


def _shape(spec: Any) -> tuple[object, ...]:
    """Return what a reader of the page sees of a tool."""
    return (spec.description, str(spec.inputs), tuple(spec.required), tuple(spec.outputs))


def _tool(spec: Any, profiles: Sequence[str]) -> Iterator[str]:
    yield f"Profiles: {', '.join(profiles)}. {_kind(spec)}\n\n{spec.description}\n"
    rows = ["| argument | type | meaning |", "|---|---|---|"]
    for argument, schema in spec.inputs.items():
        needed = "needed. " if argument in spec.required else ""
        default = f" Default: {schema['default']}." if "default" in schema else ""
        said = _cell(schema.get("description", ""))
        rows.append(f"| `{argument}` | {_type(schema)} | {needed}{said}{default} |")
    yield "\n".join(rows) + "\n"
    yield f"Answer: {', '.join(f'`{field}`' for field in spec.outputs)}.\n"


def _kind(spec: Any) -> str:
    """Return what a call of a tool does to the bank."""
    if spec.reads:
        return "Reads only."
    if spec.destroys:
        return "Removes what was there."
    asks = {each.tool.description for each in OPERATIONS if each.tool is not None and each.reads}
    return "Reads, and notes what it showed." if spec.description in asks else "Adds or changes."


def _type(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return " or ".join(f"`{each}`" for each in schema["enum"])
    kind = schema.get("type", "any")
    if kind == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return " or ".join(kind) if isinstance(kind, list) else f"{kind}{_bounds(schema)}"


def _bounds(schema: Mapping[str, Any]) -> str:
    """Return the numbers that an argument may be."""
    words = {"minimum": "from", "exclusiveMinimum": "above", "maximum": "to", "exclusiveMaximum": "below"}
    said = " ".join(f"{word} {schema[name]:,}" for name, word in words.items() if name in schema)
    return f", {said}" if said else ""


def _valued(schema: Mapping[str, Any]) -> str:
    """Return the type of an argument, and what holds when it is left out."""
    default = json.dumps(schema.get("default") or 0)
    return f"{_type(schema)}{'' if default == '0' else f'; default {default}'}"


def _needed(needed: object) -> str:
    return ", needed" if needed else ""


def rest_page() -> str:
    """Return the page of the endpoints."""
    parts = [
        "# REST endpoints\n\n"
        + _MADE
        + "`rbank serve --web` answers these beside `/mcp`; `GET /openapi.json` describes them as OpenAPI 3.1. "
        "[REST and WebSocket](web.md) says how requests are authorised, what statuses mean, and how a workflow goes.\n"
    ]
    for path, methods in openapi()["paths"].items():
        for method, each in methods.items():
            parts.append(f"## {method.upper()} {path}\n\n{each['summary']}\n")
            rows = [
                f"| `{one['name']}` | {one['in']}{_needed(one.get('required'))} | {_valued(one['schema'])} |"
                for one in each.get("parameters", ())
            ]
            body = each.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
            needed = body.get("required", ())
            rows += [
                f"| `{name}` | body{_needed(name in needed)} | {_valued(schema)} |"
                for name, schema in body.get("properties", {}).items()
            ]
            if rows:
                parts.append("\n".join(["| argument | where | type |", "|---|---|---|", *rows]) + "\n")
            statuses = [status for status in each["responses"] if status[0] == "2"]
            answer = each["responses"][statuses[0]].get("content", {}).get("application/json", {}).get("schema")
            said = f": {_fields(answer, 1)}" if answer else ""
            parts.append(f"Answer {' or '.join(statuses)}{said}.\n")
    return "\n".join([*parts, _without_endpoint()])


_PERSON = "A person decides it: with the command, or in the dashboard where it has a page."
_UPKEEP = "The daily work in the background does it; a person does it at once with the command."
_FILES = "It reads or writes files of the machine that the command runs on."
_MODEL = "It waits for a language model; the background work of the bank does it by itself."
_WITHOUT_ENDPOINT: Mapping[str, str] = {
    "+record_or_learn": "`POST /api/v1/memories` records.",
    "memories.revert": _PERSON,
    "+capture": _FILES,
    "sessions.delete": _PERSON,
    "sessions.verdict": _PERSON,
    "sessions.judge": _MODEL,
    "distillation.run": _MODEL,
    "+next_assignment": "The agent that calls it is the model; over REST there is none.",
    "curation.undo": _PERSON,
    "curation.decay": _UPKEEP,
    "curation.prune": _UPKEEP,
    "curation.check_stability": _UPKEEP,
    "quarantine.review": _PERSON,
    "quarantine.release": _PERSON,
    "graph.import_": _FILES,
    "+walk_with_context": "`POST /api/v1/graph/walk`.",
    "+node_or_conversation": "`GET /api/v1/graph/nodes/{id}` and `GET /api/v1/conversations/{conv_id}`.",
    "+list_nodes": "`GET /api/v1/graph/nodes`.",
    "graph.restore": _PERSON,
    "+search_lessons": "`GET /api/v1/memories/search?by=lesson`.",
    "sharing.demote": _PERSON,
    "sharing.export": _FILES,
    "sharing.import_": _FILES,
    "sharing.export_skills": _FILES,
    "+files.export": _FILES,
    "+files.import_": _FILES,
    "+files.backup": _FILES,
    "+files.restore": _FILES,
    "jobs.reconcile_vectors": _UPKEEP,
}
"""Why an operation has no endpoint, or which endpoint does the same."""


def _without_endpoint() -> str:
    """Return what has no endpoint, why, and how it is done instead.

    Raises:
        ValueError: When the reasons are not those of the operations without an endpoint.
    """
    lacking = [each for each in OPERATIONS if each.route is None]
    if odd := {each.method for each in lacking} ^ _WITHOUT_ENDPOINT.keys():
        raise ValueError(f"give each operation either a route or a reason why it has none: {', '.join(sorted(odd))}")
    rows = [
        f"| {each.summary} | {f'`rbank {each.command.name}`' if each.command else ''} "
        f"| {f'`{each.tool.name}`' if each.tool else ''} | {_WITHOUT_ENDPOINT[each.method]} |"
        for each in lacking
    ]
    return (
        "## Without an endpoint\n\n"
        "What comes over REST counts as an agent's, whatever the scope of its token.\n\n"
        "| operation | command | tool | why, or instead |\n|---|---|---|---|\n" + "\n".join(rows) + "\n"
    )


def python_page() -> str:
    """Return the page of the classes."""
    parts = [
        "# Python\n\n"
        + _MADE
        + "`Bank.open(...)` gives a bank; `await AsyncBank.open(...)` gives one whose methods are awaited. What they "
        "take and give are dataclasses in the modules of `reasoningbank.types`; those that most programs need, such as "
        "`Memory`, `Recall` and `Settings`, can be imported from `reasoningbank` too.\n",
        "## Bank\n",
    ]
    parts += [_method("bank", name, each) for name, each in _methods(bank.Bank)]
    for attribute in resources():
        owner = resource_class(attribute)
        parts.append(
            f"## bank.{attribute}\n\n{plain(' '.join((inspect.getdoc(owner) or '').split(chr(10) * 2)[0].split()))}\n"
        )
        listed = {each.method.partition(".")[2] for each in OPERATIONS if each.method.startswith(f"{attribute}.")}
        offered = {*vars(getattr(aio, f"Async{owner.__name__}")), *listed}
        parts += [_method(f"bank.{attribute}", name, each) for name, each in _methods(owner) if name in offered]
    return "\n".join(parts)


def _methods(owner: type) -> list[tuple[str, Any]]:
    return [
        (name, each.__func__ if isinstance(each, classmethod) else each)
        for name, each in vars(owner).items()
        if not name.startswith("_") and (callable(each) or isinstance(each, classmethod))
    ]


def _method(place: str, name: str, method: Any) -> str:
    signature = re.sub(r"(: |-> )'((?:[^'\\]|\\.)*)'", _without_quotes, str(inspect.signature(method)))
    signature = re.sub(r"^\((self|cls)(, )?", "(", signature)
    document = read_docstring(inspect.getdoc(method) or "")
    lines = [f"### {place}.{name}\n", f"```text\n{name}{signature}\n```\n", f"{plain(document.summary)}\n"]
    lines += [f"{plain(document.details)}\n"] if document.details else []
    rows = [f"* `{argument}`: {plain(said)}" for argument, said in document.arguments.items()]
    return "\n".join([*lines, *(["\n".join(rows) + "\n"] if rows else [])])


def _without_quotes(annotation: re.Match[str]) -> str:
    """Return an annotation as it is written in the source."""
    return annotation[1] + annotation[2].replace("\\'", "'")


def main() -> None:
    """Write every file that differs, or with ``--check`` name those and fail."""
    stale = []
    for name, text in files():
        place = ROOT / name
        if place.exists() and place.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if "--check" not in sys.argv:
            place.write_text(text, encoding="utf-8")
    if stale and "--check" in sys.argv:
        sys.exit(f"not what `make reference` writes: {', '.join(stale)}")
    print("\n".join(stale) or "Everything is as it should be.")


if __name__ == "__main__":
    main()
