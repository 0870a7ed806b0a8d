"""Every command in this process, on a home of its own: what it prints, which fields, which exit status."""

from __future__ import annotations

import json
import socket
import stat
from collections.abc import Callable
from pathlib import Path
from typing import cast

import click
import pytest
from click.testing import CliRunner, Result

from llm.replay_server import ReplayServer
from promises import promise
from reasoningbank.cli.app import COMMANDS, EXIT_CODES, rbank
from reasoningbank.errors import BankError
from reasoningbank.operations import composed
from reasoningbank.operations.json import schema_of
from reasoningbank.operations.table import OPERATIONS
from reasoningbank.types.memory import Event, Health, Memory, OutcomeReport, Rating, Stats
from reasoningbank.types.recall import Hit, Recall

Run = Callable[..., Result]
RECORD = ("record", "--title", "Retry flaky calls", "--content", "Back off, then retry.", "--outcome", "success")

NOTHING_STOPPED: dict[str, list[str]] = {"quarantined": [], "left_out": []}
"""What an import says of the gate when it has stopped nothing."""


@pytest.fixture
def run(home_of_commands: Path) -> Run:
    """Runs one command line in tenant acme and project shop."""

    def invoke(*arguments: str, text: str | None = None) -> Result:
        assert home_of_commands
        return CliRunner().invoke(rbank, ["--tenant", "acme", "--project", "shop", *arguments], input=text)

    return invoke


def done(result: Result) -> dict[str, object]:
    """The JSON object of a command that did its work."""
    assert result.exit_code == 0, result.output
    return cast(dict[str, object], json.loads(result.stdout))


def fields(answer: type) -> set[str]:
    """The names in the JSON of a result."""
    return set(schema_of(answer)["properties"])


def failed(result: Result, status: int, code: str) -> None:
    """Checks an error with --json: nothing on stdout, the object on stderr."""
    assert result.exit_code == status, result.output
    assert result.stdout == ""
    error = json.loads(result.stderr)
    assert set(error) == {"error", "message", "hint"}
    assert error["error"] == code
    assert error["message"]
    assert error["hint"]


@promise(
    "cli:quarantine-of-nothing",
    "A quarantine whose conditions nothing meets says so, and none is listed.",
    source="issue 14",
)
def test_a_quarantine_of_nothing_is_none(run: Run) -> None:
    assert run(*RECORD).exit_code == 0
    done = run("quarantine", "--session", "nobody", "--reason", "It told lies.")
    assert (done.exit_code, done.output.strip()) == (0, "Nothing meets these conditions, so there is no quarantine.")
    assert run("quarantines").output.strip() == "Nothing is in quarantine."


@promise(
    "cli:json-fields",
    "With --json a command prints exactly the fields of the MCP answer.",
    source="issue, CLI; seed 000 MCP tools",
)
def test_json_prints_exactly_the_fields_of_the_mcp_answers(run: Run) -> None:
    recorded = done(run(*RECORD, "--description", "When a call fails", "--tag", "net", "--tag", "io", "--json"))
    assert set(recorded) == fields(Memory)
    assert (recorded["title"], recorded["outcome"], recorded["confidence"]) == ("Retry flaky calls", "success", 0.8)
    memory_id = str(recorded["id"])

    found = done(run("search", "a call fails now and then, retry it", "--json"))
    assert set(found) == fields(Recall)
    hits = cast(list[dict[str, object]], found["memories"])
    assert found["count"] == len(hits) == 1
    assert set(hits[0]) == fields(Hit)
    assert hits[0]["tags"] == ["net", "io"]

    rated = done(run("feedback", memory_id, "helpful", "--json"))
    assert set(rated) == fields(Rating)
    assert (rated["memory_id"], rated["helpful"], rated["counted"]) == (memory_id, True, True)
    assert cast(float, rated["new_confidence"]) > 0.8

    reported = done(run("outcome", memory_id, "failed", "--session", "s1", "--json"))
    assert set(reported) == fields(OutcomeReport)
    assert reported["recorded"] is True
    assert cast(float, reported["new_confidence"]) < cast(float, rated["new_confidence"])
    assert done(run("outcome", memory_id, "failed", "--session", "s1", "--json"))["recorded"] is False

    whole = done(run("get", memory_id, "--json"))
    assert set(whole) == fields(Memory)
    assert cast(dict[str, str], whole["provenance"])["source"] == "cli"
    listed = done(run("list", "--json"))
    assert listed == {"memories": [whole], "count": 1}
    assert set(done(run("stats", "--json"))) == fields(Stats)
    deleted = done(run("delete", memory_id, "--json"))
    said = f"Deleted {memory_id}."
    assert deleted == {"deleted": True, "memory_id": memory_id, "kept_until": None, "message": said}


