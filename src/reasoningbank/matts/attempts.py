"""One attempt of an agent at a task: run, made safe, judged, refined.

A plain function runs in a thread of its own that does not keep the process alive: when it outlasts its time, or its
caller is cancelled, nobody waits for it any more. No assumption is made about which event loop runs, or whether one
does.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import inspect
import threading
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Generic, TypeVar, cast

from reasoningbank.errors import BankError, InvalidInput, PaidCallRefused
from reasoningbank.llm.prompts import prompt
from reasoningbank.matts.selection import select as select_without_model
from reasoningbank.safety.stored_text import safe_line
from reasoningbank.sessions.digest import digest
from reasoningbank.sessions.facts import facts
from reasoningbank.types.matts import TASK_ID, Rollout, Selection, Task
from reasoningbank.types.memory import Memory, new_id
from reasoningbank.types.recall import Hit, Recall
from reasoningbank.types.session import DistilReport, Evidence, Judgement, Step, Trajectory

Answer = TypeVar("Answer")


async def call(function: Callable[[], Answer | Awaitable[Answer]]) -> Answer:
    """Return the function's answer, awaited when it has to be; its own exception is raised.

    An asynchronous function runs on the event loop, a plain one in a thread with the caller's context variables.

    Raises:
        InvalidInput: When a plain function tried to end the process or its thread.
    """
    given = await _in_thread(function) if not _is_asynchronous(function) else function()
    return await given if inspect.isawaitable(given) else given


def run(coroutine: Coroutine[object, object, Answer]) -> Answer:
    """Run a coroutine to its end and return its answer, whether or not an event loop runs in this thread.

    Where one runs, the coroutine gets a loop and a thread of its own and this thread waits, so that loop stands still
    meanwhile: there, await the coroutine instead. An interrupt cancels the coroutine.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    outcome: _Outcome[Answer] = _Outcome()
    inside: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Answer]]] = []

    async def owned() -> Answer:
        task: asyncio.Task[Answer] = asyncio.ensure_future(coroutine)
        inside.append((asyncio.get_running_loop(), task))
        return await task

    def work() -> None:
        with outcome:
            outcome.value = asyncio.run(owned())

    thread = threading.Thread(target=contextvars.copy_context().run, args=(work,), name="reasoningbank-loop")
    thread.start()
    try:
        thread.join()
    except BaseException:
        for loop, task in inside:
            loop.call_soon_threadsafe(task.cancel)
        thread.join()
        raise
    return outcome.answer()


class _Outcome(Generic[Answer]):
    """Hold what a block of another thread came to: its value, or whatever it raised."""

    def __init__(self) -> None:
        self.value: Answer | None = None
        self.error: BaseException | None = None

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self.error = error
        return True

    def answer(self) -> Answer:
        """Return the value; raises what was raised instead."""
        if self.error is not None:
            raise self.error
        return cast("Answer", self.value)


def _is_asynchronous(function: object) -> bool:
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004 - the method, not whether there is one


async def _in_thread(function: Callable[[], Answer | Awaitable[Answer]]) -> Answer | Awaitable[Answer]:
    loop = asyncio.get_running_loop()
    waiting: asyncio.Future[None] = loop.create_future()
    outcome: _Outcome[Answer | Awaitable[Answer]] = _Outcome()

    def ended() -> None:
        if not waiting.done():
            waiting.set_result(None)

    def work() -> None:
        with outcome:
            outcome.value = function()
        with contextlib.suppress(RuntimeError):  # a closed loop: nobody waits any more
            loop.call_soon_threadsafe(ended)

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(work,), name="reasoningbank-call", daemon=True).start()
    await waiting
    error = outcome.error
    if error is not None and (isinstance(error, StopIteration) or not isinstance(error, Exception)):
        raise InvalidInput(
            f"the function ended with {type(error).__name__} instead of answering",
            hint="Let it return, or raise an ordinary exception.",
        ) from error
    return outcome.answer()


_PROVED = frozenset({"evidence", "user"})
PREVIOUS_TOKENS = 6_000
"""Most tokens of the earlier work in the text of a task to check it."""


def refinement(task: Task, previous: Trajectory, number: int) -> Task:
    """Return the task to check the work done up to now.

    Args:
        task: The task as it was asked.
        previous: Everything that was done, all rounds together.
        number: The round to come: 2 for the first check.
    """
    instruction = prompt("check" if number == 2 else "check_again", "").instructions
    record = digest(previous, tokens=PREVIOUS_TOKENS)
    return Task(
        text=f"{task.goal}\n\n{instruction}\n\n{record}",
        id=task.id,
        asked=task.goal,
        previous=previous,
        instruction=instruction,
    )


