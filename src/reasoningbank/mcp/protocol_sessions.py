"""The protocol's sessions of every token apart, so that one token's sessions take no place from another's."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

import anyio
from anyio.abc import TaskGroup, TaskStatus
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import Receive, Scope, Send

SCOPES = "reasoningbank.scopes"
"""Where the gate notes in a connection's scope what its token allows."""
SPEAKER = "reasoningbank.speaker"
"""Where it notes who speaks with every token: the client that has started the server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionLimits:
    """What one token may keep open.

    Attributes:
        sessions: Most sessions, and most WebSockets.
        idle: Seconds without a request after which a session ends.
    """

    sessions: int
    idle: float


def token_name(scope: Scope) -> str:
    """Return what tells the token of a known sender apart from others, without giving it away."""
    user = scope.get("user")
    return user.access_token.client_id if isinstance(user, AuthenticatedUser) else ""


def scopes_in(scope: Scope) -> tuple[str, ...]:
    """Return what the token of a known sender allows; nothing where the gate has not noted it."""
    return tuple(scope.get(SCOPES, ()))


def principal_in(scope: Scope) -> str:
    """Return who speaks in a request: the token, however many connections and sessions it has (DESIGN D16).

    The tokens of a server that an agent has started are in its hands: they speak as the agent's client.
    """
    if speaker := scope.get(SPEAKER):
        return str(speaker)
    return f"token-{hashlib.sha256(token_name(scope).encode()).hexdigest()[:24]}"


def session_of_day(scope: Scope) -> str:
    """Return the session of a request that is in none: one a day for each token, so that tokens share nothing."""
    day = f"{datetime.now(UTC):%Y-%m-%d}"
    return f"http-{hashlib.sha256(f'{token_name(scope)} {day}'.encode()).hexdigest()[:16]}"


class ProtocolSessions:
    """The protocol's endpoint: a session manager of the SDK for each token, made at its first request.

    Args:
        server: What answers; its lifespan is entered once for each manager.
        limits: Of each.
        max_body: The longest request in bytes.
        security: The Host headers and Origins that are accepted.
        stateless: Keep no sessions: any of several servers may answer the next request.
    """

    def __init__(
        self,
        server: Server[None],
        limits: SessionLimits,
        *,
        max_body: int,
        security: TransportSecuritySettings,
        stateless: bool = False,
    ) -> None:
        self._server = server
        self._limits = limits
        self._max_body = max_body
        self._security = security
        self._stateless = stateless
        self._managers: dict[str, StreamableHTTPSessionManager] = {}
        self._making = anyio.Lock()
        self._group: TaskGroup | None = None

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Keep sessions until the block ends."""
        async with anyio.create_task_group() as self._group:
            yield
            self._group.cancel_scope.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request of a known sender."""
        await (await self._manager(token_name(scope))).handle_request(scope, receive, send)

    async def _manager(self, token: str) -> StreamableHTTPSessionManager:
        async with self._making:
            if token not in self._managers:
                manager = StreamableHTTPSessionManager(
                    self._server,
                    json_response=True,
                    stateless=self._stateless,
                    security_settings=self._security,
                    session_idle_timeout=self._limits.idle,
                    max_request_body_size=self._max_body,
                    max_sessions=self._limits.sessions,
                )
                assert self._group is not None
                await self._group.start(_running, manager)
                self._managers[token] = manager
            return self._managers[token]


async def _running(manager: StreamableHTTPSessionManager, *, task_status: TaskStatus[None]) -> None:
    """Keep a manager's sessions until the server stops."""
    async with manager.run():
        task_status.started()
        await anyio.sleep_forever()


class OpenSockets:
    """How many WebSockets each token has open.

    Args:
        most: Of one token.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: Counter[str] = Counter()

    @contextmanager
    def place(self, token: str) -> Iterator[bool]:
        """Count one more for the block; yield False, and count nothing, when the token has too many."""
        if self._open[token] >= self._most:
            yield False
            return
        self._open[token] += 1
        try:
            yield True
        finally:
            self._open[token] -= 1