@promise("cli:own-fields", "Commands without a tool print documented JSON fields.", source="issue, CLI")
def test_commands_without_a_tool_print_documented_fields(run: Run, tmp_path: Path) -> None:
    memory_id = str(done(run(*RECORD, "--json"))["id"])
    run("feedback", memory_id, "helpful")
    life = done(run("history", memory_id, "--json"))
    assert set(life) == fields(composed.History)
    alpha, beta = cast(float, life["alpha"]), cast(float, life["beta"])
    assert life["confidence"] == pytest.approx(alpha / (alpha + beta), abs=1e-5)
    assert (life["alpha0"], life["beta0"]) == (1.6, 0.4)
    events = cast(list[dict[str, object]], life["events"])
    assert [event["kind"] for event in events] == ["recorded", "explicit"]
    assert all(set(event) == fields(Event) for event in events)

    assert done(run("export", "all.jsonl", "--json")) == {"path": "all.jsonl", "memories": 1}
    assert done(run("import", "all.jsonl", "--json")) == {
        "imported": 0,
        "unchanged": 1,
        "conflicts": [],
        **NOTHING_STOPPED,
    }
    copied = done(run("backup", "copy.db", "--json"))
    assert copied == {"path": str(tmp_path / "copy.db"), "bytes": (tmp_path / "copy.db").stat().st_size}
    run("delete", memory_id)
    assert done(run("restore", "copy.db", "--json")) == {"restored": True, "path": "copy.db", "memories": 1}
    changed = done(run("update", memory_id, "--title", "Retry calls", "--tag", "net", "--json"))
    assert set(changed) == fields(Memory)
    assert (changed["title"], changed["tags"], changed["version"]) == ("Retry calls", ["net"], 2)
    assert done(run("update", memory_id, "--no-tags", "--json"))["tags"] == []
    health = done(run("doctor", "--json"))
    assert set(health) == fields(Health)
    assert health["healthy"] is True


@promise("cli:import-elsewhere", "What one project exported another one imports.", source="issue, CLI")
def test_an_export_is_imported_by_another_project(run: Run) -> None:
    run(*RECORD)
    run("export", "all.jsonl")
    imported = done(run("import", "all.jsonl", "--project", "other", "--json"))
    assert imported == {"imported": 1, "unchanged": 0, "conflicts": []} | NOTHING_STOPPED
    assert cast(int, done(run("list", "--project", "other", "--json"))["count"]) == 1


@promise(
    "cli:readable",
    "Without --json an answer is compact text that names ids, confidence and what happened.",
    source="issue, CLI",
)
def test_readable_answers_name_what_matters(run: Run) -> None:
    memory_id = run(*RECORD, "--description", "When a call fails").stdout.split()[0]
    found = run("search", "a call fails now and then, retry it").stdout
    assert "1. Retry flaky calls" in found
    assert memory_id in found
    assert "embedder " in found
    assert run("list").stdout.startswith(f"{memory_id}  0.8")
    assert "confidence rose from" in run("feedback", memory_id, "helpful").stdout
    assert "Task success recorded" in run("outcome", memory_id, "succeeded").stdout
    assert "alpha / (alpha + beta)" in run("history", memory_id).stdout
    assert "When a call fails" in run("get", memory_id).stdout
    assert run("stats").stdout.startswith("1 memory of acme in shop")
    assert "Everything is in order." in run("doctor").stdout
    assert run("delete", memory_id).stdout == f"Deleted {memory_id}.\n"
    assert run("list").stdout == "No memories.\n"


