"""The default preset: what is better than in seed 003's system, and the bounds that every walk keeps."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph.walked_graphs import MOMENT, GraphInMemory, arrows, edge, node, shop, told
from promises import promise
from reasoningbank.errors import InvalidInput
from reasoningbank.graph.traversal import together
from reasoningbank.graph.walk import walk
from reasoningbank.types.walk import MAX_SEEDS, WalkParameters

_PLAIN = WalkParameters()


def _energies(graph: GraphInMemory, seeds: dict[str, float], parameters: WalkParameters) -> dict[str, float]:
    found = walk(graph, seeds, parameters)
    return {hop.reached: hop.activation for path in found.paths for hop in path.hops}


@promise(
    "graph:walk-meets",
    "Energy from several seeds and over ways that meet adds up, whatever their order.",
    source="issue 5",
)
def test_ways_that_meet_add_up() -> None:
    """A node that two ways of one level lead to has more energy than either gave, and hangs under the stronger."""
    graph = GraphInMemory(
        map(node, "abcd"), [edge("a", "b", 0.9), edge("a", "c", 0.7), edge("b", "d", 0.8), edge("c", "d", 0.8)]
    )
    paths = {path.nodes: path for path in walk(graph, {"a": 0.9}, _PLAIN).paths}
    assert set(paths) == {("a", "b", "d"), ("a", "c")}
    way = paths["a", "b", "d"]
    other = paths["a", "c"].hops[-1].activation * 0.8 / 2**0.5
    assert way.hops[-1].activation == pytest.approx(together([way.hops[-1].transfer, other]))
    assert way.hops[-1].activation > way.hops[-1].transfer


@promise("graph:walk-meets")
def test_energy_of_several_seeds_adds_up_and_lifts_the_path_between_them() -> None:
    """What lies between two seeds is more active than from either alone, and the path that joins them is first."""
    names = ("left", "middle", "right", "aside", "far")
    graph = GraphInMemory(
        map(node, names),
        [
            edge("left", "middle", 0.6),
            edge("middle", "right", 0.6),
            edge("left", "aside", 0.7),
            edge("aside", "far", 1.0),
        ],
    )
    alone = _energies(graph, {"left": 0.8}, _PLAIN)
    both = _energies(graph, {"left": 0.8, "right": 0.7}, _PLAIN)
    assert both["middle"] > alone["middle"]
    assert walk(graph, {"left": 0.8}, _PLAIN).paths[0].nodes == ("left", "aside", "far")
    assert {"left", "middle", "right"} <= set(walk(graph, {"left": 0.8, "right": 0.7}, _PLAIN).paths[0].nodes)


@promise("graph:walk-meets")
@pytest.mark.parametrize("preset", ["default", "memoria"])
def test_the_order_of_the_seeds_changes_no_energy(preset: str) -> None:
    """Nor, in the default preset, which paths come first."""
    graph = shop()
    seeds = {"pk-104": 0.8, "st-301": 0.6, "mo-101": 0.5}
    parameters = WalkParameters(preset=preset, tags=("frost", "margin"))  # type: ignore[arg-type]
    ahead = told(walk(graph, seeds, parameters))
    back = told(walk(graph, dict(reversed(seeds.items())), parameters))
    assert (ahead == back) if preset == "default" else (sorted(ahead) == sorted(back))


@st.composite
def _graphs(draw: st.DrawFn) -> GraphInMemory:
    names = [f"n{number}" for number in range(draw(st.integers(2, 9)))]
    tags = st.lists(st.sampled_from("abcd"), unique=True, max_size=3).map(tuple)
    nodes = [node(name, tags=draw(tags)) for name in names]
    pairs = st.tuples(st.sampled_from(names), st.sampled_from(names))
    weights = st.sampled_from([0.1, 0.3, 0.5, 0.8, 1.0])
    edges = [edge(*draw(pairs), draw(weights), draw(tags), name=f"e{n}") for n in range(draw(st.integers(1, 16)))]
    return GraphInMemory(nodes, edges)


@promise(
    "memoria:P15",
    "In the default walk a matching tag raises the energy and no tag lowers it; with tags the right path comes first "
    "and walks reach three hops and more.",
    source="spec/memoria_haios P15",
)
@promise(
    "memoria:P14",
    "Depth, branches, least activation and floor are respected and checked; a seed that does not exist is named "
    "seed_not_found and stops no other.",
    source="spec/memoria_haios P14",
)
@settings(max_examples=120)
@given(
    graph=_graphs(),
    tags=st.lists(st.sampled_from("abx"), unique=True, min_size=1).map(tuple),
    second=st.booleans(),
    branches=st.integers(1, 4),
    depth=st.integers(1, 5),
)
def test_what_every_default_walk_keeps(
    graph: GraphInMemory, tags: tuple[str, ...], second: bool, branches: int, depth: int
) -> None:
    """Paths are ways of the graph within all limits, each tells something new, and no energy is above all seeds."""
    seeds = {"n0": 0.9, "n1": 0.4} if second else {"n0": 0.9}
    parameters = WalkParameters(tags=tags, max_branches=branches, max_depth=depth)
    result = walk(graph, seeds, parameters)
    shown: set[str] = set()
    scores = [path.score for path in result.paths]
    assert scores == sorted(scores, reverse=True)
    for path in result.paths:
        assert len(path.hops) <= depth
        assert len(set(path.nodes)) == len(path.nodes)
        assert set(path.nodes) - shown
        shown.update(path.nodes)
        at = path.seed
        for hop in path.hops:
            assert hop.left == at
            at = hop.reached
            assert parameters.min_activation < hop.activation <= together(seeds.values()) + 1e-12
            assert hop.transfer <= hop.activation + 1e-12
    assert set(result.nodes) == shown


@promise("memoria:P15")
@settings(max_examples=120)
@given(graph=_graphs(), tags=st.lists(st.sampled_from("abx"), unique=True, min_size=1).map(tuple))
def test_tags_never_take_a_node_away(graph: GraphInMemory, tags: tuple[str, ...]) -> None:
    """With no other limit every node that is reached without tags is reached with them, and no less active."""
    parameters = WalkParameters(max_branches=50, min_activation=0.0, max_depth=5)
    before = _energies(graph, {"n0": 0.9}, parameters)
    after = _energies(graph, {"n0": 0.9}, replace(parameters, tags=tags))
    assert set(before) == set(after)
    for name, energy in before.items():
        assert after[name] >= energy - 1e-12


@promise("memoria:P15")
def test_tags_of_the_node_reached_count_like_those_of_the_edge() -> None:
    """A question in the words of a node finds it over an edge that speaks in other words."""
    graph = GraphInMemory(
        [node("a"), node("b", tags=("Cold-Snap",)), *(node(f"c{number}") for number in range(8))],
        [edge("a", "b", 0.5, ("cause",)), *(edge("a", f"c{number}", 0.9) for number in range(8))],
    )
    assert all(path.nodes != ("a", "b") for path in walk(graph, {"a": 0.8}, _PLAIN).paths)
    assert walk(graph, {"a": 0.8}, WalkParameters(tags=("cold_snap",))).paths[0].nodes == ("a", "b")


@promise("memoria:P14")
def test_one_branch_gives_one_path() -> None:
    """With one branch every node has one way on, in both presets."""
    for preset in ("default", "memoria"):
        parameters = WalkParameters(preset=preset, max_branches=1, max_depth=3)
        result = walk(shop(), {"pk-104": 0.9, "mo-105": 0.7}, parameters)
        assert [path.seed for path in result.paths] == ["pk-104", "mo-105"]
        assert all(len(path.hops) <= 3 for path in result.paths)


@promise("memoria:P14")
@pytest.mark.parametrize("preset", ["default", "memoria"])
def test_a_seed_that_does_not_exist_stops_no_other(preset: str) -> None:
    """It is named with the reason seed_not_found; the other seed's paths are those it has alone."""
    parameters = WalkParameters(preset=preset)  # type: ignore[arg-type]
    result = walk(shop(), {"nowhere": 0.9, "pk-104": 0.8}, parameters)
    assert [(seed.id, seed.found, seed.reason) for seed in result.seeds] == [
        ("nowhere", False, "seed_not_found"),
        ("pk-104", True, ""),
    ]
    assert told(result) == told(walk(shop(), {"pk-104": 0.8}, parameters))
    assert walk(shop(), {"nowhere": 0.9}, parameters).paths == ()


