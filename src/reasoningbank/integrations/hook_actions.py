"""What a hook does: open the bank, keep transcripts, show memories, log failures. Imported when it is needed."""

from __future__ import annotations

import hashlib
import os
import traceback
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from reasoningbank.errors import BankError, InvalidInput, UnreadableTranscript
from reasoningbank.safety.file_access import append_line
from reasoningbank.settings import (
    BANKS,
    Settings,
    client_directory,
    data_directory,
    load_settings,
    local_tenant,
    own_run,
    project_of,
)
from reasoningbank.types.quantity import counted
from reasoningbank.types.scope import Membership, Scope

if TYPE_CHECKING:
    from reasoningbank.bank import Bank
    from reasoningbank.client_sessions import HandOver
    from reasoningbank.integrations.hook_payload import HookEvent, HookPlace, Payload


LOG_FILE = "hooks.log"


MAX_LOG = 1_000_000
"""Bytes of the log at which it becomes ``hooks.log.1`` and a new one begins."""


def write(event_name: str, error: Exception) -> None:
    """Note a failure in the log: when, at what event, and which error; no text of the payload.

    When not even that can be written, nothing more is done.
    """
    said = f"{error.code}: {error.advice}" if isinstance(error, BankError) else _place_of(error)
    try:
        line = f"{datetime.now(UTC).isoformat(timespec='seconds')} {event_name[:40]!r} {said[:500]!r}"
        append_line(data_directory() / LOG_FILE, line, most=MAX_LOG)
    except (OSError, ValueError, RuntimeError):
        return


def _place_of(error: Exception) -> str:
    """Return the type of an unexpected error and where it was raised; its words may quote the payload."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{where}"


def scope_of(payload: Payload, place: HookPlace, settings: Settings) -> Scope:
    """Return tenant and project: from the options, else the settings, else the user and the client's directory.

    The client's own directory of the project stands above the directory that its agent is in at the moment, so that a
    change of directory does not change the project.
    """
    project = place.project or settings.project
    if not project:
        project = project_of(client_directory() or Path(payload.directory or "."))
    return Scope(tenant=place.tenant or settings.tenant or local_tenant(), project=project)


def membership_of(place: HookPlace, settings: Settings) -> Membership:
    """Return the team and org that an event's bank belongs to: the options, then the settings."""
    return Membership(
        team=settings.team if place.team is None else place.team, org=settings.org if place.org is None else place.org
    )


def open_bank(payload: Payload, place: HookPlace, *, make: bool, model: bool = True) -> Bank | None:
    """Return the bank of an event.

    Args:
        payload: The event.
        place: The command's options.
        make: Whether a bank that does not exist is made. Otherwise it is an empty one, so that what the team and the
            org know is found; the answer is None when they have none either.
        model: Whether its work may ask a language model.

    Raises:
        BankError: When a setting, the scope or the store is not usable.
    """
    settings = load_settings()
    scope = scope_of(payload, place, settings)
    url = place.url or settings.url or None
    membership = membership_of(place, settings)
    if not make and not has_any(scope, membership, url=url, home=settings.home):
        return None
    from reasoningbank.bank import Bank

    return Bank.open(
        url,
        tenant=scope.tenant,
        project=scope.project,
        team=membership.team,
        org=membership.org,
        settings=settings if model else replace(settings, llm=""),
        session=payload.session[:500],
        create=make,
        by_agent=False,
    )


def has_any(scope: Scope, membership: Membership, *, url: str | None, home: Path) -> bool:
    """Return whether a project, its team or its org has a bank, perhaps an unreadable one; asking makes none."""
    from reasoningbank.storage import open_storage

    storage = open_storage(url, home=home)
    return any(storage.has(each) for each in (scope, *membership.scopes(scope.tenant)))


_TITLE = 200


