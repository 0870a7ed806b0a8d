"""``rbank hook EVENT``: a client tells what happens, and gets memories to show.

A hook never stands in its agent's way: whatever fails, the client gets its neutral answer and exit status 0, and the
failure is noted in ``hooks.log`` below the data directory. Nothing heavy is imported before it is needed, and what only
keeps something runs in a process of its own, after the answer.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import traceback
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple, TextIO

from reasoningbank.bank import Bank
from reasoningbank.context import usable_path
from reasoningbank.errors import BankError, InvalidInput, UnreadableTranscript
from reasoningbank.settings import Settings, client_directory, data_directory, load_settings, local_tenant, project_of
from reasoningbank.storage import open_storage
from reasoningbank.types.scope import Membership, Scope
from reasoningbank.types.session import SessionSummary, Step, Trajectory

__all__ = ["main"]

LOG_FILE = "hooks.log"
MAX_LOG = 1_000_000
"""Bytes of the log at which it becomes ``hooks.log.1`` and a new one begins."""


def write(event_name: str, error: Exception) -> None:
    """Note a failure in the log: when, at what event, and which error; no text of the payload.

    When not even that can be written, nothing more is done.
    """
    said = f"{error.code}: {error.advice}" if isinstance(error, BankError) else _place_of(error)
    try:
        home = data_directory()
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = home / LOG_FILE
        if path.exists() and path.stat().st_size > MAX_LOG:
            path.replace(path.with_name(f"{LOG_FILE}.1"))
        line = f"{datetime.now(UTC).isoformat(timespec='seconds')} {event_name[:40]!r} {said[:500]!r}\n"
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(descriptor, "a", encoding="utf-8", errors="backslashreplace") as log:
            log.write(line)
    except (OSError, ValueError, RuntimeError):
        return


def _place_of(error: Exception) -> str:
    """Return the type of an unexpected error and where it was raised; its words may quote the payload."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{where}"


Client = Literal["claude-code", "cursor", "copilot"]
Event = Literal[
    "SessionStart",
    "UserPromptSubmit",
    "PostToolUseFailure",
    "Stop",
    "SessionEnd",
    "PreCompact",
    "PostCompact",
]

KEEPING: frozenset[Event] = frozenset({"Stop", "SessionEnd", "PreCompact", "PostCompact"})
"""Events that only keep something: they are answered at once."""

_EVENTS: Mapping[str, Event] = {
    "sessionstart": "SessionStart",
    "userpromptsubmit": "UserPromptSubmit",
    "userpromptsubmitted": "UserPromptSubmit",
    "userprompttransformed": "UserPromptSubmit",
    "beforesubmitprompt": "UserPromptSubmit",
    "posttoolusefailure": "PostToolUseFailure",
    "toolfailure": "PostToolUseFailure",
    "stop": "Stop",
    "agentstop": "Stop",
    "sessionend": "SessionEnd",
    "precompact": "PreCompact",
    "postcompact": "PostCompact",
}


class Payload(NamedTuple):
    """What happened, whatever the client calls it; a text that is missing or of another type is empty.

    Attributes:
        client: Whose answers it understands; Codex understands those of Claude Code.
        session: The client's name for the session.
        transcript: Path of the session's transcript.
        directory: Where the agent works.
        prompt: What the user said.
        source: Where the prompt came from, or why the session started.
        tool: The tool that failed.
        action: What it was to do.
        error: What went wrong.
        summary: The client's own summary of what it compacted.
        interrupted: Whether a person stopped the tool.
        continued: Whether a hook has already made the agent go on (``stop_hook_active``).
        subagent: Whether a sub-agent is meant and not the agent.
    """

    client: Client = "claude-code"
    session: str = ""
    transcript: str = ""
    directory: str = ""
    prompt: str = ""
    source: str = ""
    tool: str = ""
    action: str = ""
    error: str = ""
    summary: str = ""
    interrupted: bool = False
    continued: bool = False
    subagent: bool = False


def event_of(name: str) -> Event | None:
    """Return the event of a name in any client's spelling, such as ``session-start``; None when it is none of ours."""
    return _EVENTS.get(re.sub(r"[^a-z]", "", name.lower()))


