"""Distil lessons from captured sessions: with a language model, by the calling agent, or from a summary."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from reasoningbank.errors import (
    BudgetExhausted,
    MalformedAnswer,
    ModelUnavailable,
    ScopeViolation,
    TrajectoryNotFound,
    Undecided,
)
from reasoningbank.safety.checks import session_name
from reasoningbank.types.argument import Limit
from reasoningbank.types.conversation import ConversationReport
from reasoningbank.types.memory import check_memory_id, check_outcome
from reasoningbank.types.records import Job
from reasoningbank.types.resource import checked
from reasoningbank.types.session import (
    AGENT,
    DISTILL,
    MAX_ITEMS,
    RECIPES,
    TEMPLATE,
    USER,
    DistilReport,
    Item,
    Judgement,
    Refusal,
    SessionSummary,
    Step,
    Trajectory,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reasoningbank.context import Context
    from reasoningbank.jobs.worker import Handler
    from reasoningbank.sessions.assignment import Assignment
    from reasoningbank.sessions.recipe_store import Recipes
    from reasoningbank.sessions.sessions import Sessions
    from reasoningbank.sessions.settlement import Settlement

_NO_MODEL = (
    "No language model is configured. Set llm, for example to your own agent (client:claude-code), or let the calling "
    "agent distill with the tool memory_distill."
)


Retelling = Callable[[Trajectory, Judgement], ConversationReport | None]
"""The function that remembers a distilled session in the graph; None when it is not wanted, or known already."""


@checked
class Distillation:
    """Distil lessons from captured sessions: with a language model, by the calling agent, or from a summary."""

    def __init__(self, context: Context, sessions: Sessions, settlement: Settlement, distiller: Distiller) -> None:
        self._context = context
        self._sessions = sessions
        self._settlement = settlement
        self._distiller = distiller

    def run(
        self,
        *trajectory_ids: str,
        pending: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> DistilReport:
        """Make lessons of trajectories with the language model; what cannot be done now waits and is reported.

        Recipes, which need no model, are made of them first.

        Args:
            trajectory_ids: Which ones; those that were distilled before are distilled again, and add nothing twice.
            pending: Those that wait as well.
            progress: Called with sessions done and sessions in all.

        Raises:
            TrajectoryNotFound: When this project has no such trajectory.
        """
        from reasoningbank.safety.stored_text import safe_line

        store = self._context.store()
        wanted = dict.fromkeys(
            store.sessions.entry(check_memory_id(trajectory_id, "session")).id for trajectory_id in trajectory_ids
        )
        if pending:
            wanted |= dict.fromkeys(entry.id for entry in store.sessions.trajectories(limit=0, pending=True))
        report = DistilReport()
        has_model = self._context.model is not None
        for number, trajectory_id in enumerate(wanted, 1):
            report = together(report, self._distiller.recipes_of(trajectory_id))
            if not has_model:
                self._distiller.retold(trajectory_id)
                if progress is not None:
                    progress(number, len(wanted))
        if wanted and not has_model:
            report, wanted = replace(report, messages=(_NO_MODEL,)), {}
        for number, trajectory_id in enumerate(wanted, 1):
            try:
                report = together(report, self._distiller.distilled(trajectory_id))
                waits = self._distiller.retold(trajectory_id)
                report = replace(report, messages=(*report.messages, *([waits] if waits else [])))
                with store.transaction() as transaction:
                    transaction.jobs.finish(Job(kind=DISTILL, key=trajectory_id, due=self._context.clock.now()))
            except (ModelUnavailable, MalformedAnswer, BudgetExhausted, Undecided) as error:
                report = replace(report, messages=(*report.messages, f"{trajectory_id}: {safe_line(error.advice)}"))
            if progress is not None:
                progress(number, len(wanted))
        return replace(report, pending=self._distiller.pending())

    def from_summary(self, summary: SessionSummary) -> DistilReport:
        """Make lessons of a finished session's own summary, without a model (seed 004 ``DistillSession``).

        Success gives a strategy, failure an anti-pattern, partial both, each from its own part; each begins at 0.6.
        Each account of a session is learned; the same account (task, approach, result) twice adds nothing.

        Raises:
            ScopeViolation: When the summary names another project.
            InvalidInput: When a field that is needed is empty.
        """
        from reasoningbank.sessions.assignment import items_of
        from reasoningbank.sessions.readers import prepare

        if summary.project_id != self._context.scope.project:
            raise ScopeViolation(f"the summary belongs to project {summary.project_id[:80]!r}")
        at = summary.completed_at or self._context.clock.now()
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
            at=self._context.clock.now(),
        )
        key = f"summary:{summary.outcome}:{trajectory.session}:{trajectory.digest}"
        with self._context.store().transaction() as transaction:
            known = transaction.sessions.captured(key)
            if known is None and transaction.sessions.keep(trajectory, key=key):
                transaction.sessions.judge(trajectory.id, judgement)
                known = trajectory.id
            known = known or transaction.sessions.captured(trajectory.digest)
        if known is None:
            raise TrajectoryNotFound(f"the summary of session {trajectory.session[:80]!r} was not kept")
        if known != trajectory.id and self._context.store().sessions.entry(known).distilled is not None:
            message = f"{known}: this account of the session was distilled before, nothing was added"
            return DistilReport(pending=self._distiller.pending(), messages=(message,))
        report = self._distiller.learned(known, judgement, items_of(summary), model=TEMPLATE)
        return replace(report, pending=self._distiller.pending())

    def assignment(self, trajectory_id: str) -> Assignment:
        """Return what a calling agent needs to distil a session itself: digest, schema, instructions.

        Raises:
            TrajectoryNotFound: When this project has no such trajectory.
        """
        from reasoningbank.sessions.assignment import assign

        trajectory = self._sessions.get(trajectory_id)
        return assign(trajectory, self._settlement.latest(trajectory))

    def record(
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
        judgement = self._settlement.latest(self._sessions.get(trajectory_id))
        if judgement.verdict == "unknown":
            raise Undecided(f"it is not known how the session ended: {judgement.rationale}")
        report = self._distiller.learned(trajectory_id, judgement, (item,), model=AGENT)
        return replace(report, pending=self._distiller.pending())

    def skip(self, trajectory_id: str) -> DistilReport:
        """Note that the calling agent found nothing in a trajectory that is worth a lesson; it no longer waits.

        Raises:
            TrajectoryNotFound: When this project has no such trajectory.
        """
        judgement = self._settlement.latest(self._sessions.get(trajectory_id))
        return replace(
            self._distiller.learned(trajectory_id, judgement, (), model=AGENT), pending=self._distiller.pending()
        )

    def refusals(self, *, trajectory: str | None = None, limit: Limit = 0) -> tuple[Refusal, ...]:
        """Return items that were not stored, with the reason, newest first; limit 0 means all.

        Args:
            trajectory: Only of this session.
            limit: Most items; 0 lists all.
        """
        return tuple(self._context.store().sessions.refusals(trajectory=trajectory, limit=limit))


class Distiller:
    """Distil sessions with the language model and store what is found, at once or in the background."""

    def __init__(
        self, context: Context, sessions: Sessions, settlement: Settlement, recipes: Recipes, retell: Retelling
    ) -> None:
        self._context = context
        self._sessions = sessions
        self._settlement = settlement
        self._recipes = recipes
        self._retell = retell
        self._queued = False

    def handlers(self) -> Mapping[str, Handler]:
        """Return the function that does each kind of job; without a language model sessions wait for other workers."""
        return {RECIPES: self._recipes_job} | ({} if self._context.model is None else {DISTILL: self._distill_job})

    def queue_due(self) -> None:
        """Give every session that waits a job, once; what is stored later brings its own."""
        if self._context.model is None or self._queued:
            return
        now = self._context.clock.now()
        store = self._context.store()
        waiting = store.sessions.trajectories(limit=0, pending=True)
        if waiting:
            with store.transaction() as transaction:
                for entry in waiting:
                    transaction.jobs.enqueue(Job(kind=DISTILL, key=entry.id, due=now))
        self._queued = True

    def distilled(self, trajectory_id: str, *, again: bool = True, begun: datetime | None = None) -> DistilReport:
        """Judge where that is open, ask the model for items, and store what is admitted."""
        from reasoningbank.llm.budget import counted_as
        from reasoningbank.sessions.lessons import extract

        trajectory = self._sessions.get(trajectory_id)
        if self._context.model is None:
            raise ModelUnavailable(_NO_MODEL)
        with counted_as(trajectory_id):
            judgement = self._settlement.latest(trajectory)
            if judgement.verdict == "unknown" and judgement.judge == USER:
                return self.learned(trajectory_id, judgement, (), model=AGENT, again=again)
            if judgement.verdict == "unknown":
                judgement = self._settlement.judged(trajectory, begun or self._context.clock.now(), patient=True)
            if judgement.verdict == "unknown":
                raise Undecided(f"it is not known how the session ended: {judgement.rationale}")
            found = extract(trajectory, judgement, self._context.model)
        return self.learned(trajectory_id, judgement, found.items, model=found.model, prompt=found.prompt, again=again)

    def learned(
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
        """Store the lessons of a session that pass the checks; report what was stored and refused."""
        from reasoningbank.sessions.lessons import learn

        trajectory = self._sessions.get(trajectory_id)
        learned = learn(
            self._context.store(),
            self._context.embedder,
            trajectory,
            judgement,
            items,
            model=model,
            prompt=prompt,
            session=trajectory.session or trajectory.id,
            at=self._context.clock.now(),
            limit=limit,
            again=again,
        )
        return DistilReport(
            distilled=tuple(memory.id for memory in learned.memories),
            corroborated=learned.corroborated,
            refused=learned.refused,
        )

    def retold(self, trajectory_id: str) -> str:
        """Remember a session in the graph, where that is wanted; return what waits, empty when nothing does."""
        trajectory = self._sessions.get(trajectory_id)
        report = self._retell(trajectory, self._settlement.latest(trajectory))
        return f"{trajectory_id}: {report.message}" if report is not None and report.waiting else ""

    def pending(self) -> int:
        """Return how many sessions wait to be distilled."""
        return len(self._context.store().sessions.trajectories(limit=0, pending=True))

    def recipes_of(self, trajectory_id: str) -> DistilReport:
        """Make the recipes of a session, which need no model."""
        return self._recipes.learn(trajectory_id)

    def _recipes_job(self, job: Job) -> None:
        self._recipes.learn(job.key)
        if self._context.model is None:
            self.retold(job.key)

    def _distill_job(self, job: Job) -> None:
        """Make its recipes and distill the trajectory, unless a worker that was killed after it has done so already."""
        begun = self._context.clock.now()
        self._recipes.learn(job.key)
        entry = self._context.store().sessions.entry(job.key)
        judged = entry.judgement
        if entry.distilled is None or (judged is not None and judged.at > entry.distilled):
            self.distilled(job.key, again=False, begun=begun)
        self.retold(job.key)


def together(first: DistilReport, second: DistilReport) -> DistilReport:
    """Return both reports as one, without what is pending."""
    return DistilReport(
        distilled=(*first.distilled, *second.distilled),
        corroborated=(*first.corroborated, *second.corroborated),
        refused=(*first.refused, *second.refused),
        messages=(*first.messages, *second.messages),
    )
