"""Search in the graph of one bank file: vectors and text lengths in memory, read in one state.

There is no sidecar: reading the vectors of 10,000 nodes from the bank takes a tenth of a second, once per process.
Nodes and edges are kept apart, so that a search for nodes does not read the vectors of the edges.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy
from numpy.typing import NDArray

from reasoningbank.errors import ModelMismatch, StoreCorrupt
from reasoningbank.storage.graph_tables import TABLE, filter_sql, items
from reasoningbank.storage.rows import Row, checksum, decoding
from reasoningbank.storage.sqlite_connection import TEXT_INDEXES
from reasoningbank.storage.text_search import placed, rank, words_of
from reasoningbank.storage.vector_index import VectorReader
from reasoningbank.storage.vector_search import LegMatrix, LegView
from reasoningbank.types.graph_search import GraphFilter, GraphKind
from reasoningbank.types.ports import Vector
from reasoningbank.types.records import LexicalMatches, Scored

_STATE_SQL = (
    "SELECT 'change', CAST(value AS TEXT) FROM counters WHERE name = 'change' UNION ALL "
    "SELECT name, value FROM meta WHERE name IN ('bank', 'space', 'model_id', 'dimension')"
)
_ALL_VECTORS_SQL = "SELECT item, vector, checksum FROM graph_vectors WHERE item >= ? AND item < ? ORDER BY item"
_VECTORS_SQL = (
    "SELECT item, vector, checksum FROM graph_vectors INDEXED BY graph_vectors_by_change "
    "WHERE item >= ? AND item < ? AND change > ? ORDER BY item"
)
_DELETIONS_SQL = "SELECT item, gone FROM graph_deletions WHERE change > ? AND item >= ? AND item < ?"
_BATCH = 4_096

Space = tuple[str, str, str, str]
"""The bank, how often its vectors were made anew, their model and their dimension."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphView:
    """One state of the nodes or of the edges. Places count them by age.

    Attributes:
        documents: How many there are.
        keys: The key at each place, ascending.
        alive: True when what was at each place is there.
        lengths: How many words the text at each place has.
        leg: Their vectors; None when there are none.
    """

    documents: int
    keys: NDArray[numpy.int64]
    alive: NDArray[numpy.bool_]
    lengths: NDArray[numpy.int32]
    leg: LegView | None

    def places(self, keys: NDArray[numpy.int64]) -> NDArray[numpy.int64]:
        """Return the place of each key.

        Raises:
            StoreCorrupt: When nothing has one of these keys.
        """
        places = numpy.searchsorted(self.keys, keys)
        if len(keys) and (places.max() >= len(self.keys) or bool((self.keys[places] != keys).any())):
            raise StoreCorrupt("a text index of the graph names something that does not exist")
        return places

    def mask(self, keys: Sequence[int]) -> NDArray[numpy.bool_]:
        """Return which places have one of these keys."""
        chosen = numpy.zeros(len(self.keys), dtype=numpy.bool_)
        chosen[self.places(numpy.array(keys, dtype=numpy.int64))] = True
        return chosen & self.alive


class _Half:
    """The nodes, or the edges: columns that grow, and the vectors beside them."""

    def __init__(self) -> None:
        self.keys: NDArray[numpy.int64] = numpy.empty(0, dtype=numpy.int64)
        self.alive: NDArray[numpy.bool_] = numpy.empty(0, dtype=numpy.bool_)
        self.lengths: NDArray[numpy.int32] = numpy.empty(0, dtype=numpy.int32)
        self.matrix: LegMatrix | None = None
        self.change = -1

    def found(self, keys: NDArray[numpy.int64]) -> tuple[NDArray[numpy.int32], NDArray[numpy.bool_]]:
        """Return the places of those keys that are held, and which of the keys these are."""
        places = numpy.searchsorted(self.keys, keys).astype(numpy.int32)
        held = places < len(self.keys)
        held[held] = self.keys[places[held]] == keys[held]
        return places[held], held

    def take(self, sizes: Sequence[Row]) -> None:
        """Take over rows (key, size in the text index) that were made or changed, ascending."""
        last = int(self.keys[-1]) if len(self.keys) else -1
        fresh = numpy.array([row[0] for row in sizes if cast(int, row[0]) > last], dtype=numpy.int64)
        self.keys = numpy.concatenate([self.keys, fresh])
        self.alive = numpy.concatenate([self.alive, numpy.ones(len(fresh), dtype=numpy.bool_)])
        self.lengths = placed([(row[0], words_of(row[1])) for row in sizes], self, self.lengths)


