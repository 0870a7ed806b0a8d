"""No secret in any field of any writing operation reaches a file of the bank, whichever entrance it comes through."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import click
import pytest
from click.testing import CliRunner

from promises import promise
from reasoningbank import Bank, Settings, Trajectory
from reasoningbank.cli.app import rbank
from reasoningbank.errors import BankError, InvalidInput
from reasoningbank.mcp.banks import Banks
from reasoningbank.mcp.calls import Caller
from reasoningbank.mcp.schemas import tools_by_profile
from reasoningbank.mcp.tools import Tools
from reasoningbank.operations.methods import interface, run
from reasoningbank.operations.operation import Operation
from reasoningbank.operations.table import OPERATIONS
from reasoningbank.safety.checks import place_name
from reasoningbank.safety.secrets import redact
from reasoningbank.testing import HashingEmbedder
from reasoningbank.types.document import DocumentChange
from reasoningbank.web.routes import openapi
from secret_texts import KEPT_APART, LOOKED_AT, SampleText, is_readable, texts_with_secrets
from torture_results import Tally
from web.servers import Served, serving, with_tenants

CALLER = Caller(tenant="acme", session="here")
RUNS_PROGRAMS = {"matts.scale", "+scale"}
STARTS_OR_LEAVES = {"serve", "demo", "scale", "worker", "hook", "install", "uninstall", "doctor", "restore", "backup"}
SAMPLE = 2
FIELDS = 40
"""Each entrance has at least so many fields that are tried."""
SECRET = "\0secret"
"""Stands for the secret in a command line."""


def _one_of_each_kind() -> list[SampleText]:
    """One text of each of the forty kinds, of those whose secret is recognised."""
    found: dict[str, SampleText] = {}
    for text in texts_with_secrets():
        first = text.group in (LOOKED_AT, KEPT_APART)
        if first and not any(is_readable(secret, redact(text.text).text) for secret in text.secrets):
            found.setdefault(text.kind, text)
    assert len(found) == 40
    return list(found.values())


SECRETS = _one_of_each_kind()


@pytest.fixture
def secrets(torture: bool) -> list[SampleText]:
    """The secrets of this run: with ``--torture`` one of each kind, else two of them."""
    return SECRETS if torture else SECRETS[3 :: len(SECRETS) // SAMPLE][:SAMPLE]


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, where an export goes whose target is the name of a secret."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def _is_asked(operation: Operation) -> bool:
    return operation.method not in RUNS_PROGRAMS and not (
        operation.command and operation.command.name in STARTS_OR_LEAVES
    )


ASKED = tuple(operation for operation in OPERATIONS if _is_asked(operation))
"""All that store something, and all that read: what was asked is logged."""


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
    "A secret in any field of any operation, over Python, MCP, REST or the command line, is in no file of the bank: "
    "database, log of writes, vectors, exports, backups.",
    source="issue Hard to break 4",
)
def test_no_field_of_an_operation_brings_a_secret_to_disk(
    work: Path, tmp_path: Path, secrets: list[SampleText], tally: Tally
) -> None:
    home, fields = tmp_path / "home", set[str]()
    for number, text in enumerate(secrets):
        project = f"shop {number}"
        with Bank.open(
            tenant="acme", project=project, embedder=HashingEmbedder(), settings=Settings(home=home)
        ) as bank:
            known = bank.record(title="Retry", content="Back off.", outcome="success").id
            for operation in ASKED:
                signature = interface(operation)
                schemas = {each.name: each.schema for each in signature.parameters}
                filled = {each.name for each in signature.parameters if not each.optional}
                fields |= {f"{operation.method} {name}" for name in schemas}
                for values in _calls(schemas, filled, text.text, known):
                    needed = {each.name for each in signature.parameters if each.required}
                    least = {name: value for name, value in values.items() if name in needed or text.text in str(value)}
                    for given in (values, least):
                        with suppress(BankError, TypeError, ValueError, AttributeError):
                            run(operation, bank, given)
            bank.admin.backup(home / f"backup-{number}.db")
            bank.admin.export(home / f"export-{number}.jsonl")
    assert _shown(home, secrets) == []
    assert not [secret for text in secrets for secret in text.secrets for held in _files(work) if secret in held]
    assert len(fields) >= FIELDS
    tally.secrets("Python", len(fields), len(secrets))


@promise("hygiene:on-disk")
def test_no_tool_brings_a_secret_to_disk(work: Path, tmp_path: Path, secrets: list[SampleText], tally: Tally) -> None:
    home, fields = tmp_path / "home", set[str]()
    for number, text in enumerate(secrets):
        banks = Banks(Settings(home=home), project=f"shop {number}", embedder=HashingEmbedder())
        for profile, specs in tools_by_profile().items():
            tools = Tools(banks, profile=profile)
            for name, spec in specs.items():
                fields |= {f"{name} {field}" for field in spec.inputs}
                for arguments in _calls(dict(spec.inputs), set(spec.required), text.text, "m1"):
                    tools.call(name, arguments, CALLER)
        tools.close()
    assert _shown(home, secrets) == []
    assert len(fields) >= FIELDS
    tally.secrets("MCP", len(fields), len(secrets))


@promise("hygiene:on-disk")
@pytest.mark.timeout(3_600)
def test_no_command_brings_a_secret_to_disk(
    tmp_path: Path, secrets: list[SampleText], torture: bool, monkeypatch: pytest.MonkeyPatch, tally: Tally
) -> None:
    monkeypatch.setenv("REASONINGBANK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    fields = list(_command_fields().values())
    fields = fields[:: len(fields) // FIELDS][:FIELDS] if torture else fields[:: len(fields) // 12]
    for text in secrets if torture else secrets[:1]:
        for line in fields:
            CliRunner().invoke(rbank, [text.text if word == SECRET else word for word in line])
    assert any(tmp_path.rglob("*.db"))
    assert _shown(tmp_path, secrets) == []
    tally.secrets("the command line", len(fields), len(secrets))


def _command_fields() -> dict[str, list[str]]:
    """A command line for each name of an argument or option that takes a text, with SECRET in its place."""
    found: dict[str, list[str]] = {}
    for operation in ASKED:
        if operation.command is None:
            continue
        command, words = _command(operation.command.name)
        positional = ["note" for each in command.params if isinstance(each, click.Argument)]
        needed = [
            word
            for each in command.params
            if isinstance(each, click.Option) and each.required
            for word in (each.opts[0], "success" if each.name == "outcome" else "note")
        ]
        for place, argument in enumerate(each for each in command.params if isinstance(each, click.Argument)):
            line = [*words, *positional[:place], SECRET, *positional[place + 1 :], *needed]
            found.setdefault(str(argument.name), line)
        for option in command.params:
            if (
                isinstance(option, click.Option)
                and not option.is_flag
                and isinstance(option.type, click.types.StringParamType)
            ):
                found.setdefault(option.opts[0], [*words, *positional, *needed, option.opts[0], SECRET])
    return found


def _command(name: str) -> tuple[click.Command, list[str]]:
    command: click.Command | None = rbank
    words = name.split(" ")
    for word in words:
        assert isinstance(command, click.Group)
        command = command.get_command(click.Context(command), word)
    assert command is not None
    return command, words


@promise("hygiene:on-disk")
@pytest.mark.timeout(3_600)
def test_no_request_brings_a_secret_to_disk(tmp_path: Path, secrets: list[SampleText], tally: Tally) -> None:
    home, fields, answered = with_tenants(tmp_path / "home"), 0, Counter[int]()
    with serving(home) as served:
        memory = {"title": "Retry", "content": "Back off.", "outcome": "success"}
        known = served.said("POST", "/api/v1/memories", memory, status=201)["id"]
        for text in secrets:
            requests = list(_requests(text.text, known))
            fields = len(requests)
            for method, path, body in requests:
                answered[served.call(method, path, body).status_code // 100] += 1
    assert _shown(home, secrets) == []
    assert answered.keys() <= {2, 4}
    assert answered[2]
    assert fields >= FIELDS
    tally.secrets("REST", fields, len(secrets))


def _requests(text: str, known: str) -> Iterator[tuple[str, str, Any]]:
    """Requests of every endpoint with the text in one field after the other: method, path and body."""
    described = openapi()
    for path, methods in described["paths"].items():
        place = re.sub(r"\{[^}]*\}", known, path)
        for method, endpoint in methods.items():
            for parameter in endpoint.get("parameters", ()):
                if parameter["in"] == "query":
                    yield method.upper(), f"{place}?{urlencode({parameter['name']: text})}", None
                elif parameter["in"] == "path":
                    yield method.upper(), path.replace(f"{{{parameter['name']}}}", quote(text, safe="")), None
            content = endpoint.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
            for body in _calls(content.get("properties", {}), set(content.get("required", ())), text, known):
                yield method.upper(), place, body


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
    made = served.said("POST", "/api/v1/memories", lesson, status=201)
    assert "'redacted': '2'" in str(made) or "2 secrets were replaced" in str(made)
    captured = bank.sessions.keep(Trajectory(task=f"Deploy with {first}", final_answer=second))
    assert captured.secrets == 2


@promise("hygiene:on-disk")
def test_every_text_whose_secret_is_recognised_is_refused_as_a_name() -> None:
    accepted = []
    for text in texts_with_secrets():
        if any(is_readable(secret, redact(text.text).text) for secret in text.secrets):
            continue
        with suppress(InvalidInput):
            accepted.append(place_name(text.text, "project"))
    assert accepted == []


@promise("hygiene:on-disk")
@pytest.mark.parametrize(
    "name",
    [
        "echo v4n1ll4-b34n5! | docker login -u robo --password-stdin",
        "migrate --db_password=b4s1l_l34f5-c0r14nd3r",
        "".join(chr(ord(letter) + 0xFEE0) for letter in "password=silv3r_m4pl3!"),
        "".join(f"\\u{ord(letter):04x}" for letter in "password=m34d0w_h4rb0r!"),
    ],
)
def test_a_name_with_a_secret_among_spaces_or_in_a_disguise_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInput):
        Bank.open(tenant="acme", project=name, embedder=HashingEmbedder(), settings=Settings(home=tmp_path))
    assert not list(tmp_path.rglob("*.db"))
