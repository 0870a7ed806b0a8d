"""Which of a query's terms come from an identifier, told from the terms alone.

Analysis gives an identifier's parts and then the whole (``engine/analysis.py``); the index stems both. A stem may end
earlier in the whole than in the part (``header`` but ``mischead``), and a part that is a stop word is not among the
terms (``with_traceback`` gives ``traceback withtraceback``). Both are allowed for.
"""

from __future__ import annotations

from collections.abc import Sequence

from reasoningbank.memories.words import STOP_WORDS

_LEAST_PART = 3
_LEAST_END = 2
_STEMMED = 4
"""The stem of a whole may lack so many letters of its last part."""
_STOP_STEMS = frozenset(word[:length] for word in STOP_WORDS for length in range(max(2, len(word) - 2), len(word) + 1))


def identifier_places(terms: Sequence[str]) -> set[int]:
    """Return places of the terms that are a whole identifier, or the parts of it right before."""
    places: set[int] = set()
    for place, whole in enumerate(terms):
        first = place
        while first > 0 and _holds(whole, terms[first - 1]):
            first -= 1
        parts = terms[first:place]
        several = len(parts) >= 2 and len(whole) >= len(parts[-1]) + len(parts[-2]) - _STEMMED
        if several or (parts and _is_stop_word_and(parts[-1], whole)):
            places.update(range(first, place + 1))
    return places


def _holds(whole: str, part: str) -> bool:
    """Return whether the part stands in the whole, or the whole ends with the beginning of it."""
    return part[: max(1, len(part) - 1)] in whole or _common_end(whole, part) >= _LEAST_END


def _common_end(whole: str, part: str) -> int:
    """Return the length of the longest beginning of the part that the whole ends with."""
    return next((length for length in range(len(part), 0, -1) if whole.endswith(part[:length])), 0)


def _is_stop_word_and(part: str, whole: str) -> bool:
    """Return whether the whole is the part with a stop word before or after it."""
    if len(part) < _LEAST_PART or len(whole) <= len(part):
        return False
    if whole.startswith(part):
        return whole[len(part) :] in _STOP_STEMS
    end = _common_end(whole, part)
    return end >= _LEAST_END and whole[:-end] in _STOP_STEMS
