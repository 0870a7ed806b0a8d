"""What a language model finds in a session: strategies from what worked, lessons from what went wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pydantic import BaseModel, ConfigDict, Field

from reasoningbank.domain.learning import DO_INSTEAD, MAX_CONTRAST_ITEMS, MAX_ITEMS, Item
from reasoningbank.domain.trajectory import Judgement, Trajectory, Verdict
from reasoningbank.engine.distilling.digest import DIGEST_TOKENS, MIN_TOKENS, digest
from reasoningbank.engine.prompts import prompt
from reasoningbank.engine.reading import Shape, read_answer
from reasoningbank.errors import InvalidInput
from reasoningbank.ports import LanguageModel, Prompt

TEMPERATURE = 1.0
"""What the paper extracts at (appendix A)."""
CONTRAST_TOKENS = 24_000
"""Most tokens of all records together that are contrasted."""
WENT_WRONG = "What went wrong: "

_PROMPTS: dict[Verdict, str] = {"success": "distil_success", "failure": "distil_failure", "partial": "distil_partial"}


class _Answer(BaseModel):
    """In the schema every field is required, even where the reader forgives that one is missing."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)


class Strategy(_Answer):
    """A way that worked. Texts that are missing are empty here and refused by the validator, one item at a time."""

    title: str = Field(default="", description="A short name.")
    description: str = Field(default="", description="When to use it, and when not to; one sentence.")
    content: str = Field(default="", description="What to do and why it works; one to three sentences.")
    steps: list[int] = Field(default=[], description="Numbers of the steps that show it.")
    tags: list[str] = Field(default=[], description="Up to five lower-case words.")


class Lesson(_Answer):
    """A mistake and what prevents it."""

    title: str = Field(default="", description="A short name of the mistake.")
    description: str = Field(default="", description="In which situation it threatens, and in which not; one sentence.")
    what_went_wrong: str = Field(default="", description="What was done or overlooked, and what came of it.")
    do_instead: str = Field(default="", description="What prevents it; empty when the session does not show it.")
    steps: list[int] = Field(default=[], description="Numbers of the steps that show it.")
    tags: list[str] = Field(default=[], description="Up to five lower-case words.")


class Lessons(_Answer):
    """The answer about a session; about one of two parts both lists must be there, even when they are empty."""

    strategies: list[Strategy]
    lessons: list[Lesson]


class SuccessLessons(Lessons):
    """The answer about a session that succeeded."""

    lessons: list[Lesson] = []


class FailureLessons(Lessons):
    """The answer about a session that failed."""

    strategies: list[Strategy] = []


class RunStrategy(Strategy):
    """A way that worked, and the run that shows it."""

    run: int = Field(default=-1, description="Number of a run that succeeded and shows it.")


class RunLesson(Lesson):
    """A mistake, and the run that shows it."""

    run: int = Field(default=-1, description="Number of a run that failed and shows it.")


class ContrastLessons(_Answer):
    """The answer about several runs of one task."""

    strategies: list[RunStrategy]
    lessons: list[RunLesson]


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """What a model found, as it was read and before it was examined.

    Attributes:
        items: Strategies and lessons, in the order of the answer; empty when there is nothing to learn.
        model: The model that answered; empty when none was asked.
        prompt: Name and version of the prompt; empty when none was sent.
        runs: For each item the index of the run it was learned from; only zeros for a single session.
    """

    items: tuple[Item, ...]
    model: str = ""
    prompt: str = ""
    runs: tuple[int, ...] = ()


def extract(
    trajectory: Trajectory, judgement: Judgement, model: LanguageModel, *, limit: int = MAX_ITEMS
) -> Extraction:
    """Asks the model what the session teaches, at temperature 1 as the paper does.

    A session without steps and without an answer teaches nothing, and no model is asked. More items than the limit are
    given back too: the validator refuses and keeps them.

    Args:
        trajectory: The session.
        judgement: How it ended; its rationale is part of what the model reads.
        model: The language model.
        limit: Most items that are wanted.

    Raises:
        InvalidInput: When it is unknown how the session ended.
        ModelUnavailable, MalformedAnswer, BudgetExhausted: When there is no usable answer; nothing was learned.
    """
    name = prompt_name(judgement.verdict)
    if not trajectory.steps and not trajectory.final_answer.strip():
        return Extraction(items=())
    asked = _limited(prompt(name, digest(trajectory, judgement)), limit, MAX_ITEMS)
    answered, by = _ask(model, asked, answer_shape(judgement.verdict))
    items = (*map(_strategy, answered.strategies), *map(_lesson, answered.lessons))
    if judgement.verdict == "failure":
        items = (*map(_lesson, answered.lessons), *map(_strategy, answered.strategies))
    return Extraction(items=items, model=by, prompt=asked.label, runs=(0,) * len(items))


