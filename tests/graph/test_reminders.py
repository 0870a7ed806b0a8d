"""Events of a time, the sources of an answer, and actions with their parameters."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta

import pytest

from graph.walked_graphs import MOMENT, GraphInMemory, arrows, edge, node, put, shop
from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.demo.graph import shop_graph
from reasoningbank.errors import InvalidInput, InvalidNode, NodeNotFound
from reasoningbank.graph.provenance import events, sources
from reasoningbank.graph.render import to_llm_context
from reasoningbank.graph.traversal import Surroundings
from reasoningbank.graph.walk import read_around, trace, walk
from reasoningbank.storage.store import Store
from reasoningbank.types.graph import Label, Node
from reasoningbank.types.graph_search import Action, action_outcome, time_window
from reasoningbank.types.walk import WalkParameters


@promise("memoria:P17")
def test_what_happened_in_january(shop_bank: Bank) -> None:
    """The cold snap and the rule that came of it; not the failed heating of March."""
    (found,) = shop_bank.graph.events(date(2026, 1, 10), date(2026, 1, 18))
    assert found.event.id == "pk-104"
    assert (found.start, found.end) == (datetime(2026, 1, 17, tzinfo=UTC), datetime(2026, 1, 23, tzinfo=UTC))
    assert [answer.id for answer in found.answer_nodes] == ["pk-107"]
    assert found.answers[0].nodes == ("pk-104", "pk-106", "pk-107")
    assert len(found.answers[0].sentences) == 2


@promise("memoria:P17")
@pytest.mark.parametrize(
    ("since", "until", "inside"),
    [
        (date(2026, 1, 22), date(2026, 1, 22), True),
        (date(2026, 1, 23), date(2026, 2, 1), False),
        (date(2026, 1, 1), date(2026, 1, 16), False),
        (date(2026, 1, 1), date(2026, 1, 17), True),
        (datetime(2026, 1, 22, 23, 59, tzinfo=UTC), None, True),
        (datetime(2026, 1, 23, 0, 0, tzinfo=UTC), None, False),
        (None, datetime(2026, 1, 17, 0, 0, tzinfo=UTC), False),
        (None, None, True),
    ],
)
def test_an_event_counts_when_any_part_of_it_lies_in_the_window(
    shop_bank: Bank, since: date | None, until: date | None, inside: bool
) -> None:
    """Days are whole days, times are exact, a missing end is open."""
    assert ("pk-104" in {each.event.id for each in shop_bank.graph.events(since, until, limit=0)}) == inside


@promise("memoria:P17")
def test_recency_orders_equal_events_and_only_when_it_is_on(shop_bank: Bank) -> None:
    """Off: as stored. On: later first. Events with more of the tags come first either way."""
    stored = [item["id"] for item in json.loads(shop_graph())["nodes"] if item["label"] == "Event"]
    off = [each.event.id for each in shop_bank.graph.events()]
    on = shop_bank.graph.events(recency=True)
    assert off == stored
    assert sorted(off) == sorted(each.event.id for each in on)
    starts = [each.start for each in on]
    assert starts == sorted(starts, reverse=True)
    tagged = [each.event.id for each in shop_bank.graph.events(tags=["Fern", "calendar", "outage"], recency=True)]
    assert tagged == ["st-305", "hd-302"]
    assert [each.event.id for each in shop_bank.graph.events(limit=2)] == stored[:2]


@promise(
    "graph:last-day",
    "An event of the last day that can be given is listed like any other.",
    source="issue 13 item 7",
)
@pytest.mark.parametrize(("since", "until"), [(None, None), ("9999-12-31", None), (None, "9999-12-31")])
def test_an_event_of_the_last_day_is_listed(
    open_bank: Callable[..., Bank], since: str | None, until: str | None
) -> None:
    bank = open_bank()
    bank.graph.add([Node(id="end", label="Event", text="All ends.", fields={"start_date": "9999-12-31"})])
    assert [each.event.id for each in bank.graph.events(since, until)] == ["end"]


@promise("memoria:P17")
def test_a_window_that_cannot_be_is_refused(shop_bank: Bank) -> None:
    """An end before the beginning, a time without a zone, a limit below zero."""
    with pytest.raises(InvalidInput, match=r"^until:"):
        shop_bank.graph.events(date(2026, 2, 1), date(2026, 1, 1))
    with pytest.raises(InvalidInput, match=r"^since:"):
        shop_bank.graph.events(datetime(2026, 2, 1))
    with pytest.raises(InvalidInput):
        shop_bank.graph.events(limit=-1)
    assert time_window(date(2026, 2, 1), date.max)[1].year == 9999


@promise(
    "memoria:P19",
    "An answer is traced to its data sources in at most three hops, each with its document and the relevant parts.",
    source="spec/memoria_haios P19",
)
def test_an_answer_is_traced_to_its_sources(shop_bank: Bank) -> None:
    """Both sources of the rule for cold nights, each with its document, the part of it, and a way of two hops."""
    found = shop_bank.sources.list("pk-107")
    assert [each.node.id for each in found][:2] == ["pk-102", "pk-103"]
    first = found[0]
    assert first.doc_pointer == "exports/claims/2026-01.csv"
    assert first.relevant_parts == "columns order_id, plant_group, verdict, postcode, dispatched_on; rows 1-412"
    assert arrows(first.path) == ["pk-107 <- pk-106", "pk-106 <- pk-102"]
    assert first.path.score == pytest.approx(0.95 * 0.91)
    assert all(len(each.path.hops) <= 3 for each in found)


@promise("memoria:P19")
def test_every_answer_of_the_shipped_graph_has_a_source() -> None:
    """At most three hops away; every one but the drafts, which rest on the service lead's cleaned reasons, in two."""
    graph = shop()
    for name, each in graph.by_id.items():
        if each.label == "AgentAnswer":
            found = sources(graph, name)
            assert found, name
            assert all(source.doc_pointer and source.relevant_parts for source in found)


