"""One search of one bank file: everything is read from one state of it, in one read transaction."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import cast

import numpy
from numpy.typing import NDArray

from reasoningbank.errors import InvalidInput
from reasoningbank.storage.sqlite_connection import ConnectionSource
from reasoningbank.storage.text_search import Ranking, rank, rank_context
from reasoningbank.storage.vector_index import View
from reasoningbank.types.ports import Vector
from reasoningbank.types.recall import CONTENT_LEG, DENSE_LEGS
from reasoningbank.types.records import Candidates, LexicalMatches, Pool, Scored

BESIDE_MIN_ROWS = 32_768
"""From so many memories on, vectors are compared in a thread of their own while words are ranked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scan:
    """One dense leg compared with the query: the score of every row, and the nearest places of every pool."""

    scores: NDArray[numpy.float32]
    nearest: Sequence[NDArray[numpy.int32]] = ()


class SearchState:
    """Answers in one state of a bank; its conditions are those that the view was asked for, in their order."""

    def __init__(self, view: View, source: ConnectionSource) -> None:
        self._view = view
        self._source = source

    def nearest(self, leg: str, vector: Vector, limit: int) -> Sequence[Scored]:
        """Return the best of a dense leg that meet the condition."""
        held = self._view.legs.get(leg)
        if held is None or limit <= 0:
            return ()
        scores = held.scores(vector)
        places = held.nearest(scores, self._view.masks[0], limit)
        return self._scored(places, scores[held.rows[places]])

    def count(self) -> int:
        """Return how many memories meet the condition."""
        return int(numpy.count_nonzero(self._view.masks[0]))

    def similarities(self, leg: str, vector: Vector, memory_ids: Sequence[str]) -> Mapping[str, float]:
        """Return the inner product with each of these memories that has a vector in the leg."""
        places = self._view.places(self._keys(memory_ids))
        held = self._view.legs.get(leg)
        if held is None:
            return {}
        return self._completed(places, {leg: _Scan(scores=held.scores(vector))})[leg]

    def rows(self, leg: str) -> tuple[NDArray[numpy.int64], NDArray[numpy.float32]]:
        """Return the keys, ascending, and the vectors of the memories that meet the condition in a dense leg."""
        held = self._view.legs.get(leg)
        if held is None:
            return numpy.empty(0, dtype=numpy.int64), numpy.empty((0, 1), dtype=numpy.float32)
        places = numpy.flatnonzero(self._view.masks[0] & (held.rows >= 0))
        return self._view.keys[places], held.taken(held.rows[places])

    def vector(self, leg: str, memory_id: str) -> Vector | None:
        """Return a copy of one memory's vector."""
        keys = self._keys([memory_id])
        held = self._view.legs.get(leg)
        found = held.vector(int(self._view.places(keys)[0])) if held is not None and len(keys) else None
        return None if found is None else found.copy()

    def vectors(self, leg: str, memory_ids: Sequence[str]) -> Mapping[str, Vector]:
        """Copy of the vectors of those of these memories that have one in the leg."""
        return self._taken(leg, self._view.places(self._keys(memory_ids)))

    def matching(self, text: str, limit: int, function_words: str = "") -> LexicalMatches:
        """Return the best of the lexical leg that meet the condition."""
        ranking = self._ranking(text, function_words)
        return self._matches(ranking, self._best(ranking, 0, limit))

    def matching_context(self, text: str, limit: int) -> LexicalMatches:
        """Return the best of BM25 over the descriptions that meet the condition."""
        view = self._view
        ranking = rank_context(self._source.run, text, view.places, view.contexts)
        best = self._best(ranking, 0, limit)
        hits = self._scored(ranking.places[best], ranking.scores[best])
        documents = int(numpy.count_nonzero(view.contexts.counts))
        return LexicalMatches(hits=tuple(hits), terms=ranking.terms, documents=documents)

    def candidates(
        self, vector: Vector, text: str, pools: Sequence[Pool], function_words: str = ""
    ) -> Sequence[Candidates]:
        """Return what all legs bring for every pool."""
        if len(self._view.keys) < BESIDE_MIN_ROWS:
            scans, ranking = self._scans(vector, pools), self._ranking(text, function_words)
        else:
            with ThreadPoolExecutor(max_workers=1) as beside:
                scanning = beside.submit(self._scans, vector, pools)
                ranking = self._ranking(text, function_words)
            scans = scanning.result()
        best = [self._best(ranking, number, pool.lexical) for number, pool in enumerate(pools)]
        found = [
            numpy.unique(numpy.concatenate([ranking.places[hits], *(scan.nearest[number] for scan in scans.values())]))
            for number, hits in enumerate(best)
        ]
        self._look_up(found)
        return [
            Candidates(
                dense=self._completed(places, scans),
                lexical=self._matches(ranking, hits),
                words_worth=self._view.words_worth,
                model_id=self._view.model_id,
                vectors=self._taken(CONTENT_LEG, places),
            )
            for places, hits in zip(found, best, strict=True)
        ]

    def _scans(self, vector: Vector, pools: Sequence[Pool]) -> Mapping[str, _Scan]:
        scans = {}
        for leg in DENSE_LEGS:
            held = self._view.legs.get(leg)
            if held is None:
                continue
            scores = held.scores(vector)
            nearest = [
                held.nearest(scores, mask, pool.dense) for mask, pool in zip(self._view.masks, pools, strict=True)
            ]
            scans[leg] = _Scan(scores=scores, nearest=nearest)
        return scans

    def _completed(self, places: NDArray[numpy.int64], scans: Mapping[str, _Scan]) -> Mapping[str, Mapping[str, float]]:
        """Return the scores of those memories that have a vector, leg by leg."""
        names = self._names(places)
        dense: dict[str, Mapping[str, float]] = {leg: {} for leg in DENSE_LEGS}
        for leg, scan in scans.items():
            rows = self._view.legs[leg].rows[places]
            held = numpy.flatnonzero(rows >= 0)
            scores = scan.scores[rows[held]].tolist()
            dense[leg] = {names[number]: score for number, score in zip(held.tolist(), scores, strict=True)}
        return dense

    def _taken(self, leg: str, places: NDArray[numpy.int64]) -> Mapping[str, Vector]:
        """Copy of the vectors of those of these memories that have one in the leg."""
        held = self._view.legs.get(leg)
        if held is None:
            return {}
        places = places[held.rows[places] >= 0]
        return dict(zip(self._names(places), held.taken(held.rows[places]), strict=True))

    def _ranking(self, text: str, function_words: str = "") -> Ranking:
        view = self._view
        return rank(
            self._source.run,
            text,
            view.places,
            view.lengths,
            view.documents,
            function_words=function_words,
        )

    def _best(self, ranking: Ranking, number: int, limit: int) -> NDArray[numpy.intp]:
        """Return where in the ranking the best stand that meet a condition."""
        best: NDArray[numpy.intp] = numpy.flatnonzero(self._view.masks[number][ranking.places])[: max(0, limit)]
        return best

    def _matches(self, ranking: Ranking, best: NDArray[numpy.intp]) -> LexicalMatches:
        hits = self._scored(ranking.places[best], ranking.scores[best])
        added = {hit.id: more for hit, more in zip(hits, ranking.added[best].tolist(), strict=True) if more > 0.0}
        return LexicalMatches(
            hits=tuple(hits), terms=ranking.terms, documents=self._view.documents, function_words=added
        )

    def _scored(
        self,
        places: NDArray[numpy.int32] | NDArray[numpy.int64],
        scores: NDArray[numpy.float32] | NDArray[numpy.float64],
    ) -> Sequence[Scored]:
        names = self._names(places)
        return [Scored(id=name, score=score) for name, score in zip(names, scores.tolist(), strict=True)]

    def _names(self, places: NDArray[numpy.int32] | NDArray[numpy.int64]) -> Sequence[str]:
        """Return the ids of the memories."""
        self._look_up([places])
        names = self._view.names
        return [names[key] for key in self._view.keys[places].tolist()]

    def _look_up(self, places: Sequence[NDArray[numpy.int32] | NDArray[numpy.int64]]) -> None:
        """Complete the names that are known by those of these memories."""
        names = self._view.names
        missing = {key for each in places for key in self._view.keys[each].tolist() if key not in names}
        if missing:
            rows = self._source.run(
                "SELECT key, id FROM memories WHERE key IN (SELECT value FROM json_each(?))", (str(sorted(missing)),)
            )
            names.update({cast(int, key): cast(str, name) for key, name in rows})

    def _keys(self, memory_ids: Sequence[str]) -> NDArray[numpy.int64]:
        rows = self._source.run(
            "SELECT key FROM memories WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(list(memory_ids)),)
        )
        return numpy.array([row[0] for row in rows], dtype=numpy.int64)


def checked(vector: Vector) -> Vector:
    """Return the vector of a query, fit to be compared.

    Raises:
        InvalidInput: When it is not one row of finite numbers.
    """
    query: Vector = numpy.ascontiguousarray(vector, dtype=numpy.float32)
    if query.ndim != 1 or not bool(numpy.isfinite(query).all()):
        raise InvalidInput("a query's vector is one row of finite numbers")
    return query
