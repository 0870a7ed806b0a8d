"""The server of many clients over streamable HTTP: no request is read before its sender is known."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import math
import re
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from types import FrameType
from typing import TYPE_CHECKING

import anyio
import uvicorn
from anyio import CapacityLimiter, to_thread
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser, BearerAuthBackend
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from starlette.applications import Starlette
from starlette.authentication import UnauthenticatedUser
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket

from reasoningbank.client_sessions import is_agents, principal_of
from reasoningbank.errors import BankError, ConfigurationError, MissingTenantError, StoreError
from reasoningbank.integrations.end import leave_after
from reasoningbank.mcp.banks import Banks
from reasoningbank.mcp.browsers import HOME, SIGNED_IN, Browsers, of_dashboard
from reasoningbank.mcp.calls import Caller
from reasoningbank.mcp.connections import Addresses, ConnectionLimits, http_protocol, websocket_protocol
from reasoningbank.mcp.problems import problem
from reasoningbank.mcp.protocol_sessions import (
    SCOPES,
    SPEAKER,
    OpenSockets,
    ProtocolSessions,
    SessionLimits,
    principal_in,
    scopes_in,
    session_of_day,
    token_name,
)
from reasoningbank.mcp.server import AT_ONCE, RequestContext, build_server
from reasoningbank.mcp.tenant_limits import TenantLimits
from reasoningbank.mcp.tickets import PARAMETER as TICKET
from reasoningbank.mcp.tickets import TICKETS, Tickets
from reasoningbank.mcp.tokens import TOKEN_FILE, FileTokens, Grants, load_grants, register_of
from reasoningbank.mcp.tools import Tools, WarmUp
from reasoningbank.settings import local_tenant
from reasoningbank.types.scope import Membership

if TYPE_CHECKING:
    from reasoningbank.settings import Settings

MakeDashboard = Callable[[Banks, Browsers, "Settings", str], ASGIApp]
"""Makes the dashboard from the banks, those who are signed in, the settings, and the server's own tenant."""
PATH = "/mcp"
HEALTH_PATH = "/health"
LIVE_PATH, READY_PATH = "/healthz", "/readyz"
"""What an orchestrator asks: whether the process runs, and whether it can serve."""
READY_SECONDS = 1.0
"""How long an answer to the second holds, so that asking often costs the database little."""
MAX_BODY = 2**20
"""The longest request in bytes; a memory at its longest is far below."""
MAX_FRAME = 2**16
"""The longest message of a client on a WebSocket in bytes; commands are short."""
_ONCE = (b"origin", b"content-type", b"mcp-session-id", b"mcp-protocol-version")
"""Headers that say one thing: a request with two of them is read one way here and another way by a proxy."""
_TENANT = "reasoningbank.tenant"
_MEMBERSHIP = "reasoningbank.membership"
_WILDCARDS = {"0.0.0.0", "::", ""}  # noqa: S104 - recognised, not bound
_LOOPBACK = {"127.0.0.1", "::1", "localhost"}
_SESSION_HEADER = "mcp-session-id"
_log = logging.getLogger(__name__)
_HOST = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z](?:[0-9A-Za-z._-]*[0-9A-Za-z])?)(?::[0-9]{1,5})?")


