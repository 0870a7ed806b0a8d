"""A network between servers and PostgreSQL that stalls, and one that is cut: a proxy of the test stands for it."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from postgres_servers import shared_server
from postgres_writers import writers_at_work
from promises import promise
from reasoningbank.storage import open_storage
from reasoningbank.types.scope import Scope

SCOPE = Scope(tenant="acme", project="shop")
CUT_SECONDS = 10.0


class Network:
    """Carries bytes between a port of this machine and the server's socket, unless it is stalled or cut."""

    def __init__(self, target: Path) -> None:
        self._target = str(target)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._flows = threading.Event()
        self._flows.set()
        self._cut = False
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._start(self._accept)

    def stall(self) -> None:
        """Carries nothing, and says so to nobody."""
        self._flows.clear()

    def flow(self) -> None:
        """Goes on."""
        self._cut = False
        self._flows.set()

    def cut(self) -> None:
        """Ends every connection, and each new one at once."""
        self._cut = True
        self._end()

    def close(self) -> None:
        """Ends everything."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._flows.set()
        self._end()
        for thread in self._threads:
            thread.join()
        for each in (self._listener, *self._open):
            each.close()

    def _start(self, target: Callable[..., None], *arguments: socket.socket) -> None:
        self._threads.append(threading.Thread(target=target, args=arguments, daemon=True))
        self._threads[-1].start()

    def _end(self) -> None:
        for each in list(self._open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if self._cut:
                    client.close()
                    continue
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._target)
                self._open += [client, server]
                self._start(self._carry, client, server)
                self._start(self._carry, server, client)

    def _carry(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while part := source.recv(65_536):
                self._flows.wait()
                target.sendall(part)
        for each in (source, target):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def network() -> Iterator[tuple[Network, str]]:
    """A network before the server, and the URL of a new database through it."""
    server = shared_server()
    with server.place() as url:
        carried = Network(server.folder / ".s.PGSQL.5432")
        try:
            database = url.rpartition("/")[2].partition("?")[0]
            yield carried, f"postgresql://{server.role()}@127.0.0.1:{carried.port}/{database}"
        finally:
            carried.close()


@promise(
    "postgres:network-cut",
    "When the network to PostgreSQL stalls or is cut for ten seconds, no acknowledged write is lost, writers hear of a "
    "cut by StoreUnavailable, and go on by themselves.",
    source="issue 15 Faults",
)
def test_a_network_that_is_cut_loses_no_acknowledged_write(network: tuple[Network, str]) -> None:
    carried, url = network
    with closing(open_storage(url, home=Path("unused")).open(SCOPE)) as store:
        with writers_at_work(store, 3) as writers:
            for fault, seconds in ((carried.stall, 2.0), (carried.cut, CUT_SECONDS)):
                writers.wait_for_more(6)
                assert fault == carried.cut or writers.refused == []
                fault()
                time.sleep(seconds)
                carried.flow()
            writers.wait_for_more(6)
        assert writers.refused
        writers.check_nothing_is_lost()
