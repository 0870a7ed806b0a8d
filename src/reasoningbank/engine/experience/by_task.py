"""Recall by the similarity of tasks: whole experiences with all their items, as the paper retrieves (section 3.2).

The paper embeds the task alone, takes the k most similar earlier tasks (k = 1) and injects everything learned from
them. It has no threshold and injects the nearest task however far it is; here a task below the relevance floor brings
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from reasoningbank.domain.memory import Memory
from reasoningbank.domain.recall import TASK_LEG, Filter, Hit, Leg
from reasoningbank.engine.fusion import FLOOR, fuse
from reasoningbank.engine.hygiene import reveal
from reasoningbank.engine.index import TASK
from reasoningbank.ports import LexicalMatches, Store, Vector

MAX_EXPERIENCES = 20
_ITEMS_PER_EXPERIENCE = 10
_LEAST_CANDIDATES = 50


def experiences(
    store: Store, vector: Vector, condition: Filter, *, count: int, model_id: str, floor: float = FLOOR
) -> tuple[Hit, ...]:
    """The items of the experiences whose tasks are closest, experience by experience, in the order they were learned.

    An experience is one task in one session: several attempts at it, as MaTTS makes them, are one experience.

    Args:
        store: Where to look.
        vector: The task's vector.
        condition: What an item must be.
        count: Most experiences, at most ``MAX_EXPERIENCES``.
        model_id: The vector space.
        floor: The least relevance of a task.
    """
    wanted = min(count, MAX_EXPERIENCES)
    if wanted <= 0:
        return ()
    near = store.nearest(TASK_LEG, vector, condition, max(_LEAST_CANDIDATES, wanted * _ITEMS_PER_EXPERIENCE))
    relevant = {
        one.id: one.relevance
        for one in fuse(
            {one.id: one.score for one in near},
            {},
            LexicalMatches(documents=store.count(condition)),
            model_id=model_id,
            floor=floor,
        )
    }
    ranks = {one.id: Leg(rank=rank, score=one.score) for rank, one in enumerate(near, start=1)}
    memories = store.many(list(relevant))
    groups: dict[tuple[str, str], list[Memory]] = {}
    for memory in (memories[one] for one in ranks if one in memories):
        experience = _experience(memory)
        if experience in groups or len(groups) < wanted:
            groups.setdefault(experience, []).append(memory)
    hits: dict[str, Hit] = {}
    for items in groups.values():
        first = items[0].id
        for memory in _whole(store, items, condition):
            legs = {TASK_LEG: ranks.get(memory.id, ranks[first])}
            relevance = relevant.get(memory.id, relevant[first])
            hits.setdefault(memory.id, Hit(memory=reveal(memory), relevance=relevance, legs=legs))
    return tuple(hits.values())


def _experience(memory: Memory) -> tuple[str, str]:
    """What makes an experience: one task in one session, however many attempts were made at it."""
    provenance = memory.provenance
    source = provenance.get("session") or provenance.get("trajectory") or memory.id
    return source, provenance.get(TASK, memory.id)


def _whole(store: Store, items: Sequence[Memory], condition: Filter) -> Iterator[Memory]:
    """All that an experience taught in the order of learning, also what was known before and found again in it."""
    trajectories = dict.fromkeys(memory.provenance.get("trajectory", "") for memory in items)
    taught = dict.fromkeys(origin.memory_id for one in trajectories if one for origin in store.origins(trajectory=one))
    found = store.many(list(taught))
    yield from (found[one] for one in taught if one in found and condition.accepts(found[one]))
    yield from (memory for memory in items if memory.id not in taught)


def unproven_apart(hits: tuple[Hit, ...], min_confidence: float) -> tuple[tuple[Hit, ...], tuple[Hit, ...]]:
    """The proven and the unproven hits, each in their order; all of them are shown (DESIGN D6)."""
    proven = tuple(hit for hit in hits if hit.confidence >= min_confidence)
    rest = tuple(replace(hit, unproven=True) for hit in hits if hit.confidence < min_confidence)
    return proven, rest
