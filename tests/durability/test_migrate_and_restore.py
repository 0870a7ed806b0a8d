"""Migrations keep a backup and happen whole; a restore reaches every process that has the bank open."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from durability.nursery import Task, events, nursery, wait_for
from durability.workload import EVERYTHING, SCOPE, derived, lesson, vector
from promises import promise
from reasoningbank.errors import ScopeViolation, StoreCorrupt, StoreError, StoreTooNew, StoreUnavailable
from reasoningbank.storage.connection import Writer
from reasoningbank.storage.schema import MIGRATIONS
from reasoningbank.storage.sqlite_connection import open_connection
from reasoningbank.storage.sqlite_file import SqliteStorage
from reasoningbank.storage.store import Store
from reasoningbank.types.scope import Scope


def _fill(store: Store, *names: str) -> None:
    for name in names:
        with store.transaction() as transaction:
            transaction.memories.insert(lesson(name), derived(name))


def _ids(store: Store) -> list[str]:
    return [memory.id for memory in store.memories.page(EVERYTHING, limit=0, offset=0)]


@pytest.fixture
def newer_schema(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Makes the current schema an old one, by one more migration; how often it ran."""
    ran: list[int] = []

    def add_a_column(writer: Writer) -> None:
        writer.run("ALTER TABLE memories ADD COLUMN mood TEXT")
        ran.append(1)

    monkeypatch.setattr("reasoningbank.storage.schema.MIGRATIONS", [*MIGRATIONS, add_a_column])
    return ran