def keep(event: HookEvent, payload: Payload, place: HookPlace, source: HandOver | None = None) -> None:
    """Queue the transcript or keep the summary, then do what is due and needs no model where no server does it.

    Nothing is kept of a client that we run as a model.

    Args:
        event: The event.
        payload: What the client told.
        place: The command's options.
        source: Who hands the transcript over; None when nothing may be waited for.

    Raises:
        BankError: When the bank cannot be used or there is no such transcript.
    """
    from reasoningbank.safety.checks import usable_path

    if own_run():
        return
    transcript = usable_path(payload.transcript)
    ran(event, payload, make=event == "PostCompact" or transcript.is_file())
    if event != "PostCompact" and not transcript.is_file():
        if event in {"SessionEnd", "Stop"}:  # a session in which nothing was said has none: ``claude mcp get`` ends so
            return
        raise UnreadableTranscript("the transcript that the client named does not exist")
    from reasoningbank.client_sessions import handing_over, holds, principal_of
    from reasoningbank.integrations.hook_work import Watched, do_due_work
    from reasoningbank.memories.standing import speaking

    settings, session, given = load_settings(), payload.session[:MOST_OF_A_SESSION], source or handing_over()
    speaker = principal_of(settings.home, url=place.url or settings.url, source=given)
    own = session if holds(settings.home, session, given.client, given) else ""
    bank = open_bank(payload, place, make=True, model=False)
    if bank is None:
        return
    with bank:
        with speaking(speaker, own, "agent"):
            transcript = _keep_in(bank, event, payload, transcript)
        watched = None
        if source is not None and event == "Stop":
            watched = Watched(transcript=str(transcript), client=source.client)
        _note_status(event, bank, payload.session, whole=True)
        do_due_work(bank, settings, place.url, patient=source is not None, watched=watched)
        _note_status(event, bank, payload.session, whole=True)


def _keep_in(bank: Bank, event: HookEvent, payload: Payload, transcript: Path) -> Path:
    """Keep the summary of a session, or queue its transcript; return where the transcript is kept."""
    from reasoningbank.types.session import QUIET

    if event == "PostCompact":
        _keep_summary(bank, payload)
        return transcript
    if payload.client == "cursor":
        from reasoningbank.integrations.cursor_sessions import kept_session

        transcript = kept_session(bank.settings.home, payload, transcript)
    quiet = QUIET if event == "Stop" else timedelta(0)
    bank.sessions.capture_later(transcript, quiet=quiet, ended=event != "PreCompact")
    return transcript


