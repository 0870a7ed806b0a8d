"""Refinement: asks an agent to check its own work, joins what it does then, and sees when nothing changes any more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from reasoningbank.domain.scaling import Task
from reasoningbank.domain.trajectory import Evidence, Step, Trajectory
from reasoningbank.engine.distilling.digest import digest
from reasoningbank.engine.judging.facts import facts
from reasoningbank.engine.prompts import prompt

PREVIOUS_TOKENS = 6_000
"""Most tokens of the earlier work in the text of a task to check it."""


def refinement(task: Task, previous: Trajectory, number: int) -> Task:
    """The task to check the work done up to now.

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
    """The current round with the steps of the rounds before, whether the agent repeated them or not.

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
    """How many steps at the beginning of what the agent returned are those of the rounds before: all of them, or 0."""
    known = (previous.steps, tuple(raw))
    return next((len(steps) for steps in known if steps and current.steps[: len(steps)] == steps), 0)


def _given(trajectory: Trajectory, *others: Trajectory) -> list[Evidence]:
    """The evidence that neither these steps nor those of the others show by themselves."""
    shown = frozenset(fact for one in (trajectory, *others) for fact in facts(one.steps))
    return [fact for fact in trajectory.evidence if fact not in shown]


def is_stable(previous: Trajectory, current: Trajectory) -> bool:
    """Whether a round changed nothing: the same answer up to white space, and no step that acts."""
    if previous.final_answer.split() != current.final_answer.split():
        return False
    return not any(step.action.strip() or step.tool.strip() for step in current.steps[len(previous.steps) :])
