"""Answers that give back our own words: an example of a prompt, a description in a schema, a line of the instructions.

Small models copy the example instead of reading the session; what they copy was learned from nothing. A text is such an
echo when it is one of ours or nearly so, and does not stand in what the model was shown.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from reasoningbank.llm.prompts import prompt_texts

RUN = 4
"""So many words in a row are not put together by chance."""
_SHARE = 0.5
_SAME_WORDS = 0.6
_LEAST_WORDS = 3
_LONG = 4
_WORD = re.compile(r"[^\W_]+")


def is_echo(text: str, shown: str, schema: Mapping[str, object], *, instructions: bool = False) -> bool:
    """Return whether a text of an answer is one of ours.

    Args:
        text: The text.
        shown: The material of the prompt: what stands there may be said again.
        schema: What the answer was to follow; its descriptions are our words too.
        instructions: Count what our prompts say beside their examples too.
    """
    said = _words(text)
    if len(said) < _LEAST_WORDS:
        return False
    own = _OwnWords.of(json.dumps(schema, sort_keys=True))
    runs = own.all_runs if instructions else own.runs
    if not (tuple(said) in own.texts or _much_of(said, runs) or any(_nearly(said, each) for each in own.texts)):
        return False
    material = _words(shown)
    return not (_much_of(said, _runs(material)) or f" {' '.join(said)} " in f" {' '.join(material)} ")


def texts_in(value: object) -> Iterator[str]:
    """Yield every text in what an answer holds."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from texts_in(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from texts_in(each)


class _OwnWords:
    """Our words: those of all prompts, and those of one schema.

    Attributes:
        texts: The texts of all examples, and the descriptions of the schema, as words.
        runs: The runs of words of all of them.
    """

    def __init__(self, schema: str) -> None:
        described = [_words(text) for text in _descriptions(json.loads(schema))]
        self.texts = _examples() | {tuple(text) for text in described if len(text) >= _LEAST_WORDS}
        self.runs = frozenset[tuple[str, ...]]().union(*map(_runs, self.texts))

    @functools.cached_property
    def all_runs(self) -> frozenset[tuple[str, ...]]:
        """The runs of words of the instructions of all prompts, too."""
        return self.runs | _instructed()

    @staticmethod
    @functools.lru_cache(maxsize=32)
    def of(schema: str) -> _OwnWords:
        """Return the words beside this schema."""
        return _OwnWords(schema)


@functools.cache
def _instructed() -> frozenset[tuple[str, ...]]:
    return frozenset[tuple[str, ...]]().union(*(_runs(_words(text)) for text in prompt_texts()))


@functools.cache
def _examples() -> frozenset[tuple[str, ...]]:
    """Return the texts of all examples in our prompts: the JSON objects that stand in them."""
    found: set[tuple[str, ...]] = set()
    decoder = json.JSONDecoder(strict=False)
    for text in prompt_texts():
        for opened in re.finditer(r"^\{", text, re.MULTILINE):
            example, _ = decoder.raw_decode(text, opened.start())
            found |= {tuple(words) for each in texts_in(example) if len(words := _words(each)) >= _LEAST_WORDS}
    return frozenset(found)


def _descriptions(schema: object) -> Iterator[str]:
    if isinstance(schema, Mapping):
        for key, each in schema.items():
            if key == "description" and isinstance(each, str):
                yield each
            else:
                yield from _descriptions(each)
    elif isinstance(schema, list):
        for each in schema:
            yield from _descriptions(each)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _runs(words: Sequence[str]) -> frozenset[tuple[str, ...]]:
    return frozenset(zip(*(islice(words, start, None) for start in range(RUN)), strict=False))


def _much_of(said: Sequence[str], known: frozenset[tuple[str, ...]]) -> bool:
    runs = _runs(said)
    return bool(runs) and len(runs & known) >= _SHARE * len(runs)


def _nearly(said: Sequence[str], text: Sequence[str]) -> bool:
    """Return whether two texts have most of their words in common, without short ones and numbers."""
    first, second = ({word for word in each if len(word) >= _LONG and word.isalpha()} for each in (said, text))
    return min(len(first), len(second)) >= _LEAST_WORDS and len(first & second) >= _SAME_WORDS * len(first | second)
