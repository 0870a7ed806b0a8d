"""The tools through the real client over a real process."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import jsonschema  # type: ignore[import-untyped]  # it has no types of its own
import mcp.types as types
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

from mcp_processes import SERVER, clean_environment
from promises import promise
from reasoningbank.mcp.schemas import tools_by_profile

TOOLS = tools_by_profile()["admin"]

LESSON = {"title": "Retry flaky network calls", "content": "Back off exponentially, then retry.", "outcome": "success"}
NOBODY = "01a1fe77-2374-71a9-bc1e-9f0d02bda8fe"
FIRST_CALLS: dict[str, tuple[dict[str, Any], str | None]] = {
    "memory_search": ({"query": "a flaky network call"}, None),
    "memory_record": (LESSON, None),
    "memory_feedback": ({"memory_id": NOBODY, "helpful": True}, "memory_not_found"),
    "memory_outcome": ({"memory_id": NOBODY, "succeeded": True}, "memory_not_found"),
    "memory_get": ({"memory_id": NOBODY}, "memory_not_found"),
    "memory_delete": ({"memory_id": NOBODY}, "memory_not_found"),
    "memory_stats": ({}, None),
    "memory_distill": ({}, None),
    "memory_consolidate": ({"dry_run": True}, None),
}


@asynccontextmanager
async def connected(home: Path, mode: str = "legacy") -> AsyncIterator[Client]:
    """A client of a fresh server process."""
    home.parent.mkdir(exist_ok=True)
    server = StdioServerParameters(
        command=sys.executable, args=[*SERVER], env=clean_environment(home), cwd=str(home.parent)
    )
    async with Client(server, mode=mode, read_timeout_seconds=60) as client:
        yield client


def run(work: Callable[[], Awaitable[None]]) -> None:
    """Runs an asynchronous test."""
    anyio.run(work)


async def answer(client: Client, tool: str, **arguments: object) -> dict[str, Any]:
    """The structured answer of a call that must succeed, with every field that the output schema names.

    The client has checked it against the schema itself, which requires none because errors fit it too.
    """
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert isinstance(result.structured_content, dict)
    jsonschema.validate(result.structured_content, all_required(TOOLS[tool].output_schema))
    assert text_of(result)
    return result.structured_content


async def error(client: Client, tool: str, **arguments: object) -> dict[str, Any]:
    """The structured answer of a call that must fail, with the hint for the agent in the text."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    fields = result.structured_content
    assert isinstance(fields, dict)
    assert set(fields) == {"error", "message", "hint"}
    assert all(isinstance(value, str) and value for value in fields.values())
    assert fields["message"] in text_of(result)
    assert fields["hint"] in text_of(result)
    jsonschema.validate(fields, TOOLS[tool].output_schema)
    return fields


def all_required(schema: Any) -> Any:
    """A copy of a schema of which every object must have all fields that it names."""
    if not isinstance(schema, Mapping):
        return schema
    copy = {name: all_required(each) for name, each in schema.items()}
    return {**copy, "required": list(copy["properties"])} if "properties" in schema else copy


def text_of(result: types.CallToolResult) -> str:
    """The text of an answer."""
    return "\n".join(block.text for block in result.content if isinstance(block, types.TextContent))


@promise(
    "mcp:from-process-start",
    "Every tool works as the first call of a fresh process on an empty data directory.",
    source="issue 2",
)
@pytest.mark.parametrize("tool", FIRST_CALLS)
def test_every_tool_works_as_the_first_call_of_a_fresh_process_on_an_empty_home(tool: str, tmp_path: Path) -> None:
    arguments, expected = FIRST_CALLS[tool]

    async def work() -> None:
        async with connected(tmp_path / "home") as client:
            if expected is None:
                await answer(client, tool, **arguments)
            else:
                assert (await error(client, tool, **arguments))["error"] == expected

    run(work)


@promise("mcp:eras")
@promise(
    "mcp:loop",
    "Record, search, rate, report, read and delete work through the real client.",
    source="seed 000 MCP Tools",
)
@promise(
    "mcp:feedback-amount",
    "A first rating moves a recorded memory from 0.8 by exactly the weight of explicit evidence.",
    source="DESIGN D4",
)
@promise("mcp:once-per-session")
@promise(
    "mcp:structured",
    "Every answer is structured, fits its output schema and has a text beside it.",
    source="spec/clients 4a",
)
@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_memory_is_recorded_found_rated_and_deleted_in_both_protocol_eras(mode: str, tmp_path: Path) -> None:
    async def work() -> None:
        async with connected(tmp_path / "home", mode) as client:
            recorded = await answer(client, "memory_record", **LESSON, tags=["net"], description="A call times out.")
            assert recorded["confidence"] == 0.8
            memory_id = recorded["id"]

            rated = await answer(client, "memory_feedback", memory_id=memory_id, helpful=True)
            weight = 0.7 / 1.7
            assert rated["new_confidence"] == pytest.approx((1.6 + weight) / (2 + weight), abs=1e-6)
            assert (rated["counted"], rated["helpful"]) == (True, True)
            again = await answer(client, "memory_feedback", memory_id=memory_id, helpful=False)
            assert (again["counted"], again["new_confidence"]) == (False, rated["new_confidence"])

            found = await answer(client, "memory_search", query="a network call fails now and then")
            assert [hit["id"] for hit in found["memories"]] == [memory_id]
            assert found["embedder"] not in {"", "hashing"}
            assert found["tokens"] > 0

            reported = await answer(client, "memory_outcome", memory_id=memory_id, succeeded=True, session_id="s-1")
            assert reported["recorded"]
            assert not (await answer(client, "memory_outcome", memory_id=memory_id, succeeded=True, session_id="s-1"))[
                "recorded"
            ]
            whole = await answer(client, "memory_get", memory_id=memory_id)
            assert whole["confidence"] == reported["new_confidence"]
            assert (whole["usage_count"], whole["tags"], whole["provenance"]["source"]) == (1, ["net"], "mcp")
            assert (await answer(client, "memory_stats"))["memories"] == 1

            assert (await answer(client, "memory_delete", memory_id=memory_id))["deleted"]
            assert (await answer(client, "memory_get", memory_id=memory_id))["state"] == "archived"
            assert (await answer(client, "memory_search", query="a network call fails"))["count"] == 0

    run(work)


