"""What an engine does for the tables: everything that SQL alone does not say (DESIGN D18)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from reasoningbank.storage.graph_tables import GraphReader
from reasoningbank.storage.unit import RowSource, Unit
from reasoningbank.types.experience import Trace
from reasoningbank.types.graph_search import GraphFilter, GraphKind
from reasoningbank.types.ports import Vector
from reasoningbank.types.recall import Filter
from reasoningbank.types.records import StoreReport

if TYPE_CHECKING:
    from reasoningbank.storage.graph_search import FoundInGraph
    from reasoningbank.storage.search import SearchState


class Database(RowSource, Protocol):
    """One bank in one engine. As a source it gives the rows of committed transactions. Threads may share it."""

    @property
    def path(self) -> Path:
        """The bank file, or what stands for it in messages."""

    @property
    def seen_model_id(self) -> str | None:
        """The vector space that the last search has seen; None before the first."""

    @property
    def walked(self) -> GraphReader:
        """Answers what walks ask of the graph."""

    def writing(self) -> AbstractContextManager[Unit]:
        """Give one transaction under the lock; it is committed when the block ends without an error."""

    def search(
        self, conditions: Sequence[Filter], query: Vector | None = None, leg: str = "", *, context: bool = False
    ) -> AbstractContextManager[SearchState]:
        """Give a search of the memories in one state of the bank."""

    def search_graph(
        self, kind: GraphKind, condition: GraphFilter, query: Vector | None = None
    ) -> AbstractContextManager[FoundInGraph]:
        """Give a search of the graph in one state of the bank."""

    def similar_traces(self, query: Vector, limit: int) -> Sequence[tuple[Trace, float]]:
        """Return the traces closest to a unit vector, best first."""

    def check(self) -> StoreReport:
        """Read everything and report every defect."""

    def backup(self, target: Path) -> None:
        """Write a complete, consistent copy."""

    def close(self) -> None:
        """Release what it holds; a second time does nothing."""