def run(
    settings: Settings,
    *,
    url: str | None,
    tenant: str | None,
    project: str | None,
    host: str,
    port: int,
    allowed_hosts: Sequence[str],
    profile: str | None = None,
    membership: Membership | None = None,
    web: Callable[[Banks], ASGIApp] | None = None,
    dashboard: MakeDashboard | None = None,
    on_ready: Callable[[str, str], None] | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT; with ``web`` REST and WebSocket besides, with ``dashboard`` the pages for people.

    With ``on_ready`` nothing is said on standard error: it is told the address, and a link that opens the dashboard
    once.

    Raises:
        ConfigurationError: When the profile is unknown, a host cannot be allowed, the address cannot be listened on or
            a token file is not usable.
    """
    owner = tenant if tenant is not None else settings.tenant or local_tenant()
    further = checked_hosts(allowed_hosts)
    banks = Banks(settings, url=url, project=project)
    tools = Tools(banks, profile=settings.profile if profile is None else profile)
    own = Membership(team=settings.team, org=settings.org) if membership is None else membership
    place = url or settings.url or None
    register = register_of(place, settings.home)
    grants = load_grants(settings.home, owner, own, None if isinstance(register, FileTokens) else register)
    tools.look_after(owner, *grants.tenants)
    limits = connection_limits(settings)
    addresses = Addresses(limits.connections)
    sockets = websocket_protocol(addresses) if web is not None else "none"
    listener = _listen(host, port)
    bound = int(listener.getsockname()[1])
    security = security_of(host, bound, further)
    sessions = SessionLimits(sessions=settings.http_sessions, idle=settings.http_session_minutes * 60.0)
    browsers = Browsers(grants)
    app = build_app(
        tools,
        grants,
        security,
        sessions=sessions,
        web=None if web is None else web(banks),
        dashboard=None if dashboard is None else dashboard(banks, browsers, settings, owner),
        browsers=None if dashboard is None else browsers,
        stateless=settings.http_stateless,
        limits=tenant_limits(settings),
        ready=lambda: banks.existing(owner),
        speaker=principal_of(settings.home, url=place) if is_agents(place) else "",
    )
    shown = f"[{host}]" if ":" in host else host
    if on_ready is None:
        sys.stderr.write(
            f"Serving http://{shown}:{bound}{PATH}; the bearer token is in {settings.home / TOKEN_FILE}\n"
            + ("" if host in _LOOPBACK else "The connection is not encrypted: put a TLS proxy in front of it.\n")
        )
        sys.stderr.flush()
    else:
        on_ready(f"http://{shown}:{bound}", f"http://{shown}:{bound}{HOME}/login?key={browsers.link()}")
    server = _Server(
        settings.http_stop_seconds,
        uvicorn.Config(
            app,
            http=http_protocol(limits, addresses),
            ws=sockets,
            ws_max_size=MAX_FRAME,
            # Its own configuration would close the log handlers of the program that this server runs in.
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=math.ceil(settings.http_stop_seconds),
        ),
    )
    server.run(sockets=[listener])


class _Server(uvicorn.Server):
    """Answers what it has begun and ends in time when it was told to, whatever its calls are doing."""

    def __init__(self, stop_seconds: float, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._stop_seconds = stop_seconds

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        leave_after(math.ceil(self._stop_seconds) + 1.0)
        super().handle_exit(sig, frame)


def build_app(
    tools: Tools,
    grants: Grants,
    security: TransportSecuritySettings,
    *,
    sessions: SessionLimits,
    web: ASGIApp | None = None,
    stateless: bool = False,
    limits: TenantLimits | None = None,
    ready: Callable[[], object] | None = None,
    dashboard: ASGIApp | None = None,
    browsers: Browsers | None = None,
    speaker: str = "",
) -> ASGIApp:
    """Return the application: it checks Host and Origin, then the token, then serves MCP, REST or the dashboard.

    Args:
        tools: The tools.
        grants: The tokens.
        security: The Host headers and Origins that are accepted.
        sessions: What one token may keep open.
        web: The REST and WebSocket endpoints to serve besides; None for MCP alone.
        stateless: Keep no sessions of the protocol.
        limits: What one tenant may ask; None for no limit.
        ready: Raises a StoreError when the banks cannot be used.
        dashboard: The pages for people; None for none.
        browsers: Those who are signed in there.
        speaker: Who speaks with every token; empty where each token speaks for itself.
    """
    warm_up = WarmUp(tools)
    server = build_server(tools, _Callers().of, on_arrival=warm_up.start, limiter=CapacityLimiter(AT_ONCE))
    endpoint = ProtocolSessions(server, sessions, max_body=MAX_BODY, security=security, stateless=stateless)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        tools.work()
        try:
            async with endpoint.run():
                yield
        finally:
            tools.close()

    protocol = Starlette(routes=[Route(PATH, endpoint=endpoint)], lifespan=lifespan)
    sockets = OpenSockets(sessions.sessions)
    app = protocol if web is None else _beside(protocol, web)
    if dashboard is not None:
        app = _with_pages(app, dashboard)
    return Gate(
        app,
        grants,
        security,
        sockets,
        limits=limits,
        ready=ready,
        on_tenant=tools.look_after,
        browsers=browsers,
        speaker=speaker,
    )


def _with_pages(app: ASGIApp, dashboard: ASGIApp) -> ASGIApp:
    """Return the application with the dashboard at the paths that are its own."""

    async def both(scope: Scope, receive: Receive, send: Send) -> None:
        pages = scope["type"] == "http" and of_dashboard(scope["path"])
        await (dashboard if pages else app)(scope, receive, send)

    return both


def _beside(protocol: ASGIApp, endpoints: ASGIApp) -> ASGIApp:
    """Return the protocol, and the REST and WebSocket endpoints at all paths that are not its own."""

    async def both(scope: Scope, receive: Receive, send: Send) -> None:
        own = scope["type"] == "websocket" or (scope["type"] == "http" and scope["path"] not in {PATH, f"{PATH}/"})
        await (endpoints if own else protocol)(scope, receive, send)

    return both


def security_of(host: str, port: int, allowed_hosts: Sequence[str] = ()) -> TransportSecuritySettings:
    """Return the Host headers and Origins that are accepted, spelled out.

    The SDK accepts all for a host it does not know.
    """
    names = [f"[{host}]" if ":" in host else host]
    if host in _LOOPBACK | _WILDCARDS:
        names = ["127.0.0.1", "localhost", "[::1]"]
    if host in _WILDCARDS:
        names.append(socket.gethostname())
    hosts = [f"{name}:{port}" for name in names] + ([*names] if port == 80 else [])
    for allowed in allowed_hosts:
        hosts += [allowed] if _has_port(allowed) else [allowed, f"{allowed}:{port}"]
    origins = [f"{scheme}://{name}" for name in hosts for scheme in ("http", "https")]
    return TransportSecuritySettings(enable_dns_rebinding_protection=True, allowed_hosts=hosts, allowed_origins=origins)


def checked_hosts(names: Sequence[str]) -> tuple[str, ...]:
    """Name for the Host header, in lower case as clients send them.

    Raises:
        ConfigurationError: When one is not a host name or address with an optional port; a wildcard is none.
    """
    for name in names:
        if not _HOST.fullmatch(name):
            raise ConfigurationError(
                f"{name[:80]!r} is not a host name that can be allowed",
                hint="Name one as example.org, example.org:8443 or [::1]:8443, without https:// and path.",
            )
    return tuple(name.lower() for name in names)


class Gate:
    """Lets only known senders through and notes whom they act for.

    ``/health`` and ``/healthz`` say that the server runs, ``/readyz`` that it can use its banks, no more.

    The SDK checks Host, Origin and token. Its ``RequireAuthMiddleware`` is not used: it cannot refuse a WebSocket, and
    its answer has no hint.
    """

    def __init__(
        self,
        app: ASGIApp,
        grants: Grants,
        security: TransportSecuritySettings,
        sockets: OpenSockets,
        *,
        limits: TenantLimits | None = None,
        ready: Callable[[], object] | None = None,
        on_tenant: Callable[[str], None] | None = None,
        browsers: Browsers | None = None,
        speaker: str = "",
    ) -> None:
        self._app = app
        self._browsers = browsers
        self._speaker = speaker
        self._sockets = sockets
        self._limits = limits
        self._on_tenant = on_tenant
        self._readiness = _Readiness(ready)
        self._checks = TransportSecurityMiddleware(security)
        self._authenticated = AuthenticationMiddleware(self._known, backend=BearerAuthBackend(grants))
        self._tickets = Tickets()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 421 or 403 to a foreign Host or Origin, 400 to a request that can be read in two ways.

        Then 413 to one that is too long, 401 to one without a token, and hand everything else on. A WebSocket is
        refused with the same answers before it is opened.
        """
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        request = Request({**scope, "type": "http", "method": scope.get("method", "GET")})
        asks = scope["type"] == "http" and request.method in {"GET", "HEAD"}
        if asks and scope["path"] in {LIVE_PATH, READY_PATH}:
            # Whoever looks after the process calls it by its address. Nobody learns anything here.
            wrong = await self._readiness.problem() if scope["path"] == READY_PATH else ""
            answer = {"status": "unavailable", "message": wrong} if wrong else {"status": "ok"}
            await JSONResponse(answer, 503 if wrong else 200)(scope, receive, send)
            return
        refused = await self._checks.validate_request(request)
        if refused is not None:
            await _refuse(scope, receive, send, refused.status_code)
        elif _ambiguous(scope):
            await _refuse(scope, receive, send, 400)
        elif int(request.headers.get("content-length", "0")) > MAX_BODY:
            await _refuse(scope, receive, send, 413)
        elif asks and scope["path"] == HEALTH_PATH:
            await JSONResponse({"status": "ok"})(scope, receive, send)
        elif self._browsers is not None and scope["type"] == "http" and of_dashboard(scope["path"]):
            await self._page(self._browsers, request, scope, receive, send)
        elif len(request.headers.getlist("authorization")) > 1:
            await _refuse(scope, receive, send, 401)
        elif scope["type"] == "websocket" and TICKET in request.query_params:
            user = self._tickets.taken(request.query_params[TICKET])
            await self._known({**scope, "user": UnauthenticatedUser() if user is None else user}, receive, send)
        else:
            try:
                await self._authenticated(scope, receive, send)
            except StoreError as error:
                # Calls turn their errors into answers: this one is of the tokens.
                await _refuse(scope, receive, send, 503, (error.code, "the tokens cannot be read now", error.hint))

    async def _page(self, browsers: Browsers, request: Request, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request for a page on with the sign-in of its browser; without one the pages ask to sign in."""
        try:
            found = await browsers.of(request)
        except StoreError as error:
            await _refuse(scope, receive, send, 503, (error.code, "the tokens cannot be read now", error.hint))
            return
        if found is None:
            await self._with_body(scope, receive, send)
            return
        scope[SIGNED_IN], scope["user"] = found, found.user
        await self._known(scope, receive, send)

    async def _known(self, scope: Scope, receive: Receive, send: Send) -> None:
        user = scope["user"]
        if not isinstance(user, AuthenticatedUser):
            await _refuse(scope, receive, send, 401)
            return
        tenant = str(user.access_token.subject)
        if wait := self._wait(tenant, requests=1):
            await _refuse(scope, receive, send, 429, wait=wait)
            return
        if self._on_tenant is not None:
            self._on_tenant(tenant)
        scope[_TENANT], scope[TICKETS] = tenant, self._tickets
        scope[SCOPES], scope[SPEAKER] = self._allowed(user.access_token.scopes), self._speaker
        scope[_MEMBERSHIP] = Membership(**(user.access_token.claims or {}))
        if scope["type"] == "http":
            await self._with_body(scope, receive, send)
            return
        with self._sockets.place(token_name(scope)) as free:
            if free:
                await self._app(scope, self._counted(tenant, receive, send), send)
            else:
                await _refuse(scope, receive, send, 503)

    def _allowed(self, scopes: Sequence[str]) -> tuple[str, ...]:
        """Return what a token allows: to write, but not what a person does, where an agent has started the server."""
        return tuple(dict.fromkeys("write" if self._speaker and each == "admin" else each for each in scopes))

    def _wait(self, tenant: str, *, requests: int = 0, size: int = 0) -> float:
        return 0.0 if self._limits is None else self._limits.wait(tenant, requests=requests, size=size)

    def _counted(self, tenant: str, receive: Receive, send: Send) -> Receive:
        """Return what gives the messages of a WebSocket; one too many in a minute is its last."""

        async def received() -> Message:
            message = await receive()
            if message["type"] == "websocket.receive":
                size = len(message.get("text") or message.get("bytes") or "")
                if self._wait(tenant, requests=1, size=size):
                    await send({"type": "websocket.close", "code": 1008, "reason": "too many requests"})
                    return {"type": "websocket.disconnect", "code": 1008}
            return message

        return received

    async def _with_body(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request on once it is whole; one whose sender hangs up before that is nobody's."""
        body = bytearray()
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > MAX_BODY:
                await _refuse(scope, receive, send, 413)
                return
        if _TENANT in scope and (wait := self._wait(scope[_TENANT], size=len(body))):
            await _refuse(scope, receive, send, 429, wait=wait)
            return
        whole: list[Message] = [{"type": "http.request", "body": bytes(body), "more_body": False}]

        async def given() -> Message:
            return whole.pop() if whole else await receive()

        started = False

        async def sent(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, given, sent)
        except asyncio.CancelledError:
            # Only a server that stops ends a request, one that has had its time to be answered.
            if not started:
                await _refuse(scope, receive, send, 503, _STOPPING)


class _Readiness:
    """Whether the banks can be used, asked at most once a moment."""

    def __init__(self, check: Callable[[], object] | None) -> None:
        self._check = check
        self._lock = anyio.Lock()
        self._said = ""
        self._until = 0.0

    async def problem(self) -> str:
        """Return what keeps the server from serving; empty when nothing does. It names no place and no tenant."""
        async with self._lock:
            if self._check is not None and time.monotonic() >= self._until:
                try:
                    await to_thread.run_sync(self._check)
                    self._said = ""
                except BankError as error:
                    _log.warning("not ready: %s", error.advice)
                    self._said = f"the banks cannot be used: {error.code}"
                self._until = time.monotonic() + READY_SECONDS
        return self._said


def _ambiguous(scope: Scope) -> bool:
    """Return whether two readers could take the request for two different ones."""
    names = [name for name, _ in scope["headers"]]
    return (b"content-length" in names and b"transfer-encoding" in names) or any(names.count(one) > 1 for one in _ONCE)


_REFUSALS = {
    400: (
        "ambiguous_request",
        "the request has Content-Length beside Transfer-Encoding, or a header twice that may be there once",
        "Send each of them once, and one of the two lengths.",
    ),
    401: (
        "invalid_token",
        "the request has no known bearer token",
        f"Send the token in {TOKEN_FILE} as 'Authorization: Bearer ...'.",
    ),
    403: (
        "invalid_origin",
        "the Origin header names a page that is not served here",
        "Allow its host with --allowed-host, or call from a program instead of a page.",
    ),
    413: ("too_long", f"the request has more than {MAX_BODY:,} bytes", "Send less at once."),
    421: (
        "invalid_host",
        "the Host header names a host that this server does not serve",
        "Use the server's own address, or allow the name with --allowed-host.",
    ),
    429: (
        "too_many_requests",
        "this tenant has sent more requests or bytes in the last minute than this server takes",
        "Wait as many seconds as the header Retry-After says, or raise http_tenant_requests or http_tenant_megabytes.",
    ),
    503: (
        "too_many_sockets",
        "this token has too many open WebSockets",
        "Close some first, or raise the setting http_sessions.",
    ),
}


_STOPPING = ("stopping", "the server is stopping", "Start it again, then send the request again.")


async def _refuse(
    scope: Scope,
    receive: Receive,
    send: Send,
    status: int,
    said: tuple[str, str, str] | None = None,
    wait: float = 0.0,
) -> None:
    error, message, hint = said or _REFUSALS[status]
    headers = {"Retry-After": str(math.ceil(wait))} if wait else {}
    if status == 400:
        # Where its body ends is what is not known: nothing that follows on this connection is a request.
        headers["Connection"] = "close"
    if status == 401:
        sent = any(name == b"authorization" for name, _ in scope["headers"])
        headers["WWW-Authenticate"] = 'Bearer realm="reasoningbank"' + (f', error="{error}"' if sent else "")
    refused = problem(status, error, message, hint, headers)
    if scope["type"] == "websocket":
        await WebSocket(scope, receive, send).send_denial_response(refused)
    else:
        await refused(scope, receive, send)


def connection_limits(settings: Settings) -> ConnectionLimits:
    """Return what the settings allow a connection."""
    return ConnectionLimits(
        connections=settings.http_connections, head=settings.http_head_seconds, body=settings.http_body_seconds
    )


def tenant_limits(settings: Settings) -> TenantLimits:
    """Return what the settings allow a tenant."""
    return TenantLimits(requests=settings.http_tenant_requests, size=settings.http_tenant_megabytes * 2**20)


class _Callers:
    """Tells from a request who sends it."""

    def of(self, context: RequestContext) -> Caller:
        """Return the tenant of the token; the protocol's session, or one a day for clients that have none."""
        request = context.request
        if not isinstance(request, Request) or not isinstance(request.scope.get(_TENANT), str):
            raise MissingTenantError("no tenant: the request came without a token")
        named = request.headers.get(_SESSION_HEADER, "")
        session = f"http-{hashlib.sha256(named.encode()).hexdigest()[:16]}" if named else session_of_day(request.scope)
        return Caller(
            tenant=request.scope[_TENANT],
            session=session,
            membership=request.scope.get(_MEMBERSHIP, Membership()),
            principal=principal_in(request.scope),
            scopes=scopes_in(request.scope),
        )


def _listen(host: str, port: int) -> socket.socket:
    if not 0 <= port <= 65535:
        raise ConfigurationError(
            f"{port} is not a port number", hint="Use a port from 1 to 65535, or 0 for any free one."
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=128)
    except (OSError, UnicodeError) as error:
        raise ConfigurationError(
            f"cannot listen on {host}:{port}: {error}",
            hint="Choose another address or port, or stop the program that uses it.",
        ) from error


def _has_port(name: str) -> bool:
    return name.rpartition("]")[2].rpartition(":")[2].isdigit()


__all__ = [
    "HEALTH_PATH",
    "LIVE_PATH",
    "MAX_BODY",
    "PATH",
    "READY_PATH",
    "Gate",
    "build_app",
    "checked_hosts",
    "run",
    "security_of",
]
