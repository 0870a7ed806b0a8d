"""The contextual graph: nodes, edges and links are kept whole, found by words and vectors, and leave nothing behind."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from promises import promise
from reasoningbank.errors import EdgeNotFound, MemoryNotFound, ModelMismatch, NodeNotFound
from reasoningbank.storage.graph_tables import Pointer
from reasoningbank.storage.store import Store
from reasoningbank.types.graph import Edge, Node
from reasoningbank.types.graph_search import GraphFilter, GraphKind
from reasoningbank.types.recall import Filter
from storage.contract.base import (
    EAST,
    EVERYTHING,
    MODEL,
    NORTH,
    SCOPE,
    START,
    UP,
    Conformance,
    fill,
    indexed,
    lesson,
    refuses,
    vector,
)

_ALL = GraphFilter()


class GraphConformance(Conformance):
    """What a store owes to the graph."""

    @promise("memoria:P8")
    @promise("memoria:P9")
    @promise(
        "graph:store",
        "Nodes and edges come back whole from every store, in the order they were stored, and are part of a backup.",
        source="issue 5",
    )
    def test_nodes_and_edges_come_back_whole(self) -> None:
        """Every field, times to the microsecond, the direction; also from another storage object."""
        event = Node(
            id="n1",
            label="Event",
            text="A heat wave.",
            conv_id="c1",
            tags=("weather", "süd"),
            fields={"source_type": "Calendar", "start_date": "2025-10-10", "end_date": "2025-10-18"},
            ingestion_time=START,
            update_time=START + timedelta(days=1),
        )
        answer = Node(
            id="n2", label="AgentAnswer", text="Order ice.", fields={"metrics": ("fill", "cost")}, ingestion_time=START
        )
        edge = Edge(
            id="e1", source="n1", target="n2", text="Explains.", weight=0.8, tags=("solution",), created_time=START
        )
        storage = self.storage()
        store = storage.open(SCOPE)
        try:
            with store.transaction() as transaction:
                transaction.graph.put_nodes([(event, "heat wave"), (answer, "order ice")])
                transaction.graph.put_edges([(edge, "explains")])
                assert transaction.graph.nodes(["n1"]) == {"n1": event}
            assert store.check().problems == ()
        finally:
            store.close()
        again = self.reopened(storage).open(SCOPE)
        try:
            assert again.graph.nodes(["n2", "n1", "n9"]) == {"n1": event, "n2": answer}
            assert again.graph.edges(["e1", "e9"]) == {"e1": edge}
            assert [again.graph.edges_of(ids) for ids in (["n1"], ["n2"], ["n1", "n2"], ["n9"])] == [
                [edge],
                [edge],
                [edge],
                [],
            ]
        finally:
            again.close()

    @promise("memoria:P9")
    def test_a_conversation_is_in_order(self) -> None:
        """By the time of ingestion; nodes of one time in the order they were stored; nodes of no conversation never."""
        with self.fresh() as store:
            made = [_node("n3", at=3), _node("n1", at=1), _node("n2", at=3), _node("n4", conv_id="")]
            _put(store, made)
            assert [node.id for node in store.graph.conversation("talk")] == ["n1", "n3", "n2"]
            assert store.graph.conversation("") == []
            assert [node.id for node in store.graph.node_page(GraphFilter(conv_id="talk"), limit=2, offset=1)] == [
                "n1",
                "n2",
            ]

    @promise("graph:store")
    def test_pages_are_in_the_order_of_storing(self) -> None:
        """A replaced node keeps its place; limit and offset count."""
        with self.fresh() as store:
            _put(store, [_node("b"), _node("a"), _node("c")], [_edge("e2", "b", "a"), _edge("e1", "a", "c")])
            _put(store, [_node("b", text="another")])
            assert [node.id for node in store.graph.node_page(_ALL, limit=0)] == ["b", "a", "c"]
            assert [node.id for node in store.graph.node_page(_ALL, limit=1, offset=1)] == ["a"]
            assert [edge.id for edge in store.graph.edge_page(limit=0)] == ["e2", "e1"]
            assert [edge.id for edge in store.graph.edge_page(limit=5, offset=1)] == ["e1"]
            assert [edge.id for edge in store.graph.edges_of(["a"])] == ["e2", "e1"]
            around = store.graph.edges_around(["c", "a", "nobody"])
            assert {name: [edge.id for edge in edges] for name, edges in around.items() if edges} == {
                "a": ["e2", "e1"],
                "c": ["e1"],
            }

    @promise("graph:store")
    def test_many_at_once_are_as_one_by_one(self) -> None:
        """New and replaced ones in one call, and an id given twice in one call, of which the later one stays."""
        with self.fresh() as store:
            names = [f"n{number}" for number in range(300)]
            _put(store, [_node("n7", text="an older text")])
            _put(store, [_node(name) for name in names], [_edge(f"e{name}", name, "n0", tags=("x",)) for name in names])
            _put(store, [_node("n1"), _node("n1", text="the later text")])
            stored = store.graph.node_page(_ALL, limit=0)
            assert [node.id for node in stored] == ["n7", *(name for name in names if name != "n7")]
            assert {node.id: node.text for node in stored} == {
                **{name: f"word{name}" for name in names},
                "n1": "the later text",
            }
            assert [edge.id for edge in store.graph.edge_page(limit=0)] == [f"e{name}" for name in names]
            assert dict(store.graph.graph_tags()) == {"x": 300, **{f"t{name}": 1 for name in names}}
            for words, found in (("older", []), ("later", ["n1"]), ("wordn1", []), ("wordn299", ["n299"])):
                hits = store.search.graph_matching("node", words, _ALL, 5).hits
                assert [hit.id for hit in hits] == found, words
            assert store.check().problems == ()

    @promise("memoria:P7")
    @promise("graph:integrity")
    def test_links_are_one_relation_seen_from_both_sides(self) -> None:
        """A node shows the row id of its lesson; either end takes the link with it."""
        with self.fresh() as store:
            fill(store, [lesson("m1"), lesson("m2")])
            _put(store, [_node("a"), _node("b")])
            with store.transaction() as transaction:
                assert transaction.graph.link_node(Pointer(node_id="b", memory_id="m1"))
                assert transaction.graph.link_node(Pointer(node_id="a", memory_id="m1"))
                assert transaction.graph.link_node(Pointer(node_id="a", memory_id="m2"))
                assert not transaction.graph.link_node(Pointer(node_id="a", memory_id="m2"))
            numbers = store.graph.row_ids(["m1", "m2", "m9"])
            assert store.graph.at_row_ids([*numbers.values(), 999]) == {
                number: name for name, number in numbers.items()
            }
            assert store.graph.nodes(["a"])["a"].pointers == (str(numbers["m1"]), str(numbers["m2"]))
            assert [each.node_id for each in store.graph.pointers(memory_ids=["m1"])] == ["a", "b"]
            assert [each.memory_id for each in store.graph.pointers(node_ids=["a"])] == ["m1", "m2"]
            with store.transaction() as transaction:
                assert transaction.graph.unlink_node(Pointer(node_id="b", memory_id="m1"))
                assert not transaction.graph.unlink_node(Pointer(node_id="b", memory_id="m1"))
                transaction.memories.delete("m1")
            assert store.graph.nodes(["a"])["a"].pointers == (str(numbers["m2"]),)
            with store.transaction() as transaction:
                transaction.graph.delete_node("a")
            assert store.graph.pointers() == []
            assert store.graph.graph_size().pointers == 0
            assert store.check().problems == ()

    @promise("graph:integrity")
    @promise("memoria:P26")
    def test_a_deleted_node_takes_everything_with_it(self) -> None:
        """Edges in both directions, vectors, words, tags; nothing else."""
        with self.fresh() as store:
            _put(
                store,
                [_node(name) for name in "abc"],
                [_edge("ab", "a", "b"), _edge("ca", "c", "a"), _edge("bc", "b", "c")],
            )
            _embed(store, "node", a=EAST, b=NORTH, c=UP)
            _embed(store, "edge", ab=EAST, ca=NORTH, bc=UP)
            with store.transaction() as transaction:
                transaction.graph.delete_node("a")
            assert [edge.id for edge in store.graph.edge_page(limit=0)] == ["bc"]
            assert _nearest(store, "node", EAST) == ["b", "c"]
            assert _nearest(store, "edge", EAST) == ["bc"]
            assert _matching(store, "node", "worda") == []
            assert [node.id for node in store.graph.node_page(GraphFilter(tags=("ta",)), limit=0)] == []
            size = store.graph.graph_size()
            assert (size.nodes, size.edges, size.pending) == (2, 1, 0)
            with store.transaction() as transaction:
                transaction.graph.delete_edge("bc")
            assert store.graph.edge_page(limit=0) == []
            assert store.check().problems == ()

    @promise("graph:integrity")
    def test_what_does_not_exist_is_refused(self) -> None:
        """And nothing is changed, also when the error is caught."""
        with self.fresh() as store:
            fill(store, [lesson("m1")])
            _put(store, [_node("a")])
            with store.transaction() as transaction:
                with refuses(NodeNotFound):
                    transaction.graph.put_edges([(_edge("aa", "a", "a"), ""), (_edge("ab", "a", "b"), "")])
                with refuses(NodeNotFound):
                    transaction.graph.delete_node("b")
                with refuses(EdgeNotFound):
                    transaction.graph.delete_edge("ab")
                with refuses(NodeNotFound):
                    transaction.graph.link_node(Pointer(node_id="b", memory_id="m1"))
                with refuses(MemoryNotFound):
                    transaction.graph.link_node(Pointer(node_id="a", memory_id="m2"))
            assert store.graph.edge_page(limit=0) == []
            assert store.graph.pointers() == []

    @promise("questions:vocabulary")
    def test_the_tags_of_nodes_and_edges_are_counted_together(self) -> None:
        """The most frequent first, then by code point; those of what was deleted or replaced are gone."""
        with self.fresh() as store:
            assert store.graph.graph_tags() == []
            _put(store, [replace(_node(name), tags=("both", f"t{name}")) for name in "ab"], [_edge("ab", "a", "b")])
            with store.transaction() as transaction:
                edge = replace(store.graph.edges(["ab"])["ab"], tags=("both",))
                transaction.graph.put_edges([(edge, "wordab")])
                assert transaction.graph.graph_tags(limit=1) == [("both", 3)]
            assert store.graph.graph_tags() == [("both", 3), ("ta", 1), ("tb", 1)]
            with store.transaction() as transaction:
                transaction.graph.delete_node("a")
            assert store.graph.graph_tags() == [("both", 1), ("tb", 1)]
            _put(store, [replace(_node("b"), tags=("new",))])
            assert store.graph.graph_tags() == [("new", 1)]

    @promise("graph:search")
    def test_new_words_are_found_and_old_ones_are_not(self) -> None:
        """A replaced text has no vector until it gets one; an equal text keeps its vector."""
        with self.fresh() as store:
            _put(store, [_node("a"), _node("b")])
            _embed(store, "node", a=EAST, b=NORTH)
            assert _nearest(store, "node", EAST) == ["a", "b"]
            _put(store, [replace(_node("b"), tags=("other",))])
            assert _nearest(store, "node", EAST) == ["a", "b"]
            _put(store, [_node("a", text="wordz")])
            assert _nearest(store, "node", EAST) == ["b"]
            assert [each.id for each in store.graph.unembedded("node", limit=0)] == ["a"]
            assert store.graph.graph_size().pending == 1
            assert _matching(store, "node", "wordz") == ["a"]
            assert _matching(store, "node", "worda") == []
            _embed(store, "node", a=UP)
            assert _nearest(store, "node", UP) == ["a", "b"]
            assert store.check().problems == ()

    @promise("graph:search")
    def test_conditions_are_met_inside_every_leg(self) -> None:
        """Labels, tags, the conversation and the time of events, before the best are taken."""
        window = (START, START + timedelta(days=2))
        with self.fresh() as store:
            day = {"start_date": START.date().isoformat()}
            later = {"start_date": (START + timedelta(days=9)).date().isoformat()}
            _put(
                store,
                [
                    _node("a", text="same wave", tags=("x", "y")),
                    Node(id="b", label="Event", text="same wave", fields=day, tags=("x",), ingestion_time=START),
                    Node(id="c", label="Event", text="same wave", fields=later, conv_id="talk", ingestion_time=START),
                ],
                [_edge("e", "a", "b", text="same wave", tags=("x",))],
            )
            _embed(store, "node", a=EAST, b=EAST, c=EAST)
            _embed(store, "edge", e=EAST)
            cases = {
                GraphFilter(labels=("Event",)): ["b", "c"],
                GraphFilter(labels=("Event", "UserRequest"), tags=("x",)): ["a", "b"],
                GraphFilter(tags=("x", "y")): ["a"],
                GraphFilter(tags=("z",)): [],
                GraphFilter(conv_id="talk"): ["a", "c"],
                GraphFilter(during=window): ["b"],
            }
            for condition, expected in cases.items():
                assert _nearest(store, "node", EAST, condition) == expected
                assert _matching(store, "node", "wave", condition) == expected
                assert [node.id for node in store.graph.node_page(condition, limit=0)] == expected
                assert _nearest(store, "node", EAST, condition, limit=1) == expected[:1]
            assert _nearest(store, "edge", EAST, GraphFilter(tags=("x",))) == ["e"]
            assert _matching(store, "edge", "wave", GraphFilter(tags=("y",))) == []
            assert _matching(store, "edge", "wave", GraphFilter(labels=("Event",))) == []

    @promise("graph:space")
    def test_vectors_are_of_one_model_and_one_dimension(self) -> None:
        """The bank's; forgetting the vectors lets another model's come, up to any dimension."""
        with self.fresh() as store:
            fill(store, [lesson("m1")])
            _put(store, [_node("a")])
            with store.transaction() as transaction:
                with refuses(ModelMismatch):
                    transaction.graph.put_graph_vectors("node", {"a": vector(1, 0, 0)}, MODEL)
                with refuses(ModelMismatch):
                    transaction.graph.put_graph_vectors("node", {"a": vector(*EAST)}, "another")
                assert (
                    transaction.graph.put_graph_vectors("node", {"a": vector(*EAST), "gone": vector(*UP)}, MODEL) == 1
                )
            with refuses(ModelMismatch):
                store.search.graph_nearest("node", vector(1, 0, 0), _ALL, 5)
            with store.transaction() as transaction:
                transaction.forget_vectors()
                assert transaction.graph.put_graph_vectors("node", {"a": vector(*([1] + [0] * 3_071))}, "large") == 1
            assert store.model_id == "large"
            assert [hit.id for hit in store.search.graph_nearest("node", vector(*([1] + [0] * 3_071)), _ALL, 5)] == [
                "a"
            ]

    @promise("memoria:P4")
    def test_descriptions_are_matched_alone(self) -> None:
        """A word of the content is not a word of the context; lengths and frequencies are those of the descriptions."""
        with self.fresh() as store:
            fill(
                store,
                [
                    (lesson("m1"), replace(indexed("carbon board slides carbon"), context=(1, 2))),
                    (lesson("m2"), replace(indexed("board carbon mile stone"), context=(1, 2))),
                    (lesson("m3", outcome="failure"), replace(indexed("x mile y"), context=(1, 1))),
                    (lesson("m4"), indexed("carbon mile")),
                    (lesson("m5"), replace(indexed("x other words here"), context=(1, 3))),
                ],
            )
            found = store.search.matching_context("carbon", EVERYTHING, 10)
            assert [hit.id for hit in found.hits] == ["m2"]
            assert found.documents == 4
            assert [hit.id for hit in store.search.matching_context("mile board", EVERYTHING, 10).hits] == [
                "m1",
                "m3",
                "m2",
            ]
            assert [hit.id for hit in store.search.matching_context("mile", Filter(outcome="failure"), 10).hits] == [
                "m3"
            ]
            assert store.search.matching_context("absent", EVERYTHING, 10).hits == ()
            with store.transaction() as transaction:
                transaction.memories.update(lesson("m2"), replace(indexed("board carbon mile stone"), context=(0, 1)))
            assert [hit.id for hit in store.search.matching_context("carbon", EVERYTHING, 10).hits] == []

    @promise("graph:store")
    def test_the_graph_is_part_of_a_backup(self) -> None:
        """With its vectors, its links and the row ids of the memories."""
        with self.directory() as directory:
            storage = self.storage()
            store = storage.open(SCOPE)
            try:
                fill(store, [(lesson("m1"), replace(indexed("x word"), context=(1, 1)))])
                _put(store, [_node("a"), _node("b")], [_edge("ab", "a", "b")])
                _embed(store, "node", a=EAST)
                with store.transaction() as transaction:
                    transaction.graph.link_node(Pointer(node_id="a", memory_id="m1"))
                before = (
                    store.graph.nodes(["a", "b"]),
                    store.graph.edges(["ab"]),
                    store.graph.pointers(),
                    store.graph.row_ids(["m1"]),
                )
                store.backup(directory / "copy")
                with store.transaction() as transaction:
                    transaction.graph.delete_node("a")
            finally:
                store.close()
            storage.restore(SCOPE, directory / "copy")
            again = storage.open(SCOPE)
            try:
                after = (
                    again.graph.nodes(["a", "b"]),
                    again.graph.edges(["ab"]),
                    again.graph.pointers(),
                    again.graph.row_ids(["m1"]),
                )
                assert after == before
                assert _nearest(again, "node", EAST) == ["a"]
                assert _matching(again, "node", "wordb") == ["b"]
                assert [hit.id for hit in again.search.matching_context("word", EVERYTHING, 5).hits] == ["m1"]
                assert again.check().problems == ()
            finally:
                again.close()


def _node(
    name: str, *, text: str = "", at: int = 0, conv_id: str = "talk", tags: tuple[str, ...] | None = None
) -> Node:
    """A request of a conversation, so many seconds after the start."""
    return Node(
        id=name,
        label="UserRequest",
        text=text or f"word{name}",
        conv_id=conv_id,
        tags=(f"t{name}",) if tags is None else tags,
        ingestion_time=START + timedelta(seconds=at),
    )


def _edge(name: str, source: str, target: str, *, text: str = "leads to", tags: tuple[str, ...] = ()) -> Edge:
    return Edge(id=name, source=source, target=target, text=text, weight=0.9, tags=tags, created_time=START)


def _put(store: Store, nodes: list[Node], edges: list[Edge] | None = None) -> None:
    """Stores them; their texts are their words."""
    with store.transaction() as transaction:
        transaction.graph.put_nodes([(node, node.text) for node in nodes])
        transaction.graph.put_edges([(edge, edge.text) for edge in edges or ()])


def _embed(store: Store, kind: GraphKind, **rows: tuple[int, ...]) -> None:
    with store.transaction() as transaction:
        transaction.graph.put_graph_vectors(kind, {name: vector(*row) for name, row in rows.items()}, MODEL)


def _nearest(
    store: Store, kind: GraphKind, query: tuple[int, ...], condition: GraphFilter = _ALL, *, limit: int = 10
) -> list[str]:
    return [hit.id for hit in store.search.graph_nearest(kind, vector(*query), condition, limit)]


def _matching(store: Store, kind: GraphKind, text: str, condition: GraphFilter = _ALL) -> list[str]:
    return [hit.id for hit in store.search.graph_matching(kind, text, condition, 10).hits]
