"""Parallel scaling: one recall, k rollouts beside each other, one lesson from all, the best one with a reason."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matts.attempts import SOLVED, TASK, UNSOLVED, Ledger, a_memory, a_run, an_edit, ran_tests
from promises import promise
from reasoningbank.errors import BankError, InvalidInput, ModelUnavailable, PaidCallRefused
from reasoningbank.matts.attempts import Agent, ScalingParts, run
from reasoningbank.matts.comparison import parallel, scale, sequential
from reasoningbank.types.matts import MAX_ROLLOUTS, Rollout, Scaled, Selection, Task
from reasoningbank.types.recall import Hit, Recall
from reasoningbank.types.session import DistilReport, Judgement, Step, Trajectory


class Turns:
    """An agent that gives one prepared answer per call, or raises it."""

    def __init__(self, *turns: Trajectory | BaseException) -> None:
        self.turns = iter(turns)
        self.lock = threading.Lock()
        self.seen: list[tuple[Task, tuple[str, ...]]] = []

    def __call__(self, task: Task, memories: Sequence[Hit]) -> Trajectory:
        with self.lock:
            self.seen.append((task, tuple(hit.id for hit in memories)))
            turn = next(self.turns)
        if isinstance(turn, BaseException):
            raise turn
        return turn


def scaled(agent: Agent, k: int, parts: ScalingParts, task: Task = TASK) -> Scaled:
    return run(parallel(task, agent, k, parts))


@promise(
    "matts:parallel",
    "Parallel scaling recalls once, runs k rollouts at the same time (never more than allowed), judges each, and "
    "learns once from all of them together with their labels.",
    source="issue MaTTS; spec/paper 1.8",
)
def test_one_recall_k_rollouts_and_one_lesson_that_sees_all_of_them_with_their_labels() -> None:
    ledger = Ledger(a_memory())
    agent = Turns(a_run(*UNSOLVED, answer="no"), a_run(*SOLVED, answer="yes"), a_run(*UNSOLVED, answer="also no"))
    found = scaled(agent, 3, ledger.parts)
    assert len(ledger.recalls) == 1
    assert [seen for _, seen in agent.seen] == [("memory-1",)] * 3
    (together,) = ledger.learned
    assert sorted(one.judgement.verdict for one in together if one.judgement) == ["failure", "failure", "success"]
    assert found.report.distilled == ("lesson-1",)
    assert found.answer == "yes"
    assert found.ground == "evidence"
    assert "success by evidence" in found.reason


@promise("matts:parallel")
def test_rollouts_really_run_at_the_same_time_and_never_more_than_allowed() -> None:
    ledger = Ledger()
    together = threading.Barrier(2, timeout=20)
    lock = threading.Lock()
    running: list[int] = [0, 0]

    def agent(task: Task, memories: Sequence[Hit]) -> Trajectory:
        with lock:
            running[0] += 1
            running[1] = max(running)
        together.wait()
        with lock:
            running[0] -= 1
        return a_run(*SOLVED)

    found = scaled(agent, 6, replace(ledger.parts, at_once=2))
    assert [one.error for one in found.rollouts] == [""] * 6
    assert running == [0, 2]


@promise("matts:parallel")
def test_every_rollout_is_marked_as_part_of_one_session_and_shows_which_memories_it_saw() -> None:
    ledger = Ledger(a_memory())
    same = replace(a_run(*SOLVED, task="in the agent's own words"), session="its own")
    found = scaled(lambda _task, _memories: same, 2, ledger.parts)
    trajectories = [one.trajectory for one in found.rollouts if one.trajectory]
    assert [one.session for one in trajectories] == ["scale-1", "scale-1"]
    assert [one.task for one in trajectories] == [TASK.text, TASK.text]
    assert [one.memories for one in trajectories] == [("memory-1",)] * 2
    assert [one.metadata["rollout"] for one in trajectories] == ["1/2", "2/2"]
    assert {one.metadata["task_id"] for one in trajectories} == {"parser-1"}
    assert {one.metadata["own_session"] for one in trajectories} == {"its own"}
    assert len({one.id for one in trajectories}) == 2


@promise(
    "matts:partial-failure",
    "A rollout that crashes, runs out of time or cannot be judged keeps its error and loses none of the others; an "
    "outage of judge, model or learner loses no trajectory.",
    source="issue MaTTS; spec/paper 4",
)
def test_a_crashed_rollout_keeps_its_error_and_loses_none_of_the_others() -> None:
    ledger = Ledger()
    agent = Turns(RuntimeError("the tool broke"), a_run(*SOLVED), a_run(*UNSOLVED))
    found = scaled(agent, 3, replace(ledger.parts, at_once=1))
    assert [one.error for one in found.rollouts] == ["RuntimeError: the tool broke", "", ""]
    assert found.best == 1
    assert len(ledger.learned[0]) == 2


@promise("matts:partial-failure")
@pytest.mark.parametrize("crash", [SystemExit(3), KeyboardInterrupt(), StopIteration(), asyncio.CancelledError()])
def test_an_agent_that_tries_to_end_the_process_ends_only_its_own_rollout(crash: BaseException) -> None:
    found = scaled(Turns(crash, a_run(*SOLVED)), 2, replace(Ledger().parts, at_once=1))
    assert type(crash).__name__ in found.rollouts[0].error
    assert found.best == 1


@promise("matts:partial-failure")
def test_a_rollout_that_outlasts_its_time_is_left_alone_and_nobody_waits_for_it() -> None:
    release = threading.Event()
    count = itertools.count()

    def agent(task: Task, memories: Sequence[Hit]) -> Trajectory:
        if next(count) == 0:
            release.wait(60)
        return a_run(*SOLVED)

    started = time.monotonic()
    found = scaled(agent, 2, replace(Ledger().parts, timeout=0.5))
    release.set()
    assert time.monotonic() - started < 20
    assert "0.5 seconds" in "".join(one.error for one in found.rollouts)
    assert found.best is not None


@promise("matts:partial-failure")
def test_an_asynchronous_rollout_that_outlasts_its_time_is_cancelled() -> None:
    cancelled: list[bool] = []

    async def agent(task: Task, memories: Sequence[Hit]) -> Trajectory:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(True)
            raise
        return a_run(*SOLVED)

    found = scaled(agent, 2, replace(Ledger().parts, timeout=0.2))
    assert cancelled == [True, True]
    assert found.best is None


@promise("matts:partial-failure")
def test_a_time_out_inside_the_agent_is_its_own_error() -> None:
    found = scaled(Turns(TimeoutError("the server was slow")), 1, replace(Ledger().parts, timeout=30))
    assert found.rollouts[0].error == "TimeoutError: the server was slow"


@promise("matts:partial-failure")
def test_when_all_fail_nothing_is_chosen_or_learned_and_the_errors_are_there() -> None:
    ledger = Ledger()
    found = scaled(Turns(ValueError("first"), ValueError("second")), 2, ledger.parts)
    assert found.best is None
    assert found.trajectory is None
    assert found.answer == ""
    assert "None of 2 came to an end" in found.reason
    assert ledger.learned == []
    assert found.report == DistilReport()


@promise("matts:partial-failure")
def test_something_else_than_a_trajectory_is_an_error_that_says_so() -> None:
    def agent(task: Task, memories: Sequence[Hit]) -> Trajectory:
        answer: object = "I fixed it"
        return answer  # type: ignore[return-value]

    found = scaled(agent, 1, Ledger().parts)
    assert "not str" in found.rollouts[0].error


@promise("matts:partial-failure")
def test_an_error_of_an_agent_shows_no_secret() -> None:
    key = "sk-proj-" + "Zk4w9Qx2Lm7Rt5Yb8Nc3" * 2
    found = scaled(Turns(RuntimeError(f"401 for key {key}\n" + "x" * 900)), 1, Ledger().parts)
    assert key not in found.rollouts[0].error
    assert len(found.rollouts[0].error) <= 500
    assert "\n" not in found.rollouts[0].error


@promise("matts:partial-failure")
def test_a_judge_or_a_learner_that_fails_loses_no_rollout() -> None:
    ledger = Ledger()

    def judge(trajectory: Trajectory) -> Judgement:
        raise RuntimeError("the judge broke")

    def learn(rollouts: Sequence[Rollout]) -> DistilReport:
        raise ModelUnavailable("no answer")

    found = scaled(Turns(a_run(*SOLVED), a_run(*UNSOLVED)), 2, replace(ledger.parts, judge=judge, learn=learn))
    assert all(
        one.trajectory and one.judgement is None and "could not be judged" in one.error for one in found.rollouts
    )
    assert found.best == 0 or found.best == 1
    assert found.report.messages == ("Nothing was learned: ModelUnavailable: no answer",)


@promise("matts:partial-failure")
def test_a_paid_call_by_accident_is_never_swallowed() -> None:
    def refuse(*_: object) -> DistilReport:
        raise PaidCallRefused("no paid calls here")

    def judge(trajectory: Trajectory) -> Judgement:
        raise PaidCallRefused("no paid calls here")

    def select(task: Task, rollouts: Sequence[Rollout]) -> Selection:
        raise PaidCallRefused("no paid calls here")

    parts = Ledger().parts
    for broken in (replace(parts, learn=refuse), replace(parts, judge=judge), replace(parts, select=select)):
        with pytest.raises(PaidCallRefused):
            scaled(lambda _task, _memories: a_run(*SOLVED), 2, broken)


@promise(
    "matts:selection",
    "The best rollout is chosen with a reason: proof before opinion, verdict before probability, a model only among "
    "equals, then fewest failed steps, fewest steps, the first.",
    source="issue MaTTS; spec/paper 1.8",
)
def test_a_way_of_choosing_that_fails_is_replaced_by_the_plain_one() -> None:
    def broken(task: Task, rollouts: Sequence[Rollout]) -> Selection:
        raise ModelUnavailable("no answer")

    agent = Turns(a_run(*SOLVED), a_run(*UNSOLVED))
    found = scaled(agent, 2, replace(Ledger().parts, select=broken, at_once=1))
    assert found.best == 0
    assert "no answer" in found.reason


@promise("matts:selection")
@pytest.mark.parametrize("index", [-1, 2, 1])
def test_a_rollout_that_is_not_there_cannot_be_chosen(index: int) -> None:
    def select(task: Task, rollouts: Sequence[Rollout]) -> Selection:
        return Selection(index=index, reason="", ground="model")

    agent = Turns(a_run(*SOLVED), RuntimeError("crashed"))
    with pytest.raises(InvalidInput, match="cannot be chosen"):
        scaled(agent, 2, replace(Ledger().parts, select=select, at_once=1))


@promise("matts:plain-run")
@pytest.mark.parametrize("mode", [parallel, sequential])
def test_k_of_one_is_a_plain_run_with_one_judgement_and_one_extraction(mode: object) -> None:
    ledger = Ledger(a_memory())
    agent = Turns(a_run(*SOLVED))
    way = parallel if mode is parallel else sequential
    found = run(way(TASK, agent, 1, replace(ledger.parts, select=_unwanted)))
    assert agent.seen == [(TASK, ("memory-1",))]
    assert len(ledger.recalls) == len(ledger.judged) == len(ledger.learned) == len(ledger.learned[0]) == 1
    assert found.best == 0
    assert found.ground == "only"
    assert found.rounds == 1


def _unwanted(task: Task, rollouts: Sequence[Rollout]) -> Selection:
    raise AssertionError("one rollout needs no choice")


@promise(
    "matts:bounds",
    "k is a whole number from 1 to 16; what cannot be scaled is refused before anything runs.",
    source="issue MaTTS",
)
@pytest.mark.parametrize("k", [0, -1, MAX_ROLLOUTS + 1, True, 2.0, "3"])
def test_k_is_from_one_to_sixteen(k: int) -> None:
    for way in (parallel, sequential):
        ledger = Ledger()
        with pytest.raises(InvalidInput, match="from 1 to 16"):
            run(way(TASK, Turns(), k, ledger.parts))
        assert ledger.recalls == []


@promise("matts:bounds")
def test_other_arguments_are_refused_before_anything_runs() -> None:
    with pytest.raises(InvalidInput, match="parallel, sequential"):
        run(scale(TASK, Turns(), 2, "both", Ledger().parts))  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="seconds"):
        replace(Ledger().parts, timeout=0)
    with pytest.raises(InvalidInput, match="at least one"):
        replace(Ledger().parts, at_once=0)
    with pytest.raises(InvalidInput, match="needs a text"):
        Task(text="  ")


@promise("matts:bounds")
def test_a_recall_that_fails_begins_no_rollout() -> None:
    def recall(task: Task) -> Recall:
        raise BankError("the bank is closed")

    agent = Turns(a_run(*SOLVED))
    with pytest.raises(BankError, match="closed"):
        scaled(agent, 2, replace(Ledger().parts, recall=recall))
    assert agent.seen == []


@promise(
    "matts:cancellation",
    "Cancelling ends every asynchronous rollout, waits for no plain one, leaves no task behind and learns nothing.",
    source="issue MaTTS",
)
def test_cancelling_ends_every_rollout_and_learns_nothing() -> None:
    ledger = Ledger()
    begun = threading.Event()
    ended: list[str] = []

    async def agent(task: Task, memories: Sequence[Hit]) -> Trajectory:
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("cancelled")
        return a_run(*SOLVED)

    async def program() -> set[asyncio.Task[object]]:
        work = asyncio.create_task(parallel(TASK, agent, 3, ledger.parts))
        while not begun.is_set():
            await asyncio.sleep(0.01)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        return asyncio.all_tasks() - {asyncio.current_task()}

    assert asyncio.run(program()) == set()
    assert ended == ["cancelled"] * 3
    assert ledger.learned == []


@promise("matts:cancellation")
def test_cancelling_does_not_wait_for_a_plain_agent() -> None:
    release = threading.Event()
    begun = threading.Event()

    def agent(task: Task, memories: Sequence[Hit]) -> Trajectory:
        begun.set()
        release.wait(60)
        return a_run(*SOLVED)

    async def program() -> None:
        work = asyncio.create_task(sequential(TASK, agent, 3, Ledger().parts))
        while not begun.is_set():
            await asyncio.sleep(0.01)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work

    started = time.monotonic()
    asyncio.run(program())
    assert time.monotonic() - started < 20
    release.set()


@promise("matts:parallel")
@given(st.lists(st.sampled_from(["solved", "unsolved", "silent", "crash"]), min_size=1, max_size=8))
def test_whatever_happens_every_rollout_is_accounted_for_and_the_best_is_never_worse(ends: list[str]) -> None:
    turns = {"solved": a_run(*SOLVED), "unsolved": a_run(*UNSOLVED), "silent": a_run(Step(thought="hm"), answer="?")}
    ledger = Ledger()
    found = scaled(Turns(*(turns.get(end, RuntimeError(end)) for end in ends)), len(ends), ledger.parts)
    assert len(found.rollouts) == len(ends)
    assert sum(bool(one.error) for one in found.rollouts) == ends.count("crash")
    verdicts = [one.judgement.verdict for one in found.rollouts if one.judgement]
    if not verdicts:
        assert found.best is None
        return
    assert found.judgement is not None
    assert found.judgement.verdict == ("success" if "success" in verdicts else found.judgement.verdict)
    assert (found.judgement.verdict == "failure") == (set(verdicts) == {"failure"})
    assert len(ledger.learned) == 1
    assert found.reason


@promise(
    "matts:no-secret",
    "A secret in what an agent returns reaches neither the judge, the extraction nor the answer.",
    source="DESIGN D10",
)
def test_a_secret_in_a_trajectory_reaches_neither_judge_nor_lesson() -> None:
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    ledger = Ledger()
    step = replace(ran_tests(1), observation=f"token {key}\n1 passed in 0.05s")
    found = scaled(lambda _task, _memories: a_run(an_edit("x.py"), step, answer=key), 2, ledger.parts)
    assert key not in repr(found)
    assert key not in repr(ledger.judged)
    assert key not in repr(ledger.learned)
