"""The public stand-in for a language model."""

from __future__ import annotations

import threading

import pytest

from promises import promise
from reasoningbank.errors import BudgetExhausted, ModelUnavailable
from reasoningbank.llm.scripted import ScriptedModel
from reasoningbank.types.ports import LanguageModel, Prompt


def prompt(name: str = "judge", material: str = "m") -> Prompt:
    """A prompt of this name."""
    return Prompt(name=name, version="1", instructions="Do it.", material=material)


@promise(
    "llm:scripted",
    "ScriptedModel replays answers, errors or functions in order or by prompt, remembers what it was asked, and says "
    "clearly when its script has no answer.",
    source="issue (ScriptedModel is public)",
)
def test_it_says_its_lines_in_order_and_remembers_what_it_was_asked() -> None:
    model: LanguageModel = ScriptedModel(
        ["one", BudgetExhausted("spent"), lambda asked: asked.material.upper()], name="double"
    )
    assert model.complete(prompt(), {}).text == "one"
    with pytest.raises(BudgetExhausted):
        model.complete(prompt(), {})
    answer = model.complete(prompt(material="loud"), {"type": "object"}, temperature=1.0)
    assert (answer.text, answer.model, answer.output_tokens) == ("LOUD", "double", 1)
    with pytest.raises(ModelUnavailable) as caught:
        model.complete(prompt("distil"), {})
    assert "asked 4 times" in caught.value.message
    assert isinstance(model, ScriptedModel)
    assert [asked.name for asked in model.prompts] == ["judge"] * 3 + ["distil"]
    assert model.temperatures == (0.0, 0.0, 1.0, 0.0)
    assert model.schemas[2] == {"type": "object"}


@promise("llm:scripted")
def test_it_answers_by_name_or_by_one_function() -> None:
    model = ScriptedModel({"judge": "yes", "distil": lambda asked: asked.name})
    assert [model.complete(prompt(name), {}).text for name in ("distil", "judge", "judge")] == ["distil", "yes", "yes"]
    with pytest.raises(ModelUnavailable):
        model.complete(prompt("other"), {})
    assert ScriptedModel(lambda asked: asked.version).complete(prompt(), {}).text == "1"


@promise("llm:scripted")
def test_threads_get_each_line_once() -> None:
    model = ScriptedModel([str(number) for number in range(200)])
    said: list[str] = []

    def work() -> None:
        said.extend(model.complete(prompt(), {}).text for _ in range(50))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(int, said)) == list(range(200))
