"""The application: every endpoint with its path and method."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, Route, WebSocketRoute

from reasoningbank.mcp.problems import problem
from reasoningbank.web import prometheus
from reasoningbank.web.requests import BankThreads, RequestHandler, answering
from reasoningbank.web.routes import routes as made
from reasoningbank.web.workflows import WorkflowEndpoints

if TYPE_CHECKING:
    from reasoningbank.mcp.banks import Banks


def build_web(banks: Banks) -> Starlette:
    """Return the application over the banks of a server; who may use it is decided before."""
    desk = BankThreads(banks)
    workflows = WorkflowEndpoints(desk)
    routes: list[BaseRoute] = [
        _route("POST", "/workflow/execute", workflows.execute),
        _route("POST", "/workflow/ai-answer", workflows.answer),
        _route("POST", "/workflow/ticket", workflows.ticket),
        _route("GET", "/workflow/{workflow_id}", workflows.get),
        WebSocketRoute("/workflow/ws/{workflow_id}", workflows.follow),
        _route("GET", prometheus.PATH, prometheus.endpoint(desk)),
        *made(desk),
    ]
    return Starlette(routes=routes, exception_handlers={HTTPException: _refused})


def _route(method: str, path: str, handler: RequestHandler) -> Route:
    return Route(path, answering(handler), methods=[method])


def _methods(request: Request) -> list[str]:
    """Return every method of the path: each has an endpoint of its own, and the first that is asked knows only its.

    A path that is described by its name has the methods of that name, not those of an argument in its place.
    """
    routes = [each for each in request.app.routes if isinstance(each, Route)]
    own = [each for each in routes if each.matches({**request.scope, "type": "http"})[0] is not Match.NONE]
    named = [each for each in own if not each.param_convertors]
    return sorted({method for each in named or own for method in each.methods or ()})


async def _refused(request: Request, error: Exception) -> Response:
    """Return what has no endpoint, as JSON."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    said = {404: "there is no such endpoint", 405: "the endpoint does not have this method"}.get(status, "refused")
    hint = "See docs/reference/rest.md."
    headers = {"Allow": ", ".join(_methods(request))} if status == 405 else getattr(error, "headers", None)
    return problem(status, "no_endpoint", f"{said}: {request.method} {request.url.path[:200]}", hint, headers)
