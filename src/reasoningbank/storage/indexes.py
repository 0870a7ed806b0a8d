"""What searches of one bank file hold in memory, made at the first of them."""

from __future__ import annotations

from collections.abc import Sequence

from reasoningbank.storage.graph_search import FoundInGraph, GraphIndex
from reasoningbank.storage.search import SearchState
from reasoningbank.storage.sidecars import Register, Sidecars
from reasoningbank.storage.sqlite_connection import ConnectionSource
from reasoningbank.storage.trace_index import TraceIndex
from reasoningbank.storage.vector_index import DenseIndex
from reasoningbank.types.experience import Trace
from reasoningbank.types.graph_search import GraphFilter, GraphKind
from reasoningbank.types.ports import Vector
from reasoningbank.types.recall import Filter


class Indexes:
    """The vectors and text lengths of the memories, the graph and the traces. Threads may share it.

    Args:
        sidecars: Where whole matrices lie beside the bank.
        register: Notes in the bank which sidecar is the current one.
    """

    def __init__(self, sidecars: Sidecars, register: Register) -> None:
        self._dense = DenseIndex(sidecars, register=register)
        self._traces = TraceIndex()
        self._graph = GraphIndex()

    @property
    def model_id(self) -> str | None:
        """The vector space of the state that the last search saw; None when it had none."""
        return self._dense.model_id

    def search(
        self,
        source: ConnectionSource,
        conditions: Sequence[Filter],
        query: Vector | None,
        leg: str,
        *,
        context: bool,
    ) -> SearchState:
        """Return a search of the memories in the state that the source's transaction reads first here."""
        dimension = None if query is None else len(query)
        return SearchState(self._dense.view(source.run, conditions, dimension, leg=leg, context=context), source)

    def search_graph(
        self, source: ConnectionSource, kind: GraphKind, condition: GraphFilter, query: Vector | None
    ) -> FoundInGraph:
        """Return a search of the graph in that state."""
        view = self._graph.view(source.run, kind, None if query is None else len(query))
        return FoundInGraph(view, source, kind, condition)

    def similar_traces(self, source: ConnectionSource, query: Vector, limit: int) -> Sequence[tuple[Trace, float]]:
        """Return the traces closest to a unit vector in that state, best first."""
        return self._traces.similar(source.run, query, limit)
