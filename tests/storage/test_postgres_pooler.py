"""Banks in PostgreSQL behind PgBouncer, which lends a connection for one transaction at a time."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from many_servers import wait_until
from postgres_servers import UNPRIVILEGED, shared_server
from promises import promise
from reasoningbank.storage import open_storage
from reasoningbank.storage.store import Store
from reasoningbank.types.scope import Scope
from storage.contract.base import EVERYTHING, fill, indexed, lesson

PGBOUNCER = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
LENT = 2
"""Connections to the server, for all clients together."""
WRITERS = 6
EACH = 12


@pytest.fixture
def pooled() -> Iterator[str]:
    """The URL of a new database behind PgBouncer."""
    if PGBOUNCER is None:
        pytest.skip("pgbouncer is not installed")
    server = shared_server()
    folder = server.folder / "pooler"
    folder.mkdir(exist_ok=True)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with server.place() as url:
        database = url.rpartition("/")[2].partition("?")[0]
        (folder / "users").write_text(f'"{server.role()}" ""\n')
        settings = (
            f"[databases]\n{database} = host={server.folder} port=5432\n[pgbouncer]\npool_mode = transaction\n"
            f"listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = trust\n"
            f"auth_file = {folder}/users\nlogfile = {folder}/log\npidfile = {folder}/pid\n"
            f"default_pool_size = {LENT}\nmax_client_conn = 100\n"
        )
        (folder / "ini").write_text(settings)
        user = UNPRIVILEGED if os.geteuid() == 0 else None
        if user:
            for path in (folder, folder / "users", folder / "ini"):
                shutil.chown(path, user)
        process = subprocess.Popen(
            [PGBOUNCER, "-q", str(folder / "ini")], user=user, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            wait_until(lambda: _listens(port))
            yield f"postgresql://{server.role()}@127.0.0.1:{port}/{database}"
        finally:
            process.terminate()
            process.wait(timeout=20)


def _listens(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def opened(url: str, scope: Scope) -> Store:
    """The store of a scope."""
    return open_storage(url, home=Path("unused")).open(scope)


@promise(
    "postgres:pooler",
    "Behind PgBouncer in its mode `transaction`, with fewer connections than users, every acknowledged write is there, "
    "searches find it, and no tenant sees another one's.",
    source="issue 15 PostgreSQL",
)
def test_banks_work_behind_a_pooler_of_transactions(pooled: str) -> None:
    scopes = [Scope(tenant=f"tenant-{number}", project=f"shop-{number}") for number in range(3)]
    failures: list[BaseException] = []

    def work(worker: int) -> None:
        scope = scopes[worker % len(scopes)]
        try:
            with closing(opened(pooled, scope)) as store:
                for number in range(EACH):
                    memory = replace(lesson(f"w{worker}-{number}"), project=scope.project)
                    fill(store, [(memory, indexed(f"kiwi {scope.tenant}"))])
                    found = store.search.matching("kiwi", EVERYTHING, 99)
                    assert memory.id in {hit.id for hit in found.hits}
                    assert memory.id in store.memories.many([memory.id])
        except BaseException as error:
            failures.append(error)
            raise

    workers = [threading.Thread(target=work, args=(number,)) for number in range(WRITERS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert failures == []
    for position, scope in enumerate(scopes):
        with closing(opened(pooled, scope)) as store:
            kept = {memory.id for memory in store.memories.page(EVERYTHING, limit=0, offset=0)}
            writers = range(position, WRITERS, len(scopes))
            assert kept == {f"w{worker}-{number}" for worker in writers for number in range(EACH)}
            assert store.check().problems == ()
