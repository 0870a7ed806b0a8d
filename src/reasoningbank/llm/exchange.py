"""One exchange with a model: ask and read; ask again what cannot be read, and send less where it was too long.

Every caller that wants an object of a shape comes through here.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic

from reasoningbank.errors import BudgetExhausted, ContextExceeded, MalformedAnswer, ModelUnavailable
from reasoningbank.llm.answers import Shape, items_of, read_answer
from reasoningbank.llm.prompt_echoes import is_echo, texts_in
from reasoningbank.llm.prompts import prompt
from reasoningbank.llm.token_count import count_tokens
from reasoningbank.llm.window import SHORT_BELOW, context_of, room_beside, thinks_first

if TYPE_CHECKING:
    from reasoningbank.types.ports import LanguageModel, Prompt

CORRECTION = "Your last answer could not be used"
"""Words that only the second question of an exchange has."""


AnswerCheck = Callable[[Shape], str]
"""Says why an answer that was read cannot be used; empty when it can."""


def _usable(_: object) -> str:
    return ""


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

    It is not asked for again where the longer question does not fit into the model's context. After an answer that was
    cut, the next one may be as long as the context allows; when that is refused with the context, it is taken back.

    Args:
        model: Who is asked.
        asked: The prompt.
        shape: What the answer is to be.
        temperature: How it samples.

    Raises:
        ModelUnavailable, BudgetExhausted: There was no answer.
        MalformedAnswer: Neither answer can be read.
    """

    def again(error: MalformedAnswer, cut: bool) -> Prompt | None:
        longer, context = _with(asked, _correction(error, shape)), context_of(model)
        if context and not _fits(context, longer, shape):
            return None
        return replace(longer, answer_tokens=0) if cut else longer

    first = replace(asked, answer_tokens=0) if thinks_first(model) else asked
    try:
        return _exchanged(model, first, again, shape, temperature)
    except _CorrectionExceeded as error:
        if not (error.cut and error.context):
            raise error.first from None
        malformed = error.first
    try:
        return _exchanged(model, replace(asked, answer_tokens=0), again, shape, temperature)
    except ContextExceeded:
        raise malformed from None


class _CorrectionExceeded(ContextExceeded):
    """A question fitted, its answer could not be read, and the second question was too long.

    Attributes:
        first: What was said of the first answer.
        cut: That answer was cut, so that the second one was allowed more.
    """

    def __init__(self, first: MalformedAnswer, cut: bool, error: ContextExceeded) -> None:
        super().__init__(error.message, context=error.context, excess=error.excess, answer=error.answer)
        self.first = first
        self.cut = cut


def _exchanged(
    model: LanguageModel,
    asked: Prompt,
    again: Callable[[MalformedAnswer, bool], Prompt | None],
    shape: type[Shape],
    temperature: float,
    check: AnswerCheck[Shape] = _usable,
) -> Answered[Shape]:
    """Return the answer to a prompt, or to the one that is asked again.

    Args:
        model: Who is asked.
        asked: The prompt.
        again: Makes the second prompt from what is said of the first answer, and from whether that was cut; None when
            there is no room for it.
        shape: What the answer is to be.
        temperature: How it samples.
        check: Says why an answer cannot be used.

    Raises:
        ContextExceeded: One of the two is too long for the model.
        ModelUnavailable, BudgetExhausted: There was no first answer.
        MalformedAnswer: No answer can be read; of two, the last one's, and the first one's when there is no second.
    """
    schema = shape.model_json_schema(mode="serialization")
    completion = model.complete(asked, schema, temperature=temperature)
    try:
        return Answered(_read(completion.text, shape, asked, check), completion.model or model.name, asked)
    except MalformedAnswer as error:
        first = error
    cut = completion.cut
    second = again(first, cut)
    if second is None:
        raise first
    try:
        completion = model.complete(second, schema, temperature=temperature)
    except ContextExceeded as error:
        raise _CorrectionExceeded(first, cut, error) from None
    except (ModelUnavailable, BudgetExhausted):
        raise first from None
    return Answered(_read(completion.text, shape, second, check), completion.model or model.name, second)


