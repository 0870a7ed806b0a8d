"""No sidecar holds a vector whose memory is deleted, whenever the deletion or the end of the process comes."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy
import pytest
from numpy.typing import NDArray

from durability.workload import EVERYTHING, SCOPE, derived, lesson, vector
from promises import promise
from reasoningbank.storage import vector_file
from reasoningbank.storage import vector_index as dense
from reasoningbank.storage.sqlite_file import SqliteStorage
from reasoningbank.storage.store import Store

SIZE = 40
LEAKED = derived("m3").vectors["content"].tobytes()

pytestmark = pytest.mark.skipif(os.name != "posix", reason="a process is forked")


@contextmanager
def _opened(path: Path) -> Iterator[Store]:
    store = SqliteStorage(path).open(SCOPE)
    try:
        yield store
    finally:
        store.close()


@pytest.fixture
def bank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bank of memories without a sidecar, of which one is due."""
    monkeypatch.setattr(dense, "SNAPSHOT_MIN_ROWS", 8)
    path = tmp_path / "bank.db"
    with _opened(path) as store, store.transaction() as transaction:
        for number in range(SIZE):
            transaction.memories.insert(lesson(f"m{number}"), derived(f"m{number}"))
    return path


def _found(store: Store) -> set[str]:
    return {hit.id for hit in store.search.nearest("content", vector("m3", 1, "content"), EVERYTHING, 100)}


def _sidecars(bank: Path) -> list[Path]:
    return list(bank.with_name("bank.db.vectors").glob("*"))


def _holding(bank: Path, content: bytes) -> list[Path]:
    return [path for path in bank.parent.rglob("*") if path.is_file() and content in path.read_bytes()]


def _everything(*, without: str = "") -> set[str]:
    return {f"m{number}" for number in range(SIZE)} - {without}


@promise(
    "durability:sidecar-deletion",
    "No sidecar holds the vector of a deleted memory: not when it is deleted between a search and the sidecar, and not "
    "when the process that writes the sidecar is killed.",
    source="issue 10",
)
def test_what_is_deleted_after_the_search_is_not_written_to_a_sidecar(bank: Path) -> None:
    with _opened(bank) as late, _opened(bank) as other:
        assert _found(late) == _everything()
        with other.transaction() as transaction:
            transaction.memories.delete("m3")
        with late.transaction() as transaction:
            transaction.memories.insert(lesson("new"), derived("new"))
        assert _sidecars(bank) == []
        assert _found(late) == _everything(without="m3") | {"new"}
        with late.transaction():
            """The next write makes what is due."""
        assert len(_sidecars(bank)) == 2
    assert _holding(bank, LEAKED) == []


@promise("durability:sidecar-deletion")
@pytest.mark.parametrize("moment", ["before", "after", "half"])
def test_a_process_that_is_killed_at_the_sidecar_leaves_nothing_of_what_is_deleted_later(
    bank: Path, moment: str
) -> None:
    """It was announced already; the file was not there, or not in its place, or not used yet."""
    child = os.fork()
    if not child:
        _killed_at_the_sidecar(bank, moment)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    assert len(_sidecars(bank)) == (0 if moment == "before" else 1)
    with _opened(bank) as store:
        assert store.memories.many(["new"])
        with store.transaction() as transaction:
            transaction.memories.delete("m3")
        assert _found(store) == _everything(without="m3") | {"new"}
    assert _holding(bank, LEAKED) == []
    with _opened(bank) as store:
        assert _found(store) == _everything(without="m3") | {"new"}
        assert store.check().problems == ()


def _killed_at_the_sidecar(bank: Path, moment: str) -> None:
    """Writes in a process of its own that is killed in the middle of the first sidecar."""
    write = vector_file.write_snapshot

    def killed(
        path: Path, header: vector_file.Header, keys: NDArray[numpy.int64], matrix: NDArray[numpy.float32]
    ) -> None:
        if moment == "after":
            write(path, header, keys, matrix)
        if moment == "half":
            path.parent.mkdir(mode=0o700, exist_ok=True)
            path.with_name(f"{path.name}half.new").write_bytes(LEAKED)
        os.kill(os.getpid(), signal.SIGKILL)

    try:
        vector_file.write_snapshot = killed
        with _opened(bank) as store:
            _found(store)
            with store.transaction() as transaction:
                transaction.memories.insert(lesson("new"), derived("new"))
    finally:
        os._exit(1)
