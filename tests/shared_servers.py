"""Shared servers of the tests: in a short directory of their own, with times of a test, ended at its end."""

from __future__ import annotations

import os
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import anyio.from_thread
import anyio.lowlevel

from reasoningbank.integrations.shared_server import Place, locked, place_of
from reasoningbank.settings import Settings
from reasoningbank.testing import HashingEmbedder
from reasoningbank.types.ports import Embedder


@contextmanager
def run_directory() -> Iterator[Path]:
    """A directory for sockets with a short path; servers that still run there are ended with it."""
    with tempfile.TemporaryDirectory(prefix="rb-", ignore_cleanup_errors=True) as folder:
        path = Path(folder)
        try:
            yield path
        finally:
            for pid in servers_in(path):
                os.kill(pid, signal.SIGKILL)
            deadline = time.monotonic() + 10
            while servers_in(path) and time.monotonic() < deadline:
                time.sleep(0.05)


def servers_in(folder: Path) -> list[int]:
    """The servers that have a file open in the directory, running or starting; a hook that looks there is none."""
    found = []
    for process in Path("/proc").iterdir():
        if not process.name.isdigit() or int(process.name) == os.getpid():
            continue
        if _is_server(process) and any(name.startswith(f"{folder}/") for name in _opened(process)):
            found.append(int(process.name))
    return found


def _is_server(process: Path) -> bool:
    try:
        return b"reasoningbank.mcp.shared" in (process / "cmdline").read_bytes()
    except OSError:
        return False


def _opened(process: Path) -> Iterator[str]:
    """The files that a process has open; it may open and close some meanwhile, and end."""
    try:
        descriptors = [*(process / "fd").iterdir()]
    except OSError:
        return
    for each in descriptors:
        try:
            yield str(each.readlink())
        except OSError:
            continue


@dataclass
class Running:
    """A shared server in a thread of this process."""

    settings: Settings
    place: Place
    embedder: Embedder = field(default_factory=HashingEmbedder)

    def __post_init__(self) -> None:
        from reasoningbank.mcp.shared import SharedServer

        # A process that was just killed shows no open file any more, and has its lock for a moment longer.
        self.place.folder.mkdir(mode=0o700, exist_ok=True)
        deadline = time.monotonic() + 10
        while (lock := locked(self.place.lock)) is None:
            assert time.monotonic() < deadline, "another server has the place"
            time.sleep(0.02)
        self.place.socket.unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(os.fspath(self.place.socket))
        self.place.socket.chmod(0o600)
        listener.listen(16)
        self._server = SharedServer(self.settings, listener, self.place, lock, embedder=self.embedder)
        self._token: anyio.lowlevel.EventLoopToken | None = None
        self._ready = threading.Event()
        self._thread = threading.Thread(target=anyio.run, args=(self._serve,), daemon=True)
        self._thread.start()
        assert self._ready.wait(10)

    async def _serve(self) -> None:
        self._token = anyio.lowlevel.current_token()
        self._ready.set()
        await self._server.serve()

    def stop(self) -> None:
        """Ends it and waits for its end."""
        if self._thread.is_alive():
            anyio.from_thread.run_sync(self._server.stop, token=self._token)
        self._thread.join(10)
        assert not self._thread.is_alive()


def running(settings: Settings, embedder: Embedder | None = None) -> Running:
    """A shared server for these settings."""
    place = place_of(settings)
    assert place is not None
    return Running(settings, place, embedder or HashingEmbedder())


def end_servers_at(home: Path) -> None:
    """Ends the shared servers of a user with this home directory, as clients start them that pass on no settings."""
    for process in Path("/proc").iterdir():
        try:
            words, variables = ((process / name).read_bytes().split(b"\0") for name in ("cmdline", "environ"))
        except OSError:
            continue
        ours = any(b"reasoningbank.mcp.shared" in word for word in words)
        if ours and f"HOME={home}".encode() in variables:
            os.kill(int(process.name), signal.SIGTERM)
