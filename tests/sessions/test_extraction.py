"""What is asked of a language model, and what is made of its answers."""

from __future__ import annotations

import json
from dataclasses import fields, replace

import jsonschema  # type: ignore[import-untyped]
import pytest

from promises import promise
from reasoningbank.errors import BudgetExhausted, InvalidInput, MalformedAnswer, ModelUnavailable
from reasoningbank.llm.scripted import ScriptedModel
from reasoningbank.llm.token_count import count_tokens
from reasoningbank.sessions.assignment import assign
from reasoningbank.sessions.digest import digest
from reasoningbank.sessions.lessons import Extraction, contrast, extract
from reasoningbank.sessions.validation import examine
from reasoningbank.types.session import Item, Judgement, Trajectory, Verdict
from sessions.lesson_examples import TRAJECTORY

STRATEGY = {
    "title": "Freeze the clock",
    "description": "When a test fails only around midnight; not when it fails always",
    "content": "Freeze the clock with a fixture, then run the test on both sides of midnight.",
    "steps": [2],
    "tags": ["python", "tests"],
}
LESSON = {
    "title": "Reruns hide the cause",
    "description": "When a flaky test depends on the date",
    "what_went_wrong": "The test was rerun three times and failed each time.",
    "do_instead": "Find what differs between the runs first.",
    "steps": [1],
    "tags": [],
}
ANSWER = json.dumps({"strategies": [STRATEGY], "lessons": [LESSON]})


def judged(verdict: Verdict) -> Judgement:
    return Judgement(verdict=verdict, probability=0.5, rationale="The judge saw twelve tests pass.", judge="evidence")


