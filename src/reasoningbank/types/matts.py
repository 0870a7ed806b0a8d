"""Several attempts at one task (MaTTS): the task, its rollouts, and what came of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from reasoningbank.errors import InvalidInput
from reasoningbank.types.memory import OutcomeReport
from reasoningbank.types.recall import Recall
from reasoningbank.types.session import DistilReport, Judgement, Trajectory

Mode = Literal["parallel", "sequential"]
Stopped = Literal["", "stable", "limit", "error"]
"""Why refinement ended: nothing changed any more, all rounds were used, or the agent failed; empty when parallel."""
Ground = Literal["only", "evidence", "judge", "model", "steps", "order"]
"""What decided: there was only one; its evidence; its judge; a comparison by a model; fewer steps; its place."""

MODES: tuple[Mode, ...] = ("parallel", "sequential")
MAX_ROLLOUTS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Hold what an agent is asked to do.

    An agent that only reads ``text`` can be scaled in both modes: when it is to check its own work, the text holds the
    goal, the instruction and what it did before. An agent that can continue its own conversation instead reads
    ``goal``, ``previous`` and ``instruction``.

    Attributes:
        text: Everything the agent has to know.
        id: The task's own id, for example in a benchmark; empty when it has none.
        asked: What was asked at first when ``text`` holds more than that; empty otherwise.
        previous: What the agent did up to now; None for the first attempt.
        instruction: How to check it; empty for the first attempt.
    """

    text: str
    id: str = ""
    asked: str = ""
    previous: Trajectory | None = None
    instruction: str = ""

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise InvalidInput("a task needs a text that says what to do")

    @property
    def goal(self) -> str:
        """Return what was asked at first, without instructions to check it."""
        return self.asked or self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """One attempt, or one round of refinement.

    Attributes:
        trajectory: What the agent did; in a later round with all steps of the rounds before. None when it failed.
        judgement: How it ended as far as that is known; None when it was not judged.
        error: What went wrong, in one line without secrets; empty when nothing did.
        since: Index of the first step of this round; 0 for an attempt of its own.
    """

    trajectory: Trajectory | None = None
    judgement: Judgement | None = None
    error: str = ""
    since: int = 0

    @property
    def part(self) -> Trajectory | None:
        """Return this round alone, its steps and evidence numbered from 0; None when the agent failed."""
        if self.trajectory is None or self.since == 0:
            return self.trajectory
        evidence = tuple(
            replace(fact, step=fact.step - self.since)
            for fact in self.trajectory.evidence
            if fact.step is not None and fact.step >= self.since
        )
        return replace(self.trajectory, steps=self.trajectory.steps[self.since :], evidence=evidence)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which rollout is the best, why, and what decided it."""

    index: int
    reason: str
    ground: Ground


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaled:
    """Hold what came of several attempts at one task.

    Attributes:
        best: Index of the best rollout; None when every one failed.
        reason: Why it is the best, or why there is none.
        ground: What decided.
        rollouts: All of them, failed ones included, in the order they were begun.
        recall: The memories that all of them were given.
        report: What was learned from them together.
        mode: How they were run.
        stopped: Why refinement ended; empty when they ran beside each other.
        withheld: Ids of memories that the leakage guard kept from the agent.
        credited: What the end of the best rollout did to the memories that fitted the task.
    """

    best: int | None
    reason: str
    rollouts: tuple[Rollout, ...]
    recall: Recall
    ground: Ground = "only"
    report: DistilReport = field(default_factory=DistilReport)
    mode: Mode = "parallel"
    stopped: Stopped = ""
    withheld: tuple[str, ...] = ()
    credited: tuple[OutcomeReport, ...] = ()

    @property
    def trajectory(self) -> Trajectory | None:
        """The best rollout's trajectory."""
        return None if self.best is None else self.rollouts[self.best].trajectory

    @property
    def judgement(self) -> Judgement | None:
        """The best rollout's judgement."""
        return None if self.best is None else self.rollouts[self.best].judgement

    @property
    def answer(self) -> str:
        """The best rollout's final answer; empty when there is none."""
        return "" if self.trajectory is None else self.trajectory.final_answer

    @property
    def rounds(self) -> int:
        """How many attempts or rounds were run."""
        return len(self.rollouts)


TASK_ID = "task_id"
"""The key of a trajectory's metadata that holds its task's own id."""
