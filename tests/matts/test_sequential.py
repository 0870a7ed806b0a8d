"""Sequential scaling: the agent checks its own work until nothing changes, and every round teaches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matts.attempts import SOLVED, TASK, UNSOLVED, Ledger, a_memory, a_run, an_edit, ran_tests
from promises import promise
from reasoningbank.matts.attempts import ScalingParts, run
from reasoningbank.matts.comparison import sequential
from reasoningbank.sessions.readers import prepare
from reasoningbank.types.matts import Rollout, Scaled, Task
from reasoningbank.types.recall import Hit
from reasoningbank.types.session import Evidence, Step, Trajectory

Round = Callable[[Task], Trajectory]


class Rounds:
    """An agent that does one prepared thing per round."""

    def __init__(self, *rounds: Round | Trajectory) -> None:
        self.rounds = rounds
        self.tasks: list[Task] = []

    def __call__(self, task: Task, _memories: Sequence[Hit]) -> Trajectory:
        self.tasks.append(task)
        this = self.rounds[len(self.tasks) - 1]
        return this(task) if callable(this) else this


def refined(agent: Rounds, k: int, parts: ScalingParts) -> Scaled:
    return run(sequential(TASK, agent, k, parts))


NOTHING_NEW = a_run(Step(thought="Everything is right."), answer="done")


@promise("matts:sequential")
def test_the_first_check_and_the_following_ones_have_their_own_instructions_and_show_the_work() -> None:
    agent = Rounds(a_run(*UNSOLVED), a_run(an_edit("parser.py")), a_run(ran_tests(3)))
    refined(agent, 3, Ledger(a_memory()).parts)
    first, second, third = agent.tasks
    assert first == TASK
    assert second.goal == third.goal == TASK.text
    assert second.id == third.id == "parser-1"
    assert second.instruction != third.instruction
    for task in (second, third):
        assert task.text.startswith(TASK.text)
        assert task.instruction in task.text
        assert "1 failed" in task.text
        assert task.previous is not None
    assert third.previous is not None
    assert third.previous.steps == (*UNSOLVED, an_edit("parser.py"))


@promise("matts:sequential")
def test_it_stops_when_a_round_gives_the_same_answer_and_does_nothing() -> None:
    ledger = Ledger()
    agent = Rounds(a_run(*SOLVED), NOTHING_NEW)
    found = refined(agent, 5, ledger.parts)
    assert found.stopped == "stable"
    assert found.rounds == 2
    assert len(ledger.recalls) == 1
    assert len(ledger.learned) == 1


@promise("matts:sequential")
@pytest.mark.parametrize("later", [a_run(Step(thought="hm"), answer="another"), a_run(an_edit("parser.py"))])
def test_another_answer_or_a_further_action_is_not_stable(later: Trajectory) -> None:
    found = refined(Rounds(a_run(*SOLVED), later, NOTHING_NEW), 2, Ledger().parts)
    assert found.stopped == "limit"
    assert found.rounds == 2


@promise(
    "matts:repeated",
    "Refinement stops when a round gives the same answer and its own evidence the same verdict again.",
    source="issue 11",
)
def test_it_stops_when_answer_and_verdict_repeat() -> None:
    found = refined(Rounds(a_run(*SOLVED), a_run(ran_tests(3)), NOTHING_NEW), 5, Ledger().parts)
    assert (found.stopped, found.rounds) == ("stable", 2)
    other = refined(Rounds(a_run(*UNSOLVED), a_run(*SOLVED), a_run(ran_tests(3))), 5, Ledger().parts)
    assert (other.stopped, other.rounds) == ("stable", 3)


@promise("matts:sequential")
def test_corrections_teach_the_extraction_sees_every_round_in_order_with_its_label() -> None:
    ledger = Ledger()
    agent = Rounds(a_run(*UNSOLVED, answer="fixed"), a_run(an_edit("parser.py"), ran_tests(3), answer="now fixed"))
    found = refined(agent, 2, ledger.parts)
    (together,) = ledger.learned
    assert [one.judgement.verdict for one in together if one.judgement] == ["failure", "success"]
    assert [one.since for one in together] == [0, 2]
    assert [len(one.part.steps) for one in together if one.part] == [2, 2]
    assert found.best == 1
    assert found.trajectory is not None
    assert found.trajectory.steps == (*UNSOLVED, an_edit("parser.py"), ran_tests(3))
    assert found.answer == "now fixed"


@promise("matts:sequential")
def test_an_agent_may_return_the_new_steps_or_all_of_them() -> None:
    new = (an_edit("parser.py"), ran_tests(3))

    def everything(task: Task) -> Trajectory:
        assert task.previous is not None
        return replace(task.previous, steps=task.previous.steps + new)

    alone = refined(Rounds(a_run(*UNSOLVED), a_run(*new)), 2, Ledger().parts)
    whole = refined(Rounds(a_run(*UNSOLVED), everything), 2, Ledger().parts)
    for found in (alone, whole):
        assert found.trajectory is not None
        assert found.trajectory.steps == (*UNSOLVED, *new)
        assert [one.since for one in found.rollouts] == [0, 2]
        assert len({one.trajectory.id for one in found.rollouts if one.trajectory}) == 2
    assert alone.trajectory is not None
    assert whole.trajectory is not None
    assert [fact.step for fact in alone.trajectory.evidence] == [fact.step for fact in whole.trajectory.evidence]


@promise("matts:sequential")
def test_an_agent_that_repeats_its_own_steps_with_a_secret_in_them_repeats_them_once() -> None:
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    leaky = replace(an_edit("x.py"), observation=f"token {key}")
    agent = Rounds(a_run(leaky), a_run(leaky, an_edit("y.py")), a_run(leaky, an_edit("y.py"), ran_tests(3)))
    found = refined(agent, 3, Ledger().parts)
    assert found.trajectory is not None
    assert [step.action for step in found.trajectory.steps] == [
        step.action for step in (an_edit("x.py"), an_edit("y.py"), ran_tests(3))
    ]
    assert [one.since for one in found.rollouts] == [0, 1, 2]
    assert key not in repr(found)


@promise("matts:sequential")
def test_a_later_round_changes_what_an_earlier_one_proved() -> None:
    def prepared(*steps: Step) -> Trajectory:
        return prepare(a_run(*steps))

    ended = Evidence(kind="submission", positive=False, detail="it ran out of steps")
    said = Evidence(kind="user_verdict", positive=True, detail="a person said so", step=0)
    first = replace(prepared(*UNSOLVED), evidence=(*prepared(*UNSOLVED).evidence, ended, said))
    found = refined(Rounds(first, prepared(an_edit("parser.py"), ran_tests(3))), 2, Ledger().parts)
    assert found.trajectory is not None
    assert ended not in found.trajectory.evidence
    assert said in found.trajectory.evidence
    assert set(found.trajectory.evidence) - {said} == set(
        prepared(*UNSOLVED, an_edit("parser.py"), ran_tests(3)).evidence
    )


@promise("matts:sequential")
def test_a_correction_that_breaks_what_was_right_is_not_the_best() -> None:
    found = refined(Rounds(a_run(*SOLVED), a_run(an_edit("other.py"), ran_tests(1, failed=2))), 2, Ledger().parts)
    assert found.best == 0
    assert found.ground == "evidence"
    assert "better than the last" in found.reason


@promise("matts:sequential")
def test_a_round_without_an_answer_stands_by_the_one_before() -> None:
    found = refined(Rounds(a_run(*SOLVED), a_run(Step(thought="fine"), answer="")), 4, Ledger().parts)
    assert found.stopped == "stable"
    assert found.answer == "done"


@promise("matts:partial-failure")
def test_a_round_that_crashes_ends_refinement_and_the_rounds_before_count() -> None:
    def crash(task: Task) -> Trajectory:
        raise RuntimeError("out of memory")

    ledger = Ledger()
    found = refined(Rounds(a_run(*SOLVED), crash), 4, ledger.parts)
    assert found.stopped == "error"
    assert found.best == 0
    assert found.rollouts[1].error == "RuntimeError: out of memory"
    assert len(ledger.learned[0]) == 1


@promise("matts:partial-failure")
def test_when_the_first_round_crashes_there_is_nothing_to_refine() -> None:
    def crash(task: Task) -> Trajectory:
        raise RuntimeError("no key")

    ledger = Ledger()
    found = refined(Rounds(crash), 4, ledger.parts)
    assert (found.best, found.stopped, found.rounds) == (None, "error", 1)
    assert ledger.learned == []


@promise("matts:sequential")
@given(
    st.lists(st.lists(st.sampled_from(["think", "edit", "pass", "fail"]), max_size=3), min_size=1, max_size=6),
    st.integers(1, 6),
)
def test_rounds_are_never_more_than_k_and_every_part_follows_the_one_before(rounds: list[list[str]], k: int) -> None:
    kinds = {"think": Step(thought="t"), "edit": an_edit("x.py"), "pass": ran_tests(2), "fail": ran_tests(1, failed=1)}
    prepared = [a_run(*(kinds[kind] for kind in kinds_of)) for kinds_of in rounds]
    found = refined(Rounds(*prepared, *[NOTHING_NEW] * 6), k, Ledger().parts)
    assert 1 <= found.rounds <= k
    assert (found.stopped == "limit") == (found.rounds == k and not _still(found.rollouts))
    joined: tuple[Step, ...] = ()
    for one in found.rollouts:
        assert one.part is not None
        assert one.trajectory is not None
        assert one.since == len(joined)
        joined += one.part.steps
        assert one.trajectory.steps == joined


def _still(rollouts: Sequence[Rollout]) -> bool:
    if len(rollouts) < 2:
        return False
    last, before = rollouts[-1].trajectory, rollouts[-2].trajectory
    assert last is not None
    assert before is not None
    new = last.steps[len(before.steps) :]
    verdicts = {one.judgement.verdict for one in rollouts[-2:] if one.judgement}
    tested = any(step.action in {ran_tests(2).action, ran_tests(1, failed=1).action} for step in new)
    return not any(step.action for step in new) or (tested and len(verdicts) == 1 and verdicts != {"unknown"})