@promise("mcp:restart", "What one server process recorded the next one finds.", source="issue 2")
def test_what_one_process_recorded_another_finds(tmp_path: Path) -> None:
    async def work() -> None:
        async with connected(tmp_path / "home") as client:
            recorded = await answer(client, "memory_record", **LESSON)
        async with connected(tmp_path / "home") as client:
            found = await answer(client, "memory_search", query="retry a flaky network call")
            assert [hit["id"] for hit in found["memories"]] == [recorded["id"]]

    run(work)


@promise("mcp:two-servers", "Two servers at once share one bank and lose nothing.", source="spec/engineering B.1")
def test_two_servers_at_once_share_one_bank(tmp_path: Path) -> None:
    async def write(client: Client, name: str) -> None:
        for number in range(10):
            lesson = LESSON | {"title": f"Lesson {number} of {name}", "content": f"{name} says {number}."}
            await answer(client, "memory_record", **lesson)

    async def work() -> None:
        async with connected(tmp_path / "home") as one, connected(tmp_path / "home") as two:
            async with anyio.create_task_group() as group:
                group.start_soon(write, one, "the first")
                group.start_soon(write, two, "the second")
            assert (await answer(one, "memory_stats"))["memories"] == 20
            found = await answer(two, "memory_search", query="the first says 3", limit=20)
            assert any(hit["content"] == "the first says 3." for hit in found["memories"])

    run(work)


@promise("mcp:errors", "An error has isError, its hint for the agent, and stores nothing.", source="issue 2")
@promise("mcp:unknown-outcome", "An unknown outcome is an error, not silently a success.", source="issue 2")
@promise("mcp:ids", "Ids with hyphens and capitals work.", source="issue 2")
@promise(
    "mcp:projects",
    "A call may name a project; what another project holds is not found in it.",
    source="contextd row 20",
)
@promise("mcp:no-tenant-argument", "The tenant is never an argument.", source="DESIGN D9")
def test_errors_say_what_to_do_and_store_nothing(tmp_path: Path) -> None:
    async def work() -> None:
        async with connected(tmp_path / "home") as client:
            wrong = LESSON | {"outcome": "Success"}
            assert (await error(client, "memory_record", **wrong))["error"] == "invalid_outcome"
            assert "title" in (await error(client, "memory_record", content="x", outcome="success"))["message"]
            assert (await error(client, "memory_record", **LESSON | {"title": " "}))["error"] == "empty_title"
            assert "outcome" in (await error(client, "memory_record", **LESSON, outcom="x"))["hint"]
            assert "no argument" in (await error(client, "memory_search", query="x", tenant="acme"))["message"]
            assert (await error(client, "memory_search", query=" "))["error"] == "empty_query"
            assert (await error(client, "memory_search", query="x", limit=-1))["error"] == "negative_limit"
            assert (await error(client, "memory_search", query="x", min_confidence=2))["error"] == "invalid_confidence"
            assert (await error(client, "memory_search", query="x", limit="5"))["error"] == "invalid_input"
            assert (await error(client, "memory_feedback", memory_id=NOBODY, helpful="yes"))["error"] == "invalid_input"
            assert (await error(client, "memory_get", memory_id=""))["error"] == "empty_memory_id"
            assert (await error(client, "memory_stats", project_id=" "))["error"] == "empty_project_id"
            with pytest.raises(Exception, match="Unknown tool"):
                await client.call_tool("memory_forget", {})
            assert (await answer(client, "memory_stats"))["memories"] == 0

            project = "github.com/Acme-Corp/My-API"
            recorded = await answer(client, "memory_record", **LESSON, project_id=project)
            assert (await answer(client, "memory_search", query="retry flaky calls"))["count"] == 0
            found = await answer(client, "memory_search", query="retry flaky calls", project_id=project)
            assert found["count"] == 1
            assert (await answer(client, "memory_get", memory_id=recorded["id"]))["project"] == project
            other = await error(client, "memory_delete", memory_id=recorded["id"], project_id="Other-Project")
            assert other["error"] == "memory_not_found"
            assert (await answer(client, "memory_delete", memory_id=recorded["id"], project_id=project))["deleted"]

    run(work)
