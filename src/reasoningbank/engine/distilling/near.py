"""Whether a new lesson says what a known one says already.

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

import re
from dataclasses import dataclass

from reasoningbank.domain.memory import Memory, fingerprint
from reasoningbank.engine.distilling.validate import overlap, polarity, terms

SHARE_OF_WORDS = 0.6
"""Least share of the new lesson's words that the known one has."""
NEIGHBOURS = 8
"""How many of the closest memories are looked at."""

_HEADINGS = frozenset(("task", "approach", "worked", "result", "tags", "tried", "wrong", "reached", "part", "pattern"))
_NUMBER = re.compile(r"(?<![\w(])\d+(?:[.,:]\d+)*(?!\w*\))")


@dataclass(frozen=True, slots=True, kw_only=True)
class Closeness:
    """The least cosine of near-duplicates in one family of embedding models, lower case part of the model id."""

    family: str
    cosine: float


THRESHOLDS = (Closeness(family="granite", cosine=0.94), Closeness(family="minilm", cosine=0.88))
"""The families that were measured."""
UNMEASURED = 0.97
"""For any other model: only what is all but the same text, so that nothing is swallowed by mistake."""


def threshold(model_id: str) -> float:
    """The least cosine at which texts may be near-duplicates in this vector space."""
    name = model_id.casefold()
    return next((known.cosine for known in THRESHOLDS if known.family in name), UNMEASURED)


def is_near(new: Memory, known: Memory, cosine: float, model_id: str) -> bool:
    """Whether the known memory says what the new one says, given the cosine of their titles with contents."""
    if new.outcome != known.outcome:
        return False
    if fingerprint(new.title, new.content) == fingerprint(known.title, known.content):
        return True
    if cosine < threshold(model_id):
        return False
    task = new.provenance.get("task", "")
    fresh, held = _words(new, task), _words(known, task)
    return overlap(fresh, held) >= SHARE_OF_WORDS and not _differ(new.content, known.content)


def _words(memory: Memory, task: str) -> set[str]:
    """What a memory says beyond its own task and the headings of the template."""
    return set(terms(f"{memory.title}\n{memory.content}")) - _HEADINGS - set(terms(task))


def _differ(first: str, second: str) -> bool:
    if polarity(first) != polarity(second):
        return True
    numbers, others = set(_NUMBER.findall(first)), set(_NUMBER.findall(second))
    return bool(numbers and others) and numbers.isdisjoint(others)