def contrast(
    runs: Sequence[tuple[Trajectory, Judgement]], model: LanguageModel, *, limit: int = MAX_CONTRAST_ITEMS
) -> Extraction:
    """Asks the model what several runs of one task teach when they are compared, each shown with its judgement.

    Each item is attributed to one run, so that it is examined against that run's verdict and its steps: the run that
    the model names, or when it names none that exists, the first whose verdict can have taught it.

    Raises:
        InvalidInput: When there is no run.
        ModelUnavailable, MalformedAnswer, BudgetExhausted: When there is no usable answer; nothing was learned.
    """
    if not runs:
        raise InvalidInput("there is no run to compare")
    share = max(MIN_TOKENS, min(DIGEST_TOKENS, CONTRAST_TOKENS // len(runs)))
    records = [
        f"RUN {number}, judged {judgement.verdict}\n{digest(trajectory, judgement, tokens=share)}"
        for number, (trajectory, judgement) in enumerate(runs)
    ]
    asked = _limited(prompt("contrast", "\n".join(records)), limit, MAX_CONTRAST_ITEMS)
    answered, by = _ask(model, asked, ContrastLessons)
    found = [(_strategy(each), _source(each.run, runs, {"success", "partial"})) for each in answered.strategies]
    found += [(_lesson(each), _source(each.run, runs, {"failure", "partial"})) for each in answered.lessons]
    return Extraction(
        items=tuple(item for item, _ in found),
        model=by,
        prompt=asked.label,
        runs=tuple(run for _, run in found),
    )


def answer_shape(verdict: Verdict) -> type[Lessons]:
    """What a model or an agent is to answer about a session that ended so."""
    if verdict == "success":
        return SuccessLessons
    return FailureLessons if verdict == "failure" else Lessons


def prompt_name(verdict: Verdict) -> str:
    """The prompt for sessions that ended so.

    Raises:
        InvalidInput: When it is unknown how the session ended: then there is nothing to learn from it yet.
    """
    name = _PROMPTS.get(verdict)
    if name is None:
        raise InvalidInput(
            "a session that ended unknown teaches nothing yet", hint="Judge it first, or say how it ended."
        )
    return name


def _ask(model: LanguageModel, asked: Prompt, shape: type[Shape]) -> tuple[Shape, str]:
    completion = model.complete(asked, shape.model_json_schema(mode="serialization"), temperature=TEMPERATURE)
    return read_answer(completion.text, shape), completion.model or model.name


def _limited(asked: Prompt, limit: int, usual: int) -> Prompt:
    if limit == usual:
        return asked
    return replace(asked, instructions=f"{asked.instructions}\n\nOnly the first {limit} items in all are kept.")


def _source(named: int, runs: Sequence[tuple[Trajectory, Judgement]], verdicts: set[Verdict]) -> int:
    if 0 <= named < len(runs):
        return named
    fitting = (number for number, (_, judgement) in enumerate(runs) if judgement.verdict in verdicts)
    return next(fitting, 0)


def _strategy(found: Strategy) -> Item:
    return Item(
        title=found.title,
        description=found.description,
        content=found.content,
        outcome="success",
        tags=tuple(found.tags),
        steps=tuple(found.steps),
    )


def _lesson(found: Lesson) -> Item:
    return Item(
        title=found.title,
        description=found.description,
        content=lesson_content(found.what_went_wrong, found.do_instead),
        outcome="failure",
        tags=tuple(found.tags),
        steps=tuple(found.steps),
    )


def lesson_content(what_went_wrong: str, do_instead: str) -> str:
    """The content of a preventive lesson: what went wrong and, when that is known, what to do instead."""
    lines = [f"{label}{text.strip()}" for label, text in ((WENT_WRONG, what_went_wrong), (DO_INSTEAD, do_instead))]
    return "\n".join(line for line, text in zip(lines, (what_went_wrong, do_instead), strict=True) if text.strip())
