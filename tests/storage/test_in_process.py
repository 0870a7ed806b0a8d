"""What only a bank without a file can get wrong: files it must not write, copies of it, and readers beside a writer."""

from __future__ import annotations

import itertools
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy
import pytest
from numpy.typing import NDArray

from promises import promise
from reasoningbank.errors import StoreBusy, StoreCorrupt, StoreUnavailable
from reasoningbank.storage import sqlite_connection, sqlite_memory
from reasoningbank.storage import vector_index as dense
from reasoningbank.storage.bank_search import Indexes
from reasoningbank.storage.sidecars import SidecarArrays, Sidecars
from reasoningbank.storage.sqlite_file import SqliteStorage
from reasoningbank.storage.sqlite_memory import ProcessStorage
from reasoningbank.storage.store import Storage, Store
from reasoningbank.storage.vector_file import Header, Snapshot
from reasoningbank.types.recall import CONTENT_LEG
from storage.contract.base import EAST, EVERYTHING, NORTH, SCOPE, fill, indexed, lesson, vector

PROGRAM = """
import resource, signal, sys
from pathlib import Path

from reasoningbank.storage import open_storage
from storage.contract.base import EAST, EVERYTHING, SCOPE, indexed, lesson, vector

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
store = open_storage("memory://", home=Path("home")).open(SCOPE)
with store.transaction() as transaction:
    for number in range(3_000):
        transaction.memories.insert(lesson(f"m{number}"), indexed("kiwi " * 300))
with store.transaction() as transaction:
    for number in range(0, 3_000, 3):
        transaction.memories.delete(f"m{number}")
assert store.memories.count(EVERYTHING) == 2_000
assert len(store.search.nearest("content", vector(*EAST), EVERYTHING, 9_999)) == 2_000
assert len(store.search.matching("kiwi", EVERYTHING, 5).hits) == 5
report = store.check()
assert report.problems == (), report.problems
assert report.location == "memory://" and report.sizes["pages"] > 2_000_000, report
store.close()
"""


@promise("storage:memory-no-file", "A bank of memory:// writes no file, whatever is done with it.", source="DESIGN D18")
@pytest.mark.skipif(sys.platform == "win32", reason="the system has no limit on the size of files")
def test_no_file_is_written_or_made(tmp_path: Path) -> None:
    """In a process that may not write one byte to a file."""
    environment = {"PYTHONPATH": ":".join(filter(None, sys.path)), "TMPDIR": str(tmp_path), "HOME": str(tmp_path)}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.iterdir()) == []


@promise(
    "storage:memory-copies",
    "A backup of a bank in memory is restored into a file, and the other way round.",
    source="DESIGN D18",
)
@pytest.mark.parametrize("kinds", list(itertools.product(("file", "memory"), repeat=2)))
def test_a_backup_is_restored_on_either_side(kinds: tuple[str, str], tmp_path: Path) -> None:
    """Whole, under handles that are open; and what is written afterwards is found too."""
    first, second = (storage(kind, tmp_path / str(number)).open(SCOPE) for number, kind in enumerate(kinds))
    other_place = storage(kinds[1], tmp_path / "other")
    fill(first, [(lesson("m1"), indexed("kiwi", vector(*NORTH))), (lesson("m2"), indexed("lamp"))])
    backup = tmp_path / "backup"
    first.backup(backup)
    fill(first, [lesson("m3")])
    other = other_place.open(SCOPE)
    fill(other, [lesson("old")])
    assert found(other) == ["old"]
    other_place.restore(SCOPE, backup)
    assert found(other) == ["m1", "m2"]
    assert [hit.id for hit in other.search.matching("kiwi", EVERYTHING, 9).hits] == ["m1"]
    with other.transaction() as transaction:
        transaction.memories.insert(lesson("m4"), indexed("kiwi"))
        transaction.memories.delete("m2")
    assert found(other) == ["m1", "m4"]
    assert other.check().problems == ()
    assert found(first) == ["m1", "m2", "m3"]
    for store in (first, second, other):
        store.close()


@promise("storage:memory-copies")
def test_a_live_file_that_was_copied_by_hand_is_restored_into_memory(tmp_path: Path) -> None:
    """Its header says that it has a write-ahead log, which pages in memory cannot have."""
    live = SqliteStorage(tmp_path / "live.db").open(SCOPE)
    fill(live, [lesson("m1")])
    live.close()
    raw = tmp_path / "raw"
    raw.write_bytes((tmp_path / "live.db").read_bytes())
    raw.with_name("raw-wal").write_bytes((tmp_path / "live.db-wal").read_bytes())
    place = ProcessStorage()
    place.restore(SCOPE, raw)
    store = place.open(SCOPE)
    assert found(store) == ["m1"]
    fill(store, [lesson("m2")])
    assert found(store) == ["m1", "m2"]
    store.close()


