"""Capture sessions, judge how they ended, credit what they were shown; branches of a folded context."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from reasoningbank.errors import InvalidInput, MemoryNotFound, Undecided, UnreadableTranscript
from reasoningbank.safety.arguments import checked_limit, checked_offset, session_name, usable_path
from reasoningbank.telemetry import observed
from reasoningbank.types.memory import check_memory_id, new_session
from reasoningbank.types.recall import BRANCH_SHARE, Brief, SessionOutcome
from reasoningbank.types.records import Job, TrajectoryEntry
from reasoningbank.types.session import (
    Captured,
    CaptureReport,
    DistilReport,
    Evidence,
    Judgement,
    SessionSummary,
    Trajectory,
    Verdict,
)
from reasoningbank.types.signal import Rater

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from reasoningbank.context import Context
    from reasoningbank.jobs.jobs import Handler
    from reasoningbank.search.briefing import Briefings
    from reasoningbank.search.search import Search
    from reasoningbank.sessions.distillation import Distillation

CAPTURE = "capture"
"""The kind of job that captures the file of its payload."""
_AT_ONCE = timedelta(0)
DISTILL = "distill"
"""The kind of job that judges and distills the trajectory that is its key."""
AGENT, TEMPLATE, USER = "agent", "template", "user"
"""Who judges a session or distils its lessons, when it is no language model."""
_MOST_PROBLEMS = 100


class Sessions:
    """Capture sessions, judge how they ended, and credit what they were shown."""

    def __init__(self, context: Context, search: Search, briefings: Briefings) -> None:
        self._context = context
        self._search = search
        self._briefings = briefings

    def capture(self, *sources: str | Path, format: str = "auto") -> CaptureReport:  # noqa: A002 - the command line's word
        """Store the sessions of transcripts as trajectories, judged by the evidence in them, and queues them.

        The same session twice adds nothing. Secrets are replaced before anything else reads the text; what cannot be
        read is skipped and reported, as is a whole file that holds no session when others do.

        Args:
            sources: Files.
            format: One of ``reasoningbank.sessions.readers.FORMATS``, or ``auto`` to tell it by the content.

        Raises:
            UnreadableTranscript: When no file holds a session of any known format.
            StoreUnavailable: When a file cannot be read.
        """
        from reasoningbank.sessions.readers import Skipped, read

        found: list[Captured] = []
        problems: list[str] = []
        unreadable: UnreadableTranscript | None = None
        skipped = 0
        for source in sources:
            path = usable_path(source)
            try:
                for one in read(path, format=format):
                    if isinstance(one, Skipped):
                        skipped += 1
                        if len(problems) < _MOST_PROBLEMS:
                            problems.append(f"{path.name}, {one.place}: {one.reason}")
                    else:
                        found.append(self._kept(one))
            except UnreadableTranscript as error:
                unreadable = error
                skipped += 1
                if len(problems) < _MOST_PROBLEMS:
                    problems.append(f"{path.name}: {error.message}")
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

    def keep(self, trajectory: Trajectory, *, key: str = "") -> Captured:
        """Store a trajectory that a program has built itself, cleaned and judged as a captured one.

        Args:
            trajectory: What happened.
            key: An idempotency key: a second trajectory with the same key adds nothing.
        """
        from reasoningbank.sessions.readers import prepare

        return self._kept(prepare(trajectory), session_name(key))

    def get(self, trajectory_id: str) -> Trajectory:
        """Return a trajectory as it was captured; raises TrajectoryNotFound."""
        return self._context.store().sessions.trajectory(check_memory_id(trajectory_id))

    def list(
        self, *, limit: int = 0, offset: int = 0, verdict: Verdict | None = None, pending: bool | None = None
    ) -> tuple[TrajectoryEntry, ...]:
        """Return stored trajectories, oldest first; limit 0 means all.

        Args:
            limit: At most so many.
            offset: So many are passed over.
            verdict: Only those judged so; ``unknown`` includes those never judged.
            pending: Only those that wait to be distilled, or only those that do not.
        """
        return tuple(
            self._context.store().sessions.trajectories(
                limit=checked_limit(limit), offset=checked_offset(offset), verdict=verdict, pending=pending
            )
        )

    def delete(self, trajectory_id: str) -> None:
        """Erase a trajectory and what was kept about it; the memories it taught stay. Raises TrajectoryNotFound.

        Args:
            trajectory_id: The session.
        """
        with self._context.store().transaction() as transaction:
            transaction.sessions.erase_trajectory(check_memory_id(trajectory_id))

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
        latest = self.latest(trajectory)
        return latest if latest.judge == USER else self.judged(trajectory, self._context.clock.now())

    def judgements(self, trajectory_id: str) -> tuple[Judgement, ...]:
        """Return every judgement of a trajectory, oldest first; raises TrajectoryNotFound."""
        return tuple(self._context.store().sessions.judgements(check_memory_id(trajectory_id)))

    def verdict(self, trajectory_id: str, verdict: Verdict, *, note: str = "") -> Judgement:
        """Say how a session ended; a person's word stands above all evidence. It waits to be distilled again.

        Args:
            trajectory_id: The session.
            verdict: How it ended.
            note: Why; the distiller is told.

        Raises:
            TrajectoryNotFound: When this project has no such trajectory.
            InvalidInput: When the verdict is not success, failure or partial.
        """
        from reasoningbank.safety.text import safe_line

        if verdict not in {"success", "failure", "partial"}:
            raise InvalidInput(f"a verdict is success, failure or partial, not {str(verdict)[:80]!r}")
        now = self._context.clock.now()
        words = safe_line(note)[:500] or f"The user says: {verdict}."
        said = Evidence(kind="user_verdict", positive=verdict == "success", detail=words)
        probability = {"success": 1.0, "failure": 0.0, "partial": 0.5}[verdict]
        judgement = Judgement(
            verdict=verdict, probability=probability, rationale=words, judge=USER, evidence=(said,), at=now
        )
        with self._context.store().transaction() as transaction:
            transaction.sessions.judge(check_memory_id(trajectory_id), judgement)
            transaction.sessions.mark_distilled(trajectory_id, None)
            job = Job(kind=DISTILL, key=trajectory_id, due=now)
            transaction.jobs.finish(job)
            transaction.jobs.enqueue(job)
        return judgement

    def judged(self, trajectory: Trajectory, at: datetime, *, patient: bool = False) -> Judgement:
        """Judge a session, store the judgement and return it."""
        from reasoningbank.sessions.judge import judge

        judgement = judge(
            trajectory, self._context.model, at=at, votes=self._context.settings.llm_votes, patient=patient
        )
        with self._context.store().transaction() as transaction:
            transaction.sessions.judge(trajectory.id, judgement)
        return judgement

    def latest(self, trajectory: Trajectory) -> Judgement:
        """Return the latest judgement of a session; by its evidence when none was stored."""
        from reasoningbank.sessions.judge import by_evidence

        judgements = self._context.store().sessions.judgements(trajectory.id)
        return judgements[-1] if judgements else by_evidence(trajectory, at=self._context.clock.now())

    def capture_later(
        self,
        *sources: str | Path,
        format: str = "auto",  # noqa: A002 - as ``capture`` has it
        quiet: timedelta = _AT_ONCE,
    ) -> int:
        """Queue files to be captured by a worker; read nothing, so that a hook is not held up.

        Args:
            sources: Files.
            format: As ``capture`` has it.
            quiet: For a file that still grows: it is captured so long after the last call for it. A call without it
                captures now and takes the place of one that waits.

        Returns:
            How many were queued: a file that waits already is queued again only when it has grown.
        """
        now = self._context.clock.now()
        queued = 0
        with self._context.store().transaction() as transaction:
            for source in sources:
                path = usable_path(source)
                size = path.stat().st_size if path.exists() else 0
                payload = {"path": str(path), "format": format}
                transaction.jobs.finish(Job(kind=CAPTURE, key=str(path), due=now))
                key = str(path) if quiet else f"{path}:{size}"
                job = Job(kind=CAPTURE, key=key, due=now + quiet, payload=payload)
                queued += transaction.jobs.enqueue(job) or (
                    bool(quiet) and transaction.jobs.revive(CAPTURE, key, due=job.due)
                )
        return queued

    def outcome(self, session: str, succeeded: bool, *, rater: Rater = "human") -> SessionOutcome:
        """Report how a session ended for everything that was shown in it, by briefings and searches, and nothing else.

        The weight of one outcome is shared in equal parts: of n memories shown each gets the n-th part, so that a
        session that shows much counts no more than one that shows little. A memory whose outcome this session has
        reported before keeps what it has (DESIGN D5). How the session ended is kept for ``report``, also of a session
        that was held out: that one credits only what it has found by searching.

        Args:
            session: The session.
            succeeded: Whether it succeeded.
            rater: Who says so.

        Raises:
            InvalidInput: When no session is named.
        """
        from reasoningbank.memories.evidence import report_outcome
        from reasoningbank.memories.exposure import decide_served, note_session

        place = session_name(session)
        if not place:
            raise InvalidInput("no session is named", hint="Name the session that the briefing was for.")
        at = self._context.clock.now()
        with observed("outcome_memory", store=self._context.place):
            store = self._context.store()
            wider = self._search.shown_wider(place)
            shown = [*store.memories.many(self._briefings.shown(store, place))]
            sharers = len(shown) + len(wider)
            reports = []
            with store.transaction() as transaction:
                for memory_id in shown:
                    try:
                        report = report_outcome(
                            transaction,
                            memory_id,
                            succeeded=succeeded,
                            session=place,
                            rater=rater,
                            at=at,
                            shared_by=sharers,
                        )
                    except MemoryNotFound:
                        continue
                    reports.append(report)
                    decide_served(transaction, memory_id, session=place, succeeded=succeeded, at=at)
                for memory_id in wider:
                    decide_served(transaction, memory_id, session=place, succeeded=succeeded, at=at)
                note_session(transaction, place, succeeded=succeeded, rater=rater)
            if wider:
                reports += self._search.credit_wider(place, succeeded=succeeded, rater=rater, at=at, shared_by=sharers)
            self._context.keep_up()
        return SessionOutcome(
            session=place,
            succeeded=succeeded,
            credited=tuple(report for report in reports if report.recorded),
            unchanged=tuple(report.memory_id for report in reports if not report.recorded),
        )

    def _kept(self, trajectory: Trajectory, key: str = "") -> Captured:
        """Store a prepared trajectory with its judgement by evidence and its job, all or nothing."""
        from reasoningbank.sessions.judge import by_evidence

        now = self._context.clock.now()
        judgement = by_evidence(trajectory, at=now)
        with self._context.store().transaction() as transaction:
            known = transaction.sessions.captured(key) if key else None
            known = known or transaction.sessions.captured(trajectory.digest)
            if known is None:
                transaction.sessions.keep(trajectory, key=key)
                transaction.sessions.judge(trajectory.id, judgement)
                transaction.jobs.enqueue(Job(kind=DISTILL, key=trajectory.id, due=now))
        if known is not None:
            judgement = self.latest(self.get(known))
        return Captured(
            id=known or trajectory.id,
            task=trajectory.task,
            steps=len(trajectory.steps),
            verdict=judgement.verdict,
            probability=judgement.probability,
            evidence=trajectory.evidence,
            duplicate=known is not None,
        )

    def handlers(self) -> Mapping[str, Handler]:
        """Return what does each kind of job of this resource."""
        return {CAPTURE: self._capture_job}

    def queue_due(self) -> None:
        """Do nothing: captures are queued when they are asked for."""

    def _capture_job(self, job: Job) -> None:
        """Capture a queued file; one that holds no session is given up at once."""
        try:
            self.capture(job.payload["path"], format=job.payload.get("format", "auto"))
        except UnreadableTranscript as error:
            raise Undecided(error.message, hint=error.hint) from error


def together(first: DistilReport, second: DistilReport) -> DistilReport:
    """Return both reports as one, without what is pending."""
    return DistilReport(
        distilled=(*first.distilled, *second.distilled),
        corroborated=(*first.corroborated, *second.corroborated),
        refused=(*first.refused, *second.refused),
        messages=(*first.messages, *second.messages),
    )


class Branches:
    """Brief and credit the branches of a folded context (seed 001)."""

    def __init__(
        self,
        context: Context,
        sessions: Sessions,
        distillation: Distillation,
        briefing: Callable[[str, int, str], Brief],
    ) -> None:
        self._context = context
        self._sessions = sessions
        self._distillation = distillation
        self._briefing = briefing

    def briefing(
        self, description: str, budget: int, *, share: float = BRANCH_SHARE, session: str | None = None
    ) -> Brief:
        """Return the memories for one branch of a folded context (seed 001, layer 1).

        Args:
            description: What the branch is to do.
            budget: The tokens of the branch's whole context.
            share: Which part of them memories may take, above 0 and at most 1.
            session: The branch's name; None makes one, which is in the answer. ``branch_outcome`` wants it.

        Raises:
            InvalidInput: When the description is blank or a number is not usable.
        """
        if not 0.0 < share <= 1.0:
            raise InvalidInput(f"a share is above 0 and at most 1, not {share}")
        return self._briefing(description, int(budget * share), session_name(session) or new_session())

    def outcome(
        self,
        session: str,
        succeeded: bool,
        *,
        description: str = "",
        approach: str = "",
        result: str = "",
        avoid: str = "",
        rater: Rater = "agent",
    ) -> SessionOutcome:
        """Report how a branch ended: credits what it was shown, and learns from its account when it gives one.

        Args:
            session: The branch's name, from ``branch_briefing``.
            succeeded: How it ended.
            description: What it was to do; with ``approach`` it becomes a lesson, as in ``distill_session``.
            approach: How it went about it.
            result: What came of it.
            avoid: Of a failed branch: what not to do again.
            rater: Who says so.

        Raises:
            InvalidInput: When no session is named, or an account has only one of description and approach.
        """
        if bool(description.strip()) != bool(approach.strip()):
            raise InvalidInput("an account of a branch needs its description and its approach", hint="Give both.")
        report = self._sessions.outcome(session, succeeded, rater=rater)
        if not description.strip():
            return report
        summary = SessionSummary(
            session_id=report.session,
            project_id=self._context.scope.project,
            outcome="success" if succeeded else "failure",
            task=description,
            approach=approach,
            result=result,
            avoid=avoid,
        )
        return replace(report, learned=self._distillation.from_summary(summary))
