"""Processes that are killed while they capture sessions and work on their jobs: none is lost, none is done twice."""

from __future__ import annotations

import random
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from durability.learning_workload import LEASE, check_sessions, claim, distil
from durability.nursery import Task, events, kill, nursery
from durability.workload import SCOPE
from promises import promise
from reasoningbank.storage.sqlite_file import SqliteStorage
from reasoningbank.storage.store import Store
from torture_results import Tally

ROUNDS = 12
TORTURE_ROUNDS = 48
ROUNDS_PER_BANK = 6
AT_ONCE = 3


@promise(
    "durability:kill-jobs",
    "Workers killed at any moment lose no session and no job, and no job is done twice.",
    source="issue 3 Jobs",
)
@pytest.mark.timeout(3_600)
def test_no_job_is_lost_or_done_twice_when_its_workers_are_killed(tmp_path: Path, torture: bool, tally: Tally) -> None:
    """Three workers share each bank and are killed again and again; in the end every captured session is learned."""
    chance = random.Random(31)
    rounds = TORTURE_ROUNDS if torture else ROUNDS
    finished = taken_over = 0
    with nursery() as children:
        for first in range(0, rounds, ROUNDS_PER_BANK):
            bank = tmp_path / f"bank-{first}"
            reports: list[Path] = []
            for turn in range(first, first + ROUNDS_PER_BANK):
                fresh = [tmp_path / f"report-{turn}-{number}" for number in range(AT_ONCE)]
                tasks = [
                    Task(role="learn_until_killed", bank=str(bank), report=str(report), name=report.name)
                    for report in fresh
                ]
                pids = [children.start(task) for task in tasks]
                time.sleep(chance.uniform(0.25, 0.6))
                for pid in pids:
                    kill(pid)
                reports += fresh
                _check(bank, reports)
            taken_over += sum(event[0] == "claimed" and int(event[2]) > 1 for each in reports for event in events(each))
            done, late = _drain(bank)
            finished, taken_over = finished + done, taken_over + late
    tally.kills("jobs of three workers at once", rounds * AT_ONCE, acknowledged=finished)
    assert finished > rounds
    assert taken_over > 0


def _check(bank: Path, reports: list[Path]) -> None:
    """Compares the bank with what all children saw acknowledged."""
    store = SqliteStorage(bank).open(SCOPE)
    try:
        assert store.check().problems == ()
        names, done = check_sessions(store, _late())
        seen = [event for report in reports for event in events(report)]
        wrong = [event for event in seen if event[0] in {"error", "crash"}]
        assert not wrong, wrong[0]
        assert {event[1] for event in seen if event[0] == "captured"} <= names
        finished = Counter(event[1] for event in seen if event[0] == "done")
        assert set(finished) <= done
        assert set(finished.values()) <= {1}, "a job was done twice"
    finally:
        store.close()


def _drain(bank: Path) -> tuple[int, int]:
    """Does what is left; returns how many sessions the bank has learned from, and how many jobs somebody had begun."""
    time.sleep(LEASE.total_seconds())
    store: Store = SqliteStorage(bank).open(SCOPE)
    try:
        turn = begun = 0
        while job := claim(store, f"last/{turn}", datetime.now(UTC)):
            turn += 1
            begun += job.attempts > 1
            with store.transaction() as transaction:
                assert distil(transaction, job, datetime.now(UTC))
        names, done = check_sessions(store, _late())
        assert names == done
        return len(done), begun
    finally:
        store.close()


def _late() -> datetime:
    return datetime.now(UTC) + timedelta(days=1)
