"""Capture sessions, judge how they ended, credit what they were shown; branches of a folded context."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from reasoningbank.errors import InvalidInput, Undecided, UnreadableTranscript
from reasoningbank.safety.arguments import checked_limit, checked_offset, session_name, usable_path
from reasoningbank.sessions.growth import continues
from reasoningbank.telemetry import observed
from reasoningbank.types.memory import check_memory_id, new_session
from reasoningbank.types.recall import BRANCH_SHARE, Brief, SessionOutcome
from reasoningbank.types.records import Job, TrajectoryEntry
from reasoningbank.types.session import (
    CAPTURE,
    DISTILL,
    PROGRESS,
    QUIET,
    SUMMARY_SOURCE,
    SUPERSEDED_AT,
    Captured,
    CaptureReport,
    DistilReport,
    Evidence,
    Judgement,
    Progress,
    SessionState,
    SessionSummary,
    Trajectory,
    Verdict,
)
from reasoningbank.types.signal import Rater

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from reasoningbank.context import Context
    from reasoningbank.jobs.jobs import Handler
    from reasoningbank.search.briefing import Briefings
    from reasoningbank.search.search import Search
    from reasoningbank.sessions.distillation import Distillation
    from reasoningbank.storage.store import Store, Transaction
    from reasoningbank.types.memory import OutcomeReport
    from reasoningbank.types.uplift import Shown

_AT_ONCE = timedelta(0)
CREDIT = "credit"
"""The kind of job that settles what the session of the trajectory that is its key was shown."""
RECIPES = "recipes"
"""The kind of job that makes the recipes of the trajectory that is its key where no model is; else ``DISTILL`` does."""
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
        """Store the sessions of transcripts as trajectories, judged by the evidence in them, and queue them.

        The same session twice adds nothing. Secrets are replaced before anything else reads the text; what cannot be
        read is skipped and reported, as is a whole file that holds no session when others do.

        Args:
            sources: Files.
            format: One of ``reasoningbank.sessions.readers.FORMATS``, or ``auto`` to tell it by the content.

        Raises:
            UnreadableTranscript: When no file holds a session of any known format.
            StoreUnavailable: When a file cannot be read.
        """
        return self._captured(sources, format, ended=True)

    def _captured(self, sources: Sequence[str | Path], form: str, *, ended: bool) -> CaptureReport:
        """Store the sessions of transcripts; one that has not ended waits before it is credited and distilled."""
        from reasoningbank.sessions.readers import Skipped, read

        found: list[Captured] = []
        problems: list[str] = []
        unreadable: UnreadableTranscript | None = None
        skipped = 0
        for source in sources:
            path = usable_path(source)
            try:
                for one in read(path, format=form):
                    if isinstance(one, Skipped):
                        skipped += 1
                        if len(problems) < _MOST_PROBLEMS:
                            problems.append(f"{path.name}, {one.place}: {one.reason}")
                    else:
                        found.append(self._kept(one, ended=ended))
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
        """Return a trajectory as it was captured, with what its session was shown; raises TrajectoryNotFound."""
        store = self._context.store()
        trajectory = store.sessions.trajectory(check_memory_id(trajectory_id))
        shown = [one.memory_id for one in _shown(store, trajectory.session)]
        return replace(trajectory, memories=tuple(dict.fromkeys((*trajectory.memories, *shown))))

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
        store = self._context.store()
        entries = store.sessions.trajectories(
            limit=checked_limit(limit), offset=checked_offset(offset), verdict=verdict, pending=pending
        )
        return tuple(replace(entry, memories=_shown(store, entry.session)) for entry in entries)

    def states(self, *, state: Progress | None = None, limit: int = 20) -> tuple[SessionState, ...]:
        """Show where each session stands: queued, captured, waiting or distilled, and what it waits for.

        Args:
            state: Only those that stand there.
            limit: At most so many, the newest first; 0 means all.

        Raises:
            InvalidInput: When there is no such state.
        """
        from reasoningbank.sessions.states import states

        if state is not None and state not in PROGRESS:
            raise InvalidInput(f"a session is {', '.join(PROGRESS)}, not {str(state)[:80]!r}")
        has_model = self._context.model is not None
        found = states(self._context.store(), now=self._context.clock.now(), has_model=has_model)
        chosen = [one for one in found if state in {None, one.state}]
        return tuple(chosen[: checked_limit(limit) or None])

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
            for kind in (DISTILL, CREDIT):
                _again(transaction, kind, trajectory_id, now)
        self._credited(trajectory_id)
        self._context.keep_up()
        return judgement

    def judged(self, trajectory: Trajectory, at: datetime, *, patient: bool = False) -> Judgement:
        """Judge a session, credit what it was shown, store the judgement and return it."""
        from reasoningbank.sessions.judge import judge

        judgement = judge(
            trajectory, self._context.model, at=at, votes=self._context.settings.llm_votes, patient=patient
        )
        with self._context.store().transaction() as transaction:
            transaction.sessions.judge(trajectory.id, judgement)
            _again(transaction, CREDIT, trajectory.id, self._context.clock.now())
        self._credited(trajectory.id)
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
            How many were queued: a file that waits already is queued again only when it has grown.
        """
        now = self._context.clock.now()
        queued = 0
        with self._context.store().transaction() as transaction:
            for source in sources:
                path = usable_path(source)
                size = path.stat().st_size if path.exists() else 0
                payload = {"path": str(path), "format": format} | ({} if ended else {"ended": "no"})
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
        session that shows much counts no more than one that shows little. A memory has one outcome of a session: a
        later report replaces the earlier one, but an agent's never a person's (DESIGN D5). How the session ended is
        kept for ``report``, also of a session that was held out: that one credits only what it has found by searching.

        Args:
            session: The session.
            succeeded: True when it succeeded.
            rater: Who says so.

        Raises:
            InvalidInput: When no session is named.
        """
        from reasoningbank.memories.exposure import note_session

        place = session_name(session)
        if not place:
            raise InvalidInput("no session is named", hint="Name the session that the briefing was for.")
        with observed("outcome_memory", store=self._context.place):
            with self._context.store().transaction() as transaction:
                note_session(transaction, place, succeeded=succeeded, rater=rater)
            reports = self._settled(place, "success" if succeeded else "failure", rater)
            self._context.keep_up()
        return SessionOutcome(
            session=place,
            succeeded=succeeded,
            credited=tuple(report for report in reports if report.recorded),
            unchanged=tuple(report.memory_id for report in reports if not report.recorded),
        )

    def _settled(
        self, session: str, verdict: Verdict, rater: Rater, *, for_task: bool = False
    ) -> Sequence[OutcomeReport]:
        """Credit what the session was shown, or only for its task, with how it ended; return what became of each."""
        from reasoningbank.memories.credit import settle, shown
        from reasoningbank.memories.exposure import decide_served

        store, at = self._context.store(), self._context.clock.now()
        wider = self._search.shown_wider(session, for_task=for_task)
        sharers = len(store.memories.many([*shown(store, session, for_task=for_task)])) + len(wider)
        reports: list[OutcomeReport] = []
        with store.transaction() as transaction:
            reports += settle(
                transaction, session, verdict, rater=rater, at=at, shared_by=max(1, sharers), for_task=for_task
            )
            if verdict in {"success", "failure"}:
                for memory_id in wider:
                    decide_served(transaction, memory_id, session=session, succeeded=verdict == "success", at=at)
        if wider:
            reports += self._search.credit_wider(
                session, verdict, rater=rater, at=at, shared_by=sharers, for_task=for_task
            )
        return reports

    def _credit(self, trajectory_id: str) -> None:
        """Credit what the trajectory's session was shown for its task with how it ended, as far as that is known now.

        A person's word, about the session or one of its trajectories, stands above every other. A session that nobody
        can judge credits nothing, and takes back what was credited before.
        """
        store = self._context.store()
        place = store.sessions.entry(trajectory_id).session
        if place:
            verdict, rater = self._known_end(store, place)
            self._settled(place, verdict, rater, for_task=True)

    def _known_end(self, store: Store, session: str) -> tuple[Verdict, Rater]:
        """Return how a session ended and who says so: a person, else the judgement of its longest trajectory."""
        exposure = store.deliveries.exposure(session)
        entries = [
            entry
            for entry in store.sessions.trajectories(limit=0, session=session)
            if entry.judgement is not None and entry.source != SUMMARY_SOURCE
        ]
        said = [entry.judgement for entry in entries if entry.judgement is not None and entry.judgement.judge == USER]
        if said:
            return max(said, key=lambda each: each.at).verdict, "human"
        if exposure is not None and exposure.succeeded is not None and exposure.said_by == "human":
            return "success" if exposure.succeeded else "failure", "human"
        longest = max(entries, key=lambda entry: entry.steps, default=None)
        return ("unknown" if longest is None or longest.judgement is None else longest.judgement.verdict), "agent"

    def _kept(self, trajectory: Trajectory, key: str = "", *, ended: bool = True) -> Captured:
        """Store a prepared trajectory with its judgement by evidence and its jobs, all or nothing.

        A longer state of a session that is known takes the place of the shorter one, and is judged again. A session
        that has not ended credits and teaches nothing before it was quiet for a while.
        """
        from reasoningbank.sessions.judge import by_evidence

        now = self._context.clock.now()
        judgement = by_evidence(trajectory, at=now)
        due = now if ended else now + QUIET
        with self._context.store().transaction() as transaction, transaction.whole():
            known = transaction.sessions.captured(key) if key else None
            known = known or transaction.sessions.captured(trajectory.digest)
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
            kinds = (RECIPES, DISTILL, CREDIT) if self._context.model is None else (DISTILL, CREDIT)
            if known is None:
                for kind in kinds:
                    _again(transaction, kind, trajectory.id, due)
            elif ended:
                for kind in kinds:
                    _hasten(transaction, kind, known, now)
        if ended:
            self._credited(known or trajectory.id)
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

    def _credited(self, trajectory_id: str) -> None:
        """Do the job that settles what the session was shown, at once; a worker does it when this process is killed."""
        with self._context.store().transaction() as transaction:
            job = Job(kind=CREDIT, key=trajectory_id, due=self._context.clock.now())
            waiting = transaction.jobs.waiting(due=job.due)
        if any((each.kind, each.key, each.lease) == (CREDIT, trajectory_id, "") for each in waiting):
            self._credit(trajectory_id)
            with self._context.store().transaction() as transaction:
                transaction.jobs.finish(job)

    def _credit_job(self, job: Job) -> None:
        """Settle what a session was shown."""
        self._credit(job.key)

    def handlers(self) -> Mapping[str, Handler]:
        """Return what does each kind of job of this resource."""
        return {CAPTURE: self._capture_job, CREDIT: self._credit_job}

    def queue_due(self) -> None:
        """Do nothing: captures are queued when they are asked for."""

    def _capture_job(self, job: Job) -> None:
        """Capture a queued file; one that holds no session is given up at once.

        The hook of a session's end may overtake that of its last turn: then nothing is left to be captured when the
        file has been quiet.
        """
        path, ended = job.payload["path"], job.payload.get("ended") != "no"
        try:
            self._captured([path], job.payload.get("format", "auto"), ended=ended)
        except UnreadableTranscript as error:
            raise Undecided(error.message, hint=error.hint) from error
        place = Path(path)
        if ended and place.exists() and job.key == f"{path}:{place.stat().st_size}":
            with self._context.store().transaction() as transaction:
                transaction.jobs.finish(Job(kind=CAPTURE, key=path, due=job.due))


def _again(transaction: Transaction, kind: str, key: str, due: datetime) -> None:
    """Queue a job anew, whatever became of it before."""
    job = Job(kind=kind, key=key, due=due)
    transaction.jobs.finish(job)
    transaction.jobs.enqueue(job)


def _hasten(transaction: Transaction, kind: str, key: str, now: datetime) -> None:
    """Make a job that waits for its session to be quiet due now."""
    waiting = transaction.jobs.waiting(due=now + QUIET)
    if any((job.kind, job.key, job.lease, job.attempts) == (kind, key, "", 0) and job.due > now for job in waiting):
        _again(transaction, kind, key, now)


def _shown(store: Store, session: str) -> tuple[Shown, ...]:
    """Return what the session was shown, and how."""
    exposure = store.deliveries.exposure(session) if session else None
    return () if exposure is None else tuple(one for one in exposure.shown if one.how != "withheld")


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
            session: The branch's name; None makes one, which is in the answer. Its outcome is reported under this name.

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
        """Report how a branch ended: credit what it was shown, and learn from its account when it gives one.

        Args:
            session: The branch's name, from its briefing.
            succeeded: How it ended.
            description: What it was to do; with ``approach`` it becomes a lesson, as a summary of a session does.
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
