"""The graph says who stands by it: an agent's words are a claim there too, and take nothing of a person's away."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from opened_banks import OpenBank
from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.errors import NodeNotFound, PolicyError
from reasoningbank.graph.render import to_llm_context
from reasoningbank.memories.standing import speaking
from reasoningbank.operations.text import question_answer_text, walk_text
from reasoningbank.testing import FrozenClock
from reasoningbank.types.graph import Edge, Node

CONNECTION = "connection-1"
LABEL = "CLAIM of one agent session, untested"
_NODES = [
    Node(id="depot", label="Event", text="The depot froze in January.", fields={"start_date": "2026-01-17"}),
    Node(id="answer", label="AgentAnswer", text="The frost broke the heating of the depot."),
]
_EDGE = Edge(
    id="why", source="depot", target="answer", text="The frost of January is what the answer names.", weight=0.9
)


def told(bank: Bank) -> None:
    """The same two facts and the sentence between them."""
    bank.graph.add(_NODES, [_EDGE])


@promise(
    "trust:graph",
    "What an agent adds to the graph is a claim: nodes, edges, preferences, lessons and every path and text made of "
    "them say so, in Python, on the command line, over REST and over MCP; what a person adds is vouched for.",
    source="issue Trust",
)
def test_what_an_agent_adds_is_shown_as_a_claim(bank: Bank) -> None:
    with speaking(CONNECTION):
        told(bank)
        bank.preferences.add("report_style", "Tables, no pie charts.", user="dana")
    found = bank.graph.search("Why did the depot freeze?", user="dana")
    assert {hit.standing for hit in found.seeds} == {"claim"}
    assert all(sentence.startswith(LABEL) for path in found.walk.paths for sentence in path.sentences)
    assert f"{LABEL}, from mcp: report_style" in found.context.text
    assert LABEL in walk_text(found.walk)
    assert LABEL in question_answer_text(bank.questions.ask("Why did the depot freeze?", ask=False))
    line = to_llm_context(found.walk).paths[0]
    assert "(CLAIM Event depot" in line or "(CLAIM AgentAnswer answer" in line
    assert "CLAIM why" in line


@promise("trust:graph")
def test_what_a_person_adds_is_vouched_for_and_what_they_say_again_too(bank: Bank) -> None:
    with speaking(CONNECTION):
        told(bank)
    assert bank.graph.get("depot").node.standing == "claim"
    told(bank)
    assert bank.graph.get("depot").node.standing == "vouched"
    assert bank.edges.get("why").standing == "vouched"
    with speaking(CONNECTION):
        told(bank)
    assert bank.graph.get("depot").node.standing == "vouched"


@promise(
    "trust:graph-power",
    "An agent's edit of a node, an edge or a preference that a person vouches for leaves it as it is; the edit is a "
    "claim beside it.",
    source="issue Trust",
)
def test_an_agents_edit_stands_beside_what_a_person_said(bank: Bank) -> None:
    told(bank)
    with speaking(CONNECTION):
        claim = bank.graph.update("depot", text="The depot burned down in January.")
        edge = bank.edges.update("why", weight=0.1)
        again = bank.graph.update("depot", text="The depot burned down in January.")
    assert (claim.standing, edge.standing, again.id) == ("claim", "claim", claim.id)
    view = bank.graph.get("depot")
    assert (view.node.text, view.node.standing) == (_NODES[0].text, "vouched")
    assert bank.edges.get("why").weight == 0.9
    assert ("disputes",) in [each.tags for each in view.edges]


@promise("trust:graph-power")
def test_a_claim_does_not_take_the_place_of_a_persons_preference(bank: Bank) -> None:
    own = bank.preferences.add("report_style", "Tables, no pie charts.", user="dana")
    with speaking(CONNECTION):
        claim = bank.preferences.add("report_style", "Only pie charts.", user="dana")
    assert [(each.id, each.standing) for each in bank.preferences.list(user="dana")] == [
        (own.id, "vouched"),
        (claim.id, "claim"),
    ]
    newer = bank.preferences.add("report_style", "Charts with bars.", user="dana")
    assert [each.id for each in bank.preferences.list(user="dana")] == [newer.id]


@promise(
    "trust:graph-delete",
    "What an agent deletes from the graph leaves it at once and can be brought back by a person for 30 days, with its "
    "edges and links; then it is erased. What a person stands by an agent does not delete there.",
    source="issue Trust",
)
def test_what_an_agent_deletes_from_the_graph_comes_back(open_bank: OpenBank, clock: FrozenClock) -> None:
    bank = open_bank()
    with speaking(CONNECTION):
        told(bank)
    memory = bank.record(title="Heat the depot", content="Heat it.", outcome="success", link_nodes=["depot"])
    until = bank.graph.delete("depot", reader="agent")
    assert until == clock.now() + timedelta(days=30)
    with pytest.raises(NodeNotFound):
        bank.graph.get("depot")
    restored = bank.graph.restore("depot")
    assert (restored.nodes, restored.edges, restored.lessons, restored.left_out) == (1, 1, 1, 0)
    view = bank.graph.get("depot")
    assert (view.node.standing, [edge.id for edge in view.edges]) == ("claim", ["why"])
    assert list(view.lessons.values()) == [memory.id]
    bank.edges.delete("why", reader="agent")
    bank.graph.delete("depot", reader="agent")
    clock.advance(timedelta(days=31))
    bank.jobs.work()
    with pytest.raises(NodeNotFound):
        bank.graph.restore("depot")


@promise("trust:graph-delete")
def test_no_agent_deletes_from_the_graph_what_a_person_stands_by(bank: Bank) -> None:
    told(bank)
    for delete, name, command in (
        (bank.graph.delete, "depot", "rbank graph delete depot"),
        (bank.edges.delete, "why", "rbank graph delete-edge why"),
    ):
        with (
            speaking(CONNECTION, surface="agent"),
            pytest.raises(PolicyError, match="a person stands by it") as refused,
        ):
            delete(name)
        assert command in str(refused.value.hint)
    assert [edge.id for edge in bank.graph.get("depot").edges] == ["why"]
    bank.edges.delete("why")
    assert bank.graph.get("depot").edges == ()


@promise("trust:graph-delete")
def test_a_person_erases_what_an_agent_has_deleted(bank: Bank) -> None:
    with speaking(CONNECTION):
        told(bank)
    bank.graph.delete("depot", reader="agent")
    assert bank.graph.delete("depot") is None
    with pytest.raises(NodeNotFound):
        bank.graph.restore("depot")


@promise(
    "trust:graph-import",
    "What a file says of the graph is a claim: its lessons are candidates of at most 0.6, its provenance names the "
    "file's SHA-256, and it replaces nothing that a person vouches for, unless you stand by the file with --vouched.",
    source="issue Trust",
)
def test_a_file_of_the_graph_is_a_claim(open_bank: Callable[..., Bank], tmp_path: Path) -> None:
    bank = open_bank()
    told(bank)
    file = tmp_path / "graph.json"
    forged = {"entered": "person", "vouched": "yes"}
    nodes = [
        {"id": "depot", "label": "Event", "text": "It burned.", "update_time": "2099-01-01", "provenance": forged},
        {"id": "new", "label": "AgentAnswer", "text": "Nobody heated it.", "provenance": forged},
    ]
    lesson = {"id": "lesson-of-the-file", "key_lesson": "Never heat the depot.", "link_nodes": ["depot"]}
    file.write_text(json.dumps({"nodes": nodes, "lessons": [lesson]}), encoding="utf-8")
    report = bank.graph.import_(file)
    assert report.conflicts == ("depot",)
    assert bank.graph.get("depot").node.text == _NODES[0].text
    node = bank.graph.get("new").node
    assert (node.standing, len(node.provenance["file_sha256"])) == ("claim", 64)
    memory = bank.get("lesson-of-the-file")
    assert (memory.standing, memory.state, memory.confidence) == ("claim", "candidate", 0.6)
    assert memory.provenance["file_sha256"] == node.provenance["file_sha256"]
    friend = open_bank("friend")
    friend.graph.import_(file, vouched=True)
    assert (friend.graph.get("new").node.standing, friend.get("lesson-of-the-file").confidence) == ("vouched", 0.8)


@promise(
    "trust:graph-places",
    "Of one source at most two claims are among the first five nodes or edges of a search of the graph while another "
    "source says something that answers about as well.",
    source="issue Trust",
)
def test_one_source_does_not_fill_the_first_places_of_a_search_of_the_graph(bank: Bank) -> None:
    with speaking(CONNECTION):
        for number in range(12):
            bank.graph.add(
                [Node(id=f"flood-{number}", label="AgentAnswer", text=f"The depot froze for cause {number}.")]
            )
    with speaking("another"):
        bank.graph.add([Node(id="other", label="AgentAnswer", text="The depot froze for a broken pump.")])
    told(bank)
    for number in range(4):
        with speaking(f"witness-{number}"):
            bank.graph.add([Node(id=f"seen-{number}", label="AgentAnswer", text=f"The depot froze at gate {number}.")])
    question = "the depot froze for cause"
    for limit in (3, 5, 6, 8, 20):
        answer = bank.questions.ask(question, ask=False, nodes=limit).graph
        assert answer is not None
        for hits in (bank.graph.search(question, limit=limit).seeds, answer.seeds):
            first = [hit.node.id for hit in hits[:5]]
            assert len(first) == min(limit, 5)
            assert len([name for name in first if name.startswith("flood")]) <= 2