@promise("memoria:P14")
def test_no_seed_and_a_seed_without_edges() -> None:
    """Nothing gives nothing; a node that leads nowhere is itself a memory in the default preset."""
    graph = GraphInMemory([node("alone")], [])
    assert walk(graph, {}).paths == ()
    assert [path.nodes for path in walk(graph, {"alone": 0.5}).paths] == [("alone",)]
    assert walk(graph, {"alone": 0.5}, WalkParameters(preset="memoria")).paths == ()


@promise(
    "graph:walk-bounded",
    "A walk reads edges once a level however many seeds it has, and its work is bounded on any graph.",
    source="issue 5",
)
@pytest.mark.parametrize("preset", ["default", "memoria"])
@pytest.mark.parametrize("seeds", [1, 40])
def test_the_store_is_asked_once_a_level(preset: str, seeds: int) -> None:
    """However many seeds there are: at most one call for edges a level, and one for nodes a level and two more."""
    graph = shop()
    names = list(graph.by_id)[:seeds]
    walk(graph, dict.fromkeys(names, 0.9), WalkParameters(preset=preset, tags=("frost",), max_depth=4))  # type: ignore[arg-type]
    assert graph.edge_calls <= 4
    assert graph.node_calls <= 4 + 2


@promise("graph:walk-bounded")
def test_a_graph_where_everything_touches_everything() -> None:
    """120 nodes, each joined to each: the walk keeps a bounded part of every level and as many paths as it may."""
    names = [f"n{number:03}" for number in range(120)]
    graph = GraphInMemory(
        map(node, names),
        [edge(left, right, 1.0, ("t",)) for at, left in enumerate(names) for right in names[at + 1 :]],
    )
    result = walk(graph, {"n000": 1.0, "n001": 1.0}, WalkParameters(tags=("t",), max_depth=10, max_branches=50))
    assert len(result.paths) == 20
    assert result.left_out > 0
    assert result.reached <= 2 * 10 * 24


