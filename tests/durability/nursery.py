"""Processes for the durability tests: imported once, forked in milliseconds, killed without warning.

``python -m durability.nursery`` reads one JSON object per line: which role, in which bank, writing to which report;
it answers each with the process id of a new child. A child's report is a file that it appends one line to per event,
unbuffered, so that it survives ``kill -9`` and holds exactly what the child saw acknowledged.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from durability.learning_workload import capture, claim, distil
from durability.workload import EVERYTHING, SCOPE, Model, derived, lesson, operations, vector, word
from reasoningbank.errors import BankError, StoreFull
from reasoningbank.storage.sqlite_file import SqliteStorage
from reasoningbank.storage.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What a child does.

    Attributes:
        role: Name of a function of this module.
        bank: The directory or file of the bank.
        report: The file for its events.
        name: Prefix of the ids it owns.
        count: How many times, when the role ends by itself.
        start: Time of the day at which it begins, so that many begin at once.
    """

    role: str
    bank: str
    report: str
    name: str
    count: int = 0
    start: float = 0.0


Report = Callable[[str], None]


def write_until_killed(task: Task, store: Store, report: Report) -> None:
    """Random operations, each announced before and acknowledged after its transaction."""
    model = Model()
    for operation, memory_id in operations(hash_of(task.name), task.name, model):
        report(f"begin {operation} {memory_id}")
        with store.transaction() as transaction:
            model.perform(transaction, operation, memory_id)
        model.apply(operation, memory_id)
        report(f"done {operation} {memory_id}")


def learn_until_killed(task: Task, store: Store, report: Report) -> None:
    """Captures sessions, and does the jobs of all, whoever has captured them."""
    number = 0
    while True:
        number += 1
        if number % 4 != 3:
            name = f"{task.name}-{number}"
            with store.transaction() as transaction:
                capture(transaction, name)
            report(f"captured {name}")
        job = claim(store, f"{task.name}/{number}", datetime.now(UTC))
        if job is None:
            continue
        report(f"claimed {job.key} {job.attempts}")
        time.sleep(0.02)
        with store.transaction() as transaction:
            finished = distil(transaction, job, datetime.now(UTC))
        report(f"done {job.key}" if finished else f"lost {job.key}")


def write_many(task: Task, store: Store, report: Report) -> None:
    """Records one after the other and reports how long each took."""
    for number in range(task.count):
        memory_id = f"{task.name}-{number}"
        memory, indexed = lesson(memory_id), derived(memory_id)
        begun = time.perf_counter()
        with store.transaction() as transaction:
            transaction.memories.insert(memory, indexed)
        report(f"done {memory_id} {time.perf_counter() - begun:.6f}")


def write_until_told(task: Task, store: Store, report: Report) -> None:
    """Records until the file ``stop`` lies beside the report."""
    stop = Path(task.report).with_name("stop")
    number = 0
    while not stop.exists():
        number += 1
        with store.transaction() as transaction:
            transaction.memories.insert(lesson(f"{task.name}-{number}"), derived(f"{task.name}-{number}"))
        report(f"done {task.name}-{number}")


def read_until_told(task: Task, store: Store, report: Report) -> None:
    """Searches all the time, until the file ``stop`` lies beside the report."""
    stop = Path(task.report).with_name("stop")
    chance = random.Random(task.name)
    while not stop.exists():
        begun = time.perf_counter()
        known = store.memories.page(EVERYTHING, limit=20, offset=chance.randrange(50))
        if known:
            memory = chance.choice(list(known))
            assert store.search.matching(word(memory.id, 1), EVERYTHING, 1).hits[0].id == memory.id
            best = store.search.nearest("content", vector(memory.id, 1, "content"), EVERYTHING, 1)
            assert best[0].id == memory.id
        report(f"read {time.perf_counter() - begun:.6f}")


def create(task: Task, store: Store, report: Report) -> None:
    """Records one memory in the bank that was just opened."""
    with store.transaction() as transaction:
        transaction.memories.insert(lesson(task.name), derived(task.name))
    report(f"done {task.name}")


