"""Nodes and edges obey their rules, and an error names the field."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promises import promise
from reasoningbank.errors import InvalidEdge, InvalidInput, InvalidNode
from reasoningbank.types.graph import LABEL_FIELDS, LABELS, Edge, Label, Node, WeightBand, weight_band
from reasoningbank.types.graph_search import GraphFilter

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@promise("memoria:P8")
@pytest.mark.parametrize("label", LABELS)
def test_every_label_takes_its_own_special_fields_and_no_other(label: Label) -> None:
    lists = {"analysis_types", "metrics"}
    fields = {name: ("x",) if name in lists else "2025-10-10" for name in LABEL_FIELDS[label]}
    node = Node(label=label, text="t", fields=fields)
    assert dict(node.fields) == fields
    foreign = next(name for other in LABELS for name in LABEL_FIELDS[other] if name not in LABEL_FIELDS[label])
    with pytest.raises(InvalidNode, match=f"^{foreign}: is not a field of {label}"):
        Node(label=label, text="t", fields={**fields, foreign: "x"})


@promise("memoria:P8")
@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("label", {"label": "Fact"}),
        ("label", {"label": "Event:AgentAction"}),
        ("text", {"text": " "}),
        ("text", {"text": "x" * 20_001}),
        ("id", {"id": ""}),
        ("id", {"id": "a\nb"}),
        ("conv_id", {"conv_id": "c" * 201}),
        ("tags", {"tags": ("a", "a")}),
        ("tags", {"tags": ("a" * 65,)}),
        ("tags", {"tags": tuple(map(str, range(129)))}),
        ("status", {"label": "AgentAction"}),
        ("status", {"label": "AgentAction", "fields": {"status": " "}}),
        ("end_date", {"fields": {"start_date": "2025-10-18", "end_date": "2025-10-10"}}),
        ("start_date", {"fields": {"start_date": "last week"}}),
        ("source_type", {"fields": {"source_type": ("a",)}}),
        ("metrics", {"label": "AgentAnswer", "fields": {"metrics": "roi"}}),
        ("ingestion_time", {"ingestion_time": datetime(2026, 1, 1)}),
        ("update_time", {"ingestion_time": NOW, "update_time": NOW - timedelta(seconds=1)}),
    ],
)
def test_a_broken_rule_of_a_node_names_its_field(field: str, values: dict[str, object]) -> None:
    with pytest.raises(InvalidNode, match=f"^{field}: ") as caught:
        Node(**({"label": "Event", "text": "t"} | values))  # type: ignore[arg-type]
    assert caught.value.hint


@promise("memoria:P10")
@promise("memoria:P11")
@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("weight", {"weight": 1.2}),
        ("weight", {"weight": -0.1}),
        ("weight", {"weight": float("nan")}),
        ("weight", {"weight": True}),
        ("weight", {"weight": "0.5"}),
        ("text", {"text": ""}),
        ("source", {"source": ""}),
        ("target", {"target": " "}),
        ("id", {"id": "e" * 201}),
        ("tags", {"tags": ("",)}),
        ("created_time", {"created_time": datetime(2026, 1, 1)}),
    ],
)
def test_a_broken_rule_of_an_edge_names_its_field(field: str, values: dict[str, object]) -> None:
    with pytest.raises(InvalidEdge, match=f"^{field}: "):
        Edge(**({"source": "a", "target": "b", "text": "t", "weight": 0.5} | values))  # type: ignore[arg-type]


@promise("memoria:P11")
@given(st.floats(0.0, 1.0))
def test_every_weight_has_one_band_and_heavier_is_never_lower(weight: float) -> None:
    bands = get_args(WeightBand)
    band = weight_band(weight)
    assert bands.index(band) <= bands.index(weight_band(min(1.0, weight + 0.01)))
    inside = {"direct": (0.85, 1.0), "strong": (0.55, 0.75), "weak": (0.25, 0.45)}
    assert (band in inside) != (band in {"marginal", "weak-to-strong", "strong-to-direct"})
    if band in inside:
        assert inside[band][0] <= weight <= inside[band][1]


@promise("memoria:P11")
def test_the_gaps_of_the_seed_have_names() -> None:
    expected = {0.0: "marginal", 0.24: "marginal", 0.25: "weak", 0.45: "weak", 0.5: "weak-to-strong", 0.55: "strong"}
    expected |= {0.75: "strong", 0.8: "strong-to-direct", 0.85: "direct", 1.0: "direct"}
    assert {weight: weight_band(weight) for weight in expected} == expected
    with pytest.raises(InvalidEdge):
        weight_band(float("inf"))


@promise(
    "graph:windows",
    "An event is found by exactly the time windows that it touches; its last day is included.",
    source="spec/memoria_haios row P17",
)
def test_the_window_of_an_event_includes_its_last_day() -> None:
    day = Node(label="Event", text="t", fields={"start_date": "2025-10-10", "end_date": "2025-10-18"}).window
    assert day == (datetime(2025, 10, 10, tzinfo=UTC), datetime(2025, 10, 19, tzinfo=UTC))
    moment = {"start_date": "2025-11-14T10:00:00-05:00", "end_date": "2025-11-14T11:00:00-05:00"}
    hour = Node(label="Event", text="t", fields=moment).window
    assert hour is not None
    assert hour[1] - hour[0] == timedelta(hours=1)
    assert Node(label="Event", text="t").window is None
    assert Node(label="UserRequest", text="t").window is None


@promise("graph:windows")
@given(st.integers(0, 9), st.integers(0, 5), st.integers(0, 9), st.integers(1, 5))
def test_an_event_is_found_by_every_window_that_it_touches(start: int, days: int, asked: int, length: int) -> None:
    first = NOW + timedelta(days=start)
    fields = {"start_date": first.date().isoformat(), "end_date": (first + timedelta(days=days)).date().isoformat()}
    event = Node(label="Event", text="t", fields=fields)
    window = (NOW + timedelta(days=asked), NOW + timedelta(days=asked + length))
    touched = set(range(start, start + days + 1)) & set(range(asked, asked + length))
    assert GraphFilter(during=window).accepts(event) == bool(touched)


@promise("memoria:P8")
def test_a_filter_knows_its_labels() -> None:
    with pytest.raises(InvalidInput, match="label"):
        GraphFilter(labels=("Fact",))  # type: ignore[arg-type]
