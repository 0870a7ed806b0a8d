"""A bank's files: how big they get, who may read them, what is refused, and what a deletion leaves in them."""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import numpy
import pytest

from durability.workload import EVERYTHING, SCOPE, derived, lesson, vector
from promises import promise
from reasoningbank.errors import StoreBusy, StoreClosed, StoreCorrupt, StoreError, StoreTooNew, StoreUnavailable
from reasoningbank.storage import sqlite as upkeep
from reasoningbank.storage import vector_index as dense
from reasoningbank.storage.schema import MIGRATIONS
from reasoningbank.storage.sqlite_connection import open_connection
from reasoningbank.storage.sqlite_file import SqliteStorage
from reasoningbank.storage.store import Store
from reasoningbank.types.memory import Memory
from reasoningbank.types.recall import DENSE_LEGS
from reasoningbank.types.records import Indexed
from reasoningbank.types.scope import Scope

POSIX = pytest.mark.skipif(os.name != "posix", reason="file modes and links are those of POSIX")
CANARY = "zyxcanarywordqj"
ERASED = 40


def _fill(store: Store, count: int, prefix: str = "m") -> None:
    with store.transaction() as transaction:
        for number in range(count):
            transaction.memories.insert(lesson(f"{prefix}{number}"), derived(f"{prefix}{number}"))


def _bytes(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


@promise(
    "durability:log-bounded",
    "The write-ahead log stays bounded while readers never stop.",
    source="spec/engineering B.2",
)
def test_the_log_stays_bounded_while_readers_never_stop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers hold no long transaction, so the write-ahead log starts over again and again."""
    monkeypatch.setattr(upkeep, "LOG_LIMIT", 400_000)
    bank = tmp_path / "bank.db"
    store = SqliteStorage(bank).open(SCOPE)
    _fill(store, 20)
    stop, failures, largest, written = threading.Event(), [], 0, 0

    def read() -> None:
        try:
            while not stop.is_set():
                store.search.matching("common", EVERYTHING, 5)
                store.search.nearest("content", vector("m1", 1, "content"), EVERYTHING, 5)
                store.memories.page(EVERYTHING, limit=10, offset=0)
        except StoreError as error:
            failures.append(error)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    try:
        for number in range(60):
            _fill(store, 5, f"batch-{number}-")
            size = bank.with_name("bank.db-wal").stat().st_size
            largest = max(largest, size)
            written += 5
    finally:
        stop.set()
        for reader in readers:
            reader.join()
        store.close()
    print(f"{written} memories written under 3 readers; the log was at most {largest / 2**20:.1f} MiB")
    assert not failures
    assert largest < 4_000_000


@POSIX
@promise(
    "durability:private-files",
    "Every file of a bank is 0600 and every directory 0700, whatever the umask.",
    source="issue 2",
)
@pytest.mark.parametrize("mask", [0o000, 0o022])
@pytest.mark.parametrize("place", ["home/banks", "home/bank.db"])
def test_only_the_owner_can_read_a_bank(mask: int, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are 0600 and directories 0700 whatever the umask, sidecars, backups and locks included."""
    monkeypatch.setattr(dense, "SNAPSHOT_MIN_ROWS", 4)
    old = os.umask(mask)
    try:
        storage = SqliteStorage(tmp_path / place)
        store = storage.open(SCOPE)
        _fill(store, 10)
        store.search.nearest("content", vector("m1", 1, "content"), EVERYTHING, 1)
        with store.transaction():
            """Sidecars that a search found to be due are written with the next write."""
        store.backup(tmp_path / "home" / "backup.db")
        paths = list((tmp_path / "home").rglob("*"))
        store.close()
        storage.restore(SCOPE, tmp_path / "home" / "backup.db")
        paths += list((tmp_path / "home").rglob("*"))
    finally:
        os.umask(old)
    assert {path.name.split(".")[-1] for path in paths} >= {"vectors", "lock", "db-wal", "db-shm", "db"}
    for path in {path for path in paths if path.exists()}:
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), f"{path}: {mode:o}"
    assert stat.S_IMODE((tmp_path / "home").stat().st_mode) == 0o700


