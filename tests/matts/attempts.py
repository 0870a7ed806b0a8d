"""Attempts at tasks for the tests of scaling: real judging, real preparing, agents made of plain functions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from reasoningbank.matts.attempts import ScalingParts
from reasoningbank.sessions.judge import by_evidence
from reasoningbank.sessions.readers import prepare
from reasoningbank.types.matts import Rollout, Task
from reasoningbank.types.memory import Memory
from reasoningbank.types.recall import Hit, Recall
from reasoningbank.types.session import DistilReport, Judgement, Step, Trajectory

AT = datetime(2026, 5, 1, tzinfo=UTC)
TASK = Task(text="Make the tests of the parser pass", id="parser-1")


def a_memory(
    title: str = "Run the tests first", *, identity: str = "memory-1", task: str = "", source: str = ""
) -> Memory:
    """A memory, learned from a task when one is given."""
    provenance = {name: value for name, value in (("task", task), ("trajectory", source)) if value}
    return Memory(
        id=identity,
        project="project",
        title=title,
        description="When a test fails.",
        content="Read the failing test before the code.",
        outcome="success",
        provenance=provenance,
        tokens=20,
        created_at=AT,
    )


def a_hit(memory: Memory) -> Hit:
    """A memory as a search delivers it."""
    return Hit(memory=memory, relevance=0.9, legs={})


def ran_tests(passed: int, failed: int = 0) -> Step:
    """A step in which pytest ran."""
    summary = ", ".join(f"{count} {word}" for count, word in ((failed, "failed"), (passed, "passed")) if count)
    return Step(
        thought="Run the tests.",
        tool="bash",
        action="python -m pytest -q",
        observation=f"{'F' * failed}{'.' * passed}\n{summary} in 0.05s",
        exit_code=1 if failed else 0,
    )


def an_edit(what: str) -> Step:
    """A step that changes a file."""
    return Step(thought=what, tool="bash", action=f"sed -i 's/a/b/' {what}", exit_code=0)


def a_run(*steps: Step, answer: str = "done", task: str = "anything") -> Trajectory:
    """What an agent gives back."""
    return Trajectory(task=task, steps=steps, final_answer=answer, source="api")


SOLVED = (an_edit("parser.py"), ran_tests(3))
UNSOLVED = (an_edit("lexer.py"), ran_tests(2, failed=1))


class Ledger:
    """The parts that scaling is made of, which write down what they were asked."""

    def __init__(self, *memories: Memory) -> None:
        self.memories = memories
        self.recalls: list[Task] = []
        self.learned: list[Sequence[Rollout]] = []
        self.judged: list[Trajectory] = []

    def recall(self, task: Task) -> Recall:
        self.recalls.append(task)
        return Recall(memories=tuple(map(a_hit, self.memories)), query=task.goal, session="scale-1", tokens=20)

    def judge(self, trajectory: Trajectory) -> Judgement:
        self.judged.append(trajectory)
        return by_evidence(trajectory, at=AT)

    def learn(self, rollouts: Sequence[Rollout]) -> DistilReport:
        self.learned.append(rollouts)
        return DistilReport(distilled=("lesson-1",))

    @property
    def parts(self) -> ScalingParts:
        """All of them."""
        return ScalingParts(recall=self.recall, prepare=prepare, judge=self.judge, learn=self.learn)
