"""A client of the graph profile over a server in a process of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

from sessions.learned_sessions import PROJECT, RBANK, TENANT, environment


@asynccontextmanager
async def connected(home: Path) -> AsyncIterator[Client]:
    """A client of ``rbank serve --profile graph`` in a process of its own."""
    home.parent.mkdir(parents=True, exist_ok=True)
    server = StdioServerParameters(
        command=str(RBANK),
        args=["--tenant", TENANT, "--project", PROJECT, "serve", "--profile", "graph"],
        env=environment(home),
        cwd=str(home.parent),
    )
    async with Client(server, mode="auto", read_timeout_seconds=60) as client:
        yield client