def payload_of(raw: bytes) -> Payload:
    """Read a client's JSON object.

    Raises:
        InvalidInput: When it is none.
    """
    try:
        given = json.loads(raw.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"the payload is no JSON: {type(error).__name__}") from error
    if not isinstance(given, dict):
        raise InvalidInput("the payload is no JSON object")
    return _payload(given)


def _payload(given: dict[str, object]) -> Payload:
    roots = given.get("workspace_roots")
    first = roots[0] if isinstance(roots, list) and roots else ""
    tool_input = given.get("tool_input")
    return Payload(
        client=_client(given),
        session=_text(given, "session_id", "conversation_id", "sessionId"),
        transcript=_text(given, "transcript_path", "transcriptPath"),
        directory=_text(given, "cwd") or (first if isinstance(first, str) else ""),
        prompt=_text(given, "transformedPrompt", "prompt", "user_prompt"),
        source=_text(given, "source"),
        tool=_text(given, "tool_name"),
        action=_action(tool_input) if isinstance(tool_input, dict) else "",
        error=_text(given, "error"),
        summary=_text(given, "compact_summary"),
        interrupted=given.get("is_interrupt") is True,
        continued=given.get("stop_hook_active") is True,
        subagent=bool(given.get("agent_id") or given.get("agent_transcript_path")),
    )


def _client(given: dict[str, object]) -> Client:
    if "conversation_id" in given or "workspace_roots" in given:
        return "cursor"
    return "copilot" if "sessionId" in given else "claude-code"


def _text(given: dict[str, object], *names: str) -> str:
    """Return the first of these fields that holds a text."""
    found = (given.get(name) for name in names)
    return next((value for value in found if isinstance(value, str) and value), "")


def _action(tool_input: dict[str, object]) -> str:
    """Return what a tool was asked for, in its own words."""
    return _text(tool_input, "command", "file_path", "path", "pattern", "query", "url", "description")


_SPEAKING: frozenset[Event] = frozenset({"SessionStart", "UserPromptSubmit", "PostToolUseFailure"})


def reply(event: Event | None, payload: Payload, context: str) -> str:
    """Return the client's JSON that adds the context to what its agent sees.

    Without one the answer that changes nothing.
    """
    if not context or event not in _SPEAKING:
        return neutral(payload.client)
    if payload.client == "cursor":
        return json.dumps({"continue": True, "additional_context": context})
    if payload.client == "copilot":
        if event == "UserPromptSubmit":
            return json.dumps({"modifiedTransformedPrompt": f"{payload.prompt}\n\n{context}"})
        return json.dumps({"additionalContext": context})
    return json.dumps({"hookSpecificOutput": {"hookEventName": event, "additionalContext": context}})


def neutral(client: Client) -> str:
    """Return the answer that changes nothing."""
    return json.dumps({"continue": True}) if client == "cursor" else "{}"


MAX_PAYLOAD = 16_000_000


class Place(NamedTuple):
    """Which bank an event belongs to: the command's options; None for what the settings and the payload say."""

    url: str | None = None
    tenant: str | None = None
    project: str | None = None
    team: str | None = None
    org: str | None = None


def note(event_name: str, error: Exception) -> None:
    """Note a failure in the log below the data directory."""
    write(event_name, error)


def run(event_name: str, source: BinaryIO, target: TextIO, place: Place) -> None:
    """Read the payload, answers the client, and does what is left to do; never raises.

    What only keeps something is done after the answer, in a process of its own where the system has ``fork``.
    """
    event, payload, context = event_of(event_name), Payload(), ""
    try:
        payload = payload_of(source.read(MAX_PAYLOAD))
        if event is not None and event not in KEEPING and not payload.subagent:
            context = context_for(event, payload, place)
    except Exception as error:  # noqa: BLE001 - a hook must never stop its agent
        note(event_name, error)
        _say(target, neutral(payload.client), event_name)
        return
    _say(target, reply(event, payload, context), event_name)
    if event in KEEPING and _worth_keeping(event, payload):
        _later(event, payload, place)


def _say(target: TextIO, text: str, event_name: str) -> None:
    """Write the answer at once; a client that went away is no reason to fail."""
    try:
        target.write(text + "\n")
        target.flush()
    except (OSError, ValueError) as error:
        with os.fdopen(os.open(os.devnull, os.O_WRONLY)) as nothing:
            os.dup2(nothing.fileno(), target.fileno())
        note(event_name, error)


