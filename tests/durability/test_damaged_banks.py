"""Banks in use, damaged at random: every answer is right or says what to do, and a repair saves what is whole."""

from __future__ import annotations

import random
import struct
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import cast

import apsw
import pytest

from durability.damages import DAMAGES, PAGE, Damage, cut, scatter
from durability.real_banks import RealBank, answer, edges, made, opened_at
from durability.whole_rows import Row, stored_rows
from durability.writers import bank_file
from promises import promise
from reasoningbank.storage.sqlite_connection import checksum_vfs
from torture_results import Tally

ROUNDS = 40
TORTURE_ROUNDS = 1_000
LOG_HEADER, FRAME_HEADER = 32, 24
TARGETS = ("file", "file", "file", "log", "log", "both", "no log", "sidecar", "lock")
WHOLE_ROWS = ("memories", "traces", "refusals", "documents", "jobs", "graph_nodes")
"""Tables whose rows prove themselves, and need no other table's row."""


@promise(
    "durability:damaged-banks",
    "A bank in use whose file, log, shared memory, vectors or lock file is damaged at random gives right answers or an "
    "error that says what to do; the check names what the answers cannot show; and what a repair saves is every row "
    "that lies on whole pages, each as it once was.",
    source="issue 13, It must show",
)
@pytest.mark.timeout(7_200)
def test_a_damaged_bank_answers_right_or_says_what_to_do_and_is_repaired(
    tmp_path: Path, torture: bool, tally: Tally
) -> None:
    chance, bank = random.Random(37), made(tmp_path / "whole")
    counts, rows = Counter[str](), Counter[str]()
    rounds = TORTURE_ROUNDS if torture else ROUNDS
    for number in range(rounds):
        changed = _damaged(bank, TARGETS[number % len(TARGETS)], chance)
        home = tmp_path / "damaged"
        bank.lay_out(home, changed)
        found = _examined(bank, home)
        counts[found] += 1
        if found != "unharmed":
            bank.lay_out(home, changed)
            rows += _repaired(bank, home, changed)
    tally.add("corruptions", "banks in use, with their logs, and their repair", rounds, **counts, wrong=0, **rows)
    assert counts["named"] > rounds // 4
    assert rows["rows_saved"]


def _damaged(bank: RealBank, target: str, chance: random.Random) -> dict[Path, bytes]:
    """The files that are damaged, with their bytes."""
    log = bank.name.with_name(f"{bank.name.name}-wal")
    if target == "no log":
        return {log: b""}
    if target == "sidecar":
        others = [name for name in bank.files if name.suffix == ".vectors" or name.name.endswith("-shm")]
        names = [chance.choice(others)]
    else:
        lock = bank.name.with_name(f"{bank.name.name}.lock")
        names = {"file": [bank.name], "log": [log], "both": [bank.name, log], "lock": [lock]}[target]
    changed = {}
    for name in names:
        content = bytearray(bank.files[name])
        damage: Damage = chance.choice(DAMAGES) if len(content) > 4 * PAGE else chance.choice((scatter, cut))
        damage(content, chance)
        changed[name] = bytes(content)
    return changed


def _examined(bank: RealBank, home: Path) -> str:
    """Asks everything: "unharmed", "named" by an answer, or "named_by_check_alone"."""
    refused = wrong = False
    with opened_at(home) as asked:
        for question, expected in zip(bank.questions, bank.answers, strict=True):
            got = answer(asked, question)
            refused = refused or got is None
            wrong = wrong or got not in (None, expected)
        problems = asked.admin.check_store()
    assert problems or not (refused or wrong), "an answer was wrong or refused, and the check names nothing"
    if wrong:
        return "named_by_check_alone"
    return "named" if refused or problems else "unharmed"


def _repaired(bank: RealBank, home: Path, changed: Mapping[Path, bytes]) -> Counter[str]:
    """Repairs the bank and compares what was saved with what it held."""
    with opened_at(home) as damaged:
        done = damaged.admin.repair()
        assert done.problems == ()
        damaged.admin.restore(done.path)
    with opened_at(home) as again:
        assert again.admin.check().problems == ()
        saved = stored_rows(bank_file(home))
        for table, rows in saved.items():
            if table not in {"aggregates", "jobs"}:
                assert rows <= bank.held[table], f"{table}: {rows - bank.held[table]}"
        assert edges(again) <= bank.edges, "an edge between other nodes"
        untouched = _untouched(bank, changed)
        for table in WHOLE_ROWS:
            places = cast(Mapping[str, Mapping[Row, frozenset[int]]], bank.pages)[table]
            whole = {row for row, pages in places.items() if pages <= untouched}
            assert whole <= saved[table], f"{table}: {whole - saved[table]}"
        recorded = again.record(title="After the repair", content="Go on.", outcome="success")
        assert again.get(recorded.id).title == "After the repair"
    lost = sum(len(rows - saved[table]) for table, rows in bank.last.items() if table in WHOLE_ROWS)
    return Counter(rows_saved=sum(map(len, saved.values())), rows_on_damaged_pages=lost)