def _keep_summary(bank: Bank, payload: Payload) -> None:
    """Learn from the summary when it is known how the session ended; otherwise it stays a trajectory that waits."""
    from reasoningbank.types.session import SUMMARY_SOURCE, SessionSummary, Step, Trajectory

    known = [
        entry
        for entry in bank.sessions.list(pending=None)
        if entry.session == bank.session and entry.judgement is not None and entry.judgement.verdict != "unknown"
    ]
    if known and known[-1].judgement is not None:
        bank.distillation.from_summary(
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
    bank.sessions.keep(
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


MAX_PROMPT = 100_000
"""Characters of a prompt that are searched with, half of them at its end: files may stand around what is asked."""
MOST_OF_A_PROMPT = 4_000
"""Characters of an error that are searched with."""


MOST_OF_A_SESSION = 500
"""Characters of a client's name for a session."""


ANSWER_SECONDS = 3.0
"""How long a hook waits for the shared server; what is left of the client's timeout is enough to do the work itself."""


_MACHINES = frozenset({"system", "loop_wakeup", "schedule_wakeup", "poll_event"})


def context_for(event: HookEvent, payload: Payload, place: HookPlace) -> str:
    """Return the text for the agent's context; empty when nothing is relevant or there is no bank yet.

    Inside of a client that we run as a language model it is empty, too. The user's shared server is asked first, and
    started when there is something to ask about; when it does not say in time, the bank is opened here, and a recipe
    for the error is shown at once.

    Raises:
        BankError: When the bank cannot be used.
    """
    from reasoningbank.client_sessions import HOOKED, Connection, client_process, holds, note_session, principal_of

    if own_run():
        return ""
    task = _task(event, payload)
    ran(event, payload, make=task != "")
    settings = load_settings()
    try:
        if settings.home.is_dir():
            Connection(settings.home, os.getppid(), place.url or settings.url, HOOKED).note()
        note_session(settings.home, payload.session, client_process())
        if payload.client == "cursor" and event in {"PostToolUse", "PostToolUseFailure"}:
            from reasoningbank.integrations.cursor_sessions import note_outcome

            note_outcome(settings.home, event, payload)
    except (OSError, InvalidInput) as error:
        write(event, error)
    if task == "":
        return ""
    from reasoningbank.integrations.shared_server import Unanswered, ask, question

    scope, session = scope_of(payload, place, settings), payload.session[:MOST_OF_A_SESSION]
    url = place.url or settings.url
    asked = question(
        "hook", scope, membership_of(place, settings), url, {"event": event, "task": task, "session": session}
    )
    late = False
    try:
        answer = ask(settings, asked, start=bool(url) or (settings.home / BANKS).is_dir(), seconds=ANSWER_SECONDS)
        text = answer.get("text") if answer is not None else None
        if isinstance(text, str):
            return text
    except Unanswered:
        late = True

    from reasoningbank.memories.standing import speaking

    bank = open_bank(payload, place, make=False)
    if bank is None:
        return ""
    own = session if holds(settings.home, session, client_process()) else ""
    with speaking(principal_of(settings.home, url=url), own, "agent"), bank:
        if (
            task
            and event in {"PostToolUse", "PostToolUseFailure"}
            and (recipe := _recipe(bank, task, session, repeat=late))
        ):
            return recipe  # at once: the rest would have to wait for the model
        return shown(bank, event, task, session, repeat=late)


def shown(bank: Bank, event: HookEvent, task: str | None, session: str, *, repeat: bool = False) -> str:
    """Return the text for the agent's context, and note for the status line what the session was shown.

    With a prompt and after a failure only what the session has not seen yet. After a failure the recipe for the very
    error comes first; a recipe for another one is not shown, however alike their words are. Of what a tool printed
    nobody has said that it is a failure: only a recipe is shown.

    Args:
        bank: The bank.
        event: What happened.
        task: What is asked or what failed; None at the start of a session.
        session: The client's name for the session.
        repeat: Whether those are shown, too, that a server may have kept as shown without answering in time.

    Raises:
        BankError: When the bank cannot be used.
    """
    text = _shown(bank, event, task, session, repeat=repeat)
    _note_status(event, bank, session, whole=event == "SessionStart")
    return text


def _note_status(event: HookEvent, bank: Bank, session: str, *, whole: bool) -> None:
    """Note what the status line says; that it cannot be noted is no reason to show nothing."""
    from reasoningbank.integrations.status_line import note_status

    try:
        note_status(bank, session, whole=whole)
    except (BankError, OSError, ValueError) as error:
        write(event, error)


def _shown(bank: Bank, event: HookEvent, task: str | None, session: str, *, repeat: bool) -> str:
    if task is None:
        text = bank.briefing(budget=START_BUDGET, session=session).text
        return "\n".join(filter(None, (text, reminder(bank))))
    if event in {"PostToolUse", "PostToolUseFailure"}:
        recipe = _recipe(bank, task, session, repeat=repeat)
        if event == "PostToolUse":
            return recipe
        warned = bank.briefing(
            task, FAILURE_BUDGET, session, outcome="failure", limit=1, repeat=repeat, claims=False, recipes=False
        )
        return recipe + warned.text
    return bank.briefing(task, PROMPT_BUDGET, session, limit=5, repeat=repeat).text


def _recipe(bank: Bank, task: str, session: str, *, repeat: bool = False) -> str:
    """Return the recipes for what a tool printed, which needs no model.

    Args:
        bank: The bank.
        task: The tool and its action, and below what it printed.
        session: The client's name for the session.
        repeat: Whether those are shown, too, that a server may have kept as shown without answering in time.
    """
    named, _, error = task.partition("\n")
    return bank.recipes.briefing(error, session=session, command=named.partition(" ")[2], repeat=repeat).text


RAN_FILE = "hooks-ran"
_WORDS_OF_A_RUN = 3


def ran(event: HookEvent, payload: Payload, *, make: bool) -> None:
    """Note when which hook of which client ran, for ``rbank status``.

    Args:
        event: The event.
        payload: What the client told.
        make: Whether a data directory is made where there is none; else nothing is noted then.
    """
    home = data_directory()
    if make:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not home.is_dir():
        return
    known = (name for name in ("codex", "gemini") if f".{name}{os.sep}" in payload.transcript)
    client = next(known, payload.client)
    runs = last_runs(home) | {client: f"{datetime.now(UTC).isoformat(timespec='seconds')} {client} {event}"}
    draft = home / f"{RAN_FILE}.{os.getpid()}"
    draft.write_text("".join(f"{line}\n" for line in sorted(runs.values())), encoding="utf-8")
    draft.chmod(0o600)
    draft.replace(home / RAN_FILE)


def last_runs(home: Path) -> dict[str, str]:
    """Return by client when its hooks ran last and which: ``TIME CLIENT EVENT``, the latest client last."""
    try:
        lines = (home / RAN_FILE).read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return {}
    return {line.split()[1]: line for line in sorted(lines) if len(line.split()) == _WORDS_OF_A_RUN}


REMINDED_FILE = "reminded"


def reminder(bank: Bank) -> str:
    """Return one line that says how many sessions wait for an agent to distil them; at most once a day, else nothing.

    With a language model nothing is said: what waits then is done without the agent.
    """
    settings = bank.settings
    if bank.model is not None or not settings.reminders:
        return ""
    today = datetime.now(UTC).date().isoformat()
    path = settings.home / REMINDED_FILE
    if path.exists() and path.read_text(encoding="utf-8", errors="replace").strip() == today:
        return ""
    known = [entry.judgement for entry in bank.sessions.list(pending=True)]
    waiting = sum(judgement is not None and judgement.verdict != "unknown" for judgement in known)
    if not waiting:
        return ""
    path.write_text(f"{today}\n", encoding="utf-8")
    path.chmod(0o600)
    sessions = counted(waiting, "captured session waits", "captured sessions wait")
    return f"ReasoningBank: {sessions} to be made into lessons; the tool memory_distill hands them out."


def _task(event: HookEvent, payload: Payload) -> str | None:
    """Return what to look for: None for whatever is proven, empty for nothing at all."""
    if event == "SessionStart":
        return None
    if event == "UserPromptSubmit":
        command = payload.prompt.lstrip().startswith("/")
        return "" if command or payload.source in _MACHINES else _ends(payload.prompt.strip(), MAX_PROMPT)
    if payload.interrupted or not payload.error.strip():
        return ""
    if event == "PostToolUse" and (payload.exit_code == 0 or not _shows_an_error(payload)):
        return ""
    named = f"{payload.tool} {payload.action}".replace("\n", " ")[: MOST_OF_A_PROMPT // 4]
    error, most = payload.error.strip(), MOST_OF_A_PROMPT // 2
    if len(error) > most:
        error = f"{error[: most // 4]}\n{error[-3 * most // 4 :]}"
    return f"{named}\n{error}"


def _ends(text: str, most: int) -> str:
    """Return a text, of a long one its beginning and its end."""
    return text if len(text) <= most else f"{text[: most // 2]}\n\n{text[-most // 2 :]}"


def _shows_an_error(payload: Payload) -> bool:
    """Return whether what a tool printed ends with an error that a recipe may be about."""
    from reasoningbank.sessions.signatures import signature_of

    return signature_of(payload.error) is not None
