"""Processes that are killed while they write: what was acknowledged is there, and nothing is half there."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import cast

import pytest

from durability.nursery import Nursery, Task, events, kill, nursery
from durability.workload import SCOPE, Model, Operation, check_gone, read_back
from promises import promise
from reasoningbank.storage.sqlite_file import SqliteStorage
from torture_results import Tally

KILLS = 100
TORTURE_KILLS = 400
KILLS_PER_BANK = 10
AT_ONCE = (1, 1, 3)
"""Children that write to one bank at once, round by round."""


@promise(
    "durability:kill",
    "kill -9 at random moments of one or several writers loses no acknowledged write and leaves nothing torn: row, "
    "text index, tags, vectors and evidence belong to one state.",
    source="issue 2; DESIGN D2; spec/engineering B.2",
)
@pytest.mark.timeout(3_600)
def test_no_acknowledged_write_is_lost_when_processes_are_killed(tmp_path: Path, torture: bool, tally: Tally) -> None:
    """Row, text index, tags, vectors and evidence of every acknowledged write are there after each kill."""
    chance = random.Random(7)
    kills, acknowledged = 0, 0
    with nursery() as children:
        while kills < (TORTURE_KILLS if torture else KILLS):
            children_now = AT_ONCE[(kills // KILLS_PER_BANK) % len(AT_ONCE)]
            bank = tmp_path / f"bank-{kills // KILLS_PER_BANK}"
            reports = [tmp_path / f"report-{kills + number}" for number in range(children_now)]
            _write_and_kill(children, bank, reports, chance)
            kills += len(reports)
            acknowledged += _check(bank, reports)
    tally.kills("the store itself, up to three writers at once", kills, acknowledged=acknowledged)
    assert acknowledged > kills


def _write_and_kill(children: Nursery, bank: Path, reports: list[Path], chance: random.Random) -> None:
    pids = [
        children.start(Task(role="write_until_killed", bank=str(bank), report=str(report), name=report.name))
        for report in reports
    ]
    time.sleep(chance.uniform(0.0, 0.05) if chance.random() < 0.15 else chance.uniform(0.06, 0.4))
    for pid in pids:
        kill(pid)


def _check(bank: Path, reports: list[Path]) -> int:
    """Compares the bank with what each child saw acknowledged; returns how many writes that were."""
    store = SqliteStorage(bank).open(SCOPE)
    acknowledged = 0
    try:
        assert store.check().problems == ()
        for report in reports:
            seen = events(report)
            assert not [event for event in seen if event[0] in {"error", "crash"}], seen[-1]
            done, pending = _followed(seen)
            found = read_back(store, f"{report.name}-")
            possible = [(done.versions, done.signals), (pending.versions, pending.signals)]
            assert (found.versions, found.signals) in possible, f"{report.name}: {seen[-3:]}"
            for memory_id in done.deleted:
                check_gone(store, memory_id)
            acknowledged += sum(event[0] == "done" for event in seen)
    finally:
        store.close()
    return acknowledged


def _followed(seen: list[list[str]]) -> tuple[Model, Model]:
    """The bank after all that was acknowledged, and the same with the operation that was under way."""
    done = Model()
    pending = done
    for event in seen:
        if event[0] == "begin":
            pending = done.copy()
            pending.apply(cast(Operation, event[1]), event[2])
        elif event[0] == "done":
            done = pending
    return done, pending
