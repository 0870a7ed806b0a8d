"""Store captured sessions: each once, a longer state in the place of a shorter one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from reasoningbank.errors import Undecided, UnreadableTranscript
from reasoningbank.memories.standing import note_speaker, said_in, speaker, speaker_in, speaking_as
from reasoningbank.safety.checks import usable_path
from reasoningbank.sessions.ends import said_of
from reasoningbank.sessions.growth import continues
from reasoningbank.sessions.readers.preparation import SECRETS_REPLACED
from reasoningbank.sessions.settlement import report_of, requeue
from reasoningbank.types.records import Job
from reasoningbank.types.session import (
    CAPTURE,
    CREDIT,
    DISTILL,
    QUIET,
    RECIPES,
    SUPERSEDED_AT,
    USER,
    Captured,
    CaptureReport,
    Trajectory,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reasoningbank.context import Context
    from reasoningbank.jobs.worker import Handler
    from reasoningbank.sessions.settlement import Settlement
    from reasoningbank.storage.store import Transaction

_MOST_PROBLEMS = 100
SPEAKER = "speaker"
"""The entry of a queued transcript that says which client has handed it over; none for a person."""


class Recorder:
    """Store the sessions of transcripts, at once or in the background."""

    def __init__(self, context: Context, settlement: Settlement) -> None:
        self._context = context
        self._settlement = settlement

    def handlers(self) -> Mapping[str, Handler]:
        """Return the function that does each kind of job."""
        return {CAPTURE: self._capture_job}

    def captured(
        self,
        sources: Sequence[str | Path],
        form: str,
        *,
        ended: bool,
        progress: Callable[[int, int], None] | None = None,
    ) -> CaptureReport:
        """Store the sessions of transcripts; one that has not ended waits before it is credited and distilled."""
        from reasoningbank.sessions.readers import Skipped, read

        found: list[Captured] = []
        problems: list[str] = []
        unreadable: UnreadableTranscript | None = None
        skipped = 0
        told = progress if len(sources) > 1 else None
        for number, source in enumerate(sources):
            if told is not None and number:
                told(number, len(sources))
            path = usable_path(source)
            try:
                for one in read(path, format=form):
                    if isinstance(one, Skipped):
                        skipped += 1
                        if len(problems) < _MOST_PROBLEMS:
                            problems.append(f"{path.name}, {one.place}: {one.reason}")
                    else:
                        found.append(self.kept(one, ended=ended))
            except UnreadableTranscript as error:
                unreadable = error
                skipped += 1
                if len(problems) < _MOST_PROBLEMS:
                    problems.append(f"{path.name}: {error.message}")
        if told is not None:
            told(len(sources), len(sources))
        if unreadable is not None and not found:
            raise unreadable
        duplicates = sum(one.duplicate for one in found)
        return CaptureReport(
            captured=len(found) - duplicates,
            duplicates=duplicates,
            skipped_lines=skipped,
            trajectories=tuple(found),
            problems=tuple(problems),
        )

    def kept(self, trajectory: Trajectory, key: str = "", *, ended: bool = True) -> Captured:
        """Store a prepared trajectory with its judgement by evidence and its jobs, all or nothing.

        A longer state of a session that is known takes the place of the shorter one, and is judged again. A session
        that has not ended credits and teaches nothing before it was quiet for a while. All sessions that one client
        hands over are its own, however many it makes up.
        """
        from reasoningbank.sessions.judge import by_evidence

        now = self._context.clock.now()
        judgement = by_evidence(trajectory, at=now)
        due = now if ended else now + QUIET
        with self._context.store().transaction() as transaction, transaction.whole():
            known = transaction.sessions.captured(key) if key else None
            known = known or transaction.sessions.captured(trajectory.digest)
            if known is None and trajectory.session and speaker():
                # What a client hands over in another's session is kept, and is no end of that session.
                trajectory = replace(trajectory, session=said_in(transaction, trajectory.session))
                known = transaction.sessions.captured(trajectory.digest)
            earlier = self._earlier(transaction, trajectory) if known is None else None
            if earlier is not None and not continues(trajectory, earlier):
                known, earlier = earlier.id, None
            if known is None and earlier is not None:
                metadata = {**trajectory.metadata, SUPERSEDED_AT: now.isoformat()}
                trajectory = replace(trajectory, id=earlier.id, metadata=metadata)
                transaction.sessions.supersede(earlier.id, trajectory)
                latest = transaction.sessions.entry(earlier.id).judgement
                if latest is not None and latest.judge == USER:
                    judgement = latest
                else:
                    transaction.sessions.judge(trajectory.id, judgement)
            elif known is None:
                transaction.sessions.keep(trajectory, key=key)
                transaction.sessions.judge(trajectory.id, judgement)
            if known is None and not trajectory.session:
                note_speaker(transaction, trajectory.id, speaker_in(trajectory.id))
            said = said_of(transaction, trajectory.session) if known is None and judgement.judge != USER else None
            if said is not None:
                judgement = report_of(said == "success", now)
                transaction.sessions.judge(trajectory.id, judgement)
            kinds = (RECIPES, DISTILL, CREDIT) if self._context.model is None else (DISTILL, CREDIT)
            if known is None:
                for kind in kinds:
                    requeue(transaction, kind, trajectory.id, due)
            elif ended:
                for kind in kinds:
                    _hasten(transaction, kind, known, now)
        if ended:
            self._settlement.credited(known or trajectory.id)
        if known is not None:
            judgement = self._settlement.latest(self._context.store().sessions.trajectory(known))
        return Captured(
            id=known or trajectory.id,
            task=trajectory.task,
            steps=len(trajectory.steps),
            verdict=judgement.verdict,
            probability=judgement.probability,
            evidence=trajectory.evidence,
            duplicate=known is not None,
            secrets=int(trajectory.metadata.get(SECRETS_REPLACED, "0")),
        )

    @staticmethod
    def _earlier(transaction: Transaction, trajectory: Trajectory) -> Trajectory | None:
        """Return the longest state of the trajectory's session that is known, shorter or longer than this one."""
        if not trajectory.session:
            return None
        same = [
            entry
            for entry in transaction.sessions.trajectories(limit=0, session=trajectory.session)
            if (entry.source, entry.task) == (trajectory.source, trajectory.task)
        ]
        for entry in sorted(same, key=lambda each: -each.steps):
            known = transaction.sessions.trajectory(entry.id)
            if continues(trajectory, known) or continues(known, trajectory):
                return known
        return None

    def _capture_job(self, job: Job) -> None:
        """Capture a queued file; one that holds no session is given up at once.

        The hook of a session's end may overtake that of its last turn: then nothing is left to be captured when the
        file has been quiet.
        """
        path, ended = job.payload["path"], job.payload.get("ended") != "no"
        try:
            with speaking_as(job.payload.get(SPEAKER, "")):
                self.captured([path], job.payload.get("format", "auto"), ended=ended)
        except UnreadableTranscript as error:
            raise Undecided(error.message, hint=error.hint) from error
        place = Path(path)
        if ended and place.exists() and job.key == f"{path}:{place.stat().st_size}":
            with self._context.store().transaction() as transaction:
                transaction.jobs.finish(Job(kind=CAPTURE, key=path, due=job.due))


def _hasten(transaction: Transaction, kind: str, key: str, now: datetime) -> None:
    """Make a job that waits for its session to be quiet due now."""
    waiting = transaction.jobs.waiting(due=now + QUIET)
    if any((job.kind, job.key, job.lease, job.attempts) == (kind, key, "", 0) and job.due > now for job in waiting):
        requeue(transaction, kind, key, now)
