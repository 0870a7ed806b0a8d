"""One exchange with a model: ask and read; ask again what cannot be read, and send less where it was too long.

Every caller that wants an object of a shape comes through here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic

from reasoningbank.errors import BudgetExhausted, ContextExceeded, MalformedAnswer, ModelUnavailable
from reasoningbank.llm.answers import Shape, read_answer
from reasoningbank.llm.prompts import prompt
from reasoningbank.llm.window import SHORT_BELOW, context_of, room_beside

if TYPE_CHECKING:
    from reasoningbank.types.ports import Completion, LanguageModel, Prompt


@dataclass(frozen=True, slots=True)
class Answered(Generic[Shape]):
    """An answer that was read.

    Attributes:
        answer: The object.
        model: The model that gave it.
        asked: The prompt that it answers.
    """

    answer: Shape
    model: str
    asked: Prompt


def exchange(model: LanguageModel, asked: Prompt, shape: type[Shape], *, temperature: float = 0.0) -> Answered[Shape]:
    """Return the model's answer. An answer that cannot be read is asked for once more, with what was wrong with it.

    Args:
        model: Who is asked.
        asked: The prompt.
        shape: What the answer is to be.
        temperature: How it samples.

    Raises:
        ModelUnavailable, BudgetExhausted: There was no answer.
        MalformedAnswer: Neither answer can be read.
    """
    schema = shape.model_json_schema(mode="serialization")
    completion = model.complete(asked, schema, temperature=temperature)
    try:
        answer = read_answer(completion.text, shape)
    except MalformedAnswer as first:
        again = corrected(asked, first, schema, cut=completion.cut)
        completion = _once_more(model, again, schema, temperature, first)
        answer = read_answer(completion.text, shape)
    return Answered(answer, completion.model or model.name, asked)


def _once_more(
    model: LanguageModel, again: Prompt, schema: Mapping[str, object], temperature: float, first: MalformedAnswer
) -> Completion:
    """Return the second answer.

    Raises:
        MalformedAnswer: There is none: then the first one is what is told.
    """
    try:
        return model.complete(again, schema, temperature=temperature)
    except (ModelUnavailable, BudgetExhausted):
        raise first from None


def corrected(asked: Prompt, error: MalformedAnswer, schema: Mapping[str, object], *, cut: bool = False) -> Prompt:
    """Return the prompt with what was wrong with the last answer; an answer that was cut may be as long as it likes."""
    shown = json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
    words = (
        f"Your last answer could not be used: {error.message}. Answer again, with one JSON object that follows this "
        f"schema and with nothing else:\n{shown}"
    )
    return replace(
        asked,
        instructions=f"{asked.instructions}\n\n{words}",
        answer_tokens=0 if cut else asked.answer_tokens,
    )


def exchange_within(
    model: LanguageModel,
    name: str,
    material: Callable[[int], str],
    shape: type[Shape],
    *,
    most: int,
    least: int,
    addition: str = "",
    temperature: float = 0.0,
) -> Answered[Shape]:
    """Return the answer to a prompt whose material is made as long as the model's context allows.

    What a small context leaves beside instructions, schema and answer is the room for the material. A server that says
    that it was too long is sent half of it, and half again; never more than before.

    Args:
        model: Who is asked.
        name: The prompt's name.
        material: Makes the quoted data with at most so many tokens.
        shape: What the answer is to be.
        most: Most tokens of the material.
        least: Fewest tokens it can be made with.
        addition: What is said behind the instructions.
        temperature: How it samples.

    Raises:
        ContextExceeded: Even the shortest material is too long for the model.
        ModelUnavailable, BudgetExhausted: There was no answer.
        MalformedAnswer: No answer can be read.
    """
    context, room = context_of(model), most
    while True:
        empty = _with(prompt(name, "", short=0 < context <= SHORT_BELOW), addition)
        if context:
            schema = json.dumps(shape.model_json_schema(mode="serialization"))
            answer = min(empty.answer_tokens or context // 4, context // 3)
            room = min(room, max(least, room_beside(context, empty.instructions, schema, answer=answer)))
        try:
            return exchange(model, replace(empty, material=material(room)), shape, temperature=temperature)
        except ContextExceeded as error:
            if room <= least:
                raise
            context = error.context or context
            room = max(least, room // 2)


def _with(asked: Prompt, addition: str) -> Prompt:
    return replace(asked, instructions=f"{asked.instructions}\n\n{addition}") if addition else asked
