"""What ``rbank serve`` on stdio is where a server is shared: a relay between one client and that server.

It answers at once what is known without a server, who it is and which tools there are, and passes on everything else
byte for byte. It imports no protocol SDK, no numpy and no model, so that a window costs little.

When the server ends, the relay joins the next one and introduces its client again. A request that was sent and not
answered is sent again when that can do no harm, else it is answered with an error: nothing is done twice.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from reasoningbank.integrations.shared_server import Greeting, Place, join
from reasoningbank.mcp.introduction import is_id, known_answer
from reasoningbank.mcp.lines import CHUNK, MAX_LINE, TOO_LONG, Lines

if TYPE_CHECKING:
    from reasoningbank.mcp.schemas import ToolSpec
    from reasoningbank.operations.operation import Json

WELCOME_SECONDS = 60.0
"""How long a server may take to start."""
DRAIN_SECONDS = 10.0
"""How long calls that run when the input ends may still take to be answered."""
ATTEMPTS = 3
"""How many servers may end before they have started, until calls are answered with an error."""
_POLL_SECONDS = 1.0
_HELD = 2 * MAX_LINE
"""Bytes for one side that are held back before the other side is no longer read."""
_PIPE = 4096
"""Bytes that a pipe takes without waiting once it says that it is writable."""
_OWN_ID = "reasoningbank-relay-introduction"
_LOST = -32000
"""The JSON-RPC error of a connection that ended."""
_INVALID = -32600


class _Request(NamedTuple):
    """A client's request.

    Attributes:
        id: Its id.
        line: As it was sent.
        repeatable: True when it may be sent to a second server.
    """

    id: str | int
    line: bytes
    repeatable: bool


class Relay:
    """Passes messages between two descriptors and the shared server until the input ends or the parent is gone.

    Args:
        source: The descriptor to read from.
        sink: The descriptor to write to.
        place: Where the server is.
        greeting: Who the client is.
        tools: The tools of the profile.
        connection: A connection to the server.
    """

    def __init__(
        self,
        source: int,
        sink: int,
        place: Place,
        greeting: Greeting,
        tools: Mapping[str, ToolSpec],
        connection: socket.socket,
    ) -> None:
        self._source, self._sink = source, sink
        self._place, self._greeting, self._tools = place, greeting, tools
        self._from_client, self._from_server = Lines(), Lines()
        self._to_client, self._to_server = bytearray(), bytearray()
        self._waiting: list[_Request | bytes] = []
        self._open: dict[str | int, _Request] = {}
        self._introduction: Json | None = None
        self._introduced = self._initialized = self._unreadable = False
        self._welcome, self._attempts, self._since = False, 0, 0.0
        self._connection: socket.socket | None = None
        self._ended: float | None = None
        self._begin(connection)

    def run(self) -> None:
        """Pass messages on; return when there is nobody left to pass them to."""
        parent = self._greeting.parent.pid
        gone = _watched(parent)
        try:
            while os.getppid() == parent and not self._finished():
                self._turn(gone)
        finally:
            self._drop()
            if gone is not None:
                os.close(gone)

    def _turn(self, gone: int | None) -> None:
        """Wait until something can be done, and do it."""
        readers: list[Any] = [gone] if gone is not None else []
        writers: list[Any] = [self._sink] if self._to_client else []
        held = len(self._to_server) + sum(len(each if isinstance(each, bytes) else each.line) for each in self._waiting)
        if self._ended is None and held < _HELD:
            readers.append(self._source)
        if self._connection is not None:
            if len(self._to_client) < _HELD:
                readers.append(self._connection)
            if self._to_server:
                writers.append(self._connection)
        timed = gone is None or self._ended is not None or not self._welcome
        readable, writable, _ = select.select(readers, writers, [], _POLL_SECONDS if timed else None)
        if self._sink in writable:
            self._write_client()
        if self._connection is not None and self._connection in writable:
            self._write_server(self._connection)
        if self._connection is not None and self._connection in readable:
            self._read_server(self._connection)
        if self._source in readable:
            self._read_client()
        late = self._connection is not None and not self._welcome and time.monotonic() - self._since > WELCOME_SECONDS
        if late:
            self._attempts = ATTEMPTS
            self._lost()

    def _finished(self) -> bool:
        """Return whether the input has ended and everything that can be answered is."""
        if self._ended is None:
            return False
        if not self._to_client and not self._waiting and not self._open and not self._unreadable:
            return True
        return time.monotonic() - self._ended > (DRAIN_SECONDS if self._welcome else WELCOME_SECONDS)

    def _read_client(self) -> None:
        try:
            chunk = os.read(self._source, CHUNK)
        except OSError:
            chunk = b""
        for line in self._from_client.cut(chunk):
            self._take(line)
        if not chunk:
            self._ended = time.monotonic()
            self._half_close()

    def _take(self, line: bytes) -> None:
        """Answer a client's line, pass it on, or let it wait for a server."""
        if line == TOO_LONG:
            self._refuse(None, _INVALID, f"Message longer than {MAX_LINE} bytes")
            return
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            message = None
        if not isinstance(message, dict):
            self._unreadable = True
            self._forward(line)
            return
        method, request_id = message.get("method"), message.get("id")
        answer = known_answer(message, self._tools, greeted=self._introduction is not None)
        if answer is not None:
            self._say({"jsonrpc": "2.0", "id": request_id, "result": answer})
            if method == "initialize":
                self._introduction = message
                self._introduced = False
                self._introduce()
        elif method == "notifications/initialized":
            self._initialized = True
            if self._introduced:
                self._send(line)
        elif method == "notifications/cancelled":
            self._cancel(message, line)
        elif is_id(request_id) and isinstance(method, str):
            self._forward(_Request(request_id, line, self._is_repeatable(method, message)))
        elif "id" in message and "method" in message:
            self._unreadable = True
            self._forward(line)
        elif self._welcome:
            self._send(line)
        elif self._connection is not None:
            self._waiting.append(line)

    def _is_repeatable(self, method: str, message: Json) -> bool:
        """Return whether a request does no harm when it is done twice: a search is at most logged twice."""
        if method != "tools/call":
            return True
        params = message.get("params")
        name = params.get("name") if isinstance(params, dict) else None
        tool = self._tools.get(name) if isinstance(name, str) else None
        return tool is None or tool.asks or tool.repeatable

    def _cancel(self, message: Json, line: bytes) -> None:
        """Forget a request that its client no longer waits for."""
        params = message.get("params")
        cancelled = params.get("requestId") if isinstance(params, dict) else None
        self._waiting = [each for each in self._waiting if isinstance(each, bytes) or each.id != cancelled]
        if is_id(cancelled) and self._open.pop(cancelled, None) is not None:
            self._send(line)

    def _forward(self, what: _Request | bytes) -> None:
        """Send to the server, once there is one."""
        if self._welcome:
            self._ask(what)
            return
        self._waiting.append(what)
        if self._connection is None:
            self._attempts = 0
            self._join()

    def _ask(self, what: _Request | bytes) -> None:
        if isinstance(what, bytes):
            self._send(what)
        else:
            self._open[what.id] = what
            self._send(what.line)

    def _send(self, line: bytes) -> None:
        self._to_server += line + b"\n"

    def _say(self, message: Json) -> None:
        self._to_client += json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8") + b"\n"

    def _refuse(self, request_id: str | int | None, code: int, said: str) -> None:
        self._say({"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": said}})

    def _write_client(self) -> None:
        try:
            written = os.write(self._sink, self._to_client[:_PIPE])
        except OSError:
            self._waiting, self._open, self._unreadable = [], {}, False
            self._to_client.clear()
            self._ended = time.monotonic()
            return
        del self._to_client[:written]

    def _write_server(self, connection: socket.socket) -> None:
        try:
            written = connection.send(self._to_server)
        except BlockingIOError:
            return
        except OSError:
            self._lost()
            return
        del self._to_server[:written]
        self._half_close()

    def _half_close(self) -> None:
        """Tell the server that nothing more comes, once everything is sent."""
        ready = self._ended is not None and self._welcome and not self._to_server and not self._waiting
        if ready and self._connection is not None:
            with suppress(OSError):
                self._connection.shutdown(socket.SHUT_WR)

    def _read_server(self, connection: socket.socket) -> None:
        try:
            chunk = connection.recv(CHUNK)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        if not chunk:
            self._lost()
            return
        for line in self._from_server.cut(chunk):
            self._hear(line)

    def _hear(self, line: bytes) -> None:
        """Take a line of the server."""
        if not self._welcome:
            self._welcomed(line)
            return
        with suppress(ValueError, RecursionError):
            message = json.loads(line)
            if isinstance(message, dict) and "method" not in message:
                if message.get("id") == _OWN_ID:
                    return
                answered = message.get("id")
                if is_id(answered):
                    self._open.pop(answered, None)
        self._to_client += line + b"\n"

    def _welcomed(self, line: bytes) -> None:
        answer = json.loads(line)
        if answer.get("welcome") is not True:
            self._attempts = ATTEMPTS
            self._lost(str(answer.get("refused") or ""))
            return
        self._welcome, self._attempts = True, 0
        self._introduce()
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            self._ask(each)
        self._half_close()

    def _introduce(self) -> None:
        """Tell the server who the client is, as the client has told the relay."""
        if self._introduction is None or not self._welcome:
            return
        self._send(json.dumps({**self._introduction, "id": _OWN_ID}).encode("ascii"))
        self._introduced = True
        if self._initialized:
            self._send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')

    def _begin(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        self._connection, self._since = connection, time.monotonic()
        self._welcome = self._introduced = False
        self._from_server = Lines()
        self._to_server = bytearray(self._greeting.encoded())

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection, self._welcome, self._introduced = None, False, False
        self._to_server.clear()

    def _lost(self, said: str = "") -> None:
        """Go on without this connection: a request that was sent is sent again, or answered with an error."""
        welcomed, self._unreadable = self._welcome, False
        self._drop()
        sent, self._open = [*self._open.values()], {}
        for each in sent:
            if not each.repeatable:
                self._refuse(each.id, _LOST, _UNKNOWN)
        again: list[_Request | bytes] = [each._replace(repeatable=False) for each in sent if each.repeatable]
        self._waiting = again + self._waiting
        self._attempts = 0 if welcomed else self._attempts + 1
        if self._attempts >= ATTEMPTS:
            self._give_up(said)
        elif self._waiting:
            self._join()

    def _join(self) -> None:
        try:
            connection = join(self._place, start=True)
        except OSError as error:
            self._give_up(str(error))
            return
        assert connection is not None
        self._begin(connection)

    def _give_up(self, said: str) -> None:
        """Answer what waits with an error; the next request tries again."""
        self._drop()
        why = said or f"it ended while it started; {self._place.log} may say why"
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            if isinstance(each, _Request):
                self._refuse(each.id, _LOST, f"The memory server cannot be reached: {why}. Nothing was done.")


_UNKNOWN = (
    "The memory server ended before it answered, and it is not known whether this was done. "
    "Look whether it was, then call again if need be."
)


def relayed(
    source: int, sink: int, place: Place, greeting: Greeting, tools: Mapping[str, ToolSpec], connection: socket.socket
) -> None:
    """Be the relay of one client until it is gone."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _leave)
    Relay(source, sink, place, greeting, tools, connection).run()


def _leave(_: int, __: FrameType | None) -> NoReturn:
    sys.exit(0)


def _watched(parent: int) -> int | None:
    """Return a descriptor that becomes readable when the process ends; None where there is no such thing."""
    opener = getattr(os, "pidfd_open", None)
    if opener is None:
        return None
    with suppress(OSError):
        return int(opener(parent))
    return None
