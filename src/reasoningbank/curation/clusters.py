"""Clusters of memories that say nearly the same, and pairs that contradict each other.

Texts from one mould have all but the same vector, whatever word they differ in: "the most followed artist" and "the
least followed artist". So where one memory has only the one word of a pair of opposites and another has only the other
word, they are never put together; a memory that has both words, as "add or remove", speaks of both.

Texts of one subject are close too, though one says "read the format first" and the other "split at the markers". Where
the model's closeness was measured (module ``scale``), memories of one lesson have many words in common as well: a third
of all their words where their cosine is that of near-duplicates (module ``near``), 0.42 where it is less, and any
number where it leaves no doubt. Chosen on 200 pairs read by hand, 8 to 13 % of which, put together by the cosine alone,
were two lessons; ``make eval-consolidation`` checks it on pairs drawn afterwards.

Complete linkage: pairs come closest first, and two clusters become one when the last of the pairs between them has
come, so that every pair inside a cluster is above the threshold and no two clusters that are left could be joined.

A consolidated memory stands for its sources, also when it is compared: it joins another memory only when all that it
was made of is similar to it as well. So nothing drifts from merge to merge, and what one run has left apart the next
one leaves apart too.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy
from numpy.typing import NDArray

from reasoningbank.memories.similarity import family, least_cosine, threshold
from reasoningbank.memories.words import terms
from reasoningbank.storage.store import Store
from reasoningbank.types.consolidation import Contradiction, SimilarityCluster, is_consolidated
from reasoningbank.types.memory import Memory
from reasoningbank.types.recall import CONTENT_LEG, Filter
from reasoningbank.types.records import ClosePairs
from reasoningbank.types.session import RECIPE
from reasoningbank.types.standing import ECHO_OF

NEAR_SHARE, SHARE_OF_WORDS = 1 / 3, 0.42
"""Least share of all words of two memories, stop words aside, that both have: near-duplicates, and others."""
CERTAIN = 0.97
"""Cosines from here on need no common words."""

_OPPOSITES = (
    "most/least highest/lowest maximum,max/minimum,min largest,biggest/smallest longest/shortest newest,latest/oldest,"
    "earliest fastest/slowest ascending/descending increase,increasing,increases/decrease,decreasing,decreases "
    "add,adding,adds/remove,removing,removes create,creating,creates/delete,deleting,deletes "
    "enable,enabling,enables/disable,disabling,disables send,sending,sent/receive,receiving,received "
    "upload,uploading/download,downloading import,importing/export,exporting install,installing/uninstall,uninstalling "
    "follow,following/unfollow,unfollowing like,liked,liking/unlike,unliked,disliked lock,locking,locked/unlock,"
    "unlocking,unlocked mount,mounting/unmount,unmounting open,opening/close,closing start,starting/stop,stopping "
    "approve,approving/deny,denying,reject,rejecting accept,accepting/decline,declining buy,buying/sell,selling "
    "deposit,depositing/withdraw,withdrawing encode,encoding/decode,decoding encrypt,encrypting/decrypt,decrypting "
    "public/private next/previous include,including/exclude,excluding allow,allowing/forbid,forbidding,block,blocking "
    "always/never positive/negative left/right horizontal,rows/vertical,columns uppercase/lowercase morning/evening "
    "yesterday/tomorrow incoming/outgoing internal/external synchronous/asynchronous online/offline "
    "prepend,prepending/append,appending expand,expanding/collapse,collapsing"
)
_PAIRS = tuple(tuple(side.split(",") for side in pair.split("/")) for pair in _OPPOSITES.split())
_SIDES = {
    word: (side, numpy.uint64(1 << number))
    for number, pair in enumerate(_PAIRS)
    for side, words in enumerate(pair)
    for word in words
}
_WORD = re.compile(r"[a-z]+")

Flags = NDArray[numpy.bool_]


def two_lessons(pairs: ClosePairs, memories: Sequence[Memory | None], model_id: str | None) -> Flags:
    """Return for each pair whether its memories are two lessons all the same.

    Args:
        pairs: The pairs.
        memories: The memory of each id of the pairs; None for one that is gone.
        model_id: The model their vectors come from.
    """
    apart = opposed(pairs, memories) | _two_recipes(pairs, memories)
    if family(model_id) is None:
        return apart
    words: dict[int, frozenset[str]] = {}
    near = threshold(model_id or "")
    for place in numpy.flatnonzero(~apart & (pairs.scores < CERTAIN)).tolist():
        one, other = (_words(words, memories, int(index[place])) for index in (pairs.first, pairs.second))
        share = NEAR_SHARE if pairs.scores[place] >= near else SHARE_OF_WORDS
        apart[place] = len(one & other) < share * len(one | other)
    return apart


def _two_recipes(pairs: ClosePairs, memories: Sequence[Memory | None]) -> Flags:
    """Return for each pair whether both are recipes: those of one error are joined when a session teaches them.

    The recipes of two errors share nearly all words, and differ in the name that counts.
    """
    recipes = numpy.array([memory is not None and memory.provenance.get("source") == RECIPE for memory in memories])
    found: Flags = recipes[pairs.first] & recipes[pairs.second]
    return found


def _words(known: dict[int, frozenset[str]], memories: Sequence[Memory | None], place: int) -> frozenset[str]:
    if place not in known:
        memory = memories[place]
        known[place] = frozenset() if memory is None else frozenset(terms(f"{memory.title}\n{memory.content}"))
    return known[place]


def opposed(pairs: ClosePairs, memories: Sequence[Memory | None]) -> Flags:
    """Return for each pair whether its memories stand on opposite sides of a pair of words."""
    one, other = (numpy.zeros(len(memories), dtype=numpy.uint64) for _ in range(2))
    for place, memory in enumerate(memories):
        if memory is not None:
            first, second = _sides(f"{memory.title}\n{memory.content}")
            one[place], other[place] = first & ~second, second & ~first
    left, right = pairs.first, pairs.second
    found: Flags = ((one[left] & other[right]) | (other[left] & one[right])) != 0
    return found


def _sides(text: str) -> tuple[numpy.uint64, numpy.uint64]:
    sides = [numpy.uint64(0), numpy.uint64(0)]
    for word in set(_WORD.findall(text.lower())) & _SIDES.keys():
        side, bit = _SIDES[word]
        sides[side] |= bit
    return sides[0], sides[1]


MOST_MEMBERS = 100
"""Most memories of a cluster, with all that consolidated ones among them were made of."""
MOST_PAIRS = 2_000_000
"""So many of the closest pairs are looked at; a bank with more has its further ones looked at by later runs."""
MOST_CONTRADICTIONS = 1_000
_RECALLABLE = Filter()
_COMPARED = Filter(states=("active", "candidate", "archived"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Similar:
    """Hold what a bank holds that is similar.

    Attributes:
        clusters: The closest first, by the least similarity of their pairs.
        contradictions: The closest first.
    """

    clusters: tuple[SimilarityCluster, ...]
    contradictions: tuple[Contradiction, ...]


def find_similar(store: Store, threshold: float) -> Similar:
    """Return the clusters and contradictions among the memories that can be recalled.

    For the threshold see ``scale``.
    """
    bar = least_cosine(threshold, store.model_id)
    pairs = store.search.close_pairs(CONTENT_LEG, bar, _COMPARED, limit=MOST_PAIRS)
    if not len(pairs):
        return Similar(clusters=(), contradictions=())
    memories = store.memories.many(pairs.ids)
    roots = _roots(store, {name: each for name, each in memories.items() if ECHO_OF not in each.provenance})
    alike = _without(pairs, two_lessons(pairs, [memories.get(name) for name in pairs.ids], store.model_id))
    groups = linked(alike, _groups(pairs.ids, roots, memories), most=MOST_MEMBERS)
    clusters = _described(alike, groups, roots) if groups else []
    return Similar(clusters=tuple(clusters), contradictions=_contradictions(pairs, memories))


def _without(pairs: ClosePairs, dropped: NDArray[numpy.bool_]) -> ClosePairs:
    kept = ~dropped
    return replace(pairs, first=pairs.first[kept], second=pairs.second[kept], scores=pairs.scores[kept])


def linked(pairs: ClosePairs, groups: Mapping[str, Sequence[str]], *, most: int) -> list[list[str]]:
    """Return which groups are to become one, each list with at least two of their names.

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
    """Return the cluster that a cluster has become a part of."""
    while current[number] != number:
        current[number] = current[current[number]]
        number = current[number]
    return number


