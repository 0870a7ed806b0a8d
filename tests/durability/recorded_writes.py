"""A file system that remembers every write and every sync, and what a power cut could leave of them.

``python -m durability.recorded_writes DIRECTORY`` makes the recording file system the default of its process, so that
the page-checksum file system of the product stacks on top of it as it is shipped, runs a fixed number of random
operations on a bank, and keeps the log. ``images`` then gives the bank's files as they could lie on the disk after a
cut at any moment: what was synced is there; of what was written since, each part may be there, be missing or be torn.
"""

from __future__ import annotations

import pickle
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import apsw

from durability.workload import SCOPE, Model, operations
from reasoningbank.storage.sqlite_file import SqliteStorage
from reasoningbank.storage.store import Store

SECTOR = 512
NAME = "recording"


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened: to a file, or in the workload ("opened", "done")."""

    kind: Literal["write", "truncate", "sync", "delete", "opened", "begin", "done"]
    file: str = ""
    offset: int = 0
    data: bytes = b""


LOG: list[Event] = []


class RecordingFile(apsw.VFSFile):
    """A file of the platform whose writes are remembered."""

    def __init__(self, inherit: str, filename: apsw.URIFilename | str, flags: list[int]) -> None:
        name = filename if isinstance(filename, str) else filename.filename()
        self._name = Path(name).name if name else ""
        super().__init__(inherit, filename, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - SQLite's name
        super().xWrite(data, offset)
        self._log(Event("write", self._name, offset, bytes(data)))

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        super().xTruncate(newsize)
        self._log(Event("truncate", self._name, newsize))

    def xSync(self, flags: int) -> None:  # noqa: N802
        super().xSync(flags)
        self._log(Event("sync", self._name))

    def _log(self, event: Event) -> None:
        if self._name:
            LOG.append(event)


class RecordingSystem(apsw.VFS):
    """The platform's file system with remembered writes."""

    def __init__(self, *, default: bool) -> None:
        self._base = apsw.vfs_names()[0]
        super().__init__(NAME, self._base, makedefault=default)

    def xOpen(self, name: apsw.URIFilename | str | None, flags: list[int]) -> RecordingFile:  # noqa: N802
        return RecordingFile(self._base, name or "", flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        super().xDelete(filename, syncdir)
        LOG.append(Event("delete", Path(filename).name))


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """What a workload did.

    Attributes:
        events: Everything, in order.
        models: What the bank held after 0, 1, 2 ... operations.
        bank: Name of the bank file.
    """

    events: Sequence[Event]
    models: Sequence[Model]
    bank: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """The files after one cut, and how many operations had been acknowledged and begun at that moment.

    Attributes:
        noted: Numbers of the changes that the bank's lock file can hold.
    """

    files: dict[str, bytes]
    opened: bool
    acknowledged: int
    begun: int
    noted: list[int]


def record(directory: Path, *, seed: int, count: int, stacked: bool) -> Recording:
    """Runs random operations on a new bank.

    Args:
        directory: Where the bank is made.
        seed: Which operations.
        count: How many.
        stacked: With the product's page checksums on top of the recording file system; else on it alone.
    """
    system = RecordingSystem(default=stacked)
    bank = directory / "bank.db"
    store = SqliteStorage(bank, vfs=None if stacked else NAME).open(SCOPE)
    LOG.append(Event("opened"))
    model = Model()
    models = [model.copy()]
    for number, (operation, memory_id) in enumerate(operations(seed, "cut", model)):
        if number == count:
            break
        LOG.append(Event("begin"))
        with store.transaction() as transaction:
            model.perform(transaction, operation, memory_id)
        LOG.append(Event("done", offset=_change(store)))
        model.apply(operation, memory_id)
        models.append(model.copy())
    store.close()
    system.unregister()
    return Recording(events=tuple(LOG), models=tuple(models), bank=bank.name)


def _change(store: Store) -> int:
    return int(str(store._database.run("SELECT value FROM counters WHERE name = 'change'")[0][0]))


def images(recording: Recording, chance: random.Random, count: int) -> Iterator[Image]:
    """What the disk could hold after cuts at random moments."""
    for _ in range(count):
        yield image_at(recording, chance.randrange(len(recording.events) + 1), chance)


def image_at(recording: Recording, cut: int, chance: random.Random) -> Image:
    """One possible state of the disk when the power fails before the event of this number."""
    durable: dict[str, bytearray] = {}
    waiting: dict[str, list[Event]] = {}
    counts = {"opened": 0, "begin": 0, "done": 0}
    noted = [0]
    for event in recording.events[:cut]:
        if event.kind in counts:
            counts[event.kind] += 1
            noted.append(event.offset)
        elif event.kind == "sync":
            content = durable.setdefault(event.file, bytearray())
            for earlier in waiting.pop(event.file, []):
                _apply(content, earlier)
        elif event.kind == "delete":
            durable.pop(event.file, None)
            waiting.pop(event.file, None)
        else:
            waiting.setdefault(event.file, []).append(event)
    for name, events in waiting.items():
        content = durable.setdefault(name, bytearray())
        for event in _survivors(events, chance):
            _apply(content, event)
    files = {name: bytes(content) for name, content in durable.items() if not name.endswith("-shm")}
    return Image(
        files=files,
        opened=counts["opened"] > 0,
        acknowledged=counts["done"],
        begun=counts["begin"],
        noted=noted,
    )


def _survivors(events: list[Event], chance: random.Random) -> list[Event]:
    """Which unsynced writes reached the disk: none, all, or some of them, in any order, one of them perhaps torn."""
    keep = chance.choice((0.0, 0.3, 0.7, 1.0))
    kept = [event for event in events if chance.random() < keep]
    if chance.random() < 0.5:
        chance.shuffle(kept)
    if kept and chance.random() < 0.5:
        place = chance.randrange(len(kept))
        torn = kept[place]
        if torn.kind == "write" and len(torn.data) > 1:
            sectors = max(1, len(torn.data) // SECTOR)
            kept[place] = Event("write", torn.file, torn.offset, torn.data[: SECTOR * chance.randrange(sectors)])
    return kept


def _apply(content: bytearray, event: Event) -> None:
    if event.kind == "truncate":
        del content[event.offset :]
        content.extend(bytes(event.offset - len(content)))
    else:
        content.extend(bytes(max(0, event.offset - len(content))))
        content[event.offset : event.offset + len(event.data)] = event.data


def main() -> None:
    """Records for the tests: directory, seed, number of operations, and whether checksums are stacked on top."""
    directory, seed, count, stacked = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4] == "stacked"
    recording = record(directory, seed=seed, count=count, stacked=stacked)
    (directory / "recording.pickle").write_bytes(pickle.dumps(recording))


if __name__ == "__main__":
    from durability import recorded_writes as this

    this.main()
