"""The activation walk by itself, without embedding and store, over 10,000 nodes and 40,000 edges with hubs."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from reasoningbank.graph.render import to_llm_context
from reasoningbank.graph.walk import walk
from reasoningbank.types.graph import LABELS, Edge, Node
from reasoningbank.types.walk import Preset, WalkParameters

NODES, EDGES, QUESTIONS = 10_000, 40_000, 100
LIMIT = 50.0
TAGS = [f"subject {number}" for number in range(300)]
MOMENT = datetime(2026, 1, 1, tzinfo=UTC)


class InMemory:
    """The graph in dictionaries."""

    def __init__(self, nodes: Sequence[Node], edges: Sequence[Edge]) -> None:
        self._nodes = {node.id: node for node in nodes}
        self._touching: dict[str, list[Edge]] = {}
        for edge in edges:
            for end in {edge.source, edge.target}:
                self._touching.setdefault(end, []).append(edge)

    def nodes(self, ids: Collection[str], /) -> Mapping[str, Node]:
        """The nodes of these ids."""
        return {name: self._nodes[name] for name in ids if name in self._nodes}

    def edges_around(self, ids: Collection[str], /) -> Mapping[str, Sequence[Edge]]:
        """The edges that touch each of them."""
        return {name: self._touching.get(name, ()) for name in ids}


def _graph() -> tuple[list[Node], list[Edge]]:
    """A graph with hubs: the ends of edges are drawn with the square of a uniform number."""
    chance = random.Random(5)
    nodes = [
        Node(
            id=f"n{number}",
            label=LABELS[number % 6],
            text=f"What node {number} says, in a dozen words or so, as a stored conclusion does.",
            tags=tuple(chance.sample(TAGS, 4)),
            fields={"status": "success"} if LABELS[number % 6] == "AgentAction" else {},
            ingestion_time=MOMENT,
        )
        for number in range(NODES)
    ]
    edges: list[Edge] = []
    while len(edges) < EDGES:
        left, right = (int(NODES * chance.random() ** 2) for _ in range(2))
        if left != right:
            edges.append(
                Edge(
                    id=f"e{len(edges)}",
                    source=f"n{left}",
                    target=f"n{right}",
                    text="A sentence that says why and how the one belongs to the other.",
                    weight=round(chance.uniform(0.3, 1.0), 2),
                    tags=tuple(chance.sample(TAGS, 3)),
                    created_time=MOMENT,
                )
            )
    return nodes, edges


@pytest.fixture(scope="module")
def graph() -> InMemory:
    """The graph, made once."""
    return InMemory(*_graph())


@pytest.mark.parametrize("preset", ["memoria", "default"])
@pytest.mark.parametrize("tags", [0, 7])
def test_walk(benchmark: BenchmarkFixture, graph: InMemory, preset: Preset, tags: int) -> None:
    """Three seeds, as a question has by default; the 95th percentile is held to 50 ms."""
    chance, parameters = random.Random(11), WalkParameters(preset=preset, tags=tuple(TAGS[:tags]))
    spent: list[float] = []

    def once() -> None:
        seeds = {f"n{int(NODES * chance.random() ** 2)}": 0.9 - 0.1 * number for number in range(3)}
        start = time.perf_counter()
        walk(graph, seeds, parameters)
        spent.append((time.perf_counter() - start) * 1_000.0)

    benchmark.pedantic(once, rounds=QUESTIONS, warmup_rounds=3)
    last = statistics.quantiles(spent, n=20)[-1]
    benchmark.extra_info.update(preset=preset, tags=tags, p95=last)
    print(f"\nwalk, {preset}, {tags} tags: p50 {statistics.median(spent):.1f} ms, p95 {last:.1f} ms")
    assert last <= LIMIT


def test_context(benchmark: BenchmarkFixture, graph: InMemory) -> None:
    """Writing 2,000 tokens of context for a model."""
    result = walk(graph, {"n0": 0.9, "n1": 0.8, "n2": 0.7}, WalkParameters(tags=tuple(TAGS[:7])))
    benchmark.pedantic(lambda: to_llm_context(result, budget=2_000), rounds=20, warmup_rounds=2)
    assert benchmark.stats is not None
    print(f"\ncontext of 2,000 tokens: p50 {benchmark.stats.stats.median * 1_000:.1f} ms")
