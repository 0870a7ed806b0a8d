"""What lies beside a bank: nothing of killed processes, few old copies, and nothing of what was deleted."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from durability.workload import SCOPE, record
from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.storage.sqlite_file import KEPT_RESTORES, SqliteStorage
from torture_results import Tally

KILLS = 12
TORTURE_KILLS = 60
SCRATCH = (".partial", ".restoring", ".repairing", ".erasing")


def _left(folder: Path) -> list[str]:
    """Names of files that should be there only while somebody works at them."""
    return sorted(path.name for path in folder.rglob("*") if any(part in path.name for part in SCRATCH))


def _dead_process() -> int:
    """The number of a process that has ended."""
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    return done.pid


@promise(
    "durability:litter",
    "What a killed process left half-written beside a bank is removed when the bank is opened next; the files of "
    "processes that still run stay.",
    source="issue 13",
)
def test_what_a_killed_process_left_is_removed_at_the_next_opening(
    open_local_bank: Callable[..., Bank], home: Path
) -> None:
    bank = open_local_bank(project="shop")
    bank.record(title="Close first", content="Close the shop before a move.", outcome="success")
    backup = bank.admin.backup()
    bank.close()
    file = next((home / "banks").rglob("shop-*.db"))
    dead, own = _dead_process(), os.getpid()
    for process in (dead, own):
        (file.parent / f"{file.name}.{process}-0123456789ab.restoring").write_bytes(b"half")
        (file.parent / f"{file.name}.{process}-0123456789ab.restoring-journal").write_bytes(b"half")
        (backup.parent / f"{backup.name}.{process}-0123456789ab.partial").write_bytes(b"half")
        (file.parent / f"{file.name}.{process}-0123456789ab.repairing").mkdir()
        (file.parent / f"{file.name}.{process}-0123456789ab.repairing" / "bank.db").write_bytes(b"half")
    (file.parent / "notes.partial").write_text("mine")
    open_local_bank(project="shop").close()
    left = _left(home)
    assert [name for name in left if str(own) in name]
    assert not [name for name in left if f".{dead}-" in name]
    assert "notes.partial" in left


def _work_for_ever(bank: Path, backup: Path) -> None:
    """Does all that writes files beside a bank: restore, backup, a deletion in the copies, a repair."""
    storage = SqliteStorage(bank)
    while True:
        storage.restore(SCOPE, backup)
        store = storage.open(SCOPE)
        store.backup(backup.with_name("again.db"))
        with store.transaction() as transaction:
            transaction.memories.delete("m-1")
        store.close()
        with storage.salvaged(SCOPE) as (_, _, path):
            pass
        path.unlink()


@promise("durability:litter")
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
@pytest.mark.timeout(3_600)
def test_killed_restores_backups_deletions_and_repairs_leave_nothing_behind(
    tmp_path: Path, torture: bool, tally: Tally
) -> None:
    bank, backup = tmp_path / "place" / "bank.db", tmp_path / "place" / "backup.db"
    store = SqliteStorage(bank).open(SCOPE)
    for number in range(60):
        with store.transaction() as transaction:
            record(transaction, f"m-{number}")
    store.backup(backup)
    store.close()
    found = 0
    fork = multiprocessing.get_context("fork")
    for number in range(TORTURE_KILLS if torture else KILLS):
        child = fork.Process(target=_work_for_ever, args=(bank, backup))
        child.start()
        time.sleep(0.1 + 0.05 * (number % 20))
        assert child.pid is not None
        os.kill(child.pid, signal.SIGKILL)
        child.join()
        found += bool(_left(tmp_path))
        store = SqliteStorage(bank).open(SCOPE)
        store.backup(tmp_path / "place" / "again.db")
        assert store.check().problems == ()
        assert store.memories.get("m-59").id == "m-59"
        store.close()
        assert _left(tmp_path) == []
        for path in bank.parent.glob("*.repaired-*"):
            path.unlink()
    tally.kills("restore, backup, erasure and repair in turn", number + 1, under_way=found)
    assert found, "no kill came while a file was half-written"
    assert len(list(bank.parent.glob("bank.db.before-restore-*"))) <= 2 * (KEPT_RESTORES + 1)


@promise(
    "durability:kept-restores",
    "Of what restores have replaced, the newest three are kept.",
    source="issue 13",
)
def test_the_newest_three_replaced_banks_are_kept(open_local_bank: Callable[..., Bank], home: Path) -> None:
    bank = open_local_bank(project="shop")
    backup = bank.admin.backup()
    for _ in range(5):
        bank.admin.restore(backup)
    assert len(list((home / "banks").rglob("*.before-restore-*"))) == 3


@promise(
    "durability:deleted-everywhere",
    "What is deleted is gone from what a restore has kept, too; the rest of that stays. A backup brings it back.",
    source="issue 13",
)
def test_a_deletion_reaches_the_copies_that_nobody_asked_for(open_local_bank: Callable[..., Bank], home: Path) -> None:
    bank = open_local_bank(project="shop")
    secret = bank.record(title="Move to Ulm", content="The zebrafish account moves to Ulm.", outcome="success")
    kept = bank.record(title="Close first", content="Close the shop before a walrus comes.", outcome="success")
    backup = bank.admin.backup()
    bank.admin.restore(backup)
    copies = [backup, *(home / "banks").rglob("*.before-restore-*")]
    assert len(copies) == 2
    assert all(b"zebrafish" in path.read_bytes() for path in copies)
    bank.delete(secret.id)
    bank.close()
    for path in home.rglob("*"):
        if path.is_file() and path != backup:
            assert b"zebrafish" not in path.read_bytes(), path
    assert all(b"walrus" in path.read_bytes() for path in copies)
    again = open_local_bank(project="shop")
    again.admin.restore(backup)
    assert {memory.id for memory in again.memories.list()} == {secret.id, kept.id}
    assert again.admin.check().problems == ()
    assert _left(home) == []
