"""One extraction over all rollouts: each lesson goes to the rollout and the steps that show it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from matts.attempts import AT, SOLVED, TASK, UNSOLVED, Ledger, a_run, an_edit, ran_tests
from promises import promise
from reasoningbank.errors import InvalidInput, MalformedAnswer
from reasoningbank.llm.scripted import ScriptedModel
from reasoningbank.matts.attempts import run
from reasoningbank.matts.comparison import compare, sequential
from reasoningbank.sessions.judge import by_evidence
from reasoningbank.types.matts import Rollout, Task
from reasoningbank.types.recall import Hit
from reasoningbank.types.session import Judgement, Step, Trajectory

STRATEGY = {"title": "Read the test", "description": "When a test fails.", "content": "Read it.", "steps": [1]}
LESSON = {
    "title": "Wrong file",
    "description": "When a parser fails.",
    "what_went_wrong": "The lexer was edited.",
    "do_instead": "Edit the parser.",
    "steps": [0],
}


def judged(*steps: Step, answer: str = "done") -> Rollout:
    from reasoningbank.sessions.readers import prepare

    trajectory = prepare(a_run(*steps, answer=answer))
    return Rollout(trajectory=trajectory, judgement=by_evidence(trajectory, at=AT))


def contrasted(strategy_run: int, lesson_run: int) -> ScriptedModel:
    answer = {"strategies": [{**STRATEGY, "run": strategy_run}], "lessons": [{**LESSON, "run": lesson_run}]}
    return ScriptedModel({"contrast": json.dumps(answer)})


@promise(
    "matts:contrast",
    "One extraction sees all rollouts, or what each round did in order, with their labels; each lesson is attributed "
    "to the rollout and the steps that show it.",
    source="issue MaTTS; spec/paper 1.8",
)
def test_one_question_shows_all_rollouts_with_their_labels_and_lessons_go_to_those_that_show_them() -> None:
    model = contrasted(1, 0)
    found = compare([judged(*UNSOLVED), judged(*SOLVED), judged(*UNSOLVED)], model)
    (asked,) = model.prompts
    assert asked.material.count("judged failure") >= 2
    assert asked.material.count("judged success") >= 1
    assert [[item.outcome for item in items] for items in found.items] == [["failure"], ["success"], []]
    assert found.prompt == asked.label
    assert found.model == "scripted"


@promise("matts:contrast")
def test_rounds_are_shown_as_what_each_of_them_did_and_steps_are_numbered_in_the_whole() -> None:
    whole = judged(*UNSOLVED, an_edit("parser.py"), ran_tests(3))
    model = contrasted(1, 0)
    found = compare([judged(*UNSOLVED), replace(whole, since=2)], model)
    (asked,) = model.prompts
    assert asked.material.count("lexer.py") == asked.material.split("RUN 1")[0].count("lexer.py")
    assert [item.steps for items in found.items for item in items] == [(0,), (3,)]


@promise("matts:contrast")
@promise(
    "matts:plain-run",
    "k = 1 is a plain run: one recall, one rollout, one judgement, one extraction.",
    source="issue MaTTS",
)
def test_one_rollout_is_distilled_like_any_session() -> None:
    model = ScriptedModel({"distil_success": json.dumps({"strategies": [STRATEGY]})})
    found = compare([judged(*SOLVED)], model)
    assert [item.title for item in found.items[0]] == ["Read the test"]


@promise("matts:contrast")
def test_a_round_that_did_nothing_and_a_crashed_rollout_are_not_shown() -> None:
    model = ScriptedModel({"distil_success": json.dumps({"strategies": [STRATEGY]})})
    one = judged(*SOLVED)
    found = compare([Rollout(error="crashed"), one, replace(one, since=len(SOLVED))], model)
    assert [len(items) for items in found.items] == [0, 1, 0]
    assert compare([Rollout(error="crashed")], ScriptedModel()).items == ((),)


@promise("matts:contrast")
def test_nothing_is_learned_from_an_unknown_end_or_a_malformed_answer() -> None:
    unknown = Rollout(trajectory=a_run(Step(thought="hm")))
    with pytest.raises(InvalidInput):
        compare([unknown], ScriptedModel())
    with pytest.raises(MalformedAnswer):
        compare([judged(*SOLVED), judged(*UNSOLVED)], ScriptedModel({"contrast": "I am sorry"}))


@promise("matts:contrast")
@promise(
    "matts:sequential",
    "Sequential scaling lets the agent check and correct its own work with a first and a following instruction, and "
    "stops when a round gives the same answer without a further action, or after k rounds.",
    source="issue MaTTS; spec/paper 1.8",
)
def test_a_correction_in_a_real_refinement_is_attributed_to_its_round() -> None:
    rounds = [a_run(*UNSOLVED), a_run(an_edit("parser.py"), ran_tests(3))]

    def agent(task: Task, memories: Sequence[Hit]) -> Trajectory:
        return rounds[0 if task.previous is None else 1]

    rollouts = run(sequential(TASK, agent, 2, Ledger().parts)).rollouts
    found = compare(rollouts, contrasted(1, 0))
    assert [[item.steps for item in items] for items in found.items] == [[(0,)], [(3,)]]


@promise("matts:contrast")
def test_the_part_of_a_round_has_its_own_evidence() -> None:
    whole = judged(*UNSOLVED, an_edit("parser.py"), ran_tests(3))
    part = replace(whole, since=2).part
    assert part is not None
    assert part.steps == (an_edit("parser.py"), ran_tests(3))
    assert {fact.step for fact in part.evidence} <= {0, 1}
    assert any(fact.kind == "test_run" and fact.positive and fact.step == 1 for fact in part.evidence)
    assert Rollout(trajectory=whole.trajectory, judgement=_unknown()).part == whole.trajectory


def _unknown() -> Judgement:
    return Judgement(verdict="unknown", probability=0.5, rationale="", judge="evidence")
