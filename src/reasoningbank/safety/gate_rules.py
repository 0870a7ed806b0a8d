"""Read the rules of the gate, and tell from a text's words which of them to try.

The rules are data, in ``gate_rules.toml``, with texts that each stops and texts that it must not stop. A way of a rule
holds only for texts with words of its groups. What a word opens, in whatever disguise it wears, is remembered, because
texts repeat their words: an honest text costs one look-up a word.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache, reduce
from importlib.resources import files
from operator import or_
from types import MappingProxyType
from typing import NamedTuple

from reasoningbank.safety.addresses import MARKS, Kind, places
from reasoningbank.safety.unicode import apart, forms, spans_words

_FILE = "gate_rules.toml"
_PART = re.compile(r"\{([a-z_]+)\}")
_RUN = re.compile(r"[a-z]+")
_UNDISGUISED = re.compile(
    r"""["'(`]?(?:"""
    r"""(?:[A-Za-z][a-z]+|[A-Z]{2,})(?:[-'_][a-z]{2,})*(?:'[a-z])?(?:\(\))?(?:[.,;:!?)"'`]|[)"'`][.,;:])?"""
    r"""|[0-9]{3,}(?:[.,;!?)"'`]|[)"'`][.,;])?)""",
    re.ASCII,
)
"""A word of plain letters or digits: it has one form, names no place and belongs to no disguise."""
_TWO_UNDISGUISED = re.compile(
    r"""["'(`]?[A-Za-z][a-z]+(?:[.,;:!?][)"'`]?|[)"'`][.,;:!?]?|(?=[A-Z]))[A-Za-z][a-z]+[.,;:!?)"'`]?""", re.ASCII
)
"""Two words of plain letters, as where one text ends and another begins: they have one form and belong to no disguise,
and are read apart as well."""
_LONGEST_UNDISGUISED = 19
"""A longer word may be something encoded."""
_MOST_KNOWN = 16_384
_LONGEST_KNOWN = 60
DISGUISE = 1
"""The bit of a word that may belong to a disguise over several words."""
ADDRESS = 2
"""The bit of a word that names a place that may serve what a stranger wrote."""
OUTSIDE = 4
"""The bit of a word that names a place outside."""
_FIRST_GROUP = 8
_BITS: Mapping[Kind, int] = MappingProxyType(
    {
        "outside": ADDRESS | OUTSIDE,
        "plain": ADDRESS | OUTSIDE,
        "reserved": ADDRESS,
        "known": ADDRESS,
        "installer": 0,
        "private": 0,
    }
)


class RuleWay(NamedTuple):
    """One wording of what a rule stops.

    Attributes:
        groups: It is tried on texts with a word of each group; a word with a star begins so. Without any, on texts that
            name an address of a stranger.
        pattern: What then has to match the text with its addresses marked.
    """

    groups: tuple[tuple[str, ...], ...]
    pattern: re.Pattern[str]


class Rule(NamedTuple):
    """One thing that a text may do to its reader.

    Attributes:
        does: What, in words.
        ways: How it may be worded.
        warned: Whether a warning frees what it governs.
        stops: Texts that it stops.
        passes: Texts near to these that no rule stops.
    """

    does: str
    ways: tuple[RuleWay, ...]
    warned: bool
    stops: tuple[str, ...]
    passes: tuple[str, ...]


@cache
def rules() -> tuple[Rule, ...]:
    """Return the rules of the gate, read once."""
    found = tomllib.loads(files("reasoningbank.safety").joinpath(_FILE).read_text(encoding="utf-8"))
    outside = MARKS["outside"] + MARKS["plain"] + MARKS["reserved"]
    marks = {"outside": f"[{outside}]", "plain": MARKS["plain"], "place": f"[{outside}{MARKS['known']}]"}
    parts = {**found["parts"], **marks}
    return tuple(_rule(parts, **rule) for rule in found["rule"])


def _rule(
    parts: Mapping[str, str],
    *,
    does: str,
    ways: Sequence[tuple[str, str]],
    stops: Sequence[str],
    passes: Sequence[str],
    warned: bool = True,
) -> Rule:
    made = tuple(
        RuleWay(
            tuple(tuple(group.split()) for group in words.split("+") if group.strip()),
            re.compile(_filled(way, parts), re.IGNORECASE | re.MULTILINE),
        )
        for words, way in ways
    )
    return Rule(does, made, warned, tuple(stops), tuple(passes))


