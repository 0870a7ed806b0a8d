"""The one server that a user's windows, hooks and commands share; started by whoever needs it first.

Every connection begins with a greeting that says for whom it speaks. A client's connection is one session of the
protocol with a caller of its own; a hook's or a command's is one question and one answer. The server ends by itself
when nobody has been connected for a while, and unloads a local embedding model before that.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from anyio import CapacityLimiter, to_thread

from reasoningbank.client_sessions import Connection, client_process, principal_of, session_of
from reasoningbank.embedding import configured_embedder
from reasoningbank.errors import BankError
from reasoningbank.integrations.end import leave_after
from reasoningbank.integrations.shared_server import (
    Greeting,
    Place,
    clear,
    greeting_of,
    of_the_server,
    peer_is_own,
    peer_of,
    sweep,
)
from reasoningbank.llm.run_folders import remove_left_over
from reasoningbank.mcp.banks import Banks, UsualProject
from reasoningbank.mcp.calls import Caller
from reasoningbank.mcp.hook_questions import Answering
from reasoningbank.mcp.server import AT_ONCE, RequestContext, build_server
from reasoningbank.mcp.stdio import open_channel
from reasoningbank.mcp.tools import Tools, WarmUp
from reasoningbank.processes import ancestors
from reasoningbank.settings import load_settings
from reasoningbank.types.memory import new_session
from reasoningbank.types.scope import Membership

if TYPE_CHECKING:
    from reasoningbank.settings import Settings
    from reasoningbank.types.ports import Embedder

GREETING_SECONDS = 5.0
"""How long a connection may take to say who speaks."""
MAX_GREETING = 1_000_000
_CHUNK = 65_536
_CLOSE_SECONDS = 5.0

_log = logging.getLogger(__name__)


class SharedServer:
    """Serves every connection to a socket until nobody has been connected for a while, or it is told to stop.

    Args:
        settings: The configuration; whose banks they are, and where, is what each greeting says.
        listener: The socket, listening.
        place: Where the socket is.
        lock: A descriptor that holds the lock of the place; closed, and the socket removed, at the end.
        embedder: Instead of the configured one, for tests.
    """

    def __init__(
        self, settings: Settings, listener: socket.socket, place: Place, lock: int, *, embedder: Embedder | None = None
    ) -> None:
        self._settings = of_the_server(settings)
        self._listener = listener
        self._place = place
        self._lock: int | None = lock
        self._embedder = embedder
        self._keepers: dict[str, tuple[Banks, Tools]] = {}
        self._connections = 0
        self._quiet_since = time.monotonic()
        self._stop: anyio.Event | None = None
        self._file = place.socket.stat()

    def run(self) -> None:
        """Serve until the end."""
        anyio.run(self.serve)

    async def serve(self) -> None:
        """Serve until the end, in a running event loop."""
        self._stop = anyio.Event()
        self._listener.setblocking(False)
        limiter = CapacityLimiter(AT_ONCE)
        try:
            async with anyio.create_task_group() as group:
                if threading.current_thread() is threading.main_thread():
                    group.start_soon(self._stop_on_signal)
                group.start_soon(self._watch)
                group.start_soon(self._accept, limiter)
                await self._stop.wait()
                self._leave()
                group.cancel_scope.cancel()
        finally:
            self._leave()
            for _, keeper in self._keepers.values():
                keeper.close()

    @property
    def busy(self) -> bool:
        """Return whether background work is still under way."""
        return any(keeper.busy for _, keeper in self._keepers.values())

    def stop(self) -> None:
        """End the server; called in its event loop."""
        if self._stop is not None:
            self._stop.set()

    def _leave(self) -> None:
        """Make room for the next server: who connects from now on starts it."""
        if self._lock is None:
            return
        if self._own():
            clear(self._place)
        self._listener.close()
        os.close(self._lock)
        self._lock = None
        sweep(self._place.folder)

    def _own(self) -> bool:
        """Return whether the socket is still where it was made: directories for temporary files are swept."""
        try:
            return os.path.samestat(self._place.socket.lstat(), self._file)
        except OSError:
            return False

    async def _stop_on_signal(self) -> None:
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            async for _ in signals:
                leave_after()
                self.stop()

    async def _watch(self) -> None:
        """Unload the model and end the server when they have not been used for long enough.

        A job in hand is finished first: its lease would keep the next worker from it.
        """
        idle, model_idle = self._settings.idle_minutes * 60.0, self._settings.model_idle_minutes * 60.0
        while True:
            await anyio.sleep(min(15.0, idle / 4, model_idle / 4))
            unload = getattr(self._embedder, "unload_unused", None)
            if unload is not None and await to_thread.run_sync(unload, model_idle):
                _give_memory_back()
            if self._connections or (self._own() and any(tools.working for _, tools in self._keepers.values())):
                continue
            if not self._own() or time.monotonic() - self._quiet_since > idle:
                self.stop()

    async def _accept(self, limiter: CapacityLimiter) -> None:
        loop = asyncio.get_running_loop()
        async with anyio.create_task_group() as group:
            while True:
                try:
                    connection, _ = await loop.sock_accept(self._listener)
                except OSError as error:
                    _log.warning("no connection could be accepted: %s", error.strerror)
                    await anyio.sleep(0.1)
                    continue
                self._connections += 1
                group.start_soon(self._connected, connection, limiter)

    async def _connected(self, connection: socket.socket, limiter: CapacityLimiter) -> None:
        """Serve one connection; what goes wrong in it is no other's business."""
        try:
            if not peer_is_own(connection):
                _log.warning("a connection of another user was refused")
                return
            with suppress(OSError, TimeoutError):
                await self._serve_one(connection, limiter)
        except Exception:  # noqa: BLE001 - one connection's defect must not end the others
            _log.exception("a connection failed")
        finally:
            connection.close()
            self._connections -= 1
            self._quiet_since = time.monotonic()

    async def _serve_one(self, connection: socket.socket, limiter: CapacityLimiter) -> None:
        with anyio.fail_after(GREETING_SECONDS):
            line = await _line(connection)
        loop = asyncio.get_running_loop()
        try:
            greeting = greeting_of(line)
            banks, keeper = self._keeper(greeting)
            keeper.look_after(greeting.tenant)
            keeper.work()
            if greeting.kind != "mcp":
                starter, note = _starter(connection, greeting), greeting.kind != "command"
                speaker = principal_of(self._settings.home, starter, url=greeting.url, note=note)
                answering = Answering(banks, self._settings, speaker, client_process(starter))
                answer = await to_thread.run_sync(answering.answer, greeting, limiter=limiter)
                await loop.sock_sendall(connection, json.dumps(answer).encode("ascii") + b"\n")
                return
            tools = Tools(banks, profile=greeting.profile)
        except BankError as error:
            await loop.sock_sendall(connection, json.dumps({"refused": error.advice}).encode("ascii") + b"\n")
            return
        await loop.sock_sendall(connection, b'{"welcome":true}\n')
        await self._speak(connection, tools, greeting, limiter)

    async def _speak(
        self, connection: socket.socket, tools: Tools, greeting: Greeting, limiter: CapacityLimiter
    ) -> None:
        """Speak the protocol on a connection until it ends."""
        client = client_process(greeting.parent.pid)
        starter = _starter(connection, greeting)
        held = Connection(self._settings.home, starter, greeting.url)
        held.note()
        speaker = principal_of(self._settings.home, starter, url=greeting.url)
        caller = replace(_caller(greeting), principal=speaker)

        def who(_: RequestContext) -> Caller:
            held.note()
            return replace(caller, session=session_of(self._settings.home, client) or caller.session)

        warm_up = WarmUp(tools)
        warm_up.start(caller)
        server = build_server(tools, who, limiter=limiter)
        async with _descriptors(connection) as (source, sink):
            async with open_channel(source, sink) as channel:
                await server.run(channel.incoming, channel.outgoing, server.create_initialization_options())
            with suppress(OSError), anyio.CancelScope(shield=True):
                connection.shutdown(socket.SHUT_RDWR)
                await to_thread.run_sync(channel.joined, _CLOSE_SECONDS)

    def _keeper(self, greeting: Greeting) -> tuple[Banks, Tools]:
        """Return the banks of a place, and what works in them in the background.

        All of them share one embedder. One that cannot be made is the error of each call that needs it.
        """
        if greeting.url not in self._keepers:
            if self._embedder is None:
                with suppress(BankError):
                    self._embedder = configured_embedder(self._settings)
            banks = Banks(self._settings, url=greeting.url or None, project="", embedder=self._embedder)
            self._keepers[greeting.url] = banks, Tools(banks)
        return self._keepers[greeting.url]


