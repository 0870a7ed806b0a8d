"""The tools as a protocol server: what a client lists, calls and is told, the same on every transport."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeAlias

import mcp.types as types
from anyio import CapacityLimiter, to_thread
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError

import reasoningbank
from reasoningbank.mcp.calls import Caller
from reasoningbank.mcp.introduction import DESCRIPTION, LISTED_MILLISECONDS, NAME, TITLE, tool_json
from reasoningbank.mcp.schemas import ToolSpec, instructions_of
from reasoningbank.mcp.tools import Tools

RequestContext: TypeAlias = ServerRequestContext[None, object]
"""What a handler is told about a request."""
AT_ONCE = 32
"""How many calls of all connections run at the same time; the others wait their turn.

Those that wait for the model, or for their delivery to be durable, do so together: more at once cost less each.
"""


def build_server(
    tools: Tools,
    caller: Callable[[RequestContext], Caller],
    *,
    on_arrival: Callable[[Caller], None] | None = None,
    limiter: CapacityLimiter | None = None,
) -> Server[None]:
    """Return a server of the tools of one profile.

    Args:
        tools: What it serves.
        caller: Who sends a request, told from its context and never from its arguments.
        on_arrival: Called when a client is connected, and again whenever it lists the tools.
        limiter: How many calls run at the same time, of this server and others that share its banks; who gives it
            starts and ends their background work. Without one the tools are closed when the server stops.
    """
    places: list[CapacityLimiter] = []

    def arrived(context: RequestContext) -> None:
        if on_arrival is not None:
            on_arrival(caller(context))

    async def on_initialized(context: RequestContext, _: types.NotificationParams | None) -> None:
        arrived(context)

    async def list_tools(context: RequestContext, _: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        arrived(context)
        return types.ListToolsResult(tools=[listed(tool) for tool in tools.specs.values()])

    async def call_tool(context: RequestContext, params: types.CallToolRequestParams) -> types.CallToolResult:
        if params.name not in tools.specs:
            raise MCPError(
                code=types.INVALID_PARAMS,
                message=f"Unknown tool {ascii(params.name)[:80]}; there are {', '.join(tools.specs)}",
            )
        answer = await to_thread.run_sync(tools.call, params.name, params.arguments, caller(context), limiter=places[0])
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=answer.text)],
            structured_content=dict(answer.fields),
            is_error=answer.failed,
        )

    @asynccontextmanager
    async def lifespan(_: Server[None]) -> AsyncIterator[None]:
        if limiter is not None:
            places.append(limiter)
            yield None
            return
        places.append(CapacityLimiter(AT_ONCE))
        tools.work()
        try:
            yield None
        finally:
            places.clear()
            tools.close()

    server = Server(
        NAME,
        version=reasoningbank.__version__,
        title=TITLE,
        description=DESCRIPTION,
        instructions=instructions_of(tools.specs),
        lifespan=lifespan,
        cache_hints={"tools/list": CacheHint(ttl_ms=LISTED_MILLISECONDS, scope="public")},
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
    server.add_notification_handler("notifications/initialized", types.NotificationParams, on_initialized)
    return server


def listed(tool: ToolSpec) -> types.Tool:
    """Return a tool as clients list it."""
    return types.Tool.model_validate(tool_json(tool))
