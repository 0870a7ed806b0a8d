"""Searches of one bank: each reads one state of it, and what they hold in memory they share."""

from __future__ import annotations

import json
import threading
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import cast

import numpy
from numpy.typing import NDArray

from reasoningbank.errors import ModelMismatch, StoreCorrupt
from reasoningbank.storage.graph_search import FoundInGraph, GraphIndex
from reasoningbank.storage.memory_tables import MEMORIES, memory_from
from reasoningbank.storage.rows import Row, checksum, decoding
from reasoningbank.storage.search_sql import KEYS_SQL, TRACE_VECTORS_SQL, TRACE_WIDTH, TRACES_SQL
from reasoningbank.storage.session_tables import read_trace
from reasoningbank.storage.sidecars import Renewal, Sidecars
from reasoningbank.storage.text_search import Ranking, RunSql, rank, rank_context
from reasoningbank.storage.unit import BankStanding
from reasoningbank.storage.vector_index import DenseIndex, VectorReader, View
from reasoningbank.types.experience import COMPARED_TRACES, COSINE_DIGITS
from reasoningbank.types.graph_search import GraphFilter, GraphKind
from reasoningbank.types.ports import Vector
from reasoningbank.types.recall import CONTENT_LEG, DENSE_LEGS, Filter
from reasoningbank.types.records import Candidates, LessonMatches, LexicalMatches, Pool, Scored, SimilarTraces

BESIDE_MIN_ROWS = 32_768
"""From so many memories on, vectors are compared in a thread of their own while words are ranked."""
_SPARE = 1_024


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scan:
    """One dense leg compared with the query: the score of every row, and the nearest places of every pool."""

    scores: NDArray[numpy.float32]
    nearest: Sequence[NDArray[numpy.int32]] = ()