@POSIX
@promise(
    "durability:no-links",
    "A bank is never opened through a symbolic link; what the link points to is not touched.",
    source="spec/engineering B.3 (21)",
)
@pytest.mark.parametrize("suffix", ["", ".lock"])
def test_a_bank_is_never_opened_through_a_symbolic_link(suffix: str, tmp_path: Path) -> None:
    """A link in the bank's place is refused, and what it points to is not touched."""
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    (tmp_path / f"bank.db{suffix}").symlink_to(victim)
    with pytest.raises(StoreUnavailable) as caught:
        SqliteStorage(tmp_path / "bank.db").open(SCOPE)
    assert "link" in str(caught.value)
    assert victim.read_bytes() == b"precious"


@promise(
    "durability:foreign-file",
    "A database of another program or a file that is not a database is refused and left as it is.",
    source="spec/engineering B.2",
)
def test_a_file_of_another_program_is_left_alone(tmp_path: Path) -> None:
    """Another program's database, a text and a directory are refused; none of them is changed."""
    with_tables = tmp_path / "app.db"
    connection = apsw.Connection(str(with_tables))
    connection.execute("CREATE TABLE customers (name); PRAGMA user_version = 1")
    connection.close()
    (tmp_path / "text.db").write_text("not a database, but longer than a header. " * 40, encoding="utf-8")
    before = _bytes(tmp_path)
    for name, error in (("app.db", StoreUnavailable), ("text.db", StoreCorrupt)):
        with pytest.raises(error):
            SqliteStorage(tmp_path / name).open(SCOPE)
    after = _bytes(tmp_path)
    assert {name: after[name] for name in before} == before


@promise(
    "durability:too-new",
    "A bank of a newer version is StoreTooNew and its bytes are not touched, also when it was upgraded while open.",
    source="issue 2",
)
def test_a_bank_of_a_newer_version_is_refused_and_not_touched(tmp_path: Path) -> None:
    """StoreTooNew, when opening and when another process has upgraded the bank meanwhile; the bytes stay the same."""
    bank = tmp_path / "bank.db"
    store = SqliteStorage(bank).open(SCOPE)
    _fill(store, 3)
    newer = open_connection(bank)
    newer.pragma("user_version", len(MIGRATIONS) + 1)
    newer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    newer.close()
    with pytest.raises(StoreTooNew), store.transaction() as transaction:
        transaction.memories.insert(lesson("late"), derived("late"))
    store.close()
    before = bank.read_bytes()
    with pytest.raises(StoreTooNew) as caught:
        SqliteStorage(bank).open(SCOPE)
    assert "pgrade" in caught.value.hint
    assert bank.read_bytes() == before


@promise(
    "durability:emptied",
    "An emptied file, a lost log or an old copy in the bank's place is StoreCorrupt with the number of lost changes, "
    "never answered from as if whole.",
    source="spec/engineering B.2",
)
def test_a_bank_that_was_emptied_or_replaced_by_an_old_copy_is_not_taken_for_the_bank(tmp_path: Path) -> None:
    """An empty file, a missing log and an old copy raise StoreCorrupt; they are never answered from as if whole."""
    bank = tmp_path / "bank.db"
    storage = SqliteStorage(bank)
    store = storage.open(SCOPE)
    _fill(store, 3)
    store.backup(tmp_path / "copy.db")
    _fill(store, 3, "later")
    store.close()
    content, log = bank.read_bytes(), bank.with_name("bank.db-wal").read_bytes()

    def refused() -> None:
        with pytest.raises(StoreCorrupt) as caught:
            storage.open(SCOPE)
        assert "rbank restore" in caught.value.hint

    for lost in (b"", (tmp_path / "copy.db").read_bytes()):
        bank.write_bytes(lost)
        bank.with_name("bank.db-wal").write_bytes(b"")
        refused()
    bank.write_bytes(content)
    bank.with_name("bank.db-wal").write_bytes(log)
    with _opened(storage) as whole:
        assert whole.memories.count(EVERYTHING) == 6


