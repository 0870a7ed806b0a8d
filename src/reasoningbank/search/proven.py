"""The best proven memories of a scope when no task is known."""

from __future__ import annotations

from reasoningbank.safety.stored_text import reveal
from reasoningbank.storage.store import Store
from reasoningbank.types.memory import Memory
from reasoningbank.types.recall import Filter, Hit

POOL = 30
"""How many memories are considered at most."""
CONSIDERED = 2_000
"""Without a task the newest so many proven memories compete; a bank of more than that is better asked with a task."""
_STEP = 0.05


def proven(store: Store, condition: Filter) -> tuple[Hit, ...]:
    """Return the best proven memories when no task is known, best first.

    Best is the highest lower end of the 90 % interval, compared in steps of 0.05; within a step what was used or
    changed last comes first. A claim is not shown to who has not asked (DESIGN D16).
    """
    known = (memory for memory in store.memories.newest(condition, CONSIDERED) if memory.standing != "claim")
    ordered = sorted(known, key=rank_key)
    level = store.scope.level
    return tuple(Hit(memory=reveal(memory), relevance=0.0, legs={}, scope=level) for memory in ordered[:POOL])


def rank_key(memory: Memory, weight: float = 1.0) -> tuple[int, float, str]:
    """Return what proven memories are ordered by when no task is known; the weight is that of the memory's scope."""
    return (
        -round(weight * memory.belief.lower_bound / _STEP),
        -max(memory.updated_at, memory.last_used or memory.updated_at).timestamp(),
        memory.id,
    )
