"""The application: every endpoint with its path and method."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute

from reasoningbank.web.graph import Graph, Lessons
from reasoningbank.web.requests import Desk, Handler, answering
from reasoningbank.web.workflows import Workflows

if TYPE_CHECKING:
    from reasoningbank.mcp.banks import Banks

PREFIXES = ("/workflow", "/graph", "/lessons", "/conversations", "/questions")
"""What the paths of the endpoints begin with."""


def build_web(banks: Banks) -> Starlette:
    """Return the application over the banks of a server; who may use it is decided before."""
    desk = Desk(banks)
    workflows, graph, lessons = Workflows(desk), Graph(desk), Lessons(desk)
    routes: list[BaseRoute] = [
        _route("POST", "/workflow/execute", workflows.execute),
        _route("POST", "/workflow/ai-answer", workflows.answer),
        _route("GET", "/workflow/{workflow_id}", workflows.get),
        WebSocketRoute("/workflow/ws/{workflow_id}", workflows.follow),
        _route("GET", "/graph/nodes", graph.nodes),
        _route("POST", "/graph/nodes", graph.add_node),
        _route("GET", "/graph/nodes/{id:path}", graph.node),
        _route("PATCH", "/graph/nodes/{id:path}", graph.change_node),
        _route("DELETE", "/graph/nodes/{id:path}", graph.delete_node),
        _route("POST", "/graph/edges", graph.add_edge),
        _route("GET", "/graph/edges/{id:path}", graph.edge),
        _route("PATCH", "/graph/edges/{id:path}", graph.change_edge),
        _route("DELETE", "/graph/edges/{id:path}", graph.delete_edge),
        _route("GET", "/graph/search", graph.search),
        _route("POST", "/graph/walk", graph.walk),
        _route("GET", "/lessons", lessons.listed),
        _route("POST", "/lessons", lessons.add),
        _route("GET", "/lessons/search", lessons.search),
        _route("GET", "/lessons/{id}", lessons.get),
        _route("PATCH", "/lessons/{id}", lessons.change),
        _route("DELETE", "/lessons/{id}", lessons.delete),
        _route("POST", "/conversations", graph.remember),
        _route("GET", "/conversations/{conv_id:path}", graph.conversation),
        _route("POST", "/questions", graph.ask),
    ]
    return Starlette(routes=routes, exception_handlers={HTTPException: _refused})


def _route(method: str, path: str, handler: Handler) -> Route:
    return Route(path, answering(handler), methods=[method])


async def _refused(request: Request, error: Exception) -> Response:
    """Return what has no endpoint, as JSON."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    said = {404: "there is no such endpoint", 405: "the endpoint does not have this method"}.get(status, "refused")
    hint = "See docs/reference/web.md."
    return JSONResponse(
        {"error": "no_endpoint", "message": f"{said}: {request.method} {request.url.path[:200]}", "hint": hint}, status
    )