def continued(previous: Trajectory, current: Trajectory, raw: Sequence[Step]) -> Trajectory:
    """Return the current round with the steps of the rounds before, whether the agent repeated them or not.

    An agent that gives no new answer stands by its previous one. Facts that the steps show are left to be found again,
    because a later step may change what an earlier one proves; how an earlier round ended is no longer true.

    Args:
        previous: Everything up to now as it is kept.
        current: What the agent returned.
        raw: The steps up to now as the agent returned them, before secrets were taken out.
    """
    repeated = repeats(previous, current, raw)
    earlier = () if repeated else (fact for fact in _given(previous) if fact.kind != "submission")
    shift = 0 if repeated else len(previous.steps)
    later = (replace(fact, step=None if fact.step is None else fact.step + shift) for fact in _given(current, previous))
    return replace(
        current,
        steps=previous.steps + current.steps[repeated:],
        evidence=(*earlier, *later),
        final_answer=current.final_answer if current.final_answer.strip() else previous.final_answer,
        metadata={**previous.metadata, **current.metadata},
    )


def repeats(previous: Trajectory, current: Trajectory, raw: Sequence[Step]) -> int:
    """Return how many first steps of the agent's answer repeat those of the rounds before: all of them, or 0."""
    known = (previous.steps, tuple(raw))
    return next((len(steps) for steps in known if steps and current.steps[: len(steps)] == steps), 0)


def _given(trajectory: Trajectory, *others: Trajectory) -> list[Evidence]:
    """Return the evidence that neither these steps nor those of the others show by themselves."""
    shown = frozenset(fact for one in (trajectory, *others) for fact in facts(one.steps))
    return [fact for fact in trajectory.evidence if fact not in shown]


def is_stable(previous: Trajectory, current: Trajectory) -> bool:
    """Return whether a round changed nothing: the same answer up to white space, and no step that acts."""
    if previous.final_answer.split() != current.final_answer.split():
        return False
    return not any(step.action.strip() or step.tool.strip() for step in current.steps[len(previous.steps) :])


def is_repeated(previous: Rollout, current: Rollout) -> bool:
    """Return whether a round that acted came to the same answer and the same verdict again.

    What was proved before proves nothing about a later action: where evidence decides, the round has some of its own.
    """
    before, after = previous.trajectory, current.trajectory
    first, second = previous.judgement, current.judgement
    if before is None or after is None or first is None or second is None:
        return False
    if first.verdict != second.verdict or second.verdict == "unknown":
        return False
    if not after.final_answer.strip() or before.final_answer.split() != after.final_answer.split():
        return False
    own = any(fact.step is not None and fact.step >= current.since for fact in second.evidence)
    return own or second.judge not in _PROVED


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
class ScalingParts:
    """Hold what scaling is made of; every function may be plain or asynchronous.

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


async def recalled(task: Task, parts: ScalingParts) -> tuple[Recall, tuple[str, ...]]:
    """Return the memories for the task without those to be withheld, and the ids of these."""
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
    """Return what the agent did.

    Raises InvalidInput when it takes too long or returns no trajectory, else its own error.
    """
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
    ended: Trajectory | BaseException, task: Task, recall: Recall, parts: ScalingParts, number: str, seen: set[str]
) -> Rollout:
    """Return the rollout as it may be stored: its own id, the scale's session, what it was shown, no secrets."""
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


async def judged(rollout: Rollout, parts: ScalingParts) -> Rollout:
    """Return the rollout with its judgement, or with the reason why it has none."""
    trajectory = rollout.trajectory
    if trajectory is None:
        return rollout
    (judgement,) = await asyncio.gather(call(lambda: parts.judge(trajectory)), return_exceptions=True)
    if isinstance(judgement, PaidCallRefused):
        raise judgement
    if isinstance(judgement, BaseException):
        return replace(rollout, error=f"It could not be judged: {_in_words(judgement)}"[:_MAX_ERROR])
    return replace(rollout, judgement=judgement)


async def selected(task: Task, rollouts: Sequence[Rollout], parts: ScalingParts) -> Selection:
    """Return the best rollout, chosen without a model when the given way of choosing fails."""
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


async def learned(rollouts: Sequence[Rollout], parts: ScalingParts) -> DistilReport:
    """Return what the rollouts that came to an end taught.

    That it failed is a message, because they must not be lost.
    """
    usable = tuple(one for one in rollouts if one.trajectory is not None)
    try:
        return await call(lambda: parts.learn(usable))
    except PaidCallRefused:
        raise
    except BankError as error:
        return DistilReport(messages=(f"Nothing was learned: {_in_words(error)}",))


def _in_words(error: BaseException) -> str:
    return safe_line(f"{type(error).__name__}: {error}")[:_MAX_ERROR]
