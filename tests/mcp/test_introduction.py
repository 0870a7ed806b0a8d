"""What a relay says without a server, compared with what the protocol SDK's server says."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from mcp_processes import INITIALIZE, INITIALIZED
from promises import promise
from reasoningbank.mcp.banks import Banks
from reasoningbank.mcp.calls import Caller
from reasoningbank.mcp.introduction import HANDSHAKES, STATELESS, known_answer
from reasoningbank.mcp.schemas import tools_by_profile
from reasoningbank.mcp.server import build_server
from reasoningbank.mcp.stdio import open_channel
from reasoningbank.mcp.tools import Tools
from reasoningbank.settings import Settings
from reasoningbank.testing import HashingEmbedder

Json = dict[str, Any]
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
LIST: Json = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}


def answers(folder: Path, profile: str, *messages: Json) -> dict[object, Json]:
    """What the SDK's server answers to the messages of one connection, by their ids."""
    inbox, outbox = folder / "in", folder / "out"
    inbox.write_text("".join(json.dumps(message) + "\n" for message in messages), encoding="utf-8")
    tools = Tools(Banks(Settings(home=folder / "home"), project="shop", embedder=HashingEmbedder()), profile=profile)
    server = build_server(tools, lambda _: Caller(tenant="acme", session="s"))

    async def serve() -> None:
        async with open_channel(source, sink) as channel:
            await server.run(channel.incoming, channel.outgoing, server.create_initialization_options())

    source = os.open(inbox, os.O_RDONLY)
    sink = os.open(outbox, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        anyio.run(serve)
    finally:
        os.close(source)
        os.close(sink)
    return {line["id"]: line for line in map(json.loads, outbox.read_text(encoding="utf-8").splitlines())}


def initialize(version: str) -> Json:
    """The first message of a client of a version."""
    return {**INITIALIZE, "params": {**INITIALIZE["params"], "protocolVersion": version}}


@promise(
    "relay:same-introduction",
    "What a relay answers by itself is exactly what the server would answer: the version, the capabilities, the "
    "instructions, who the server is, and the tools of every profile.",
    source="issue 11, Starts at once",
)
@pytest.mark.parametrize("profile", tools_by_profile())
def test_a_relay_introduces_itself_exactly_as_the_server_does(tmp_path: Path, profile: str) -> None:
    tools = tools_by_profile()[profile]
    for version in (*HANDSHAKES, "2026-07-28", "2030-01-01", "nonsense"):
        hello = initialize(version)
        there = answers(tmp_path, profile, hello, INITIALIZED, LIST)
        assert known_answer(hello, tools, greeted=False) == there["hello"]["result"]
        assert known_answer(LIST, tools, greeted=True) == there[2]["result"]
    discover = {"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": META}}
    stateless = {**LIST, "params": {"_meta": META}}
    there = answers(tmp_path, profile, discover, stateless)
    assert known_answer(discover, tools, greeted=False) == there[1]["result"]
    assert known_answer(stateless, tools, greeted=False) == there[2]["result"]


@promise("relay:same-introduction")
def test_the_versions_are_those_of_the_sdk() -> None:
    assert HANDSHAKES == HANDSHAKE_PROTOCOL_VERSIONS
    assert (STATELESS,) == MODERN_PROTOCOL_VERSIONS


@promise("relay:same-introduction")
@pytest.mark.parametrize(
    "message",
    [
        {**INITIALIZE, "params": {}},
        {**INITIALIZE, "params": {**INITIALIZE["params"], "protocolVersion": 5}},
        {**INITIALIZE, "params": {**INITIALIZE["params"], "clientInfo": {"name": "x"}}},
        {**INITIALIZE, "params": {**INITIALIZE["params"], "capabilities": {"roots": 5}}},
        {**LIST, "params": {"cursor": 5}},
        {**LIST, "params": {"_meta": META | {"io.modelcontextprotocol/protocolVersion": "2031-01-01"}}},
        {**LIST, "method": "ping"},
        {**LIST, "method": "tools/call", "params": {"name": "memory_stats"}},
        {**LIST, "jsonrpc": "1.0"},
        {**LIST, "id": None},
        {**LIST, "id": True},
        {**LIST, "params": []},
        {"jsonrpc": "2.0", "method": "tools/list"},
    ],
)
def test_what_is_not_plainly_correct_is_left_to_the_server(message: Json) -> None:
    assert known_answer(message, tools_by_profile()["core"], greeted=True) is None


@promise("relay:same-introduction")
def test_tools_are_not_listed_before_the_client_has_introduced_itself(tmp_path: Path) -> None:
    assert known_answer(LIST, tools_by_profile()["core"], greeted=False) is None
    assert "error" in answers(tmp_path, "core", LIST)[2]
