"""Faults of the servers behind a bank: a full disk, two upgrades at once, and an index whose network is cut."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from postgres_servers import PostgresServer, shared_server
from promises import promise
from reasoningbank.errors import BankError, StoreError, StoreFull
from reasoningbank.storage import open_storage, schema
from reasoningbank.storage.indexed import Beside
from reasoningbank.storage.postgres_schema import prepare_database
from reasoningbank.storage.store import Store
from reasoningbank.types.recall import CONTENT_LEG
from reasoningbank.types.scope import Scope
from storage.contract.base import EAST, EVERYTHING, fill, indexed, lesson, vector
from vector_servers import proxied, shared_qdrant

SCOPE = Scope(tenant="acme", project="shop")
SMALL, LARGE = "24m", "120m"
INIT = "import sys; from reasoningbank.cli import main; main(['database', 'init', sys.argv[1], '--json'])"


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A disk of a few megabytes; the test is skipped with the reason where none can be mounted."""
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        pytest.skip("only the superuser of Linux may mount a small disk")
    # Not below the folder of the test: the server's user must reach it.
    folder = Path(tempfile.mkdtemp(prefix="rb-disk-"))
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SMALL},mode=777", "tmpfs", str(folder)]
    if subprocess.run(mount, check=False).returncode:
        pytest.skip("this machine lets nobody mount a small disk")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)
    folder.rmdir()


@promise(
    "postgres:disk-full",
    "When the disk of the PostgreSQL server is full, a write is refused with StoreFull, no acknowledged write is lost, "
    "the rest can be read, and writes go on once there is room.",
    source="issue 15 Faults",
)
def test_a_full_disk_of_the_server_loses_no_acknowledged_write(small_disk: Path, torture: bool) -> None:
    server = shared_server()
    server.role()
    folder = small_disk / "space"
    server.own(folder)
    name = server.created("prepared", tablespace=folder)
    acknowledged: list[str] = []
    with closing(open_storage(server.url(name, server.role()), home=Path("unused")).open(SCOPE)) as store:
        for _ in range(3 if torture else 1):
            refused = filled_up(store, acknowledged)
            assert isinstance(refused, StoreFull), refused
            assert refused.hint
            assert kept(store) == set(acknowledged)
        remounted = ["mount", "-o", f"remount,size={LARGE}", str(small_disk)]
        subprocess.run(remounted, check=True)
        fill(store, [(lesson("later"), indexed("kiwi"))])
        assert kept(store) == {*acknowledged, "later"}
        assert store.check().problems == ()
    server.dropped(name)


def filled_up(store: Store, acknowledged: list[str]) -> BankError:
    """Stores until a write is refused; gives the refusal."""
    for number in itertools.count(len(acknowledged)):
        names = [f"m{number}-{each}" for each in range(50)]
        large = [replace(lesson(name), content=os.urandom(10_000).hex()) for name in names]
        try:
            fill(store, [(each, indexed("kiwi")) for each in large])
        except StoreError as error:
            return error
        acknowledged += names
    raise AssertionError


def kept(store: Store) -> set[str]:
    """The identifiers of all memories."""
    return {memory.id for memory in store.memories.page(EVERYTHING, limit=0, offset=0)}


