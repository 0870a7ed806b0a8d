"""The agent that an attacker has talked into calling tools: over the MCP server and client, or on a bank directly."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from reasoningbank.errors import BankError

if TYPE_CHECKING:
    from evaluation.attacks.arena import Arena

_TIMEOUT = 120.0


class Agent(Protocol):
    """Calls a tool by name; an error is an answer too, with ``error`` in it."""

    async def call(self, tool: str, **arguments: object) -> Mapping[str, object]:
        """The structured answer."""


class Served:
    """Calls the tools of a running server as a client does."""

    def __init__(self, client: object) -> None:
        self._client = client

    async def call(self, tool: str, **arguments: object) -> Mapping[str, object]:
        """The structured answer of the server, with its text as ``text``."""
        from mcp import Client

        assert isinstance(self._client, Client)
        answer = await self._client.call_tool(tool, dict(arguments), read_timeout_seconds=_TIMEOUT)
        text = "\n".join(getattr(part, "text", "") for part in answer.content)
        return {**(answer.structured_content or {}), "text": text}


@asynccontextmanager
async def served(home: Path, tenant: str, project: str, profile: str = "core,admin") -> AsyncIterator[Served]:
    """Starts ``rbank serve`` over a data directory, ends it afterwards. The agent may delete, which not every one may.

    Raises:
        BankError: When the server cannot be started or goes away.
    """
    from mcp import Client
    from mcp.client.stdio import StdioServerParameters
    from mcp.shared.exceptions import MCPError

    command = ["-m", "reasoningbank.cli", "--tenant", tenant, "--project", project, "serve", "--no-shared"]
    command += ["--profile", profile]
    environment = {"REASONINGBANK_HOME": str(home), "OMP_NUM_THREADS": "1"}
    parameters = StdioServerParameters(command=sys.executable, args=command, env=environment, cwd=home)
    try:
        async with Client(parameters, read_timeout_seconds=_TIMEOUT) as client:
            yield Served(client)
    except (MCPError, OSError) as error:
        raise BankError(f"the MCP server failed: {error}", hint="Start it by hand to see why: rbank serve") from error


class Direct:
    """Does the same on a bank without defences, which no server has."""

    def __init__(self, arena: Arena, tenant: str, project: str) -> None:
        self._arena, self._tenant, self._project = arena, tenant, project

    async def call(self, tool: str, **arguments: object) -> Mapping[str, object]:
        """The fields of the answer that attacks look at."""
        project = str(arguments.get("project_id") or self._project)
        session = str(arguments.get("session_id") or "connection")
        name = str(arguments.get("memory_id") or "")
        try:
            with self._arena.bank(project, tenant=self._tenant) as bank:
                match tool:
                    case "memory_search":
                        recall = bank.search(str(arguments["query"]), session=session, unproven=5)
                        return {
                            "memories": [{"id": hit.id, "content": hit.memory.content} for hit in recall.memories],
                            "unproven": [{"id": hit.id, "content": hit.memory.content} for hit in recall.unproven],
                        }
                    case "memory_feedback":
                        rating = bank.feedback(name, helpful=bool(arguments["helpful"]), session=session, rater="agent")
                        return {"new_confidence": rating.new_confidence}
                    case "memory_outcome":
                        report = bank.outcome(
                            name, succeeded=bool(arguments["succeeded"]), session=session, rater="agent"
                        )
                        return {"new_confidence": report.new_confidence}
                    case "memory_get":
                        return {"content": bank.get(name).content}
                    case "memory_delete":
                        bank.delete(name)
                        return {"deleted": True}
                    case _:
                        memory = bank.record(
                            title=str(arguments["title"]), content=str(arguments["content"]), outcome="success"
                        )
                        return {"id": memory.id}
        except BankError as error:
            return {"error": error.code, "text": error.message}