def _untouched(bank: RealBank, changed: Mapping[Path, bytes]) -> frozenset[int]:
    """The pages whose newest image, in the file or in its log, is what it was."""
    log = bank.name.with_name(f"{bank.name.name}-wal")
    before, after = bank.files[log], changed.get(log, bank.files[log])
    file, file_after = bank.files[bank.name], changed.get(bank.name, bank.files[bank.name])
    newest: dict[int, tuple[int, int]] = {}
    waiting: dict[int, int] = {}
    step, salt = FRAME_HEADER + PAGE, before[16:24]
    for place in range(LOG_HEADER, len(before) - step + 1, step):
        number, commit = struct.unpack_from(">II", before, place)
        if before[place + 8 : place + 16] == salt:
            waiting[number] = place
            if commit:
                newest |= {page: (start, place) for page, start in waiting.items()}
                waiting.clear()
    found = set()
    for number in range(1, max(len(file) // PAGE, *newest) + 1):
        if number in newest:
            same = all(before[at : at + step] == after[at : at + step] for at in newest[number])
        else:
            span = slice((number - 1) * PAGE, number * PAGE)
            same = file[span] == file_after[span]
        if same:
            found.add(number)
    return frozenset(found)


@promise(
    "durability:repair-log",
    "A repair also saves what is in the log alone, whichever part of the file or of the log is damaged; and no attempt "
    "to open a damaged bank removes the log.",
    source="issue 13, It must show",
)
@pytest.mark.parametrize(("of_file", "of_log"), [(100, 0), (0, 32), (100, 32), (100, PAGE)])
def test_a_repair_saves_what_is_in_the_log_alone(tmp_path: Path, of_file: int, of_log: int) -> None:
    bank = made(tmp_path / "whole")
    log = bank.name.with_name(f"{bank.name.name}-wal")
    changed = {name: bytes(size) + bank.files[name][size:] for name, size in ((bank.name, of_file), (log, of_log))}
    home = tmp_path / "damaged"
    bank.lay_out(home, changed)
    opened_at(home).close()
    assert (home / log).read_bytes() == changed[log]
    rows = _repaired(bank, home, changed)
    assert rows["rows_on_damaged_pages"] == 0


@promise("durability:repair-log")
def test_a_repair_of_an_emptied_file_saves_what_its_log_holds(tmp_path: Path) -> None:
    bank = made(tmp_path / "whole")
    home, log = tmp_path / "damaged", bank.name.with_name(f"{bank.name.name}-wal")
    bank.lay_out(home, {})
    (home / bank.name).write_bytes(b"")
    with opened_at(home) as damaged:
        done = damaged.admin.repair()
        assert (home / log).read_bytes() == bank.files[log]
        assert done.recovered["memories"] > 10
        damaged.admin.restore(done.path)
    assert any(path.read_bytes() == bank.files[log] for path in (home / log).parent.glob("*.before-restore-*-wal"))
    with opened_at(home) as repaired:
        assert repaired.memories.count() > 10


@promise("durability:restore-damaged")
@pytest.mark.parametrize("table", ["memory_text_config", "memory_text_data", "memories", "meta", "sqlite_sequence"])
def test_a_backup_is_restored_whichever_table_of_the_bank_is_lost(tmp_path: Path, table: str) -> None:
    bank = made(tmp_path / "whole")
    home = tmp_path / "damaged"
    bank.lay_out(home, {})
    file = bank_file(home)
    with opened_at(home) as whole:
        whole.admin.backup(tmp_path / "backup.db")
    with closing(apsw.Connection(str(file), vfs=checksum_vfs())) as connection:
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        roots = {
            str(row[0]): int(str(row[1])) for row in connection.execute("SELECT name, rootpage FROM sqlite_schema")
        }
    content = bytearray(file.read_bytes())
    lost, empty = (slice((roots[name] - 1) * PAGE, roots[name] * PAGE) for name in (table, "links"))
    content[lost] = content[empty]
    file.write_bytes(content)
    with opened_at(home) as damaged:
        assert damaged.admin.check_store()
        damaged.admin.restore(tmp_path / "backup.db")
    with opened_at(home) as restored:
        assert restored.admin.check().problems == ()
        assert [answer(restored, question) for question in bank.questions] == bank.answers
