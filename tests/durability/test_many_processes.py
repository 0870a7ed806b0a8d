"""Many processes on one bank: nobody is turned away, nothing is lost, and nobody waits for long."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from durability.nursery import Nursery, Task, events, nursery, wait_for
from durability.workload import EVERYTHING, SCOPE, read_back
from promises import promise
from reasoningbank.storage.sqlite_file import SqliteStorage

WRITERS = 16
WRITES = 100
READERS = 4
LONGEST_P99 = 2.0
"""Seconds; a fair queue stays far below, the unfair one of SQLite alone took 3.6 s on an idle machine."""
CREATORS = 8
ROUNDS = 40
PAUSE = 0.03
"""Seconds until all processes of a round begin at once."""


@promise(
    "durability:many-writers",
    "16 processes that write at once beside 4 readers lose nothing, never see 'locked', and wait their fair turn.",
    source="issue 2; DESIGN D2",
)
def test_sixteen_writers_and_four_readers_lose_nothing_and_are_never_turned_away(tmp_path: Path) -> None:
    """Every write succeeds, is there afterwards, and waits its fair turn; every reader always gets right answers."""
    bank = tmp_path / "bank"
    SqliteStorage(bank).open(SCOPE).close()
    with nursery() as children:
        start = time.time() + 0.3
        readers = [_child(children, "read_until_told", bank, tmp_path / f"reader-{n}", 0, 0.0) for n in range(READERS)]
        writers = [_child(children, "write_many", bank, tmp_path / f"w{n}", WRITES, start) for n in range(WRITERS)]
        for pid in writers:
            wait_for(pid, 120)
        (tmp_path / "stop").touch()
        for pid in readers:
            wait_for(pid)
    writes = sorted(_seconds(tmp_path, "w", WRITERS, "done"))
    reads = sorted(_seconds(tmp_path, "reader-", READERS, "read"))
    print(f"{len(writes)} writes: {_percentiles(writes)}; {len(reads)} reads meanwhile: {_percentiles(reads)}")
    assert len(writes) == WRITERS * WRITES
    store = SqliteStorage(bank).open(SCOPE)
    try:
        assert store.memories.count(EVERYTHING) == WRITERS * WRITES
        assert store.check().problems == ()
        assert len(read_back(store, "w0-").versions) == WRITES
    finally:
        store.close()
    assert writes[len(writes) * 99 // 100] < LONGEST_P99


@promise(
    "durability:first-open",
    "8 processes that create one bank at once all succeed, in the directory layout and in a named file.",
    source="issue 2; DESIGN D2",
)
@pytest.mark.parametrize("place", ["bank", "bank.db"])
def test_eight_processes_that_create_one_bank_at_once_all_succeed(place: str, tmp_path: Path) -> None:
    """Nobody meets a half-made bank, in the directory layout and in a file that the user named."""
    with nursery() as children:
        for number in range(ROUNDS):
            directory = tmp_path / f"round-{number}"
            directory.mkdir()
            start = time.time() + PAUSE
            pids = [
                _child(children, "create", directory / place, directory / f"c{n}", 0, start) for n in range(CREATORS)
            ]
            for pid in pids:
                wait_for(pid)
            for n in range(CREATORS):
                seen = events(directory / f"c{n}")
                assert [event[0] for event in seen] == ["open", "done", "end"], seen
            store = SqliteStorage(directory / place).open(SCOPE)
            try:
                assert store.memories.count(EVERYTHING) == CREATORS
            finally:
                store.close()


def _child(children: Nursery, role: str, bank: Path, report: Path, count: int, start: float) -> int:
    task = Task(role=role, bank=str(bank), report=str(report), name=report.name, count=count, start=start)
    return children.start(task)


def _seconds(directory: Path, prefix: str, count: int, kind: str) -> list[float]:
    """The durations that the children of a prefix have reported; none of them may have failed."""
    found: list[float] = []
    for number in range(count):
        seen = events(directory / f"{prefix}{number}")
        assert seen[-1] == ["end"], seen[-1]
        found += [float(event[-1]) for event in seen if event[0] == kind]
    return found


def _percentiles(seconds: list[float]) -> str:
    half, most = seconds[len(seconds) // 2], seconds[len(seconds) * 99 // 100]
    return f"p50 {half * 1000:.1f} ms, p99 {most * 1000:.1f} ms"
