"""Tell whether a claim stands in its sources: by its words, its exact details, and what it says not to do.

Words cannot prove that a sentence follows from others. What can be told without a model is told strictly: no number,
name or command that no cited source holds; most words from the cited sources; and never advice for what the sources
warn of, or against what they advise.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from reasoningbank.memories.words import STOP_WORDS, analyse

LEAST_SUPPORT = 0.6
"""This share of a claim's words must stand in the sources it cites, by their stems."""
_DETAIL = re.compile(r"`[^`\n]+`|\S*[\d_/\\@#=$<>{}*]\S*|--?\w[\w-]*|\b\w+(?:\.\w+)+\b|\b[a-z]+[A-Z]\w*|\b[A-Z]{2,}\w*")
_EDGES = ".,;:!?()[]\"'`"
_SENTENCE = re.compile(r"[.;:!?]\s+|\n+|,\s+(?=(?:but|and|or|never|not|do not|don't|avoid|instead)\b)", re.IGNORECASE)
_NOT = re.compile(
    r"\b(?:not|never|avoid\w*|cannot|can't|don't|doesn't|didn't|mustn't|shouldn't|won't|isn't|aren't|wasn't|stop|skip|"
    r"instead of|rather than|refuse\w*|forbid\w*)\b",
    re.IGNORECASE,
)
_ENDINGS = ("ations", "ation", "ings", "ing", "edly", "ied", "ies", "ed", "es", "s", "e", "y", "ly")
_SHORTEST_STEM = 3
_TOLERANCE = 0.75
"""Clauses of a source nearly as close to a claim as the closest one count too."""


def check_claim(claim: str, sources: Sequence[str]) -> str:
    """Return what is wrong with a claim, as the rest of a sentence; empty when it stands in its sources.

    Args:
        claim: One statement.
        sources: The texts of the sources that it names, at least one.
    """
    said = [source.casefold() for source in sources]
    for detail in _details(claim):
        if not any(detail in source for source in said):
            return f"says {detail[:60]!r}, which no source that it names says"
    words = stems(claim)
    held = set().union(*(stems(source) for source in sources))
    if words and len(words & held) < LEAST_SUPPORT * len(words):
        return "says more than the sources that it names"
    if words and not any(_agrees(claim, source) for source in sources):
        return "turns around what the sources that it names say to do or not to do"
    return ""


def stems(text: str) -> set[str]:
    """Return the stems of the words that carry meaning."""
    return {_stem(word) for word in analyse(text).split() if word not in STOP_WORDS and len(word) > 1}


def _details(claim: str) -> list[str]:
    """Return the exact things a claim names: numbers, options, paths, names of code, acronyms."""
    found = (match.group().strip(_EDGES).casefold() for match in _DETAIL.finditer(claim))
    return [detail for detail in found if len(detail) > 1 or detail.isdigit()]


def _agrees(claim: str, source: str) -> bool:
    """Return whether some clause of the source that is about the same advises in the same direction as the claim."""
    return all(
        (_NOT.search(clause) is not None) in directions
        for clause in _clauses(claim)
        if (directions := _directions(stems(clause), source))
    )


def _directions(words: set[str], source: str) -> set[bool]:
    """Return whether the clauses of a source that are closest to these words say not to.

    Empty when none is about them.
    """
    shared = [(len(words & stems(clause)), _NOT.search(clause) is not None) for clause in _clauses(source)]
    most = max((count for count, _ in shared), default=0)
    if most * 2 < len(words) or not most:
        return set()
    return {against for count, against in shared if count >= _TOLERANCE * most}


def _clauses(text: str) -> list[str]:
    return [clause for clause in _SENTENCE.split(text) if clause.strip()]


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
            return word[: -len(ending)]
    return word
