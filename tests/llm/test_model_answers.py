"""What a model answers: wrapping is forgiven, content is not, and nothing is invented."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict

from promises import promise
from reasoningbank.errors import MalformedAnswer
from reasoningbank.llm.answers import MAX_ANSWER, read_answer
from reasoningbank.llm.scripted import ScriptedModel
from reasoningbank.sessions.judge import judge
from reasoningbank.sessions.lessons import extract
from reasoningbank.types.session import Judgement, Step, Trajectory

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Verdict(BaseModel):
    """A shape of our own."""

    model_config = ConfigDict(extra="forbid")
    reason: str
    verdict: Literal["success", "failure"]
    probability: float
    steps: tuple[int, ...] = ()


GOOD: dict[str, object] = {"reason": "it {said} [so]", "verdict": "success", "probability": 0.9, "steps": [1, 2]}
TEXT = json.dumps(GOOD)
OPINION: dict[str, object] = {
    "reason": "Step 0 shows the booking.",
    "completeness": "met",
    "grounding": "met",
    "right_target": "met",
    "verdict": "success",
    "probability": 0.9,
}
LESSONS: dict[str, object] = {
    "strategies": [
        {
            "title": "Read the fare rules first",
            "description": "When a fare is to be changed",
            "content": "Look at the fare rules before the change is promised.",
            "steps": [0],
            "tags": ["fares"],
        }
    ],
    "lessons": [],
}
SESSION = Trajectory(
    task="Change the fare of the booking",
    steps=(Step(thought="I look", action="get_booking", tool="get_booking", observation="fare: basic"),),
    final_answer="The fare was changed.",
)


@dataclass(frozen=True)
class Row:
    """One way to answer: how a good object is spoilt, and whether it can still be read."""

    name: str
    spoil: Callable[[dict[str, object]], str]
    readable: bool


def _mistyped(good: dict[str, object]) -> str:
    """The object with a number for its first text or list."""
    return json.dumps({**good, next(iter(good)): 5})


ROWS = (
    Row("fenced", lambda good: f"```json\n{json.dumps(good, indent=2)}\n```", readable=True),
    Row("prefixed", lambda good: f"Here is the JSON: {json.dumps(good)}", readable=True),
    Row("trailing prose", lambda good: f"{json.dumps(good)}\n\nI hope {{this}} helps [1].", readable=True),
    Row("extra keys", lambda good: json.dumps({**good, "confidence": {"high": True}}), readable=True),
    Row(
        "thoughts first", lambda good: f'<think>{{"verdict": "failure"}} no</think>\n{json.dumps(good)}', readable=True
    ),
    Row("truncated", lambda good: json.dumps(good)[: len(json.dumps(good)) // 2], readable=False),
    Row("truncated in a fence", lambda good: f"```json\n{json.dumps(good)[:40]}\n```", readable=False),
    Row("wrong types", _mistyped, readable=False),
    Row("unsuccessful", lambda _: "The session was unsuccessful.", readable=False),
    Row("empty", lambda _: " \n", readable=False),
    Row("a list of two", lambda good: json.dumps([good, good]), readable=False),
    Row(
        "in two minds",
        lambda good: json.dumps(good) + json.dumps({**good, next(iter(good)): "on second thought"}),
        readable=False,
    ),
)
by_name = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)


@promise(
    "llm:reading",
    "A model's answer is read through fences, thoughts, extra keys and words that present it; truncated, mistyped, "
    "incomplete, contradicting and empty answers are refused with what is wrong and where, and no value is invented.",
    source="issue (12 malformed answers); DESIGN D8",
)
@by_name
def test_twelve_answers_are_each_read_or_refused_with_what_is_wrong(row: Row) -> None:
    assert len(ROWS) == 12
    text = row.spoil(GOOD)
    if row.readable:
        assert read_answer(text, Verdict) == Verdict.model_validate({**GOOD, "steps": (1, 2)})
    else:
        with pytest.raises(MalformedAnswer) as caught:
            read_answer(text, Verdict)
        assert len(caught.value.message) < 500


@promise(
    "llm:malformed-judge",
    "Each of twelve malformed answers is read by the judge or leaves the verdict unknown at 0.5; 'unsuccessful' is "
    "never a success.",
    source="issue (12 malformed answers); spec/paper defects 6-8",
)
@by_name
def test_the_judge_reads_them_or_knows_nothing(row: Row) -> None:
    model = ScriptedModel([row.spoil(OPINION)])
    found = judge(SESSION, model, at=NOW)
    if row.readable:
        assert (found.verdict, found.probability, found.judge) == ("success", 0.9, "scripted")
    else:
        assert (found.verdict, found.probability, found.judge) == ("unknown", 0.5, "scripted")
        assert "could not be read" in found.rationale


@promise("llm:malformed-judge")
def test_a_verdict_that_contains_another_is_not_taken_for_it() -> None:
    for word in ("unsuccessful", "not a success", "success?", ""):
        model = ScriptedModel([json.dumps({**OPINION, "verdict": word})])
        assert judge(SESSION, model, at=NOW).verdict == "unknown"


@promise(
    "llm:malformed-distiller",
    "Each of twelve malformed answers is read by the distiller or refused whole; nothing of it becomes a lesson.",
    source="issue (12 malformed answers); spec/paper defects 12-14",
)
@by_name
def test_the_distiller_reads_them_or_refuses_the_whole_answer(row: Row) -> None:
    judgement = Judgement(verdict="success", probability=0.9, rationale="It worked.", judge="user", at=NOW)
    model = ScriptedModel([row.spoil(LESSONS)])
    if row.readable:
        found = extract(SESSION, judgement, model)
        assert [item.title for item in found.items] == ["Read the fare rules first"]
    else:
        with pytest.raises(MalformedAnswer):
            extract(SESSION, judgement, model)


@promise("llm:reading")
@pytest.mark.parametrize(
    ("text", "told"),
    [
        (TEXT[:40], "cut off"),
        ("<think>hm", "thoughts"),
        (TEXT.replace("0.9", '"high"'), "probability"),
        (TEXT.replace("0.9", "true"), "probability"),
        (TEXT.replace("0.9", "NaN"), "NaN"),
        (TEXT.replace("[1, 2]", '[1, "two"]'), "steps.1"),
        (TEXT.replace("success", "unsuccessful"), "verdict"),
        ('{"reason": "r", "verdict": "success"}', "probability"),
        ('{"verdict": "success", "verdict": "failure"}', "two values"),
        ("{'verdict': 'success'}", "reason"),
        ("{'verdict': }", "line 1, column 2"),
        (f"yes:\n\n{TEXT}\n{TEXT.replace('success', 'failure')}", "line 4, column 1"),
        ("[]", "list"),
        ("null", "no JSON object"),
        ("I cannot do that.", "no JSON object"),
        ("", "empty"),
        ("x" * (MAX_ANSWER + 1), "200,001"),
        ('{"probability": 1' + "0" * 5_000 + "}", "number too long"),
    ],
)
def test_the_error_says_what_is_wrong_and_where(text: str, told: str) -> None:
    with pytest.raises(MalformedAnswer) as caught:
        read_answer(text, Verdict)
    assert told in caught.value.message
    assert caught.value.hint


@promise("llm:reading")
def test_the_same_object_twice_and_a_schema_before_it_are_no_contradiction() -> None:
    schema = json.dumps(Verdict.model_json_schema())
    for text in (TEXT + TEXT, f"{schema}\n{TEXT}", TEXT.replace("it {", "it\n{")):
        assert read_answer(text, Verdict).verdict == "success"


@promise(
    "llm:reading-bounded",
    "Answers over 200,000 characters are refused, and hostile nesting costs under two seconds.",
    source="DESIGN D8",
)
@pytest.mark.parametrize("text", ["[" * 199_000, '{"a":' * 39_000, "[1," * 66_000, "[x " * 66_000, "{ " * 99_000])
def test_hostile_answers_cost_little(text: str) -> None:
    started = time.process_time()
    with pytest.raises(MalformedAnswer):
        read_answer(text, Verdict)
    assert time.process_time() - started < 2.0


@promise("llm:reading")
@given(st.integers(0, len(TEXT) - 1))
def test_no_beginning_of_an_answer_is_another_answer(length: int) -> None:
    if length == len(TEXT) - 1:
        assert read_answer(TEXT[:length], Verdict) == read_answer(TEXT, Verdict)
        return
    with pytest.raises(MalformedAnswer):
        read_answer(TEXT[:length], Verdict)


@promise("llm:reading")
@given(
    st.lists(st.sampled_from(["Sure!", "Here is the JSON:", "**Final answer:**", "```json", "---", "\n"]), max_size=4),
    st.lists(
        st.sampled_from(["```", "I hope this helps!", "Let me know if you need anything else.", "\n"]), max_size=4
    ),
    st.text(st.characters(categories=["L"]), min_size=1),
)
def test_words_that_present_an_answer_are_passed_over_and_no_others(
    before: list[str], after: list[str], word: str
) -> None:
    presented = [*before, TEXT, *after]
    assert read_answer("\n".join(presented), Verdict).steps == (1, 2)
    for text in (f"no{word} {TEXT}", f"{TEXT} xq{word}"):
        with pytest.raises(MalformedAnswer):
            read_answer(text, Verdict)


@promise("llm:reading")
@given(st.text(st.sampled_from('{}[]",:\\ \n`abe10.-') | st.characters(), max_size=200))
def test_any_text_is_an_answer_or_malformed_and_nothing_else(text: str) -> None:
    for candidate in (text, TEXT[:60] + text, text + TEXT):
        try:
            assert read_answer(candidate, Verdict).reason is not None
        except MalformedAnswer as error:
            assert error.message