@promise(
    "durability:erased",
    "After a deletion neither words nor vector bytes are in any of the bank's files; a bank above 16 MiB is rewritten "
    "when it is closed or checked.",
    source="DESIGN D2 (secure_delete); spec/engineering B.2",
)
def test_nothing_of_a_deleted_memory_is_left_in_the_banks_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words and vector bytes are in no file of the bank after the deletion, sidecars and log included."""
    monkeypatch.setattr(dense, "SNAPSHOT_MIN_ROWS", 16)
    bank = tmp_path / "bank.db"
    storage = SqliteStorage(bank)
    store, witness = storage.open(SCOPE), storage.open(SCOPE)
    secret = vector("canary", 1, "content", 64)
    canary = Memory(
        id="canary",
        project=SCOPE.project,
        title="T",
        content=f"The {CANARY} is here.",
        outcome="success",
        tags=(CANARY,),
    )
    for number in range(ERASED):
        with store.transaction() as transaction:
            transaction.memories.insert(lesson(f"m{number}"), derived(f"m{number}", 1, 64))
            if number == ERASED // 2:
                transaction.memories.insert(
                    canary,
                    Indexed(text=f"{CANARY} here", model_id="test/64", vectors=dict.fromkeys(DENSE_LEGS, secret)),
                )
    for number in range(ERASED):
        with store.transaction() as transaction:
            transaction.memories.update(lesson(f"m{number}", 2), derived(f"m{number}", 2, 64), revision=True)
    with store.transaction() as transaction:
        transaction.memories.update(
            canary, Indexed(text=f"{CANARY} again", model_id="test/64", vectors={"content": secret}), revision=False
        )
    for reader in (store, witness):
        assert reader.search.nearest("content", secret, EVERYTHING, 1)[0].id == "canary"
        with reader.transaction():
            """Sidecars that a search found to be due are written with the next write."""
    needles = (CANARY.encode(), CANARY[3:10].encode(), secret.tobytes()[:40], secret.tobytes()[-40:])
    held = _bytes(tmp_path)
    assert all(any(needle in content for content in held.values()) for needle in needles)
    assert any(name.endswith(".vectors") and needles[2] in content for name, content in held.items())
    with store.transaction() as transaction:
        transaction.memories.delete("canary")
    for name, content in _bytes(tmp_path).items():
        for needle in needles:
            assert needle not in content, f"{needle!r} is left in {name}"
    for reader in (store, witness):
        assert {hit.id for hit in reader.search.nearest("content", secret, EVERYTHING, 100)} == {
            f"m{n}" for n in range(ERASED)
        }
        assert not reader.search.matching(CANARY, EVERYTHING, 5).hits
        assert reader.check().problems == ()
        reader.close()


@promise("durability:erased")
def test_a_deletion_that_a_reader_delays_is_finished_later(tmp_path: Path) -> None:
    """A reader that stays in the way does not make the deletion fail; closing the bank erases the rest."""
    bank = tmp_path / "bank.db"
    store = SqliteStorage(bank).open(SCOPE)
    _fill(store, 10)
    blocker = open_connection(bank)
    blocker.execute("BEGIN")
    blocker.execute("SELECT count(*) FROM memories").fetchall()
    with store.transaction() as transaction:
        transaction.memories.delete("m3")
    assert store.memories.count(EVERYTHING) == 9
    blocker.execute("COMMIT")
    blocker.close()
    store.close()
    assert not any(b"Lesson m3" in content for content in _bytes(tmp_path).values())


@promise("durability:erased")
@pytest.mark.parametrize("finish", ["close", "check"])
def test_a_large_bank_is_rewritten_once_after_many_deletions(
    finish: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Live structures and the log are clean at once; unused space when the bank is closed or checked."""
    monkeypatch.setattr(upkeep, "REWRITE_LIMIT", 0)
    store = SqliteStorage(tmp_path / "bank.db").open(SCOPE)
    _fill(store, 60)
    traces = [f"Lesson m{number}when m{number}".encode() for number in range(20)]
    assert any(traces[7] in content for content in _bytes(tmp_path).values())
    for number in range(20):
        with store.transaction() as transaction:
            transaction.memories.delete(f"m{number}")
        assert b"Lesson m" not in (tmp_path / "bank.db-wal").read_bytes()
    if finish == "check":
        assert store.check().problems == ()
    else:
        store.close()
    for name, content in _bytes(tmp_path).items():
        assert not [trace for trace in traces if trace in content], name
    store.close()