class SearchState:
    """Answers in one state of a bank; its conditions are those that the view was asked for, in their order."""

    def __init__(self, view: View, source: VectorReader) -> None:
        self._view = view
        self._source = source

    @property
    def standing(self) -> BankStanding | None:
        """What a writer begins with in this state; None when the state was seen before."""
        return self._view.standing

    def nearest(self, leg: str, vector: Vector, limit: int) -> Sequence[Scored]:
        """Return the best of a dense leg that meet the condition."""
        held = self._view.legs.get(leg)
        if held is None or limit <= 0:
            return ()
        scores = held.scores(vector)
        places = held.nearest(scores, self._view.masks[0], limit)
        return self._scored(places, scores[held.rows[places]])

    def nearest_each(self, leg: str, queries: Sequence[tuple[Vector, int]]) -> Sequence[Scored | None]:
        """Return for each vector the best of a dense leg that meets the condition of that number; None without one."""
        held = self._view.legs.get(leg)
        if held is None:
            return [None] * len(queries)
        found: list[Scored | None] = [None] * len(queries)
        for condition, mask in enumerate(self._view.masks):
            asked = [place for place, (_, number) in enumerate(queries) if number == condition]
            if asked:
                best = self._scored(*held.nearest_each(numpy.stack([queries[place][0] for place in asked]), mask))
                for place, scored in zip(asked, best, strict=False):
                    found[place] = scored
        return found

    def count(self) -> int:
        """Return how many memories meet the condition."""
        return int(numpy.count_nonzero(self._view.masks[0]))

    def similarities(self, leg: str, vector: Vector, memory_ids: Sequence[str]) -> Mapping[str, float]:
        """Return the inner product with each of these memories that has a vector in the leg."""
        places = self._view.places(self._keys(memory_ids))
        held = self._view.legs.get(leg)
        if held is None:
            return {}
        return self._completed(places, {leg: _Scan(scores=held.scores(vector))}, self._names(places))[leg]

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
        places = self._view.places(self._keys(memory_ids))
        return self._taken(leg, places, self._names(places))

    def matching(self, text: str, limit: int, function_words: str = "") -> LexicalMatches:
        """Return the best of the lexical leg that meet the condition."""
        ranking = self._ranking(text, function_words)
        best = self._best(ranking, 0, limit)
        return self._matches(ranking, best, self._names(ranking.places[best]))

    def matching_context(self, text: str, limit: int) -> LexicalMatches:
        """Return the best of BM25 over the descriptions that meet the condition."""
        ranking, hits = self._context_hits(text, self._view.masks[0], limit)
        documents = int(numpy.count_nonzero(self._view.contexts.counts))
        return LexicalMatches(hits=tuple(hits), terms=ranking.terms, documents=documents)

    def lessons(
        self, legs: Sequence[str], vector: Vector | None, text: str, limit: int, among: Collection[int] | None
    ) -> LessonMatches:
        """Return the best of these dense legs and of BM25 over the descriptions that meet the condition."""
        view = self._view
        mask = view.masks[0]
        if among is not None:
            mask = mask & numpy.isin(view.keys, numpy.array([*among], dtype=numpy.int64))
        dense: dict[str, Sequence[Scored]] = dict.fromkeys(legs, ())
        for leg in legs:
            held = view.legs.get(leg)
            if held is not None and vector is not None:
                scores = held.scores(vector)
                places = held.nearest(scores, mask, limit)
                dense[leg] = self._scored(places, scores[held.rows[places]])
        words = self._context_hits(text, mask, limit)[1] if text else ()
        return LessonMatches(dense=dense, words=words, model_id=view.model_id)

    def _context_hits(self, text: str, mask: NDArray[numpy.bool_], limit: int) -> tuple[Ranking, Sequence[Scored]]:
        """Return the ranking of the words in the descriptions, and its best memories of a mask."""
        ranking = rank_context(self._source.run, text, self._view.places, self._view.contexts)
        best = numpy.flatnonzero(mask[ranking.places])[: max(0, limit)]
        return ranking, self._scored(ranking.places[best], ranking.scores[best])

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
        return [self._candidates(places, scans, ranking, hits) for places, hits in zip(found, best, strict=True)]

    def _candidates(
        self,
        places: NDArray[numpy.int64],
        scans: Mapping[str, _Scan],
        ranking: Ranking,
        hits: NDArray[numpy.intp],
    ) -> Candidates:
        """Return what the legs bring of a pool: the memories of these places, those of the text leg in its order."""
        names = self._names(places)
        named = numpy.searchsorted(places, ranking.places[hits]).tolist()
        return Candidates(
            dense=self._completed(places, scans, names),
            lexical=self._matches(ranking, hits, [names[number] for number in named]),
            words_worth=self._view.words_worth,
            sources=self._view.sources,
            model_id=self._view.model_id,
            vectors=self._taken(CONTENT_LEG, places, names),
        )

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

    def _completed(
        self, places: NDArray[numpy.int64], scans: Mapping[str, _Scan], names: Sequence[str]
    ) -> Mapping[str, Mapping[str, float]]:
        """Return the scores of those memories that have a vector, leg by leg."""
        dense: dict[str, Mapping[str, float]] = {leg: {} for leg in DENSE_LEGS}
        for leg, scan in scans.items():
            rows = self._view.legs[leg].rows[places]
            held = numpy.flatnonzero(rows >= 0)
            scores = scan.scores[rows[held]].tolist()
            dense[leg] = {names[number]: score for number, score in zip(held.tolist(), scores, strict=True)}
        return dense

    def _taken(self, leg: str, places: NDArray[numpy.int64], names: Sequence[str]) -> Mapping[str, Vector]:
        """Copy of the vectors of those of these memories that have one in the leg."""
        held = self._view.legs.get(leg)
        if held is None:
            return {}
        rows = held.rows[places]
        present = numpy.flatnonzero(rows >= 0)
        return dict(zip([names[number] for number in present.tolist()], held.taken(rows[present]), strict=True))

    def _ranking(self, text: str, function_words: str = "") -> Ranking:
        view = self._view
        return rank(
            self._source.run,
            text,
            view.places,
            view.lengths,
            view.documents,
            function_words=function_words,
            counts=view.word_counts,
        )

    def _best(self, ranking: Ranking, number: int, limit: int) -> NDArray[numpy.intp]:
        """Return where in the ranking the best stand that meet a condition."""
        best: NDArray[numpy.intp] = numpy.flatnonzero(self._view.masks[number][ranking.places])[: max(0, limit)]
        return best

    def _matches(self, ranking: Ranking, best: NDArray[numpy.intp], names: Sequence[str]) -> LexicalMatches:
        scores = ranking.scores[best].tolist()
        hits = [Scored(id=name, score=score) for name, score in zip(names, scores, strict=True)]
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
        return self._view.names.of(places)

    def _keys(self, memory_ids: Sequence[str]) -> NDArray[numpy.int64]:
        rows = self._source.run(KEYS_SQL, (json.dumps(list(memory_ids)),))
        return numpy.array([row[0] for row in rows], dtype=numpy.int64)


