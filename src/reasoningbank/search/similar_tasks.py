"""Search by task: everything that the tasks most like the query have taught."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from reasoningbank.memories.admission import TASK
from reasoningbank.safety.stored_text import reveal
from reasoningbank.storage.store import Store
from reasoningbank.types.memory import Memory
from reasoningbank.types.ports import Vector
from reasoningbank.types.recall import TASK_LEG, Filter, Hit, Leg
from reasoningbank.types.records import LexicalMatches

MAX_EXPERIENCES = 20
_ITEMS_PER_EXPERIENCE = 10
_LEAST_CANDIDATES = 50


def experiences(
    store: Store, vector: Vector, condition: Filter, *, count: int, model_id: str, floor: float | None = None
) -> tuple[Hit, ...]:
    """Return the items of the experiences whose tasks are closest, one experience after the other.

    An experience is one task in one session: several attempts at it, as MaTTS makes them, are one experience.

    Args:
        store: Where to look.
        vector: The task's vector.
        condition: What an item must be.
        count: Most experiences, at most ``MAX_EXPERIENCES``.
        model_id: The vector space.
        floor: The least relevance of a task; None for that of a search.
    """
    from reasoningbank.search.fusion import FLOOR, fuse

    wanted = min(count, MAX_EXPERIENCES)
    if wanted <= 0:
        return ()
    most = max(_LEAST_CANDIDATES, wanted * _ITEMS_PER_EXPERIENCE)
    near, size = store.search.nearest_among(TASK_LEG, vector, condition, most)
    relevant = {
        one.id: one
        for one in fuse(
            {one.id: one.score for one in near},
            {},
            LexicalMatches(documents=size),
            model_id=model_id,
            floor=FLOOR if floor is None else floor,
        )
    }
    ranks = {one.id: Leg(rank=rank, score=one.score) for rank, one in enumerate(near, start=1)}
    memories = store.memories.many(list(relevant))
    groups: dict[tuple[str, str], list[Memory]] = {}
    for memory in (memories[one] for one in ranks if one in memories):
        experience = _experience(memory)
        if experience in groups or len(groups) < wanted:
            groups.setdefault(experience, []).append(memory)
    hits: dict[str, Hit] = {}
    trajectories = {memory.provenance.get("trajectory", "") for items in groups.values() for memory in items} - {""}
    taught = store.sessions.taught(trajectories) if trajectories else {}
    for items in groups.values():
        first = items[0].id
        for memory in _whole(taught, items, condition):
            legs = {TASK_LEG: ranks.get(memory.id, ranks[first])}
            fused = relevant.get(memory.id, relevant[first])
            hit = Hit(memory=reveal(memory), relevance=fused.relevance, fit=fused.fit, legs=legs)
            hits.setdefault(memory.id, hit)
    return tuple(hits.values())


def _experience(memory: Memory) -> tuple[str, str]:
    """Return what makes an experience: one task in one session, however many attempts were made at it."""
    provenance = memory.provenance
    source = provenance.get("session") or provenance.get("trajectory") or memory.id
    return source, provenance.get(TASK, memory.id)


def _whole(taught: Mapping[str, Sequence[Memory]], items: Sequence[Memory], condition: Filter) -> Iterator[Memory]:
    """Yield all that an experience taught, in the order of learning, also what it only confirmed."""
    trajectories = dict.fromkeys(memory.provenance.get("trajectory", "") for memory in items)
    learned = {memory.id: memory for one in trajectories for memory in taught.get(one, ())}
    yield from (memory for memory in learned.values() if condition.accepts(memory))
    yield from (memory for memory in items if memory.id not in learned)


def unproven_apart(hits: tuple[Hit, ...], min_confidence: float) -> tuple[tuple[Hit, ...], tuple[Hit, ...]]:
    """Return the proven and the unproven hits, each in their order; all of them are shown (DESIGN D6)."""
    proven = tuple(hit for hit in hits if hit.confidence >= min_confidence)
    rest = tuple(replace(hit, unproven=True) for hit in hits if hit.confidence < min_confidence)
    return proven, rest