@promise(
    "cli:content-from-stdin",
    "A content of - is read from stdin as UTF-8, and is an error when it is none.",
    source="issue, CLI",
)
def test_content_is_read_from_stdin(run: Run) -> None:
    arguments = ("record", "--title", "T", "--content", "-", "--outcome", "failure", "--json")
    memory_id = str(done(run(*arguments, text="Grüße, 東京\nsecond line\n"))["id"])
    assert str(done(run("get", memory_id, "--json"))["content"]).startswith("Grüße, 東京\nsecond line")
    result = CliRunner().invoke(rbank, ["--tenant", "acme", *arguments], input=b"\xff\xfe")
    failed(result, 2, "invalid_input")


@promise(
    "cli:exit-codes",
    "Every class of error has its documented exit status, with --json an error object on stderr.",
    source="issue, CLI",
)
@pytest.mark.parametrize(
    ("arguments", "status", "code"),
    [
        (("get", "nope"), 3, "memory_not_found"),
        (("feedback", "nope", "helpful"), 3, "memory_not_found"),
        (("outcome", "nope", "failed"), 3, "memory_not_found"),
        (("delete", "nope"), 3, "memory_not_found"),
        (("history", "nope"), 3, "memory_not_found"),
        (("update", "nope", "--title", "x"), 3, "memory_not_found"),
        (("get", " "), 2, "empty_memory_id"),
        (("search", " "), 2, "empty_query"),
        (("search", "x", "--limit", "-1"), 2, "negative_limit"),
        (("search", "x", "--min-confidence", "nan"), 2, "invalid_confidence"),
        (("search", "x", "--outcome", "maybe"), 2, "invalid_outcome"),
        (("list", "--offset", "-1"), 2, "negative_offset"),
        (("record", "--title", " ", "--content", "c", "--outcome", "success"), 2, "empty_title"),
        (("record", "--title", "t", "--content", " ", "--outcome", "success"), 2, "empty_content"),
        (("record", "--title", "t", "--content", "c", "--outcome", "Success"), 2, "invalid_outcome"),
        (("list", "--project", ""), 2, "empty_project_id"),
        (("restore", "missing.db"), 5, "store_unavailable"),
        (("import", "missing.jsonl"), 5, "store_unavailable"),
        (("export", "missing/all.jsonl"), 5, "store_unavailable"),
        (("backup", "missing/copy.db"), 5, "store_unavailable"),
        (("feedback", "x", "perhaps"), 2, "usage"),
        (("record", "--title", "t"), 2, "usage"),
        (("update", "x"), 2, "usage"),
        (("update", "x", "--tag", "a", "--no-tags"), 2, "usage"),
        (("serve", "--http", "nowhere"), 2, "usage"),
        (("list", "--nonsense"), 2, "usage"),
        (("nonsense",), 2, "usage"),
    ],
)
def test_errors_have_a_status_a_message_and_a_hint(
    run: Run, arguments: tuple[str, ...], status: int, code: str
) -> None:
    failed(run(*arguments, "--json"), status, code)
    plain = run(*arguments)
    assert plain.exit_code == status
    assert plain.stdout == ""
    assert plain.stderr.startswith("error: ")
    assert "\nhint: " in plain.stderr


@promise("cli:exit-codes")
def test_every_class_of_error_has_a_documented_status() -> None:
    documented = {int(line.split()[0]) for line in EXIT_CODES.splitlines() if line.strip()[:1].isdigit()}
    classes = [BankError]
    for error in classes:
        classes += error.__subclasses__()
        assert error.exit_code in documented
    assert {1, 2, 3, 4, 5, 6} <= documented


