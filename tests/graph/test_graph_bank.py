"""The verbs of the bank's graph: what is added, changed and erased, what leaves the bank, what stays together."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from linked_memories import add_lesson
from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.errors import EdgeNotFound, EmptyQuery, InvalidEdge, InvalidInput, InvalidNode, NodeNotFound
from reasoningbank.testing import FrozenClock, HashingEmbedder
from reasoningbank.types.graph import Edge, Node
from reasoningbank.types.graph_search import GraphFilter
from reasoningbank.types.walk import WalkParameters

KEY = "AKIA" + "Q7ZJ4M2XWB6TKD5N"


def request(name: str, text: str = "", **fields: str) -> Node:
    """A request."""
    return Node(id=name, label="UserRequest", text=text or f"word{name}", conv_id="talk", fields=fields)


def edge(source: str, target: str, text: str = "Leads to what follows.", weight: float = 0.9) -> Edge:
    """An edge whose id is made of its ends."""
    return Edge(id=f"{source}{target}", source=source, target=target, text=text, weight=weight)


@pytest.fixture
def chain(bank: Bank) -> Bank:
    """A bank with three nodes in a row."""
    bank.graph.add([request("a"), request("b"), request("c")], [edge("a", "b"), edge("b", "c")])
    return bank


@promise(
    "memoria:P9",
    "Ids are unique, times are the bank's, editing moves the update time alone, a conversation is seen in order.",
    source="spec/memoria_haios row P9",
)
@promise("graph:times", "Imports keep the times of a file; everything else gets the bank's.", source="issue 5")
def test_times_are_the_banks_and_only_the_update_moves(bank: Bank, clock: FrozenClock) -> None:
    added = bank.graph.add([request("a")])
    (node,) = added.nodes
    assert (node.ingestion_time, node.update_time) == (clock.now(), clock.now())
    assert added.new == ("a",)
    made = clock.now()
    clock.advance(timedelta(days=1))
    changed = bank.graph.update("a", text="another text", tags=["x"], fields={"user_id": "u1"})
    assert (changed.ingestion_time, changed.update_time) == (made, clock.now())
    assert (changed.label, changed.conv_id, dict(changed.fields)) == ("UserRequest", "talk", {"user_id": "u1"})
    clock.advance(timedelta(days=1))
    assert bank.graph.update("a", text="another text").update_time == made + timedelta(days=1)
    assert bank.graph.get("a").node == changed


@promise("memoria:P9")
@promise(
    "graph:conflicts",
    "What the bank holds under an id with other contents is kept, unless the import's node is newer.",
    source="decision 15",
)
def test_one_id_stands_for_one_thing(chain: Bank) -> None:
    again = chain.graph.add([request("a")], [edge("a", "b")])
    assert again.new == ()
    with pytest.raises(InvalidNode, match="id: node 'a' exists"):
        chain.graph.add([request("a", "other")])
    with pytest.raises(InvalidEdge, match="id: edge 'ab' exists"):
        chain.graph.add([request("d")], [edge("a", "b", weight=0.5)])
    with pytest.raises(InvalidNode, match="given twice"):
        chain.graph.add([request("d"), request("d")])
    with pytest.raises(NodeNotFound):
        chain.graph.add([request("d")], [edge("d", "nobody")])
    assert [node.id for node in chain.graph.list()] == ["a", "b", "c"]


@promise("memoria:P9")
def test_a_conversation_is_seen_in_order(bank: Bank, clock: FrozenClock) -> None:
    for name in ("third", "first", "second"):
        bank.graph.add([request(name)])
        clock.advance(timedelta(seconds=1))
    bank.graph.add([Node(id="other", label="UserRequest", text="t", conv_id="other")])
    assert [node.id for node in bank.graph.conversation("talk")] == ["third", "first", "second"]
    assert bank.graph.conversation("nothing") == ()


@promise(
    "memoria:P10",
    "An edge is a sentence whose direction stays, whichever way it is walked.",
    source="spec/memoria_haios row P10",
)
def test_an_edge_is_a_sentence_whose_direction_stays(chain: Bank) -> None:
    made = chain.edges.add("c", "a", "Explains why the first one was asked.", weight=0.8, tags=["cause", "cause"])
    assert (made.source, made.target, made.tags, made.band) == ("c", "a", ("cause",), "strong-to-direct")
    result = chain.graph.walk({"a": 1.0}, WalkParameters(max_depth=1))
    (hop,) = [path.hops[0] for path in result.paths if path.nodes == ("a", "c")]
    assert hop.reversed
    assert (hop.edge.source, hop.edge.text) == ("c", "Explains why the first one was asked.")
    assert [each.id for each in chain.graph.get("a").edges] == ["ab", made.id]
    with pytest.raises(InvalidEdge):
        chain.edges.add("a", "b", "x", weight=1.5)
    with pytest.raises(NodeNotFound):
        chain.edges.add("a", "nobody", "x", weight=0.5)


@promise(
    "memoria:P26",
    "An edited text is found and the old one is not; a deletion takes edges, words, vectors and links, and leaves no "
    "byte.",
    source="spec/memoria_haios row P26",
)
def test_an_edited_text_is_found_and_the_old_one_is_not(chain: Bank) -> None:
    chain.graph.update("a", text="quince jam recipe")
    chain.edges.update("bc", text="Because quinces ripen late.", weight=0.4, tags=["season"])
    assert chain.graph.size().pending == 0
    for bm25, dense in ((1.0, 0.0), (0.0, 1.0)):
        found = chain.graph.search("quince jam recipe", limit=1, bm25_weight=bm25, dense_weight=dense)
        assert [hit.node.id for hit in found.seeds] == ["a"]
        edges = chain.edges.search("quinces ripen late", limit=1, bm25_weight=bm25, dense_weight=dense)
        assert [hit.edge.id for hit in edges] == ["bc"]
    assert chain.graph.search("worda", bm25_weight=1.0, dense_weight=0.0).seeds == ()
    assert chain.edges.get("bc").band == "weak"
    assert [hit.edge.id for hit in chain.edges.search("ripen", tags=["season"])] == ["bc"]
    assert chain.admin.check().problems == ()


@promise("memoria:P26")
@promise(
    "graph:integrity",
    "Edges and links to what does not exist are refused; a check finds what dangles.",
    source="issue 5",
)
def test_a_deleted_node_takes_edges_words_vectors_and_pointers(chain: Bank) -> None:
    lesson = add_lesson(chain, "Ask before you order.", link_nodes=["b"])
    assert chain.graph.get("b").lessons == {lesson.rb_id: lesson.id}
    chain.graph.delete("b")
    assert chain.memories.links(lesson.rb_id).link_nodes == ()
    size = chain.graph.size()
    assert (size.nodes, size.edges, size.pointers, size.pending) == (2, 0, 0, 0)
    assert chain.graph.search("wordb", bm25_weight=1.0, dense_weight=0.0).seeds == ()
    assert chain.admin.check().problems == ()
    for call in (chain.graph.delete, chain.graph.get, chain.graph.update):
        with pytest.raises(NodeNotFound):
            call("b")
    for missing in (chain.edges.delete, chain.edges.get, chain.edges.update):
        with pytest.raises(EdgeNotFound):
            missing("ab")
    chain.graph.add(edges=[edge("a", "c")])
    chain.edges.delete("ac")
    assert chain.graph.get("a").edges == ()


@promise("memoria:P26")
def test_no_byte_of_a_deleted_node_stays(bank: Bank, tmp_path: Path) -> None:
    bank.graph.add([request("a"), request("b", "xylophone quartz")], [edge("a", "b", "zephyr lightning")])
    bank.graph.delete("b")
    bank.close()
    held = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"xylophone" not in held
    assert b"zephyr" not in held


@promise(
    "graph:hygiene",
    "No secret or invisible character is stored in the graph or leaves it; ids that hold one are refused.",
    source="DESIGN D10",
)
def test_secrets_and_invisible_characters_are_not_stored(bank: Bank, tmp_path: Path) -> None:
    action = Node(
        id="n",
        label="AgentAction",
        text=f"Used the key {KEY} \u200bhere.",
        tags=(f"key {KEY}",),
        fields={"status": "complete", "parameter_field": f"aws_access_key_id={KEY}\n  region = 'x'"},
    )
    bank.graph.add([action, request("m")], [edge("n", "m", f"Passes {KEY} on.")])
    bank.graph.update("m", text=f"token {KEY}")
    node = bank.graph.get("n").node
    assert "\u200b" not in node.text
    assert "[REDACTED:" in node.text
    assert str(node.fields["parameter_field"]).endswith("\n  region = 'x'")
    with pytest.raises(InvalidNode, match="secret"):
        bank.graph.add([request(KEY)])
    with pytest.raises(InvalidNode, match="cannot be seen"):
        bank.graph.add([request("a ")])
    bank.close()
    assert KEY.encode() not in b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


@promise("graph:hygiene")
def test_what_somebody_else_wrote_is_redacted_when_it_leaves(chain: Bank) -> None:
    with chain._context.store().transaction() as transaction:
        transaction.graph.put_nodes([(request("a", f"key {KEY}"), "key")])
        transaction.graph.put_edges([(edge("a", "b", f"hands {KEY} over"), "key")])
    shown = [
        chain.graph.get("a"),
        chain.edges.get("ab"),
        chain.graph.walk({"c": 1.0}),
        chain.graph.search("key", limit=1, bm25_weight=1.0, dense_weight=0.0),
        chain.edges.search("key", bm25_weight=1.0, dense_weight=0.0),
        chain.graph.conversation("talk"),
        chain.graph.list(),
    ]
    for answer in shown:
        assert KEY not in str(answer)
        assert "REDACTED" in str(answer)


@promise(
    "graph:search",
    "Nodes and edges are found by words and vectors, filtered inside each leg by label, tag, conversation and time of "
    "events.",
    source="issue 5",
)
def test_a_search_tells_where_each_node_stood_and_begins_a_walk(chain: Bank) -> None:
    answer = chain.graph.search("worda", limit=1)
    (hit,) = answer.seeds
    assert hit.legs.keys() == {"text", "lexical"}
    assert 0.0 < hit.score <= 1.0
    assert [path.nodes for path in answer.walk.paths] == [("a", "b", "c")]
    assert "[SEED]" in answer.context.text
    assert answer.context.tokens <= 2_000
    assert chain.graph.search("worda", limit=1, budget=0).context.text == ""
    assert chain.graph.search("worda", limit=1, min_score=1.0).seeds == ()
    assert "threshold 1" in chain.graph.search("worda", limit=1, min_score=1.0).message
    assert "only words that every text has" in chain.graph.search("the and of").message
    assert chain.graph.search("worda", condition=GraphFilter(labels=("Event",))).seeds == ()
    assert chain.graph.search("worda", limit=0).seeds == ()


@promise("graph:search")
def test_arguments_of_a_search_are_checked(chain: Bank) -> None:
    with pytest.raises(InvalidInput, match="all weights are 0"):
        chain.graph.search("x", bm25_weight=0.0, dense_weight=0.0)
    with pytest.raises(InvalidInput, match=r"between 0\.0 and 1\.0, not 1\.1"):
        chain.graph.search("x", bm25_weight=1.1)
    with pytest.raises(InvalidInput, match="min_score"):
        chain.graph.search("x", min_score=2.0)
    with pytest.raises(InvalidInput, match="fusion"):
        chain.graph.search("x", fusion="sum")
    with pytest.raises(EmptyQuery):
        chain.graph.search(" ")


@promise("graph:transfer", "Exports and backups carry nodes, edges and links.", source="issue 5")
@promise("transfer:identity")
def test_an_export_carries_the_graph(open_bank: Callable[..., Bank], chain: Bank, tmp_path: Path) -> None:
    lesson = add_lesson(chain, "Ask before you order.", "orders", link_nodes=["b"])
    assert chain.admin.export(tmp_path / "bank.jsonl") == 1
    other = open_bank("copy")
    add_lesson(other, "Something else.")
    other.admin.import_(tmp_path / "bank.jsonl", vouched=True)
    assert [(node.id, node.text, node.ingestion_time) for node in other.graph.list()] == [
        (node.id, node.text, node.ingestion_time) for node in chain.graph.list()
    ]
    assert other.graph.get("b").edges == chain.graph.get("b").edges
    assert list(other.graph.get("b").lessons.values()) == [lesson.id]
    assert (other.graph.size().pending, other.admin.check().problems) == (0, ())
    assert other.admin.import_(tmp_path / "bank.jsonl").imported == ()
    lines = (tmp_path / "bank.jsonl").read_text(encoding="utf-8").replace('"weight": 0.9', '"weight": 1.9')
    (tmp_path / "bad.jsonl").write_text(lines, encoding="utf-8")
    with pytest.raises(InvalidInput, match="line 6: weight"):
        open_bank("third").admin.import_(tmp_path / "bad.jsonl")


@promise("graph:transfer")
def test_a_backup_carries_the_graph(chain: Bank, tmp_path: Path) -> None:
    chain.admin.backup(tmp_path / "copy.db")
    chain.graph.delete("a")
    chain.admin.restore(tmp_path / "copy.db")
    assert [node.id for node in chain.graph.list()] == ["a", "b", "c"]
    assert chain.graph.search("worda", limit=1).seeds[0].node.id == "a"


@promise("graph:processes", "Another handle sees every change of the graph, in searches and walks.", source="DESIGN D1")
def test_another_handle_sees_every_change(open_bank: Callable[..., Bank], chain: Bank) -> None:
    other = open_bank()
    assert other.graph.search("worda", limit=1).seeds[0].node.id == "a"
    assert len(other.graph.walk({"a": 1.0}).paths) == 1
    chain.graph.update("a", text="quince")
    chain.graph.delete("c")
    assert other.graph.search("worda", bm25_weight=1.0, dense_weight=0.0).seeds == ()
    assert other.graph.search("quince", limit=1, bm25_weight=0.0).seeds[0].node.id == "a"
    assert [path.nodes for path in other.graph.walk({"a": 1.0}).paths] == [("a", "b")]


@promise(
    "graph:space",
    "The graph's vectors are of the bank's model and dimension, up to 3,072; a re-embedding includes them.",
    source="DESIGN D11",
)
def test_a_model_of_another_dimension_is_refused(open_bank: Callable[..., Bank], chain: Bank) -> None:
    assert chain.graph.size().pending == 0
    other = open_bank(embedder=HashingEmbedder(8))
    for call in (
        lambda: other.graph.add([request("z")]),
        lambda: other.graph.update("a", text="z"),
        lambda: other.graph.search("z"),
        lambda: other.edges.search("z"),
    ):
        with pytest.raises(Exception, match="vectors come from"):
            call()
    assert [node.id for node in chain.graph.list()] == ["a", "b", "c"]
