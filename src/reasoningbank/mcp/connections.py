"""Connections with limits: so many from one address, so long for a request; the SDK and uvicorn have neither.

uvicorn's own time limit is for the pause between two requests alone: any byte ends it, so a client that sends a byte
now and then holds a connection for ever. Here a request has to be whole by a fixed time after its first byte, and an
answer has to be taken.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from reasoningbank.errors import ConfigurationError

LINGER_SECONDS = 2.0
"""How long the rest of a request is read and thrown away that was refused before its end."""
ANSWER_SECONDS = 30.0
"""How long a client may take nothing of an answer that waits for it."""
_PHRASES = {408: b"Request Timeout", 429: b"Too Many Requests"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """What a connection may cost.

    Attributes:
        connections: Most open connections from one address.
        head: Seconds until the head of a request must be there, from its first byte or the connection's beginning.
        body: Seconds until its body must be there, from the end of the head.
    """

    connections: int
    head: float
    body: float


@dataclass(slots=True)
class Addresses:
    """The open connections of each address."""

    most: int
    _open: dict[str, set[asyncio.BaseTransport]] = field(default_factory=dict)

    def enter(self, transport: asyncio.BaseTransport) -> bool:
        """Count a connection; return False when its address has too many without it."""
        known = self._open.setdefault(_address(transport), set())
        if len(known) >= self.most:
            return False
        known.add(transport)
        return True

    def leave(self, transport: asyncio.BaseTransport) -> None:
        """Count it no longer; a second time does nothing."""
        address = _address(transport)
        known = self._open.get(address, set())
        known.discard(transport)
        if not known:
            self._open.pop(address, None)


def _address(transport: asyncio.BaseTransport) -> str:
    peer = transport.get_extra_info("peername")
    return str(peer[0]) if isinstance(peer, tuple) and peer else ""


def http_protocol(limits: ConnectionLimits, addresses: Addresses) -> type[asyncio.Protocol]:
    """Return uvicorn's protocol with these limits, which are the same for all connections of a server."""

    class Limited(_LimitedConnection):
        _limits = limits
        _addresses = addresses

    return Limited


def websocket_protocol(addresses: Addresses) -> type[asyncio.Protocol]:
    """Return uvicorn's protocol for WebSockets, whose connections are counted until their end.

    Raises:
        ConfigurationError: When the package that it needs is not installed.
    """
    try:
        from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
    except ImportError as error:
        raise ConfigurationError(
            "--web needs the package websockets, which is not installed",
            hint="Install the extra `web` or run: pip install websockets; or leave --web out.",
        ) from error

    class Counted(WebSocketsSansIOProtocol):
        def connection_lost(self, exc: Exception | None) -> None:
            addresses.leave(self.transport)
            super().connection_lost(exc)

    return Counted


class _LimitedConnection(H11Protocol):
    """One HTTP connection. What it waits for is read from h11's own state after every event."""

    _limits: ConnectionLimits
    _addresses: Addresses

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._timer: asyncio.TimerHandle | None = None
        self._awaited = ""
        self._stalled: asyncio.TimerHandle | None = None
        self._admitted = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        self._admitted = self._addresses.enter(transport)
        if not self._admitted:
            self.transport = transport
            self._answer(429, "too_many_connections", "this address has too many open connections", "Close some first.")
            return
        super().connection_made(transport)
        self._await("head", self._limits.head)

    def data_received(self, data: bytes) -> None:
        if not self._admitted:
            return
        if self.conn.their_state is h11.IDLE:
            self._await("head", self._limits.head)
        super().data_received(data)

    def handle_events(self) -> None:
        super().handle_events()
        self._look()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._look()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        self._await("", 0.0)
        super().handle_websocket_upgrade(event)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stalled = self.loop.call_later(ANSWER_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._take_up()

    def connection_lost(self, exc: Exception | None) -> None:
        self._addresses.leave(self.transport)
        self._take_up()
        if self._admitted:
            self._await("", 0.0)
            super().connection_lost(exc)

    def _take_up(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None

    def _look(self) -> None:
        """Wait for what the client has to send next."""
        state = self.conn.their_state
        if self.transport.is_closing():
            self._await("", 0.0)
        elif state is h11.SEND_BODY and self.cycle is not None and self.cycle.response_complete:
            self._await("rest", LINGER_SECONDS)
        elif state is h11.SEND_BODY:
            self._await("body", self._limits.body)
        elif state is not h11.IDLE:
            self._await("", 0.0)
        elif self.conn.trailing_data[0]:
            self._await("head", self._limits.head)

    def _await(self, what: str, seconds: float) -> None:
        """Begin the time for something, unless it runs already; end that for anything else."""
        if what == self._awaited:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._awaited = what
        self._timer = self.loop.call_later(seconds, self._expired) if what else None

    def _expired(self) -> None:
        awaited, self._timer = self._awaited, None
        if self.transport.is_closing():
            return
        if awaited == "rest" or self.conn.our_state not in {h11.IDLE, h11.SEND_RESPONSE}:
            self.transport.abort()
            return
        said = "the body of the request" if awaited == "body" else "the request"
        self._answer(408, "too_slow", f"{said} did not arrive in time", "Send it at once.")

    def _answer(self, status: int, error: str, message: str, hint: str) -> None:
        """Answer without the application, and hang up; what it would still say goes nowhere."""
        body = json.dumps({"error": error, "message": message, "hint": hint}).encode()
        head = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
        response = h11.Response(status_code=status, headers=[*head, (b"connection", b"close")], reason=_PHRASES[status])
        for event in (response, h11.Data(data=body), h11.EndOfMessage()):
            if sent := self.conn.send(event):
                self.transport.write(sent)
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.transport.close()
