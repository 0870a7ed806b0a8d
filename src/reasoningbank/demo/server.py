"""The bank that the demo works on, behind the real MCP server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from reasoningbank.demo.client import ServerTools
from reasoningbank.demo.client import served as served_bank

TENANT = "demo"
PROJECT = "shop"

__all__ = ["PROJECT", "TENANT", "ServerTools", "served"]


@asynccontextmanager
async def served(home: Path) -> AsyncIterator[ServerTools]:
    """Start the server over the demo's bank, ends it afterwards.

    Raises:
        BankError: When the server cannot be started or goes away.
    """
    async with served_bank(home, tenant=TENANT, project=PROJECT) as tools:
        yield tools
