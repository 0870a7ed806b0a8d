"""The status line of Claude Code: what it says, what it costs, and that it stands in nobody's way."""

from __future__ import annotations

import io
import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.integrations.clients import Where, install, targets_of, uninstall
from reasoningbank.integrations.hook_payload import HookPlace
from reasoningbank.integrations.hooks import run
from reasoningbank.settings import Settings
from sessions.learned_sessions import environment

RBANK = str(Path(sys.executable).parent / "rbank")
SESSION = "0b6f7c1e-5f1d-4c57-9b7e-2f6f0a1c9d3e"
MOST_SECONDS = 0.05
HEAVY = ("click", "dataclasses", "hashlib", "numpy", "apsw", "mcp", "reasoningbank.settings")


def status_line(home: Path, payload: bytes) -> str:
    """What the command prints, as the client runs it."""
    done = subprocess.run(
        [RBANK, "statusline", "--home", str(home)],
        input=payload,
        env=environment(home),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode()


def told(session: str = SESSION) -> bytes:
    """The JSON that Claude Code gives to a status line."""
    given = {
        "hook_event_name": "Status",
        "session_id": session,
        "transcript_path": "/home/dev/.claude/projects/-home-dev-shop/t.jsonl",
        "cwd": "/home/dev/shop",
        "model": {"id": "claude-opus-4-1", "display_name": "Opus"},
        "workspace": {"current_dir": "/home/dev/shop", "project_dir": "/home/dev/shop"},
        "version": "2.0.31",
        "cost": {"total_cost_usd": 0.01},
    }
    return json.dumps(given).encode()


@promise(
    "statusline:says",
    "The status line says what the session was shown and what it said of that, what was learned this week and how "
    "many sessions wait; hooks note it where the command has run.",
    source="issue 16, Reports",
)
def test_the_line_says_what_the_session_was_shown_and_what_came_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("REASONINGBANK_HOME", str(home))
    monkeypatch.setenv("REASONINGBANK_SHARED", "false")
    place = HookPlace(tenant="acme", project="shop")
    payload = {"session_id": SESSION, "cwd": str(tmp_path), "prompt": "Make the network call that fails reliable."}

    def hook(event: str) -> None:
        run(event, io.BytesIO(json.dumps(payload).encode()), io.StringIO(), place)

    with Bank.open(tenant="acme", project="shop", settings=Settings(home=home)) as bank:
        memory = bank.record(
            title="Retry a network call that fails now and then", content="Wait, then retry it.", outcome="success"
        )
        hook("session-start")
        assert status_line(home, told()) == "\n"
        hook("session-start")
        assert status_line(home, told()) == "ReasoningBank: 1 memory shown | 1 learned this week\n"
        bank.outcome(memory.id, succeeded=True, session=SESSION)
        hook("user-prompt-submit")
        assert status_line(home, told()) == "ReasoningBank: 1 memory shown, 1 helped | 1 learned this week\n"
    assert status_line(home, told("another")) == "\n"


@promise(
    "statusline:quiet",
    "Without a bank, a note or readable JSON the status line is empty, its exit status 0; it makes no data directory.",
    source="issue 16, Reports",
)
@pytest.mark.parametrize("payload", [b"", b"{", b"[]", b"null", b'{"session_id": 7}', b"\xff", told("../../x"), told()])
def test_the_line_is_empty_when_there_is_nothing_to_say(tmp_path: Path, payload: bytes) -> None:
    home = tmp_path / "home"
    assert status_line(home, payload) == "\n"
    assert not home.exists()
    notes = home / "run" / "status"
    notes.mkdir(parents=True)
    (notes / SESSION).write_text("{")
    assert status_line(home, payload) == "\n"


@promise(
    "statusline:light",
    "The status line costs less than 50 ms of CPU: it imports no click and opens no bank.",
    source="issue 16, Reports; DESIGN D12",
)
def test_the_line_costs_less_than_fifty_milliseconds(tmp_path: Path) -> None:
    notes = tmp_path / "run" / "status"
    notes.mkdir(parents=True)
    (notes / SESSION).write_text('{"shown": 3, "misled": 1, "learned": 9, "waiting": 2}')
    assert status_line(tmp_path, told()).startswith("ReasoningBank: 3 memories shown, 1 misled | 9 learned")
    code = (
        "import sys\n"
        "from reasoningbank.cli import main\n"
        f"try:\n    main(['statusline', '--home', {str(tmp_path)!r}])\nexcept SystemExit:\n    pass\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=told(),
        env=environment(tmp_path),
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert done.stderr == b"[]\n"
    # A busy machine counts more CPU for the same work, so that the version is the measure there.
    spent = cpu([RBANK, "statusline", "--home", str(tmp_path)], tmp_path)
    assert spent < max(MOST_SECONDS, 0.75 * cpu([RBANK, "--version"], tmp_path))


def cpu(command: list[str], home: Path) -> float:
    """The least CPU seconds of several runs, as their parent waits for them."""
    least = 60.0
    for _ in range(7):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, input=told(), env=environment(home), stdout=subprocess.DEVNULL, check=True, timeout=60)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        least = min(least, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return least


@promise(
    "statusline:installed",
    "`rbank install claude-code` sets the status line for the user where there is none, never in place of another one, "
    "and `uninstall` takes only its own out.",
    source="issue 16, Reports",
)
@pytest.mark.parametrize("theirs", [None, '{\n  "statusLine": {"type": "command", "command": "~/mine.sh"}\n}\n'])
def test_another_status_line_is_never_replaced_or_taken_out(tmp_path: Path, theirs: str | None) -> None:
    place = Where(level="user", home=tmp_path, project=tmp_path / "work", command="/opt/rbank", data="/data")
    settings = tmp_path / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(theirs or "{\n}\n")
    install(targets_of("claude-code", place), tmp_path / "data")
    ours = {"type": "command", "command": "/opt/rbank statusline --home /data"}
    others = {"type": "command", "command": "~/mine.sh"}
    assert json.loads(settings.read_text())["statusLine"] == (others if theirs else ours)
    if not theirs:
        changed = settings.read_text().replace("/opt/rbank statusline --home /data", "~/mine.sh")
        settings.write_text(changed)
        install(targets_of("claude-code", place), tmp_path / "data")
        assert json.loads(settings.read_text())["statusLine"] == others
        settings.write_text(changed.replace("~/mine.sh", "/opt/rbank statusline --home /data"))
    uninstall(targets_of("claude-code", place), tmp_path / "data")
    assert settings.read_text() == (theirs or "{\n}\n")
    shared = Where(level="project", home=tmp_path, project=tmp_path / "work", command="rbank")
    assert all(entry.key != "statusLine" for target in targets_of("claude-code", shared) for entry in target.entries)
