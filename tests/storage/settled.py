"""Stores whose index of vectors follows each write at once, as a fast worker would have it.

Several places may share one index although their banks have the same names: each is given a number.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from reasoningbank.storage.index_port import BankPlace, Head, Named, Near, Point, VectorIndex, digest
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


@dataclass(frozen=True)
class ApartPlace(BankPlace):
    """Where a bank lies in an index, if it is of the numbered place."""

    number: int

    @property
    def tenant(self) -> str:
        """Another one for each number."""
        return digest(f"{self.number} {self.scope.tenant}")

    @property
    def bank(self) -> str:
        """Another one for each number."""
        return digest(f"{self.number} {BankPlace(self.scope, self.dimension).bank}")


class ApartIndex:
    """The VectorIndex port over an index that others share; each call is about the banks of one number."""

    def __init__(self, index: VectorIndex, number: int) -> None:
        self.shown = index.shown
        self._index = index
        self._number = number

    def near(self, place: BankPlace, asked: Sequence[Near]) -> tuple[Head, Sequence[Named]]:
        """Of the own bank."""
        return self._index.near(self._own(place), asked)

    def head(self, place: BankPlace) -> Head:
        """Of the own bank."""
        return self._index.head(self._own(place))

    def put_head(self, place: BankPlace, head: Head) -> None:
        """Of the own bank."""
        self._index.put_head(self._own(place), head)

    def put(self, place: BankPlace, points: Sequence[Point]) -> None:
        """Into the own bank."""
        self._index.put(self._own(place), points)

    def remove(self, place: BankPlace, keys: Sequence[int]) -> None:
        """Of the own bank."""
        self._index.remove(self._own(place), keys)

    def stamps(self, place: BankPlace) -> Iterator[tuple[int, str]]:
        """Of the own bank."""
        return self._index.stamps(self._own(place))

    def drop(self, place: BankPlace, *, others: bool = False) -> None:
        """The own bank."""
        self._index.drop(self._own(place), others=others)

    def close(self) -> None:
        """Does nothing: others use it."""

    def _own(self, place: BankPlace) -> BankPlace:
        return ApartPlace(place.scope, place.dimension, self._number)


class SettledStorage:
    """The Storage port over an indexed place, whose banks lie apart in the index by a number if one is given."""

    def __init__(self, place: Storage, number: int | None = None) -> None:
        self._place = place
        self._number = number

    def open(self, scope: Scope) -> Store:
        """The scope's store."""
        opened = self._place.open(scope)
        indexed = opened.database
        assert isinstance(indexed, IndexedDatabase) and isinstance(indexed.beside, Beside)
        beside = indexed.beside
        if self._number is not None:
            beside = Beside(ApartIndex(beside.index, self._number), indexed.truth, scope)
        return Store(SettledDatabase(indexed.truth, beside), scope, beside)

    def scopes(self, tenant: str) -> Sequence[Scope]:
        """The place's."""
        return self._place.scopes(tenant)

    def marks(self, tenant: str) -> Mapping[Scope, Hashable]:
        """The place's."""
        return self._place.marks(tenant)

    def latest(self, tenant: str, limit: int) -> tuple[Sequence[Scope], int]:
        """The place's."""
        return self._place.latest(tenant, limit)

    def has(self, scope: Scope) -> bool:
        """As the place says."""
        return self._place.has(scope)

    def restore(self, scope: Scope, source: Path) -> None:
        """In the place."""
        self._place.restore(scope, source)

    def salvaged(self, scope: Scope) -> AbstractContextManager[tuple[Store, Salvage, Path]]:
        """In the place."""
        return self._place.salvaged(scope)
