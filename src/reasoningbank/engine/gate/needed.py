"""Words without which a pattern cannot match: a search for plain words is many times as fast as the pattern.

The words are read from the pattern itself, so they cannot fall behind it. No word holds a space: what is taken out of
a text and replaced by a space can therefore never make one.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Sequence
from typing import Any

_parser: Any = importlib.import_module("re._parser")
_ODD_CASE = re.compile("[\u0130\u0131\u017f\u212a]")
"""The letters outside ASCII that a pattern without regard to case takes for ASCII ones."""
_Clause = tuple[str, ...]


class Sieve:
    """Tell which of many patterns may match a text; those that it leaves out cannot.

    Args:
        patterns: Patterns that ignore case.
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        self._ways = [_ways(pattern) for pattern in patterns]
        self._by_word: dict[str, set[int]] = {}
        self._always: set[int] = set()
        for number, ways in enumerate(self._ways):
            for way in ways:
                for word in way[0] if way else ():
                    self._by_word.setdefault(word, set()).add(number)
                if not way:
                    self._always.add(number)

    def passed(self, text: str) -> list[int]:
        """Return the numbers of the patterns that may match, in their order."""
        if _ODD_CASE.search(text):
            return list(range(len(self._ways)))
        lowered = text.lower()
        near = [numbers for word, numbers in self._by_word.items() if word in lowered]
        if not near and not self._always:
            return []
        return [number for number in sorted(self._always.union(*near)) if self._may_match(number, lowered)]

    def _may_match(self, number: int, lowered: str) -> bool:
        return any(all(any(word in lowered for word in clause) for clause in way) for way in self._ways[number])


def _ways(pattern: str) -> list[list[_Clause]]:
    """Return for each alternative of a pattern what its matches hold: of every clause at least one word."""
    parsed = list(_parser.parse(pattern, re.IGNORECASE))
    places = [place for place, (operation, _) in enumerate(parsed) if str(operation) == "BRANCH"]
    sequences = [parsed]
    if places:
        widest = max(places, key=lambda place: len(parsed[place][1][1]))
        sequences = [[*parsed[:widest], *branch, *parsed[widest + 1 :]] for branch in parsed[widest][1][1]]
    return [sorted(_clauses(sequence), key=_worth, reverse=True) for sequence in sequences]


def _clauses(parsed: Iterable[tuple[Any, Any]]) -> list[_Clause]:
    """Return what every match of a sequence holds."""
    found: list[_Clause] = []
    run = ""
    for operation, argument in parsed:
        name = str(operation)
        if name == "LITERAL" and 32 < argument < 127:
            run += chr(argument).lower()
            continue
        if run:
            found.append((run,))
            run = ""
        if name == "SUBPATTERN":
            found += _clauses(argument[-1])
        elif name == "ATOMIC_GROUP":
            found += _clauses(argument)
        elif name == "BRANCH":
            found += _united([_clauses(branch) for branch in argument[1]])
        elif name in {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"} and argument[0] > 0:
            found += _clauses(argument[2])
    return [*found, (run,)] if run else found


def _united(branches: Sequence[Sequence[_Clause]]) -> list[_Clause]:
    """Return the one clause that holds whichever branch matches, if there is one."""
    if not all(branches):
        return []
    words = {word for branch in branches for word in max(branch, key=_worth)}
    shortest = sorted(words, key=len)
    kept = [word for place, word in enumerate(shortest) if not any(each in word for each in shortest[:place])]
    return [tuple(sorted(kept))]


def _worth(clause: _Clause) -> tuple[int, int]:
    """Rank clauses: long words rule out most, few words are looked for fastest."""
    return min(4, min(map(len, clause))), -len(clause)
