"""A full disk: a clear error, reads go on, what was acknowledged is there, and writing resumes with the space."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import apsw
import numpy
import pytest

from durability.faulty_disk import NAME, Disk, FailingSystem
from durability.nursery import Task, events, nursery, wait_for
from durability.workload import EVERYTHING, SCOPE, Model, derived, lesson, read_back, vector
from promises import promise
from reasoningbank.errors import StoreFull
from reasoningbank.storage import vector_search as scan
from reasoningbank.storage.sqlite_file import SqliteStorage

OPERATIONS = 250
BALLAST = 256 * 1024


@pytest.fixture
def disk() -> Iterator[Disk]:
    """A disk that can be full, as a file system of this process."""
    if NAME in apsw.vfs_names():
        pytest.skip("the failing file system is in use")
    state = Disk(seed=3)
    system = FailingSystem(state)
    yield state
    system.unregister()


@promise(
    "durability:disk-full",
    "A full disk is StoreFull with a hint, wherever it strikes: nothing of that write is stored, reads go on, every "
    "acknowledged memory is there, and writing resumes with the space.",
    source="issue 2; spec/engineering B.2",
)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_writes_that_fail_at_random_places_leave_no_trace(disk: Disk, tmp_path: Path) -> None:
    """Each operation either succeeds or raises StoreFull and changes nothing, wherever the disk was full."""
    store = SqliteStorage(tmp_path / "bank.db", vfs=NAME).open(SCOPE)
    chance, model = random.Random(5), Model()
    try:
        for number in range(OPERATIONS):
            operation, memory_id = model.choose(chance, "full", number)
            disk.share = chance.choice((0.0, 0.05, 0.3))
            try:
                with store.transaction() as transaction:
                    model.perform(transaction, operation, memory_id)
            except StoreFull as error:
                assert "space" in error.hint
            else:
                model.apply(operation, memory_id)
            disk.share = 1.0 if number % 20 == 19 else 0.0
            if number % 20 == 19:
                found = read_back(store)
                assert (found.versions, found.signals) == (model.versions, model.signals)
        disk.share = 0.0
        with store.transaction() as transaction:
            transaction.memories.insert(lesson("after"), derived("after"))
        assert store.check().problems == ()
    finally:
        disk.share = 0.0
        store.close()
    print(f"{disk.refused} refused writes of pages in {OPERATIONS} operations")
    assert disk.refused > 50


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of two megabytes."""
    place = tmp_path / "disk"
    place.mkdir()
    if sys.platform != "linux":
        pytest.skip("needs Linux to make a small file system")
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)]
    made = subprocess.run(command, capture_output=True, check=False)
    if made.returncode:
        pytest.skip("needs the right to mount a small file system; the test above does without")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


@promise("durability:disk-full")
def test_a_disk_that_fills_up_loses_nothing(small_disk: Path, tmp_path: Path) -> None:
    """On a real full disk: StoreFull, every acknowledged memory readable, and writes go on once there is space."""
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(BALLAST))
    report = tmp_path / "report"
    with nursery() as children:
        pid = children.start(Task(role="fill_the_disk", bank=str(small_disk / "bank"), report=str(report), name="m"))
        limit = time.monotonic() + 60
        while not any(event[0] in {"read", "error", "crash"} for event in events(report)):
            assert time.monotonic() < limit
            time.sleep(0.02)
        ballast.unlink()
        report.with_name("space").touch()
        wait_for(pid)
    seen = events(report)
    assert seen[-1] == ["end"], seen[-1]
    assert any(event[0] == "full" for event in seen)
    acknowledged = {event[1] for event in seen if event[0] == "done"}
    store = SqliteStorage(small_disk / "bank").open(SCOPE)
    try:
        assert set(read_back(store).versions) == acknowledged
        assert "m-after" in acknowledged
        assert store.check().problems == ()
    finally:
        store.close()
    print(f"{len(acknowledged)} acknowledged memories on 2 MiB, all there")


@promise(
    "durability:sidecar-full",
    "A search answers the same when its sidecar file cannot be written.",
    source="DESIGN D3",
)
def test_a_search_answers_when_its_sidecar_cannot_be_written(tmp_path: Path) -> None:
    """The sidecar is derived: where it cannot be written, the search answers from memory."""
    bank = tmp_path / "bank.db"
    bank.with_name("bank.db.vectors").write_bytes(b"not a directory")
    store = SqliteStorage(bank).open(SCOPE)
    count = scan.SNAPSHOT_MIN_ROWS + 50
    try:
        with store.transaction() as transaction:
            for number in range(count):
                transaction.memories.insert(lesson(f"m{number}"), derived(f"m{number}"))
        for number in (0, 7, count - 1):
            hits = store.search.nearest("content", vector(f"m{number}", 1, "content"), EVERYTHING, 3)
            assert hits[0].id == f"m{number}"
            assert numpy.isclose(hits[0].score, 1.0)
    finally:
        with suppress(StoreFull):
            store.close()
