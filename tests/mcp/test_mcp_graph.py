"""The profile graph: eight tools, each from the start of a process through the real client."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
from mcp.client.client import Client

from graph_clients import connected
from linked_memories import add_lesson
from promises import promise
from reasoningbank.demo.graph import QUESTION, copy_shop_graph
from reasoningbank.llm.token_count import count_tokens
from reasoningbank.mcp.schemas import GRAPH_INSTRUCTIONS, tools_by_profile
from reasoningbank.mcp.text import TOKEN_BUDGET
from reasoningbank.safety.quotation import is_own_tool, shows_memories
from sessions.learned_sessions import bank_of

GRAPH_TOOLS = tools_by_profile()["graph"]

MOST_TOKENS = 2_750
"""What the eight tools may cost an agent's context, as JSON."""
NAMES = {
    "graph_search",
    "graph_add",
    "graph_link",
    "graph_get",
    "graph_paths",
    "lesson_search",
    "remember_conversation",
    "memory_feedback",
}


def run(work: Callable[[], Awaitable[None]]) -> None:
    """Runs an asynchronous test."""
    anyio.run(work)


async def called(client: Client, tool: str, **arguments: object) -> dict[str, Any]:
    """The structured answer of a call that must succeed."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert isinstance(result.structured_content, dict)
    written = json.dumps(result.structured_content) + result.content[0].text  # type: ignore[union-attr]
    assert count_tokens(written) <= TOKEN_BUDGET
    return result.structured_content


async def refused(client: Client, tool: str, **arguments: object) -> str:
    """The message of a call that must fail."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    assert isinstance(result.structured_content, dict)
    assert result.structured_content["hint"]
    return str(result.structured_content["message"])


@promise(
    "mcp:graph",
    "The profile graph has seven tools, each working from the start of a process; refusals name the field.",
    source="issue 5",
)
def test_every_tool_of_the_profile_works_from_the_start_of_a_process(tmp_path: Path) -> None:
    home = tmp_path / "home"

    async def work() -> None:
        async with connected(home) as client:
            listed = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert set(listed) == NAMES == set(GRAPH_TOOLS)
            event = await called(
                client,
                "graph_add",
                label="Event",
                text="A heat wave held Riverton from 10 to 18 July.",
                source_type="Weather",
                start_date="2026-07-10",
                end_date="2026-07-18",
                tags=["heat wave"],
                conv_id="c1",
            )
            answer = await called(
                client, "graph_add", id="A1", label="AgentAnswer", text="Demand for water doubled.", metrics=["units"]
            )
            assert event["new"]
            assert answer["id"] == "A1"
            again = await called(
                client, "graph_add", id="A1", label="AgentAnswer", text="Demand for water doubled.", metrics=["units"]
            )
            assert not again["new"]
            edge = await called(
                client,
                "graph_link",
                source=event["id"],
                target="A1",
                text="The heat wave explains why demand for water doubled.",
                weight=0.9,
                tags=["cause"],
            )
            assert edge["band"] == "direct"
            shown = await called(client, "graph_get", id="A1")
            assert shown["node"]["metrics"] == ["units"]
            assert shown["edges"][0]["id"] == edge["id"]
            snapshot = await called(client, "graph_get", conv_id="c1")
            assert [node["id"] for node in snapshot["nodes"]] == [event["id"]]
            walked = await called(client, "graph_paths", seeds=[event["id"], "nowhere"], tags=["cause"])
            assert [(seed["id"], seed["found"]) for seed in walked["seeds"]] == [
                (event["id"], True),
                ("nowhere", False),
            ]
            assert walked["paths"][0]["sentences"] == [
                "CLAIM of one agent session, untested, from mcp: The heat wave explains why demand for water doubled."
            ]
            conversation = {
                "conv_id": "c2",
                "request": "How do we keep water in stock in a heat wave?",
                "answer": "Set reorder points from the weather forecast.",
                "lesson": {
                    "key_lesson": "Set reorder points from the weather forecast before a heat wave.",
                    "context_to_prefer": "When demand for drinks depends on the weather.",
                    "link_nodes": ["answer"],
                },
            }
            remembered = await called(client, "remember_conversation", conversation=conversation)
            assert len(remembered["nodes"]) == 2
            assert remembered["proposals"]
            assert (await called(client, "remember_conversation", conversation=conversation))["new"] == []
            lessons = await called(client, "lesson_search", query="reorder points before a heat wave")
            assert lessons["lessons"][0]["key_lesson"].startswith("Set reorder points")
            linked = await called(
                client, "lesson_search", query="reorder points", linked_to=[remembered["nodes"][-1]["id"]]
            )
            assert len(linked["lessons"]) == 1
            found = await called(client, "graph_search", query="Why did demand for water double?", budget=600)
            assert found["tokens"] <= 600
            assert {hit["id"] for hit in found["seeds"]} & {"A1", event["id"]}
            asked = await called(client, "graph_search", query="What is the best product?", ask=True)
            assert "?" in asked["clarification"]
            assert (asked["seeds"], asked["paths"], asked["lessons"]) == ([], [], [])
            assert not (await called(client, "graph_search", query="What is the best product?"))["clarification"]

    run(work)
    with bank_of(home) as bank:
        assert bank.graph.size().nodes == 4
        assert bank.admin.check().problems == ()