def _filled(way: str, parts: Mapping[str, str]) -> str:
    """Return a regular expression with its parts filled in, which may have parts of their own."""
    return _PART.sub(lambda part: _filled(parts[part[1]], parts), way)


class RuleWords:
    """Tell which ways the words of a text open, also those of words that wear a disguise.

    Args:
        chosen: The rules.
    """

    def __init__(self, chosen: Sequence[Rule]) -> None:
        self._whole: dict[str, int] = {}
        self._begun: dict[str, int] = {}
        self._ways: list[tuple[int, Rule, re.Pattern[str]]] = []
        groups: dict[tuple[str, ...], int] = {}
        for rule in chosen:
            for way in rule.ways:
                for group in way.groups:
                    if group not in groups:
                        groups[group] = _FIRST_GROUP << len(groups)
                        self._add(group, groups[group])
                needed = reduce(or_, (groups[group] for group in way.groups), 0) or ADDRESS
                self._ways.append((needed, rule, way.pattern))
        self._sizes = sorted({len(word) for word in self._begun})
        self._beginnings = {word[: self._sizes[0]] for word in self._begun}
        self._opened: dict[int, list[tuple[Rule, re.Pattern[str]]]] = {}
        self._harmless: set[str] = set()
        self._harmless_before: set[str] = set()
        self._telling: dict[str, int] = {}

    def _add(self, group: Sequence[str], bit: int) -> None:
        for word in group:
            kept = self._begun if word.endswith("*") else self._whole
            kept[word.rstrip("*")] = kept.get(word.rstrip("*"), 0) | bit

    def read(self, text: str) -> int:
        """Return what the words of a text hold, as bits: groups, ``DISGUISE``, ``ADDRESS``, ``OUTSIDE``."""
        return self._read(set(text.split()))

    def read_joined(self, texts: Sequence[str]) -> int:
        """Return the same of texts with and without a blank between; words put together so are not remembered."""
        words = set(" ".join(texts).split())
        together = set("".join(texts).split()) - words
        return reduce(or_, map(self.told, together), self._read(words))

    def _read(self, words: set[str]) -> int:
        words -= self._harmless
        words -= self._harmless_before
        return reduce(or_, [self._telling.get(word) or self._told(word) for word in words], 0)

    def opened(self, bits: int) -> list[tuple[Rule, re.Pattern[str]]]:
        """Return the ways that a text with these bits may be worded in, each with its rule."""
        found = self._opened.get(bits)
        if found is None:
            if len(self._opened) >= _MOST_KNOWN:
                self._opened.clear()
            found = [(rule, pattern) for needed, rule, pattern in self._ways if bits & needed == needed]
            self._opened[bits] = found
        return found

    def _told(self, word: str) -> int:
        bits = self.told(word)
        if len(word) <= _LONGEST_KNOWN:
            if len(self._harmless) + len(self._telling) >= _MOST_KNOWN:
                self._harmless_before, self._harmless, self._telling = self._harmless, set(), {}
            if bits:
                self._telling[word] = bits
            else:
                self._harmless.add(word)
        return bits

    @staticmethod
    def is_undisguised(word: str) -> bool:
        """Return whether a word surely has one form, names no place and belongs to no disguise."""
        return len(word) <= _LONGEST_UNDISGUISED and _UNDISGUISED.fullmatch(word) is not None

    def told(self, word: str) -> int:
        """Return what a word holds, as bits."""
        if self.is_undisguised(word):
            return self._opened_by(word)
        if len(word) <= _LONGEST_UNDISGUISED and _TWO_UNDISGUISED.fullmatch(word):
            return self._named_by(word) | self._opened_by(word) | self._opened_by(apart(word))
        return self.told_in_all_forms(word)

    def told_in_all_forms(self, word: str) -> int:
        """Return what a word holds that may name a place or wear a disguise."""
        bits = DISGUISE if spans_words(word) else 0
        for form in dict.fromkeys(each for read in forms(word) for each in (word, read, apart(read))):
            bits |= self._named_by(form) | self._opened_by(form)
        return bits

    @staticmethod
    def _named_by(plain: str) -> int:
        """Return what the places hold that a text in plain characters names."""
        return reduce(or_, [_BITS[place.kind] for place in places(plain)], 0)

    def _opened_by(self, plain: str) -> int:
        """Return the groups of the words in a text in plain characters."""
        bits = 0
        for run in _RUN.findall(plain.lower()):
            bits |= self._whole.get(run, 0)
            if run[: self._sizes[0]] in self._beginnings:
                for size in self._sizes:
                    bits |= self._begun.get(run[:size], 0)
        return bits
