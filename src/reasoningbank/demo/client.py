"""The real MCP server as a child process, and the real MCP client that talks to it."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError

from reasoningbank.errors import BankError

_TIMEOUT = 120.0


class ServerTools:
    """The tools of a running server, by name."""

    def __init__(self, client: Client) -> None:
        self._client = client

    @property
    def server(self) -> str:
        """Name and version of the server, and the protocol spoken."""
        about = self._client.server_info
        name = f"{about.name} {about.version}" if about else "an unnamed server"
        return f"{name}, protocol {self._client.protocol_version}"

    async def names(self) -> list[str]:
        """Return the names of all tools."""
        return [tool.name for tool in (await self._client.list_tools()).tools]

    async def call(self, tool: str, arguments: Mapping[str, object]) -> dict[str, Any]:
        """Call a tool and return its structured answer.

        Raises:
            BankError: When the tool answers with an error.
        """
        answer = await self._client.call_tool(tool, dict(arguments), read_timeout_seconds=_TIMEOUT)
        fields: dict[str, Any] = dict(answer.structured_content or {})
        if answer.is_error:
            raise BankError(f"{tool}: {fields.get('message', 'failed')}", hint=str(fields.get("hint", "")))
        return fields


@asynccontextmanager
async def served(home: Path, *, tenant: str, project: str) -> AsyncIterator[ServerTools]:
    """Start ``rbank serve`` over a data directory with its default settings, ends it afterwards.

    Raises:
        BankError: When the server cannot be started or goes away.
    """
    words = [sys.executable, "-m", "reasoningbank.cli", "--tenant", tenant, "--project", project, "serve"]
    async with connected([*words, "--no-shared"], {"REASONINGBANK_HOME": str(home)}, home) as tools:
        yield tools


@asynccontextmanager
async def connected(words: list[str], variables: Mapping[str, str], directory: Path) -> AsyncIterator[ServerTools]:
    """Start a server with this command, and end it afterwards.

    Raises:
        BankError: When the server cannot be started or goes away, or the one that the block raised.
    """
    parameters = StdioServerParameters(command=words[0], args=words[1:], env=dict(variables), cwd=directory)
    try:
        async with Client(parameters, read_timeout_seconds=_TIMEOUT) as client:
            yield ServerTools(client)
    except (MCPError, OSError) as error:
        raise BankError(f"the MCP server failed: {error}", hint="Start it by hand to see why: rbank serve") from error
    except ExceptionGroup as group:  # the client's own tasks wrap what the block raises
        raise _first(group) from group


def _first(error: Exception) -> Exception:
    """Return the first error of nested groups."""
    return _first(error.exceptions[0]) if isinstance(error, ExceptionGroup) else error