@promise(
    "durability:own-transaction",
    "A nested transaction, one that has ended and one of a closed bank are refused at once.",
    source="issue 2",
)
def test_a_second_transaction_of_one_thread_and_a_closed_bank_fail_at_once(tmp_path: Path) -> None:
    """A nested transaction, one that has ended and one of a closed bank are refused without waiting."""
    store = SqliteStorage(tmp_path / "bank.db").open(SCOPE)
    begun = time.monotonic()
    with store.transaction() as transaction:
        with pytest.raises(StoreBusy), store.transaction():
            pass
        transaction.memories.insert(lesson("m"), derived("m"))
    with pytest.raises(StoreClosed):
        transaction.memories.insert(lesson("n"), derived("n"))
    store.close()
    store.close()
    for call in (lambda: store.memories.get("m"), lambda: store.transaction().__enter__(), store.check):
        with pytest.raises(StoreClosed):
            call()
    assert time.monotonic() - begun < 5


@promise(
    "durability:sidecar-derived",
    "A sidecar that is missing, emptied, swapped or of another time changes no answer.",
    source="DESIGN D1, D3",
)
def test_a_sidecar_that_is_missing_or_of_another_time_changes_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sidecars of an earlier time, of another leg or emptied ones give the same answers as none."""
    monkeypatch.setattr(dense, "SNAPSHOT_MIN_ROWS", 8)
    bank = tmp_path / "bank.db"
    sidecars = bank.with_name("bank.db.vectors")
    storage = SqliteStorage(bank)
    question = {leg: vector("question", 1, leg) for leg in DENSE_LEGS}

    def ask() -> list[list[str]]:
        with _opened(storage) as store:
            return [[hit.id for hit in store.search.nearest(leg, question[leg], EVERYTHING, 100)] for leg in DENSE_LEGS]

    with _opened(storage) as store:
        _fill(store, 20)
    ask()
    early = {path: path.read_bytes() for path in sidecars.glob("*.vectors")}
    assert len(early) == len(DENSE_LEGS)
    with _opened(storage) as store, store.transaction() as transaction:
        transaction.memories.delete("m3")
        transaction.memories.update(lesson("m5", 2), derived("m5", 2))
        without = derived("m6", 2)
        transaction.memories.update(
            lesson("m6", 2),
            Indexed(text=without.text, model_id=without.model_id, vectors={"content": without.vectors["content"]}),
        )
    with _opened(storage) as store:
        _fill(store, 20, "n")
    expected = ask()
    assert [len(found) for found in expected] == [39, 38]
    late = {path: path.read_bytes() for path in sidecars.glob("*.vectors")}
    assert late != early
    first, second = sorted(late)
    for replaced in (early, {first: late[second], second: late[first]}, dict.fromkeys(late, b""), {}):
        for path in late:
            path.unlink(missing_ok=True)
        for path, content in replaced.items():
            path.write_bytes(content)
        assert ask() == expected
    assert numpy.isclose(1.0, numpy.linalg.norm(question["content"]))


@contextmanager
def _opened(storage: SqliteStorage, scope: Scope = SCOPE) -> Iterator[Store]:
    store = storage.open(scope)
    try:
        yield store
    finally:
        store.close()
