"""Every writer of a bank, killed at random moments: what it acknowledged is there, and nothing is half there."""

from __future__ import annotations

import random
import shutil
import sys
import time
from pathlib import Path

import pytest

from durability.killed_writers import WRITERS
from durability.nursery import Nursery, Task, events, kill, nursery
from durability.writers import Seen, Writer
from promises import promise
from torture_results import Tally

KILLS = 4
MOST_KILLS = 20
"""A short run goes on so long until a kill has met the writer between two acknowledged steps."""
TORTURE_KILLS = 100
IN_OPENING = 0.1
"""The share of kills that may come while the bank is being opened."""
SHORTEST, LONGEST = 0.02, 3.0
"""Seconds between which a kill's range of moments lies, whatever the speed of the machine."""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")


@promise(
    "durability:kill-writers",
    "kill -9 at random moments of an import, a capture, an erasure, a promotion, a merge, a restore, a backup, an "
    "export, a roll-up, a repair, a re-embedding or a migration leaves all of a step or nothing of it; what was "
    "acknowledged is there, the check of the bank finds nothing, and the same step can be done again.",
    source="issue 13, It must show",
)
@promise(
    "lifecycle:killed",
    "A decay that is killed leaves every memory whole, and the next run ends where one run would have.",
    source="issue 4",
)
@promise("consolidating:all-or-nothing")
@promise("consolidating:undo-exact")
@promise("durability:litter")
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("name", WRITERS)
def test_a_killed_writer_leaves_whole_steps_and_all_that_it_acknowledged(
    name: str, tmp_path: Path, torture: bool, tally: Tally
) -> None:
    writer, chance = WRITERS[name], random.Random(f"kill {name}")
    prepared = tmp_path / "prepared"
    prepared.mkdir()
    writer.prepare(prepared)
    kills = TORTURE_KILLS if torture else KILLS
    number = acknowledged = under_way = 0
    with nursery("durability.killed_writers", name) as children:
        seconds = _pace(children, writer, prepared, tmp_path / "calm")
        while number < kills or (not under_way and number < MOST_KILLS):
            place = tmp_path / f"{number}"
            _write_and_kill(children, writer, prepared, place, chance, seconds)
            seen = _seen(place / "report")
            writer.check(place / "home", seen)
            acknowledged += len(seen.done)
            under_way += seen.pending is not None
            shutil.rmtree(place)
            number += 1
    tally.kills(name, number, acknowledged=acknowledged, under_way=under_way)
    assert under_way, "no kill met the writer at work"


def _pace(children: Nursery, writer: Writer, prepared: Path, place: Path) -> float:
    """Seconds that a writer takes for its first steps, undisturbed."""
    pid, report = _start(children, writer, prepared, place)
    _wait_for(report, 1)
    began = time.monotonic()
    _wait_for(report, 1 + 2 * writer.steps)
    seconds = time.monotonic() - began
    kill(pid)
    writer.check(place / "home", _seen(report))
    return min(max(seconds, SHORTEST), LONGEST)


def _write_and_kill(
    children: Nursery, writer: Writer, prepared: Path, place: Path, chance: random.Random, seconds: float
) -> None:
    pid, report = _start(children, writer, prepared, place)
    if chance.random() >= IN_OPENING:
        _wait_for(report, 1)
    time.sleep(chance.uniform(0.0, seconds))
    kill(pid)


def _start(children: Nursery, writer: Writer, prepared: Path, place: Path) -> tuple[int, Path]:
    shutil.copytree(prepared, place / "home")
    report = place / "report"
    return children.start(Task(role=writer.name, bank=str(place / "home"), report=str(report), name="w")), report


def _wait_for(report: Path, lines: int) -> None:
    deadline = time.monotonic() + 120
    while len(seen := events(report)) < lines:
        assert not [event for event in seen if event[0] in {"error", "crash"}], seen[-1]
        assert time.monotonic() < deadline, f"{len(seen)} of {lines} events"
        if seen and seen[-1] == ["end"]:
            return
        time.sleep(0.001)


def _seen(report: Path) -> Seen:
    done: list[str] = []
    pending = None
    for event in events(report):
        assert event[0] not in {"error", "crash"}, event
        what = " ".join(event[1:])
        if event[0] == "begin":
            pending = what
        elif event[0] == "done":
            done.append(what)
            pending = None
    return Seen(done=done, pending=pending)
