"""Repair of a damaged bank: every whole row comes back, none is invented, none is altered, and the loss is named."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from durability.learning_workload import capture, claim, distil
from durability.workload import EVERYTHING, LATE, SCOPE, Model, operations
from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.errors import StoreError
from reasoningbank.storage.sqlite_connection import checksum_vfs
from reasoningbank.storage.sqlite_file import SqliteStorage
from reasoningbank.storage.sqlite_salvage import SALVAGED, salvage

PAGE = 4_096
ROUNDS = 60
TORTURE_ROUNDS = 400
DERIVED = {
    "memories": {
        "confidence",
        "fingerprint",
        "text",
        "context_start",
        "context_words",
        "born",
        "change",
        "indexed",
        "key",
    }
}
"""Columns that follow from the others and are made anew."""

Row = tuple[object, ...]
Rows = Mapping[str, set[Row]]
Damage = Callable[[bytearray, random.Random], None]


def _overwrite(content: bytearray, chance: random.Random) -> None:
    for _ in range(chance.randrange(1, 6)):
        start = PAGE * chance.randrange(len(content) // PAGE)
        content[start : start + PAGE] = chance.choice((bytes(PAGE), chance.randbytes(PAGE)))


def _scatter(content: bytearray, chance: random.Random) -> None:
    for _ in range(chance.randrange(1, 40)):
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)


def _cut(content: bytearray, chance: random.Random) -> None:
    del content[chance.randrange(1, len(content)) :]


def _clear_header(content: bytearray, chance: random.Random) -> None:
    content[:100] = chance.choice((bytes(100), chance.randbytes(100)))


def _lose_first_page(content: bytearray, chance: random.Random) -> None:
    content[:PAGE] = chance.choice((bytes(PAGE), chance.randbytes(PAGE)))


def _fill_middle(content: bytearray, chance: random.Random) -> None:
    start = chance.randrange(len(content))
    end = min(len(content), start + chance.randrange(1, 20 * PAGE))
    content[start:end] = chance.randbytes(end - start)


def _swap(content: bytearray, chance: random.Random) -> None:
    first, second = (PAGE * chance.randrange(len(content) // PAGE) for _ in range(2))
    one, other = content[first : first + PAGE], content[second : second + PAGE]
    content[first : first + PAGE], content[second : second + PAGE] = other, one


DAMAGES: tuple[Damage, ...] = (_overwrite, _scatter, _cut, _clear_header, _lose_first_page, _fill_middle, _swap)


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


def _rows(path: Path) -> Rows:
    """All rows of the tables that are saved, without the columns that follow from others."""
    found = {}
    with closing(apsw.Connection(str(path), vfs=checksum_vfs())) as connection:
        for table in SALVAGED[1:]:
            names = [str(row[1]) for row in connection.execute(f"PRAGMA table_info({table})")]
            kept = ", ".join(name for name in names if name not in DERIVED.get(table, ()))
            found[table] = set(connection.execute(f"SELECT {kept} FROM {table}"))
    return found


def _keys(path: Path) -> set[Row]:
    """The number under which every memory's evidence is kept."""
    with closing(apsw.Connection(str(path), vfs=checksum_vfs())) as connection:
        return set(connection.execute("SELECT key, id FROM memories"))


def _pages(path: Path) -> Mapping[str, Mapping[Row, frozenset[int]]]:
    """On which pages each row of a table that is ordered by number lies, as SQLite itself tells it."""
    found: dict[str, dict[Row, frozenset[int]]] = {}
    with closing(apsw.Connection(str(path), vfs=checksum_vfs())) as connection:
        for table in SALVAGED[1:]:
            sql = str(connection.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (table,)).get)
            names = [str(row[1]) for row in connection.execute(f"PRAGMA table_info({table})")]
            kept = ", ".join(name for name in names if name not in DERIVED.get(table, ()))
            stat = list(connection.execute("SELECT path, pageno, ncell, pagetype FROM dbstat WHERE name = ?", (table,)))
            if "WITHOUT ROWID" in sql:
                everything = frozenset(int(str(row[1])) for row in stat)
                found[table] = dict.fromkeys(connection.execute(f"SELECT {kept} FROM {table}"), everything)
                continue
            rows = iter(list(connection.execute(f"SELECT {kept} FROM {table} ORDER BY rowid")))
            found[table] = {}
            for place, page, cells, kind in sorted(stat, key=lambda row: str(row[0])):
                if kind != "leaf":
                    continue
                for cell in range(int(str(cells))):
                    further = {int(str(row[1])) for row in stat if str(row[0]).startswith(f"{place}{cell:03x}+")}
                    found[table][next(rows)] = frozenset({int(str(page)), *further})
            assert next(rows, None) is None
    return found


def _check(
    saved: Rows,
    before: Rows,
    places: Mapping[str, Mapping[Row, frozenset[int]]],
    changed: set[int],
    memories: set[object],
) -> None:
    """Nothing is invented or altered, and what lies on whole pages is there, with all that it belongs to."""
    for table in SALVAGED[1:]:
        assert saved[table] <= before[table], f"{table}: {saved[table] - before[table]}"
    for table in ("memories", "traces", "erasures", "weight_history", "refusals", "recalls", "documents", "jobs"):
        whole = {row for row, pages in places[table].items() if not pages & changed}
        assert whole <= saved[table], f"{table}: {whole - saved[table]}"
    for table in ("revisions", "aggregates", "signals"):
        owner = 1 if table == "signals" else 0
        whole = {row for row, pages in places[table].items() if not pages & changed and row[owner] in memories}
        assert whole <= saved[table], f"{table}: {whole - saved[table]}"
    bodies = {row[0]: pages for row, pages in places["trajectory_bodies"].items()}
    for row, pages in places["trajectories"].items():
        if not (pages | bodies[row[0]]) & changed:
            assert row in saved["trajectories"]


@promise(
    "durability:repair",
    "A repair takes every row whose pages are whole out of a bank with any damage, invents and alters none, and says "
    "of which table rows are missing; the damaged file stays as it is.",
    source="issue 13",
)
@pytest.mark.timeout(3_600)
def test_a_repair_saves_every_whole_row(intact: Path, tmp_path: Path, torture: bool) -> None:
    original = intact.read_bytes()
    before, places, keys = _rows(intact), _pages(intact), _keys(intact)
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
        if damage is _clear_header:
            changed = set()
        report = salvage(SCOPE, damaged, target, change=0)
        saved = _rows(target)
        assert damaged.read_bytes() == content
        same = _keys(target) & keys
        _check(saved, before, places, changed, {row[0] for row in same})
        if saved["memories"] < before["memories"] and damage is not _cut:
            assert report.missing or report.damaged_pages
        lost += len(before["memories"] - saved["memories"])
        store = SqliteStorage(target).open(SCOPE)
        assert store.memories.count(EVERYTHING) == len(saved["memories"])
        store.close()
        for path in tmp_path.glob(f"*-{number}.db*"):
            path.unlink() if path.is_file() else None
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