@promise("mcp:graph")
def test_what_cannot_be_done_is_said_with_the_field(tmp_path: Path) -> None:
    async def work() -> None:
        async with connected(tmp_path / "home") as client:
            assert "status" in await refused(client, "graph_add", label="AgentAction", text="Joined the tables")
            assert "label" in await refused(client, "graph_add", label="Opinion", text="x")
            assert "metrics" in await refused(client, "graph_add", label="Event", text="x", metrics=["m"])
            ends = {"source": "a", "target": "b"}
            assert "not a sentence" in await refused(client, "graph_link", **ends, text="related", weight=0.5)
            why = "The outage explains the drop."
            assert "weight" in await refused(client, "graph_link", **ends, text=why, weight=1.5)
            assert "node" in await refused(client, "graph_link", **ends, text=why, weight=0.5)
            assert "either" in await refused(client, "graph_get")
            assert "no node" in await refused(client, "graph_get", id="nowhere")
            assert "conv_id" in await refused(client, "remember_conversation", conversation={"request": "Why?"})
            assert "object" in await refused(client, "remember_conversation", conversation="text")
            named = await called(client, "graph_search", query="Why?", project_id="unknown-project")
            assert named["seeds"] == []
            assert "weight" in await refused(client, "graph_link", **ends, text=why)

    run(work)


@promise(
    "mcp:graph-size",
    "The eight tools of the profile graph cost at most 2,750 tokens, and their answers stay within the limit of "
    "clients.",
    source="issue 5",
)
def test_the_tools_cost_little_context_and_long_texts_are_shortened(tmp_path: Path) -> None:
    home = tmp_path / "home"

    async def work() -> None:
        async with connected(home) as client:
            tools = (await client.list_tools()).tools
            listed = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]
            assert count_tokens(json.dumps(listed)) + count_tokens(GRAPH_INSTRUCTIONS) <= MOST_TOKENS
            assert len(tools) <= 8
            found = await called(client, "graph_search", query=QUESTION, limit=20, budget=6000)
            assert found["paths"]
            long = "word " * 3_900
            for number in range(12):
                await called(
                    client, "graph_add", id=f"L{number}", label="AgentAnswer", text=f"{number} {long}", conv_id="long"
                )
            assert len((await called(client, "graph_get", conv_id="long"))["nodes"]) >= 10

    copy_shop_graph(tmp_path / "shop.json")
    with bank_of(home) as bank:
        bank.graph.import_(tmp_path / "shop.json")
    run(work)


@promise("mcp:graph-echo", "Transcripts know the graph's tools by the server's name alone.", source="DESIGN D10")
def test_transcripts_know_the_tools_by_the_name_of_the_server_alone() -> None:
    for name in NAMES - {"memory_feedback"}:
        assert is_own_tool(f"mcp__reasoningbank__{name}")
        assert not is_own_tool(name)
    assert shows_memories("mcp__reasoningbank__lesson_search")
    assert not shows_memories("mcp__other__graph_search")


@promise(
    "guard:quoted-conversation",
    "What remember_conversation says quotes the lesson and the texts of other conversations.",
    source="DESIGN D10",
)
def test_what_is_said_of_a_conversation_quotes_what_is_stored(tmp_path: Path) -> None:
    lesson = "Set reorder points from the weather forecast before a heat wave."
    known = "A heat wave doubled the demand for water in stock."

    async def work() -> None:
        async with connected(tmp_path / "home") as client:
            await called(client, "graph_add", label="Event", text=known, conv_id="c1")
            conversation = {
                "conv_id": "c2",
                "request": "How do we keep water in stock when a heat wave doubles the demand?",
                "lesson": {"key_lesson": lesson},
            }
            answer = await client.call_tool("remember_conversation", {"conversation": conversation})
            lines = answer.content[0].text.splitlines()  # type: ignore[union-attr]
            for text, source in ((lesson, "conversation"), (known, "mcp")):
                claim = f"> CLAIM of one agent session, untested, from {source}: {text}"
                assert [line for line in lines if text in line] == [claim]

    run(work)


@promise(
    "mcp:graph-rating",
    "A lesson that the graph shows can be rated with the tools of the same profile.",
    source="issue 11",
)
def test_a_lesson_that_the_graph_shows_can_be_rated_there(tmp_path: Path) -> None:
    home = tmp_path / "home"

    async def work() -> None:
        async with connected(home) as client:
            found = await called(client, "lesson_search", query="close the file before it is moved")
            (shown,) = found["lessons"]
            rated = await called(client, "memory_feedback", memory_id=shown["id"], helpful=True)
            assert rated["new_confidence"] > shown["confidence"]

    with bank_of(home) as bank:
        add_lesson(bank, "Close the file before it is moved.", "When a file is moved on Windows")
    run(work)