def _read(text: str, shape: type[Shape], asked: Prompt, check: AnswerCheck[Shape]) -> Shape:
    """Return the answer, read and without items that only give our own words back.

    Raises:
        MalformedAnswer: It cannot be read or used, or nothing else is left of it.
    """
    answer = read_answer(text, shape)
    schema = shape.model_json_schema(mode="serialization")

    def echoes(value: object, *, is_item: bool) -> bool:
        return any(is_echo(said, asked.material, schema, instructions=is_item) for said in texts_in(value))

    given = answer.model_dump()
    own = {name: [not echoes(item, is_item=True) for item in given[name]] for name in items_of(shape)}
    items = [each for kept in own.values() for each in kept]
    others = {name: each for name, each in given.items() if name not in own}
    if (items and not any(items)) or echoes(others, is_item=False):
        raise MalformedAnswer("the answer repeats the words of the question instead of saying what the material shows")
    kept = {
        name: [item for item, is_own in zip(getattr(answer, name), each, strict=True) if is_own]
        for name, each in own.items()
    }
    answer = answer.model_copy(update=kept)
    if problem := check(answer):
        raise MalformedAnswer(problem)
    return answer


def _correction(error: MalformedAnswer, shape: type[Shape] | None) -> str:
    """Return what is said of an answer that could not be used; without a shape the schema is not repeated."""
    said = f"{CORRECTION}: {error.message}. Answer again, with one JSON object that follows "
    return f"{said}this schema and with nothing else:\n{_schema_words(shape)}" if shape else f"{said}the schema."


def _schema_words(shape: type[Shape]) -> str:
    return json.dumps(shape.model_json_schema(mode="serialization"), ensure_ascii=False, separators=(",", ":"))


