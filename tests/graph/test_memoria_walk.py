"""The preset of seed 003's system: its published answers, and a plain reference on graphs of our own."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph.walked_graphs import GraphInMemory, edge, node, plainly_walked, shop, studied, told
from promises import promise
from reasoningbank.graph.walk import walk
from reasoningbank.types.walk import WalkParameters

_QUESTION = ("sustainability", "co2", "competitor", "solution", "plan", "simulation_feedback", "guardrails")
_GOLDEN = {
    ("N3204", 0.73): [
        [("E3423", "N3201", 0.0407)],
        [("E3422", "N3203", 0.0398)],
        [("E3424", "N3205", 0.1112), ("E3436", "N3304", 0.0105)],
        [("E3424", "N3205", 0.1112), ("E9209", "N2303", 0.0066)],
    ],
    ("N3301", 0.45): [
        [("E3431", "N3302", 0.0685)],
        [("E3433", "N3303", 0.0750), ("E3434", "N3304", 0.0069)],
    ],
    ("N5024", 0.85): [
        [("E9023", "N5025", 0.1013)],
        [("E9022", "N5023", 0.0561)],
        [("E9207", "N2203", 0.1123), ("E2414", "N2204", 0.0117)],
        [("E9207", "N2203", 0.1123), ("E2413", "N2201", 0.0069)],
        [("E9207", "N2203", 0.1123), ("E2412", "N2202", 0.0066)],
    ],
}


def _check(found: list[tuple[str, list[tuple[str, str, float]]]], expected: list[list[tuple[str, str, float]]]) -> None:
    assert [[hop[:2] for hop in hops] for _, hops in found] == [[hop[:2] for hop in hops] for hops in expected]
    for (_, hops), wanted in zip(found, expected, strict=True):
        assert [energy for *_, energy in hops] == pytest.approx([energy for *_, energy in wanted], abs=1e-3)


@promise("memoria:P13")
def test_the_published_paths_of_the_large_graph() -> None:
    """All three seeds at once give the published paths, in order, to a thousandth."""
    seeds = dict(_GOLDEN.keys())
    result = walk(studied("graph_63n_80e.json"), seeds, WalkParameters(preset="memoria", tags=_QUESTION))
    for seed, _ in _GOLDEN:
        _check([path for path in told(result) if path[0] == seed], _GOLDEN[seed, seeds[seed]])


@promise("memoria:P13")
@pytest.mark.parametrize(
    ("seed", "tags", "limits", "expected"),
    [
        (
            "T3000",
            ("campaign",),
            {"max_depth": 4, "max_branches": 3},
            [
                [("E7001", "T3001", 0.20265)],
                [("E7008", "T3004", 0.04677)],
                [("E7002", "T3002", 0.23902), ("E7004", "T3003", 0.05083)],
            ],
        ),
        (
            "T4000",
            ("lead_time",),
            {"max_depth": 3, "max_branches": 2},
            [
                [("E7101", "T4001", 0.34320), ("E7102", "T4002", 0.07104)],
                [("E7101", "T4001", 0.34320), ("E7104", "T4003", 0.06907)],
            ],
        ),
        (
            "T5000",
            ("customer_segment",),
            {},
            [
                [("E7301", "T5001", 0.33665), ("E7305", "T5004", 0.01983)],
                [("E7306", "T5002", 0.28542), ("E7303", "T5003", 0.08149)],
            ],
        ),
    ],
)
def test_the_published_paths_of_the_small_graph(
    seed: str, tags: tuple[str, ...], limits: dict[str, int], expected: list[list[tuple[str, str, float]]]
) -> None:
    """The studied test graph gives the published paths."""
    parameters = WalkParameters(
        preset="memoria",
        tags=tags,
        max_depth=limits.get("max_depth", 5),
        max_branches=limits.get("max_branches", 3),
    )
    _check(told(walk(studied("dummy_17n_21e.json"), {seed: 0.9}, parameters)), expected)


@promise("memoria:P14")
def test_the_weak_bridge_of_the_small_graph() -> None:
    """It is hidden at 0.005 and visible at 0.0001."""
    graph = studied("dummy_17n_21e.json")
    for least, visible in ((0.005, False), (0.0001, True)):
        parameters = WalkParameters(preset="memoria", tags=("campaign",), max_depth=4, min_activation=least)
        hops = [hop for path in walk(graph, {"T3000": 0.9}, parameters).paths for hop in path.hops]
        bridge = [hop.transfer for hop in hops if hop.edge.id == "E7201"]
        assert bridge == pytest.approx([0.00119] if visible else [], abs=1e-5)


@promise("memoria:P13")
@pytest.mark.parametrize("tags", [(), ("frost", "lesson", "fern", "sale"), ("evidence",)])
def test_the_shipped_graph_from_every_node(tags: tuple[str, ...]) -> None:
    """From each of the 63 nodes the walk is the one that a plain reading of the specification takes."""
    graph = shop()
    for seed in graph.by_id:
        found = told(walk(graph, {seed: 0.8}, WalkParameters(preset="memoria", tags=tags)))
        reference = plainly_walked(graph, seed, 0.8, tags, 5, 3, 0.005, 0.15)
        assert [[hop[:2] for hop in hops] for _, hops in found] == [[hop[:2] for hop in hops] for hops in reference]
        for (_, hops), wanted in zip(found, reference, strict=True):
            assert [energy for *_, energy in hops] == pytest.approx([energy for *_, energy in wanted], rel=1e-12)


@promise("memoria:P13")
def test_goldens_of_the_shipped_graph() -> None:
    """Written down once, so that the reference and the walk cannot move together."""
    tags = ("frost", "lesson", "fern", "sale")
    found = told(walk(shop(), {"pk-104": 0.8}, WalkParameters(preset="memoria", tags=tags)))
    _check(
        found,
        [
            [("pk-e08", "pk-101", 0.1064)],
            [("st-e05", "st-102", 0.0539)],
            [("pk-e03", "pk-106", 0.1172), ("pk-e07", "pk-107", 0.0145)],
            [("pk-e03", "pk-106", 0.1172), ("pk-e04", "pk-102", 0.0072)],
            [("pk-e03", "pk-106", 0.1172), ("pk-e05", "pk-103", 0.0069)],
        ],
    )


@st.composite
def _graphs(draw: st.DrawFn) -> GraphInMemory:
    names = [f"n{number}" for number in range(draw(st.integers(1, 9)))]
    tags = st.lists(st.sampled_from("abcd"), unique=True, max_size=3).map(tuple)
    edges = [
        edge(
            draw(st.sampled_from(names)),
            draw(st.sampled_from(names)),
            draw(st.sampled_from([0.0, 0.2, 0.5, 0.5, 0.9, 1.0])),
            draw(tags),
            name=f"e{number}",
        )
        for number in range(draw(st.integers(0, 16)))
    ]
    return GraphInMemory(map(node, names), edges)


@promise("memoria:P13")
@promise("memoria:P14")
@settings(max_examples=150)
@given(
    graph=_graphs(),
    tags=st.lists(st.sampled_from("abx"), unique=True).map(tuple),
    depth=st.integers(1, 5),
    branches=st.integers(1, 4),
    least=st.sampled_from([0.0, 0.005, 0.1]),
    floor=st.sampled_from([0.0, 0.15, 1.0]),
)
def test_any_graph_is_walked_as_the_reference_walks_it(
    graph: GraphInMemory, tags: tuple[str, ...], depth: int, branches: int, least: float, floor: float
) -> None:
    """Parallel edges, loops, ties and edges without weight or tags included."""
    parameters = WalkParameters(
        preset="memoria", tags=tags, max_depth=depth, max_branches=branches, min_activation=least, tag_floor=floor
    )
    seeds = dict.fromkeys(list(graph.by_id)[:2], 0.9)
    found = told(walk(graph, seeds, parameters))
    expected = [
        (seed, path)
        for seed, score in seeds.items()
        for path in plainly_walked(graph, seed, score, tags, depth, branches, least, floor)
    ]
    assert [(seed, [hop[:2] for hop in hops]) for seed, hops in found] == [
        (seed, [hop[:2] for hop in hops]) for seed, hops in expected
    ]
