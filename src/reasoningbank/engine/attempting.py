"""One attempt of an agent, and what is done with it: run, made safe, judged, compared, learned from."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from reasoningbank.domain.identity import new_id
from reasoningbank.domain.learning import DistilReport
from reasoningbank.domain.memory import Memory
from reasoningbank.domain.recall import Hit, Recall
from reasoningbank.domain.scaling import Rollout, Selection, Task
from reasoningbank.domain.trajectory import Judgement, Trajectory
from reasoningbank.engine.calling import call
from reasoningbank.engine.hygiene import safe_line
from reasoningbank.engine.leakage import TASK_ID
from reasoningbank.engine.selecting import select as select_without_model
from reasoningbank.errors import BankError, InvalidInput, PaidCallRefused

AT_ONCE = 4
"""Most rollouts at the same time unless another number is asked for."""
_MAX_ERROR = 500

Agent = Callable[[Task, Sequence[Hit]], Trajectory | Awaitable[Trajectory]]
"""Works on a task with memories and returns what happened; a plain function runs in a thread of its own.

In sequential mode it is called again with a task whose ``text`` holds the goal, how to check it and what was done. It
returns either the new steps alone or all steps from the beginning.
"""
Recaller = Callable[[Task], Recall | Awaitable[Recall]]
Preparer = Callable[[Trajectory], Trajectory | Awaitable[Trajectory]]
Judger = Callable[[Trajectory], Judgement | Awaitable[Judgement]]
Learner = Callable[[Sequence[Rollout]], DistilReport | Awaitable[DistilReport]]
Selector = Callable[[Task, Sequence[Rollout]], Selection | Awaitable[Selection]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What scaling is made of; every function may be plain or asynchronous.

    Attributes:
        recall: The memories for the task; called once.
        prepare: Takes secrets and our own block out of a trajectory and finds its evidence, before all else sees it.
        judge: How one rollout ended.
        learn: Stores and distills all rollouts together; called once, with those that have a trajectory, in order.
        select: The best of several; None decides without a model.
        withhold: Memories to be kept from the agent, for example ``leakage.learned_from``; None keeps none.
        timeout: Seconds for one rollout or round; None sets no limit. A plain agent that outlasts it is left alone.
        at_once: Most rollouts at the same time.
    """

    recall: Recaller
    prepare: Preparer
    judge: Judger
    learn: Learner
    select: Selector | None = None
    withhold: Callable[[Memory], bool] | None = None
    timeout: float | None = None
    at_once: int = AT_ONCE

    def __post_init__(self) -> None:
        if self.timeout is not None and not self.timeout > 0:
            raise InvalidInput(f"a rollout needs more than {self.timeout} seconds", hint="Use None for no limit.")
        if self.at_once < 1:
            raise InvalidInput(f"at least one rollout runs at a time, not {self.at_once}")


async def recalled(task: Task, parts: Parts) -> tuple[Recall, tuple[str, ...]]:
    """The memories for the task without those to be withheld, and the ids of these."""
    recall = await call(lambda: parts.recall(task))
    if parts.withhold is None:
        return recall, ()
    withhold = parts.withhold
    withheld = frozenset(await call(lambda: [hit.id for hit in recall.delivered if withhold(hit.memory)]))
    kept = replace(
        recall,
        memories=tuple(hit for hit in recall.memories if hit.id not in withheld),
        unproven=tuple(hit for hit in recall.unproven if hit.id not in withheld),
        tokens=recall.tokens - sum(hit.memory.tokens for hit in recall.delivered if hit.id in withheld),
    )
    return kept, tuple(hit.id for hit in recall.delivered if hit.id in withheld)


async def run_agent(task: Task, agent: Agent, recall: Recall, timeout: float | None) -> Trajectory:
    """What the agent did; raises InvalidInput when it takes too long or returns no trajectory, else its own error."""
    limit = asyncio.timeout(timeout)
    try:
        async with limit:
            given: object = await call(lambda: agent(task, recall.delivered))
    except TimeoutError as error:
        if limit.expired():
            raise InvalidInput(f"the agent did not come to an end within {timeout:g} seconds") from error
        raise
    if not isinstance(given, Trajectory):
        raise InvalidInput(f"an agent returns a Trajectory, not {type(given).__name__}")
    return given


async def prepared(
    ended: Trajectory | BaseException, task: Task, recall: Recall, parts: Parts, number: str, seen: set[str]
) -> Rollout:
    """The rollout as it may be seen and stored: its own id, the scale's session, what it was shown, no secrets."""
    if isinstance(ended, BaseException):
        return Rollout(error=_in_words(ended))
    own = {"own_session": ended.session} if ended.session and recall.session else {}
    marks = {"rollout": number} | ({TASK_ID: task.id} if task.id else {}) | own
    shown = dict.fromkeys((*(hit.id for hit in recall.delivered), *ended.memories))
    trajectory = replace(
        ended,
        id=new_id() if ended.id in seen else ended.id,
        task=task.goal,
        session=recall.session or ended.session,
        memories=tuple(shown),
        metadata={**ended.metadata, **marks},
    )
    seen.add(trajectory.id)
    (prepared,) = await asyncio.gather(call(lambda: parts.prepare(trajectory)), return_exceptions=True)
    if isinstance(prepared, BaseException):
        return Rollout(error=_in_words(prepared))
    return Rollout(trajectory=replace(prepared, evidence=tuple(dict.fromkeys(prepared.evidence))))


async def judged(rollout: Rollout, parts: Parts) -> Rollout:
    """The rollout with its judgement, or with the reason why it has none."""
    trajectory = rollout.trajectory
    if trajectory is None:
        return rollout
    (judgement,) = await asyncio.gather(call(lambda: parts.judge(trajectory)), return_exceptions=True)
    if isinstance(judgement, PaidCallRefused):
        raise judgement
    if isinstance(judgement, BaseException):
        return replace(rollout, error=f"It could not be judged: {_in_words(judgement)}"[:_MAX_ERROR])
    return replace(rollout, judgement=judgement)


async def selected(task: Task, rollouts: Sequence[Rollout], parts: Parts) -> Selection:
    """The best rollout, chosen without a model when the given way of choosing fails."""
    select = parts.select
    if select is None or len(rollouts) == 1:
        return select_without_model(task, rollouts)
    try:
        chosen = await call(lambda: select(task, rollouts))
    except PaidCallRefused:
        raise
    except BankError as error:
        own = select_without_model(task, rollouts)
        return replace(own, reason=f"{own.reason} ({_in_words(error)})")
    if not 0 <= chosen.index < len(rollouts) or rollouts[chosen.index].trajectory is None:
        raise InvalidInput(f"rollout {chosen.index} cannot be chosen: it has no trajectory")
    return chosen


async def learned(rollouts: Sequence[Rollout], parts: Parts) -> DistilReport:
    """What the rollouts that came to an end taught; that it failed is a message, because they must not be lost."""
    usable = tuple(one for one in rollouts if one.trajectory is not None)
    try:
        return await call(lambda: parts.learn(usable))
    except PaidCallRefused:
        raise
    except BankError as error:
        return DistilReport(messages=(f"Nothing was learned: {_in_words(error)}",))


def _in_words(error: BaseException) -> str:
    return safe_line(f"{type(error).__name__}: {error}")[:_MAX_ERROR]
