"""What several rollouts teach together, each lesson attributed to the rollout and the steps that show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from reasoningbank.domain.learning import Item
from reasoningbank.domain.scaling import Rollout
from reasoningbank.domain.trajectory import Judgement, Trajectory
from reasoningbank.engine.distilling.extract import contrast, extract
from reasoningbank.ports import LanguageModel


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """What a model found in rollouts, as it was read and before it was examined.

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
    """One extraction over all rollouts that show something new: of one as of any session, of several by contrast.

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
