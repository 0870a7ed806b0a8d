"""The addresses of the dashboard, each with its page or its action."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from reasoningbank.errors import BankError
from reasoningbank.mcp.browsers import COOKIE, HOME, SIGN_IN_SECONDS, Browsers, signed_in
from reasoningbank.web.dashboard import graph, memories, memory, overview, review, sessions, upkeep
from reasoningbank.web.dashboard.pages import (
    CSRF,
    HEADERS,
    STATIC,
    Dashboard,
    FormAction,
    Page,
    PageRequest,
    form_of,
    no_page,
)

if TYPE_CHECKING:
    from reasoningbank.mcp.banks import Banks
    from reasoningbank.settings import Settings

PAGES: tuple[tuple[str, str, str, Page], ...] = (
    ("/memories", "memories.html", "memories", memories.listed),
    ("/memories/{id}", "memory.html", "memories", memory.one),
    ("/memories/{id}/edit", "memory_edit.html", "memories", memory.edited),
    ("/memories/{id}/versions", "memory_versions.html", "memories", memory.compared),
    ("/sessions", "sessions.html", "sessions", sessions.listed),
    ("/sessions/{id}", "session.html", "sessions", sessions.one),
    ("/refusals", "refusals.html", "sessions", sessions.refusals),
    ("/review", "review.html", "review", review.claims),
    ("/review/quarantine", "quarantine.html", "review", review.quarantines),
    ("/review/promotions", "promotions.html", "review", review.promotions),
    ("/review/merges", "merges.html", "review", review.merges),
    ("/graph", "graph.html", "graph", graph.walked),
    ("/jobs", "jobs.html", "jobs", upkeep.jobs),
)
"""Every page below ``/dashboard``: its template, its entry of the navigation, and what it reads."""
ACTIONS: tuple[tuple[str, FormAction], ...] = (
    ("/memories/{id}/rate", memory.rate),
    ("/memories/{id}/edit", memory.edit),
    ("/memories/{id}/state", memory.set_state),
    ("/memories/{id}/revert", memory.revert),
    ("/memories/{id}/quarantine", memory.hold),
    ("/sessions/{id}/verdict", sessions.verdict),
    ("/review", review.decide),
    ("/review/quarantine", review.release),
    ("/review/promotions", review.promote),
    ("/review/promotions/demote", review.demote),
    ("/review/merges", review.undo),
)
"""Every form with what it does."""


def dashboard_of(banks: Banks, browsers: Browsers, settings: Settings, owner: str) -> Starlette:
    """Return the dashboard over the banks of a server; who is signed in is noted before.

    Args:
        banks: The banks.
        browsers: Who is signed in.
        settings: Of the server.
        owner: The server's own tenant.
    """
    return build_dashboard(Dashboard(banks, browsers, settings, owner))


def build_dashboard(dashboard: Dashboard) -> Starlette:
    """Return the application; the gate has checked Host, Origin and cookie before."""
    routes: list[BaseRoute] = [
        Route("/", _to_the_overview, methods=["GET"]),
        Mount(f"{HOME}/static", _Kept(StaticFiles(directory=STATIC))),
        Route(f"{HOME}/login", _login_page(dashboard), methods=["GET"]),
        Route(f"{HOME}/login", _login(dashboard), methods=["POST"]),
        Route(f"{HOME}/logout", _logout(dashboard), methods=["POST"]),
        Route(HOME, overview.handler(dashboard), methods=["GET"]),
        Route(f"{HOME}/settings", upkeep.settings_handler(dashboard), methods=["GET"]),
        *(
            Route(f"{HOME}{path}", dashboard.page(template, section, page), methods=["GET"])
            for path, template, section, page in PAGES
        ),
        *(Route(f"{HOME}{path}", dashboard.action(action), methods=["POST"]) for path, action in ACTIONS),
    ]

    async def missing(request: Request, _: Exception) -> Response:
        return dashboard.refused(request, no_page(request.url.path), signed_in(request.scope))

    return Starlette(routes=routes, exception_handlers={HTTPException: missing})


class _Kept:
    """Shipped files, which a browser may keep: their addresses change when they do."""

    def __init__(self, files: StaticFiles) -> None:
        self._files = files

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self._files.get_response(self._files.get_path(scope), scope)
        response.headers.update({**HEADERS, "Cache-Control": "public, max-age=31536000, immutable"})
        await response(scope, receive, send)


async def _to_the_overview(request: Request) -> Response:
    query = request.url.query
    return RedirectResponse(f"{HOME}{f'?{query}' if query else ''}", 303, HEADERS)


def _login_page(dashboard: Dashboard) -> Callable[[Request], Awaitable[Response]]:
    async def shown(request: Request) -> Response:
        key = request.query_params.get("key", "")
        cookie = dashboard.browsers.by_link(key) if key else None
        if cookie is not None:
            return _entered(request, cookie)
        said = "This link was used already, or it is too old. Sign in with the token." if key else ""
        return dashboard.render(request, "login.html", None, {"said": said}, 403 if key else 200)

    return shown


def _login(dashboard: Dashboard) -> Callable[[Request], Awaitable[Response]]:
    async def entered(request: Request) -> Response:
        # A browser always says where a form comes from; the gate has looked whether it is from here.
        try:
            sent = await form_of(request) if "origin" in request.headers else PageRequest()
        except BankError as error:
            return dashboard.refused(request, error, None)
        cookie = await dashboard.browsers.by_token(sent.text("token"))
        if cookie is not None:
            return _entered(request, cookie)
        said = "This token is not known here, or it does not allow admin."
        return dashboard.render(request, "login.html", None, {"said": said}, 403)

    return entered


def _entered(request: Request, cookie: str) -> Response:
    response = RedirectResponse(HOME, 303, HEADERS)
    response.set_cookie(
        COOKIE,
        cookie,
        max_age=int(SIGN_IN_SECONDS),
        path=HOME,
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )
    return response


def _logout(dashboard: Dashboard) -> Callable[[Request], Awaitable[Response]]:
    async def left(request: Request) -> Response:
        person = signed_in(request.scope)
        try:
            sent = await form_of(request)
        except BankError as error:
            return dashboard.refused(request, error, person)
        if person is None or not person.carries(sent.text(CSRF)):
            return RedirectResponse(HOME, 303, HEADERS)
        dashboard.browsers.end(request)
        response = RedirectResponse(f"{HOME}/login", 303, HEADERS)
        response.delete_cookie(COOKIE, path=HOME, httponly=True, samesite="strict")
        return response

    return left
