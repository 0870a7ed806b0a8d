"""Repair of a damaged bank: every whole row comes back, none is invented, none is altered, and the loss is named."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from durability.damages import DAMAGES, PAGE, clear_header, cut, lose_first_page
from durability.learning_workload import capture, claim, distil
from durability.whole_rows import check_saved, memory_keys, row_pages, stored_rows
from durability.workload import EVERYTHING, LATE, SCOPE, Model, operations
from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.errors import StoreError
from reasoningbank.storage.sqlite_connection import checksum_vfs
from reasoningbank.storage.sqlite_file import SqliteStorage
from reasoningbank.storage.sqlite_salvage import salvage
from torture_results import Tally

ROUNDS = 60
TORTURE_ROUNDS = 400


@pytest.fixture
def intact(tmp_path: Path) -> Path:
    """A bank of a hundred memories with evidence and sessions, as one file."""
    store = SqliteStorage(tmp_path / "first" / "bank.db").open(SCOPE)
    model = Model()
    steps = operations(7, "r", model)
    for _ in range(160):
        operation, memory_id = next(steps)
        with store.transaction() as transaction:
            model.perform(transaction, operation, memory_id)
        model.apply(operation, memory_id)
    for number in range(20):
        with store.transaction() as transaction:
            capture(transaction, f"session-{number}")
        if number % 2 and (job := claim(store, f"lease-{number}", LATE)) is not None:
            with store.transaction() as transaction:
                assert distil(transaction, job, LATE)
    store.backup(tmp_path / "intact.db")
    store.close()
    return tmp_path / "intact.db"


@promise(
    "durability:repair",
    "A repair takes every row whose pages are whole out of a bank with any damage, invents and alters none, and says "
    "of which table rows are missing; the damaged file stays as it is.",
    source="issue 13",
)
@pytest.mark.timeout(3_600)
def test_a_repair_saves_every_whole_row(intact: Path, tmp_path: Path, torture: bool, tally: Tally) -> None:
    original = intact.read_bytes()
    before, places, keys = stored_rows(intact), row_pages(intact), memory_keys(intact)
    chance = random.Random(13)
    lost = 0
    for number in range(TORTURE_ROUNDS if torture else ROUNDS):
        damage = DAMAGES[number % len(DAMAGES)]
        content = bytearray(original)
        damage(content, chance)
        damaged, target = tmp_path / f"damaged-{number}.db", tmp_path / f"new-{number}.db"
        damaged.write_bytes(content)
        changed = {
            page + 1
            for page in range(len(original) // PAGE)
            if content[page * PAGE : (page + 1) * PAGE] != original[page * PAGE : (page + 1) * PAGE]
        }
        if damage is clear_header:
            changed = set()
        report = salvage(SCOPE, damaged, target, change=0)
        saved = stored_rows(target)
        assert damaged.read_bytes() == content
        same = memory_keys(target) & keys
        check_saved(saved, before, places, changed, {row[0] for row in same})
        if saved["memories"] < before["memories"] and damage is not cut:
            assert report.missing or report.damaged_pages
        if damage in {cut, clear_header, lose_first_page}:
            assert report.cut, "a file of which a part is gone is said to be whole"
        lost += len(before["memories"] - saved["memories"])
        store = SqliteStorage(target).open(SCOPE)
        assert store.memories.count(EVERYTHING) == len(saved["memories"])
        store.close()
        for path in tmp_path.glob(f"*-{number}.db*"):
            path.unlink() if path.is_file() else None
    tally.add("corruptions", "a file to be repaired", number + 1, whole_rows_lost=0, invented=0, altered=0)
    assert lost, "no damage has cost a row, so nothing was tried"


@promise("durability:repair")
def test_a_repair_puts_a_bank_right_that_nothing_else_can_read(
    open_local_bank: Callable[..., Bank], home: Path, tmp_path: Path
) -> None:
    bank = open_local_bank(project="shop")
    kept = [
        bank.record(title=f"Lesson {number}", content=f"Retry call {number} after a pause.", outcome="success")
        for number in range(60)
    ]
    for memory in kept[:20]:
        bank.feedback(memory.id, helpful=True)
    before = {memory.id: (memory.title, memory.confidence) for memory in bank.memories.list(limit=0)}
    bank.close()
    file = next((home / "banks").rglob("shop-*.db"))
    log = file.with_name(f"{file.name}-wal")
    with closing(apsw.Connection(str(file), vfs=checksum_vfs())) as connection:
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    log.unlink(missing_ok=True)
    content = bytearray(file.read_bytes())
    content[:100] = bytes(100)
    content[len(content) // 2 : len(content) // 2 + 3 * PAGE] = random.Random(1).randbytes(3 * PAGE)
    file.write_bytes(content)
    again = open_local_bank(project="shop")
    with pytest.raises(StoreError):
        again.memories.list()
    done = again.admin.repair()
    assert file.read_bytes() == bytes(content)
    assert done.problems == ()
    assert done.recovered["memories"] == 60 or done.missing["memories"] == 60 - done.recovered["memories"]
    again.admin.restore(done.path)
    after = {memory.id: (memory.title, memory.confidence) for memory in again.memories.list(limit=0)}
    assert after.items() <= before.items()
    assert len(after) == done.recovered["memories"] > 30
    assert again.search("retry the call after a pause").memories
    assert again.admin.check().problems == ()
