"""The half of a bank that learns from sessions: capture, judge, distill, and the queue in between."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from reasoningbank.context import checked_limit, checked_offset, session_name, usable_path
from reasoningbank.errors import (
    BudgetExhausted,
    InvalidInput,
    MalformedAnswer,
    ModelUnavailable,
    ScopeViolation,
    TrajectoryNotFound,
    Undecided,
    UnreadableTranscript,
)
from reasoningbank.search.ingest import Ingesting
from reasoningbank.types.memory import check_memory_id, check_outcome
from reasoningbank.types.ports import LanguageModel
from reasoningbank.types.records import Job, TrajectoryEntry
from reasoningbank.types.session import (
    MAX_ITEMS,
    Captured,
    CaptureReport,
    DistilReport,
    Evidence,
    Item,
    Judgement,
    Origin,
    Refusal,
    SessionSummary,
    Step,
    Trajectory,
    Verdict,
)

if TYPE_CHECKING:
    from reasoningbank.sessions.assignment import Assignment

DISTILL = "distill"
"""The kind of job that judges and distills the trajectory that is its key."""
AGENT, TEMPLATE, USER = "agent", "template", "user"
_MOST_PROBLEMS = 100
_NO_MODEL = "No language model is configured. Set llm, or let the calling agent distill with the tool memory_distill."


class Learning(Ingesting):
    """Sessions become trajectories, trajectories become lessons; nothing is invented when something fails."""

    @property
    def model(self) -> LanguageModel | None:
        """The language model in use, None when there is none: then the calling agent distills, or nobody."""
        return self._model

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

    def trajectory(self, trajectory_id: str) -> Trajectory:
        """Return a trajectory as it was captured; raises TrajectoryNotFound."""
        return self._open_store().trajectory(check_memory_id(trajectory_id))

    def trajectories(
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
            self._open_store().trajectories(
                limit=checked_limit(limit), offset=checked_offset(offset), verdict=verdict, pending=pending
            )
        )

    def judgements(self, trajectory_id: str) -> tuple[Judgement, ...]:
        """Return every judgement of a trajectory, oldest first; raises TrajectoryNotFound."""
        return tuple(self._open_store().judgements(check_memory_id(trajectory_id)))

    def origins(self, memory_id: str) -> tuple[Origin, ...]:
        """Return which sessions taught a memory, oldest first; raises MemoryNotFound."""
        return tuple(self._owner(memory_id).origins(memory_id=memory_id))

    def refusals(self, *, trajectory: str | None = None, limit: int = 0) -> tuple[Refusal, ...]:
        """Return items that were not stored, with the reason, newest first; limit 0 means all."""
        return tuple(self._open_store().refusals(trajectory=trajectory, limit=checked_limit(limit)))

    def forget_trajectory(self, trajectory_id: str) -> None:
        """Erase a trajectory and what was kept about it; the memories it taught stay. Raises TrajectoryNotFound."""
        with self._open_store().transaction() as transaction:
            transaction.erase_trajectory(check_memory_id(trajectory_id))

    def judge(self, trajectory_id: str) -> Judgement:
        """Judge how a session ended: by its evidence, and only where that decides nothing by the language model.

        The answer is ``unknown`` when neither can tell or the model does not answer; every judgement is kept. What a
        person has said stands.

        Raises:
            TrajectoryNotFound: When this project has no such trajectory.
        """
        trajectory = self.trajectory(trajectory_id)
        latest = self._latest(trajectory)
        return latest if latest.judge == USER else self._judged(trajectory, self._clock.now())

    def verdict(self, trajectory_id: str, verdict: Verdict, *, note: str = "") -> Judgement:
        """Say how a session ended; a person's word stands above all evidence. It waits to be distilled again.

        Raises:
            TrajectoryNotFound: When this project has no such trajectory.
            InvalidInput: When the verdict is not success, failure or partial.
        """
        from reasoningbank.safety.text import safe_line

        if verdict not in {"success", "failure", "partial"}:
            raise InvalidInput(f"a verdict is success, failure or partial, not {str(verdict)[:80]!r}")
        now = self._clock.now()
        words = safe_line(note)[:500] or f"The user says: {verdict}."
        said = Evidence(kind="user_verdict", positive=verdict == "success", detail=words)
        probability = {"success": 1.0, "failure": 0.0, "partial": 0.5}[verdict]
        judgement = Judgement(
            verdict=verdict, probability=probability, rationale=words, judge=USER, evidence=(said,), at=now
        )
        with self._open_store().transaction() as transaction:
            transaction.judge(check_memory_id(trajectory_id), judgement)
            transaction.mark_distilled(trajectory_id, None)
            job = Job(kind=DISTILL, key=trajectory_id, due=now)
            transaction.finish(job)
            transaction.enqueue(job)
        return judgement

    def distill(self, *trajectory_ids: str, pending: bool = False) -> DistilReport:
        """Make lessons of trajectories with the language model; what cannot be done now waits and is reported.

        Args:
            trajectory_ids: Which ones; those that were distilled before are distilled again, and add nothing twice.
            pending: Those that wait as well.

        Raises:
            TrajectoryNotFound: When this project has no such trajectory.
        """
        from reasoningbank.safety.text import safe_line

        store = self._open_store()
        wanted = dict.fromkeys(store.entry(check_memory_id(trajectory_id)).id for trajectory_id in trajectory_ids)
        if pending:
            wanted |= dict.fromkeys(entry.id for entry in store.trajectories(limit=0, pending=True))
        report = DistilReport()
        if wanted and self._model is None:
            report, wanted = DistilReport(messages=(_NO_MODEL,)), {}
        for trajectory_id in wanted:
            try:
                report = together(report, self._distilled(trajectory_id))
                with store.transaction() as transaction:
                    transaction.finish(Job(kind=DISTILL, key=trajectory_id, due=self._clock.now()))
            except (ModelUnavailable, MalformedAnswer, BudgetExhausted, Undecided) as error:
                report = replace(report, messages=(*report.messages, f"{trajectory_id}: {safe_line(error.advice)}"))
        return replace(report, pending=self._pending())

    def distill_session(self, summary: SessionSummary) -> DistilReport:
        """Make lessons of a finished session's own summary, without a model (seed 004 ``DistillSession``).

        Success gives a strategy, failure an anti-pattern, partial both, each from its own part; each begins at 0.6.
        The same session twice adds nothing.

        Raises:
            ScopeViolation: When the summary names another project.
            InvalidInput: When a field that is needed is empty.
        """
        from reasoningbank.sessions.assignment import items_of
        from reasoningbank.sessions.readers import prepare

        if summary.project_id != self._scope.project:
            raise ScopeViolation(f"the summary belongs to project {summary.project_id[:80]!r}")
        at = summary.completed_at or self._clock.now()
        trajectory = prepare(
            Trajectory(
                task=summary.task,
                steps=(Step(thought=summary.approach, observation=summary.result),),
                final_answer=summary.result,
                session=session_name(summary.session_id),
                source="summary",
                created_at=at,
            )
        )
        judgement = Judgement(
            verdict=summary.outcome,
            probability={"success": 1.0, "failure": 0.0}.get(summary.outcome, 0.5),
            rationale="The agent says so itself.",
            judge=AGENT,
            at=self._clock.now(),
        )
        key = f"summary:{summary.outcome}:{trajectory.session}"
        with self._open_store().transaction() as transaction:
            known = transaction.captured(key)
            if known is None and transaction.keep(trajectory, key=key):
                transaction.judge(trajectory.id, judgement)
                known = trajectory.id
            known = known or transaction.captured(trajectory.digest)
        if known is None:
            raise TrajectoryNotFound(f"the summary of session {trajectory.session[:80]!r} was not kept")
        if known != trajectory.id and self._open_store().entry(known).distilled is not None:
            return DistilReport(pending=self._pending(), messages=(f"{known}: this session was distilled before",))
        report = self._learned(known, judgement, items_of(summary), model=TEMPLATE)
        return replace(report, pending=self._pending())

    def assignment(self, trajectory_id: str) -> Assignment:
        """Return what a calling agent needs to distil a session itself: digest, schema, instructions.

        Raises:
            TrajectoryNotFound: When this project has no such trajectory.
        """
        from reasoningbank.sessions.assignment import assign

        trajectory = self.trajectory(trajectory_id)
        return assign(trajectory, self._latest(trajectory))

    def record_lesson(
        self,
        trajectory_id: str,
        *,
        title: str,
        content: str,
        outcome: str,
        description: str,
        tags: Iterable[str] = (),
        steps: Sequence[int] = (),
    ) -> DistilReport:
        """Store a lesson that the calling agent has distilled from a trajectory; checked like a model's, begun at 0.6.

        Raises:
            TrajectoryNotFound: When this project has no such trajectory.
            Undecided: When it is not known how the session ended: then it teaches nothing yet, and still waits.
            InvalidOutcome: When the outcome is neither success nor failure.
        """
        item = Item(
            title=title,
            description=description,
            content=content,
            outcome=check_outcome(outcome),
            tags=tuple(tags),
            steps=tuple(steps),
        )
        judgement = self._latest(self.trajectory(trajectory_id))
        if judgement.verdict == "unknown":
            raise Undecided(f"it is not known how the session ended: {judgement.rationale}")
        report = self._learned(trajectory_id, judgement, (item,), model=AGENT)
        return replace(report, pending=self._pending())

    def nothing_learned(self, trajectory_id: str) -> DistilReport:
        """Note that the calling agent found nothing in a trajectory that is worth a lesson; it no longer waits.

        Raises:
            TrajectoryNotFound: When this project has no such trajectory.
        """
        judgement = self._latest(self.trajectory(trajectory_id))
        return replace(self._learned(trajectory_id, judgement, (), model=AGENT), pending=self._pending())

    def _kept(self, trajectory: Trajectory, key: str = "") -> Captured:
        """Store a prepared trajectory with its judgement by evidence and its job, all or nothing."""
        from reasoningbank.sessions.judge import by_evidence

        now = self._clock.now()
        judgement = by_evidence(trajectory, at=now)
        with self._open_store().transaction() as transaction:
            known = transaction.captured(key) if key else None
            known = known or transaction.captured(trajectory.digest)
            if known is None:
                transaction.keep(trajectory, key=key)
                transaction.judge(trajectory.id, judgement)
                transaction.enqueue(Job(kind=DISTILL, key=trajectory.id, due=now))
        if known is not None:
            judgement = self._latest(self.trajectory(known))
        return Captured(
            id=known or trajectory.id,
            task=trajectory.task,
            steps=len(trajectory.steps),
            verdict=judgement.verdict,
            probability=judgement.probability,
            evidence=trajectory.evidence,
            duplicate=known is not None,
        )

    def _judged(self, trajectory: Trajectory, at: datetime, *, patient: bool = False) -> Judgement:
        from reasoningbank.sessions.judge import judge

        judgement = judge(trajectory, self._model, at=at, votes=self._settings.llm_votes, patient=patient)
        with self._open_store().transaction() as transaction:
            transaction.judge(trajectory.id, judgement)
        return judgement

    def _distilled(self, trajectory_id: str, *, again: bool = True, begun: datetime | None = None) -> DistilReport:
        """Judge where that is open, ask the model for items, and stores what is admitted."""
        from reasoningbank.sessions.distil import extract

        trajectory = self.trajectory(trajectory_id)
        if self._model is None:
            raise ModelUnavailable(_NO_MODEL)
        judgement = self._latest(trajectory)
        if judgement.verdict == "unknown":
            judgement = self._judged(trajectory, begun or self._clock.now(), patient=True)
        if judgement.verdict == "unknown":
            raise Undecided(f"it is not known how the session ended: {judgement.rationale}")
        found = extract(trajectory, judgement, self._model)
        return self._learned(trajectory_id, judgement, found.items, model=found.model, prompt=found.prompt, again=again)

    def _learned(
        self,
        trajectory_id: str,
        judgement: Judgement,
        items: Sequence[Item],
        *,
        model: str,
        prompt: str = "",
        limit: int = MAX_ITEMS,
        again: bool = True,
    ) -> DistilReport:
        from reasoningbank.sessions.distil import learn

        trajectory = self.trajectory(trajectory_id)
        learned = learn(
            self._open_store(),
            self._embedder,
            trajectory,
            judgement,
            items,
            model=model,
            prompt=prompt,
            session=trajectory.session or trajectory.id,
            at=self._clock.now(),
            limit=limit,
            again=again,
        )
        return DistilReport(
            distilled=tuple(memory.id for memory in learned.memories),
            corroborated=learned.corroborated,
            refused=learned.refused,
        )

    def _latest(self, trajectory: Trajectory) -> Judgement:
        from reasoningbank.sessions.judge import by_evidence

        judgements = self._open_store().judgements(trajectory.id)
        return judgements[-1] if judgements else by_evidence(trajectory, at=self._clock.now())

    def _pending(self) -> int:
        return len(self._open_store().trajectories(limit=0, pending=True))


def together(first: DistilReport, second: DistilReport) -> DistilReport:
    """Return both reports as one, without what is pending."""
    return DistilReport(
        distilled=(*first.distilled, *second.distilled),
        corroborated=(*first.corroborated, *second.corroborated),
        refused=(*first.refused, *second.refused),
        messages=(*first.messages, *second.messages),
    )
