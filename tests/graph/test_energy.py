"""The formulas: those of seed 003's system to a millionth, and what ours promise about tags, ways and age."""

from __future__ import annotations

import math
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.walked_graphs import MOMENT
from promises import promise
from reasoningbank.graph.traversal import (
    freshness,
    passing_share,
    plain_tag,
    tag_match,
    tag_similarity,
    together,
    transfer_energy,
)

_unit = st.floats(0, 1)
_tags = st.sets(st.sampled_from("abcdef"))


@promise(
    "memoria:P13",
    "The preset memoria walks exactly as the studied system: its published paths to 0.001, its unit vectors to "
    "0.000001, and a plain reference on any graph.",
    source="spec/memoria_haios P13",
)
@pytest.mark.parametrize(
    ("activation", "weight", "degree", "edge_tags", "query_tags", "expected"),
    [
        (0.85, 0.90, 3, {"campaign", "evidence", "region"}, {"campaign", "region"}, 0.316532),
        (0.70, 0.75, 3, {"normalization", "campaign"}, {"campaign"}, 0.174288),
        (0.90, 0.70, 4, {"lead_time", "evidence"}, {"lead_time", "supplier"}, 0.136500),
        (1.0, 0.01, 1, set(), set(), 0.01),
    ],
)
def test_the_published_unit_vectors(
    activation: float, weight: float, degree: int, edge_tags: set[str], query_tags: set[str], expected: float
) -> None:
    """The formula passes on what the studied system's own tests say, to a millionth."""
    assert transfer_energy(activation, weight, degree, edge_tags, query_tags) == pytest.approx(expected, abs=1e-6)


@promise("memoria:P13")
def test_similarity_of_tags_by_hand() -> None:
    """No question: 1. No tags on the edge: the floor. Else the floor and the share of the union."""
    assert tag_similarity({"a"}, set()) == 1.0
    assert tag_similarity(set(), {"a"}) == 0.15
    assert tag_similarity({"a", "b"}, {"b", "c"}) == pytest.approx(0.15 + 0.85 / 3)
    assert tag_similarity({"a"}, {"A"}) == 0.15
    assert tag_similarity({"a"}, {"b"}, floor=0.4) == 0.4


@promise("memoria:P15")
@given(
    activation=_unit,
    weight=_unit,
    degree=st.integers(1, 500),
    tags=_tags,
    query=_tags,
    more=_tags,
    gain=st.floats(0, 9),
)
def test_tags_help_and_never_punish(
    activation: float, weight: float, degree: int, tags: set[str], query: set[str], more: set[str], gain: float
) -> None:
    """In our formula a further tag never lowers the energy, a match raises it, and no node gets more than there is."""
    few = passing_share(degree, tag_match(len(tags & query)), gain)
    many = passing_share(degree, tag_match(len(tags & (query | more))), gain)
    assert many >= few
    assert few >= passing_share(degree, 0.0, gain) == pytest.approx(1 / math.sqrt(degree))
    assert activation * weight * many <= activation
    assert activation * weight * passing_share(degree, 0.0, gain) == pytest.approx(
        transfer_energy(activation, weight, degree, (), ())
    )
    if tags & query and gain > 0.01 and degree > 1:
        assert few > passing_share(degree, 0.0, gain)


@promise("memoria:P15")
def test_a_matching_edge_of_a_crowded_node_gets_its_energy_back() -> None:
    """One matching tag doubles what an edge passes, three give nearly three times; no match loses nothing."""
    assert passing_share(9, tag_match(0), 2.0) == pytest.approx(1 / 3)
    assert passing_share(9, tag_match(1), 2.0) == pytest.approx(2 / 3)
    assert passing_share(9, tag_match(2), 2.0) == pytest.approx(2.5 / 3)
    assert passing_share(4, tag_match(1), 2.0) == 1.0
    assert [tag_match(count) for count in range(4)] == [0.0, 0.5, 0.75, 0.875]


@promise("memoria:P15")
def test_tags_are_compared_as_people_write_them() -> None:
    """Case, underscores and dashes make no difference; other words do."""
    assert plain_tag("Cold_Snap") == plain_tag("cold-snap") == plain_tag(" cold  snap ")
    assert plain_tag("cold") != plain_tag("cold snap")


@promise("graph:walk-meets")
@given(energies=st.lists(_unit, min_size=1, max_size=8))
def test_what_comes_together_is_more_than_each_and_at_most_all(energies: list[float]) -> None:
    """Whatever the order, the same energies come to the same sum, from the highest of them to 1."""
    whole = together(energies)
    assert whole == together(reversed(energies))
    assert max(energies) - 1e-12 <= whole <= 1.0
    assert whole <= sum(energies) + 1e-12


@promise("memoria:P17")
@given(days=st.floats(0, 4_000), later=st.floats(0.5, 400), half_life=st.floats(1, 1_000))
def test_age_takes_half_at_most(days: float, later: float, half_life: float) -> None:
    """What is newer keeps more, what is new keeps all, and nothing is forgotten altogether."""
    older = freshness(MOMENT - timedelta(days=days + later), MOMENT, half_life)
    newer = freshness(MOMENT - timedelta(days=days), MOMENT, half_life)
    assert 0.5 <= older <= newer <= 1.0
    assert freshness(MOMENT + timedelta(days=1), MOMENT, half_life) == 1.0
    assert freshness(MOMENT - timedelta(days=half_life), MOMENT, half_life) == pytest.approx(0.75)