@promise("memoria:P19")
def test_what_came_of_an_answer_is_none_of_its_sources() -> None:
    """Edges are followed to what something came of; a source that an answer cites itself counts as well."""
    graph = GraphInMemory(
        [
            node("answer"),
            node("later", label="AgentAction"),
            node("other", label="DataSource"),
            node("cited", label="DataSource"),
        ],
        [edge("answer", "later"), edge("other", "later"), edge("answer", "cited", 0.8)],
    )
    assert [each.node.id for each in sources(graph, "answer")] == ["cited"]


@promise("memoria:P19")
def test_only_answers_and_actions_have_sources(shop_bank: Bank) -> None:
    """An unknown node and a node of another label are refused; an action has sources as an answer has."""
    with pytest.raises(NodeNotFound):
        shop_bank.sources.list("nowhere")
    with pytest.raises(InvalidNode, match=r"^label:"):
        shop_bank.sources.list("pk-104")
    assert {each.node.id for each in shop_bank.sources.list("pk-106")} >= {"pk-102", "pk-103"}


@promise("memoria:P19")
def test_the_shortest_way_is_taken_and_of_equal_ones_the_strongest() -> None:
    """Never through a node of the label that is looked for, and never further than allowed."""
    graph = GraphInMemory(
        [
            node("start"),
            *(node(name, label="AgentAction") for name in ("weak", "strong", "long1", "long2", "long3")),
            node("goal", label="DataSource"),
            node("behind", label="DataSource"),
            node("far", label="DataSource"),
        ],
        [
            edge("weak", "start", 0.5),
            edge("goal", "weak", 0.5),
            edge("strong", "start", 0.9),
            edge("goal", "strong", 0.9),
            edge("behind", "goal", 1.0),
            edge("long1", "start"),
            edge("long2", "long1"),
            edge("long3", "long2"),
            edge("far", "long3"),
        ],
    )
    between: tuple[Label, ...] = ("AgentAction",)
    found = trace(Surroundings(graph), "start", "DataSource", hops=3, through=between, backwards=True)
    assert [(each.id, path.nodes) for each, path in found] == [("goal", ("start", "strong", "goal"))]
    assert graph.edge_calls <= 3
    assert graph.node_calls <= 3


@promise(
    "memoria:P20",
    "The parameters of an action come back word for word, and an action that failed is shown as failed.",
    source="spec/memoria_haios P20",
)
def test_parameters_are_word_for_word(shop_bank: Bank) -> None:
    """SQL over several lines comes back as it was written; a failed call is shown as failed."""
    stored = {item["id"]: item for item in json.loads(shop_graph())["nodes"]}
    found = {each.node.id: each for each in shop_bank.graph.actions(conv_id="packing/frost-claims")}
    assert found["pk-106"].parameters == stored["pk-106"]["parameter_field"]
    assert "\nGROUP BY 1, 2;" in found["pk-106"].parameters
    assert (found["pk-106"].status, found["pk-106"].outcome) == ("success", "success")
    assert (found["pk-105"].status, found["pk-105"].outcome) == ("failed", "failure")
    assert [each.node.id for each in shop_bank.graph.actions(outcome="failure")] == ["pk-105"]
    assert len(shop_bank.graph.actions(outcome="success", limit=0)) == 13
    assert [each.node.id for each in shop_bank.graph.actions(tags=["boxes", "simulation"], limit=1)] == ["pk-203"]
    with pytest.raises(InvalidInput, match=r"^outcome must be"):
        shop_bank.graph.actions(outcome="good")  # type: ignore[arg-type]


