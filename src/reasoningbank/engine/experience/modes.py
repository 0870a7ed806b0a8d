"""What a retrieval mode of the experience search lets through and in which order (row H14): asserted, never ignored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from reasoningbank.domain.experience import KNOWLEDGE_CATEGORIES, SEARCH_MODES, SearchMode
from reasoningbank.domain.recall import Filter, Hit
from reasoningbank.errors import InvalidInput

RECOVERED_PER_HIT = 3
"""A session is recovered from so many times as many relevant memories as are shown, the newest of them first."""


def checked_mode(mode: str) -> SearchMode:
    """The mode of this name.

    Raises:
        InvalidInput: When there is none.
    """
    for known in SEARCH_MODES:
        if mode == known:
            return known
    raise InvalidInput(f"a mode is one of {', '.join(SEARCH_MODES)}, not {str(mode)[:80]!r}")


def restricted(mode: SearchMode, condition: Filter) -> Filter:
    """The condition with what the mode asks for; stores apply it inside every leg."""
    if mode == "session_recovery":
        return replace(condition, consolidated=False)
    if mode == "knowledge_lookup":
        return replace(condition, categories=KNOWLEDGE_CATEGORIES)
    return condition


def room(mode: SearchMode, limit: int) -> int:
    """How many relevant memories are looked for, so that the best by the mode's order are among them."""
    return RECOVERED_PER_HIT * limit if mode == "session_recovery" else limit


def ordered(mode: SearchMode, hits: Sequence[Hit], limit: int) -> tuple[Hit, ...]:
    """The hits to show, best first; a session that is recovered shows its newest first."""
    if mode == "session_recovery":
        hits = sorted(hits, key=lambda hit: (hit.memory.created_at, hit.relevance), reverse=True)
    return tuple(hits[:limit])
