"""The protocol's sessions of every token apart, so that one token's sessions take no place from another's."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import Receive, Scope, Send


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


def principal_in(scope: Scope) -> str:
    """Return who speaks in a request: the token, however many connections and sessions it has (DESIGN D16)."""
    return f"token-{hashlib.sha256(token_name(scope).encode()).hexdigest()[:24]}"


def session_of_day(scope: Scope) -> str:
    """Return the session of a request that is in none: one a day for each token, so that tokens share nothing."""
    day = f"{datetime.now(UTC):%Y-%m-%d}"
    return f"http-{hashlib.sha256(f'{token_name(scope)} {day}'.encode()).hexdigest()[:16]}"


class ProtocolSessions:
    """The protocol's endpoint: a session manager of the SDK for each token.

    Args:
        server: What answers; its lifespan is entered once for each manager.
        tokens: The names of the tokens.
        limits: Of each.
        max_body: The longest request in bytes.
        security: The Host headers and Origins that are accepted.
    """

    def __init__(
        self,
        server: Server[None],
        tokens: Collection[str],
        limits: SessionLimits,
        *,
        max_body: int,
        security: TransportSecuritySettings,
    ) -> None:
        self._managers = {
            token: StreamableHTTPSessionManager(
                server,
                json_response=True,
                security_settings=security,
                session_idle_timeout=limits.idle,
                max_request_body_size=max_body,
                max_sessions=limits.sessions,
            )
            for token in tokens
        }

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Keep sessions until the block ends."""
        async with AsyncExitStack() as running:
            for manager in self._managers.values():
                await running.enter_async_context(manager.run())
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request of a known sender."""
        await self._managers[token_name(scope)].handle_request(scope, receive, send)


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