@promise(
    "postgres:upgraded-together",
    "Servers that bring an earlier schema of one database up to date at the same time all succeed, and its banks are "
    "whole.",
    source="issue 15 Faults",
)
def test_two_processes_bring_an_earlier_schema_up_to_date(monkeypatch: pytest.MonkeyPatch) -> None:
    server = shared_server()
    name = server.created()
    with monkeypatch.context() as patched:
        patched.setattr(schema, "MIGRATIONS", schema.MIGRATIONS[:-1])
        prepared = prepare_database(server.url(name))
        assert prepared.schema == len(schema.MIGRATIONS)
    command = [sys.executable, "-c", INIT, server.url(name)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    answers = [process.communicate(timeout=240) for process in running]
    assert [process.returncode for process in running] == [0, 0], answers
    with closing(open_storage(prepared.url, home=Path("unused")).open(SCOPE)) as store:
        fill(store, [(lesson("m1"), indexed("kiwi"))])
        assert store.check().schema == len(schema.MIGRATIONS)
        assert store.check().problems == ()
    server.dropped(name)


@promise(
    "vectors:network-cut",
    "When the network to the index of vectors is cut under load, no write is refused or lost, searches find what was "
    "stored, and the index is equal to the bank again without a hand.",
    source="issue 15 Faults",
)
def test_a_network_that_is_cut_under_load_loses_nothing(tmp_path: Path, torture: bool) -> None:
    seconds = 10.0 if torture else 1.5
    stop = threading.Event()
    stored: list[str] = []
    failures: list[BaseException] = []
    with proxied(shared_qdrant().port) as proxy:
        url = f"qdrant+http://127.0.0.1:{proxy.port}/load{os.getpid()}?timeout=0.5"
        storage = open_storage(f"sqlite:///{tmp_path}/banks", home=tmp_path, vectors=url)
        with closing(storage.open(SCOPE)) as store:
            keeper = store.index
            assert isinstance(keeper, Beside)

            def write() -> None:
                for number in itertools.count():
                    if stop.is_set():
                        return
                    fill(store, [(lesson(f"m{number}"), indexed("kiwi"))])
                    stored.append(f"m{number}")
                    stop.wait(0.02)

            def search() -> None:
                while not stop.is_set():
                    before = len(stored)
                    hits = store.search.nearest(CONTENT_LEG, vector(*EAST), EVERYTHING, before + 100)
                    assert {hit.id for hit in hits} >= set(stored[:before])

            def work() -> None:
                while not stop.is_set():
                    if keeper.behind():
                        try:
                            keeper.follow()
                        except BankError:
                            stop.wait(0.1)

            def guarded(target: object) -> None:
                try:
                    assert callable(target)
                    target()
                except BaseException as error:  # noqa: BLE001 - handed to the test's own thread
                    failures.append(error)

            threads = [threading.Thread(target=guarded, args=(each,)) for each in (write, search, work)]
            for thread in threads:
                thread.start()
            try:
                grown(stored, 5)
                proxy.cut()
                time.sleep(seconds)
                grown(stored, 5)
                proxy.mend()
                grown(stored, 5)
            finally:
                stop.set()
                for thread in threads:
                    thread.join()
            assert failures == []
            until = time.monotonic() + 60
            while keeper.behind() or not keeper.usable:
                assert time.monotonic() < until
                keeper.follow()
            report = keeper.reconcile()
            assert (report.memories, report.written, report.removed) == (len(stored), 0, 0)


def grown(stored: list[str], more: int) -> None:
    """Waits until so many more writes were acknowledged."""
    wanted, until = len(stored) + more, time.monotonic() + 120
    while len(stored) < wanted:
        assert time.monotonic() < until, "writes do not go on"
        time.sleep(0.02)


@promise("postgres:server-killed")
def test_a_killed_server_with_pgvector_costs_no_vector(tmp_path: Path, torture: bool) -> None:
    server = PostgresServer(durable=True)
    stored: list[str] = []
    try:
        url = server.url("prepared", server.role())
        with closing(open_storage(url, home=tmp_path, vectors="pgvector").open(SCOPE)) as store:
            keeper = store.index
            assert isinstance(keeper, Beside)
            for number in range(20 if torture else 3):
                fill(store, [(lesson(f"m{number}"), indexed("kiwi"))])
                stored.append(f"m{number}")
                if number % 2:
                    keeper.follow()
                server.kill()
                server.start()
                hits = store.search.nearest(CONTENT_LEG, vector(*EAST), EVERYTHING, 99)
                assert [hit.id for hit in hits] == stored
            keeper.follow()
            assert keeper.reconcile().written == 0
    finally:
        server.stop()
