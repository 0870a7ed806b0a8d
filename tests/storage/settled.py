"""Stores whose index of vectors follows each write at once, as a fast worker would have it."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from reasoningbank.storage.indexed import Beside, IndexedDatabase
from reasoningbank.storage.store import Storage, Store
from reasoningbank.storage.unit import Unit
from reasoningbank.types.records import Salvage
from reasoningbank.types.scope import Scope


class SettledDatabase(IndexedDatabase):
    """A bank whose index takes over each transaction before the block that wrote it ends."""

    @contextmanager
    def writing(self) -> Iterator[Unit]:
        """Give one transaction; then the index follows, and the job that would have done it is gone."""
        with super().writing() as unit:
            yield unit
        if unit.change:
            self.beside.follow()


class SettledStorage:
    """The Storage port over an indexed place."""

    def __init__(self, place: Storage) -> None:
        self._place = place

    def open(self, scope: Scope) -> Store:
        """The scope's store."""
        opened = self._place.open(scope)
        indexed = opened.database
        assert isinstance(indexed, IndexedDatabase) and isinstance(indexed.beside, Beside)
        return Store(SettledDatabase(indexed.truth, indexed.beside), scope, indexed.beside)

    def scopes(self, tenant: str) -> Sequence[Scope]:
        """The place's."""
        return self._place.scopes(tenant)

    def marks(self, tenant: str) -> Mapping[Scope, Hashable]:
        """The place's."""
        return self._place.marks(tenant)

    def has(self, scope: Scope) -> bool:
        """As the place says."""
        return self._place.has(scope)

    def restore(self, scope: Scope, source: Path) -> None:
        """In the place."""
        self._place.restore(scope, source)

    def salvaged(self, scope: Scope) -> AbstractContextManager[tuple[Store, Salvage, Path]]:
        """In the place."""
        return self._place.salvaged(scope)
