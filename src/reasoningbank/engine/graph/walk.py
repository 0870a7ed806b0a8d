"""The activation walk over the contextual graph (seed 003): from scored seeds along weighted sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from reasoningbank.domain.graph import Node
from reasoningbank.domain.walk import (
    SEED_NOT_FOUND,
    WalkParameters,
    WalkPath,
    WalkResult,
    WalkSeed,
    check_seeds,
)
from reasoningbank.engine.graph.memoria import traverse
from reasoningbank.engine.graph.ranking import ending_with, ranked
from reasoningbank.engine.graph.reading import Surroundings
from reasoningbank.engine.graph.spreading import spread
from reasoningbank.ports.graph import GraphReader


def walk(reader: GraphReader, seeds: Mapping[str, float], parameters: WalkParameters | None = None) -> WalkResult:
    """Spreads the seeds' energy over the graph and brings back the paths that it took.

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
    """The paths up to the first node that does not exist; a path without one is the same object."""
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
