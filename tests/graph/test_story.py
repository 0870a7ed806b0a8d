"""The shipped graph and its question: a story over several conversations, which the studied walk does not reach."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from graph.walked_graphs import arrows, shop, studied
from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.demo.graph import QUESTION, SEEDS, STORY, TAGS, copy_shop_graph, shop_graph
from reasoningbank.graph.traversal import plain_tag
from reasoningbank.graph.walk import asked_with, question_tags, walk
from reasoningbank.settings import Settings
from reasoningbank.types.graph import LABELS, weight_band
from reasoningbank.types.walk import MAX_QUERY_TAGS, WalkParameters


@promise("graph:shipped-data")
def test_the_shipped_graph_has_the_shape_and_size_of_the_studied_one(tmp_path: Path) -> None:
    """63 nodes of all labels in 13 conversations of five parts, 80 edges of all bands, 32 lessons, no loose end."""
    data = json.loads(shop_graph())
    nodes = {item["id"]: item for item in data["nodes"]}
    assert (len(nodes), len(data["edges"]), len(data["lessons"])) == (63, 80, 32)
    assert {item["label"] for item in nodes.values()} == set(LABELS)
    conversations = {item["conv_id"] for item in nodes.values()}
    assert len(conversations) == 13
    assert len({name.split("/")[0] for name in conversations}) == 5
    assert len({item["id"] for item in data["edges"]}) == 80
    bands = Counter(weight_band(item["weight"]) for item in data["edges"])
    assert set(bands) == {"direct", "strong-to-direct", "strong", "weak-to-strong", "weak", "marginal"}
    bridges = [
        item
        for item in data["edges"]
        if nodes[item["source"]]["conv_id"].split("/")[0] != nodes[item["target"]]["conv_id"].split("/")[0]
    ]
    assert len(bridges) >= 15
    assert all(item["text"].endswith(".") and len(item["text"].split()) >= 8 for item in data["edges"])
    for lesson in data["lessons"]:
        assert set(lesson["link_nodes"]) <= set(nodes)
        assert lesson["key_lesson"] and lesson["context_to_prefer"]
    copy_shop_graph(tmp_path / "shop.json")
    assert (tmp_path / "shop.json").read_text(encoding="utf-8") == shop_graph()


@promise(
    "memoria:P16",
    "The shipped question is answered by a path through several conversations, told in whole sentences.",
    source="spec/memoria_haios P16",
)
def test_the_example_question_is_answered_by_a_path_through_two_conversations() -> None:
    """The first path is the story, each sentence whole and told from its own subject."""
    graph = shop()
    result = walk(graph, SEEDS, WalkParameters(tags=TAGS))
    first = result.paths[0]
    assert first.nodes[: len(STORY)] == STORY
    assert {plain_tag(tag) for tag in TAGS} <= {word.strip("?").casefold() for word in QUESTION.split()}
    assert {graph.by_id[name].conv_id for name in STORY} == {"packing/frost-claims", "stock/autumn-sale"}
    assert arrows(first)[:4] == ["pk-104 -> pk-106", "pk-106 -> pk-107", "pk-107 -> st-303", "st-303 -> st-304"]
    assert first.sentences[2] == (
        "The lesson from the frozen parcels limits the sale: "
        "no dispatch before a weekend and a heat pack on cold nights."
    )


@promise("memoria:P15")
def test_with_tags_the_studied_walk_stays_near_and_ours_arrives() -> None:
    """The same seed and tags: the studied preset ends after two hops, ours reaches the fourth of the story and on."""
    graph = shop()
    studied = walk(graph, SEEDS, WalkParameters(preset="memoria", tags=TAGS))
    ours = walk(graph, SEEDS, WalkParameters(tags=TAGS))
    assert max(len(path.hops) for path in studied.paths) == 2
    assert "st-303" not in studied.nodes
    assert max(len(path.hops) for path in ours.paths) >= 4
    assert set(STORY) <= set(ours.nodes)


@promise("memoria:P15")
def test_matching_tags_put_the_right_path_above_the_others() -> None:
    """Without tags another path is first; with them the path of the story is, well above the next."""
    graph = shop()
    without = walk(graph, SEEDS, WalkParameters())
    tagged = walk(graph, SEEDS, WalkParameters(tags=TAGS))
    assert without.paths[0].nodes[:4] != STORY[:4]
    assert tagged.paths[0].nodes[:4] == STORY[:4]
    assert tagged.paths[0].score > 2 * tagged.paths[1].score
    other = walk(graph, SEEDS, WalkParameters(tags=("carrier", "invoices")))
    assert other.paths[0].nodes[:4] != STORY[:4]


@promise("memoria:P15")
def test_tags_carry_every_seed_of_the_shipped_graph_further() -> None:
    """From all 63 nodes with their own tags: the studied walk goes beyond two hops from 16 of them, ours from all."""
    graph = shop()
    deep = Counter[str]()
    for name, start in graph.by_id.items():
        for preset in ("memoria", "default"):
            parameters = WalkParameters(preset=preset, tags=start.tags)
            paths = walk(graph, {name: 0.8}, parameters).paths
            deep[preset] += any(len(path.hops) >= 3 for path in paths)
    assert deep == {"memoria": 16, "default": 63}


@promise("memoria:P16")
def test_a_second_seed_joins_the_two_ends_of_the_story() -> None:
    """With the request for a sale as a second seed the first path runs from one seed to the other."""
    result = walk(shop(), {**SEEDS, "st-301": 0.6}, WalkParameters(tags=TAGS))
    assert {"pk-104", "pk-107", "st-303", "st-301"} <= set(result.paths[0].nodes)


@promise(
    "graph:question-tags",
    "Without given tags the question's own words serve, and those that are not tags change nothing.",
    source="issue 5",
)
def test_the_words_of_a_question_are_tags_enough() -> None:
    """Single words, and those that stand together; words that are not a tag of the graph change nothing."""
    assert question_tags("Does a heat_pack pay?") == (
        *("does", "a", "heat", "pack", "pay"),
        *("does a", "a heat", "heat pack", "pack pay"),
        *("does a heat", "a heat pack", "heat pack pay"),
    )
    assert question_tags("") == ()
    assert len(question_tags("word " * 3 + " ".join(map(str, range(500))))) == MAX_QUERY_TAGS
    graph = shop()
    by_hand = walk(graph, SEEDS, WalkParameters(tags=TAGS))
    by_itself = walk(graph, SEEDS, WalkParameters(tags=question_tags(QUESTION)))
    assert by_itself.paths[0].nodes == by_hand.paths[0].nodes
    assert by_itself.paths[0].score >= by_hand.paths[0].score
    assert asked_with(QUESTION, None).tags == question_tags(QUESTION)
    for given in (WalkParameters(tags=TAGS), WalkParameters(preset="memoria")):
        assert asked_with(QUESTION, given) is given


@promise("memoria:P16")
def test_the_question_is_answered_from_its_words_alone(tmp_path: Path) -> None:
    """Import, search with the shipped embedder, walk: the lesson is on the first path, its event within five."""
    copy_shop_graph(tmp_path / "shop.json")
    with Bank.open(tenant="acme", project="shop", settings=Settings(home=tmp_path / "home")) as bank:
        report = bank.graph.import_(tmp_path / "shop.json")
        assert (report.nodes_added, report.edges_added, report.lessons_added) == (63, 80, 32)
        assert (report.duplicates, report.dangling) == ((), ())
        assert bank.graph.import_(tmp_path / "shop.json").nodes_added == 0
        answer = bank.graph.search(QUESTION)
    first = answer.walk.paths[0]
    assert {"pk-107", "st-303"} <= set(first.nodes)
    assert any("The lesson from the frozen parcels limits the sale" in sentence for sentence in first.sentences)
    assert any({"pk-104", "pk-106", "pk-107", "st-303"} <= set(path.nodes) for path in answer.walk.paths[:5])


@promise("memoria:P16")
def test_the_studied_graph_tells_its_story_too() -> None:
    """Heat wave, corrected model, recommendation, scoring of the pilot: the first path, over two conversations."""
    tags = ("stockout", "delisting", "pilot", "knowledge_transfer")
    result = walk(studied("graph_63n_80e.json"), {"N2005": 0.8}, WalkParameters(tags=tags))
    assert result.paths[0].nodes[:4] == ("N2005", "N2006", "N2007", "N2023")
    assert result.paths[0].edges[:3] == ("E4004", "E4005", "E4025")
    without = walk(studied("graph_63n_80e.json"), {"N2005": 0.8}, WalkParameters(preset="memoria", tags=tags))
    assert all("N2023" not in path.nodes for path in without.paths)
