"""The activation walk over the contextual graph (seed 003): from scored seeds along weighted sentences."""

from __future__ import annotations

import heapq
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from reasoningbank.graph.traversal import Surroundings, spread, traverse
from reasoningbank.safety.graph_text import reveal
from reasoningbank.storage.database import GraphReader
from reasoningbank.types.graph import Edge, Label, Node
from reasoningbank.types.walk import (
    MAX_QUERY_TAGS,
    SEED_NOT_FOUND,
    Hop,
    WalkParameters,
    WalkPath,
    WalkResult,
    WalkSeed,
    check_seeds,
)

_WORD = re.compile(r"\w+")
_LONGEST = 3


def question_tags(question: str) -> tuple[str, ...]:
    """Return the words of a question, and each two and three of them that stand together, as tags for a default walk.

    Words that are not a tag of the graph have no effect there, because tags never take energy away; so no list of the
    graph's tags is needed. Single words come first, and at most 128 of all are kept.
    """
    words = [word.casefold() for word in _WORD.findall(question.replace("_", " "))]
    found: dict[str, None] = {}
    for length in range(1, _LONGEST + 1):
        for start in range(len(words) - length + 1):
            found[" ".join(words[start : start + length])] = None
    return tuple(found)[:MAX_QUERY_TAGS]


def asked_with(question: str, parameters: WalkParameters | None) -> WalkParameters:
    """Return the parameters of a walk for a question: the question's own words are its tags when it is given none.

    The preset ``memoria`` is left as it is: there, tags that match nothing take energy away.
    """
    parameters = parameters or WalkParameters()
    if parameters.tags or parameters.preset != "default":
        return parameters
    return replace(parameters, tags=question_tags(question))


def ranked(paths: Sequence[WalkPath], total: Mapping[str, float], limit: int) -> list[WalkPath]:
    """Return the paths in the order in which they should be read, each with its score.

    Those that add nothing are left out.

    A path's score is the activation of all its nodes that no better path shows. So paths of all seeds stand in one
    order, a path that tells what another told comes late, and a budget cut anywhere keeps the most. The gain of a path
    only falls as others are taken (the coverage is submodular), so the best is found without scoring all again each
    time (Minoux' lazy evaluation). Of paths that add the same, the shorter one comes first, then the one that is walked
    more often as its sentences read.
    """
    shown: set[str] = set()
    heap = [(-_gain(path, total, shown), _plainness(path), path) for path in paths]
    heapq.heapify(heap)
    chosen: list[WalkPath] = []
    while heap and len(chosen) < limit:
        _, plainness, path = heapq.heappop(heap)
        gain = _gain(path, total, shown)
        if gain <= 0.0:
            continue
        if heap and (-gain, plainness) > heap[0][:2]:
            heapq.heappush(heap, (-gain, plainness, path))
            continue
        shown.update(path.nodes)
        chosen.append(replace(path, score=gain))
    return chosen


def ending_with(paths: Iterable[WalkPath], labels: Sequence[Label], nodes: Mapping[str, Node]) -> list[WalkPath]:
    """Return the paths cut after their last node of one of the labels.

    Each way once, those without such a node not at all.
    """
    cut: dict[tuple[str, tuple[str, ...]], WalkPath] = {}
    for path in paths:
        length = max(
            (number for number, name in enumerate(path.nodes) if nodes[name].label in labels),
            default=None,
        )
        if length is not None:
            shorter = replace(path, hops=path.hops[:length])
            cut.setdefault((shorter.seed, shorter.edges), shorter)
    return list(cut.values())


def _gain(path: WalkPath, total: Mapping[str, float], shown: set[str]) -> float:
    return math.fsum(total[name] for name in path.nodes if name not in shown)


def _plainness(path: WalkPath) -> tuple[int, int, tuple[str, ...], tuple[str, ...]]:
    """Return what decides between paths that add the same; no two paths of a walk have it in common."""
    return len(path.hops), sum(hop.reversed for hop in path.hops), path.nodes, path.edges


def read_around(surroundings: Surroundings, starts: Iterable[str], *, hops: int, through: Collection[Label]) -> None:
    """Read what the ways from all these nodes may need, at once, so that tracing each reads nothing more."""
    frontier = list(dict.fromkeys(starts))
    for _ in range(hops):
        surroundings.read_edges(frontier)
        others = dict.fromkeys(_other(edge, name) for name in frontier for edge in surroundings.edges(name))
        surroundings.read_nodes(others)
        frontier = [name for name in others if (node := surroundings.node(name)) and node.label in through]