@promise("memoria:P20")
def test_secrets_stay_inside_whoever_wrote_the_row(store: Store, open_bank: Callable[[], Bank]) -> None:
    """Actions, events, sources and the sentences between them leave the bank without a key that a row holds."""
    key = "ghp_" + "a1B2" * 9
    action = node("act", f"Called with {key}.", "AgentAction", fields={"status": "ok", "parameter_field": f"t={key}"})
    happened = node("ev", f"Leaked {key}.", "Event", fields={"start_date": "2026-01-01"})
    source = node("src", f"Log with {key}.", "DataSource", fields={"doc_pointer": f"logs?token={key}"})
    edges = [edge("ev", "act", text=f"{key} set it off."), edge("act", "ans", text=f"{key} told it.")]
    put(
        store,
        GraphInMemory([action, happened, source, node("ans")], [*edges, edge("src", "act", text=f"{key} fed it.")]),
    )
    store.close()
    bank = open_bank()
    shown = repr((bank.graph.actions(), bank.graph.events(), bank.sources.list("ans")))
    assert all(name in shown for name in ("act", "ev", "src", "set it off", "fed it"))
    assert "a1B2a1B2" not in shown


@promise("memoria:P20")
@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        ("complete", "success"),
        ("Success", "success"),
        ("FAILED", "failure"),
        ("timed_out", "failure"),
        ("half done", "unknown"),
        ("not ok", "unknown"),
    ],
)
def test_a_status_that_is_not_known_is_no_success(status: str, outcome: str) -> None:
    """There is no list of statuses in the seed; what is not surely a success is not shown as one."""
    action = Action(node=node("a", label="AgentAction", fields={"status": status}))
    assert action.outcome == outcome == action_outcome(action.node)


@promise("memoria:P20")
@promise(
    "memoria:P22",
    "The context for a model keeps its token budget, quotes everything, marks the seed once a path, and every id of a "
    "path is in its attributes.",
    source="spec/memoria_haios P22",
)
def test_a_model_is_told_that_an_action_failed() -> None:
    """The path says so beside the action, whatever its text sounds like."""
    result = walk(shop(), {"pk-105": 0.9}, WalkParameters(max_depth=1))
    line = to_llm_context(result).paths[0]
    assert line.startswith('[SEED] (AgentAction pk-105, FAILED: "')
    assert line.count("FAILED") == 1


@promise("memoria:P18")
@promise("memoria:P22")
def test_preferences_stand_before_the_paths(shop_bank: Bank) -> None:
    """What who asks wants is the first that a model reads, quoted, within the same budget."""
    result = walk(shop(), {"mo-101": 0.9}, WalkParameters(tags=("margin",)))
    wanted = shop_bank.preferences.list(user="oskar")
    context = to_llm_context(result, budget=1_500, preferences=wanted)
    lines = context.text.splitlines()
    assert lines[2] == "What the reader of the answer wants:"
    assert lines[3] == f"| report_style: {wanted[0].text}"
    assert context.preferences == (wanted[0].id,)
    assert context.tokens <= 1_500
    assert to_llm_context(result, budget=60, preferences=wanted).text == ""


@promise("memoria:P17")
def test_many_events_are_traced_with_few_reads() -> None:
    """However many events there are, the ways of all to their answers are read together."""
    names = [f"e{number}" for number in range(50)]
    actions = [f"a{number}" for number in range(50)]
    graph = GraphInMemory(
        [
            *(node(name, label="Event") for name in names),
            *(node(name, label="AgentAction") for name in actions),
            node("z"),
        ],
        [edge(left, right) for left, right in zip(names, actions, strict=True)] + [edge(name, "z") for name in actions],
    )
    surroundings = Surroundings(graph)
    between: tuple[Label, ...] = ("AgentAction",)
    read_around(surroundings, names, hops=2, through=between)
    for name in names:
        ((found, path),) = trace(surroundings, name, "AgentAnswer", hops=2, through=between)
        assert (found.id, len(path.hops)) == ("z", 2)
    assert surroundings.calls == 4


@promise("memoria:P17")
def test_events_come_from_the_store_as_from_the_data(shop_store: Store) -> None:
    """Two years of window, all events, their answers found over at most one action."""
    found = events(shop_store, (MOMENT - timedelta(days=400), MOMENT + timedelta(days=400)))
    assert len(found) == 6
    for each in found:
        assert all(len(path.hops) <= 2 for path in each.answers)
        assert isinstance(each.event, Node)
    assert {each.event.id: len(each.answers) for each in found}["st-305"] >= 1
