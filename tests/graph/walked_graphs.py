"""Graphs that the tests walk, and the plainest possible way to walk them as seed 003's system does."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from reasoningbank.demo.graph import shop_graph
from reasoningbank.graph.nodes import words
from reasoningbank.storage.store import Store
from reasoningbank.types.graph import LABEL_FIELDS, Edge, Node
from reasoningbank.types.standing import ENTERED
from reasoningbank.types.walk import WalkPath, WalkResult

MOMENT = datetime(2026, 9, 1, tzinfo=UTC)
PERSON = {ENTERED: "person"}
"""The provenance of what a person has entered."""
_STUDIED = Path(__file__).parents[3] / "shared" / "data" / "memoria_graph"


class GraphInMemory:
    """A graph in two dictionaries that counts how often it is asked."""

    def __init__(self, nodes: Iterable[Node], edges: Iterable[Edge]) -> None:
        self.by_id = {node.id: replace(node, provenance=PERSON) for node in nodes}
        self.all_edges = [replace(edge, provenance=PERSON) for edge in edges]
        self.touching: dict[str, list[Edge]] = {}
        for edge in self.all_edges:
            for end in dict.fromkeys((edge.source, edge.target)):
                self.touching.setdefault(end, []).append(edge)
        self.node_calls = 0
        self.edge_calls = 0

    def nodes(self, ids: Collection[str], /) -> Mapping[str, Node]:
        """The nodes of these ids."""
        self.node_calls += 1
        return {name: self.by_id[name] for name in ids if name in self.by_id}

    def edges_around(self, ids: Collection[str], /) -> Mapping[str, Sequence[Edge]]:
        """The edges that touch each of them."""
        self.edge_calls += 1
        return {name: self.touching.get(name, ()) for name in ids}


def node(name: str, text: str = "", label: str = "AgentAnswer", **more: Any) -> Node:
    """A node that needs only a name."""
    fields: dict[str, str] = {"status": "success"} if label == "AgentAction" else {}
    return Node(
        id=name,
        text=text or f"what {name} says",
        **{"label": label, "fields": fields, "ingestion_time": MOMENT, **more},
    )


def edge(
    source: str, target: str, weight: float = 0.9, tags: tuple[str, ...] = (), name: str = "", text: str = ""
) -> Edge:
    """An edge that needs only its ends."""
    return Edge(
        id=name or f"{source}-{target}",
        source=source,
        target=target,
        text=text or f"{source} leads to {target}.",
        weight=weight,
        tags=tags,
        created_time=MOMENT,
    )


def parsed(text: str) -> GraphInMemory:
    """A graph in the JSON form, with ``source`` and ``target`` or ``src`` and ``dst``."""
    data = json.loads(text)
    return GraphInMemory(map(_node, data["nodes"]), map(_edge, data["edges"]))


def shop() -> GraphInMemory:
    """The graph that the package ships."""
    return parsed(shop_graph())


def put(store: Store, graph: GraphInMemory) -> None:
    """Stores a graph as it is."""
    with store.transaction() as transaction:
        transaction.graph.put_nodes([(node, words(node)) for node in graph.by_id.values()])
        transaction.graph.put_edges([(edge, words(edge)) for edge in graph.all_edges])


def studied(name: str) -> GraphInMemory:
    """A graph of seed 003's system, which is not ours to ship; the test is skipped where it is not."""
    file = _STUDIED / name
    if not file.is_file():
        pytest.skip(f"{name} is not here: the studied system's data has no licence and is not shipped")
    return parsed(file.read_text(encoding="utf-8"))


def told(result: WalkResult) -> list[tuple[str, list[tuple[str, str, float]]]]:
    """Each path as its seed and what each hop reaches with which energy."""
    return [(path.seed, [(hop.edge.id, hop.reached, hop.activation) for hop in path.hops]) for path in result.paths]


def arrows(path: WalkPath) -> list[str]:
    """Each hop as an arrow in the direction of its sentence."""
    return [f"{hop.left} {'<-' if hop.reversed else '->'} {hop.reached}" for hop in path.hops]


def plainly_walked(
    graph: GraphInMemory,
    seed: str,
    score: float,
    tags: Collection[str],
    depth: int,
    branches: int,
    least: float,
    floor: float,
) -> list[list[tuple[str, str, float]]]:
    """The studied traversal from one seed, written for reading alone; the reference of the tests."""
    done: list[list[tuple[str, str, float]]] = []
    visited = {seed}
    level: list[tuple[str, float, list[tuple[str, str, float]]]] = [(seed, score, [])]
    for _ in range(depth):
        following: list[tuple[str, float, list[tuple[str, str, float]]]] = []
        claimed: set[str] = set()
        for at, energy, path in level:
            touching = [each for each in graph.all_edges if at in (each.source, each.target)]
            offers: list[tuple[float, str, str]] = []
            for each in touching:
                other = each.target if each.source == at else each.source
                if not tags:
                    like = 1.0
                elif not each.tags:
                    like = floor
                else:
                    both = len(set(tags) & set(each.tags))
                    like = floor + (1 - floor) * both / (len(set(each.tags)) + len(set(tags)) - both)
                passed = energy * each.weight / math.sqrt(len(touching)) * like
                if other not in visited and passed > least:
                    offers.append((-passed, other, each.id))
            taken = 0
            for negative, other, name in sorted(offers):
                if taken < branches and other not in claimed:
                    claimed.add(other)
                    taken += 1
                    following.append((other, -negative, [*path, (name, other, -negative)]))
            if not taken and path:
                done.append(path)
        visited |= claimed
        level = following
    return done + [path for _, _, path in level if path]


def _node(item: dict[str, Any]) -> Node:
    special = {name: item[name] for name in LABEL_FIELDS[item["label"]] if name in item}
    return Node(
        id=item["id"],
        label=item["label"],
        text=item["text"],
        conv_id=item.get("conv_id", ""),
        tags=tuple(item["tags"]),
        fields={name: tuple(value) if isinstance(value, list) else value for name, value in special.items()},
        ingestion_time=datetime.fromisoformat(item["ingestion_time"]),
        update_time=datetime.fromisoformat(item["update_time"]),
    )


def _edge(item: dict[str, Any]) -> Edge:
    return Edge(
        id=item["id"],
        source=item.get("source") or item["src"],
        target=item.get("target") or item["dst"],
        text=item["text"],
        weight=item["weight"],
        tags=tuple(item["tags"]),
        created_time=datetime.fromisoformat(item["created_time"]),
    )
