"""A bank that other programs have opened: it stays readable, and what they have left behind is put in order."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.errors import StoreCorrupt
from reasoningbank.storage.sqlite_file import SqliteStorage


def _open_elsewhere(home: Path, statement: str) -> object:
    """Run a statement in SQLite itself, as a person with its shell does; it is the last that closes the bank."""
    file = next((home / "banks").rglob("shop-*.db"))
    with closing(sqlite3.connect(file)) as other_program:
        found = other_program.execute(statement).fetchone()
        other_program.commit()
    return found


@promise(
    "durability:other-program",
    "An ordinary SQLite program may read and write a bank, also as the last to close it: everything recorded is still "
    "found, and the check names no problem.",
    source="issue 13",
)
def test_an_ordinary_sqlite_program_leaves_a_readable_bank(open_local_bank: Callable[..., Bank], home: Path) -> None:
    recorded = set()
    for round_number in range(3):
        bank = open_local_bank(project="shop")
        for number in range(20):
            kept = bank.record(
                title=f"Lesson {round_number} {number}", content=f"Retry call {number} twice.", outcome="success"
            )
            recorded.add(kept.id)
        bank.close()
        assert _open_elsewhere(home, "SELECT count(*) FROM memories") == (len(recorded),)
    again = open_local_bank(project="shop")
    assert {memory.id for memory in again.memories.list(limit=100)} == recorded
    assert again.search("retry the call").memories
    assert again.admin.check().problems == ()
    again.close()
    _open_elsewhere(home, "VACUUM")
    assert open_local_bank(project="shop").admin.check().problems == ()


@promise("durability:other-program")
def test_listing_all_banks_first_does_not_hide_what_another_program_left(
    open_local_bank: Callable[..., Bank], home: Path
) -> None:
    bank = open_local_bank(project="shop")
    for number in range(40):
        bank.record(title=f"Lesson {number}", content=f"Retry call {number} twice.", outcome="success")
    bank.close()
    _open_elsewhere(home, "SELECT count(*) FROM memories")
    named = SqliteStorage(home / "banks").scopes(bank.scope.tenant)
    assert "shop" in {scope.project for scope in named}
    assert open_local_bank(project="shop").memories.count() == 40


@promise(
    "durability:other-schema",
    "Indexes and statistics that another program has added to a bank are dropped at the next opening, and everything "
    "recorded is found. With a foreign trigger, view or table the bank is refused; the message names the repair, which "
    "saves every row.",
    source="issue 13",
)
@pytest.mark.parametrize(
    "statement", ["ANALYZE", "CREATE INDEX other ON memories (id)", 'CREATE UNIQUE INDEX "o\'t""her" ON memories (id)']
)
def test_an_index_of_another_program_is_dropped(
    statement: str, open_local_bank: Callable[..., Bank], home: Path
) -> None:
    _record_forty(open_local_bank)
    _open_elsewhere(home, statement)
    bank = open_local_bank(project="shop")
    assert len(bank.memories.list(limit=100)) == 40
    assert bank.search("retry the call").memories
    assert bank.admin.check().problems == ()
    bank.close()
    names = "SELECT name FROM sqlite_schema WHERE name LIKE 'sqlite_stat%' OR name LIKE 'o%t%her'"
    assert _open_elsewhere(home, names) is None


@promise("durability:other-schema")
@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER other AFTER INSERT ON memories BEGIN DELETE FROM meta; END",
        "CREATE VIEW other AS SELECT id FROM memories",
        "CREATE TABLE other (id)",
    ],
)
def test_what_another_program_changed_is_repaired_whole(
    statement: str, open_local_bank: Callable[..., Bank], home: Path
) -> None:
    _record_forty(open_local_bank)
    _open_elsewhere(home, statement)
    with pytest.raises(StoreCorrupt) as raised:
        open_local_bank(project="shop").memories.list(limit=100)
    assert "rbank doctor --repair" in raised.value.hint
    done = open_local_bank(project="shop").admin.repair()
    assert done.recovered["memories"] == 40
    assert not done.missing.get("memories")
    assert not done.cut


def _record_forty(open_local_bank: Callable[..., Bank]) -> None:
    bank = open_local_bank(project="shop")
    for number in range(40):
        bank.record(title=f"Lesson {number}", content=f"Retry call {number} twice.", outcome="success")
    bank.close()