def _roots(store: Store, memories: Mapping[str, Memory]) -> dict[str, Memory]:
    """Return the memory that stands for each memory now, itself or what it went into; none for what is set aside."""
    known = dict(memories)
    roots: dict[str, Memory] = {}
    while missing := {
        memory.consolidation_id
        for memory in known.values()
        if memory.consolidation_id is not None and memory.consolidation_id not in known
    }:
        found = store.memories.many(sorted(missing))
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
    """Return by the id of each memory that can be recalled: its kind, itself, and what it was made of."""
    groups: dict[str, list[str]] = {}
    for name in ids:
        if name in roots and name in memories:
            root = roots[name]
            # A claim never becomes the text of what stands higher.
            kind = f"{root.outcome}, claimed" if root.standing == "claim" else root.outcome
            groups.setdefault(root.id, [kind, root.id])
            if name != root.id:
                groups[root.id].append(name)
    for name, group in groups.items():
        if is_consolidated(roots[name]):
            group += [f"{name}, a source without pairs"] * max(0, sources_below(roots[name]) - (len(group) - 2))
    return {name: tuple(group) for name, group in groups.items()}


def sources_below(memory: Memory) -> int:
    """Return how many memories a consolidated one stands for, those of its sources included; 0 for any other memory."""
    return int(memory.provenance.get("stands_for", "0"))


def _described(
    pairs: ClosePairs, groups: Sequence[Sequence[str]], roots: Mapping[str, Memory]
) -> list[SimilarityCluster]:
    """Return the clusters with their statistics over the pairs of their own members, the closest first."""
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
    """Return the clusters with the means of their members' vectors."""
    vectors = store.search.vectors(CONTENT_LEG, [name for cluster in clusters for name in cluster.ids])
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
