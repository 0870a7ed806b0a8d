"""Memories as a block of quoted data for an agent: id, confidence and age, never an instruction (DESIGN D10)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from reasoningbank.domain.briefing import BriefItem
from reasoningbank.domain.recall import Hit
from reasoningbank.engine.rendering import fitting

BLOCK_TOKENS = 6_000
"""Most tokens of a block; what does not fit is left out."""


def block(memories: Sequence[Hit], *, now: datetime | None = None, tokens: int = BLOCK_TOKENS) -> str:
    """The memories between the marks by which capture knows its own words again; empty without memories.

    Args:
        memories: What was recalled, best first.
        now: When the block is read; it decides the ages.
        tokens: Most tokens of the block (cl100k).
    """
    return fitting([BriefItem(hit=hit) for hit in memories], now or datetime.now(UTC), tokens)[2]