class TraceIndex:
    """The vectors of the newest traces by age, refreshed before every search: only new ones are read."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._forget()

    def similar(self, read: RunSql, project: str, query: Vector, limit: int, least: float) -> SimilarTraces:
        """Return the closest traces, best first, then newest first, with the strategies that they taught.

        None is given whose cosine is below the least. This makes the first read of its transaction.

        Raises:
            ModelMismatch: When the bank's vectors have another dimension.
        """
        with self._lock:
            try:
                with decoding("a trace's vector"):
                    self._refresh(read, len(query))
            except BaseException:
                self._forget()
                raise
            numbers = self._numbers[: self._count][-COMPARED_TRACES:]
            products = self._matrix[: self._count][-COMPARED_TRACES:] @ query
        cosines = numpy.clip(products.astype(numpy.float64).round(COSINE_DIGITS), -1.0, 1.0)
        best = numpy.lexsort((-numbers, -cosines))[: max(0, limit)]
        best = best[cosines[best] >= least]
        wanted = numbers[best].tolist()
        if not wanted:
            return SimilarTraces()
        rows = read(TRACES_SQL, (str(wanted),))
        traces = {cast(int, row[0]): read_trace(row[:TRACE_WIDTH]) for row in rows if row[0] is not None}
        if len(traces) < len(wanted):
            raise StoreCorrupt("a trace's vector belongs to no trace")
        strategies = {
            cast(str, row[0]): (memory_from(project, row[: MEMORIES.count], row[MEMORIES.count]), cast(int, row[-1]))
            for row in (row[TRACE_WIDTH:] for row in rows if row[0] is None)
        }
        return SimilarTraces(
            [(traces[number], cosine) for number, cosine in zip(wanted, cosines[best].tolist(), strict=True)],
            strategies,
        )

    def _forget(self, state: str = "", dimension: int = 0) -> None:
        self._state = state
        self._count = 0
        self._numbers: NDArray[numpy.int64] = numpy.empty(0, dtype=numpy.int64)
        self._matrix: NDArray[numpy.float32] = numpy.empty((0, dimension), dtype=numpy.float32)

    def _refresh(self, read: RunSql, dimension: int) -> None:
        last = int(self._numbers[self._count - 1]) if self._count else -1
        rows = read(TRACE_VECTORS_SQL, (self._state, last, COMPARED_TRACES))
        facts = {name: value for name, value, _ in rows if isinstance(name, str)}
        stored = int(cast(str, facts.get("dimension", dimension)))
        if stored != dimension:
            raise ModelMismatch(f"the bank's vectors have {stored} dimensions, the query's {dimension}")
        if (facts["state"], dimension) != (self._state, self._matrix.shape[1]):
            self._forget(cast(str, facts["state"]), dimension)
        if vectors := sorted((row for row in rows if not isinstance(row[0], str)), key=lambda row: cast(int, row[0])):
            self._append(vectors, dimension)

    def _append(self, rows: Sequence[Row], dimension: int) -> None:
        if self._count + len(rows) > len(self._numbers):
            self._make_room(len(rows), dimension)
        for place, (number, vector, stored) in enumerate(rows, start=self._count):
            if checksum((number, vector)) != stored:
                raise StoreCorrupt(f"the vector of trace number {number!r} does not hold what was written to it")
            self._numbers[place] = cast(int, number)
            self._matrix[place] = numpy.frombuffer(cast(bytes, vector), dtype=numpy.float32)
        self._count += len(rows)

    def _make_room(self, more: int, dimension: int) -> None:
        """Drop what is too old to be compared, and leave room for further rows."""
        kept = slice(max(0, self._count - COMPARED_TRACES), self._count)
        numbers, matrix = self._numbers[kept], self._matrix[kept]
        capacity = len(numbers) + more + _SPARE
        self._numbers = numpy.empty(capacity, dtype=numpy.int64)
        self._matrix = numpy.empty((capacity, dimension), dtype=numpy.float32)
        self._count = len(numbers)
        self._numbers[: self._count], self._matrix[: self._count] = numbers, matrix


class Indexes:
    """Keep what searches of one bank need in memory, made at the first of them. Threads may share it.

    Args:
        sidecars: Where whole matrices lie beside the bank.
        project: Whose bank it is.
    """

    def __init__(self, sidecars: Sidecars, project: str) -> None:
        self._dense = DenseIndex(sidecars, project)
        self._traces = TraceIndex()
        self._graph = GraphIndex()

    @property
    def model_id(self) -> str | None:
        """The vector space of the state that the last search saw; None when it had none."""
        return self._dense.model_id

    def renewal(self) -> AbstractContextManager[Renewal | None]:
        """Give what makes new sidecars of vectors that have become many; None when there are none now."""
        return self._dense.renewal()

    def search(
        self,
        source: VectorReader,
        conditions: Sequence[Filter],
        query: Vector | None,
        leg: str,
        *,
        context: bool,
        again: bool,
    ) -> SearchState:
        """Return a search of the memories in the state that the source's transaction reads first here.

        It is the state that was seen last when that is to be looked at again.
        """
        dimension = None if query is None else len(query)
        view = self._dense.view(source, conditions, dimension, leg=leg, context=context, again=again)
        return SearchState(view, source)

    def search_graph(
        self, source: VectorReader, kind: GraphKind, condition: GraphFilter, query: Vector | None
    ) -> FoundInGraph:
        """Return a search of the graph in that state."""
        view = self._graph.view(source, kind, None if query is None else len(query))
        return FoundInGraph(view, source, kind, condition)

    def similar_traces(self, source: VectorReader, query: Vector, limit: int, least: float) -> SimilarTraces:
        """Return the traces closest to a unit vector, with at least this cosine, best first, and what they taught."""
        return self._traces.similar(source.run, source.project, query, limit, least)