def _worth_keeping(event: Event, payload: Payload) -> bool:
    if payload.subagent or payload.continued:
        return False
    return bool(payload.summary if event == "PostCompact" else payload.transcript)


def _later(event: Event, payload: Payload, place: Place) -> None:
    """Keep in a process of its own that its client neither waits for nor ends; without ``fork`` in this one."""
    try:
        if not hasattr(os, "fork"):
            _keep(event, payload, place)
        elif os.fork() == 0:
            _detached(event, payload, place)
    except Exception as error:  # noqa: BLE001 - a hook must never stop its agent
        note(event, error)


def _detached(event: Event, payload: Payload, place: Place) -> None:
    """Run the child: it leaves its parent's session and streams, keeps, and ends."""
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nothing, stream)
        _keep(event, payload, place)
    except Exception as error:  # noqa: BLE001 - a hook must never stop its agent
        note(event, error)
    finally:
        os._exit(0)


def _keep(event: Event, payload: Payload, place: Place) -> None:

    keep(event, payload, place)


def scope_of(payload: Payload, place: Place, settings: Settings) -> Scope:
    """Return tenant and project: from the options, else the settings, else the user and the client's directory.

    The client's own directory of the project stands above the directory that its agent is in at the moment, so that a
    change of directory does not change the project.
    """
    project = place.project or settings.project
    if not project:
        project = project_of(client_directory() or Path(payload.directory or "."))
    return Scope(tenant=place.tenant or settings.tenant or local_tenant(), project=project)


def membership_of(place: Place, settings: Settings) -> Membership:
    """Return the team and org that an event's bank belongs to: the options, then the settings."""
    return Membership(
        team=settings.team if place.team is None else place.team, org=settings.org if place.org is None else place.org
    )


def open_bank(payload: Payload, place: Place, *, make: bool) -> Bank | None:
    """Return the bank of an event.

    Args:
        payload: The event.
        place: The command's options.
        make: Whether a bank that does not exist is made; otherwise the answer is None then.

    Raises:
        BankError: When a setting, the scope or the store is not usable.
    """
    settings = load_settings()
    scope = scope_of(payload, place, settings)
    url = place.url or settings.url or None
    membership = membership_of(place, settings)
    if not make and not has_any(scope, membership, url=url, home=settings.home):
        return None
    return Bank.open(
        url,
        tenant=scope.tenant,
        project=scope.project,
        team=membership.team,
        org=membership.org,
        settings=settings,
        session=payload.session[:500],
    )


def has_any(scope: Scope, membership: Membership, *, url: str | None, home: Path) -> bool:
    """Return whether a project, its team or its org has a bank; asking makes none."""
    known = {scope, *membership.scopes(scope.tenant)}
    return not known.isdisjoint(open_storage(url, home=home).scopes(scope.tenant))


QUIET = timedelta(minutes=10)
"""A transcript is captured so long after the last turn: a session is one trajectory and not one for every turn."""
_TITLE = 200
SUMMARY_SOURCE = "compaction"
"""The source of a trajectory that is a client's summary of what it compacted."""


def keep(event: Event, payload: Payload, place: Place) -> None:
    """Queue the transcript, reading nothing of it, or keep the summary.

    Raises:
        BankError: When the bank cannot be used or there is no such transcript.
    """
    if event != "PostCompact" and not usable_path(payload.transcript).is_file():
        raise UnreadableTranscript("the transcript that the client named does not exist")
    bank = open_bank(payload, place, make=True)
    if bank is None:
        return
    with bank:
        if event == "PostCompact":
            _keep_summary(bank, payload)
        else:
            bank.capture_later(payload.transcript, quiet=QUIET if event == "Stop" else timedelta(0))


