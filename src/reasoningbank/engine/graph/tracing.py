"""The shortest ways from a node to nodes of one label: to what an answer rests on, and to what an event led to."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from reasoningbank.domain.graph import Edge, Label, Node
from reasoningbank.domain.walk import Hop, WalkPath
from reasoningbank.engine.graph.reading import Surroundings


def read_around(surroundings: Surroundings, starts: Iterable[str], *, hops: int, through: Collection[Label]) -> None:
    """Reads what the ways from all these nodes may need, at once, so that tracing each reads nothing more."""
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
    """The nodes of a label that can be reached, each with the shortest way to it, the strongest of these first.

    The strength of a way is the product of its edges' weights; of equally short ways the strongest is taken. What was
    not read before is read once a level.

    Args:
        surroundings: The graph, and what was read of it.
        start: A node that exists.
        goal: The label that is looked for; no way goes on beyond such a node.
        hops: The most edges of a way.
        through: The labels that a way may pass.
        backwards: Whether a way follows edges from their target to their source alone; the last one, to the goal, may
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
