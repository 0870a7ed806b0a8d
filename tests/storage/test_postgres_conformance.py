"""PostgreSQL passes the contract of stores as SQLite does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from postgres_servers import shared_server
from reasoningbank.storage import open_storage
from reasoningbank.storage.store import Storage
from storage.contract import StoreConformance


class TestPostgres(StoreConformance):
    """One database of a real server; every place is a database of its own."""

    @pytest.fixture(autouse=True)
    def places(self, tmp_path: Path) -> Iterator[None]:
        """Removes the databases of a test at its end."""
        self.home = tmp_path
        self.urls: dict[int, str] = {}
        with ExitStack() as stack:
            self.stack = stack
            shared_server()
            yield

    def storage(self) -> Storage:
        """A new database."""
        return self.opened(self.stack.enter_context(shared_server().place()))

    def reopened(self, storage: Storage) -> Storage:
        """The same database again."""
        return self.opened(self.urls[id(storage)])

    def opened(self, url: str) -> Storage:
        """The storage of a URL."""
        storage = open_storage(url, home=self.home)
        self.urls[id(storage)] = url
        return storage