def _answer_room(asked: Prompt, context: int) -> int:
    """Return the tokens of a context that are kept for the answer."""
    return min(asked.answer_tokens or context // 3, context // 3)


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
    check: AnswerCheck[Shape] = _usable,
) -> Answered[Shape]:
    """Return the answer to a prompt whose material is made as long as the model's context allows.

    What a small context leaves beside instructions, schema and answer is the room for the material. A server that says
    that it was too long is sent half of it, and half again; never more than before, also where the schema has to be
    said in words from then on; where that is the least already, the shorter instructions are taken. What is said of an
    answer that could not be read takes its room from the material where the context does not hold both, and always
    after a refusal.

    An answer that was cut may be longer the next time, as far as the context allows; the material makes room for that.
    When the server refuses this, the longer answer is taken back before the material is halved.

    Args:
        model: Who is asked.
        name: The prompt's name.
        material: Makes the quoted data with at most so many tokens.
        shape: What the answer is to be.
        most: Most tokens of the material.
        least: Fewest tokens it can be made with.
        addition: What is said behind the instructions.
        temperature: How it samples.
        check: Says why an answer that was read cannot be used; then it is asked for once more, as what cannot be read.

    Raises:
        ContextExceeded: Even the shortest material is too long for the model.
        ModelUnavailable, BudgetExhausted: There was no answer.
        MalformedAnswer: No answer can be read, or none to a question that is as long as it may be.
    """
    context, room, length = context_of(model), most, _AnswerLength(long=thinks_first(model))
    refused = brief = False
    schema = count_tokens(_schema_words(shape))
    while True:
        briefly = brief or 0 < context <= SHORT_BELOW
        empty = replace(length.of(_with(prompt(name, "", short=briefly), addition), context), flexible=True)
        room = _room(empty, shape, context, most=room, least=least)
        asked = replace(empty, material=material(room))
        briefer = replace(length.of(_with(prompt(name, "", short=True), addition), context), flexible=True)
        corrections = _Corrections(model, asked, empty, briefer, material, least, shape, context, refused, length)
        try:
            return _exchanged(model, asked, corrections.again, shape, temperature, check)
        except ContextExceeded as error:
            first = error.first if isinstance(error, _CorrectionExceeded) else None
            if error.excess:
                bound = _length(asked) - error.excess
                brief = briefly or bound - _length(empty) < least
                room = bound - _length(briefer if brief else empty)
                if room < least:
                    raise (first or error) from None
                refused = True
                continue
            grown = length.long or (isinstance(error, _CorrectionExceeded) and error.cut)
            known = error.context or context or (context_of(model) if grown else 0)
            taken_back = grown and not length.bounded and (0 < known < (context or known + 1) or room <= least)
            if room <= least and not taken_back:
                if briefly or _length(briefer) >= _length(empty):
                    raise (first or error) from None
                brief = True
            elif not taken_back:
                sent = min(room, count_tokens(asked.material))
                room = max(least, sent // 2 - (0 if known else schema))
            context, refused, length = known, True, _AnswerLength(long=grown, bounded=grown, most=error.answer)


@dataclass(frozen=True, slots=True)
class _AnswerLength:
    """Says how long the answers of an exchange may be.

    Attributes:
        long: Longer than the prompt says, because an answer was cut.
        bounded: A refusal has taken it back to a part of the context: it does not grow when the material shrinks.
        most: No longer than with the request that was refused: what is saved of the prompt is not for the answer; 0 for
            any length.
    """

    long: bool = False
    bounded: bool = False
    most: int = 0

    def of(self, asked: Prompt, context: int) -> Prompt:
        """Return the prompt with its answer's length; 0 leaves it what the model and its context allow."""
        if not self.long:
            return replace(asked, answer_tokens=min(asked.answer_tokens, self.most)) if self.most else asked
        return replace(asked, answer_tokens=max(asked.answer_tokens, context // 3) if self.bounded else 0)


@dataclass(frozen=True, slots=True)
class _Corrections(Generic[Shape]):
    """Makes the second question of an exchange whose material can be shortened.

    Attributes:
        model: Who is asked.
        asked: The first question, which fitted.
        empty: Its words, without material.
        briefer: The fewest words that it can be asked in.
        material: Makes the quoted data with at most so many tokens.
        least: Fewest tokens it can be made with.
        shape: What the answer is to be.
        context: What the model reads at once; 0 when nobody knows.
        refused: Something longer was too long already.
        length: How long the answers may be.
    """

    model: LanguageModel
    asked: Prompt
    empty: Prompt
    briefer: Prompt
    material: Callable[[int], str]
    least: int
    shape: type[Shape]
    context: int
    refused: bool
    length: _AnswerLength

    def again(self, error: MalformedAnswer, cut: bool) -> Prompt | None:
        """Return the question with what was wrong; where it has to be short, with less material or in fewer words.

        Where nothing was refused and no context is known, it has all of the material. None when there is no room.
        """
        length = replace(self.length, long=self.length.long or cut)
        whole, short = _correction(error, self.shape), _correction(error, None)
        for words, correction in ((self.empty, whole), (self.briefer, whole), (self.briefer, short)):
            context = min(filter(None, (self.context, context_of(self.model))), default=0)
            longer = length.of(_with(words, correction), context)
            most = self._most(longer, context)
            if most is None or _length(longer) + count_tokens(self.asked.material) <= most:
                return replace(longer, material=self.asked.material)
            made = replace(longer, material=self.material(max(self.least, most - _length(longer))))
            if _length(made) <= most:
                return made
        return None

    def _most(self, longer: Prompt, context: int) -> int | None:
        """Return most tokens of the second question; None when nothing bounds it."""
        bounds = [_length(self.asked)] if self.refused else []
        if context:
            bounds.append(room_beside(context, _schema_words(self.shape), answer=_answer_room(longer, context)))
        return min(bounds, default=None)


def _length(asked: Prompt) -> int:
    return count_tokens(asked.instructions) + count_tokens(asked.material)


def _fits(context: int, asked: Prompt, shape: type[Shape]) -> bool:
    """Return whether a context holds a prompt with its schema, its answer and the reserve."""
    schema, answer = _schema_words(shape), _answer_room(asked, context)
    return room_beside(context, asked.instructions, asked.material, schema, answer=answer) >= 0


def _room(asked: Prompt, shape: type[Shape], context: int, *, most: int, least: int) -> int:
    """Return the tokens of material that a context leaves; most when the context is not known."""
    if not context:
        return most
    left = room_beside(context, asked.instructions, _schema_words(shape), answer=_answer_room(asked, context))
    return min(most, max(least, left))


def _with(asked: Prompt, addition: str) -> Prompt:
    return replace(asked, instructions=f"{asked.instructions}\n\n{addition}") if addition else asked
