"""Entities and concepts with their exact places, through the ``langextract`` library.

The library cuts long texts, asks, reads the answers and finds their words in the text again. It asks the bank's own
language model, so that budgets, retries and refusals hold here too; none of its own providers is used, and nothing is
fetched.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Protocol, cast

from reasoningbank.errors import ConfigurationError, MalformedAnswer
from reasoningbank.types.mention import MENTION_KINDS, Mention, Mentions
from reasoningbank.types.ports import LanguageModel, Prompt
from reasoningbank.types.quantity import counted

if TYPE_CHECKING:
    from langextract.core.types import ScoredOutput

CHUNK = 4_000
"""Characters that the model is shown at once."""
TEMPERATURE = 0.2
_QUESTION = "\nQ: "
_SCHEMA: Mapping[str, object] = {
    "title": "Extractions",
    "type": "object",
    "properties": {"extractions": {"type": "array", "items": {"type": "object"}}},
    "required": ["extractions"],
}
_EXAMPLES: Sequence[tuple[str, Sequence[tuple[str, str]]]] = (
    (
        "After the outage we settled on one connection pool per worker instead of a shared one. It is set up in "
        "services/pool/setup.py. Right now the migration is running.",
        (
            ("Decision", "settled on one connection pool per worker instead of a shared one"),
            ("Filepath", "services/pool/setup.py"),
        ),
    ),
    (
        "Mira thinks that the retry loop hides real failures. She suggests that the worker gives up after three tries.",
        (
            ("User", "Mira"),
            ("Critique", "the retry loop hides real failures"),
            ("Proposal", "the worker gives up after three tries"),
        ),
    ),
    (
        "From now on no job may write outside its own folder, see ADR-31. The nightly-sweeper broke that twice: "
        "catching every exception is how it stayed unseen.",
        (
            ("Directive", "no job may write outside its own folder"),
            ("ADR", "ADR-31"),
            ("Agent", "nightly-sweeper"),
            ("AntiPattern", "catching every exception"),
        ),
    ),
    ("The build takes four minutes. I am looking at the second log now.", ()),
)


class _Span(Protocol):
    start_pos: int | None
    end_pos: int | None


class _Extraction(Protocol):
    extraction_class: str
    char_interval: _Span | None
    attributes: Mapping[str, object] | None


class _Annotated(Protocol):
    extractions: Sequence[_Extraction] | None


def find_mentions(text: str, model: LanguageModel, prompt: Prompt) -> Mentions:
    """Return what the text names and states; only what stands in it word for word, each at its place.

    Args:
        text: The source, secrets removed.
        model: Finds them.
        prompt: Its instructions are used; the material is the text.

    Raises:
        ConfigurationError: When the library is not installed.
        ModelUnavailable, BudgetExhausted, PaidCallRefused: When there was no answer.
        MalformedAnswer: When an answer could not be read.
    """
    if not text.strip():
        return Mentions(model=model.name, message="The text is empty.")
    library = _library()
    from langextract.core.exceptions import LangExtractError

    try:
        documents = library.extract(
            [library.data.Document(text=text)],
            prompt_description=prompt.instructions,
            examples=_examples(library),
            model=_model_class()(model, prompt),
            max_char_buffer=CHUNK,
            batch_length=1,
            max_workers=1,
            fence_output=False,
            use_schema_constraints=False,
            resolver_params={"suppress_parse_errors": False},
            show_progress=False,
            prompt_validation_level=library.prompt_validation.PromptValidationLevel.OFF,
        )
    except (LangExtractError, ValueError) as error:
        raise MalformedAnswer(
            f"the answer of {model.name} holds no extractions: {type(error).__name__}", hint="Try again."
        ) from error
    answered = [each for document in cast("Sequence[_Annotated]", documents) for each in document.extractions or ()]
    found = sorted(
        {(each.start, each.end, each.kind): each for each in (_placed(one, text) for one in answered) if each}.values(),
        key=lambda each: (each.start, each.end),
    )
    unplaced = sum(_placed(one, text) is None for one in answered)
    return Mentions(found=tuple(found), unplaced=unplaced, model=model.name, message=_said(len(found), unplaced))


def _placed(extraction: _Extraction, text: str) -> Mention | None:
    """Return the mention at its place; None when its kind is unknown or its words are not in the text."""
    span = extraction.char_interval
    if extraction.extraction_class not in MENTION_KINDS or span is None:
        return None
    if span.start_pos is None or span.end_pos is None or not 0 <= span.start_pos < span.end_pos <= len(text):
        return None
    if not _exact(extraction, text[span.start_pos : span.end_pos]):
        return None
    return Mention(
        kind=extraction.extraction_class,
        text=text[span.start_pos : span.end_pos],
        start=span.start_pos,
        end=span.end_pos,
        attributes={str(name): str(value)[:500] for name, value in (extraction.attributes or {}).items()},
    )


def _exact(extraction: _Extraction, words: str) -> bool:
    """Return whether the answer's words stand at the place, up to space; the library also finds similar words."""
    answered = str(getattr(extraction, "extraction_text", ""))
    return " ".join(answered.split()) == " ".join(words.split())


def _said(found: int, unplaced: int) -> str:
    left = f" {unplaced} left out: their words do not stand in the text." if unplaced else ""
    if not found:
        return f"Nothing was found in the text.{left}"
    return f"{counted(found, 'mention')} found.{left}"


def _library() -> ModuleType:
    try:
        import langextract
    except ImportError as error:
        raise ConfigurationError(
            "entities and concepts are extracted by the library langextract, which is not installed",
            hint="Run: pip install 'langextract>=1.7,<2'",
        ) from error
    return langextract


def _examples(library: ModuleType) -> list[object]:
    return [
        library.data.ExampleData(
            text=text,
            extractions=[
                library.data.Extraction(extraction_class=kind, extraction_text=words) for kind, words in marked
            ],
        )
        for text, marked in _EXAMPLES
    ]


@functools.cache
def _model_class() -> type:
    """Return the library's idea of a model, around ours; made late, because the library takes seconds to import."""
    from langextract.core.base_model import BaseLanguageModel
    from langextract.core.types import ScoredOutput as Output

    class BankModel(BaseLanguageModel):
        """Asks the bank's language model."""

        def __init__(self, model: LanguageModel, prompt: Prompt) -> None:
            super().__init__()
            self._model = model
            self._prompt = prompt

        def infer(self, batch_prompts: Sequence[str], **_options: object) -> Iterator[Sequence[ScoredOutput]]:
            for whole in batch_prompts:
                instructions, material = _divided(whole)
                asked = Prompt(
                    name=self._prompt.name,
                    version=self._prompt.version,
                    instructions=instructions,
                    material=material,
                )
                answer = self._model.complete(asked, _SCHEMA, temperature=TEMPERATURE)
                yield [Output(score=1.0, output=answer.text)]

    return BankModel


def _divided(whole: str) -> tuple[str, str]:
    """Return instructions with their examples, and the text that is asked about: data, never instructions (DESIGN D10).

    The examples are ours and hold no question mark of this kind, so the text begins after one for each of them.
    """
    parts = whole.split(_QUESTION, len(_EXAMPLES) + 1)
    return _QUESTION.join(parts[:-1]), f"Q: {parts[-1]}"
