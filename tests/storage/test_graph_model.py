"""The graph and its links in a store and a naive model in step, through any order of writes: nothing dangles."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule, run_state_machine_as_test

from promises import promise
from reasoningbank.graph.import_records import RecordReader
from reasoningbank.graph.importer import ReadyImport, with_words, write_import
from reasoningbank.storage.graph_tables import Pointer
from reasoningbank.storage.store import Store, Transaction
from reasoningbank.types.graph import Edge, Node
from reasoningbank.types.graph_search import GRAPH_KINDS, GraphFilter, GraphKind
from storage.contract.base import EVERYTHING, START, indexed, lesson, vector
from storage.two_stores import TwoStores

NODES = ("a", "b", "c", "d")
MEMORIES = ("m1", "m2", "m3")
node_ids = st.sampled_from(NODES)
edge_ids = st.sampled_from(("e1", "e2", "e3", "e4", "e5"))
memory_ids = st.sampled_from(MEMORIES)
words = st.sampled_from(("kiwi", "kiwi plum", "plum plum fig", "fig"))
tags = st.sampled_from(((), ("x",), ("x", "y")))
kinds = st.sampled_from(GRAPH_KINDS)
directions = st.sampled_from(((1, 0, 0, 0), (0, 1, 0, 0), (0.5, 0.5, 0.5, 0.5), (-1, 0, 0, 0)))
records = st.fixed_dictionaries(
    {
        "nodes": st.lists(
            st.fixed_dictionaries(
                {"id": node_ids, "label": st.just("UserRequest"), "text": words},
                optional={"reasoning_pointer_ids": st.lists(st.sampled_from((*MEMORIES, "1", "9")), max_size=2)},
            ),
            max_size=3,
        ),
        "edges": st.lists(
            st.fixed_dictionaries(
                {
                    "id": edge_ids,
                    "source": st.sampled_from((*NODES, "z")),
                    "target": node_ids,
                    "text": words,
                    "weight": st.sampled_from((0.3, 0.8)),
                }
            ),
            max_size=4,
        ),
    }
)


class GraphLockstep(TwoStores):
    """Everything about the graph."""

    @rule(name=node_ids, text=words, carried=tags)
    def put_node(self, name: str, text: str, carried: tuple[str, ...]) -> None:
        node = Node(id=name, label="UserRequest", text=text, tags=carried, conv_id="talk", ingestion_time=START)
        self.write(lambda transaction: transaction.graph.put_nodes([(node, text)]))

    @rule(name=edge_ids, first=node_ids, second=node_ids, text=words, carried=tags)
    def put_edge(self, name: str, first: str, second: str, text: str, carried: tuple[str, ...]) -> None:
        edge = Edge(id=name, source=first, target=second, text=text, weight=0.5, tags=carried, created_time=START)
        self.write(lambda transaction: transaction.graph.put_edges([(edge, text)]))

    @rule(name=node_ids)
    def delete_node(self, name: str) -> None:
        self.write(lambda transaction: transaction.graph.delete_node(name))

    @rule(name=edge_ids)
    def delete_edge(self, name: str) -> None:
        self.write(lambda transaction: transaction.graph.delete_edge(name))

    @rule(name=memory_ids, text=words)
    def put_memory(self, name: str, text: str) -> None:
        known = {memory.id for memory in self.model.page(EVERYTHING, limit=0, offset=0)}
        derived = replace(indexed(f"title {text}"), context=(1, len(text.split())))

        def write(transaction: Transaction) -> None:
            if name in known:
                transaction.memories.update(lesson(name), derived)
            else:
                transaction.memories.insert(lesson(name), derived)

        self.write(write)

    @rule(name=memory_ids)
    def delete_memory(self, name: str) -> None:
        self.write(lambda transaction: transaction.memories.delete(name))

    @rule(node=node_ids, memory=memory_ids, away=st.booleans())
    def link(self, node: str, memory: str, away: bool) -> None:
        pointer = Pointer(node_id=node, memory_id=memory)
        self.write(
            lambda transaction: (transaction.graph.unlink_node if away else transaction.graph.link_node)(pointer)
        )

    @rule(kind=kinds, name=node_ids | edge_ids, row=directions, model=st.sampled_from(("lattice/4", "other/4")))
    def embed(self, kind: GraphKind, name: str, row: tuple[float, ...], model: str) -> None:
        self.write(lambda transaction: transaction.graph.put_graph_vectors(kind, {name: vector(*row)}, model))

    @rule()
    def forget_vectors(self) -> None:
        self.write(lambda transaction: transaction.forget_vectors())

    @rule(name=node_ids)
    def fail(self, name: str) -> None:
        self.write(lambda transaction: transaction.graph.delete_node(name), interrupted=True)

    @rule(record=records)
    def import_twice(self, record: dict[str, list[dict[str, object]]]) -> None:
        reader = RecordReader(datetime(2026, 1, 1, tzinfo=UTC))
        for node in record["nodes"]:
            reader.node(node)
        for edge in record["edges"]:
            reader.edge(edge)
        draft = reader.draft
        ready = ReadyImport(draft=draft, nodes=with_words(draft.nodes, {}), edges=with_words(draft.edges, {}))
        self.write(lambda transaction: write_import(transaction, ready))
        before = everything(self.model.as_store)
        reports = []
        for store in (self.model, self.subject):
            with store.transaction() as transaction:
                reports.append(write_import(transaction, ready))
        assert reports[0] == reports[1]
        assert (reports[0].nodes_added, reports[0].edges_added, reports[0].pointers_added) == (0, 0, 0)
        assert everything(self.model.as_store) == before

    @invariant()
    def same(self) -> None:
        expected = everything(self.model.as_store)
        assert everything(self.watcher) == expected

    @invariant()
    def whole(self) -> None:
        nodes = self.model.nodes(NODES)
        assert all({edge.source, edge.target} <= nodes.keys() for edge in self.model.edge_page(limit=0))
        listed = {(pointer.node_id, pointer.memory_id) for pointer in self.model.pointers()}
        numbers = self.model.row_ids(MEMORIES)
        shown = {
            (node.id, name)
            for node in nodes.values()
            for name, number in numbers.items()
            if str(number) in node.pointers
        }
        assert listed == shown

    def teardown(self) -> None:
        try:
            assert problems(self.model.as_store) == problems(self.subject) == []
        finally:
            super().teardown()


def problems(store: Store) -> list[str]:
    """What a check finds, apart from memories that lost their vectors when all were forgotten."""
    return [each for each in store.check().problems if "no vector" not in each]


def everything(store: Store) -> tuple[object, ...]:
    """What any reader can see of the graph."""
    nodes, edges = store.graph.node_page(GraphFilter(), limit=0), store.graph.edge_page(limit=0)
    legs: list[object] = []
    for kind in GRAPH_KINDS:
        legs += [store.graph.unembedded(kind, limit=0)]
        for condition in (GraphFilter(), GraphFilter(tags=("x",))):
            found = store.search.graph_matching(kind, "plum fig", condition, 10)
            legs.append([(hit.id, round(hit.score, 9)) for hit in found.hits])
            near = store.search.graph_nearest(kind, vector(1, 0, 0, 0), condition, 10)
            legs.append([(hit.id, round(hit.score, 6)) for hit in near])
    context = store.search.matching_context("plum fig", EVERYTHING, 10)
    return (
        nodes,
        edges,
        [store.graph.edges_of(names) for names in (NODES[:1], NODES)],
        {name: list(edges) for name, edges in store.graph.edges_around(NODES).items() if edges},
        store.graph.nodes(NODES),
        store.graph.conversation("talk"),
        store.graph.pointers(),
        store.graph.row_ids(MEMORIES),
        store.graph.graph_size(),
        legs,
        [(hit.id, round(hit.score, 9)) for hit in context.hits],
    )


@promise(
    "graph:model",
    "Through any order of writes, imports and failures both stores show the same graph, and nothing dangles.",
    source="issue 5",
)
@promise("memoria:P7")
@promise("memoria:P12")
@promise("graph:integrity")
def test_both_stores_agree_on_every_graph(torture: bool) -> None:
    run_state_machine_as_test(
        GraphLockstep, settings=settings(max_examples=500 if torture else 10, stateful_step_count=15, deadline=None)
    )