def _keep_summary(bank: Bank, payload: Payload) -> None:
    """Learn from the summary when it is known how the session ended; otherwise it stays a trajectory that waits."""
    known = [
        entry
        for entry in bank.trajectories(pending=None)
        if entry.session == bank.session and entry.judgement is not None and entry.judgement.verdict != "unknown"
    ]
    if known and known[-1].judgement is not None:
        bank.distill_session(
            SessionSummary(
                session_id=bank.session,
                project_id=bank.scope.project,
                outcome=known[-1].judgement.verdict,
                task=known[-1].task,
                approach=payload.summary,
                result="",
            )
        )
        return
    digest = hashlib.sha256(payload.summary.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    title = next((line.strip() for line in payload.summary.splitlines() if line.strip()), "A compacted session")
    bank.keep(
        Trajectory(
            task=title[:_TITLE],
            steps=(Step(thought=payload.summary),),
            session=bank.session,
            source=SUMMARY_SOURCE,
        ),
        key=f"{SUMMARY_SOURCE}:{bank.session}:{digest}",
    )


START_BUDGET = 500
PROMPT_BUDGET = 600
FAILURE_BUDGET = 300
"""Tokens of what is shown at the start of a session, with a prompt, and after a tool's failure."""
MOST_OF_A_PROMPT = 4_000
"""Characters of a prompt or an error that are searched with."""
MOST_OF_A_SESSION = 500
"""Characters of a client's name for a session."""
_MACHINES = frozenset({"system", "loop_wakeup", "schedule_wakeup", "poll_event"})


def context_for(event: Event, payload: Payload, place: Place) -> str:
    """Return the text for the agent's context; empty when nothing is relevant or there is no bank yet.

    A server that runs already is asked first; without one the bank is opened here.

    Raises:
        BankError: When the bank cannot be used.
    """
    task = _task(event, payload)
    if task == "":
        return ""
    from reasoningbank.integrations.hook_client import Request, ask, fingerprint
    from reasoningbank.settings import load_settings

    settings = load_settings()
    scope, session = scope_of(payload, place, settings), payload.session[:MOST_OF_A_SESSION]
    request = Request(event, task, session, scope, fingerprint(settings, place.url, membership_of(place, settings)))
    text = ask(settings.home, request)
    if text is not None:
        return text

    bank = open_bank(payload, place, make=False)
    if bank is None:
        return ""
    with bank:
        return shown(bank, event, task, session)


def shown(bank: Bank, event: Event, task: str | None, session: str) -> str:
    """Return the text for the agent's context.

    With a prompt and after a failure only what the session has not seen yet.

    Raises:
        BankError: When the bank cannot be used.
    """
    if task is None:
        return bank.briefing(budget=START_BUDGET, session=session).text
    if event == "PostToolUseFailure":
        return bank.briefing(task, FAILURE_BUDGET, session, outcome="failure", limit=1, repeat=False).text
    return bank.briefing(task, PROMPT_BUDGET, session, limit=5, repeat=False).text


def _task(event: Event, payload: Payload) -> str | None:
    """Return what to look for: None for whatever is proven, empty for nothing at all."""
    if event == "SessionStart":
        return None
    if event == "UserPromptSubmit":
        command = payload.prompt.lstrip().startswith("/")
        return "" if command or payload.source in _MACHINES else payload.prompt[:MOST_OF_A_PROMPT].strip()
    if payload.interrupted or not payload.error.strip():
        return ""
    return f"{payload.tool} {payload.action}\n{payload.error}"[:MOST_OF_A_PROMPT].strip()


_OPTIONS = ("--url", "--tenant", "--project")


def main(words: Sequence[str]) -> int:
    """Answer one event; the payload is read from stdin, the answer goes to stdout.

    Args:
        words: The event's name, and ``--url``, ``--tenant`` or ``--project`` with a value.

    Returns:
        0, whatever happens.
    """
    event, given = _read(words)
    run(event, sys.stdin.buffer, sys.stdout, Place(url=given.get("--url"), **_named(given)))
    return 0


def _named(given: dict[str, str]) -> dict[str, str | None]:
    return {"tenant": given.get("--tenant"), "project": given.get("--project")}


def _read(words: Sequence[str]) -> tuple[str, dict[str, str]]:
    """Return the event and the options; what is not known is passed over."""
    event, given, waiting = "", {}, ""
    for word in words:
        name, equals, value = word.partition("=")
        if waiting:
            given[waiting], waiting = word, ""
        elif name in _OPTIONS and equals:
            given[name] = value
        elif name in _OPTIONS:
            waiting = name
        elif not word.startswith("-"):
            event = event or word
    return event, given
