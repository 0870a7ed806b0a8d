"""Traversals of the graph: how energy passes along edges, adding up over ways, or as the tree of seed 003.

Each seed grows a tree, level by level; all seeds' levels are read together. On a level every node of the frontier
passes energy on; what several nodes pass to the same node is put together, never above the energy of the strongest
of them, and the node hangs under the one that gave most. When all trees are grown, what a node got from several seeds
is put together too: that is the activation that paths are shown and ranked with.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from reasoningbank.storage.database import GraphReader
from reasoningbank.types.graph import Edge, Node
from reasoningbank.types.walk import MAX_REACHED, Hop, WalkParameters, WalkPath


class Surroundings:
    """The part of the graph that was read so far.

    Attributes:
        calls: How often the store was asked.
    """

    def __init__(self, reader: GraphReader) -> None:
        self._reader = reader
        self._nodes: dict[str, Node | None] = {}
        self._edges: dict[str, Sequence[Edge]] = {}
        self.calls = 0

    def read_edges(self, ids: Iterable[str]) -> None:
        """Read the edges of all these nodes that were not read yet, at once."""
        wanted = [name for name in dict.fromkeys(ids) if name not in self._edges]
        if not wanted:
            return
        self.calls += 1
        found = self._reader.edges_around(wanted)
        for name in wanted:
            self._edges[name] = found.get(name, ())

    def read_nodes(self, ids: Iterable[str]) -> None:
        """Read all these nodes that were not read yet, at once."""
        wanted = [name for name in dict.fromkeys(ids) if name not in self._nodes]
        if not wanted:
            return
        self.calls += 1
        found = self._reader.nodes(wanted)
        for name in wanted:
            self._nodes[name] = found.get(name)

    def edges(self, name: str) -> Sequence[Edge]:
        """Return the edges that touch a node whose edges were read."""
        return self._edges[name]

    def node(self, name: str) -> Node | None:
        """Return a node that was read; None when it does not exist."""
        return self._nodes[name]


_TAGS = 16_384
_AGELESS = 0.5
"""The share of the energy that age does not take."""


def tag_similarity(edge_tags: Collection[str], query_tags: Collection[str], *, floor: float = 0.15) -> float:
    """Return how far an edge's tags are those of the question, as seed 003's system has it; tags are compared exactly.

    1.0 without query tags; the floor for an edge without tags; else ``floor + (1 - floor) * |E & Q| / |E | Q|``.
    It is never above 1, so tags can only take energy away.
    """
    if not query_tags:
        return 1.0
    edge, query = set(edge_tags), frozenset(query_tags)
    if not edge:
        return floor
    common = len(edge & query)
    return floor + (1.0 - floor) * common / (len(edge) + len(query) - common)


def transfer_energy(
    activation: float,
    weight: float,
    degree: int,
    edge_tags: Collection[str],
    query_tags: Collection[str],
    *,
    floor: float = 0.15,
) -> float:
    """Return the energy that reaches the other end of an edge, as seed 003's system has it.

    ``activation * weight / sqrt(degree) * tag_similarity``

    Args:
        activation: The energy of the node it leaves.
        weight: The edge's weight.
        degree: How many edges touch the node it leaves, in both directions.
        edge_tags: The tags of the edge.
        query_tags: The tags of the question.
        floor: What an edge without any matching tag keeps.
    """
    return activation * weight / math.sqrt(degree) * tag_similarity(edge_tags, query_tags, floor=floor)


@lru_cache(maxsize=_TAGS)
def plain_tag(tag: str) -> str:
    """Return the tag as the default preset compares it: case, and what stands between its words, make no difference."""
    return " ".join(tag.casefold().replace("_", " ").replace("-", " ").split())


def tag_match(matches: int) -> float:
    """Return how well tags meet those of the question, from 0 to below 1, by how many of them do.

    No match is 0, one is 0.5, two are 0.75: each further match halves what is missing, and none takes anything away.
    """
    return 1.0 - math.pow(0.5, matches)


def passing_share(degree: int, match: float, gain: float) -> float:
    """Return which share of its energy, times the weight, a node passes over one edge in the default preset.

    ``min(1, (1 + gain * match) / sqrt(degree))``

    Without a match it is what seed 003's formula passes without query tags. A match gives back what the fan-out of the
    node takes, never more: no node gets more than its neighbour has.
    """
    return min(1.0, (1.0 + gain * match) / math.sqrt(degree))


def freshness(changed: datetime, moment: datetime, half_life_days: float) -> float:
    """Return the share of a node's energy that age leaves, 0.5 to 1: age takes half of a half every half-life."""
    days = max(0.0, (moment - changed).total_seconds() / 86_400.0)
    return _AGELESS + (1.0 - _AGELESS) * math.pow(0.5, days / half_life_days)


