"""Workers that are killed at any moment: every captured session is learned from exactly once, and no job is left."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from jobs.killed_worker import open_bank, words
from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.types.session import DISTILL, RECIPE, Origin, Trajectory
from sessions.made_lessons import ran
from torture_results import Tally

SESSIONS, TORTURE_SESSIONS = 40, 400
AT_ONCE = 2
FAR = datetime(2099, 1, 1, tzinfo=UTC)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@promise("worker:kill", "Workers that are killed at any moment lose no job and do none twice.", source="issue Jobs")
@promise(
    "issue3:kill-worker",
    "Forty sessions give forty lessons and an empty queue however often the workers are killed.",
    source="issue Jobs",
)
@pytest.mark.timeout(900)
def test_killed_workers_lose_nothing_and_do_nothing_twice(tmp_path: Path, torture: bool, tally: Tally) -> None:
    wanted, chance, kills = TORTURE_SESSIONS if torture else SESSIONS, random.Random(41), 0
    with open_bank(tmp_path) as bank:
        for number in range(wanted):
            task = f"Repair session number {number} of the {words(number)[0]}"
            assert not bank.sessions.keep(Trajectory(task=task, steps=(ran(3),), session=f"s{number}")).duplicate
        bank.jobs.work(limit=1)
        began = time.monotonic()
        bank.jobs.work(limit=1)
        pace = time.monotonic() - began
        nursery = subprocess.Popen(
            [sys.executable, "-m", "jobs.killed_worker", str(tmp_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])},
        )
        assert nursery.stdin is not None
        assert nursery.stdout is not None
        with nursery:
            while bank.sessions.list(pending=True, limit=1):
                assert bank.jobs.dead() == ()
                pids = []
                for _ in range(AT_ONCE):
                    nursery.stdin.write("start\n")
                    nursery.stdin.flush()
                    pids.append(int(nursery.stdout.readline()))
                time.sleep(pace * chance.uniform(1, 10))
                for pid in pids:
                    kills += 1
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
            nursery.stdin.close()
        _finish(bank)
        _check(bank, wanted)
    tally.kills("distilling with a scripted model", kills, acknowledged=wanted)
    assert kills >= AT_ONCE * 4


def _finish(bank: Bank) -> None:
    """Does what the last killed workers had in hand when their leases have run out."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and any(
        job.kind == DISTILL for job in bank._context.store().jobs.waiting(due=FAR)
    ):
        bank.jobs.work()
        time.sleep(0.05)


def _check(bank: Bank, wanted: int) -> None:
    assert [job for job in bank._context.store().jobs.waiting(due=FAR) if job.kind == DISTILL] == []
    assert bank.jobs.dead() == ()
    entries = bank.sessions.list()
    assert len(entries) == wanted
    taught = set()
    shown: list[Origin] = []
    for entry in entries:
        assert entry.distilled is not None
        origins = bank._context.store().sessions.origins(trajectory=entry.id)
        (origin,) = (one for one in origins if one.model != RECIPE)
        shown += [one for one in origins if one.model == RECIPE]
        assert origin.kind == "distilled"
        memory = bank.get(origin.memory_id)
        assert words(int(entry.session[1:]))[5] in memory.content
        taught.add(memory.id)
    assert len(taught) == bank.memories.count() - 1 == wanted
    assert len({one.trajectory for one in shown}) == len(shown) == wanted, "the fact of all sessions"
    assert len({one.memory_id for one in shown}) == 1
    assert bank.distillation.refusals() == ()
    assert bank.admin.check().problems == ()
