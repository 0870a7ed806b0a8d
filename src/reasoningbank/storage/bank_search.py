"""Searches of one bank: each reads one state of it, and what they hold in memory they share."""

from __future__ import annotations

import json
import threading
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import cast

import numpy
from numpy.typing import NDArray

from reasoningbank.errors import ModelMismatch, StoreCorrupt
from reasoningbank.storage.dense_legs import DenseLegs, HeldLegs, NamedLegs
from reasoningbank.storage.graph_search import FoundInGraph, GraphIndex
from reasoningbank.storage.index_port import Nearby
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
from reasoningbank.types.records import (
    Candidates,
    LessonMatches,
    LessonTexts,
    LexicalMatches,
    Pool,
    Scored,
    SimilarTraces,
)

BESIDE_MIN_ROWS = 32_768
"""From so many memories on, vectors are compared in a thread of their own while words are ranked."""
_SPARE = 1_024


class SearchState:
    """Answers in one state of a bank; its conditions are those that the view was asked for, in their order."""

    def __init__(self, view: View, source: VectorReader, dense: DenseLegs) -> None:
        self._view = view
        self._source = source
        self._dense = dense

    @property
    def standing(self) -> BankStanding | None:
        """What a writer begins with in this state; None when the state was seen before."""
        return self._view.standing

    def nearest(self, leg: str, vector: Vector, limit: int) -> Sequence[Scored]:
        """Return the best of a dense leg that meet the condition."""
        if limit <= 0:
            return ()
        places = self._dense.nearest(leg, vector, self._view.masks[0], limit)
        return self._scored(places, self._dense.scores(leg, vector, places)[1])

    def nearest_each(self, leg: str, queries: Sequence[tuple[Vector, int]]) -> Sequence[Scored | None]:
        """Return for each vector the best of a dense leg that meets the condition of that number; None without one."""
        found: list[Scored | None] = [None] * len(queries)
        for condition in range(len(self._view.masks)):
            asked = [place for place, (_, number) in enumerate(queries) if number == condition]
            if asked:
                vectors = numpy.stack([queries[place][0] for place in asked])
                best = self._scored(*self._dense.nearest_each(leg, vectors, condition))
                for place, scored in zip(asked, best, strict=False):
                    found[place] = scored
        return found

    def count(self) -> int:
        """Return how many memories meet the condition."""
        return int(numpy.count_nonzero(self._view.masks[0]))

    def similarities(self, leg: str, vector: Vector, memory_ids: Sequence[str]) -> Mapping[str, float]:
        """Return the inner product with each of these memories that has a vector in the leg."""
        places = self._view.places(self._keys(memory_ids))
        return self._similarities(leg, vector, places, self._names(places))

    def rows(self, leg: str) -> tuple[NDArray[numpy.int64], NDArray[numpy.float32]]:
        """Return the keys, ascending, and the vectors of the memories that meet the condition in a dense leg."""
        places, matrix = self._dense.every(leg, self._view.masks[0])
        return self._view.keys[places], matrix

    def vector(self, leg: str, memory_id: str) -> Vector | None:
        """Return a copy of one memory's vector."""
        return self.vectors(leg, [memory_id]).get(memory_id)

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
        ranking, best = self._context_best(text, self._view.masks[0], limit)
        hits = self._scored(ranking.places[best], ranking.scores[best])
        documents = int(numpy.count_nonzero(self._view.contexts.counts))
        return LexicalMatches(hits=tuple(hits), terms=ranking.terms, documents=documents)

    def lessons(
        self,
        vector: Vector,
        texts: LessonTexts,
        limit: int,
        among: Collection[int] | None,
        first: int,
    ) -> LessonMatches:
        """Return the best of all legs of a search by lesson that meet the condition."""
        mask = self._view.masks[0]
        if among is not None:
            mask = mask & numpy.isin(self._view.keys, numpy.array([*among], dtype=numpy.int64))
        near = {leg: self._dense.nearest(leg, vector, mask, limit) for leg in DENSE_LEGS}
        scores = {leg: self._dense.scores(leg, vector, places)[1] for leg, places in near.items()}
        context = self._context_best(texts.context, mask, limit) if texts.context else None
        ranking = self._ranking(texts.words, texts.function_words)
        hits = numpy.flatnonzero(mask[ranking.places])[: max(0, limit)]
        places = numpy.unique(numpy.concatenate([each[:first] for each in near.values()]))
        vectors = self._taken(CONTENT_LEG, places, self._names(places))

        def named(most: int) -> LessonMatches:
            words: Sequence[Scored] = ()
            if context is not None:
                found, best = context
                words = self._scored(found.places[best[:most]], found.scores[best[:most]])
            return LessonMatches(
                dense={leg: self._scored(each[:most], scores[leg][:most]) for leg, each in near.items()},
                words=words,
                model_id=self._view.model_id,
                lexical=self._matches(ranking, hits[:most], self._names(ranking.places[hits[:most]])),
                vectors=vectors,
                whole=lambda: named(limit),
            )

        return named(first)

    def _context_best(self, text: str, mask: NDArray[numpy.bool_], limit: int) -> tuple[Ranking, NDArray[numpy.intp]]:
        """Return the ranking of the words in the descriptions, and where in it the best memories of a mask stand."""
        ranking = rank_context(self._source.run, text, self._view.places, self._view.contexts)
        best: NDArray[numpy.intp] = numpy.flatnonzero(mask[ranking.places])[: max(0, limit)]
        return ranking, best

    def candidates(
        self, vector: Vector, text: str, pools: Sequence[Pool], function_words: str = ""
    ) -> Sequence[Candidates]:
        """Return what all legs bring for every pool."""
        limits = [pool.dense for pool in pools]
        if len(self._view.keys) < BESIDE_MIN_ROWS or not self._dense.in_memory:
            nearest, ranking = self._dense.nearest_pools(vector, limits, text), self._ranking(text, function_words)
        else:
            with ThreadPoolExecutor(max_workers=1) as beside:
                scanning = beside.submit(self._dense.nearest_pools, vector, limits, text)
                ranking = self._ranking(text, function_words)
            nearest = scanning.result()
        best = [self._best(ranking, number, pool.lexical) for number, pool in enumerate(pools)]
        found = [
            numpy.unique(numpy.concatenate([ranking.places[hits], *(leg[number] for leg in nearest.values())]))
            for number, hits in enumerate(best)
        ]
        return [self._candidates(vector, places, ranking, hits) for places, hits in zip(found, best, strict=True)]

    def _candidates(
        self, vector: Vector, places: NDArray[numpy.int64], ranking: Ranking, hits: NDArray[numpy.intp]
    ) -> Candidates:
        """Return what the legs bring of a pool: the memories of these places, those of the text leg in its order."""
        names = self._names(places)
        named = numpy.searchsorted(places, ranking.places[hits]).tolist()
        return Candidates(
            dense={leg: self._similarities(leg, vector, places, names) for leg in DENSE_LEGS},
            lexical=self._matches(ranking, hits, [names[number] for number in named]),
            words_worth=self._view.words_worth,
            sources=self._view.sources,
            model_id=self._view.model_id,
            vectors=self._taken(CONTENT_LEG, places, names),
            warnings=self._dense.warnings,
        )

    def _similarities(
        self, leg: str, vector: Vector, places: NDArray[numpy.int64], names: Sequence[str]
    ) -> Mapping[str, float]:
        """Return the scores of those of these memories that have a vector in the leg."""
        present, scores = self._dense.scores(leg, vector, places)
        return dict(zip([names[number] for number in present.tolist()], scores.tolist(), strict=True))

    def _taken(self, leg: str, places: NDArray[numpy.int64], names: Sequence[str]) -> Mapping[str, Vector]:
        """Copy of the vectors of those of these memories that have one in the leg."""
        present, matrix = self._dense.vectors(leg, places)
        return dict(zip([names[number] for number in present.tolist()], matrix, strict=True))

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
        nearby: Nearby | None,
    ) -> SearchState:
        """Return a search of the memories in the state that the source's transaction reads first here.

        It is the state that was seen last when that is to be looked at again. With an index nearby that is of use now
        no vectors are held.
        """
        dimension = None if query is None else len(query)
        held = nearby is None or not nearby.usable
        view = self._dense.view(source, conditions, dimension, leg=leg, context=context, again=again, held=held)
        if nearby is None or held:
            return SearchState(view, source, HeldLegs(view, (nearby.failure,) if nearby and nearby.failure else ()))
        return SearchState(view, source, NamedLegs(view, source, conditions, nearby))

    def search_graph(
        self, source: VectorReader, kind: GraphKind, condition: GraphFilter, query: Vector | None
    ) -> FoundInGraph:
        """Return a search of the graph in that state."""
        view = self._graph.view(source, kind, None if query is None else len(query))
        return FoundInGraph(view, source, kind, condition)

    def similar_traces(self, source: VectorReader, query: Vector, limit: int, least: float) -> SimilarTraces:
        """Return the traces closest to a unit vector, with at least this cosine, best first, and what they taught."""
        return self._traces.similar(source.run, source.project, query, limit, least)