def together(energies: Iterable[float]) -> float:
    """Return what energies from several sides amount to: ``1 - (1 - e1)(1 - e2)...``; more than each, never above 1.

    The energies are taken in ascending order, so that the same ones always give the same number.
    """
    return 1.0 - math.prod(1.0 - min(1.0, energy) for energy in sorted(energies))


@dataclass(slots=True)
class _Way:
    """A path that may still grow."""

    node: str
    activation: float
    hops: tuple[Hop, ...] = ()


@dataclass(slots=True)
class _MemoriaTree:
    """Hold what one seed has reached."""

    seed: str
    frontier: list[_Way]
    visited: set[str]
    ended: list[WalkPath] = field(default_factory=list)


def traverse(
    surroundings: Surroundings, seeds: Mapping[str, float], parameters: WalkParameters
) -> tuple[list[WalkPath], int, bool]:
    """Return the paths of each seed in the order they end, how many nodes were reached, and whether it stopped.

    The seeds know nothing of each other. A node that several nodes of one level lead to belongs to the first of them,
    and a node without children ends its path; prefixes of paths are not paths.
    """
    trees = [_MemoriaTree(seed, [_Way(seed, score)], {seed}) for seed, score in seeds.items()]
    reached = 0
    for _ in range(parameters.max_depth):
        surroundings.read_edges(way.node for tree in trees for way in tree.frontier)
        for tree in trees:
            reached += _grow_memoria(tree, surroundings, parameters)
        if reached > MAX_REACHED or not any(tree.frontier for tree in trees):
            break
    for tree in trees:
        tree.ended.extend(_path(tree.seed, way) for way in tree.frontier if way.hops)
    return [path for tree in trees for path in tree.ended], reached, reached > MAX_REACHED


def _grow_memoria(tree: _MemoriaTree, surroundings: Surroundings, parameters: WalkParameters) -> int:
    """Return one level; returns how many nodes it reached."""
    claimed: set[str] = set()
    grown: list[_Way] = []
    for way in tree.frontier:
        children = 0
        for hop in _candidates(tree, way, surroundings, parameters):
            if children == parameters.max_branches:
                break
            if hop.reached in claimed:
                continue
            claimed.add(hop.reached)
            children += 1
            grown.append(_Way(hop.reached, hop.activation, (*way.hops, hop)))
        if not children and way.hops:
            tree.ended.append(_path(tree.seed, way))
    tree.visited |= claimed
    tree.frontier = grown
    return len(claimed)


def _candidates(tree: _MemoriaTree, way: _Way, surroundings: Surroundings, parameters: WalkParameters) -> list[Hop]:
    edges = surroundings.edges(way.node)
    tags = frozenset(parameters.tags)
    found: list[Hop] = []
    for edge in edges:
        other = edge.target if edge.source == way.node else edge.source
        if other in tree.visited:
            continue
        energy = transfer_energy(way.activation, edge.weight, len(edges), edge.tags, tags, floor=parameters.tag_floor)
        if energy > parameters.min_activation:
            found.append(Hop(edge=edge, reached=other, transfer=energy, activation=energy))
    found.sort(key=lambda hop: (-hop.transfer, hop.reached, hop.edge.id))
    return found


def _path(seed: str, way: _Way) -> WalkPath:
    return WalkPath(seed=seed, hops=way.hops, score=way.activation)


BEAM = 24
"""Most nodes that a level keeps, the most active ones; each seed's tree has an equal share."""
_LEAST_BEAM = 6
"""What a tree's share is at least."""
FAN = 8
"""So many edges of one node, for each branch it may have, energy goes over: those that pass most as far as the edges
themselves tell."""
_NOISE = 0.1
"""What is below this share of the least energy that counts is not put together with anything."""


class _Gift(NamedTuple):
    """Energy that one node passes to another over an edge; the most it can be, until the other node was read."""

    giver: str
    taker: str
    edge: Edge
    energy: float


@dataclass(slots=True)
class _Tree:
    """Hold what one seed has reached: for each node the way to it and its energy."""

    seed: str
    activation: dict[str, float]
    hops: dict[str, tuple[_Gift, ...]]
    frontier: list[str]
    parents: set[str] = field(default_factory=set)


class _Bits(dict[str, int]):
    """The bit of the question's tag that a tag of the graph is, 0 for any other; worked out once for each tag."""

    def __init__(self, tags: Iterable[str]) -> None:
        super().__init__()
        self.asked = {tag: 1 << number for number, tag in enumerate(dict.fromkeys(map(plain_tag, tags)))}

    def __missing__(self, tag: str) -> int:
        bit = self[tag] = self.asked.get(plain_tag(tag), 0)
        return bit


