"""Banks with an index of vectors beside them pass the contract of stores as banks without one do."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import ClassVar
from urllib.parse import quote

import pytest

from postgres_servers import shared_server
from reasoningbank.storage import open_storage
from reasoningbank.storage.indexed import close_indexes
from reasoningbank.storage.store import Storage
from storage.contract import (
    ChangeConformance,
    Conformance,
    FilterConformance,
    IndexConformance,
    MemoryConformance,
    PairConformance,
    SearchConformance,
    StoreConformance,
)
from storage.settled import SettledStorage
from vector_servers import clear_shared_qdrant, milvus_lite, shared_qdrant

_numbers = itertools.count()


class Indexed(Conformance):
    """Files of SQLite beside an index; all places share it, and each has banks of its own there."""

    apart: ClassVar[bool] = True

    folder: ClassVar[Path]

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def index_folder(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
        """Remembers where the class keeps the files of its index; ends the index after its last test."""
        cls.folder = tmp_path_factory.mktemp("index")
        yield
        close_indexes()
        clear_shared_qdrant()

    @pytest.fixture(autouse=True)
    def places(self, tmp_path: Path) -> Iterator[None]:
        """Remembers the places of a test."""
        self.home = tmp_path
        self.urls: dict[int, tuple[str, int]] = {}
        with ExitStack() as stack:
            self.stack = stack
            yield

    def storage(self) -> Storage:
        """A new place."""
        return self.opened(self.truth(), next(_numbers))

    def reopened(self, storage: Storage) -> Storage:
        """The same place again."""
        return self.opened(*self.urls[id(storage)])

    def truth(self) -> str:
        """The URL of the banks of a new place."""
        return f"sqlite:///{self.home}/home-{next(_numbers)}"

    def vectors(self, number: int) -> str:  # noqa: ARG002 - where each place has collections of its own
        """The URL of the index for them."""
        return f"{shared_qdrant().url}/contract"

    def opened(self, url: str, number: int) -> Storage:
        """The storage of a URL and a number."""
        place = open_storage(url, home=self.home, vectors=self.vectors(number))
        storage = SettledStorage(place, number if self.apart else None)
        self.urls[id(storage)] = (url, number)
        return storage


class Database(Indexed):
    """A database of a real PostgreSQL server beside an index."""

    def truth(self) -> str:
        """A new database."""
        return self.stack.enter_context(shared_server().place())


class TestSqliteQdrant(Indexed, StoreConformance):
    """One collection for the banks of all tenants."""


class TestPostgresQdrant(Database, IndexConformance):
    """A database beside Qdrant."""


class TestPostgresPgvector(Database, IndexConformance):
    """A database with pgvector in it."""

    apart = False

    @pytest.fixture(autouse=True)
    def forgotten(self) -> Iterator[None]:
        """Ends the index with the banks of the test, whose numbers it knows."""
        yield
        close_indexes()

    def vectors(self, number: int) -> str:  # noqa: ARG002 - a database has one
        """That of the database."""
        return "pgvector"


class TestSqliteMilvusLite(Indexed, IndexConformance):
    """A file of Milvus Lite."""

    def vectors(self, number: int) -> str:  # noqa: ARG002 - all places share it
        """The file."""
        milvus_lite()
        return f"milvus:///{quote(str(self.folder))}/vectors.db"


class TestSqliteQdrantPerProject(
    Indexed, MemoryConformance, FilterConformance, SearchConformance, PairConformance, ChangeConformance
):
    """A collection for each bank: the parts of the contract that an index takes part in.

    Making a collection costs a real server a tenth of a second, and the rest of the contract never asks the index.
    """

    apart = False

    @pytest.fixture(autouse=True)
    def cleared(self) -> Iterator[None]:
        """Deletes the collections of the test."""
        yield
        clear_shared_qdrant()

    def vectors(self, number: int) -> str:
        """Collections of its own."""
        return f"{shared_qdrant().url}/t{number}?collections=project"
