"""Banks with an index of vectors beside them pass the contract of stores as banks without one do."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import quote

import pytest

from postgres_servers import shared_server
from reasoningbank.storage import open_storage
from reasoningbank.storage.indexed import close_indexes
from reasoningbank.storage.store import Storage
from storage.contract import StoreConformance
from storage.settled import SettledStorage
from vector_servers import clear_shared_qdrant, milvus_lite, shared_qdrant

_numbers = itertools.count()


class Indexed(StoreConformance):
    """Files of SQLite beside an index; each place has collections of its own."""

    collections = "shared"

    @pytest.fixture(autouse=True)
    def places(self, tmp_path: Path) -> Iterator[None]:
        """Remembers the places of a test."""
        self.home = tmp_path
        self.urls: dict[int, tuple[str | None, str]] = {}
        with ExitStack() as stack:
            self.stack = stack
            stack.callback(clear_shared_qdrant)
            stack.callback(close_indexes)
            yield

    def storage(self) -> Storage:
        """A new place."""
        return self.opened(self.truth(), self.vectors())

    def reopened(self, storage: Storage) -> Storage:
        """The same place again."""
        return self.opened(*self.urls[id(storage)])

    def truth(self) -> str | None:
        """The URL of the banks of a new place."""
        return f"sqlite:///{self.home}/home-{next(_numbers)}"

    def vectors(self) -> str:
        """The URL of an index for them."""
        return f"{shared_qdrant().url}/t{next(_numbers)}?collections={self.collections}"

    def opened(self, url: str | None, vectors: str) -> Storage:
        """The storage of two URLs."""
        storage = SettledStorage(open_storage(url, home=self.home, vectors=vectors))
        self.urls[id(storage)] = (url, vectors)
        return storage


class TestSqliteQdrant(Indexed):
    """One collection for the banks of all tenants."""


class TestSqliteQdrantPerProject(Indexed):
    """A collection for each bank."""

    collections = "project"


class TestPostgresQdrant(Indexed):
    """A database of a real PostgreSQL server beside Qdrant."""

    def truth(self) -> str | None:
        """A new database."""
        return self.stack.enter_context(shared_server().place())


class TestSqliteMilvusLite(Indexed):
    """A file of Milvus Lite."""

    def vectors(self) -> str:
        """A file of its own."""
        milvus_lite()
        return f"milvus:///{quote(str(self.home))}/vectors-{next(_numbers)}.db?collections={self.collections}"