def fill_the_disk(task: Task, store: Store, report: Report) -> None:
    """Records until the disk is full; then reads, and waits for the file ``space`` to write again."""
    space = Path(task.report).with_name("space")
    number = 0
    try:
        while True:
            number += 1
            with store.transaction() as transaction:
                transaction.memories.insert(lesson(f"{task.name}-{number}"), derived(f"{task.name}-{number}"))
            report(f"done {task.name}-{number}")
    except StoreFull as error:
        report(f"full {error.hint}")
    for old in range(1, number):
        assert store.memories.get(f"{task.name}-{old}") == lesson(f"{task.name}-{old}")
        vector_of = vector(f"{task.name}-{old}", 1, "content")
        assert store.search.nearest("content", vector_of, EVERYTHING, 1)[0].id == f"{task.name}-{old}"
    report(f"read {number - 1}")
    while not space.exists():
        time.sleep(0.01)
    with store.transaction() as transaction:
        transaction.memories.insert(lesson(f"{task.name}-after"), derived(f"{task.name}-after"))
    report(f"done {task.name}-after")


ROLES: Sequence[Callable[[Task, Store, Report], None]] = (
    write_until_killed,
    write_many,
    write_until_told,
    read_until_told,
    create,
    fill_the_disk,
    learn_until_killed,
)


def hash_of(text: str) -> int:
    """A seed that is the same in every process."""
    return int.from_bytes(text.encode(), "big") % 2**32


def _child(task: Task) -> None:
    role = {each.__name__: each for each in ROLES}[task.role]
    with reporting(task) as report:
        time.sleep(max(0.0, task.start - time.time()))
        store = SqliteStorage(Path(task.bank)).open(SCOPE)
        report("open")
        role(task, store, report)
        store.close()
        report("end")


@contextmanager
def reporting(task: Task) -> Iterator[Report]:
    """A function that writes an event down so that it outlives the process; errors of the block are events, too."""
    descriptor = os.open(task.report, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def report(event: str) -> None:
        os.write(descriptor, f"{event}\n".encode())

    try:
        yield report
    except BankError as error:
        report(f"error {type(error).__name__}: {error}")
    except BaseException:  # noqa: BLE001 - reported, and the process ends
        report(f"crash {traceback.format_exc()!r}")


def fork_for_each_line(child: Callable[[Task], None]) -> None:
    """Forks one child per line of the standard input, which names its task."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            child(Task(**json.loads(line)))
            os._exit(0)
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()


class Nursery:
    """The other end: starts children and ends them."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def start(self, task: Task) -> int:
        """A new child's process id."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asdict(task)) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())


@contextmanager
def nursery(module: str = "durability.nursery", *arguments: str) -> Iterator[Nursery]:
    """A nursery that is gone after the block; its children must have ended before.

    Args:
        module: What is run to make children, with ``fork_for_each_line``.
        arguments: Its arguments.
    """
    tests = Path(__file__).parent.parent
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(tests), str(tests.parent / "src")]),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    with subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:
        yield Nursery(process)
        assert process.stdin is not None
        process.stdin.close()


def kill(pid: int) -> None:
    """Ends a child as a crash would."""
    os.kill(pid, signal.SIGKILL)
    wait_for(pid)


def wait_for(pid: int, seconds: float = 60.0) -> None:
    """Waits until a child is gone."""
    limit = time.monotonic() + seconds
    while Path(f"/proc/{pid}").exists() if Path("/proc/self").exists() else _alive(pid):
        assert time.monotonic() < limit, f"process {pid} did not end"
        time.sleep(0.002)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def events(report: Path) -> list[list[str]]:
    """A child's complete events, each as its words."""
    if not report.exists():
        return []
    text = report.read_text(encoding="utf-8")
    return [line.split(" ") for line in text[: text.rfind("\n") + 1].splitlines()]


if __name__ == "__main__":
    fork_for_each_line(_child)
