"""No secret in any field of any writing operation reaches a file of the bank, whichever entrance it comes through."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from promises import promise
from reasoningbank import Bank, Settings, Trajectory
from reasoningbank.cli.app import COMMANDS, rbank
from reasoningbank.errors import BankError, InvalidInput
from reasoningbank.mcp.banks import Banks
from reasoningbank.mcp.calls import Caller
from reasoningbank.mcp.schemas import tools_by_profile
from reasoningbank.mcp.tools import Tools
from reasoningbank.operations.methods import interface, run
from reasoningbank.operations.operation import Operation
from reasoningbank.operations.table import OPERATIONS
from reasoningbank.safety.secrets import redact
from reasoningbank.testing import HashingEmbedder
from reasoningbank.types.document import DocumentChange
from secret_texts import SampleText, is_readable, texts_with_secrets
from web.servers import Served

CALLER = Caller(tenant="acme", session="here")
RUNS_PROGRAMS = {"matts.scale", "+scale"}
STARTS_OR_LEAVES = {"serve", "demo", "scale", "worker", "hook", "install", "uninstall", "doctor", "restore", "backup"}
SAMPLE = 2


def _one_of_each_kind() -> list[SampleText]:
    """One text of each of the forty kinds, of those whose secret is recognised."""
    found: dict[str, SampleText] = {}
    for text in texts_with_secrets():
        if not any(is_readable(secret, redact(text.text).text) for secret in text.secrets):
            found.setdefault(text.kind, text)
    assert len(found) == 40
    return list(found.values())


SECRETS = _one_of_each_kind()


@pytest.fixture
def secrets(torture: bool) -> list[SampleText]:
    """The secrets of this run: with ``--torture`` one of each kind, else two of them."""
    return SECRETS if torture else SECRETS[3 :: len(SECRETS) // SAMPLE][:SAMPLE]


def _writes(operation: Operation) -> bool:
    if operation.method in RUNS_PROGRAMS or (operation.command and operation.command.name in STARTS_OR_LEAVES):
        return False
    return not operation.reads


WRITING = tuple(operation for operation in OPERATIONS if _writes(operation))


def _value(schema: Any, text: str, known: str) -> Any:
    """Something of a schema's type; a text where it takes texts, else what is likely to be accepted."""
    kind = schema.get("type", "string") if isinstance(schema, dict) else "string"
    if isinstance(schema, dict) and schema.get("enum"):
        return schema["enum"][0]
    if kind == "array":
        return [_value(schema.get("items", {}), text, known)]
    if kind == "object":
        return {"note": text}
    return {"integer": 1, "number": 0.5, "boolean": True}.get(str(kind), text)


def _calls(schemas: dict[str, Any], required: set[str], text: str, known: str) -> Iterator[dict[str, Any]]:
    """Arguments with the text in one field after the other, the required ones filled."""
    usual = {name: known if "id" in name.split("_") else "success" if name == "outcome" else "note" for name in schemas}
    for name, schema in schemas.items():
        given = {each: _value(schemas[each], usual[each], known) for each in required}
        yield given | {name: _value(schema, text, known)}


def _shown(home: Path, secrets: list[SampleText]) -> list[tuple[str, str]]:
    """Every file below a directory that shows one of the secrets."""
    found = []
    for path in home.rglob("*"):
        if path.is_file():
            held = path.read_bytes().decode("utf-8", "surrogateescape")
            found += [(path.name, secret) for text in secrets for secret in text.secrets if is_readable(secret, held)]
        found += [(str(path), secret) for text in secrets for secret in text.secrets if is_readable(secret, path.name)]
    return found


@promise(
    "hygiene:on-disk",
    "A secret in any field of any writing operation over Python or MCP is in no file of the bank: database, log of "
    "writes, vectors, exports, backups. The command line and REST call the same operations; some of them are tried.",
    source="issue Hard to break 4",
)
def test_no_field_of_an_operation_brings_a_secret_to_disk(tmp_path: Path, secrets: list[SampleText]) -> None:
    home = tmp_path / "home"
    with Bank.open(tenant="acme", project="shop", embedder=HashingEmbedder(), settings=Settings(home=home)) as bank:
        for text in secrets:
            known = bank.record(title="Retry", content="Back off.", outcome="success").id
            for operation in WRITING:
                signature = interface(operation)
                schemas = {each.name: each.schema for each in signature.parameters}
                filled = {each.name for each in signature.parameters if not each.optional}
                for values in _calls(schemas, filled, text.text, known):
                    needed = {each.name for each in signature.parameters if each.required}
                    least = {name: value for name, value in values.items() if name in needed or text.text in str(value)}
                    for given in (values, least):
                        with suppress(BankError, TypeError, ValueError, AttributeError):
                            run(operation, bank, given)
        bank.admin.backup(home / "backup.db")
        bank.admin.export(home / "export.jsonl")
    assert _shown(home, secrets) == []


