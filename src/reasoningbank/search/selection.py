"""Which memories an agent is shown: relevant or proven, different from each other, within a token budget."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime

from reasoningbank.llm.tokens import count_tokens
from reasoningbank.memories.similarity import cosine_similarity, is_near
from reasoningbank.safety.quotation import fitting
from reasoningbank.safety.text import reveal
from reasoningbank.storage.store import Store
from reasoningbank.types.memory import Memory
from reasoningbank.types.ports import Vector
from reasoningbank.types.recall import Brief, BriefItem, Filter, Hit, LeftOut

POOL = 30
"""How many memories are considered at most."""
CONSIDERED = 2_000
"""Without a task the newest so many proven memories compete; a bank of more than that is better asked with a task."""
_STEP = 0.05


def proven(store: Store, condition: Filter) -> tuple[Hit, ...]:
    """Return the best proven memories when no task is known, best first.

    Best is the highest lower end of the 90 % interval, compared in steps of 0.05; within a step what was used or
    changed last comes first.
    """
    count = store.memories.count(condition)
    memories = store.memories.page(condition, limit=CONSIDERED, offset=max(0, count - CONSIDERED)) if count else ()
    ordered = sorted(memories, key=standing)
    level = store.scope.level
    return tuple(Hit(memory=reveal(memory), relevance=0.0, legs={}, scope=level) for memory in ordered[:POOL])


def standing(memory: Memory, weight: float = 1.0) -> tuple[int, float, str]:
    """Return what proven memories are ordered by when no task is known; the weight is that of the memory's scope."""
    return (
        -round(weight * memory.belief.lower_bound / _STEP),
        -max(memory.updated_at, memory.last_used or memory.updated_at).timestamp(),
        memory.id,
    )


def choose(
    vector_of: Callable[[Hit], Vector | None],
    items: Sequence[BriefItem],
    *,
    model_id: str,
    budget: int,
    limit: int,
    moment: datetime,
    shown_before: Collection[str] = (),
) -> Brief:
    """Take from the items, best first, what is new, different from what was taken, and fits.

    Args:
        vector_of: The vector of an item's title and content.
        items: What may be shown, best first.
        model_id: The vector space of the near-duplicates' thresholds.
        budget: Most tokens of the text.
        limit: Most items.
        moment: When it is read.
        shown_before: Ids that are not shown again.
    """
    left_out: list[LeftOut] = []
    taken: list[BriefItem] = []
    vectors: dict[str, Vector | None] = {}
    for item in items:
        hit = item.hit
        left_out += [LeftOut(id=twin, reason=f"same text as {hit.id}") for twin in hit.duplicates]
        if hit.id in shown_before:
            left_out.append(LeftOut(id=hit.id, reason="shown before in this session"))
            continue
        vectors[hit.id] = vector_of(hit)
        known = next((one.hit.id for one in taken if _alike(hit, one.hit, vectors, model_id)), None)
        if known is None:
            taken.append(item)
        else:
            left_out.append(LeftOut(id=hit.id, reason=f"near-duplicate of {known}"))
    left_out += [LeftOut(id=item.hit.id, reason="limit") for item in taken[limit:]]
    shown, passed, text = fitting(taken[:limit], moment, budget)
    left_out += [LeftOut(id=item.hit.id, reason="budget") for item in passed]
    return Brief(
        text=text,
        tokens=count_tokens(text),
        items=tuple(shown),
        left_out=tuple(left_out),
        message=_said(len(shown), len(left_out)),
    )


def _alike(new: Hit, known: Hit, vectors: dict[str, Vector | None], model_id: str) -> bool:
    """Return whether either of the two says what the other says."""
    one, other = vectors[new.id], vectors[known.id]
    cosine = 0.0 if one is None or other is None else cosine_similarity(one, other)
    return is_near(new.memory, known.memory, cosine, model_id) or is_near(known.memory, new.memory, cosine, model_id)


def _said(shown: int, left_out: int) -> str:
    if not shown and not left_out:
        return "Nothing known is worth showing here."
    more = f"; {left_out} left out" if left_out else ""
    return f"{shown} {'memory' if shown == 1 else 'memories'} shown{more}."
