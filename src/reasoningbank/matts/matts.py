"""Let an agent try a task several times and learn from all attempts together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from reasoningbank.errors import BudgetExhausted, MalformedAnswer, MemoryNotFound, ModelUnavailable, TrajectoryNotFound
from reasoningbank.safety.secrets import redact
from reasoningbank.safety.stored_text import clean
from reasoningbank.sessions.distillation import together
from reasoningbank.storage.store import StoreReader, Transaction
from reasoningbank.types.argument import SearchLimit
from reasoningbank.types.matts import TASK_ID, Mode, Rollout, Scaled, Selection, Task
from reasoningbank.types.memory import Memory, OutcomeReport, fingerprint
from reasoningbank.types.recall import Recall
from reasoningbank.types.records import Job
from reasoningbank.types.resource import checked
from reasoningbank.types.session import DISTILL, MAX_CONTRAST_ITEMS, DistilReport, Judgement, Trajectory

if TYPE_CHECKING:
    from reasoningbank.context import Context
    from reasoningbank.matts.attempts import Agent, ScalingParts
    from reasoningbank.search.search import Search
    from reasoningbank.sessions.distillation import Distiller
    from reasoningbank.sessions.settlement import Settlement

PROVENANCE_TASK = 2_000
"""How many characters of its task a memory's provenance keeps."""


def same_text(one: str, other: str) -> bool:
    """Return whether two tasks read the same up to case, space, punctuation, redaction and cuts.

    Two tasks that differ in nothing but signs count as the same: in doubt a memory is withheld.
    """
    return bool(_forms(one) & _forms(other))


def learned_from(task: Task, store: StoreReader) -> Callable[[Memory], bool]:
    """Tell of a memory whether it was learned from this task.

    It was when the task in its provenance reads the same, or when a trajectory that it was distilled from has the
    same task id or a task that reads the same. That the task corroborated a memory later does not count: its words
    were there before.

    Args:
        task: The task that is about to be attempted; its ``goal`` and, when it has one, its ``id`` are compared.
        store: Where the memories' origins are.
    """
    own = _forms(task.goal)

    def leaks(memory: Memory) -> bool:
        said = memory.provenance.get("task", "")
        if said and own & _forms(said):
            return True
        sources = {memory.provenance.get("trajectory", "")} - {""}
        sources.update(one.trajectory for one in store.sessions.origins(memory_id=memory.id) if one.kind == "distilled")
        return any(_is_of(task, source, own, store) for source in sorted(sources))

    return leaks


def _is_of(task: Task, trajectory_id: str, own: frozenset[bytes], store: StoreReader) -> bool:
    try:
        trajectory = store.sessions.trajectory(trajectory_id)
    except TrajectoryNotFound:
        return False
    if task.id and trajectory.metadata.get(TASK_ID, "") == task.id:
        return True
    return bool(own & _forms(trajectory.task))


def _forms(text: str) -> frozenset[bytes]:
    """Return what a task may look like after it was stored: cleaned, redacted, and cut."""
    safe = redact(clean(text)).text
    return frozenset(
        fingerprint(form) if any(map(str.isalnum, form)) else form.strip().encode("utf-8", "surrogatepass")
        for form in {text, safe, text[:PROVENANCE_TASK], safe[:PROVENANCE_TASK]}
        if form.strip()
    )


DEFAULT_ROLLOUTS = 3
_PATIENCE = timedelta(minutes=10)
"""A worker leaves a rollout alone for so long: all of them are to be learned from together."""


