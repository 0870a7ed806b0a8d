"""One search of one bank file's graph: everything is read from one state of it, in one read transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy
from numpy.typing import NDArray

from reasoningbank.domain.graph_search import GraphFilter, GraphKind
from reasoningbank.ports import LexicalMatches, Scored, Vector
from reasoningbank.storage.connection import ConnectionSource
from reasoningbank.storage.graph_index import GraphView
from reasoningbank.storage.graph_rows import TABLE, TEXT_INDEX, filter_sql
from reasoningbank.storage.lexical import TextIndex, prepare_vocabulary, rank


class FoundInGraph:
    """Answers in one state of the nodes or the edges, among those that meet a condition."""

    def __init__(self, view: GraphView, source: ConnectionSource, kind: GraphKind, condition: GraphFilter) -> None:
        self._view = view
        self._source = source
        self._kind = kind
        self._condition = condition

    def nearest(self, vector: Vector, limit: int) -> Sequence[Scored]:
        """The closest, best first, then oldest first."""
        leg = self._view.leg
        if leg is None or limit <= 0:
            return ()
        scores = leg.scores(vector)
        places = leg.nearest(scores, self._mask(), limit)
        return self._scored(places, scores[leg.rows[places]])

    def matching(self, text: str, limit: int) -> LexicalMatches:
        """The best by BM25; frequencies and lengths are those of all nodes, or of all edges."""
        view, table = self._view, TEXT_INDEX[self._kind]
        index = TextIndex(table=table, vocabulary=f"{table}_vocabulary", occurrences=f"{table}_occurrences")
        prepare_vocabulary(self._source.connection, index)
        ranking = rank(self._source.connection, self._source.run, text, view.places, view.lengths, index)
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
            f"SELECT key, id FROM {TABLE[self._kind]} WHERE key IN (SELECT value FROM json_each(?))",  # noqa: S608
            (str(sorted(keys)),),
        )
        names = dict(cast("Sequence[tuple[int, str]]", rows))
        return [Scored(id=names[key], score=score) for key, score in zip(keys, scores.tolist(), strict=True)]
