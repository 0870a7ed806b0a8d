"""What several attempts teach together, and which of them is the best (paper 1.8).

Parallel: one recall, k rollouts beside each other, one extraction that contrasts all of them, the best one chosen with
a reason. Sequential: one rollout that then checks its own work until nothing changes, and one extraction that sees
every round. What is done in each place is passed in; nothing here knows a store, a model or an event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from reasoningbank.errors import InvalidInput
from reasoningbank.matts.attempts import (
    Agent,
    ScalingParts,
    continued,
    is_repeated,
    is_stable,
    judged,
    learned,
    prepared,
    recalled,
    refinement,
    repeats,
    run_agent,
    selected,
)
from reasoningbank.matts.selection import standing
from reasoningbank.sessions.lessons import contrast, extract
from reasoningbank.types.matts import MAX_ROLLOUTS, MODES, Mode, Rollout, Scaled, Selection, Stopped, Task
from reasoningbank.types.ports import LanguageModel
from reasoningbank.types.session import Item, Judgement, Step, Trajectory


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Hold what a model found in rollouts, as it was read and before it was examined.

    Attributes:
        items: Per rollout that was given, in the same order, the items that it shows; their steps are numbered as in
            the rollout's whole trajectory.
        model: The model that answered; empty when none was asked.
        prompt: Name and version of the prompt; empty when none was sent.
    """

    items: tuple[tuple[Item, ...], ...]
    model: str = ""
    prompt: str = ""


def compare(rollouts: Sequence[Rollout], model: LanguageModel) -> Compared:
    """Return one extraction over the rollouts that show something new; several are contrasted.

    Rounds of refinement are shown as what was done in each of them, in order. A rollout that was not judged counts as
    unknown.

    Raises:
        InvalidInput: When there is one rollout and it is unknown how it ended.
        ModelUnavailable, MalformedAnswer, BudgetExhausted: When there is no usable answer; nothing was learned.
    """
    shown = [
        (index, part, rollout)
        for index, rollout in enumerate(rollouts)
        if (part := rollout.part) is not None and (part.steps or (rollout.since == 0 and part.final_answer.strip()))
    ]
    if not shown:
        return Compared(items=((),) * len(rollouts))
    runs: list[tuple[Trajectory, Judgement]] = [(part, _judgement(rollout)) for _, part, rollout in shown]
    found = extract(*runs[0], model) if len(runs) == 1 else contrast(runs, model)
    items: list[list[Item]] = [[] for _ in rollouts]
    for item, run in zip(found.items, found.runs, strict=True):
        index, _, rollout = shown[run]
        items[index].append(replace(item, steps=tuple(step + rollout.since for step in item.steps)))
    return Compared(items=tuple(map(tuple, items)), model=found.model, prompt=found.prompt)


def _judgement(rollout: Rollout) -> Judgement:
    return rollout.judgement or Judgement(
        verdict="unknown", probability=0.5, rationale="It was not judged.", judge="nobody"
    )


async def scale(task: Task, agent: Agent, k: int, mode: Mode, parts: ScalingParts) -> Scaled:
    """Run ``parallel`` or ``sequential`` by name.

    Raises:
        InvalidInput: For another mode, or a k outside 1 to ``MAX_ROLLOUTS``.
    """
    if mode not in MODES:
        raise InvalidInput(f"mode must be one of {', '.join(MODES)}, not {str(mode)[:80]!r}")
    return await (parallel if mode == "parallel" else sequential)(task, agent, k, parts)


async def parallel(task: Task, agent: Agent, k: int, parts: ScalingParts) -> Scaled:
    """Recall once, runs k rollouts beside each other, judge each, chooses the best and learn from all together.

    With k = 1 this is a plain run. A rollout that raises or runs out of time is kept as its error and the others go
    on; a judge that raises leaves its rollout without a judgement. When this is cancelled nothing is learned.

    Raises:
        InvalidInput: When k is not from 1 to ``MAX_ROLLOUTS``.
        BankError: Whatever the recall raises; no rollout was begun then.
    """
    _check(k)
    recall, withheld = await recalled(task, parts)
    gate = asyncio.Semaphore(parts.at_once)

    async def attempt() -> Trajectory:
        async with gate:
            return await run_agent(task, agent, recall, parts.timeout)

    ended = await asyncio.gather(*(attempt() for _ in range(k)), return_exceptions=True)
    seen: set[str] = set()
    safe = await asyncio.gather(
        *(prepared(one, task, recall, parts, f"{number}/{k}", seen) for number, one in enumerate(ended, start=1))
    )
    rollouts = tuple(await asyncio.gather(*(judged(one, parts) for one in safe)))
    scaled = Scaled(best=None, reason=_none_ended(rollouts), rollouts=rollouts, recall=recall, withheld=withheld)
    if all(one.trajectory is None for one in rollouts):
        return scaled
    chosen = await selected(task, rollouts, parts)
    report = await learned(rollouts, parts)
    return replace(scaled, best=chosen.index, reason=chosen.reason, ground=chosen.ground, report=report)


