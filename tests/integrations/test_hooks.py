"""Hooks from process start, with payloads of the shapes that clients send."""

from __future__ import annotations

import io
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.integrations.hook_actions import LOG_FILE, MAX_LOG, write
from reasoningbank.integrations.hook_payload import HookEvent, HookPlace, Payload, event_of, payload_of
from reasoningbank.integrations.hooks import reply, run
from reasoningbank.safety.quotation import BLOCK_START, memories_in
from reasoningbank.settings import Settings
from reasoningbank.types.records import Job, TrajectoryEntry
from reasoningbank.types.session import QUIET, SUMMARY_SOURCE
from sessions.learned_sessions import REPAIRED, environment, eventually

RBANK = Path(sys.executable).parent / "rbank"
HEAVY = ("numpy", "apsw", "mcp", "onnxruntime", "opentelemetry", "tokenizers", "tiktoken", "platformdirs", "click")
REAL = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "claude_code"
SCOPE = ("--tenant", "acme", "--project", "shop")
PROMPT = "The network call to the shop fails now and then, make it reliable."
FAILURE = "Error: Exit code 1\nalembic upgrade head: the migration of the live database failed"
COMMON: Mapping[str, object] = {
    "transcript_path": "/home/dev/.claude/projects/-home-dev-shop/cc-1.jsonl",
    "cwd": "/home/dev/shop",
    "permission_mode": "default",
    "prompt_id": "p-1",
    "effort": {"level": "high"},
}


def claude(event: str, session: str, **more: object) -> dict[str, object]:
    """A payload as Claude Code sends it."""
    return {**COMMON, "session_id": session, "hook_event_name": event, **more}


def codex(event: str, session: str, **more: object) -> dict[str, object]:
    """A payload as Codex sends it."""
    return {"session_id": session, "turn_id": "t-1", "cwd": "/home/dev/shop", "hook_event_name": event, **more}


def cursor(event: str, session: str, **more: object) -> dict[str, object]:
    """A payload as Cursor sends it."""
    place: dict[str, object] = {"conversation_id": session, "generation_id": "g", "workspace_roots": ["/home/dev/shop"]}
    return {**place, "hook_event_name": event, **more}


def copilot(session: str, **more: object) -> dict[str, object]:
    """A payload as Copilot CLI sends it."""
    return {"sessionId": session, "timestamp": 1, "cwd": "/home/dev/shop", **more}


def hook(
    home: Path, event: str, payload: object, *, scope: tuple[str, ...] = SCOPE, **settings: str
) -> subprocess.CompletedProcess[bytes]:
    """Runs a hook in a process of its own; whatever happens it ends with 0 and says nothing on stderr."""
    raw = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    done = subprocess.run(
        [str(RBANK), "hook", event, *scope],
        input=raw,
        env=environment(home, **settings),
        cwd=home.parent,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b""), done.stderr
    return done


def inside(home: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, object], dict[str, Any]]:
    """Answers events in this process, where the embedding model is loaded only once."""
    monkeypatch.setenv("REASONINGBANK_HOME", str(home))

    def answer(event: str, payload: object) -> dict[str, Any]:
        target = io.StringIO()
        place = HookPlace(tenant="acme", project="shop")
        run(event, io.BytesIO(json.dumps(payload).encode()), target, place)
        found = json.loads(target.getvalue())
        assert isinstance(found, dict)
        return found

    return answer


def said(done: subprocess.CompletedProcess[bytes]) -> dict[str, Any]:
    """The one JSON object of an answer."""
    answer = json.loads(done.stdout)
    assert isinstance(answer, dict)
    return answer


def log(home: Path) -> str:
    """What hooks have noted."""
    return (home / LOG_FILE).read_text() if (home / LOG_FILE).exists() else ""


def bank_of(home: Path, project: str = "shop") -> Bank:
    """The bank that the hooks use."""
    return Bank.open(tenant="acme", project=project, settings=Settings(home=home))