@promise(
    "graph:walk-direction",
    "Hops against an edge are told, keep the sentence's subject, and can be refused.",
    source="issue 5",
)
def test_hops_against_an_edge_are_told_and_can_be_refused() -> None:
    """The direction of each hop is known; a walk along or against the edges takes only such hops."""
    graph = GraphInMemory(map(node, "abc"), [edge("a", "b"), edge("c", "b")])
    path = walk(graph, {"a": 0.9}, _PLAIN).paths[0]
    assert arrows(path) == ["a -> b", "b <- c"]
    assert [hop.reversed for hop in path.hops] == [False, True]
    assert path.sentences == ("a leads to b.", "c leads to b.")
    assert walk(graph, {"a": 0.9}, WalkParameters(direction="along")).paths[0].nodes == ("a", "b")
    assert walk(graph, {"b": 0.9}, WalkParameters(direction="along")).paths[0].nodes == ("b",)
    assert {path.nodes for path in walk(graph, {"b": 0.9}, WalkParameters(direction="against")).paths} == {
        ("b", "a"),
        ("b", "c"),
    }


@promise("graph:walk-labels", "Labels say which nodes may be reached and with which a path ends.", source="issue 5")
def test_labels_say_what_may_be_reached_and_where_paths_end() -> None:
    """Labels that are not wanted are not entered; paths are cut after their last node of a wanted end."""
    graph = shop()
    only = walk(graph, {"pk-104": 0.9}, WalkParameters(labels=("AgentAction", "AgentAnswer")))
    assert {graph.by_id[name].label for path in only.paths for name in path.nodes[1:]} == {"AgentAction", "AgentAnswer"}
    ending = walk(graph, {"pk-104": 0.9}, WalkParameters(ends=("DataSource",)))
    assert ending.paths
    assert all(graph.by_id[path.nodes[-1]].label == "DataSource" for path in ending.paths)
    assert walk(GraphInMemory([node("a")], []), {"a": 0.9}, WalkParameters(ends=("Event",))).paths == ()


@promise(
    "memoria:P17",
    "Events of a window are found with the answers they led to; recency decides between equals, and only when it is "
    "on.",
    source="spec/memoria_haios P17",
)
def test_events_outside_the_window_are_not_reached() -> None:
    """A window leaves out events of other times and nothing else."""
    graph = shop()
    within = WalkParameters(since=MOMENT.replace(month=1, day=1), until=MOMENT.replace(month=3, day=1), max_paths=500)
    every = walk(graph, {"pk-101": 0.9}, WalkParameters(min_activation=0.001, max_paths=500))
    some = walk(graph, {"pk-101": 0.9}, replace(within, min_activation=0.001))
    reached = {name for path in some.paths for name in path.nodes}
    assert "pk-104" in reached
    assert "st-102" not in reached
    assert "st-102" in {name for path in every.paths for name in path.nodes}
    edges = walk(graph, {"pk-101": 0.9}, WalkParameters(since=MOMENT.replace(month=1, day=22), max_depth=1)).nodes
    assert "pk-104" in edges
    assert "pk-104" not in walk(graph, {"pk-101": 0.9}, WalkParameters(until=MOMENT.replace(month=1, day=17))).nodes