@checked
class Matts:
    """Let an agent try a task several times and learn from all attempts together."""

    def __init__(self, context: Context, search: Search, settlement: Settlement, distiller: Distiller) -> None:
        self._context = context
        self._search = search
        self._settlement = settlement
        self._distiller = distiller

    def scale(
        self,
        task: str | Task,
        agent: Agent,
        k: int = DEFAULT_ROLLOUTS,
        *,
        mode: Mode = "parallel",
        limit: SearchLimit = 5,
        evaluating: bool = False,
        timeout: float | None = None,
        at_once: int = 4,
        session: str | None = None,
    ) -> Scaled:
        """Let an agent work on a task k times with the same memories and learn from all attempts together.

        Args:
            task: What to do, in words or with an id of its own.
            agent: Any function, plain or asynchronous, of a task and memories that returns a Trajectory.
            k: Rollouts beside each other, or most rounds of refinement; 1 to 16.
            mode: ``parallel`` or ``sequential``.
            limit: Most proven memories the agent is given.
            evaluating: Keeps memories that were learned from this very task away, so that transfer is measured.
            timeout: Seconds for one rollout or round; None sets no limit.
            at_once: Most rollouts at the same time.
            session: What delivery and evidence count for; all attempts are one session.

        Raises:
            InvalidInput: When k, the mode or the task is not usable.
        """
        from reasoningbank.matts.attempts import run
        from reasoningbank.matts.comparison import scale

        asked = Task(text=task) if isinstance(task, str) else task
        withheld: dict[str, None] = {}
        parts = self._parts(limit, evaluating, timeout, at_once, session, withheld)
        return self._credited(replace(run(scale(asked, agent, k, mode, parts)), withheld=tuple(withheld)))

    async def ascale(
        self,
        task: str | Task,
        agent: Agent,
        k: int = DEFAULT_ROLLOUTS,
        *,
        mode: Mode = "parallel",
        limit: SearchLimit = 5,
        evaluating: bool = False,
        timeout: float | None = None,
        at_once: int = 4,
        session: str | None = None,
    ) -> Scaled:
        """Do what ``scale`` does, on the running event loop, with asynchronous agents."""
        from reasoningbank.matts.comparison import scale

        asked = Task(text=task) if isinstance(task, str) else task
        withheld: dict[str, None] = {}
        parts = self._parts(limit, evaluating, timeout, at_once, session, withheld)
        return self._credited(replace(await scale(asked, agent, k, mode, parts), withheld=tuple(withheld)))

    def _credited(self, scaled: Scaled) -> Scaled:
        """Report how the best rollout ended for the memories that fitted the task; nothing when nobody knows.

        All attempts are one session, which has one outcome for each memory; the memories share its weight.
        """
        from reasoningbank.memories.evidence import report_outcome
        from reasoningbank.types.recall import FITTING

        judgement = scaled.judgement
        if judgement is None or judgement.verdict not in {"success", "failure"}:
            return scaled
        succeeded, at = judgement.verdict == "success", self._context.clock.now()
        hits = [hit for hit in scaled.recall.delivered if hit.relevance >= FITTING]

        def write(transaction: Transaction, place: str, memory_id: str) -> OutcomeReport:
            return report_outcome(
                transaction,
                memory_id,
                succeeded=succeeded,
                session=place,
                rater="agent",
                at=at,
                shared_by=len(hits),
            )

        reports = []
        for hit in hits:
            try:
                reports.append(self._context.written(hit.id, scaled.recall.session, partial(write, memory_id=hit.id)))
            except MemoryNotFound:
                continue
        return replace(scaled, credited=tuple(report for report in reports if report.recorded))

    def _parts(
        self,
        limit: int,
        evaluating: bool,
        timeout: float | None,
        at_once: int,
        session: str | None,
        withheld: dict[str, None],
    ) -> ScalingParts:
        """Return what scaling is made of.

        The ids of memories that are kept from the agent are put into ``withheld``.
        """
        from reasoningbank.matts.attempts import ScalingParts
        from reasoningbank.matts.selection import select
        from reasoningbank.sessions.judge import judge
        from reasoningbank.sessions.readers import prepare

        def recall(task: Task) -> Recall:
            return self._recalled_for(task, limit, evaluating, session, withheld)

        def judged(trajectory: Trajectory) -> Judgement:
            return judge(
                trajectory, self._context.model, at=self._context.clock.now(), votes=self._context.settings.llm_votes
            )

        def selected(task: Task, rollouts: Sequence[Rollout]) -> Selection:
            return select(task, rollouts, self._context.model)

        return ScalingParts(
            recall=recall,
            prepare=prepare,
            judge=judged,
            learn=self._learned_together,
            select=selected,
            timeout=timeout,
            at_once=at_once,
        )

    def _recalled_for(
        self, task: Task, limit: int, evaluating: bool, session: str | None, withheld: dict[str, None]
    ) -> Recall:
        """Return the memories for a task; when evaluating, without those that were learned from it."""
        leaks: Callable[[Memory], bool] | None = None
        if evaluating:
            leaks = self._noting(learned_from(task, self._context.store()), withheld)
        return self._search.search_for(task.goal, limit=limit, session=session, withhold=leaks)

    @staticmethod
    def _noting(leaks: Callable[[Memory], bool], withheld: dict[str, None]) -> Callable[[Memory], bool]:
        def noted(memory: Memory) -> bool:
            leaked = leaks(memory)
            if leaked:
                withheld[memory.id] = None
            return leaked

        return noted

    def _learned_together(self, rollouts: Sequence[Rollout]) -> DistilReport:
        """Store every rollout with its judgement, then learn from all of them in one extraction.

        Without a model, or when it does not answer, they wait to be distilled one by one.
        """
        from reasoningbank.matts.comparison import compare
        from reasoningbank.safety.stored_text import safe_line

        kept = [(self._kept_rollout(rollout), rollout) for rollout in rollouts if rollout.trajectory is not None]
        if self._context.model is None:
            return DistilReport(pending=self._distiller.pending(), messages=("No language model: the rollouts wait.",))
        try:
            found = compare([rollout for _, rollout in kept], self._context.model)
        except (ModelUnavailable, MalformedAnswer, BudgetExhausted) as error:
            return DistilReport(
                pending=self._distiller.pending(), messages=(f"The rollouts wait: {safe_line(error.message)}",)
            )
        report = DistilReport()
        room = MAX_CONTRAST_ITEMS
        for (trajectory_id, rollout), items in zip(kept, found.items, strict=True):
            judgement = rollout.judgement
            if judgement is None or judgement.verdict == "unknown":
                judgement = self._settlement.latest(self._context.store().sessions.trajectory(trajectory_id))
            one = self._distiller.learned(
                trajectory_id, judgement, items, model=found.model, prompt=found.prompt, limit=room
            )
            room -= len(one.distilled)
            report = together(report, one)
        return replace(report, pending=self._distiller.pending())

    def _kept_rollout(self, rollout: Rollout) -> str:
        """Store a rollout as it was judged; one that did exactly the same as another is that one."""
        trajectory = rollout.trajectory
        assert trajectory is not None
        now = self._context.clock.now()
        with self._context.store().transaction() as transaction:
            known = transaction.sessions.captured(trajectory.digest)
            if known is None:
                transaction.sessions.keep(trajectory)
                if rollout.judgement is not None:
                    transaction.sessions.judge(trajectory.id, rollout.judgement)
                transaction.jobs.enqueue(Job(kind=DISTILL, key=trajectory.id, due=now + _PATIENCE))
        return known or trajectory.id
