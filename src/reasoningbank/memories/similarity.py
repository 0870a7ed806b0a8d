"""Similarity of memories: cosines, thresholds of each embedding model, and words that two texts share.

The seed's threshold of 0.8 is on the scale of all-MiniLM and its like. Other models squeeze their cosines: two lessons
of one subject that say different things have 0.85 with granite. A threshold t is therefore compared as t ** p, which
leaves 0 and 1 where they are; p is such that 0.8 falls where texts begin to say nearly the same.

For granite that is 0.91: of 25 pairs drawn from ReMe's items (899) in five bands of their cosine and read by hand, all
10 above 0.92 and all 5 from 0.90 to 0.92 say nearly the same, 3 of 5 from 0.87 to 0.90, none of 5 below. For every
model that was not measured the cosine is compared as it is.

Both must hold: the vectors of title and content are closer than the model's threshold, and three fifths of the new
lesson's words, those of its task aside, stand in the known one. Neither alone is enough: texts of one subject are close
("check the token before the call" and "refresh the token after a 401"), and texts from one template share their words.
The share is taken of the new lesson alone, so one that says more than the known one is stored.

The thresholds were chosen on the near-duplicates of an ACE playbook (359 bullets) and of ReMe's items (899). Of 34
pairs drawn among those with a granite cosine above .925 and half of their words in common, and read by hand, 18 passed
.94 and three fifths: 15 of them say the same, in three one says more, none contradicts the other. MiniLM spreads its
cosines wider; .88 divides the same pairs. A lesson that is swallowed is lost until its session is distilled again, one
that is stored twice can be merged later, so the thresholds are on the strict side.

Two more signs keep lessons apart whatever the cosine says: one advises against what the other advises, or both name
numbers and none of them is the same.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from reasoningbank.memories.words import overlap, polarity, terms
from reasoningbank.types.consolidation import SIMILARITY_THRESHOLD
from reasoningbank.types.memory import Memory, fingerprint

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray


def cosine_similarity(
    first: Sequence[float] | NDArray[numpy.float32], second: Sequence[float] | NDArray[numpy.float32]
) -> float:
    """Return (A . B) / (|A| |B|) in double precision, from -1 to 1.

    Returns 0.0 for empty vectors, vectors of different lengths and vectors of length zero, as seed 004 does.
    """
    import numpy

    left = numpy.asarray(first, dtype=numpy.float64)
    right = numpy.asarray(second, dtype=numpy.float64)
    if left.size == 0 or left.shape != right.shape:
        return 0.0
    largest = float(numpy.abs(left).max()), float(numpy.abs(right).max())
    if 0.0 in largest:
        return 0.0
    left, right = left / largest[0], right / largest[1]
    cosine = float(left @ right) / (float(numpy.linalg.norm(left)) * float(numpy.linalg.norm(right)))
    return max(-1.0, min(1.0, cosine))


MEASURED: Mapping[str, float] = MappingProxyType({"int8+all-minilm": 0.855, "granite": 0.91})
"""By the family of models, lower case part of the model id: the cosine that a threshold of 0.8 stands for.

Both models together come first, because their id holds both names; their cosine is the mean of the two.
"""


def least_cosine(threshold: float, model_id: str | None) -> float:
    """Return the cosine that pairs must be above in this vector space; never below the threshold itself."""
    known = family(model_id)
    measured = SIMILARITY_THRESHOLD if known is None else MEASURED[known]
    power = math.log(measured) / math.log(SIMILARITY_THRESHOLD)
    return float(threshold) if power == 1.0 else float(threshold) ** power


def family(model_id: str | None) -> str | None:
    """Return the measured family of models that a model belongs to; None for any other model."""
    name = (model_id or "").casefold()
    return next((known for known in MEASURED if known in name), None)


SHARE_OF_WORDS = 0.6
"""Least share of the new lesson's words that the known one has."""
NEIGHBOURS = 8
"""How many of the closest memories are looked at."""

RETOLD = 0.9
"""Least share of a known lesson's words in a text that tells it again with more beside it. Of 526 lessons of other
people none holds so much of one of its five nearest; 120 lessons with a sentence or another lesson added all do."""
LEAST_RETOLD = 5
"""A lesson of fewer words is told again by chance."""
LONG_RETOLD = 8
"""A lesson of as many words is told again by nobody who has not read it."""
SAME_SITUATION = 0.8
"""Least share of the words of a lesson's title and description in a text that tells it again for its situation."""

_HEADINGS = frozenset(("task", "approach", "worked", "result", "tags", "tried", "wrong", "reached", "part", "pattern"))
_NUMBER = re.compile(r"(?<![\w(])\d+(?:[.,:]\d+)*(?!\w*\))")


@dataclass(frozen=True, slots=True, kw_only=True)
class Closeness:
    """The least cosine of near-duplicates in one family of embedding models, lower case part of the model id."""

    family: str
    cosine: float


THRESHOLDS = (
    Closeness(family="int8+all-minilm", cosine=0.91),
    Closeness(family="granite", cosine=0.94),
    Closeness(family="minilm", cosine=0.88),
)
"""The families that were measured; for both models together it is the mean."""
UNMEASURED = 0.97
"""For any other model: only what is all but the same text, so that nothing is swallowed by mistake."""


def threshold(model_id: str) -> float:
    """Return the least cosine at which texts may be near-duplicates in this vector space."""
    name = model_id.casefold()
    return next((known.cosine for known in THRESHOLDS if known.family in name), UNMEASURED)


def is_near(new: Memory, known: Memory, cosine: float, model_id: str) -> bool:
    """Return whether the known memory says what the new one says, given the cosine of their titles with contents."""
    if new.outcome != known.outcome:
        return False
    if fingerprint(new.title, new.content) == fingerprint(known.title, known.content):
        return True
    return cosine >= threshold(model_id) and shares_words(new, known)


def shares_words(new: Memory, known: Memory, terms_of: Callable[[str], Iterable[str]] = terms) -> bool:
    """Return whether the known memory may say what the new one says, as far as their words tell.

    Args:
        new: The one that may be left out.
        known: The one that stays.
        terms_of: Returns the words that a text is found by; one that remembers, where many pairs are compared.
    """
    if new.outcome != known.outcome:
        return False
    if fingerprint(new.title, new.content) == fingerprint(known.title, known.content):
        return True
    task = set(terms_of(new.provenance.get("task", "")))
    fresh, held = (set(terms_of(f"{each.title}\n{each.content}")) - _HEADINGS - task for each in (new, known))
    return overlap(fresh, held) >= SHARE_OF_WORDS and not _differ(new.content, known.content)


def is_retold(new: Memory, known: Memory) -> bool:
    """Return whether the new memory says again what the known one says to do, whatever it says beside it.

    What a short text says to do may be right elsewhere too: it is told again only for the situation of the known one.
    """
    held = set(terms(known.content)) - _HEADINGS
    fresh = set(terms(f"{new.title}\n{new.description}\n{new.content}"))
    if new.outcome != known.outcome or len(held) < LEAST_RETOLD or overlap(held, fresh) < RETOLD:
        return False
    situation = set(terms(f"{known.title}\n{known.description}")) - _HEADINGS - held
    return len(held) >= LONG_RETOLD or not situation or overlap(situation, fresh) >= SAME_SITUATION


def _differ(first: str, second: str) -> bool:
    if polarity(first) != polarity(second):
        return True
    numbers, others = set(_NUMBER.findall(first)), set(_NUMBER.findall(second))
    return bool(numbers and others) and numbers.isdisjoint(others)
