"""Every store passes the contract of stores."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from promises import promise
from reasoningbank import Bank
from reasoningbank.storage import open_storage
from reasoningbank.storage.sqlite_memory import ProcessStorage, shared_storage
from reasoningbank.storage.store import Storage
from reasoningbank.testing import HashingEmbedder
from storage.contract import StoreConformance

_numbers = itertools.count()


class TestDirectory(StoreConformance):
    """One SQLite file per project below a directory: the embedded default."""

    @pytest.fixture(autouse=True)
    def place(self, tmp_path: Path) -> None:
        """Gives every test a directory of its own."""
        self.root = tmp_path
        self.homes: dict[int, Path] = {}

    def storage(self) -> Storage:
        """The default storage of a new home directory."""
        return self.opened(self.root / f"home-{next(_numbers)}")

    def reopened(self, storage: Storage) -> Storage:
        """The default storage of the same home directory."""
        return self.opened(self.homes[id(storage)])

    def opened(self, home: Path) -> Storage:
        """The storage of a home."""
        storage = open_storage(None, home=home)
        self.homes[id(storage)] = home
        return storage


class TestSingleFile(TestDirectory):
    """A SQLite file that the user named; further scopes get files beside it."""

    def opened(self, home: Path) -> Storage:
        """The storage of ``sqlite:///HOME/bank.db``."""
        storage = open_storage(f"sqlite:///{home}/bank.db", home=self.root)
        self.homes[id(storage)] = home
        return storage


class TestMemory(StoreConformance):
    """SQLite without a file."""

    durable = False

    def storage(self) -> Storage:
        """A place of this process that lasts as long as the object."""
        return ProcessStorage()


@promise("storage:memory-shared", "memory://NAME is one place for the whole process.", source="issue 2 Store")
def test_one_name_is_one_place_in_the_whole_process() -> None:
    assert open_storage("memory://one", home=Path("unused")) is shared_storage("one")
    assert shared_storage("one") is not shared_storage("two")


@promise(
    "storage:memory-ends",
    "What memory://NAME holds is gone when the last open bank of that name is closed, and kept until then.",
    source="DESIGN D18",
)
def test_what_memory_holds_ends_with_its_last_open_bank() -> None:
    place = "memory://ends"

    def titles(project: str) -> list[str]:
        with Bank.open(place, embedder=HashingEmbedder(), tenant="acme", project=project) as bank:
            return [memory.title for memory in bank.memories.list()]

    with Bank.open(place, embedder=HashingEmbedder(), tenant="acme", project="shop") as bank:
        bank.record(title="Ask for the time zone", content="Ask for it before you look.", outcome="success")
        assert titles("depot") == []
        assert titles("shop") == ["Ask for the time zone"]
    assert titles("shop") == []