@promise(
    "cli:tenant-fails-closed",
    "A blank tenant is refused by every command before anything is touched.",
    source="seed 000 FR-010; DESIGN D9",
)
@pytest.mark.parametrize("name", list(COMMANDS))
@pytest.mark.parametrize("tenant", ["", " \t"])
def test_a_blank_tenant_is_refused_by_every_command(home_of_commands: Path, name: str, tenant: str) -> None:
    needed = {
        "record": ("--title", "t", "--content", "c", "--outcome", "success"),
        "search": ("q",),
        "feedback": ("i", "helpful"),
        "outcome": ("i", "failed"),
        "update": ("i", "--title", "t"),
        "get": ("i",),
        "delete": ("i",),
        "history": ("i",),
        "export": ("f",),
        "import": ("f",),
        "restore": ("f",),
        "source": ("f",),
        "session-outcome": ("s", "failed"),
        "hook": ("stop",),
        "completion": ("bash",),
        "install": ("gemini",),
        "uninstall": ("gemini",),
        "capture": ("f",),
        "trajectory": ("i",),
        "verdict": ("i", "success"),
        "judge": ("i",),
        "distill": ("i",),
        "distill-session": ("--task", "t", "--approach", "a", "--result", "r", "--outcome", "success"),
        "experience": ("q",),
        "scale": ("t", "true"),
        "undo": ("i",),
        "demote": ("i",),
        "share": ("export", "f"),
        "skills": ("export", "d"),
        "edit": ("x",),
        "graph": ("search", "q"),
        "versions": ("i",),
        "revert": ("i", "--version", "1"),
        "quarantine": ("--memory", "i", "--reason", "r"),
        "release": ("i",),
        "origins": ("i",),
        "links": ("i",),
        "trace-outcome": ("i", "success"),
        "branch-briefing": ("d",),
        "branch-outcome": ("s", "failed"),
        "forget": ("i",),
        "database": ("init", "u"),
        "vectors": ("reconcile",),
        "token": ("list",),
        "migrate": ("u", "v"),
        "promote": ("i",),
    }.get(name, ())
    failed(CliRunner().invoke(rbank, ["--tenant", tenant, name, *needed, "--json"]), 4, "missing_tenant")
    failed(CliRunner().invoke(rbank, [name, *needed, "--tenant", tenant, "--json"]), 4, "missing_tenant")
    assert not home_of_commands.exists()