@asynccontextmanager
async def _descriptors(connection: socket.socket) -> AsyncIterator[tuple[int, int]]:
    """Give descriptors of the connection that threads may read and write while they wait; closed at the end."""
    connection.setblocking(True)
    source, sink = os.dup(connection.fileno()), os.dup(connection.fileno())
    try:
        yield source, sink
    finally:
        os.close(source)
        os.close(sink)


async def _line(connection: socket.socket) -> bytes:
    """Return the first line of a connection; nothing follows it before it is answered."""
    loop, found = asyncio.get_running_loop(), bytearray()
    connection.setblocking(False)
    while len(found) <= MAX_GREETING and not found.endswith(b"\n"):
        part = await loop.sock_recv(connection, _CHUNK)
        if not part:
            break
        found += part
    return bytes(found)


def _starter(connection: socket.socket, greeting: Greeting) -> int:
    """Return the process that started who speaks; the system's word for it counts, where it gives one."""
    peer = peer_of(connection)
    if peer is None:
        return greeting.parent.pid
    above = [process.pid for process, _ in ancestors(peer)]
    if greeting.parent.pid in above:
        return greeting.parent.pid
    return above[1] if len(above) > 1 else peer


def _caller(greeting: Greeting) -> Caller:
    """Return who calls: the connection, never what a call says."""
    return Caller(
        tenant=greeting.tenant,
        session=new_session(),
        membership=Membership(team=greeting.team, org=greeting.org),
        usual=UsualProject(greeting.project, Path(greeting.directory or "/")),
    )


def _give_memory_back() -> None:
    """Let the C library give freed memory back to the system, where it can."""
    import ctypes
    import gc

    gc.collect()
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def main() -> None:
    """Be the server: the lock, the socket, the working directory and the name are in the arguments."""
    lock, listening, directory, name = sys.argv[1:5]
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    descriptor, listener = int(lock), socket.socket(fileno=int(listening))
    os.set_inheritable(descriptor, False)
    listener.set_inheritable(False)
    os.chdir(directory)
    settings = load_settings()
    remove_left_over(settings.home)
    path = Path(listener.getsockname())
    sweep(path.parent)
    server = SharedServer(settings, listener, Place(path.parent, name, directory), descriptor)
    server.run()
    sys.stderr.flush()
    os._exit(0)
