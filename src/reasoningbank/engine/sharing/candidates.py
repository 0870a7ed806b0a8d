"""Which lessons several scopes have learned: found through each bank's vector index, never by comparing all pairs.

A memory takes part when it may be recalled, is believed enough, was not promoted to this scope before, and nothing in
the wider scope says the same already. Its neighbours are asked for in each other bank's index, so the work is one index
search per memory and other bank. What comes together is closest first and every pair of it is above the threshold; of
each scope there is one memory in it, the closest.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from reasoningbank.domain.memory import STATES, Memory, Outcome
from reasoningbank.domain.recall import CONTENT_LEG, Filter
from reasoningbank.domain.sharing import (
    LEAST_SCOPES,
    PROMOTED_FROM,
    PROMOTION_CONFIDENCE,
    PROMOTION_COSINE,
)
from reasoningbank.domain.sharing import Reference as Named
from reasoningbank.engine.consolidating.scale import least_cosine
from reasoningbank.engine.similarity import cosine_similarity
from reasoningbank.ports import Store, Vector

NEIGHBOURS = 3
"""So many of the closest memories of another scope are looked at for each memory."""
_BATCH = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Memories of distinct scopes that say nearly the same.

    Attributes:
        members: Each with the place of its bank in the list that was searched, in the order of the banks.
        similarity: The least cosine of its pairs.
    """

    members: tuple[tuple[int, Memory], ...]
    similarity: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pair:
    score: float
    first: tuple[int, str]
    second: tuple[int, str]


def find_groups(banks: Sequence[Store], wider: Store | None, model_id: str) -> list[Group]:
    """What at least two of the banks have learned, the closest first.

    Args:
        banks: Of distinct scopes, all of one vector space.
        wider: The bank of the team or org above them; None when it has none yet.
        model_id: The vector space.
    """
    if len(banks) < LEAST_SCOPES:
        return []
    bar = least_cosine(PROMOTION_COSINE, model_id)
    known = promoted_before(wider) if wider is not None else frozenset[str]()
    memories: dict[tuple[int, str], Memory] = {}
    vectors: dict[tuple[int, str], Vector] = {}
    for place, store in enumerate(banks):
        for memory, vector in _eligible(store, wider, known, bar):
            memories[place, memory.id] = memory
            vectors[place, memory.id] = vector
    pairs = sorted(_pairs(banks, memories, vectors, bar), key=lambda pair: (-pair.score, pair.first[1], pair.second[1]))
    return _grouped(pairs, memories, vectors, bar)


def promoted_before(wider: Store) -> frozenset[str]:
    """References, as text, to everything that a wider scope has or had a promoted memory of."""
    found: set[str] = set()
    offset = 0
    while batch := wider.page(Filter(states=STATES), limit=_BATCH, offset=offset):
        for memory in batch:
            found |= {link.target for link in wider.links(memory.id) if link.kind == PROMOTED_FROM}
        offset += len(batch)
    return frozenset(found)


def known_as(wider: Store, vector: Vector, outcome: Outcome, model_id: str, cosine: float = PROMOTION_COSINE) -> str:
    """The id of the wider scope's memory of this outcome that says nearly this; empty when there is none."""
    near = wider.nearest(CONTENT_LEG, vector, Filter(outcome=outcome), 1)
    return near[0].id if near and near[0].score > least_cosine(cosine, model_id) else ""


def _eligible(store: Store, wider: Store | None, known: frozenset[str], bar: float) -> Iterator[tuple[Memory, Vector]]:
    condition = Filter(min_confidence=PROMOTION_CONFIDENCE)
    offset = 0
    while batch := store.page(condition, limit=_BATCH, offset=offset):
        offset += len(batch)
        fresh = [memory for memory in batch if str(Named.to(store.scope, memory.id)) not in known]
        vectors = store.vectors(CONTENT_LEG, [memory.id for memory in fresh])
        for memory in fresh:
            vector = vectors.get(memory.id)
            if vector is None:
                continue
            above = wider.nearest(CONTENT_LEG, vector, Filter(outcome=memory.outcome), 1) if wider is not None else ()
            if not above or above[0].score <= bar:
                yield memory, vector


def _pairs(
    banks: Sequence[Store],
    memories: Mapping[tuple[int, str], Memory],
    vectors: Mapping[tuple[int, str], Vector],
    bar: float,
) -> Iterator[_Pair]:
    for (place, memory_id), memory in memories.items():
        condition = Filter(outcome=memory.outcome, min_confidence=PROMOTION_CONFIDENCE)
        for other in range(place + 1, len(banks)):
            for near in banks[other].nearest(CONTENT_LEG, vectors[place, memory_id], condition, NEIGHBOURS):
                if near.score > bar and (other, near.id) in memories:
                    yield _Pair(score=near.score, first=(place, memory_id), second=(other, near.id))


def _grouped(
    pairs: Sequence[_Pair],
    memories: Mapping[tuple[int, str], Memory],
    vectors: Mapping[tuple[int, str], Vector],
    bar: float,
) -> list[Group]:
    """Complete linkage over the pairs, closest first, with one memory of each scope."""
    group_of: dict[tuple[int, str], int] = {}
    groups: defaultdict[int, list[tuple[int, str]]] = defaultdict(list)
    for number, pair in enumerate(pairs):
        joined = [
            *groups.get(group_of.get(pair.first, -1), [pair.first]),
            *groups.get(group_of.get(pair.second, -1), [pair.second]),
        ]
        first, second = group_of.get(pair.first), group_of.get(pair.second)
        if first is not None and first == second:
            continue
        distinct = len({place for place, _ in joined}) == len(joined)
        if not distinct or any(_cosine(vectors, one, two) <= bar for one, two in combinations(joined, 2)):
            continue
        for old in (first, second):
            if old is not None:
                groups.pop(old, None)
        groups[number] = sorted(joined)
        group_of |= dict.fromkeys(joined, number)
    found = [
        Group(
            members=tuple((place, memories[place, memory_id]) for place, memory_id in members),
            similarity=min(_cosine(vectors, one, two) for one, two in combinations(members, 2)),
        )
        for members in groups.values()
    ]
    return sorted(found, key=lambda group: (-len(group.members), -group.similarity, group.members[0][1].id))


def _cosine(vectors: Mapping[tuple[int, str], Vector], one: tuple[int, str], two: tuple[int, str]) -> float:
    return cosine_similarity(vectors[one], vectors[two])