@promise(
    "distil:prompts",
    "Each end of a session has its own versioned prompt; the judge's rationale is given; temperature 1.",
    source="issue 3, paper 1.4",
)
@pytest.mark.parametrize(
    ("verdict", "name", "order"),
    [
        ("success", "distil_success", ["success"]),
        ("failure", "distil_failure", ["failure"]),
        ("partial", "distil_partial", ["success", "failure"]),
    ],
)
def test_each_end_of_a_session_has_its_prompt(verdict: Verdict, name: str, order: list[str]) -> None:
    model = ScriptedModel([ANSWER])
    found = extract(TRAJECTORY, judged(verdict), model)
    asked = model.prompts[0]
    assert asked.name == name and found.prompt == asked.label and found.model == "scripted"
    assert asked.material == digest(TRAJECTORY, judged(verdict))
    assert "The judge saw twelve tests pass." in asked.material
    assert TRAJECTORY.task not in asked.instructions
    assert model.temperatures == (1.0,)
    assert [item.outcome for item in found.items] == order
    schema = dict(model.schemas[0])
    jsonschema.validate(json.loads(ANSWER), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({}, schema)


@promise(
    "distil:lesson-form",
    "A lesson says what went wrong and, only when that is known, what to do instead.",
    source="issue 3",
)
def test_a_lesson_says_what_went_wrong_and_what_to_do_instead_only_when_that_is_known() -> None:
    unknown = {**LESSON, "do_instead": " "}
    found = extract(TRAJECTORY, judged("failure"), ScriptedModel([json.dumps({"lessons": [LESSON, unknown]})]))
    assert found.items[0] == Item(
        title="Reruns hide the cause",
        description="When a flaky test depends on the date",
        content=(
            "What went wrong: The test was rerun three times and failed each time.\n"
            "Do instead: Find what differs between the runs first."
        ),
        outcome="failure",
        steps=(1,),
    )
    assert found.items[1].content == "What went wrong: The test was rerun three times and failed each time."


@promise("distil:nothing", "Nothing is a good answer of an extractor.", source="issue 3, paper 5")
@pytest.mark.parametrize("answer", ['{"strategies": []}', '{"strategies": [], "lessons": []}'])
def test_nothing_is_a_good_answer(answer: str) -> None:
    assert extract(TRAJECTORY, judged("success"), ScriptedModel([answer])).items == ()


@promise(
    "distil:empty-session",
    "No lesson is made of a session in which nothing happened; no model is asked.",
    source="spec/paper defect 13",
)
def test_no_lesson_is_made_of_a_session_in_which_nothing_happened() -> None:
    model = ScriptedModel([ANSWER])
    empty = Trajectory(task="Start the environment")
    assert extract(empty, judged("failure"), model) == Extraction(items=())
    assert model.prompts == ()


@promise("distil:unknown", "A session that ended unknown teaches nothing.", source="DESIGN D8")
def test_an_unknown_end_teaches_nothing() -> None:
    model = ScriptedModel([ANSWER])
    with pytest.raises(InvalidInput):
        extract(TRAJECTORY, judged("unknown"), model)
    with pytest.raises(InvalidInput):
        assign(TRAJECTORY, judged("unknown"))
    assert model.prompts == ()


@promise(
    "distil:malformed",
    "A malformed answer of an extractor is an error, never a lesson; a readable one loses no item.",
    source="issue 3, spec/memoria_haios H5",
)
@pytest.mark.parametrize(
    ("answer", "items"),
    [
        (ANSWER, 1),
        (f"```json\n{ANSWER}\n```", 1),
        (f"Here are the lessons:\n{ANSWER}", 1),
        (json.dumps({"strategies": [{**STRATEGY, "score": 9}], "lessons": [], "notes": "none"}), 1),
        (f"<think>hm</think>{ANSWER}", 1),
        ('{"strategies": [{"title": "Freeze the clock"}]}', 1),
        ("", None),
        (ANSWER[:120], None),
        (f"[{ANSWER}]", 1),
        ('{"strategies": "none"}', None),
        ('{"strategies": [{"title": 3}]}', None),
        ("{}", None),
        ('{"lessons": []}', None),
        ("NO LESSONS", None),
        ("null", None),
    ],
)
def test_a_malformed_answer_is_an_error_and_never_a_lesson(answer: str, items: int | None) -> None:
    if items is None:
        with pytest.raises(MalformedAnswer):
            extract(TRAJECTORY, judged("success"), ScriptedModel([answer]))
        return
    found = extract(TRAJECTORY, judged("success"), ScriptedModel([answer])).items
    assert len(found) == items
    if "description" not in answer:
        assert examine(found, TRAJECTORY, "success")[1][0].reason == "incomplete"


@promise(
    "distil:outage",
    "An outage or a spent budget is passed on by the extractor; nothing is made up.",
    source="DESIGN D8, spec/memoria_haios H4",
)
@pytest.mark.parametrize("error", [ModelUnavailable("down"), BudgetExhausted("spent")])
def test_an_outage_is_passed_on(error: Exception) -> None:
    with pytest.raises(type(error)):
        extract(TRAJECTORY, judged("success"), ScriptedModel([error]))


@promise(
    "distil:contrast",
    "Runs of a task are contrasted in one call with their labels, and each item belongs to the run it came from.",
    source="issue 3, paper 1.8",
)
def test_runs_are_contrasted_in_one_call_and_each_item_belongs_to_a_run() -> None:
    verdicts: tuple[Verdict, ...] = ("failure", "success", "unknown")
    runs = [(replace(TRAJECTORY, id=f"run-{n}"), judged(verdict)) for n, verdict in enumerate(verdicts)]
    answer = {
        "strategies": [{**STRATEGY, "run": 1}, {**STRATEGY, "run": 9}],
        "lessons": [{**LESSON, "run": 0}, LESSON, {**LESSON, "run": 2}],
    }
    model = ScriptedModel([json.dumps(answer)])
    found = contrast(runs, model)
    assert found.runs == (1, 1, 0, 0, 2)
    assert [item.outcome for item in found.items] == ["success"] * 2 + ["failure"] * 3
    asked = model.prompts[0]
    assert asked.name == "contrast" and model.temperatures == (1.0,)
    for number, verdict in enumerate(verdicts):
        assert f"RUN {number}, judged {verdict}\n" in asked.material
    assert asked.material.count("=== begin ") == 3
    with pytest.raises(InvalidInput):
        contrast([], model)


@promise(
    "distil:limit",
    "At most three items of a trajectory are stored, also when an agent answers item by item.",
    source="paper A.1",
)
def test_another_limit_is_told_to_the_model() -> None:
    model = ScriptedModel([ANSWER, ANSWER])
    extract(TRAJECTORY, judged("success"), model, limit=1)
    extract(TRAJECTORY, judged("success"), model)
    assert "Only the first 1 items" in model.prompts[0].instructions
    assert "Only the first" not in model.prompts[1].instructions


@promise(
    "distil:assignment",
    "A calling agent gets record, instructions and schema in at most 8,000 tokens.",
    source="DESIGN D7",
)
def test_the_calling_agent_gets_record_instructions_and_schema_in_a_bounded_answer() -> None:
    long = replace(TRAJECTORY, steps=TRAJECTORY.steps * 2_000)
    given = assign(long, judged("partial"))
    schema = json.dumps(given.schema)
    assert count_tokens(given.record) + count_tokens(given.instructions) + count_tokens(schema) <= 8_000
    assert given.trajectory == long.id and given.prompt.startswith("distil_agent@")
    assert "=== begin " in given.record and "memory_record" in given.instructions
    assert long.task not in given.instructions
    item = {"title": "T", "description": "When X", "content": "Do Y", "outcome": "success", "steps": [0], "tags": ["a"]}
    jsonschema.validate({"items": [item]}, dict(given.schema))
    jsonschema.validate({"items": []}, dict(given.schema))
    for wrong in ({"items": [{**item, "outcome": "maybe"}]}, {"items": [item] * 4}, {"items": [{**item, "x": 1}]}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, dict(given.schema))
    (shape,) = [each for each in given.schema["$defs"].values() if each["type"] == "object"]  # type: ignore[attr-defined]
    assert shape["properties"].keys() == {each.name for each in fields(Item)}
