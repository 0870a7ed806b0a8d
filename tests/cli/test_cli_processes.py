"""Every command from process start, through the installed entry point, on one home that they share."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import cast

import pytest

from promises import promise
from reasoningbank.cli.app import COMMANDS

RBANK = Path(sys.executable).parent / "rbank"
SCOPE = ("--tenant", "acme", "--project", "shop")
HEAVY = ("numpy", "apsw", "mcp", "onnxruntime", "opentelemetry", "tokenizers", "tiktoken", "platformdirs", "asyncio")

COMPARING = ("numpy", "onnxruntime", "tokenizers", "pydantic", "mcp", "opentelemetry")
"""What only a comparison of texts, a language model, a server or a program that measures needs."""


def environment(home: Path) -> dict[str, str]:
    """The environment of a process with this data directory and nothing of the developer's settings."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("REASONINGBANK_")}
    return {**kept, "REASONINGBANK_HOME": str(home), "REASONINGBANK_SHARED": "false"}


def rbank(home: Path, *arguments: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
    """Runs the installed command in a process of its own."""
    return subprocess.run(
        [str(RBANK), *SCOPE, *arguments],
        env=environment(home),
        cwd=home.parent,
        input=text,
        stdin=subprocess.DEVNULL if text is None else None,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def answer(done: subprocess.CompletedProcess[str]) -> dict[str, object]:
    """The JSON object of a command that did its work, with nothing on stderr."""
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return cast(dict[str, object], json.loads(done.stdout))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One data directory for all processes of this file."""
    yield tmp_path_factory.mktemp("processes") / "home"


@pytest.fixture
def stocked(tmp_path: Path) -> Path:
    """A data directory in which the project has a bank."""
    made = tmp_path / "stocked"
    answer(rbank(made, "record", "--title", "First", "--content", "It is here.", "--outcome", "success", "--json"))
    return made


@promise(
    "cli:from-process-start",
    "Every command works from process start, and a memory lives through processes.",
    source="issue, It must show",
)
def test_a_memory_lives_through_processes(home: Path) -> None:
    recorded = answer(
        rbank(
            home,
            *("record", "--title", "Turn timestamps into days with a named time zone", "--outcome", "success"),
            *("--content", "-", "--tag", "python", "--json"),
            text="Pass ZoneInfo to datetime.fromtimestamp; the zone of the machine must not matter.",
        )
    )
    memory_id = str(recorded["id"])
    found = answer(rbank(home, "search", "calendar dates are wrong around midnight on another machine", "--json"))
    assert [hit["id"] for hit in cast(list[dict[str, object]], found["memories"])] == [memory_id]
    assert answer(rbank(home, "feedback", memory_id, "helpful", "--json"))["counted"] is True
    assert answer(rbank(home, "outcome", memory_id, "succeeded", "--session", "s", "--json"))["recorded"] is True
    assert answer(rbank(home, "get", memory_id, "--json"))["usage_count"] == 1
    events = cast(list[dict[str, object]], answer(rbank(home, "history", memory_id, "--json"))["events"])
    assert [event["kind"] for event in events] == ["recorded", "explicit", "outcome"]
    assert answer(rbank(home, "update", memory_id, "--category", "time", "--json"))["category"] == "time"
    assert answer(rbank(home, "list", "--category", "time", "--json"))["count"] == 1
    assert answer(rbank(home, "stats", "--json"))["memories"] == 1
    assert answer(rbank(home, "export", "all.jsonl", "--json"))["memories"] == 1
    copied = answer(rbank(home, "backup", "--json"))
    assert Path(str(copied["path"])).is_relative_to(home)
    assert answer(rbank(home, "delete", memory_id, "--json"))["deleted"] is True
    assert answer(rbank(home, "import", "all.jsonl", "--json"))["imported"] == 1
    assert answer(rbank(home, "restore", str(copied["path"]), "--json"))["memories"] == 1
    assert answer(rbank(home, "doctor", "--json"))["problems"] == []


@promise("cli:nothing-found", "A search that is related to nothing says so and ends with 0.", source="issue, Recall")
def test_an_unrelated_query_finds_nothing_and_ends_with_zero(home: Path) -> None:
    rbank(home, "record", "--title", "Retry flaky calls", "--content", "Back off, then retry.", "--outcome", "success")
    done = rbank(home, "search", "choose a sofa for the waiting room")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Nothing relevant is known" in done.stdout


@promise(
    "cli:serve",
    "rbank serve answers initialize with protocol alone on stdout and ends with its input.",
    source="issue, MCP server",
)
def test_serve_answers_initialize_on_stdout_and_ends_with_its_input(stocked: Path) -> None:
    client = {"name": "test", "version": "1"}
    parameters = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": parameters}
    # Not the common directory: where it has held a connection, this process is an agent's client as long as it lives.
    done = rbank(stocked, "serve", text=json.dumps(request) + "\n")
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    assert json.loads(line)["result"]["serverInfo"]["name"] == "reasoningbank"


@promise("cli:help-is-light", "rbank --help imports no command and nothing heavy.", source="DESIGN D12; issue")
def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from reasoningbank.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)\n"
        "print([name for name in sys.modules if name in ('reasoningbank.cli.built', 'reasoningbank.bank')], "
        "file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert all(name in done.stdout for name in COMMANDS)
    assert done.stderr.splitlines() == ["[]", "[]"]


@promise(
    "cli:without-vectors",
    "A command that compares nothing imports neither numpy nor a model's libraries nor OpenTelemetry.",
    source="DESIGN D12",
)
def test_commands_that_compare_nothing_import_no_numpy(tmp_path: Path) -> None:
    own = tmp_path / "home"
    text = ("--title", "Retry flaky calls", "--content", "Back off, then retry.", "--outcome", "success", "--json")
    recorded = str(answer(rbank(own, "record", *text))["id"])
    commands = (
        ("list",),
        ("get", recorded),
        ("history", recorded),
        ("stats",),
        ("feedback", recorded, "helpful"),
        ("outcome", recorded, "succeeded", "--session", "s"),
        ("export", "all.jsonl"),
        ("delete", recorded),
    )
    code = (
        "import json, sys\n"
        "from reasoningbank.cli import main\n"
        "for words in json.loads(sys.argv[1]):\n"
        "    status = 0\n"
        "    try:\n        main(words)\n"
        "    except SystemExit as end:\n        status = end.code or 0\n"
        f"    imported = [name for name in {COMPARING!r} if name in sys.modules]\n"
        "    print(json.dumps([words[4], status, imported]), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps([[*SCOPE, *words] for words in commands])],
        env=environment(own),
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    told = [json.loads(line) for line in done.stderr.splitlines()]
    assert told == [[words[0], 0, []] for words in commands]
    assert (tmp_path / "all.jsonl").read_text().count("Retry flaky calls") >= 1


@promise("cli:entry-points", "rbank, reasoningbank and python -m are the same command.", source="issue, CLI")
def test_both_names_and_the_module_are_the_same_command(home: Path) -> None:
    module = [sys.executable, "-m", "reasoningbank.cli"]
    for start in ([str(RBANK)], [str(RBANK.with_name("reasoningbank"))], module):
        done = subprocess.run([*start, "--version"], capture_output=True, text=True, check=False, env=environment(home))
        assert (done.returncode, done.stdout) == (0, "reasoningbank 0.1.0\n")


@promise("cli:at-once", "Two processes record into one new bank at once without an error.", source="issue, Durability")
def test_two_processes_write_one_bank_at_once(home: Path) -> None:
    def start(number: int) -> subprocess.Popen[str]:
        arguments = ("record", "--title", f"At once {number}", "--content", "c", "--outcome", "success", "--json")
        command = [str(RBANK), "--tenant", "acme", "--project", "at-once", *arguments]
        return subprocess.Popen(
            command, env=environment(home), cwd=home.parent, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    processes = [start(number) for number in range(2)]
    outputs = [process.communicate(timeout=120) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], outputs
    assert answer(rbank(home, "list", "--project", "at-once", "--json"))["count"] == 2


@promise(
    "cli:streams",
    "Data goes to stdout, everything else to stderr; an error leaves stdout empty and names a hint.",
    source="issue, CLI; spec/clients 4e",
)
def test_errors_leave_stdout_empty_and_name_a_hint(stocked: Path) -> None:
    done = rbank(stocked, "get", "no-such-memory")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("error: ")
    assert "hint: " in done.stderr
    assert "Traceback" not in done.stderr


@promise("cli:broken-pipe", "A reader that goes away ends the command quietly with 141.", source="issue, CLI")
def test_a_reader_that_goes_away_ends_the_command_quietly(stocked: Path) -> None:
    command = [str(RBANK), *SCOPE, "list", "--json"]
    reader, writer = os.pipe()
    process = subprocess.Popen(command, env=environment(stocked), stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    os.close(reader)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (141, b"")


@promise("cli:interrupt", "Ctrl-C ends the command with 130 and without a traceback.", source="issue, CLI")
def test_ctrl_c_ends_the_command_with_130_and_without_a_traceback(home: Path) -> None:
    arguments = ("record", "--title", "t", "--content", "-", "--outcome", "success")
    process = subprocess.Popen(
        [str(RBANK), *SCOPE, *arguments],
        env=environment(home),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # What runs the tests may ignore Ctrl-C, as a shell's background job does, and a process inherits that.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    wait_until_idle(process.pid)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert output == ""
    assert "Traceback" not in errors


def wait_until_idle(process: int) -> None:
    """Waits until a process that has begun waits for its standard input; where that cannot be seen, five seconds."""
    call = Path(f"/proc/{process}/syscall")
    try:
        call.read_text()
    except OSError:
        time.sleep(5)
        return
    for _ in range(600):
        if call.read_text().split()[:2] in (["0", "0x0"], ["63", "0x0"]):  # read, on x86_64 and on aarch64
            return
        time.sleep(0.1)
    raise AssertionError("the process never read its standard input")


@promise(
    "cli:unwritable-home",
    "Writing to a data directory that cannot be written is a store error with a hint; reading there answers empty.",
    source="issue, CLI",
)
@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs a system with user ids")
def test_writing_to_a_home_that_cannot_be_written_is_an_error_and_reading_answers_empty(tmp_path: Path) -> None:
    place = Path("/proc/reasoningbank") if os.geteuid() == 0 else tmp_path / "closed" / "home"
    if os.geteuid() != 0:
        place.parent.mkdir()
        place.parent.chmod(0o500)
    elif not Path("/proc").is_dir():
        pytest.skip("root may write everywhere and there is no /proc here")
    lines = (("record", "--title", "t", "--content", "c", "--outcome", "success"), ("list",))
    written, listed = (
        subprocess.run(
            [str(RBANK), *SCOPE, *line, "--json"],
            env=environment(place),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        for line in lines
    )
    assert (written.returncode, written.stdout) == (5, "")
    said = json.loads(written.stderr)
    assert (said["error"], bool(said["hint"])) == ("store_unavailable", True)
    assert answer(listed)["memories"] == []
    assert not place.exists()


@promise(
    "cli:asks-on-a-terminal",
    "delete asks on a terminal and only there; a no changes nothing.",
    source="issue, CLI",
)
def test_delete_asks_on_a_terminal_and_only_there(home: Path) -> None:
    pty = pytest.importorskip("pty", reason="needs pseudo-terminals")
    made = rbank(home, "record", "--title", "Ask me", "--content", "c", "--outcome", "success", "--json")
    memory_id = str(answer(made)["id"])
    for reply, status in ((b"n\n", 1), (b"y\n", 0)):
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [str(RBANK), *SCOPE, "delete", memory_id],
            env=environment(home),
            stdin=theirs,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        os.close(theirs)
        os.write(ours, reply)
        output, errors = process.communicate(timeout=60)
        os.close(ours)
        assert process.returncode == status
        assert "Erase 'Ask me' and its evidence?" in errors
        assert output == ("" if status else f"Deleted {memory_id}.\n")
    assert rbank(home, "get", memory_id).returncode == 3