class _Carried(dict[tuple[str, ...], int]):
    """The bits of the question's tags that are among those of an edge or a node; worked out once for the same tags."""

    def __init__(self, bits: _Bits) -> None:
        super().__init__()
        self._bits = bits

    def __missing__(self, tags: tuple[str, ...]) -> int:
        carried, bits = 0, self._bits
        for tag in tags:
            carried |= bits[tag]
        self[tags] = carried
        return carried


class _Question:
    """The tags of the question, which of them each edge and node carries, and which edges matter because of that.

    Attributes:
        carried: Those of the question's tags that are among these of an edge or a node, one bit for each.
    """

    def __init__(self, parameters: WalkParameters) -> None:
        bits = _Bits(parameters.tags)
        self.carried = _Carried(bits)
        self._asked = bool(bits.asked)
        self._gain = parameters.tag_gain
        self._matches = [tag_match(matches) for matches in range(len(bits.asked) + 1)]
        self._gains = [1.0 + self._gain * match for match in self._matches]
        self._fan = FAN * parameters.max_branches
        self._widest: dict[str, Sequence[Edge]] = {}
        self._shares: dict[int, Sequence[float]] = {}

    def __bool__(self) -> bool:
        return self._asked

    def shares(self, degree: int) -> Sequence[float]:
        """Return which share of its energy a node with so many edges passes on, by the number of matching tags."""
        known = self._shares.get(degree)
        if known is None:
            known = self._shares[degree] = [passing_share(degree, match, self._gain) for match in self._matches]
        return known

    def widest(self, name: str, edges: Sequence[Edge]) -> Sequence[Edge]:
        """Return those of a node's edges that may pass most."""
        if len(edges) <= self._fan:
            return edges
        known = self._widest.get(name)
        if known is None:
            known = self._widest[name] = self._chosen(edges)
        return known

    def _chosen(self, edges: Sequence[Edge]) -> Sequence[Edge]:
        """Return the edges that may pass most, those first.

        Of equals the smaller id, then the older edge comes first.
        """
        if self._asked:
            gains, carried = self._gains, self.carried
            promises = [edge.weight * gains[carried[edge.tags].bit_count()] for edge in edges]
        else:
            promises = [edge.weight for edge in edges]
        least = sorted(promises)[-self._fan]
        among = sorted(
            (-promise, edge.id, place)
            for place, (promise, edge) in enumerate(zip(promises, edges, strict=True))
            if promise >= least
        )
        return [edges[place] for _, _, place in among[: self._fan]]


