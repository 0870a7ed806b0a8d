"""Capture sessions, judge how they ended, credit what they were shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from reasoningbank.errors import InvalidInput
from reasoningbank.memories.standing import check_person, said_by
from reasoningbank.safety.checks import (
    given_reason,
    place_name,
    session_name,
    usable_path,
)
from reasoningbank.sessions.ends import personal, replace_report, with_end
from reasoningbank.sessions.settlement import report_of, requeue, say
from reasoningbank.telemetry import observed
from reasoningbank.types.argument import Limit, Offset
from reasoningbank.types.memory import check_memory_id
from reasoningbank.types.quarantine import Reader
from reasoningbank.types.recall import SessionOutcome
from reasoningbank.types.records import Job, TrajectoryEntry
from reasoningbank.types.resource import checked
from reasoningbank.types.session import (
    CAPTURE,
    DISTILL,
    PROGRESS,
    RECIPES,
    USER,
    VERDICTS,
    Captured,
    CaptureReport,
    Judgement,
    Origin,
    SessionStage,
    SessionState,
    Trajectory,
    Verdict,
)
from reasoningbank.types.signal import Rater

if TYPE_CHECKING:
    from reasoningbank.context import Context
    from reasoningbank.sessions.recorder import Recorder
    from reasoningbank.sessions.settlement import Settlement
    from reasoningbank.storage.store import Store, Transaction
    from reasoningbank.types.uplift import Exposure, Shown

_AT_ONCE = timedelta(0)


@checked
class Sessions:
    """Capture sessions, judge how they ended, and credit what they were shown."""

    def __init__(self, context: Context, recorder: Recorder, settlement: Settlement) -> None:
        self._context = context
        self._recorder = recorder
        self._settlement = settlement

    def capture(
        self,
        *sources: str | Path,
        format: str = "auto",  # noqa: A002 - the command line's word
        progress: Callable[[int, int], None] | None = None,
    ) -> CaptureReport:
        """Store the sessions of transcripts as trajectories, judged by the evidence in them, and queue them.

        The same session twice adds nothing. Secrets are replaced before anything else reads the text; what cannot be
        read is skipped and reported, as is a whole file that holds no session when others do.

        Args:
            sources: Files.
            format: One of ``reasoningbank.sessions.readers.FORMATS``, or ``auto`` to tell it by the content.
            progress: Called before each file with how many are done, and with how many there are.

        Raises:
            UnreadableTranscript: When no file holds a session of any known format.
            StoreUnavailable: When a file cannot be read.
        """
        return self._recorder.captured(sources, format, ended=True, progress=progress)

    def keep(self, trajectory: Trajectory, *, key: str = "") -> Captured:
        """Store a trajectory that a program has built itself, cleaned and judged as a captured one.

        Args:
            trajectory: What happened.
            key: An idempotency key: a second trajectory with the same key adds nothing.
        """
        from reasoningbank.sessions.readers import prepare

        return self._recorder.kept(prepare(trajectory), session_name(key))

    def get(self, trajectory_id: str) -> Trajectory:
        """Return a trajectory as it was captured, with what its session was shown; raises TrajectoryNotFound."""
        store = self._context.store()
        trajectory = store.sessions.trajectory(check_memory_id(trajectory_id, "session"))
        shown = [one.memory_id for one in _shown(store, trajectory.session)]
        return replace(trajectory, memories=tuple(dict.fromkeys((*trajectory.memories, *shown))))

    def list(
        self, *, limit: Limit = 0, offset: Offset = 0, verdict: Verdict | None = None, pending: bool | None = None
    ) -> tuple[TrajectoryEntry, ...]:
        """Return stored trajectories with how they ended and who says so, oldest first; limit 0 means all.

        Args:
            limit: At most so many.
            offset: So many are passed over.
            verdict: Only those that ended so; ``unknown`` includes those never judged.
            pending: Only those that wait to be distilled, or only those that do not.

        Raises:
            InvalidInput: When there is no such verdict.
        """
        if verdict is not None and verdict not in VERDICTS:
            raise InvalidInput(f"a session ended as {', '.join(VERDICTS)}, not {str(verdict)[:80]!r}")
        store, most, first = self._context.store(), limit, offset
        if verdict is None:
            entries = store.sessions.trajectories(limit=most, offset=first, pending=pending)
            return tuple(_listed(store, entry) for entry in entries)
        listed = [_listed(store, entry) for entry in store.sessions.trajectories(limit=0, pending=pending)]
        found = [entry for entry in listed if entry.verdict == verdict][first:]
        return tuple(found[: most or None])

    def states(
        self, *, state: SessionStage | None = None, limit: Limit = 20, reader: Reader = "human"
    ) -> tuple[SessionState, ...]:
        """Show where each session stands: queued, captured, waiting or distilled, and what it waits for.

        Args:
            state: Only those that stand there.
            limit: At most so many, the newest first; 0 means all.
            reader: Who is given them; an agent gets no text that looks like a prompt injection.

        Raises:
            InvalidInput: When there is no such state.
        """
        from reasoningbank.memories.admission import sayable
        from reasoningbank.sessions.states import states

        if state is not None and state not in PROGRESS:
            raise InvalidInput(f"a session is {', '.join(PROGRESS)}, not {str(state)[:80]!r}")
        has_model = self._context.model is not None
        found = states(self._context.store(), now=self._context.clock.now(), has_model=has_model)
        chosen = [one for one in found if state in {None, one.state}][: limit or None]
        if reader == "human":
            return tuple(chosen)
        return tuple(
            replace(one, task=sayable(one.task), session=sayable(one.session), reason=sayable(one.reason))
            for one in chosen
        )

    def shown(self, session: str) -> tuple[Shown, ...]:
        """Return what a session was shown, and what it has said of each; nothing for one that met no memory.

        Args:
            session: The client's name for the session.
        """
        return _shown(self._context.store(), session)

    def taught(self, trajectory_id: str) -> tuple[Origin, ...]:
        """Return which memories a trajectory taught, or taught again, oldest first; erased ones are gone.

        Args:
            trajectory_id: The session.
        """
        return tuple(self._context.store().sessions.origins(trajectory=check_memory_id(trajectory_id, "session")))

    def delete(self, trajectory_id: str) -> None:
        """Erase a trajectory, what was kept about it and what the graph holds of it; the memories it taught stay.

        Args:
            trajectory_id: The session.

        Raises:
            TrajectoryNotFound: When this project has no such session.
        """
        with self._context.store().transaction() as transaction:
            transaction.sessions.erase_trajectory(check_memory_id(trajectory_id, "session"))

    def judge(self, trajectory_id: str) -> Judgement:
        """Judge how a session ended: by its evidence, and only where that decides nothing by the language model.

        The answer is ``unknown`` when neither can tell or the model does not answer; every judgement is kept. What a
        person has said stands.

        Args:
            trajectory_id: The session.

        Raises:
            TrajectoryNotFound: When this project has no such trajectory.
        """
        trajectory = self.get(trajectory_id)
        latest = self._settlement.latest(trajectory)
        return latest if latest.judge == USER else self._settlement.judged(trajectory, self._context.clock.now())

    def judgements(self, trajectory_id: str) -> tuple[Judgement, ...]:
        """Return every judgement of a trajectory, oldest first; raises TrajectoryNotFound."""
        return tuple(self._context.store().sessions.judgements(check_memory_id(trajectory_id, "session")))

    def verdict(self, trajectory_id: str, verdict: Verdict, *, note: str = "") -> Judgement:
        """Say how a session ended; a person's word stands above all evidence. It waits to be distilled again.

        With unknown it credits nothing, and takes back what an earlier verdict has credited; then nothing waits.

        Args:
            trajectory_id: The session.
            verdict: How it ended.
            note: Why; the distiller is told.

        Raises:
            TrajectoryNotFound: When this project has no such trajectory.
            InvalidInput: When there is no such verdict, or the note looks like a prompt injection.
        """
        check_person("to say how a session ended")
        if verdict not in VERDICTS:
            raise InvalidInput(f"a verdict is {', '.join(VERDICTS)}, not {str(verdict)[:80]!r}")
        now = self._context.clock.now()
        words = given_reason(note[:500], "a note", 500) or f"The user says: {verdict}."
        judgement = personal(verdict, words, now)
        with self._context.store().transaction() as transaction:
            entry = transaction.sessions.entry(check_memory_id(trajectory_id, "session"))
            replace_report(transaction, entry.session)
            self._say(transaction, trajectory_id, judgement, now)
        self._settlement.credited(trajectory_id)
        self._context.keep_up()
        return judgement

    def capture_later(
        self,
        *sources: str | Path,
        format: str = "auto",  # noqa: A002 - as ``capture`` has it
        quiet: timedelta = _AT_ONCE,
        ended: bool = True,
    ) -> int:
        """Queue files to be captured by a worker; read nothing, so that a hook is not held up.

        Args:
            sources: Files.
            format: As ``capture`` has it.
            quiet: For a file that still grows: it is captured so long after the last call for it. A call without it
                captures now and takes the place of one that waits.
            ended: False when the session goes on: what is captured is kept, but credits and teaches nothing before the
                session has ended or was quiet for ten minutes.

        Returns:
            How many were queued: a file that waits already is queued again only when it has grown, or when its session
            has ended since.

        Raises:
            StoreUnavailable: When one is a pipe, a socket, a device or a directory; then nothing is queued.
        """
        from reasoningbank.memories.standing import said_in, speaker
        from reasoningbank.safety.file_access import refuse_special_source
        from reasoningbank.sessions.recorder import SPEAKER

        now = self._context.clock.now()
        queued = 0
        with self._context.store().transaction() as transaction:
            said_in(transaction, self._context.session)
            for source in sources:
                path = usable_path(source)
                refuse_special_source(path)
                place_name(f"{path} {format}", "file or format")
                # A path has one slash where an address with a password has two.
                place_name(str(path).replace(":/", "://"), "file")
                size = path.stat().st_size if path.exists() else 0
                payload = {"path": str(path), "format": format} | ({} if ended else {"ended": "no"})
                payload |= {SPEAKER: speaker()} if speaker() else {}
                transaction.jobs.finish(Job(kind=CAPTURE, key=str(path), due=now))
                # An interim state has a job of its own: the end of the session must not be lost while it is queued.
                key = str(path) if quiet else f"{path}:{size}{'' if ended else ':interim'}"
                job = Job(kind=CAPTURE, key=key, due=now + quiet, payload=payload)
                queued += transaction.jobs.enqueue(job) or (
                    bool(quiet) and transaction.jobs.revive(CAPTURE, key, due=job.due)
                )
        return queued

    def outcome(self, session: str, succeeded: bool, *, rater: Rater = "human") -> SessionOutcome:
        """Report how a session ended; it credits what briefings and searches have shown in it and that fitted its task.

        The weight of one outcome is shared in equal parts: of n memories shown for a task each gets the n-th part, so
        that a session that shows much counts no more than one that shows little. A memory has one outcome of a session:
        a person's latest word counts, else what the evidence of the captured session says, else its agent's latest
        report, in whatever order they come (DESIGN D5). How the session ended is kept for ``report``, also of a session
        that was held out: that one credits only what it has found by searching. A person's report is the verdict on the
        captured session, too, whether it was captured before or is later.

        Args:
            session: The session.
            succeeded: True when it succeeded.
            rater: Who says so.

        Raises:
            InvalidInput: When no session is named, or an agent names another client's.
        """
        rater = said_by(rater)
        from reasoningbank.memories.exposure import note_session
        from reasoningbank.memories.standing import check_own, note_speaker, speaker_in

        place = session_name(session)
        if not place:
            raise InvalidInput("no session is named", hint="Name the session that the briefing was for.")
        with observed("outcome_memory", store=self._context.place):
            with self._context.store().transaction() as transaction:
                if rater == "agent":
                    check_own(transaction, place)
                known = (
                    transaction.deliveries.exposure(place) is not None
                    or len(transaction.sessions.trajectories(limit=1, session=place)) > 0
                )
                note_session(transaction, place, succeeded=succeeded, rater=rater)
                note_speaker(transaction, place, speaker_in(place))
                judged = self._reported(transaction, place, succeeded) if rater == "human" else ()
            reports = self._settlement.settled(place)
            self._context.keep_up()
        kept = [report.memory_id for report in reports if not report.recorded]
        held = [one for one in kept if self._context.owner(one).memories.get(one).state == "quarantined"]
        return SessionOutcome(
            session=place,
            succeeded=succeeded,
            credited=tuple(report for report in reports if report.recorded),
            unchanged=tuple(one for one in kept if one not in held),
            quarantined=tuple(held),
            judged=judged,
            counted=self._settlement.counted(place),
            known=known or bool(reports),
        )

    def _reported(self, transaction: Transaction, session: str, succeeded: bool) -> tuple[str, ...]:
        """Make a person's report the verdict on every trajectory of the session; return their ids."""
        verdict, now = "success" if succeeded else "failure", self._context.clock.now()
        entries = transaction.sessions.trajectories(limit=0, session=session)
        for entry in entries:
            known = entry.judgement
            if known is None or (known.judge, known.verdict) != (USER, verdict):
                self._say(transaction, entry.id, report_of(succeeded, now), now)
        return tuple(entry.id for entry in entries)

    def _say(self, transaction: Transaction, trajectory_id: str, judgement: Judgement, now: datetime) -> None:
        """Store what a person says of how a session ended; what the graph says of it is made anew, too."""
        say(transaction, trajectory_id, judgement, now)
        wanted = self._context.settings.graph_from_sessions
        if self._context.model is None and wanted == "always":
            requeue(transaction, RECIPES, trajectory_id, now)
        elif self._context.model is not None and wanted != "never" and judgement.verdict == "unknown":
            requeue(transaction, DISTILL, trajectory_id, now)


def _listed(store: Store, entry: TrajectoryEntry) -> TrajectoryEntry:
    """Return the entry with what its session was shown, and how it ended."""
    exposure = store.deliveries.exposure(entry.session) if entry.session else None
    return with_end(replace(entry, memories=_met(exposure)), exposure)


def _shown(store: Store, session: str) -> tuple[Shown, ...]:
    """Return what the session was shown, and how."""
    return _met(store.deliveries.exposure(session) if session else None)


def _met(exposure: Exposure | None) -> tuple[Shown, ...]:
    return () if exposure is None else tuple(one for one in exposure.shown if one.how != "withheld")