@promise(
    "durability:migration",
    "Before each migration a whole backup is kept; a migration happens whole or not at all.",
    source="issue 2; spec/engineering B.2",
)
def test_a_migration_keeps_a_backup_of_the_bank_as_it_was(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """The bank is migrated once, with everything in it; beside it lies a whole bank of the old schema."""
    bank = tmp_path / "bank.db"
    old = SqliteStorage(bank).open(SCOPE)
    _fill(old, "a", "b")
    old.close()
    ran = request.getfixturevalue("newer_schema")
    for _ in range(2):
        store = SqliteStorage(bank).open(SCOPE)
        assert _ids(store) == ["a", "b"]
        assert store.check().problems == ()
        store.close()
    assert ran == [1]
    kept = bank.with_name(f"bank.db.before-{len(MIGRATIONS) + 1}")
    backup = open_connection(kept)
    assert backup.pragma("user_version") == len(MIGRATIONS)
    assert backup.execute("SELECT count(*) FROM memories").get == 2
    backup.close()
    SqliteStorage(bank).restore(SCOPE, kept)
    store = SqliteStorage(bank).open(SCOPE)
    assert _ids(store) == ["a", "b"]
    store.close()


@promise("durability:migration")
def test_a_migration_that_fails_leaves_the_bank_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A migration happens whole or not at all."""
    bank = tmp_path / "bank.db"
    store = SqliteStorage(bank).open(SCOPE)
    _fill(store, "a")
    store.close()

    def fail(writer: Writer) -> None:
        writer.run("DROP TABLE vectors")
        raise StoreUnavailable("the power went off")

    with monkeypatch.context() as patched:
        patched.setattr("reasoningbank.storage.schema.MIGRATIONS", [*MIGRATIONS, fail])
        with pytest.raises(StoreUnavailable):
            SqliteStorage(bank).open(SCOPE)
    store = SqliteStorage(bank).open(SCOPE)
    assert _ids(store) == ["a"]
    assert store.check().problems == ()
    store.close()


@promise("transfer:backup")
def test_a_backup_larger_than_the_page_cache_is_whole_while_its_pages_are_in_the_log(tmp_path: Path) -> None:
    """Pages that are written out before the first one have their checksums too, in the backup and once restored."""
    storage = SqliteStorage(tmp_path / "bank.db")
    store = storage.open(SCOPE)
    content = "Retry the call with a growing delay. " * 250
    with store.transaction() as transaction:
        for number in range(600):
            memory = replace(lesson(f"m{number}"), content=f"{content}{number}")
            transaction.memories.insert(memory, derived(f"m{number}"))
    before = _ids(store)
    store.backup(tmp_path / "backup.db")
    assert (tmp_path / "backup.db").stat().st_size > 4_000_000
    copied = SqliteStorage(tmp_path / "backup.db").open(SCOPE)
    assert copied.check().problems == ()
    copied.close()
    _fill(store, "late")
    storage.restore(SCOPE, tmp_path / "backup.db")
    assert _ids(store) == before
    assert store.check().problems == ()
    store.close()


@promise(
    "durability:restore-live",
    "A process that has the bank open goes on in the restored bank: what it writes after the restore is there.",
    source="issue 2",
)
def test_a_process_that_has_the_bank_open_goes_on_in_the_restored_one(tmp_path: Path) -> None:
    """What another process writes after the restore is in the restored bank; what it wrote before is in the old one."""
    bank = tmp_path / "bank.db"
    storage = SqliteStorage(bank)
    store = storage.open(SCOPE)
    _fill(store, "old")
    store.backup(tmp_path / "backup.db")
    report = tmp_path / "writer"
    with nursery() as children:
        pid = children.start(Task(role="write_until_told", bank=str(bank), report=str(report), name="w"))
        _wait_for_events(report, 5)
        before = len(events(report))
        storage.restore(SCOPE, tmp_path / "backup.db")
        restored = len(events(report))
        _wait_for_events(report, restored + 5)
        (tmp_path / "stop").touch()
        wait_for(pid)
    seen = events(report)
    assert seen[-1] == ["end"], seen[-1]
    done = [event[1] for event in seen if event[0] == "done"]
    found = set(_ids(store)) - {"old"}
    assert set(done[restored:]) <= found, "a write acknowledged after the restore is lost"
    assert not found & set(done[: before - 1]), "a write from before the backup's restore came back"
    assert "old" in _ids(store)
    late = done[-1]
    assert store.search.nearest("content", vector(late, 1, "content"), EVERYTHING, 1)[0].id == late
    assert store.check().problems == ()
    store.close()
    kept = next(tmp_path.glob("bank.db.before-restore-*"))
    old_bank = SqliteStorage(kept.rename(tmp_path / "kept.db")).open(SCOPE)
    assert {"old", done[0], done[before - 2]} <= set(_ids(old_bank))
    old_bank.close()


def _wait_for_events(report: Path, count: int) -> None:
    limit = time.monotonic() + 60
    while len(events(report)) < count:
        assert time.monotonic() < limit
        time.sleep(0.005)


@promise(
    "durability:restore-damaged",
    "A bank too damaged to be opened is restored all the same, and the damaged files are kept.",
    source="issue 2",
)
def test_a_damaged_bank_is_replaced_and_kept(tmp_path: Path) -> None:
    """A bank that cannot be opened any more is restored all the same, and an open store follows."""
    bank = tmp_path / "bank.db"
    storage = SqliteStorage(bank)
    store = storage.open(SCOPE)
    _fill(store, "a", "b")
    store.backup(tmp_path / "backup.db")
    _fill(store, "c")
    content = bytearray(bank.read_bytes())
    content[: 3 * 4_096] = bytes(3 * 4_096)
    bank.write_bytes(content)
    bank.with_name("bank.db-wal").write_bytes(b"\x00" * 10_000)
    with pytest.raises(StoreError):
        SqliteStorage(bank).open(SCOPE)
    storage.restore(SCOPE, tmp_path / "backup.db")
    assert _ids(store) == ["a", "b"]
    _fill(store, "d")
    store.close()
    again = storage.open(SCOPE)
    assert _ids(again) == ["a", "b", "d"]
    assert again.check().problems == ()
    again.close()
    assert [path.read_bytes() for path in tmp_path.glob("bank.db.before-restore-*") if path.suffix != ".db-wal"]


@promise(
    "durability:restore-refused",
    "A missing, damaged, foreign or newer backup is refused and changes nothing; a backup never overwrites the bank.",
    source="issue 2",
)
def test_a_backup_that_must_not_be_restored_changes_nothing(tmp_path: Path) -> None:
    """A missing, damaged, foreign or newer backup is refused; a backup never overwrites the bank itself."""
    bank = tmp_path / "bank.db"
    storage = SqliteStorage(bank)
    store = storage.open(SCOPE)
    _fill(store, "a")
    good, damaged, newer = tmp_path / "good.db", tmp_path / "damaged.db", tmp_path / "newer.db"
    for target in (good, damaged, newer):
        store.backup(target)
    content = bytearray(damaged.read_bytes())
    content[5_000:5_100] = b"\xff" * 100
    damaged.write_bytes(content)
    connection = open_connection(newer)
    connection.pragma("user_version", len(MIGRATIONS) + 7)
    connection.close()
    stranger = SqliteStorage(tmp_path / "other.db").open(Scope(tenant="someone", project="else"))
    stranger.backup(tmp_path / "foreign.db")
    stranger.close()
    for name, error in (
        ("missing.db", StoreUnavailable),
        ("damaged.db", StoreCorrupt),
        ("newer.db", StoreTooNew),
        ("foreign.db", ScopeViolation),
        ("x" * 300, StoreUnavailable),
    ):
        with pytest.raises(error):
            storage.restore(SCOPE, tmp_path / name)
    for target in (bank, tmp_path / "missing" / "x.db", tmp_path / ("x" * 300)):
        with pytest.raises(StoreUnavailable):
            store.backup(target)
    assert _ids(store) == ["a"]
    assert store.check().problems == ()
    store.close()
    assert not [path for path in tmp_path.iterdir() if path.suffix in {".partial", ".restoring"}]