class GraphIndex:
    """The graph of one bank as searches need it, refreshed from the bank's change counter before every search."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._space: Space = ("", "", "", "")
        self._halves: dict[GraphKind, _Half] = {}

    def view(self, read: VectorReader, kind: GraphKind, dimension: int | None = None) -> GraphView:
        """Return the state that ``read`` sees; this must be the first read of its transaction.

        Args:
            read: Reads the state.
            kind: Nodes or edges.
            dimension: The query's; None when there is none.

        Raises:
            ModelMismatch: When the bank's vectors have another dimension.
        """
        with self._lock:
            try:
                with decoding("the graph"):
                    half = self._refreshed(read, kind)
            except BaseException:
                self._halves = {}
                raise
            stored = self._space[3]
            if stored and dimension not in {None, int(stored)}:
                raise ModelMismatch(f"the bank's vectors have {stored} dimensions, the query's {dimension}")
            return GraphView(
                documents=int(numpy.count_nonzero(half.alive)),
                keys=half.keys,
                alive=half.alive,
                lengths=half.lengths,
                leg=None if half.matrix is None else half.matrix.view(),
            )

    def _refreshed(self, read: VectorReader, kind: GraphKind) -> _Half:
        facts = {str(name): str(value) for name, value in read.run(_STATE_SQL)}
        names = ("bank", "space", "model_id", "dimension")
        space = cast(Space, tuple(facts.get(name, "") for name in names))
        change = int(facts["change"])
        half = self._halves.setdefault(kind, _Half())
        if space != self._space or change < half.change:
            self._halves = {}
            half = self._halves[kind] = _Half()
            self._space = space
        if change == half.change:
            return half
        since = half.change
        half.take(
            read.run(
                f"SELECT g.key, d.sz FROM {TABLE[kind]} AS g JOIN {TEXT_INDEXES[TABLE[kind]].table}_docsize AS d "  # noqa: S608
                "ON d.id = g.key WHERE g.change > ? ORDER BY g.key",
                (since,),
            )
        )
        first, end = items(kind)
        gone = [] if since < 0 else read.run(_DELETIONS_SQL, (since, first, end))
        if gone:
            erased = numpy.array([cast(int, row[0]) - first for row in gone if row[1]], dtype=numpy.int64)
            alive = half.alive.copy()
            places = half.found(erased)[0]
            alive[places] = False
            half.alive = alive
            half.lengths[places] = 0
            if half.matrix is not None:
                half.matrix.forget(numpy.array([cast(int, row[0]) - first for row in gone], dtype=numpy.int64))
        if space[3]:
            if half.matrix is None:
                half.matrix = LegMatrix(int(space[3]), None, half)
            place = (first, end) if since < 0 else (first, end, since)
            for rows in read.parts(_ALL_VECTORS_SQL if since < 0 else _VECTORS_SQL, place):
                _append(half.matrix, rows, first, int(space[3]))
        half.change = change
        return half


def _append(matrix: LegMatrix, rows: Sequence[Row], first: int, dimension: int) -> None:
    for start in range(0, len(rows), _BATCH):
        batch = rows[start : start + _BATCH]
        keys = numpy.array([cast(int, row[0]) - first for row in batch], dtype=numpy.int64)
        vectors = numpy.empty((len(batch), dimension), dtype=numpy.float32)
        for place, (number, vector, stored) in enumerate(batch):
            if checksum((number, vector)) != stored:
                raise StoreCorrupt(f"the vector of graph item {number!r} does not hold what was written to it")
            vectors[place] = numpy.frombuffer(cast(bytes, vector), dtype=numpy.float32)
        matrix.append(keys, vectors)


class FoundInGraph:
    """Answers in one state of the nodes or the edges, among those that meet a condition."""

    def __init__(self, view: GraphView, source: VectorReader, kind: GraphKind, condition: GraphFilter) -> None:
        self._view = view
        self._source = source
        self._kind = kind
        self._condition = condition

    def nearest(self, vector: Vector, limit: int) -> Sequence[Scored]:
        """Return the closest, best first, then oldest first."""
        leg = self._view.leg
        if leg is None or limit <= 0:
            return ()
        scores = leg.scores(vector)
        places = leg.nearest(scores, self._mask(), limit)
        return self._scored(places, scores[leg.rows[places]])

    def matching(self, text: str, limit: int) -> LexicalMatches:
        """Return the best by BM25; frequencies and lengths are those of all nodes, or of all edges."""
        view, index = self._view, TEXT_INDEXES[TABLE[self._kind]]
        self._source.prepare_words(TABLE[self._kind])
        ranking = rank(self._source.run, text, view.places, view.lengths, view.documents, index)
        best = numpy.flatnonzero(self._mask()[ranking.places])[: max(0, limit)]
        hits = self._scored(ranking.places[best], ranking.scores[best])
        return LexicalMatches(hits=tuple(hits), terms=ranking.terms, documents=view.documents)

    def _mask(self) -> NDArray[numpy.bool_]:
        if self._condition == GraphFilter():
            return self._view.alive
        where, values = filter_sql(self._kind, self._condition)
        rows = self._source.run(f"SELECT g.key FROM {TABLE[self._kind]} AS g WHERE {where} ORDER BY g.key", values)  # noqa: S608
        return self._view.mask([cast(int, row[0]) for row in rows])

    def _scored(
        self,
        places: NDArray[numpy.int32] | NDArray[numpy.int64],
        scores: NDArray[numpy.float32] | NDArray[numpy.float64],
    ) -> Sequence[Scored]:
        keys = self._view.keys[places].tolist()
        rows = self._source.run(
            f"SELECT key, id FROM {TABLE[self._kind]} WHERE key IN (SELECT value FROM numbers_in(?))",  # noqa: S608
            (str(sorted(keys)),),
        )
        names = dict(cast("Sequence[tuple[int, str]]", rows))
        return [Scored(id=names[key], score=score) for key, score in zip(keys, scores.tolist(), strict=True)]