def spread(
    surroundings: Surroundings, seeds: Mapping[str, float], parameters: WalkParameters
) -> tuple[list[WalkPath], dict[str, float], int, bool]:
    """Return the paths, the activation of every node, how many nodes were reached, and whether it stopped.

    Scores above 1 are divided by the highest, so that energies are from 0 to 1. The order of the seeds makes no
    difference to any energy.
    """
    highest = max(1.0, *seeds.values()) if seeds else 1.0
    trees = [
        _Tree(seed, {seed: score / highest}, {seed: ()}, [seed])
        for seed, score in sorted(seeds.items(), key=lambda item: (-item[1], item[0]))
    ]
    question = _Question(parameters)
    beam = max(_LEAST_BEAM, BEAM // max(1, len(trees)))
    reached = 0
    for _ in range(parameters.max_depth):
        surroundings.read_edges(name for tree in trees for name in tree.frontier)
        gifts = [_promised(tree, surroundings, parameters, question) for tree in trees]
        if _needs_nodes(parameters):
            surroundings.read_nodes(gift.taker for each in gifts for gift in each)
            gifts = [
                _kept(tree, each, surroundings, parameters, question) for tree, each in zip(trees, gifts, strict=True)
            ]
        for tree, each in zip(trees, gifts, strict=True):
            reached += _grow(tree, _strongest(each), parameters, beam)
        if reached > MAX_REACHED or not any(tree.frontier for tree in trees):
            break
    total = _total(trees)
    return [path for tree in trees for path in _paths(tree, total)], total, reached, reached > MAX_REACHED


def _needs_nodes(parameters: WalkParameters) -> bool:
    """Return whether the energy of a hop depends on the node it leads to."""
    windowed = parameters.since is not None or parameters.until is not None
    return bool(parameters.tags or parameters.labels or windowed or parameters.half_life_days is not None)


def _promised(tree: _Tree, surroundings: Surroundings, parameters: WalkParameters, question: _Question) -> list[_Gift]:
    """Return what the frontier's edges can pass on at most; what cannot count is left out."""
    gifts: list[_Gift] = []
    least = parameters.min_activation * _NOISE
    unwanted = {"both": None, "along": False, "against": True}[parameters.direction]
    reached = tree.activation
    for giver in tree.frontier:
        edges = surroundings.edges(giver)
        if not edges:
            continue
        share = passing_share(len(edges), 1.0 if question else 0.0, parameters.tag_gain)
        most = reached[giver] * share
        for edge in question.widest(giver, edges):
            along = edge.source == giver
            taker = edge.target if along else edge.source
            if taker not in reached and along is not unwanted:
                energy = most * edge.weight
                if energy > least:
                    gifts.append(_Gift(giver, taker, edge, energy))
    if not question:
        return gifts
    most_for: dict[str, float] = defaultdict(float)
    for gift in gifts:
        most_for[gift.taker] += gift.energy
    return [gift for gift in gifts if most_for[gift.taker] > parameters.min_activation]


def _kept(
    tree: _Tree, gifts: Iterable[_Gift], surroundings: Surroundings, parameters: WalkParameters, question: _Question
) -> list[_Gift]:
    """Return what is left of the gifts when the nodes that take them are known."""
    kept: list[_Gift] = []
    now, half_life = parameters.moment, parameters.half_life_days
    choosy = bool(parameters.labels) or parameters.since is not None or parameters.until is not None
    asked, carried, last = bool(question), question.carried, ""
    activation, shares = 0.0, question.shares(1)
    for giver, taker, edge, promised in gifts:
        node = surroundings.node(taker)
        if node is None or (choosy and not _may_enter(node, parameters)):
            continue
        energy = promised
        if asked:
            matches = (carried[edge.tags] | carried[node.tags]).bit_count()
            if giver != last:
                last, activation = giver, tree.activation[giver]
                shares = question.shares(len(surroundings.edges(giver)))
            energy = activation * edge.weight * shares[matches]
        if half_life is not None and now is not None:
            energy *= freshness(node.updated_at, now, half_life)
        kept.append(_Gift(giver, taker, edge, energy))
    return kept


def _strongest(gifts: Iterable[_Gift]) -> Iterable[list[_Gift]]:
    """Return for each node what it is given, from each giver over the strongest of its edges alone."""
    best: dict[tuple[str, str], _Gift] = {}
    for gift in gifts:
        pair = gift.taker, gift.giver
        known = best.get(pair)
        if known is None or (-gift.energy, gift.edge.id) < (-known.energy, known.edge.id):
            best[pair] = gift
    given: dict[str, list[_Gift]] = defaultdict(list)
    for gift in best.values():
        given[gift.taker].append(gift)
    return given.values()


def _may_enter(node: Node, parameters: WalkParameters) -> bool:
    if parameters.labels and node.label not in parameters.labels:
        return False
    since, until = parameters.since, parameters.until
    window = node.window if since is not None or until is not None else None
    if window is None:
        return True
    start, end = window
    if since is not None and end <= since and not start == end == since:
        return False
    return until is None or start < until


def _grow(tree: _Tree, given: Iterable[list[_Gift]], parameters: WalkParameters, beam: int) -> int:
    """Return one level; returns how many nodes it reached."""
    children: dict[str, list[tuple[float, str, _Gift]]] = defaultdict(list)
    for gifts in given:
        if len(gifts) == 1:
            best, energy = gifts[0], gifts[0].energy
        else:
            best = min(gifts, key=lambda gift: (-gift.energy, gift.giver))
            ceiling = max(tree.activation[gift.giver] for gift in gifts)
            energy = min(ceiling, together(gift.energy for gift in gifts))
        if energy > parameters.min_activation:
            children[best.giver].append((-energy, best.taker, best))
    kept: list[tuple[float, str, _Gift]] = []
    for own in children.values():
        own.sort()
        kept.extend(own[: parameters.max_branches])
    kept.sort()
    tree.frontier = []
    for negative, taker, gift in kept[:beam]:
        tree.activation[taker] = -negative
        tree.hops[taker] = (*tree.hops[gift.giver], gift)
        tree.parents.add(gift.giver)
        tree.frontier.append(taker)
    return len(tree.frontier)


def _total(trees: Iterable[_Tree]) -> dict[str, float]:
    """Return what each node got from all seeds together."""
    energies: dict[str, list[float]] = defaultdict(list)
    for tree in trees:
        for name, energy in tree.activation.items():
            energies[name].append(energy)
    return {name: each[0] if len(each) == 1 else together(each) for name, each in energies.items()}


def _paths(tree: _Tree, total: Mapping[str, float]) -> list[WalkPath]:
    """Return the ways to the nodes that lead nowhere further."""
    return [
        WalkPath(
            seed=tree.seed,
            hops=tuple(
                Hop(edge=gift.edge, reached=gift.taker, transfer=gift.energy, activation=total[gift.taker])
                for gift in gifts
            ),
        )
        for name, gifts in tree.hops.items()
        if name not in tree.parents
    ]