@promise("hygiene:on-disk")
def test_no_tool_brings_a_secret_to_disk(tmp_path: Path, secrets: list[SampleText]) -> None:
    home = tmp_path / "home"
    for profile, specs in tools_by_profile().items():
        tools = Tools(Banks(Settings(home=home), project="shop", embedder=HashingEmbedder()), profile=profile)
        for text in secrets:
            for name, spec in specs.items():
                for arguments in _calls(dict(spec.inputs), set(spec.required), text.text, "m1"):
                    tools.call(name, arguments, CALLER)
        tools.close()
    assert _shown(home, secrets) == []


@promise("hygiene:on-disk")
def test_no_command_brings_a_secret_to_disk(
    tmp_path: Path, secrets: list[SampleText], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REASONINGBANK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for text in secrets[:1]:
        for name in ("record", "feedback", "outcome", "capture", "quarantine"):
            if name in COMMANDS:
                for line in _command_lines(name, text.text):
                    CliRunner().invoke(rbank, line)
    assert any(tmp_path.rglob("*.db"))
    assert _shown(tmp_path, secrets) == []


def _command_lines(name: str, text: str) -> Iterator[list[str]]:
    command = rbank.get_command(click.Context(rbank), name)
    assert command is not None
    positional = ["note" for each in command.params if isinstance(each, click.Argument)]
    for number in range(len(positional)):
        yield [name, *positional[:number], text, *positional[number + 1 :]]
    for option in command.params:
        if isinstance(option, click.Option) and not option.is_flag:
            yield [name, *positional, option.opts[0], text]


@promise("hygiene:on-disk")
def test_names_that_are_kept_as_they_are_hold_no_secret(tmp_path: Path) -> None:
    secret = "glp" + "at-" + "aB3dE6gH9jK2mN5pQ8sT"
    home = Settings(home=tmp_path / "home")
    for name in ("tenant", "project", "team", "org"):
        names: dict[str, Any] = {"tenant": "acme", "project": "shop"} | {name: f"shop {secret}"}
        with pytest.raises(InvalidInput, match="secret"):
            Bank.open(**names, embedder=HashingEmbedder(), settings=home)
    with Bank.open(tenant="acme", project="shop", embedder=HashingEmbedder(), settings=home) as bank:
        memory = bank.record(title="Retry", content="Back off.", outcome="success", source=f"tool {secret}")
        assert secret not in memory.provenance["source"]
        with pytest.raises(InvalidInput, match="secret"):
            bank.documents.keep(secret, [DocumentChange(path=(), key="a", value={"text": "note"})])
        with pytest.raises(InvalidInput, match="secret"):
            bank.sessions.capture_later(tmp_path / f"{secret}.jsonl")
        with pytest.raises(InvalidInput, match="secret"):
            bank.sessions.keep(Trajectory(task="Deploy", id=secret))
    assert not [each for each in _files(tmp_path) if secret in each]


def _files(folder: Path) -> list[str]:
    return [path.read_bytes().decode("utf-8", "replace") for path in folder.rglob("*") if path.is_file()]


@promise(
    "hygiene:told",
    "The answer to a record and to a capture says how many secrets were replaced, at every entrance.",
    source="issue Hard to break 4",
)
def test_answers_say_how_many_secrets_were_replaced(bank: Bank, tools: Tools, served: Served) -> None:
    first, second = "glp" + "at-" + "aB3dE6gH9jK2mN5pQ8sT", "np" + "m_" + "aB3d" * 9
    lesson: dict[str, Any] = {
        "title": "Use the token",
        "content": f"export A={first} and {second}",
        "outcome": "success",
    }
    assert bank.record(**lesson).provenance["redacted"] == "2"
    answer = tools.call("memory_record", lesson, CALLER)
    assert "2 secrets were replaced" in str(answer.fields["message"])
    made = served.said("POST", "/memories", lesson, status=201)
    assert "'redacted': '2'" in str(made) or "2 secrets were replaced" in str(made)
    captured = bank.sessions.keep(Trajectory(task=f"Deploy with {first}", final_answer=second))
    assert captured.secrets == 2