def queued(home: Path) -> list[Job]:
    """The captures that wait."""
    with bank_of(home) as bank:
        jobs = bank._context.store().jobs.waiting(due=datetime.now(UTC) + timedelta(days=1))
    return [job for job in jobs if job.kind == "capture"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A data directory with a strategy and an anti-pattern."""
    place = tmp_path_factory.mktemp("hooks") / "home"
    with bank_of(place) as bank:
        bank.record(
            title="Retry a network call that fails now and then",
            content="Wait with exponential back-off, then retry the call.",
            outcome="success",
        )
        bank.record(
            title="Never migrate a live database without a backup",
            content="alembic upgrade on the live database failed half way and lost a column; take a backup first.",
            outcome="failure",
        )
    yield place


def titles(text: str) -> list[str]:
    """The titles of both lessons that the text shows."""
    return [title for title in ("Retry a network call", "Never migrate") if title in text]


@promise(
    "hook:session-start",
    "SessionStart is answered with a briefing as additionalContext.",
    source="issue Hooks; spec/clients 4b",
)
@promise("contextd:68", "Session start and end prime and capture.", source="spec/contextd row 68")
@pytest.mark.parametrize("source", ["startup", "compact"])
def test_a_session_begins_with_a_briefing(home: Path, source: str) -> None:
    answer = said(hook(home, "session-start", claude("SessionStart", f"start-{source}", source=source, model="m")))
    assert set(answer) == {"hookSpecificOutput"}
    output = answer["hookSpecificOutput"]
    assert set(output) == {"hookEventName", "additionalContext"}
    assert output["hookEventName"] == "SessionStart"
    assert output["additionalContext"].startswith(BLOCK_START)
    assert len(memories_in(output["additionalContext"])) == 2


@promise(
    "hook:prompt",
    "UserPromptSubmit brings what is relevant to the prompt and was not shown in the session, and nothing otherwise.",
    source="issue Hooks; spec/clients 4b",
)
def test_a_prompt_brings_what_is_relevant_to_it_once_a_session(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = inside(home, monkeypatch)
    payload = claude("UserPromptSubmit", "prompt-1", prompt=PROMPT, source="user")
    output = said(hook(home, "UserPromptSubmit", payload))["hookSpecificOutput"]
    assert output["hookEventName"] == "UserPromptSubmit"
    assert titles(output["additionalContext"]) == ["Retry a network call"]
    assert answer("UserPromptSubmit", payload) == {}
    other = claude("UserPromptSubmit", "prompt-1", prompt="Paint the garden fence green.")
    assert answer("UserPromptSubmit", other) == {}
    with bank_of(home) as bank:
        report = bank.sessions.outcome("prompt-1", True)
    assert [one.memory_id for one in report.credited] == memories_in(output["additionalContext"])


@promise("hook:prompt")
def test_a_file_before_what_is_asked_does_not_hide_it(home: Path) -> None:
    file = "\n".join(f"def step_{number}(value):\n    return value + {number}\n" for number in range(400))
    assert len(file) > 10_000
    payload = claude("UserPromptSubmit", "prompt-file", prompt=f"{file}\n\n{PROMPT}", source="user")
    output = said(hook(home, "UserPromptSubmit", payload))["hookSpecificOutput"]
    assert titles(output["additionalContext"]) == ["Retry a network call"]


@promise(
    "hook:tool-failure",
    "PostToolUseFailure brings a matching anti-pattern and nothing else.",
    source="issue Hooks; spec/clients 4b",
)
def test_a_failed_tool_brings_the_matching_anti_pattern_alone(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    payload = claude(
        "PostToolUseFailure",
        "failure-1",
        tool_name="Bash",
        tool_input={"command": "alembic upgrade head", "description": "Migrate"},
        tool_use_id="toolu_1",
        error=FAILURE,
        is_interrupt=False,
        duration_ms=40,
    )
    output = said(hook(home, "tool-failure", payload))["hookSpecificOutput"]
    assert output["hookEventName"] == "PostToolUseFailure"
    assert titles(output["additionalContext"]) == ["Never migrate"]
    assert "WARNING" in output["additionalContext"]
    unknown = {**payload, "session_id": "failure-2", "error": "fence.txt: no such colour", "tool_input": {}}
    assert inside(home, monkeypatch)("PostToolUseFailure", unknown) == {}


@promise(
    "hook:other-clients", "Codex, Cursor and Copilot CLI are answered in their own JSON.", source="spec/clients 4c"
)
def test_codex_cursor_and_copilot_are_answered_in_their_own_json(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ask = inside(home, monkeypatch)
    answer = ask("user-prompt-submit", codex("UserPromptSubmit", "codex-1", user_prompt=PROMPT))
    assert titles(answer["hookSpecificOutput"]["additionalContext"]) == ["Retry a network call"]
    answer = ask("beforeSubmitPrompt", cursor("beforeSubmitPrompt", "cursor-1", prompt=PROMPT))
    assert set(answer) == {"continue", "additional_context"}
    assert answer["continue"] is True
    assert titles(answer["additional_context"]) == ["Retry a network call"]
    whole = f"<current_datetime>2026-11-26T17:48:31.974+00:00</current_datetime>\n\n{PROMPT}"
    answer = ask("userPromptTransformed", copilot("copilot-1", prompt=PROMPT, transformedPrompt=whole))
    assert set(answer) == {"modifiedTransformedPrompt"}
    assert answer["modifiedTransformedPrompt"].startswith(f"{whole}\n\n{BLOCK_START}")
    noise = f"{whole}\n<reminder>{'Mind the weather of the coast. ' * 40}</reminder>"
    answer = ask("userPromptTransformed", copilot("copilot-3", prompt=PROMPT, transformedPrompt=noise))
    assert titles(answer["modifiedTransformedPrompt"]) == ["Retry a network call"], "only the person's words are asked"
    assert ask("sessionStart", copilot("copilot-2"))["additionalContext"].startswith(BLOCK_START)
    assert said(hook(home, "stop", cursor("stop", "cursor-1", status="completed"))) == {"continue": True}
    started = said(hook(home, "sessionStart", cursor("sessionStart", "cursor-2")))
    assert started["additional_context"].startswith(BLOCK_START)


@promise(
    "hook:capture",
    "Stop, SessionEnd and PreCompact queue the transcript; what is due and needs no model is done by a server or a "
    "worker, and where none runs by the hook's own process after its answer.",
    source="issue Hooks",
)
@promise("contextd:68")
def test_the_end_of_a_turn_queues_the_transcript_and_the_end_of_the_session_has_it_captured(
    home: Path, tmp_path: Path
) -> None:
    transcript = tmp_path / "a folder" / "cc-1.jsonl"
    transcript.parent.mkdir()
    transcript.write_text(REPAIRED)
    stop = claude("Stop", "cc-1", stop_hook_active=False, last_assistant_message="Done.")
    seen: set[datetime] = set()
    for _ in range(2):
        assert said(hook(home, "stop", {**stop, "transcript_path": str(transcript)})) == {}
        eventually(lambda: bool({job.due for job in queued(home)} - seen))
        seen.update(job.due for job in queued(home))
        transcript.write_text(transcript.read_text() + "\n")
    (job,) = queued(home)
    assert timedelta(0) < job.due - datetime.now(UTC) <= QUIET
    with bank_of(home) as bank:
        bank.jobs.work()
        assert bank.sessions.list() == ()

    def captured() -> list[TrajectoryEntry]:
        with bank_of(home) as bank:
            return [*bank.sessions.list()]

    events = {
        "pre-compact": claude("PreCompact", "cc-1", trigger="auto", custom_instructions=""),
        "session-end": claude("SessionEnd", "cc-1", reason="prompt_input_exit"),
    }
    for event, payload in events.items():
        assert said(hook(home, event, {**payload, "transcript_path": str(transcript)})) == {}
        eventually(lambda: len(captured()) == 1 and not queued(home))
        transcript.write_text(transcript.read_text() + "\n")
    (entry,) = captured()
    assert (entry.session, entry.judgement is not None and entry.judgement.verdict) == ("cc-1", "success")


@promise(
    "hook:real-transcripts",
    "Real Claude Code transcripts go from the hook's process to trajectories.",
    source="issue, It must show",
)
def test_real_transcripts_go_from_the_hook_to_a_trajectory(tmp_path: Path) -> None:
    if not REAL.is_dir():
        pytest.skip("../shared/data/claude_code is not here: its real sessions are not part of the project")
    home, files = tmp_path / "home", sorted(REAL.glob("*.jsonl"))
    for path in files:
        assert (
            said(hook(home, "session-end", claude("SessionEnd", path.stem, reason="other", transcript_path=str(path))))
            == {}
        )

    def captured() -> bool:
        with bank_of(home) as bank:
            bank.jobs.work()
            return len(bank.sessions.list()) >= len(files)

    eventually(lambda: bool(files) and home.exists() and captured() and queued(home) == [])
    with bank_of(home) as bank:
        assert bank.jobs.dead() == ()
        assert {entry.source for entry in bank.sessions.list()} == {"claude-code"}
    assert log(home) == ""


@promise(
    "hook:compaction",
    "The client's own summary becomes a lesson when it is known how the session ended and waits as a trajectory "
    "otherwise, each once.",
    source="issue Hooks",
)
def test_the_clients_own_summary_teaches_when_the_end_is_known_and_waits_otherwise(tmp_path: Path) -> None:
    home = tmp_path / "home"
    transcript = tmp_path / "cc-1.jsonl"
    transcript.write_text(REPAIRED)
    summary = "The export dropped a row because its loop ended one short.\nThe range is inclusive now and tests pass."
    with bank_of(home) as bank:
        bank.sessions.capture(transcript)
    waiting = claude("PostCompact", "unknown-1", trigger="manual", compact_summary=summary)
    for _ in range(2):
        assert said(hook(home, "post-compact", waiting)) == {}
    assert said(hook(home, "post-compact", {**waiting, "session_id": "cc-1"})) == {}

    def counts() -> tuple[int, int]:
        with bank_of(home) as bank:
            kept = [entry for entry in bank.sessions.list() if entry.source == SUMMARY_SOURCE]
            return len(kept), bank.memories.count()

    eventually(lambda: counts() == (1, 1))
    with bank_of(home) as bank:
        (memory,) = bank.memories.list()
    assert (memory.outcome, memory.confidence) == ("success", 0.6)
    assert log(home) == ""


@promise("hook:skipped")
@pytest.mark.parametrize(
    ("event", "payload"),
    [
        ("stop", claude("Stop", "s", stop_hook_active=True)),
        ("stop", claude("Stop", "s", agent_id="a-1", agent_type="Explore")),
        ("SubagentStop", claude("SubagentStop", "s", agent_id="a-1", agent_transcript_path="/x", agent_type="Explore")),
        ("session-start", claude("SessionStart", "s", source="startup", agent_id="a-1")),
        ("user-prompt-submit", claude("UserPromptSubmit", "s", prompt=PROMPT, source="loop_wakeup")),
        ("user-prompt-submit", claude("UserPromptSubmit", "s", prompt="/compact now")),
        ("tool-failure", claude("PostToolUseFailure", "s", tool_name="Bash", error=FAILURE, is_interrupt=True)),
        ("PreToolUse", claude("PreToolUse", "s", tool_name="Bash", tool_input={"command": "ls"})),
    ],
)
def test_what_is_not_the_agents_own_turn_is_passed_over(tmp_path: Path, event: str, payload: dict[str, object]) -> None:
    home = tmp_path / "home"
    transcript = tmp_path / "t.jsonl"
    transcript.write_text(REPAIRED)
    assert said(hook(home, event, {**payload, "transcript_path": str(transcript)})) == {}
    assert not home.exists()


@promise("hook:no-litter", "Reading events make no bank where there is none.", source="issue Hooks")
def test_reading_events_make_no_bank(tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert said(hook(home, "session-start", claude("SessionStart", "s", source="startup"))) == {}
    assert said(hook(home, "user-prompt-submit", claude("UserPromptSubmit", "s", prompt=PROMPT))) == {}
    assert not list(home.rglob("*.db"))
    assert log(home) == ""


@promise(
    "hook:never-blocks",
    "Whatever fails, a hook ends with 0, gives the client's neutral answer, says nothing on stderr and notes the "
    "failure without a word of the payload in a small private log.",
    source="issue Hooks",
)
@pytest.mark.parametrize(
    "payload",
    [b"", b"nonsense", b"\xff\xfe\x00", b"[1, 2]", b"null", b'{"session_id": ', b"[" * 100_000, b'"text"'],
)
def test_a_payload_that_is_none_is_noted_and_answered(tmp_path: Path, payload: bytes) -> None:
    home = tmp_path / "home"
    for event in ("stop", "session-start"):
        assert said(hook(home, event, payload)) == {}
    assert log(home).count("invalid_input") == 2
    assert (home / LOG_FILE).stat().st_mode & 0o777 == 0o600


@promise("hook:never-blocks")
def test_whatever_is_wrong_with_the_bank_is_noted_without_a_word_of_the_payload(tmp_path: Path) -> None:
    secret = "the-words-of-the-user"
    transcript = tmp_path / "t.jsonl"
    transcript.write_text(REPAIRED)
    broken = tmp_path / "broken"
    with bank_of(broken) as bank:
        bank.record(title="Known", content="Something.", outcome="success")
    (file,) = broken.rglob("*.db")
    for part in broken.rglob("*.db-*"):
        part.unlink()
    file.write_bytes(b"no bank at all" * 1_000)
    wrong = "no-such-embedder"
    prompt = claude("UserPromptSubmit", "s", prompt=secret)
    assert said(hook(broken, "user-prompt-submit", prompt)) == {}
    assert said(hook(tmp_path / "set", "session-start", claude("SessionStart", "s"), no_such="1")) == {}
    with bank_of(tmp_path / "known") as bank:
        bank.record(title="Known", content="Something.", outcome="success")
    assert said(hook(tmp_path / "known", "user-prompt-submit", prompt, embedder=wrong)) == {}
    gone = claude("Stop", "s", transcript_path=str(tmp_path / f"{secret}.jsonl"))
    assert said(hook(tmp_path / "gone", "stop", gone)) == {}
    stop = claude("Stop", "s", transcript_path=str(transcript))
    assert said(hook(tmp_path / "stop", "stop", stop, embedder=wrong)) == {}
    assert log(tmp_path / "gone") == "", "a session without a transcript is nothing to capture"
    for name in ("set", "known", "stop"):
        eventually(lambda name=name: log(tmp_path / name) != "")  # type: ignore[misc]  # a loop's own lambda
        assert secret not in log(tmp_path / name)
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where the data directory belongs")
    assert said(hook(blocked, "session-start", claude("SessionStart", "s"))) == {}
    assert said(hook(blocked, "stop", stop)) == {}
    assert said(hook(tmp_path / "tenant", "session-start", claude("SessionStart", "s"), scope=("--tenant", " "))) == {}


@promise("hook:never-blocks")
@pytest.mark.parametrize("words", [[], ["--tenant"], ["--nonsense", "stop"], ["", ""], ["x" * 10_000]])
def test_any_words_after_hook_are_answered(tmp_path: Path, words: list[str]) -> None:
    done = subprocess.run(
        [str(RBANK), "hook", *words],
        input=b"{}",
        env=environment(tmp_path / "home"),
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr, json.loads(done.stdout)) == (0, b"", {})


@promise("hook:never-blocks")
def test_a_client_that_goes_away_is_no_failure(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [str(RBANK), "hook", "stop"],
        input=b"{}",
        env=environment(tmp_path / "home"),
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
        timeout=60,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


@promise(
    "hook:start-without-vectors",
    "The start of a session imports numpy only when two of the memories to be shown share most of their words.",
    source="issue, hooks do not import numpy before they need it",
)
def test_the_start_of_a_session_imports_numpy_only_for_memories_that_are_alike(tmp_path: Path) -> None:
    home = tmp_path / "home"
    payload = json.dumps(claude("SessionStart", "s", source="startup")).encode()
    code = (
        "import sys\n"
        "from reasoningbank.cli import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit:\n    pass\n"
        "print('numpy' in sys.modules, file=sys.stderr)\n"
    )
    lessons = (
        ("Follow the next links", "Follow the next links until the shop's listing has no more pages.", "False"),
        ("Retry timed out calls", "Wait longer after each attempt that timed out.", "False"),
        ("Follow next links", "Follow the next links until the listing of the shop has no more pages at all.", "True"),
    )
    for title, content, imported in lessons:
        # A command below a client that runs hooks would be its agent's word.
        with bank_of(home) as bank:
            bank.record(title=title, content=content, outcome="success")
        done = subprocess.run(
            [sys.executable, "-c", code, "hook", "session-start", *SCOPE],
            input=payload,
            env=environment(home),
            capture_output=True,
            text=False,
            check=True,
            timeout=60,
        )
        assert title in done.stdout.decode()
        assert done.stderr.decode().split() == [imported]


@promise("hook:never-blocks")
def test_the_log_stays_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REASONINGBANK_HOME", str(tmp_path))
    (tmp_path / LOG_FILE).write_text("x" * (MAX_LOG + 1))
    write("stop", ValueError("words of the payload"))
    assert "words" not in log(tmp_path)
    assert "ValueError" in log(tmp_path)
    assert (tmp_path / f"{LOG_FILE}.1").stat().st_size == MAX_LOG + 1


@promise(
    "hook:light",
    "The end of a turn is answered without importing anything heavy, for less CPU than --help, and kept by a detached "
    "process.",
    source="DESIGN D12",
)
def test_the_end_of_a_turn_is_answered_without_anything_heavy_and_for_less_than_help(tmp_path: Path) -> None:
    home = tmp_path / "home"
    payload = json.dumps(claude("Stop", "s", stop_hook_active=True)).encode()
    code = (
        "import sys\n"
        "from reasoningbank.cli import main\n"
        "try:\n    main(['hook', 'stop'])\nexcept SystemExit:\n    pass\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=payload, env=environment(home), capture_output=True, check=True, timeout=60
    )
    assert (done.stdout, done.stderr) == (b"{}\n", b"[]\n")

    transcript = tmp_path / "t.jsonl"
    transcript.write_text(REPAIRED)
    stop = json.dumps(claude("Stop", "s", transcript_path=str(transcript))).encode()
    commands = {"help": ["--help"], "stop": ["hook", "stop", *SCOPE]}
    spent = {name: cpu([str(RBANK), *words], stop, home) for name, words in commands.items()}
    assert spent["stop"] < spent["help"], spent


def cpu(command: list[str], payload: bytes, home: Path) -> float:
    """The least CPU seconds of several runs, as their parent waits for them."""
    least = 60.0
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, input=payload, env=environment(home), stdout=subprocess.DEVNULL, check=True, timeout=60)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        least = min(least, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return least


@promise(
    "hook:spellings",
    "Events are known in the spelling of Claude Code, Codex, Cursor and Copilot CLI.",
    source="spec/clients 4b, 4c",
)
@pytest.mark.parametrize(
    ("event", "names"),
    [
        ("SessionStart", ["SessionStart", "session-start", "sessionStart"]),
        ("UserPromptSubmit", ["UserPromptSubmit", "user-prompt-submit", "beforeSubmitPrompt", "userPromptTransformed"]),
        ("PostToolUseFailure", ["PostToolUseFailure", "post-tool-use-failure", "tool-failure", "postToolUseFailure"]),
        ("Stop", ["Stop", "stop", "agentStop"]),
        ("SessionEnd", ["SessionEnd", "session-end", "sessionEnd"]),
        ("PreCompact", ["PreCompact", "pre-compact", "preCompact"]),
        ("PostCompact", ["PostCompact", "post-compact"]),
        ("PostToolUse", ["PostToolUse", "post-tool-use", "postToolUse"]),
        (None, ["", "SubagentStop", "PreToolUse", "nonsense", "afterFileEdit"]),
    ],
)
def test_events_are_known_in_every_clients_spelling(event: str | None, names: list[str]) -> None:
    assert {event_of(name) for name in names} == {event}


@promise("hook:never-blocks")
def test_fields_of_another_type_are_as_if_they_were_missing() -> None:
    odd = {"session_id": 7, "prompt": ["x"], "tool_input": "ls", "workspace_roots": {"a": 1}, "is_interrupt": "yes"}
    assert payload_of(json.dumps(odd).encode()) == Payload(client="cursor")
    events: list[HookEvent | None] = ["SessionStart", "Stop", None]
    for event in events:
        assert json.loads(reply(event, Payload(client="cursor"), "")) == {"continue": True}
    assert reply("Stop", Payload(), "text") == "{}"


@promise(
    "hook:project",
    "The project is the client's project directory, not the directory the agent is in at the moment.",
    source="DESIGN D9",
)
def test_the_project_is_the_clients_and_not_the_directory_of_the_moment(tmp_path: Path) -> None:
    home, root = tmp_path / "home", tmp_path / "work"
    (root / "deep").mkdir(parents=True)
    with bank_of(home, str(root)) as bank:
        bank.record(title="Known here", content="Something that is known here.", outcome="success")
    payload = claude("SessionStart", "s", source="startup", cwd=str(root / "deep"))
    run = [str(RBANK), "hook", "session-start", "--tenant", "acme"]
    for variables, found in (({"CLAUDE_PROJECT_DIR": str(root)}, True), ({}, False)):
        kept = {name: value for name, value in environment(home).items() if name != "CLAUDE_PROJECT_DIR"}
        done = subprocess.run(
            run, input=json.dumps(payload).encode(), env=kept | variables, capture_output=True, check=True, timeout=60
        )
        assert ("Known here" in done.stdout.decode()) is found