def trace(
    surroundings: Surroundings,
    start: str,
    goal: Label,
    *,
    hops: int,
    through: Collection[Label],
    backwards: bool = False,
) -> list[tuple[Node, WalkPath]]:
    """Return the nodes of a label that can be reached, each with the shortest way to it, the strongest of these first.

    The strength of a way is the product of its edges' weights; of equally short ways the strongest is taken. What was
    not read before is read once a level.

    Args:
        surroundings: The graph, and what was read of it.
        start: A node that exists.
        goal: The label that is looked for; no way goes on beyond such a node.
        hops: The most edges of a way.
        through: The labels that a way may pass.
        backwards: Follow edges from their target to their source alone; the last one, to the goal, may
            be followed either way.
    """
    ways: dict[str, WalkPath] = {start: WalkPath(seed=start, score=1.0)}
    frontier = [start]
    found: list[tuple[Node, WalkPath]] = []
    for _ in range(hops):
        surroundings.read_edges(frontier)
        surroundings.read_nodes(_other(edge, name) for name in frontier for edge in surroundings.edges(name))
        reached: dict[str, WalkPath] = {}
        for name in frontier:
            for edge in surroundings.edges(name):
                other = _other(edge, name)
                node = surroundings.node(other)
                if node is None or other in ways or not (node.label == goal or node.label in through):
                    continue
                if backwards and edge.target != name and node.label != goal:
                    continue
                way = _longer(ways[name], edge, other)
                known = reached.get(other)
                if known is None or (-way.score, way.edges) < (-known.score, known.edges):
                    reached[other] = way
        ways.update(reached)
        for other, way in reached.items():
            node = surroundings.node(other)
            if node is not None and node.label == goal:
                found.append((node, way))
        frontier = [other for other in reached if _is_passed(surroundings, other, goal)]
    return sorted(found, key=lambda item: (-item[1].score, len(item[1].hops), item[0].id))


def _other(edge: Edge, name: str) -> str:
    return edge.target if edge.source == name else edge.source


def _is_passed(surroundings: Surroundings, name: str, goal: Label) -> bool:
    node = surroundings.node(name)
    return node is not None and node.label != goal


def _longer(way: WalkPath, edge: Edge, other: str) -> WalkPath:
    strength = way.score * edge.weight
    hop = Hop(edge=edge, reached=other, transfer=edge.weight, activation=strength)
    return WalkPath(seed=way.seed, hops=(*way.hops, hop), score=strength)


def walk(reader: GraphReader, seeds: Mapping[str, float], parameters: WalkParameters | None = None) -> WalkResult:
    """Spread the seeds' energy over the graph and bring back the paths that it took.

    Promises: the store is asked for edges at most once a level, and for nodes at most once a level and twice more,
    however many seeds there are; an edge with an end that does not exist is not walked; the same graph and seeds give
    the same answer.

    Args:
        reader: The graph.
        seeds: The energy that each node starts with, a finite number above 0.
        parameters: How to walk; None for the default preset.

    Raises:
        InvalidInput: For seeds that no walk can start from.
        StoreError: When the graph cannot be read.
    """
    parameters = parameters or WalkParameters()
    check_seeds(seeds)
    surroundings = Surroundings(reader)
    surroundings.read_nodes(seeds)
    asked = tuple(
        WalkSeed(id=name, score=float(score))
        if surroundings.node(name)
        else WalkSeed(id=name, score=float(score), found=False, reason=SEED_NOT_FOUND)
        for name, score in seeds.items()
    )
    found = {seed.id: seed.score for seed in asked if seed.found}
    if parameters.preset == "memoria":
        ways, reached, stopped = traverse(surroundings, found, parameters)
        paths = _existing(ways, surroundings)
        kept = paths[: parameters.path_limit]
    else:
        ways, total, reached, stopped = spread(surroundings, found, parameters)
        paths = _existing(ways, surroundings)
        if parameters.ends:
            paths = ending_with(paths, parameters.ends, _nodes_of(paths, surroundings))
        kept = ranked(paths, total, parameters.path_limit)
    return WalkResult(
        seeds=asked,
        paths=tuple(kept),
        nodes=_nodes_of(kept, surroundings),
        reached=reached,
        left_out=len(paths) - len(kept),
        stopped=stopped,
    )


def _existing(paths: Iterable[WalkPath], surroundings: Surroundings) -> list[WalkPath]:
    """Return the paths up to the first node that does not exist; a path without one is the same object."""
    listed = list(paths)
    surroundings.read_nodes(name for path in listed for name in path.nodes)
    whole: dict[tuple[str, tuple[str, ...]], WalkPath] = {}
    for path in listed:
        for number, hop in enumerate(path.hops):
            if surroundings.node(hop.reached) is None:
                path = replace(path, hops=path.hops[:number])
                break
        whole.setdefault((path.seed, path.edges), path)
    return list(whole.values())


def _nodes_of(paths: Iterable[WalkPath], surroundings: Surroundings) -> dict[str, Node]:
    named = ((name, surroundings.node(name)) for path in paths for name in path.nodes)
    return {name: node for name, node in named if node is not None}


def reveal_walk(result: WalkResult) -> WalkResult:
    """Return the walk with every node and edge of its paths cleaned and redacted once more; ids stay as they are."""
    nodes = {node.id: node for node in reveal(result.nodes.values())}
    return replace(result, paths=reveal_paths(result.paths), nodes=nodes)


def reveal_paths(paths: Sequence[WalkPath]) -> tuple[WalkPath, ...]:
    """Return paths with every edge cleaned and redacted once more."""
    edges = {hop.edge.id: hop.edge for path in paths for hop in path.hops}
    shown = {edge.id: edge for edge in reveal(edges.values())}
    if shown == edges:
        return tuple(paths)
    return tuple(
        replace(path, hops=tuple(replace(hop, edge=shown[hop.edge.id]) for hop in path.hops)) for path in paths
    )
