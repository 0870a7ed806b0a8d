"""Tell from the words of two lessons of one subject whether one advises against what the other advises.

A word is advised against when it is the first one after ``never``, ``do not``, ``without``, ``out of`` and the like, or
after ``avoid`` at the beginning of a clause: "never rotate keys", "run it without a backup". It is advised plainly when
it stands before every such word of its clause, and before every ``not``, ``instead of``, ``to avoid`` and the like:
what follows these is neither. Two lessons contradict each other when one advises plainly what the other advises against
and nowhere advises against it itself, or when they advise two verbs that are each other's opposite.

That says something of lessons that are near in meaning alone. Of 692 pairs of distilled items (ReMe) with a granite
cosine of at least .86, none of which contradict each other, 16 (2.3 %, 95 % interval 1.4 to 3.7) look like it by these
words; 26 do when one of the two advises against anything at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from reasoningbank.memories.words import terms

_CLAUSE = re.compile(r"[.;:!?,\n]+(?:\s|$)")
_AGAINST = re.compile(
    r"^\s*avoid\b|\b(?:never|cannot|without|out of|(?:do|must|should) not|(?:do|must|should|ca)n['\u2019]t|nunca"
    r"|niemals|jamais)\b",
    re.IGNORECASE,
)
_LEFT_OPEN = re.compile(
    r"\b(?:not|no|nor|neither|non|avoid\w*|prevent\w*|instead of|rather than|fail\w*|differently|\w+n['\u2019]t)\b",
    re.IGNORECASE,
)
_OPPOSITES: Sequence[tuple[frozenset[str], frozenset[str]]] = tuple(
    (frozenset(first.split()), frozenset(second.split()))
    for first, second in (
        ("enable", "disable"),
        ("allow", "deny forbid refuse block reject"),
        ("accept", "refuse reject"),
        ("open", "close"),
        ("keep", "delete remove drop end discard"),
        ("add", "remove delete drop"),
        ("start", "stop"),
        ("lock", "unlock"),
        ("verify check validate", "ignore skip"),
        ("include", "exclude leave"),
        ("raise increase", "lower decrease reduce"),
        ("encrypt hash mask redact", "plain plaintext"),
    )
)
"""Words of which one undoes the other."""
_LEAST_PLURAL = 4


class _Advice(NamedTuple):
    """The words that a text advises against, and those that it advises plainly."""

    against: frozenset[str]
    plain: frozenset[str]


def contradicts(first: str, second: str) -> bool:
    """Return whether one of two texts of one subject advises against what the other advises."""
    one, other = _advice(first), _advice(second)
    return _turns(one, other) or _turns(other, one) or _undoes(one, other) or _undoes(other, one)


def _turns(one: _Advice, other: _Advice) -> bool:
    return bool((one.against - other.against) & other.plain)


def _undoes(one: _Advice, other: _Advice) -> bool:
    said, replied = one.plain | one.against, other.plain | other.against
    return any(
        one.plain & does and not said & undoes and other.plain & undoes and not replied & does
        for does, undoes in _OPPOSITES
    )


def _advice(text: str) -> _Advice:
    against: set[str] = set()
    plain: set[str] = set()
    for clause in _CLAUSE.split(text):
        found = [*_AGAINST.finditer(clause)]
        for each in found:
            against |= _words(terms(clause[each.end() :])[:1])
        starts = [each.start() for each in (*found, *_LEFT_OPEN.finditer(clause))]
        plain |= _words(terms(clause[: min(starts)] if starts else clause))
    return _Advice(frozenset(against), frozenset(plain))


def _words(found: Iterable[str]) -> set[str]:
    """Return the words without the ending of a plural."""
    return {
        word[:-1] if len(word) >= _LEAST_PLURAL and word.endswith("s") and not word.endswith("ss") else word
        for word in found
    }
