"""A walk as it may leave the bank: only what its paths show is looked at for secrets, however much was read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from reasoningbank.domain.walk import WalkPath, WalkResult
from reasoningbank.engine.graphing.admission import reveal


def reveal_walk(result: WalkResult) -> WalkResult:
    """The walk with every node and edge of its paths cleaned and redacted once more; ids stay as they are."""
    nodes = {node.id: node for node in reveal(result.nodes.values())}
    return replace(result, paths=reveal_paths(result.paths), nodes=nodes)


def reveal_paths(paths: Sequence[WalkPath]) -> tuple[WalkPath, ...]:
    """Paths with every edge cleaned and redacted once more."""
    edges = {hop.edge.id: hop.edge for path in paths for hop in path.hops}
    shown = {edge.id: edge for edge in reveal(edges.values())}
    if shown == edges:
        return tuple(paths)
    return tuple(
        replace(path, hops=tuple(replace(hop, edge=shown[hop.edge.id]) for hop in path.hops)) for path in paths
    )
