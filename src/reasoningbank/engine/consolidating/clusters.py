"""Which memories say nearly the same: clusters whose every pair is similar, and pairs that contradict each other.

Complete linkage: pairs come closest first, and two clusters become one when the last of the pairs between them has
come, so that every pair inside a cluster is above the threshold and no two clusters that are left could be joined.

A consolidated memory stands for its sources, also when it is compared: it joins another memory only when all that it
was made of is similar to it as well. So nothing drifts from merge to merge, and what one run has left apart the next
one leaves apart too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy
from numpy.typing import NDArray

from reasoningbank.domain.consolidation import Contradiction, SimilarityCluster, is_consolidated
from reasoningbank.domain.memory import Memory
from reasoningbank.domain.recall import CONTENT_LEG, Filter
from reasoningbank.engine.consolidating.contrast import two_lessons
from reasoningbank.engine.consolidating.scale import least_cosine
from reasoningbank.ports import ClosePairs, Store

MOST_MEMBERS = 100
"""Most memories of a cluster, with all that consolidated ones among them were made of."""
MOST_PAIRS = 2_000_000
"""So many of the closest pairs are looked at; a bank with more has its further ones looked at by later runs."""
MOST_CONTRADICTIONS = 1_000
_RECALLABLE = Filter()
_COMPARED = Filter(states=("active", "candidate", "archived"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Similar:
    """What a bank holds that is similar.

    Attributes:
        clusters: The closest first, by the least similarity of their pairs.
        contradictions: The closest first.
    """

    clusters: tuple[SimilarityCluster, ...]
    contradictions: tuple[Contradiction, ...]


def find_similar(store: Store, threshold: float) -> Similar:
    """The clusters and contradictions among the memories that can be recalled; for the threshold see ``scale``."""
    bar = least_cosine(threshold, store.model_id)
    pairs = store.close_pairs(CONTENT_LEG, bar, _COMPARED, limit=MOST_PAIRS)
    if not len(pairs):
        return Similar(clusters=(), contradictions=())
    memories = store.many(pairs.ids)
    roots = _roots(store, memories)
    alike = _without(pairs, two_lessons(pairs, [memories.get(name) for name in pairs.ids], store.model_id))
    groups = linked(alike, _groups(pairs.ids, roots, memories), most=MOST_MEMBERS)
    clusters = _described(alike, groups, roots) if groups else []
    return Similar(clusters=tuple(clusters), contradictions=_contradictions(pairs, memories))


def _without(pairs: ClosePairs, dropped: NDArray[numpy.bool_]) -> ClosePairs:
    kept = ~dropped
    return replace(pairs, first=pairs.first[kept], second=pairs.second[kept], scores=pairs.scores[kept])


def linked(pairs: ClosePairs, groups: Mapping[str, Sequence[str]], *, most: int) -> list[list[str]]:
    """Which groups are to become one, each list with at least two of their names.

    Args:
        pairs: Every close pair, closest first.
        groups: By the name of each group its kind and its members; only pairs between groups of one kind count.
        most: Most members of groups that become one.
    """
    place_of = {memory_id: place for place, memory_id in enumerate(pairs.ids)}
    cluster_of = numpy.full(len(pairs.ids), -1, dtype=numpy.int64)
    names: dict[int, list[str]] = {}
    kinds: dict[int, str] = {}
    sizes: dict[int, int] = {}
    for number, (name, (kind, *members)) in enumerate(groups.items()):
        names[number], kinds[number], sizes[number] = [name], kind, len(members)
        for member in members:
            if member in place_of:
                cluster_of[place_of[member]] = number
    met: dict[int, defaultdict[int, int]] = {number: defaultdict(int) for number in names}
    current = list(range(len(names)))
    first, second = cluster_of[pairs.first], cluster_of[pairs.second]
    usable = (first >= 0) & (second >= 0) & (first != second)
    for one, other in zip(first[usable].tolist(), second[usable].tolist(), strict=True):
        left, right = _now(current, one), _now(current, other)
        if left == right or kinds[left] != kinds[right]:
            continue
        met[left][right] += 1
        met[right][left] += 1
        if met[left][right] < sizes[left] * sizes[right] or sizes[left] + sizes[right] > most:
            continue
        left, right = min(left, right), max(left, right)
        current[right] = left
        names[left] += names.pop(right)
        sizes[left] += sizes.pop(right)
        del met[left][right]
        for third, count in met.pop(right).items():
            if third != left:
                met[left][third] += count
                met[third][left] += count
                del met[third][right]
    return [members for members in names.values() if len(members) > 1]


def _now(current: list[int], number: int) -> int:
    """The cluster that a cluster has become a part of."""
    while current[number] != number:
        current[number] = current[current[number]]
        number = current[number]
    return number


def _roots(store: Store, memories: Mapping[str, Memory]) -> dict[str, Memory]:
    """The memory that stands for each memory now, itself or what it went into; none for what is set aside."""
    known = dict(memories)
    roots: dict[str, Memory] = {}
    while missing := {
        memory.consolidation_id
        for memory in known.values()
        if memory.consolidation_id is not None and memory.consolidation_id not in known
    }:
        found = store.many(sorted(missing))
        if not found:
            break
        known |= found
    for name in memories:
        memory = known[name]
        passed = {name}
        while memory.state == "archived" and memory.consolidation_id in known and memory.consolidation_id not in passed:
            passed.add(memory.consolidation_id)
            memory = known[memory.consolidation_id]
        if memory.state in _RECALLABLE.states:
            roots[name] = memory
            roots[memory.id] = memory
    return roots


def _groups(
    ids: Sequence[str], roots: Mapping[str, Memory], memories: Mapping[str, Memory]
) -> dict[str, Sequence[str]]:
    """By the id of each memory that can be recalled: its outcome, itself, and what it was made of."""
    groups: dict[str, list[str]] = {}
    for name in ids:
        if name in roots and name in memories:
            root = roots[name]
            groups.setdefault(root.id, [root.outcome, root.id])
            if name != root.id:
                groups[root.id].append(name)
    for name, group in groups.items():
        if is_consolidated(roots[name]):
            group += [f"{name}, a source without pairs"] * max(0, sources_below(roots[name]) - (len(group) - 2))
    return {name: tuple(group) for name, group in groups.items()}


def sources_below(memory: Memory) -> int:
    """How many memories a consolidated one stands for, those of its sources included; 0 for any other memory."""
    return int(memory.provenance.get("stands_for", "0"))


def _described(
    pairs: ClosePairs, groups: Sequence[Sequence[str]], roots: Mapping[str, Memory]
) -> list[SimilarityCluster]:
    """The clusters with their statistics over the pairs of their own members, the closest first."""
    cluster_of = {name: number for number, names in enumerate(groups) for name in names}
    numbers = numpy.array([cluster_of.get(name, -1) for name in pairs.ids], dtype=numpy.int64)
    inside = (numbers[pairs.first] == numbers[pairs.second]) & (numbers[pairs.first] >= 0)
    cluster, scores = numbers[pairs.first[inside]], pairs.scores[inside].astype(numpy.float64)
    least = numpy.ones(len(groups))
    numpy.minimum.at(least, cluster, scores)
    sums = numpy.bincount(cluster, weights=scores, minlength=len(groups))
    counts = numpy.bincount(cluster, minlength=len(groups))
    described = [
        SimilarityCluster(
            members=tuple(sorted((roots[name] for name in names), key=lambda memory: (memory.created_at, memory.id))),
            average_similarity=float(sums[number] / counts[number]),
            min_similarity=float(least[number]),
        )
        for number, names in enumerate(groups)
    ]
    return sorted(described, key=lambda each: (-each.min_similarity, each.ids))


def with_centroids(store: Store, clusters: Sequence[SimilarityCluster]) -> tuple[SimilarityCluster, ...]:
    """The clusters with the means of their members' vectors."""
    vectors = store.vectors(CONTENT_LEG, [name for cluster in clusters for name in cluster.ids])
    return tuple(
        replace(
            cluster,
            centroid_vector=tuple(
                numpy.mean([vectors[name] for name in cluster.ids if name in vectors], axis=0, dtype=float).tolist()
            ),
        )
        for cluster in clusters
    )


def _contradictions(pairs: ClosePairs, memories: Mapping[str, Memory]) -> tuple[Contradiction, ...]:
    found: list[Contradiction] = []
    failed = numpy.array([name in memories and memories[name].outcome == "failure" for name in pairs.ids])
    recallable = numpy.array([name in memories and memories[name].state in _RECALLABLE.states for name in pairs.ids])
    opposite = (failed[pairs.first] != failed[pairs.second]) & recallable[pairs.first] & recallable[pairs.second]
    for place in numpy.flatnonzero(opposite)[:MOST_CONTRADICTIONS].tolist():
        one, other = pairs.ids[pairs.first[place]], pairs.ids[pairs.second[place]]
        success, failure = (other, one) if failed[pairs.first[place]] else (one, other)
        found.append(Contradiction(success=success, failure=failure, similarity=float(pairs.scores[place])))
    return tuple(found)
