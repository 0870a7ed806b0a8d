"""What a server says before it does anything: who it is, which tools it has. Plain JSON, so that a relay can say it.

A test compares every answer here with what the protocol SDK's server says.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeGuard

from reasoningbank import __version__
from reasoningbank.mcp.schemas import instructions_of

if TYPE_CHECKING:
    from reasoningbank.mcp.schemas import ToolSpec
    from reasoningbank.operations.operation import Json

NAME, TITLE = "reasoningbank", "ReasoningBank"
DESCRIPTION = "Memory for agents: strategies and anti-patterns, each with a confidence that evidence has earned."
LISTED_MILLISECONDS = 3_600_000
"""How long a client may keep the list of tools: it never changes while a server runs."""
HANDSHAKES = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""The versions of the protocol that begin with ``initialize``, oldest first."""
STATELESS = "2026-07-28"
"""The version in which every request says which version it is of."""
_VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
_CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
_SERVER_KEY = "io.modelcontextprotocol/serverInfo"
_CAPABILITIES = {"tools": {"listChanged": False}}


def known_answer(message: Json, tools: Mapping[str, ToolSpec], *, greeted: bool) -> Json | None:
    """Return the result of a request whose answer is known without a server; None for any other message.

    Also None for a request that is not plainly correct: the server says what is wrong with it.

    Args:
        message: The message.
        tools: The server's tools.
        greeted: True when the client has initialized the connection.
    """
    params = message.get("params", {})
    if message.get("jsonrpc") != "2.0" or not is_id(message.get("id")) or not isinstance(params, dict):
        return None
    meta = params.get("_meta", {})
    if not isinstance(meta, dict):
        return None
    match message.get("method"):
        case "initialize" if _introduces(params):
            return _initialized(params["protocolVersion"], tools)
        case "server/discover" if _stateless(meta) and params.keys() == {"_meta"}:
            return _discovered(tools)
        case "tools/list" if params.keys() <= {"_meta"} and _stateless(meta):
            return {
                "cacheScope": "public",
                "resultType": "complete",
                "tools": [tool_json(tool) for tool in tools.values()],
                "ttlMs": LISTED_MILLISECONDS,
                "_meta": {_SERVER_KEY: _server()},
            }
        case "tools/list" if params.keys() <= {"_meta"} and greeted and _VERSION_KEY not in meta:
            return {"tools": [tool_json(tool) for tool in tools.values()]}
        case _:
            return None


def is_id(value: object) -> TypeGuard[str | int]:
    """Return whether a request can have this id."""
    return isinstance(value, str | int) and not isinstance(value, bool)


def tool_json(tool: ToolSpec) -> Json:
    """Return a tool as clients list it. Hints that mean nothing for a tool that only reads are left out."""
    hints = (
        {"readOnlyHint": True, "openWorldHint": False}
        if tool.reads
        else {
            "readOnlyHint": False,
            "destructiveHint": tool.destroys,
            "idempotentHint": tool.repeatable,
            "openWorldHint": False,
        }
    )
    return {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "outputSchema": tool.output_schema,
        "annotations": hints,
    }


def _introduces(params: Json) -> bool:
    """Return whether the parameters of ``initialize`` are plainly correct."""
    client, able = params.get("clientInfo"), params.get("capabilities")
    return (
        isinstance(params.get("protocolVersion"), str)
        and isinstance(client, dict)
        and isinstance(client.get("name"), str)
        and isinstance(client.get("version"), str)
        and isinstance(able, dict)
        and all(isinstance(value, dict) for value in able.values())
    )


def _stateless(meta: Json) -> bool:
    return meta.get(_VERSION_KEY) == STATELESS and isinstance(meta.get(_CAPABILITIES_KEY), dict)


def _server() -> Json:
    return {"name": NAME, "title": TITLE, "version": __version__, "description": DESCRIPTION}


def _initialized(version: str, tools: Mapping[str, ToolSpec]) -> Json:
    return {
        "capabilities": _CAPABILITIES,
        "instructions": instructions_of(tools),
        "protocolVersion": version if version in HANDSHAKES else HANDSHAKES[-1],
        "serverInfo": _server(),
    }


def _discovered(tools: Mapping[str, ToolSpec]) -> Json:
    return {
        "cacheScope": "private",
        "capabilities": _CAPABILITIES,
        "instructions": instructions_of(tools),
        "resultType": "complete",
        "supportedVersions": [STATELESS],
        "ttlMs": 0,
        "_meta": {_SERVER_KEY: _server()},
    }