async def sequential(task: Task, agent: Agent, k: int, parts: ScalingParts) -> Scaled:
    """Run once, then let the agent check and correct its own work, at most k rounds in all.

    It ends early when a round gives the same answer without a further action, when it gives the same answer and is
    judged the same again, and when the agent fails; the rounds before count then. The last round is the best one unless
    its judgement is worse than an earlier one's. The one extraction is given every round in order, so that corrections
    teach too.

    Raises:
        InvalidInput: When k is not from 1 to ``MAX_ROLLOUTS``.
        BankError: Whatever the recall raises; nothing was run then.
    """
    _check(k)
    recall, withheld = await recalled(task, parts)
    rollouts: list[Rollout] = []
    previous: Trajectory | None = None
    raw: tuple[Step, ...] = ()
    stopped: Stopped = "limit"
    seen: set[str] = set()
    for number in range(1, k + 1):
        asked = task if previous is None else refinement(task, previous, number)
        (ended,) = await asyncio.gather(run_agent(asked, agent, recall, parts.timeout), return_exceptions=True)
        if isinstance(ended, Trajectory):
            given = ended.steps
            if previous is not None:
                given, ended = (*raw, *given[repeats(previous, ended, raw) :]), continued(previous, ended, raw)
            raw = given
        one = await prepared(ended, task, recall, parts, f"{number}/{k}", seen)
        if previous is not None and one.trajectory is not None:
            one = replace(one, since=min(len(previous.steps), len(one.trajectory.steps)))
        rollouts.append(await judged(one, parts))
        if one.trajectory is None:
            stopped = "error"
            break
        if previous is not None and (is_stable(previous, one.trajectory) or is_repeated(*rollouts[-2:])):
            stopped = "stable"
            break
        previous = one.trajectory
    scaled = Scaled(
        best=None,
        reason=_none_ended(rollouts),
        rollouts=tuple(rollouts),
        recall=recall,
        mode="sequential",
        stopped=stopped,
        withheld=withheld,
    )
    usable = [index for index, one in enumerate(rollouts) if one.trajectory is not None]
    if not usable:
        return scaled
    chosen = _latest(rollouts, usable)
    report = await learned(rollouts, parts)
    return replace(scaled, best=chosen.index, reason=chosen.reason, ground=chosen.ground, report=report)


def _check(k: int) -> None:
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= MAX_ROLLOUTS:
        raise InvalidInput(
            f"k is a whole number from 1 to {MAX_ROLLOUTS}, not {str(k)[:80]}", hint="k=1 means a plain run."
        )


def _latest(rollouts: Sequence[Rollout], usable: Sequence[int]) -> Selection:
    last = usable[-1]
    best = max(usable, key=lambda index: (standing(rollouts[index])[0], index))
    if len(usable) == 1:
        return Selection(index=last, reason="It is the only round that came to an end.", ground="only")
    if standing(rollouts[best])[0] > standing(rollouts[last])[0]:
        judgement = rollouts[best].judgement
        proved = judgement is not None and judgement.judge in {"evidence", "user"}
        return Selection(
            index=best,
            reason=f"Round {best + 1} is judged better than the last one, round {last + 1}.",
            ground="evidence" if proved else "judge",
        )
    return Selection(index=last, reason=f"Round {last + 1} is the last one and none before is better.", ground="order")


def _none_ended(rollouts: Sequence[Rollout]) -> str:
    first = next((one.error for one in rollouts if one.error), "")
    return f"None of {len(rollouts)} came to an end. {first}".strip()
