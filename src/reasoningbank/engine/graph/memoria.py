"""The traversal of seed 003's system, exactly: a tree for each seed, level by level, first parent first."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from reasoningbank.domain.walk import MAX_REACHED, Hop, WalkParameters, WalkPath
from reasoningbank.engine.graph.energy import tag_similarity
from reasoningbank.engine.graph.reading import Surroundings


@dataclass(slots=True)
class _Way:
    """A path that may still grow."""

    node: str
    activation: float
    hops: tuple[Hop, ...] = ()


@dataclass(slots=True)
class _Tree:
    """What one seed has reached."""

    seed: str
    frontier: list[_Way]
    visited: set[str]
    ended: list[WalkPath] = field(default_factory=list)


def traverse(
    surroundings: Surroundings, seeds: Mapping[str, float], parameters: WalkParameters
) -> tuple[list[WalkPath], int, bool]:
    """The paths of each seed in the order in which they end, how many nodes were reached, and whether it stopped.

    The seeds know nothing of each other. A node that several nodes of one level lead to belongs to the first of them,
    and a node without children ends its path; prefixes of paths are no paths.
    """
    trees = [_Tree(seed, [_Way(seed, score)], {seed}) for seed, score in seeds.items()]
    reached = 0
    for _ in range(parameters.max_depth):
        surroundings.read_edges(way.node for tree in trees for way in tree.frontier)
        for tree in trees:
            reached += _grow(tree, surroundings, parameters)
        if reached > MAX_REACHED or not any(tree.frontier for tree in trees):
            break
    for tree in trees:
        tree.ended.extend(_path(tree.seed, way) for way in tree.frontier if way.hops)
    return [path for tree in trees for path in tree.ended], reached, reached > MAX_REACHED


def _grow(tree: _Tree, surroundings: Surroundings, parameters: WalkParameters) -> int:
    """One level; returns how many nodes it reached."""
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


def _candidates(tree: _Tree, way: _Way, surroundings: Surroundings, parameters: WalkParameters) -> list[Hop]:
    edges = surroundings.edges(way.node)
    fan = math.sqrt(len(edges)) if edges else 1.0
    found: list[Hop] = []
    for edge in edges:
        other = edge.target if edge.source == way.node else edge.source
        if other in tree.visited:
            continue
        similarity = tag_similarity(edge.tags, parameters.tags, floor=parameters.tag_floor)
        energy = way.activation * edge.weight / fan * similarity
        if energy > parameters.min_activation:
            found.append(Hop(edge=edge, reached=other, transfer=energy, activation=energy))
    found.sort(key=lambda hop: (-hop.transfer, hop.reached, hop.edge.id))
    return found


def _path(seed: str, way: _Way) -> WalkPath:
    return WalkPath(seed=seed, hops=way.hops, score=way.activation)
