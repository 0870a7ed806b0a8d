"""The server of one client over standard input and output; it lives exactly as long as its client.

Meanwhile descriptor 1 leads to standard error and descriptor 0 to nothing, so that a stray print, of ours, of a library
or of a child process, never reaches the client.

Lines are read and written by daemon threads: the process can leave at any time, also while a read waits.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import anyio
import mcp.types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp.types.jsonrpc import JSONRPCMessage, jsonrpc_message_adapter

from reasoningbank.client_sessions import Connection, client_process, principal_of, session_of
from reasoningbank.integrations.end import leave_after
from reasoningbank.mcp.banks import Banks
from reasoningbank.mcp.calls import Caller
from reasoningbank.mcp.lines import CHUNK, MAX_LINE, TOO_LONG, Lines
from reasoningbank.mcp.server import RequestContext, build_server
from reasoningbank.mcp.tools import Tools, WarmUp
from reasoningbank.settings import local_tenant
from reasoningbank.system import is_running
from reasoningbank.types.memory import new_session
from reasoningbank.types.scope import Membership

if TYPE_CHECKING:
    from mcp.server.lowlevel.server import Server

    from reasoningbank.settings import Settings


DRAIN_SECONDS = 10.0
"""How long calls that run when the input ends may still take to be answered."""
_AHEAD = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """The two streams a protocol server runs on."""

    incoming: MemoryObjectReceiveStream[SessionMessage | Exception]
    outgoing: MemoryObjectSendStream[SessionMessage]
    threads: tuple[threading.Thread, threading.Thread]

    def joined(self, seconds: float) -> bool:
        """Return whether its threads have ended within so many seconds, so that the descriptors may be closed."""
        for thread in self.threads:
            thread.join(seconds)
        return not any(thread.is_alive() for thread in self.threads)


@asynccontextmanager
async def open_channel(source: int, sink: int) -> AsyncIterator[Channel]:
    """Yield messages from one descriptor, answers to the other.

    When the input ends, calls that still run are answered first. A line that is not a message is answered with a
    JSON-RPC error as far as it says whom to answer, and the channel goes on. When the output is gone, the block is
    cancelled.
    """
    loop = asyncio.get_running_loop()
    arrivals, lines = anyio.create_memory_object_stream[bytes](_AHEAD)
    to_server, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, from_server = anyio.create_memory_object_stream[SessionMessage](0)
    writer = _Writer(sink)
    open_calls = _OpenCalls()

    def deliver(line: bytes | None) -> bool:
        step = arrivals.send(line) if line is not None else arrivals.aclose()
        try:
            asyncio.run_coroutine_threadsafe(step, loop).result()
        except (RuntimeError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            step.close()
            return False
        return True

    async def receive() -> None:
        async with to_server, lines:
            async for line in lines:
                message = _message(line)
                if isinstance(message, types.JSONRPCError):
                    await writer.write(message)
                elif message is not None:
                    open_calls.received(message)
                    await to_server.send(SessionMessage(message))
            with anyio.move_on_after(DRAIN_SECONDS):
                await open_calls.settled()

    async def answer() -> None:
        async with from_server:
            async for item in from_server:
                try:
                    await writer.write(item.message)
                except OSError:
                    group.cancel_scope.cancel()
                open_calls.answered(item.message)

    reader = threading.Thread(target=_read, args=(source, deliver), name="reasoningbank-input", daemon=True)
    reader.start()
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(receive)
            group.start_soon(answer)
            yield Channel(incoming=incoming, outgoing=outgoing, threads=(reader, writer.thread))
            group.cancel_scope.cancel()
    finally:
        writer.stop()


class _Writer:
    """Writes one message after the other; a slow reader slows the answers down, not the process."""

    def __init__(self, sink: int) -> None:
        self._sink = sink
        self._queue: queue.SimpleQueue[tuple[bytes, Future[None]] | None] = queue.SimpleQueue()
        self.thread = threading.Thread(target=self._run, name="reasoningbank-output", daemon=True)
        self.thread.start()

    def stop(self) -> None:
        """End the thread once everything before has left."""
        self._queue.put(None)

    async def write(self, message: JSONRPCMessage) -> None:
        """Return when the message has left.

        Raises:
            OSError: When nobody reads any more.
        """
        written: Future[None] = Future()
        line = message.model_dump_json(by_alias=True, exclude_unset=True) + "\n"
        self._queue.put((line.encode("utf-8"), written))
        await asyncio.wrap_future(written)

    def _run(self) -> None:
        while (item := self._queue.get()) is not None:
            rest, written = item
            try:
                while rest:
                    rest = rest[os.write(self._sink, rest) :]
            except OSError as error:
                _settle(written, error)
            else:
                _settle(written, None)


class _OpenCalls:
    """Which requests still wait for their answer."""

    def __init__(self) -> None:
        self._ids: set[str | int] = set()
        self._changed = anyio.Event()

    def received(self, message: JSONRPCMessage) -> None:
        """Note a request; a cancelled one waits for nothing."""
        match message:
            case types.JSONRPCRequest():
                self._ids.add(message.id)
            case types.JSONRPCNotification(
                method="notifications/cancelled", params={"requestId": str() | int() as id_}
            ):
                self._ids.discard(id_)
            case _:
                pass

    def answered(self, message: JSONRPCMessage) -> None:
        """Note an answer."""
        if isinstance(message, types.JSONRPCResponse | types.JSONRPCError) and message.id is not None:
            self._ids.discard(message.id)
            self._changed.set()

    async def settled(self) -> None:
        """Return when every request is answered."""
        while self._ids:
            self._changed = anyio.Event()
            await self._changed.wait()


def _settle(written: Future[None], error: OSError | None) -> None:
    if not written.set_running_or_notify_cancel():
        return
    if error is None:
        written.set_result(None)
    else:
        written.set_exception(error)


def _read(source: int, deliver: Callable[[bytes | None], bool]) -> None:
    for line in _lines(source):
        if not deliver(line):
            return
    deliver(None)


def _lines(source: int) -> Iterator[bytes]:
    """Yield lines without their end; a line that is too long comes as ``TOO_LONG``."""
    lines = Lines()
    while True:
        try:
            chunk = os.read(source, CHUNK)
        except OSError:
            chunk = b""
        yield from lines.cut(chunk)
        if not chunk:
            return


def _message(line: bytes) -> JSONRPCMessage | None:
    """Return the message of a line; an error to answer with when it is none; None when there is nobody to answer."""
    if line == TOO_LONG:
        return _refusal(types.INVALID_REQUEST, f"Message longer than {MAX_LINE} bytes", None)
    try:
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        pass
    try:
        sent = json.loads(line)
    except (ValueError, RecursionError):
        return _refusal(types.PARSE_ERROR, "Not JSON", None)
    if isinstance(sent, dict) and ("id" not in sent or "method" not in sent):
        return None
    request_id = sent.get("id") if isinstance(sent, dict) else None
    known = request_id if isinstance(request_id, str | int) and not isinstance(request_id, bool) else None
    if _has_halves(sent):
        return _refusal(types.INVALID_PARAMS, _HALVES, known)
    return _refusal(types.INVALID_REQUEST, "Not one JSON-RPC 2.0 message", known)


_HALVES = "A text of the message is not valid Unicode: send whole characters, not halves of surrogate pairs"


def _has_halves(sent: object) -> bool:
    try:
        json.dumps(sent, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def _refusal(code: int, message: str, request_id: str | int | None) -> types.JSONRPCError:
    return types.JSONRPCError(jsonrpc="2.0", id=request_id, error=types.ErrorData(code=code, message=message))


PARENT_POLL_SECONDS = 0.25
LEAVE_SECONDS = 1.5
"""How long running calls may hold up a server that was told to stop or whose parent is gone."""

_log = logging.getLogger(__name__)


def run(
    settings: Settings,
    source: int,
    sink: int,
    *,
    parent: int,
    url: str | None,
    tenant: str | None,
    project: str | None,
    profile: str | None = None,
    membership: Membership | None = None,
) -> None:
    """Serve until the input ends, the parent is gone, or SIGTERM or SIGINT arrives.

    Args:
        settings: The configuration.
        source: The descriptor to read from.
        sink: The descriptor to write to.
        parent: The process whose end is the server's end.
        url: Instead of the configured place of the banks.
        tenant: Instead of the configured tenant or the local user.
        project: Instead of the configured project or the working directory's.
        profile: Instead of the configured profile.
        membership: Instead of the configured team and org.
    """
    banks = Banks(settings, url=url, project=project)
    tools = Tools(banks, profile=settings.profile if profile is None else profile)
    place = url or settings.url
    client, held = client_process(parent), Connection(settings.home, parent, place)
    held.note()  # before it is asked who speaks: what is noted tells it
    caller = Caller(
        tenant=tenant if tenant is not None else settings.tenant or local_tenant(),
        session=new_session(),
        membership=Membership(team=settings.team, org=settings.org) if membership is None else membership,
        principal=principal_of(settings.home, parent, url=place),
    )
    tools.look_after(caller.tenant)
    warm_up = WarmUp(tools)

    def who(_: RequestContext) -> Caller:
        held.note()
        return replace(caller, session=session_of(settings.home, client) or caller.session)

    server = build_server(tools, who, on_arrival=warm_up.start)
    threading.Thread(target=_watch, args=(parent,), name="reasoningbank-parent", daemon=True).start()
    anyio.run(_serve, server, source, sink)
    if warm_up.busy or tools.busy:
        sys.stderr.flush()
        os._exit(0)


async def _serve(server: Server[None], source: int, sink: int) -> None:
    async with anyio.create_task_group() as group:
        if os.name == "posix":
            group.start_soon(_stop_on_signal, group.cancel_scope)
        async with open_channel(source, sink) as channel:
            await server.run(channel.incoming, channel.outgoing, server.create_initialization_options())
        group.cancel_scope.cancel()


async def _stop_on_signal(scope: anyio.CancelScope) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            leave_after(LEAVE_SECONDS)
            scope.cancel()
            return


def _watch(parent: int) -> None:
    """Stop the process when its parent is gone: clients that crash leave the pipe to others open."""
    while os.getppid() == parent and is_running(parent):  # Windows tells the number of a parent that is gone
        time.sleep(PARENT_POLL_SECONDS)
    _log.warning("the client is gone; leaving")
    os.kill(os.getpid(), signal.SIGTERM)
