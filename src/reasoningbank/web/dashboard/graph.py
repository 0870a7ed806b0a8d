"""The graph: a walk from what a question finds, drawn and told in the sentences of its edges."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from reasoningbank.types.graph import LABELS, Node
from reasoningbank.types.graph_search import GraphFilter
from reasoningbank.types.walk import DIRECTIONS, Direction, WalkParameters, WalkPath, WalkResult

if TYPE_CHECKING:
    from reasoningbank.bank import Bank
    from reasoningbank.web.dashboard.pages import PageRequest, PageValues

_SEEDS = 3
_STARTS = 24
"""Nodes that are offered to start from while nothing is asked."""
_DEPTH, _DEEPEST = 3, 6
_SHORT = 60


def walked(bank: Bank, asked: PageRequest) -> PageValues:
    """Read what a question finds in the graph and where the walk leads from there, or from one node."""
    label = next((known for known in LABELS if known == asked.text("label")), None)
    direction: Direction = next((known for known in DIRECTIONS if known == asked.text("direction")), "both")
    depth = asked.whole("depth", _DEPTH, most=_DEEPEST, least=1)
    tags = (asked.text("tag"),) if asked.text("tag") else ()
    chosen = {
        "q": asked.text("q"),
        "node": asked.text("node"),
        "label": label or "",
        "tag": asked.text("tag"),
        "direction": direction,
        "depth": depth,
    }
    parameters = WalkParameters(max_depth=depth, direction=direction, tags=tags)
    size = bank.graph.size()
    shared = {"chosen": chosen, "labels": LABELS, "directions": DIRECTIONS, "deepest": _DEEPEST, "size": size}
    condition = GraphFilter(labels=(label,) if label else (), tags=tags)
    if chosen["q"]:
        answer = bank.graph.search(str(chosen["q"]), limit=_SEEDS, budget=0, condition=condition, parameters=parameters)
        nodes = {hit.node.id: hit.node for hit in answer.seeds} | dict(answer.walk.nodes)
        return {**shared, **_drawn(answer.walk, nodes), "message": answer.message, "starts": ()}
    if chosen["node"]:
        view = bank.graph.get(str(chosen["node"]))
        walk = bank.graph.walk({view.node.id: 1.0}, parameters)
        return {**shared, **_drawn(walk, {view.node.id: view.node, **walk.nodes}), "message": "", "starts": ()}
    starts = bank.graph.list(condition, limit=_STARTS)
    return {**shared, **_drawn(WalkResult(), {}), "message": "", "starts": starts}


def _drawn(walk: WalkResult, nodes: dict[str, Node]) -> dict[str, object]:
    """Return a walk for the page, and for the drawing: nodes, edges, and the paths hop by hop."""
    edges = {hop.edge.id: hop.edge for path in walk.paths for hop in path.hops}
    seeds = {seed.id for seed in walk.seeds if seed.found}
    drawing = {
        "nodes": [
            {"id": node.id, "label": node.label, "text": _short(node.text), "seed": node.id in seeds}
            for node in nodes.values()
        ],
        "edges": [
            {"id": edge.id, "source": edge.source, "target": edge.target, "text": edge.told, "weight": edge.weight}
            for edge in edges.values()
            if edge.source in nodes and edge.target in nodes
        ],
        "paths": [{"nodes": list(path.nodes), "edges": list(path.edges)} for path in walk.paths],
    }
    return {"walk": walk, "nodes": nodes, "drawing": drawing, "paths": list(_told(walk.paths, nodes))}


def _told(paths: Iterable[WalkPath], nodes: dict[str, Node]) -> Iterable[dict[str, object]]:
    """Return each path as its first node and its hops, each with the sentence of its edge."""
    for path in paths:
        hops = [
            {"hop": hop, "node": nodes.get(hop.reached), "sentence": sentence, "standing": standing}
            for hop, sentence, standing in zip(path.hops, path.sentences, path.standings, strict=True)
        ]
        yield {"seed": nodes.get(path.seed), "hops": hops, "score": path.score}


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHORT else f"{line[: _SHORT - 1]}\N{HORIZONTAL ELLIPSIS}"