@promise("memoria:P17")
def test_recency_decides_between_equals_only_when_it_is_on() -> None:
    """Two like answers: without recency their ids decide, with it the newer one is first."""
    graph = GraphInMemory(
        [node("seed"), node("a-old", ingestion_time=MOMENT - timedelta(days=200)), node("b-new")],
        [edge("seed", "a-old", 0.8), edge("seed", "b-new", 0.8)],
    )
    off = walk(graph, {"seed": 0.9}, _PLAIN)
    on = walk(graph, {"seed": 0.9}, WalkParameters(half_life_days=30, moment=MOMENT))
    assert [path.nodes[-1] for path in off.paths] == ["a-old", "b-new"]
    assert off.paths[0].energies == off.paths[1].energies
    assert [path.nodes[-1] for path in on.paths] == ["b-new", "a-old"]


@promise("memoria:P17")
def test_recency_does_not_turn_a_clear_order() -> None:
    """Age takes half at most: an old node that is far more relevant stays first."""
    graph = GraphInMemory(
        [node("seed"), node("old", ingestion_time=MOMENT - timedelta(days=2_000)), node("new")],
        [edge("seed", "old", 0.9), edge("seed", "new", 0.3)],
    )
    found = walk(graph, {"seed": 0.9}, WalkParameters(half_life_days=30, moment=MOMENT))
    assert [path.nodes[-1] for path in found.paths] == ["old", "new"]


@promise("graph:walk-bounded")
def test_an_edge_to_a_node_that_does_not_exist_is_not_walked() -> None:
    """A reader with a dangling edge gives the path up to it."""
    graph = GraphInMemory([node("a"), node("b")], [edge("a", "b"), edge("b", "gone")])
    for preset in ("default", "memoria"):
        parameters = WalkParameters(preset=preset)
        assert [path.nodes for path in walk(graph, {"a": 0.9}, parameters).paths] == [("a", "b")]


@promise("memoria:P14")
@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("preset", {"preset": "other"}),
        ("max_depth", {"max_depth": 0}),
        ("max_depth", {"max_depth": 11}),
        ("max_depth", {"max_depth": True}),
        ("max_branches", {"max_branches": 51}),
        ("max_paths", {"max_paths": 0}),
        ("min_activation", {"min_activation": -0.1}),
        ("min_activation", {"min_activation": 1.0}),
        ("min_activation", {"min_activation": float("nan")}),
        ("tag_floor", {"preset": "memoria", "tag_floor": 1.5}),
        ("tag_floor", {"tag_floor": 0.3}),
        ("tag_gain", {"tag_gain": float("inf")}),
        ("tag_gain", {"preset": "memoria", "tag_gain": 3.0}),
        ("tags", {"tags": (" ",)}),
        ("tags", {"tags": tuple(map(str, range(200)))}),
        ("direction", {"direction": "up"}),
        ("direction", {"preset": "memoria", "direction": "along"}),
        ("labels", {"labels": ("Person",)}),
        ("ends", {"ends": ("Person",)}),
        ("since", {"since": MOMENT.replace(tzinfo=None)}),
        ("until", {"since": MOMENT, "until": MOMENT - timedelta(days=1)}),
        ("half_life_days", {"half_life_days": 0, "moment": MOMENT}),
        ("moment", {"half_life_days": 30}),
        ("half_life_days", {"preset": "memoria", "half_life_days": 30, "moment": MOMENT}),
    ],
)
def test_a_parameter_that_cannot_be_is_named(name: str, parameters: dict[str, Any]) -> None:
    """Nothing is silently corrected, and the message begins with the parameter's name."""
    with pytest.raises(InvalidInput, match=f"^{name}[: ]"):
        WalkParameters(**parameters)


@promise("memoria:P14")
@pytest.mark.parametrize(
    "seeds",
    [
        {" ": 0.5},
        {"a": 0.0},
        {"a": -1.0},
        {"a": float("nan")},
        {"a": float("inf")},
        dict.fromkeys(map(str, range(MAX_SEEDS + 1)), 0.5),
    ],
)
def test_seeds_that_cannot_be_are_refused(seeds: dict[str, float]) -> None:
    """An empty id, a score that is not an energy, and too many of them."""
    with pytest.raises(InvalidInput, match=r"^seeds:"):
        walk(GraphInMemory([], []), seeds)


@promise("graph:walk-meets")
def test_scores_above_one_are_scaled_together() -> None:
    """The default preset brings them to at most 1 in proportion; the studied one takes them as they are."""
    graph = shop()
    seeds = {"pk-104": 1.6, "st-301": 0.8}
    assert told(walk(graph, seeds)) == told(walk(graph, {"pk-104": 1.0, "st-301": 0.5}))
    plain = walk(graph, {"pk-104": 1.0}, WalkParameters(preset="memoria", min_activation=0.0, max_depth=1))
    double = walk(graph, {"pk-104": 2.0}, WalkParameters(preset="memoria", min_activation=0.0, max_depth=1))
    assert double.paths[0].energies[0] == pytest.approx(2 * plain.paths[0].energies[0])
