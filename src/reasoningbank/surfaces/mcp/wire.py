"""Two descriptors as a message channel that never holds the process up.

Lines are read and written by daemon threads: the process can leave at any time, also while a read waits.
"""

from __future__ import annotations

import asyncio
import json
import os
import queue
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio
import mcp.types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp.types.jsonrpc import JSONRPCMessage, jsonrpc_message_adapter

MAX_LINE = 4 * 2**20
"""The longest message in bytes; a longer one is refused and skipped."""
DRAIN_SECONDS = 10.0
"""How long calls that run when the input ends may still take to be answered."""
_AHEAD = 16
_CHUNK = 2**16
_TOO_LONG = b""
"""Stands for a line that was longer than allowed; empty lines themselves are skipped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """The two streams a protocol server runs on."""

    incoming: MemoryObjectReceiveStream[SessionMessage | Exception]
    outgoing: MemoryObjectSendStream[SessionMessage]


@asynccontextmanager
async def open_channel(source: int, sink: int) -> AsyncIterator[Channel]:
    """Messages from one descriptor, answers to the other.

    When the input ends, calls that still run are answered first. A line that is no message is answered with a
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

    threading.Thread(target=_read, args=(source, deliver), name="reasoningbank-input", daemon=True).start()
    async with anyio.create_task_group() as group:
        group.start_soon(receive)
        group.start_soon(answer)
        yield Channel(incoming=incoming, outgoing=outgoing)
        group.cancel_scope.cancel()


class _Writer:
    """Writes one message after the other; a slow reader slows the answers down, not the process."""

    def __init__(self, sink: int) -> None:
        self._sink = sink
        self._queue: queue.SimpleQueue[tuple[bytes, Future[None]]] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="reasoningbank-output", daemon=True).start()

    async def write(self, message: JSONRPCMessage) -> None:
        """Returns when the message has left.

        Raises:
            OSError: When nobody reads any more.
        """
        written: Future[None] = Future()
        line = message.model_dump_json(by_alias=True, exclude_unset=True) + "\n"
        self._queue.put((line.encode("utf-8"), written))
        await asyncio.wrap_future(written)

    def _run(self) -> None:
        while True:
            rest, written = self._queue.get()
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
        """Notes a request; a cancelled one waits for nothing."""
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
        """Notes an answer."""
        if isinstance(message, types.JSONRPCResponse | types.JSONRPCError) and message.id is not None:
            self._ids.discard(message.id)
            self._changed.set()

    async def settled(self) -> None:
        """Returns when every request is answered."""
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
    """Lines without their end; a line that is too long comes as ``_TOO_LONG``."""
    held = bytearray()
    skipping = False
    while True:
        try:
            chunk = os.read(source, _CHUNK)
        except OSError:
            chunk = b""
        *complete, last = chunk.split(b"\n")
        for part in complete:
            held += part
            line = bytes(held)
            held.clear()
            if skipping or len(line) > MAX_LINE:
                skipping = False
                yield _TOO_LONG
            elif line.strip():
                yield line
        held += last
        if len(held) > MAX_LINE:
            held.clear()
            skipping = True
        if not chunk:
            if held.strip():
                yield bytes(held)
            return


def _message(line: bytes) -> JSONRPCMessage | None:
    """The message of a line; an error to answer with when it is none; None when there is nobody to answer."""
    if line == _TOO_LONG:
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
    return _refusal(types.INVALID_REQUEST, "Not one JSON-RPC 2.0 message", known)


def _refusal(code: int, message: str, request_id: str | int | None) -> types.JSONRPCError:
    return types.JSONRPCError(jsonrpc="2.0", id=request_id, error=types.ErrorData(code=code, message=message))
