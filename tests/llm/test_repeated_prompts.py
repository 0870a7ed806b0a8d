"""Answers that give back the words of the prompt are not learned from, and verdicts rest on steps that exist."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from promises import promise
from reasoningbank.curation.consolidation import merge
from reasoningbank.errors import MalformedAnswer
from reasoningbank.llm import prompts
from reasoningbank.llm.scripted import ScriptedModel
from reasoningbank.sessions.judge import judge
from reasoningbank.sessions.lessons import contrast, extract
from reasoningbank.types.consolidation import SimilarityCluster
from reasoningbank.types.memory import Memory
from reasoningbank.types.session import Judgement, Step, Trajectory, Verdict

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SESSION = Trajectory(
    task="Change the fare of the booking",
    steps=(Step(action="get_booking", observation="fare: basic"), Step(action="change", observation="changed")),
    final_answer="The fare was changed.",
)
OWN = {
    "title": "Read the fare rules before a change",
    "description": "When the fare of a booking is to be changed",
    "content": "Call get_booking and read the field fare first; a basic fare cannot be changed.",
    "steps": [0],
    "tags": ["fares"],
}
OPINION: dict[str, object] = {
    "reason": "Step 1 shows the change.",
    "completeness": "met",
    "grounding": "met",
    "right_target": "met",
    "verdict": "success",
    "probability": 0.9,
}
CLUSTER = SimilarityCluster(
    members=tuple(
        Memory(project="p", title="Dough", description="When bread is baked", content=content, outcome="success")
        for content in ("Cover the dough for a while.", "Wait with the dough before it is shaped.")
    )
)


def example(name: str) -> dict[str, object]:
    """The example of a prompt, as a model copies it."""
    text = Path(str(prompts.__file__)).with_name(f"{name}.md").read_text(encoding="utf-8")
    found, _ = json.JSONDecoder(strict=False).raw_decode(text, text.index("\n{") + 1)
    assert isinstance(found, dict)
    return found


def judged(verdict: Verdict) -> Judgement:
    return Judgement(verdict=verdict, probability=0.5, rationale="So it ended.", judge="user", at=NOW)


@promise(
    "llm:echoes",
    "An answer that repeats the example or the words of its prompt, or nearly so, is asked for again and never stored: "
    "by the judge, the distillers, the comparison of runs and the merge; an item of its own beside it is kept.",
    source="DESIGN D8",
)
@pytest.mark.parametrize("verdict", ["success", "failure", "partial"])
def test_the_example_of_a_prompt_is_no_lesson(verdict: Verdict) -> None:
    copied = json.dumps(example(f"distil_{verdict}_short"))
    louder = copied.replace("under water", "below the water").replace("[6]", "[1]").replace("[2, 5]", "[0]")
    for answer in (copied, louder):
        model = ScriptedModel([answer] * 2)
        with pytest.raises(MalformedAnswer, match="repeats the words"):
            extract(SESSION, judged(verdict), model)
        assert len(model.prompts) == 2
    runs = [(SESSION, judged("success")), (SESSION, judged("failure"))]
    with pytest.raises(MalformedAnswer, match="repeats the words"):
        contrast(runs, ScriptedModel([json.dumps(example("contrast_short"))] * 2))


@promise("llm:echoes")
def test_an_item_of_its_own_beside_the_example_is_kept() -> None:
    copied = example("distil_success_short")["strategies"]
    assert isinstance(copied, list)
    described = {**OWN, "title": "A short name.", "content": "What to do and why it works; one to three sentences."}
    found = extract(SESSION, judged("success"), ScriptedModel([json.dumps({"strategies": [*copied, OWN, described]})]))
    assert [item.title for item in found.items] == [OWN["title"]]
    bicycle = Trajectory(task="Mend it", steps=(Step(action="note", observation=json.dumps(copied)),))
    told = extract(bicycle, judged("success"), ScriptedModel([json.dumps({"strategies": copied})]))
    assert len(told.items) == 1


@promise("llm:echoes")
def test_the_example_of_the_merge_and_of_the_judge_is_none() -> None:
    with pytest.raises(MalformedAnswer, match="repeats the words"):
        merge(CLUSTER, ScriptedModel([json.dumps(example("merge_short"))] * 2))
    judgement = judge(SESSION, ScriptedModel([json.dumps(example("judge_short"))] * 2), at=NOW)
    assert (judgement.verdict, judgement.probability) == ("unknown", 0.5)


@promise(
    "judging:steps",
    "A model's reason that names a step which the session does not have is asked for again, then the verdict is "
    "unknown; on a record that shows no step no model is asked.",
    source="DESIGN D8",
)
@pytest.mark.parametrize("named", ["Step 2", "Steps 0 to 4", "Schritt 7", "étape 3", "在第5步中", "ステップ9"])
def test_a_reason_names_steps_that_exist(named: str) -> None:
    wrong, right = (json.dumps({**OPINION, "reason": f"{each} shows the change."}) for each in (named, "Step 1"))
    model = ScriptedModel([wrong, right])
    assert judge(SESSION, model, at=NOW).verdict == "success"
    assert "do not exist" in model.prompts[1].instructions
    assert judge(SESSION, ScriptedModel([wrong, wrong]), at=NOW).verdict == "unknown"


@promise("judging:steps")
def test_a_record_without_a_step_is_not_judged() -> None:
    claim = Trajectory(task="Change the fare", final_answer="The fare was changed.")
    long = Trajectory(
        task="Change the fare. " * 400, steps=(Step(action="x", observation="y " * 900),), final_answer="Done. " * 400
    )
    for session, tokens in ((claim, 6_000), (long, 400)):
        model = ScriptedModel([json.dumps(OPINION)])
        assert judge(session, model, at=NOW, tokens=tokens).verdict == "unknown"
        assert model.prompts == ()