@promise("storage:memory-copies")
def test_what_cannot_be_restored_or_written_changes_nothing(tmp_path: Path) -> None:
    place = ProcessStorage()
    damaged = tmp_path / "damaged"
    damaged.write_bytes(b"SQLite format 3\x00" + b"x" * 9_000)
    for source, error in ((damaged, StoreCorrupt), (tmp_path / "nothing", StoreUnavailable)):
        with pytest.raises(error):
            place.restore(SCOPE, source)
    assert not place.has(SCOPE)
    store = place.open(SCOPE)
    fill(store, [lesson("m1")])
    with pytest.raises(StoreUnavailable):
        store.backup(tmp_path / "no directory" / "backup")
    with pytest.raises(StoreCorrupt):
        place.restore(SCOPE, damaged)
    assert found(store) == ["m1"]
    store.close()


@promise(
    "storage:memory-threads",
    "While a transaction of memory:// is open, other threads read what was committed last, without waiting.",
    source="DESIGN D18",
)
@pytest.mark.timeout(60)
def test_readers_in_other_threads_see_the_last_committed_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """At once, as long as the transaction is open, and its changes afterwards; a second writer waits for its turn.

    The transaction changes more than a connection caches, and still nothing of it is seen too early.
    """
    small = sqlite_connection._PRAGMAS.replace("cache_size = -16384", "cache_size = -64")
    assert small != sqlite_connection._PRAGMAS
    monkeypatch.setattr(sqlite_connection, "_PRAGMAS", small)
    place = ProcessStorage()
    store = place.open(SCOPE)
    fill(store, [lesson("m1")])
    seen: list[list[str]] = []

    def read(opened: Store) -> None:
        seen.append(found(opened))

    with store.transaction() as transaction:
        for number in range(2, 2_000):
            transaction.memories.insert(lesson(f"m{number}"), indexed("kiwi " * 50))
        readers = [threading.Thread(target=read, args=(each,)) for each in (store, place.open(SCOPE), store)]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join(20.0)
        assert seen == [["m1"]] * 3
        with pytest.raises(StoreBusy), place.open(SCOPE).transaction():
            raise AssertionError("one thread writes twice at once")
        writer = threading.Thread(target=fill, args=(store, [lesson("later")]))
        writer.start()
    writer.join(20.0)
    assert store.memories.count(EVERYTHING) == 2_000
    assert len(found(store)) == 2_000
    store.close()


@promise("storage:memory-threads")
@pytest.mark.timeout(60)
def test_first_searches_at_once_share_what_is_held_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long it takes to make it."""
    store = ProcessStorage().open(SCOPE)
    fill(store, [(lesson("m1"), indexed("kiwi", vector(*NORTH)))])
    made: list[Indexes] = []
    make = Indexes.__init__

    def slow(self: Indexes, sidecars: Sidecars, project: str) -> None:
        made.append(self)
        time.sleep(0.05)
        make(self, sidecars, project)

    monkeypatch.setattr(Indexes, "__init__", slow)
    together = threading.Barrier(8)
    seen: list[list[str]] = []

    def read() -> None:
        together.wait(20.0)
        seen.append(found(store))

    readers = [threading.Thread(target=read) for _ in range(8)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join(20.0)
    assert seen == [["m1"]] * 8
    assert len(made) == 1
    store.close()


@promise("storage:memory-no-file")
def test_many_changed_vectors_are_gathered_in_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that were replaced do not pile up, and searches answer as before."""
    gathered: list[int] = []

    class Counted(SidecarArrays):
        def write(self, header: Header, keys: NDArray[numpy.int64], vectors: NDArray[numpy.float32]) -> Snapshot:
            snapshot = super().write(header, keys, vectors)
            gathered.append(snapshot.header.rows)
            return snapshot

    monkeypatch.setattr(dense, "SNAPSHOT_MIN_ROWS", 8)
    monkeypatch.setattr(sqlite_memory, "SidecarArrays", Counted)
    store = ProcessStorage().open(SCOPE)
    names = [f"m{number}" for number in range(20)]
    fill(store, [lesson(name) for name in names])
    for turn in range(9):
        northern = {name for number, name in enumerate(names) if (number + turn) % 4 == 0}
        with store.transaction() as transaction:
            for name in names:
                transaction.memories.update(
                    lesson(name), indexed("kiwi", vector(*(NORTH if name in northern else EAST)))
                )
        near = store.search.nearest(CONTENT_LEG, vector(*NORTH), EVERYTHING, 99)
        assert {hit.id for hit in near if hit.score == 1.0} == northern
        assert len(near) == 20
    assert len(gathered) > 4
    assert set(gathered) == {20}
    with store.transaction() as transaction:
        transaction.memories.delete("m19")
        transaction.memories.insert(lesson("m20"), indexed("kiwi", vector(*NORTH)))
    assert sorted(found(store)) == sorted([*names[:19], "m20"])
    store.close()


def storage(kind: str, place: Path) -> Storage:
    """A new place of this kind."""
    return SqliteStorage(place) if kind == "file" else ProcessStorage()


def found(store: Store) -> list[str]:
    """All memories, by age, as the list and the search for vectors tell alike."""
    listed = [memory.id for memory in store.memories.page(EVERYTHING, limit=0, offset=0)]
    near = {hit.id for hit in store.search.nearest(CONTENT_LEG, vector(*EAST), EVERYTHING, 9_999)}
    assert near == set(listed)
    return listed