@promise("cli:tenant-default", "The tenant is the option, then the setting, then the local user.", source="DESIGN D9")
def test_the_tenant_is_the_option_then_the_setting_then_the_local_user(
    home_of_commands: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tenant(*before: str) -> object:
        return done(CliRunner().invoke(rbank, [*before, "--project", "p", "stats", "--json"]))["tenant"]

    assert home_of_commands
    monkeypatch.setenv("LOGNAME", "somebody")
    assert tenant() == "somebody"
    monkeypatch.setenv("REASONINGBANK_TENANT", "team")
    assert tenant() == "team"
    assert tenant("--tenant", "acme") == "acme"


@promise(
    "cli:scope-options",
    "--url, --tenant and --project stand before the command, or after it.",
    source="issue, Interface exactly",
)
def test_scope_options_stand_before_or_after_the_command(run: Run, tmp_path: Path) -> None:
    before = done(run("stats", "--json"))
    place = ("--tenant", "other", "--project", "elsewhere", "--url", f"sqlite:///{tmp_path}/b.db")
    after = done(run("stats", "--json", *place))
    assert (before["tenant"], before["project"]) == ("acme", "shop")
    assert (after["tenant"], after["project"]) == ("other", "elsewhere")
    done(run(*RECORD, "--json", *place))
    assert (tmp_path / "b.db").is_file()


@promise(
    "cli:meant",
    "A mistyped command names the one that was meant; a missing word names the words there are.",
    source="issue, Interface exactly",
)
def test_a_mistyped_command_names_the_one_that_was_meant(run: Run) -> None:
    for line, said in (
        (("serch", "x"), "Did you mean 'search'"),
        (("graph", "wlak"), "Did you mean 'walk'"),
        (("search", "x", "--limt", "3"), "Did you mean '--limit'"),
        (("install", "cluade-code"), "Did you mean claude-code?"),
        (("outcome", "some-id"), "Missing argument: type succeeded or failed."),
    ):
        result = run(*line)
        assert (result.exit_code, result.stdout) == (2, "")
        assert said in result.stderr


@promise(
    "cli:unknown-project",
    "Reading a project that has no bank makes no file, and names the projects that have one.",
    source="DESIGN D9",
)
def test_reading_an_unknown_project_makes_no_bank(run: Run, tmp_path: Path) -> None:
    place = ("--tenant", "other", "--url", f"sqlite:///{tmp_path}/banks")
    recorded = done(run(*RECORD, "--json", *place, "--project", "warehouse"))
    files = sorted((tmp_path / "banks").rglob("*.db"))
    assert len(files) == 1
    known = str(recorded["id"])
    lines = [("list",), ("search", "x"), ("stats",), ("graph", "list")]
    lines += [(name, known) for name in ("get", "history", "versions", "origins")]
    for line in lines:
        for membership in ((), ("--team", "payments", "--org", "acme")):
            result = run(*line, *place, *membership, "--project", "warehose")
            assert (line, result.exit_code) == (line, 0)
            assert "There is no bank for project 'warehose' yet. Known: warehouse." in result.stderr
    shown = done(run("get", known, "--json", *place, "--project", "warehose"))
    assert (shown["id"], shown["project"]) == (known, "warehouse")
    assert run("get", "0" * 32, *place, "--project", "warehose").exit_code == 3
    assert sorted((tmp_path / "banks").rglob("*.db")) == files


@promise(
    "cli:mistyped-project",
    "A command that changes something there is, in a named project that has no bank, says that there is none and which "
    "one may be meant; only a command that stores something new makes a bank.",
    source="issue 11",
)
def test_changing_something_in_an_unknown_project_makes_no_bank(run: Run, tmp_path: Path) -> None:
    place = ("--tenant", "other", "--url", f"sqlite:///{tmp_path}/banks")
    known = str(done(run(*RECORD, "--json", *place, "--project", "warehouse"))["id"])
    files = sorted((tmp_path / "banks").rglob("*.db"))
    lines = [
        *[("feedback", known, "helpful"), ("outcome", known, "succeeded"), ("update", known, "--title", "Other")],
        *[("delete", known, "--yes"), ("branch-briefing", "Fix it"), ("session-outcome", "s", "failed")],
        *[("consolidate",), ("decay",), ("prune",), ("quarantine", "--memory", known, "--reason", "x")],
        *[("verdict", known, "success"), ("distill", known), ("graph", "delete", "f-1", "--yes")],
    ]
    for line in lines:
        result = run(*line, *place, "--project", "warehose")
        assert (line, result.exit_code) == (line, 3)
        assert "no bank for project 'warehose'" in result.stderr
        assert "Did you mean warehouse?" in result.stderr
    assert sorted((tmp_path / "banks").rglob("*.db")) == files
    assert done(run("get", known, "--json", *place, "--project", "warehouse"))["title"] != "Other"
    assert run(*RECORD, *place, "--project", "warehose").exit_code == 0
    assert len(sorted((tmp_path / "banks").rglob("*.db"))) == 2


@promise("cli:mistyped-project")
def test_no_command_that_stores_nothing_new_makes_a_bank_in_a_new_directory(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of every operation that changes what is there, on unknown ids, and of those that can be tried dry."""
    new = tmp_path / "new"
    new.mkdir()
    monkeypatch.chdir(new)
    place = ("--url", f"sqlite:///{tmp_path}/banks")
    commands = [
        each.command for each in OPERATIONS if each.command is not None and not each.reads and not each.command.makes
    ]
    assert len(commands) > 25
    needed = {"quarantine": ["--memory", "x", "--reason", "r"], "erase": ["--session", "s"]}
    needed |= {name: ["--dry-run"] for name in ("consolidate", "decay", "prune", "stability")}
    needed |= {name: ["--tag", "t"] for name in ("update", "graph edit", "graph edit-edge")}
    needed |= {"graph link": ["--text", "The pressure rose after it fell.", "--weight", "0.5"]}
    for command in commands:
        given = [command.words[name][0] if name in command.words else "x" for name in command.arguments]
        if command.name == "backup":
            given = [str(tmp_path / "copy.backup")]
        result = run(*command.name.split(), *given, *needed.get(command.name, []), *place)
        assert result.exit_code in {0, 2, 3}, (command.name, result.stderr)
        assert not list(tmp_path.rglob("*.db")), command.name
        assert not (tmp_path / "copy.backup").exists()


@promise("cli:unknown-project")
def test_no_command_that_only_reads_makes_a_bank_in_a_new_directory(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of every operation that reads, and of status, without a project that is named."""
    new = tmp_path / "new"
    new.mkdir()
    monkeypatch.chdir(new)
    place = ("--url", f"sqlite:///{tmp_path}/banks", "--team", "payments", "--org", "acme")
    commands = [each.command for each in OPERATIONS if each.reads and each.command is not None]
    assert len(commands) > 25
    needed = {"graph walk": ["--seed", "f-1"], "graph preferences": ["--user", "u-1"]}
    for command in commands:
        given = [command.words[name][0] if name in command.words else f"unknown-{name}" for name in command.arguments]
        options = needed.get(command.name, [])
        result = run(*command.name.split(), *given, *options, *place)
        assert result.exit_code in {0, 3}, (command.name, result.stderr)
        assert not list(tmp_path.rglob("*.db"))
    assert run("status", "--quick", *place).exit_code == 0
    assert not list(tmp_path.rglob("*.db"))


@promise("cli:unknown-project")
def test_a_named_file_that_is_no_bank_is_said_and_not_read_as_empty(run: Run, tmp_path: Path) -> None:
    place = tmp_path / "own.db"
    place.write_bytes(b"no bank at all" * 500)
    result = run("list", "--url", f"sqlite:///{place}", "--project", "warehouse")
    assert (result.exit_code, result.stdout) == (5, "")
    assert "hint" in result.stderr


@promise(
    "cli:files",
    "A file that is not there ends every command that reads one with the same exit status.",
    source="issue, Interface exactly",
)
def test_a_missing_file_has_one_exit_status(run: Run, tmp_path: Path) -> None:
    missing = str(tmp_path / "missing")
    lines = [("capture",), ("import",), ("graph", "import"), ("graph", "remember"), ("share", "import"), ("restore",)]
    for line in lines:
        result = run(*line, missing)
        assert (line, result.exit_code) == (line, 5)
        assert "hint" in result.stderr


@promise(
    "cli:settings-checked",
    "An unknown setting or value is an error with a suggestion, never ignored.",
    source="spec/engineering C.4",
)
def test_an_unknown_setting_or_value_is_an_error_with_a_suggestion(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REASONINGBANK_TENNANT", "x")
    result = run("stats")
    assert result.exit_code == 2
    assert "Did you mean REASONINGBANK_TENANT?" in result.stderr
    monkeypatch.delenv("REASONINGBANK_TENNANT")
    monkeypatch.setenv("REASONINGBANK_BACKUPS", "many")
    failed(run("stats", "--json"), 2, "configuration_error")
    monkeypatch.delenv("REASONINGBANK_BACKUPS")
    monkeypatch.setenv("REASONINGBANK_EMBEDDER", "nonsense")
    failed(run("stats", "--json"), 2, "configuration_error")


@promise("cli:home-unusable", "A data directory that is none is an error with a hint.", source="issue, CLI")
def test_a_home_that_cannot_be_used_is_an_error_with_a_hint(run: Run, home_of_commands: Path) -> None:
    home_of_commands.write_text("a file where the directory should be", encoding="utf-8")
    result = run("list", "--json")
    assert result.exit_code in {2, 5}
    error = json.loads(result.stderr)
    assert error["error"] in {"configuration_error", "store_unavailable"}
    assert error["hint"]


@promise(
    "cli:doctor-model",
    "doctor says when the language model has no key or its server does not answer, and what it has not tried.",
    source="review, doctor",
)
def test_doctor_checks_that_the_model_could_be_asked(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("REASONINGBANK_LLM", "openai:qwen3")
    result = run("doctor")
    assert (result.exit_code, "openai:qwen3 has no key" in result.stdout) == (1, True)
    with socket.create_server(("127.0.0.1", 0)) as reserved:
        port = reserved.getsockname()[1]
    monkeypatch.setenv("REASONINGBANK_LLM_URL", f"http://127.0.0.1:{port}/v1")
    result = run("doctor")
    assert (result.exit_code, "nothing answers at" in result.stdout) == (1, True)
    with ReplayServer([]) as replay:
        monkeypatch.setenv("REASONINGBANK_LLM_URL", replay.url)
        assert "answers; the model and its key were not tried" in (told := run("doctor").stdout), told
        assert "Everything is in order." in told
    monkeypatch.setenv("REASONINGBANK_LLM_URL", "https://models.invalid/v1")
    assert "not asked, as it is not on this machine" in run("doctor").stdout
    assert "nothing answers at" in run("doctor", "--ask-model").stdout
    monkeypatch.setenv("REASONINGBANK_LLM", "google:gemini")
    assert "GOOGLE_API_KEY or GEMINI_API_KEY" in run("doctor").stdout


@promise(
    "cli:doctor",
    "doctor shows engine, checksums, embedder, places, permissions and derivations; it ends with 1 when something is "
    "wrong.",
    source="issue, CLI",
)
def test_doctor_shows_facts_and_ends_with_one_when_something_is_wrong(run: Run, home_of_commands: Path) -> None:
    run(*RECORD)
    facts = cast(dict[str, str], done(run("doctor", "--json"))["facts"])
    assert "page checksums" in facts["engine"]
    assert facts["home"] == str(home_of_commands)
    assert (facts["tenant from"], facts["project from"]) == ("--tenant", "--project")
    assert {"reasoningbank", "python", "embedder", "embedder model", "bank model", "permissions"} <= set(facts)

    home_of_commands.chmod(home_of_commands.stat().st_mode | stat.S_IROTH | stat.S_IXOTH)
    (home_of_commands / "notes").write_text("x", encoding="utf-8")
    result = run("doctor", "--json")
    assert result.exit_code == 1
    assert "can be reached by others" in str(json.loads(result.stdout)["problems"])
    home_of_commands.chmod(0o700)

    (bank,) = home_of_commands.glob("banks/*/*.db")
    bank.write_bytes(b"this is not a bank" * 1000)
    for log in (*bank.parent.glob("*-wal"), *bank.parent.glob("*-shm")):
        log.unlink()
    result = run("doctor", "--json")
    assert result.exit_code == 1
    answer = json.loads(result.stdout)
    assert answer["healthy"] is False
    assert answer["problems"]
    assert answer["facts"]["home"] == str(home_of_commands)


@promise(
    "cli:doctor-makes-none",
    "doctor makes no bank of a project that has none, named or not, and says that there is none yet.",
    source="review, doctor",
)
@pytest.mark.parametrize("named", [True, False])
def test_doctor_makes_no_bank(named: bool, home_of_commands: Path, tmp_path: Path) -> None:
    place = ["--tenant", "acme", *(["--project", "new"] if named else []), "--url", f"sqlite:///{tmp_path}/banks"]
    result = CliRunner().invoke(rbank, ["doctor", "--json", *place])
    facts = cast(dict[str, str], done(result)["facts"])
    assert facts["location"] == "none: this project has no bank yet"
    assert [*tmp_path.rglob("*.db"), *home_of_commands.rglob("*.db")] == []


@promise("cli:reembed", "doctor names a change of embedder, and rbank reembed heals it.", source="DESIGN D11")
def test_doctor_finds_and_heals_a_change_of_embedder(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run(*RECORD)
    monkeypatch.setenv("REASONINGBANK_EMBEDDER", "minilm")
    result = run("doctor")
    assert result.exit_code == 1
    assert "rbank reembed" in result.stdout
    failed(run("search", "a call fails now and then, retry it", "--json"), 6, "model_mismatch")
    assert done(run("reembed", "--json"))["reembedded"] == 1
    assert done(run("doctor", "--json"))["healthy"] is True
    assert done(run("search", "a call fails now and then, retry it", "--json"))["count"] == 1


@promise(
    "cli:help",
    "Every command and option has help, and --help documents the exit statuses.",
    source="DESIGN section 5; issue, CLI",
)
@pytest.mark.parametrize("name", [None, *COMMANDS])
def test_every_command_and_option_has_help(name: str | None) -> None:
    arguments = [name, "--help"] if name else ["--help"]
    result = CliRunner().invoke(rbank, arguments)
    assert result.exit_code == 0
    command = rbank.get_command(click.Context(rbank), name) if name else rbank
    assert command is not None
    assert command.help
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, parameter.name
    if name:
        assert command.get_short_help_str(200) == COMMANDS[name]
        assert {"--json", "--url", "--tenant", "--project", "--team", "--org"} <= {
            flag for parameter in command.params for flag in parameter.opts
        }
    else:
        assert "Exit status:" in result.stdout


@promise(
    "cli:interface",
    "The command line has the commands, options and defaults that other programs rely on.",
    source="issue, Interface exactly",
)
def test_defaults_are_those_other_programs_rely_on() -> None:
    search = rbank.get_command(click.Context(rbank), "search")
    assert search is not None
    defaults = {parameter.name: parameter.default for parameter in search.params}
    assert (defaults["limit"], defaults["min_confidence"], defaults["unproven"]) == (5, 0.7, None)
    daily = ["record", "search", "briefing", "feedback", "outcome", "get", "list"]
    memories = [
        "update",
        "delete",
        "history",
        "versions",
        "revert",
        "origins",
        "links",
        "experience",
        "traces",
        "trace-outcome",
    ]
    memories += ["branch-briefing", "branch-outcome", "session-outcome", "edit"]
    sessions = [
        "capture",
        "sessions",
        "trajectories",
        "trajectory",
        "forget",
        "erase",
        "verdict",
        "judge",
        "distill",
        "distill-session",
    ]
    sessions += ["refusals", "scale"]
    curation = ["consolidate", "undo", "contradictions", "decay", "prune", "stability"]
    curation += ["quarantine", "quarantines", "review", "release"]
    wider = ["candidates", "promotions", "demote", "share", "skills", "promote"]
    agents = ["install", "uninstall", "agents-md", "hook", "statusline", "serve", "dashboard", "worker", "token"]
    whole = ["status", "completion", "stats", "weights", "metrics", "report", "export", "import", "backup", "restore"]
    whole += ["vectors", "jobs", "database", "migrate", "reembed", "doctor", "demo"]
    graph = ["graph", "source"]
    assert list(COMMANDS) == [*daily, *memories, *sessions, *curation, *graph, *wider, *agents, *whole]


@promise(
    "cli:search-filters",
    "search obeys limit, confidence, outcome, tags and unproven from the command line.",
    source="issue, Recall",
)
def test_search_obeys_its_options(run: Run) -> None:
    run(*RECORD, "--tag", "net")
    run("record", "--title", "Retry forever", "--content", "Never retry a call forever.", "--outcome", "failure")

    def outcomes(*options: str) -> list[object]:
        found = done(run("search", "retry a call that failed", "--json", *options))
        return [hit["outcome"] for hit in cast(list[dict[str, object]], found["memories"])]

    assert set(outcomes()) == {"success", "failure"}
    assert outcomes("--outcome", "failure") == ["failure"]
    assert outcomes("--tag", "net") == ["success"]
    assert len(outcomes("--limit", "1")) == 1
    assert outcomes("--limit", "0") == []
    strict = done(run("search", "retry a call that failed", "--json", "--min-confidence", "0.99", "--unproven", "2"))
    assert strict["memories"] == []
    assert len(cast(list[object], strict["unproven"])) == 2
    assert "Unproven" in run("search", "retry a call that failed", "--min-confidence", "0.99").stdout
