"""A place in which reading makes nothing: a scope without a bank is an empty one that ends with the process."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from reasoningbank.storage.sqlite_memory import ProcessStorage
from reasoningbank.storage.store import Storage, Store
from reasoningbank.types.records import Salvage
from reasoningbank.types.scope import Scope


class AbsentAsEmpty:
    """The Storage port over another place, whose scopes are those of that place.

    Args:
        place: Where the banks live; none is made there.
    """

    def __init__(self, place: Storage) -> None:
        self._place = place
        self._empty = ProcessStorage()

    def open(self, scope: Scope) -> Store:
        """Return the scope's store, or an empty one that ends with the process."""
        return (self._place if self._place.has(scope) else self._empty).open(scope)

    def scopes(self, tenant: str) -> Sequence[Scope]:
        """Return the scopes of one tenant that exist in the place, by level and name."""
        return self._place.scopes(tenant)

    def marks(self, tenant: str) -> Mapping[Scope, Hashable]:
        """Return the same scopes, each with the place's mark of its store."""
        return self._place.marks(tenant)

    def latest(self, tenant: str, limit: int) -> tuple[Sequence[Scope], int]:
        """Return the projects of the place that were written last, and how many there are in all."""
        return self._place.latest(tenant, limit)

    def has(self, scope: Scope) -> bool:
        """Return whether the scope has a bank in the place; asking makes none."""
        return self._place.has(scope)

    def restore(self, scope: Scope, source: Path) -> None:
        """Replace the scope's bank in the place by a backup of the same scope."""
        self._place.restore(scope, source)

    def salvaged(self, scope: Scope) -> AbstractContextManager[tuple[Store, Salvage, Path]]:
        """Give a new store of every whole row of a damaged one in the place."""
        return self._place.salvaged(scope)
