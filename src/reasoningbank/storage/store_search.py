"""The searches of one store, each in one state of the bank (DESIGN D3, D18)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple, cast

import numpy
from numpy.typing import NDArray

from reasoningbank.errors import InvalidInput
from reasoningbank.storage.database import Database
from reasoningbank.storage.vector_file import unit_vector
from reasoningbank.types.experience import Trace
from reasoningbank.types.graph_search import GraphFilter, GraphKind
from reasoningbank.types.ports import Vector
from reasoningbank.types.recall import Filter
from reasoningbank.types.records import (
    Candidates,
    ClosePairs,
    LessonMatches,
    LessonTexts,
    LexicalMatches,
    Pool,
    Scored,
    SimilarTraces,
)

_ROWS, _COLUMNS = 1_024, 4_096
_SHARE = 4
"""The bound takes one of so many coordinates."""
_LEAST_ROWS, _LEAST_DIMENSION = 4_096, 128
"""Below these a matrix is multiplied in full."""
_SAMPLE = 8_192
_ROUNDING = 1e-4
_MOST_COMPARED = 0.004
"""A block with more pairs than this share above the bound is multiplied in full: gathering them would cost more."""
_PATIENCE = 8
"""So many more blocks may be without the bound's help than with it, before it is given up."""


class StoreSearch:
    """Finds memories, nodes, edges and traces; every search reads one state of the bank."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def nearest(self, leg: str, vector: Vector, condition: Filter, limit: int) -> Sequence[Scored]:
        """Return the memories closest to the vector in a dense leg among those that meet the condition, best first."""
        query = checked(vector)
        with self._database.search([condition], query, leg) as search:
            return search.nearest(leg, query, limit)

    def nearest_each(self, leg: str, queries: Sequence[tuple[Vector, Filter]]) -> Sequence[Scored | None]:
        """Return for each vector the closest memory in a dense leg that meets its condition; None where none does.

        The state is that of the last search, to which these questions belong.
        """
        if not queries:
            return []
        conditions = list(dict.fromkeys(condition for _, condition in queries))
        vectors = [checked(vector) for vector, _ in queries]
        with self._database.search(conditions, vectors[0], leg, again=True) as search:
            numbers = [conditions.index(condition) for _, condition in queries]
            return search.nearest_each(leg, list(zip(vectors, numbers, strict=True)))

    def nearest_among(self, leg: str, vector: Vector, condition: Filter, limit: int) -> tuple[Sequence[Scored], int]:
        """Return the same, and how many memories meet the condition."""
        query = checked(vector)
        with self._database.search([condition], query, leg) as search:
            return search.nearest(leg, query, limit), search.count()

    def similarities(self, leg: str, vector: Vector, memory_ids: Sequence[str]) -> Mapping[str, float]:
        """Return the inner product with each of these memories that has a vector in the leg."""
        query = checked(vector)
        with self._database.search([], query, leg) as search:
            return search.similarities(leg, query, memory_ids)

    def matching(self, text: str, condition: Filter, limit: int, function_words: str = "") -> LexicalMatches:
        """Return BM25 over analysed text among the memories that meet the condition.

        Args:
            text: The words that a memory must hold to match.
            condition: What a memory must be.
            limit: Most memories.
            function_words: Further words of the query; they count half, and alone make nothing match.
        """
        with self._database.search([condition]) as search:
            return search.matching(text, limit, function_words)

    def matching_context(self, text: str, condition: Filter, limit: int) -> LexicalMatches:
        """Return BM25 over the descriptions alone, among the memories that meet the condition.

        Word counts and frequencies are those of the descriptions; ``documents`` counts the memories that have one.
        """
        with self._database.search([condition], context=True) as search:
            return search.matching_context(text, limit)

    def lessons(
        self,
        vector: Vector,
        texts: LessonTexts,
        condition: Filter,
        limit: int,
        among: Collection[int] | None = None,
        *,
        first: int = 0,
    ) -> LessonMatches:
        """Return the best of the dense legs, and of BM25 over the descriptions and over all words, in one state.

        Args:
            vector: Compared in the dense legs.
            texts: The words that are looked for.
            condition: What a memory must be.
            limit: Most memories of a leg.
            among: Only the memories of these row ids; None for all.
            first: So many of each leg are given at once, with their vectors.
        """
        query = checked(vector)
        with self._database.search([condition], query, context=True) as search:
            return search.lessons(query, texts, limit, among, first)

    def graph_nearest(self, kind: GraphKind, vector: Vector, condition: GraphFilter, limit: int) -> Sequence[Scored]:
        """Return the nodes or edges closest to the vector among those that meet the condition, best first.

        Raises:
            ModelMismatch: When the bank's vectors have another dimension.
        """
        query = checked(vector)
        with self._database.search_graph(kind, condition, query) as found:
            return found.nearest(query, limit)

    def graph_matching(self, kind: GraphKind, text: str, condition: GraphFilter, limit: int) -> LexicalMatches:
        """Return BM25 over the analysed text of nodes or edges among those that meet the condition."""
        with self._database.search_graph(kind, condition) as found:
            return found.matching(text, limit)

    def candidates(
        self, vector: Vector, text: str, pools: Sequence[Pool], function_words: str = ""
    ) -> Sequence[Candidates]:
        """Return all that a fused search needs, pool by pool, in one state of the bank.

        The same as ``nearest`` in both dense legs, ``matching``, and ``similarities`` of whatever these have found.
        """
        query = checked(vector)
        with self._database.search([pool.condition for pool in pools], query) as search:
            return search.candidates(query, text, pools, function_words)

    def close_pairs(self, leg: str, threshold: float, condition: Filter, *, limit: int) -> ClosePairs:
        """Return every pair of memories that meet the condition and whose cosine in a dense leg is above the threshold.

        Args:
            leg: The leg; memories without a vector in it are in no pair.
            threshold: Pairs exactly at it are left out.
            condition: What both must be.
            limit: Most pairs; when there are more, the closest are given.
        """
        with self._database.search([condition], leg=leg) as search:
            keys, matrix = search.rows(leg)
        # Compared outside of the read: it takes long, and nothing that it reads changes any more.
        found = close_pairs(matrix, threshold, limit)
        involved = keys[numpy.union1d(found.first, found.second)].tolist()
        rows = self._database.run(
            "SELECT key, id FROM memories WHERE key IN (SELECT value FROM numbers_in(?)) ORDER BY key", (str(involved),)
        )
        known = numpy.array([row[0] for row in rows], dtype=numpy.int64)
        first, second = (numpy.searchsorted(known, keys[side]) for side in (found.first, found.second))
        kept = numpy.isin(keys[found.first], known) & numpy.isin(keys[found.second], known)
        return ClosePairs(
            ids=tuple(cast(str, row[1]) for row in rows),
            first=first[kept].astype(numpy.int32),
            second=second[kept].astype(numpy.int32),
            scores=found.scores[kept],
        )

    def vector(self, leg: str, memory_id: str) -> Vector | None:
        """Return the stored vector of one memory in one leg."""
        with self._database.search([], leg=leg) as search:
            return search.vector(leg, memory_id)

    def vectors(self, leg: str, memory_ids: Sequence[str]) -> Mapping[str, Vector]:
        """Return the stored vectors of those of these memories that have one in the leg."""
        with self._database.search([], leg=leg) as search:
            return search.vectors(leg, memory_ids)

    def similar_traces(self, vector: Vector, *, limit: int, least: float = -1.0) -> Sequence[tuple[Trace, float]]:
        """Return the searches whose queries are closest, best first, each with its cosine.

        Only the newest 10,000 count.

        Args:
            vector: The query's.
            limit: Most searches.
            least: The least cosine.
        """
        return self.taught(vector, limit=limit, least=least).traces

    def taught(self, vector: Vector, *, limit: int, least: float = -1.0) -> SimilarTraces:
        """Return the same, with the strategies that these searches taught; the arguments are those of the other."""
        return self._database.similar_traces(unit_vector(vector), limit, least)


def checked(vector: Vector) -> Vector:
    """Return the vector of a query, fit to be compared.

    Raises:
        InvalidInput: When it is not one row of finite numbers.
    """
    query: Vector = numpy.ascontiguousarray(vector, dtype=numpy.float32)
    if query.ndim != 1 or not bool(numpy.isfinite(query).all()):
        raise InvalidInput("a query's vector is one row of finite numbers")
    return query


class RowPairs(NamedTuple):
    """Pairs of rows, the first row always below the second, and their cosines."""

    first: NDArray[numpy.int32]
    second: NDArray[numpy.int32]
    scores: NDArray[numpy.float32]


def close_pairs(matrix: NDArray[numpy.float32], threshold: float, limit: int) -> RowPairs:
    """Return the pairs of rows whose cosine is above the threshold, closest first, then by their rows.

    The cosines of all pairs are one matrix product; 100,000 vectors of 384 numbers would need four tera-operations of
    it. The vectors are therefore turned first so that a quarter of their coordinates carries most of their length. With
    x = (p, r), p those coordinates and r the rest, x . y = p . q + r . s <= p . q + |r| |s| (Cauchy and Schwarz), which
    again is an inner product, of a quarter of the length. Only pairs whose bound is above the threshold are compared in
    full, and a block of which too many are is multiplied in full. No pair is missed: the bound has room for the
    rounding of float32.

    Args:
        matrix: Unit rows.
        threshold: Pairs at it are not above it.
        limit: Most pairs; when there are more, the closest stay.
    """
    kept = _Kept(threshold, limit)
    for found in _above(matrix, kept):
        kept.add(found)
    return kept.sorted()


class _Kept:
    """The closest pairs so far; the bar rises with the worst of them once there are too many."""

    def __init__(self, threshold: float, limit: int) -> None:
        self.bar = threshold
        self._limit = max(0, limit)
        self._parts: list[RowPairs] = []
        self._count = 0

    def add(self, found: RowPairs) -> None:
        """Take further pairs; forgets the least close ones when there are twice as many as wanted."""
        if len(found.scores):
            self._parts.append(found)
            self._count += len(found.scores)
        if self._count > 2 * self._limit:
            best = self.sorted()
            self._parts, self._count = [best], len(best.scores)
            if self._count:
                self.bar = max(self.bar, float(best.scores[-1]))

    def sorted(self) -> RowPairs:
        """Return the closest pairs, closest first."""
        if not self._parts:
            empty = numpy.empty(0, dtype=numpy.int32)
            return RowPairs(empty, empty, numpy.empty(0, dtype=numpy.float32))
        first, second, scores = (numpy.concatenate(columns) for columns in zip(*self._parts, strict=True))
        order = numpy.lexsort((second, first, -scores))[: self._limit]
        return RowPairs(first[order], second[order], scores[order])


def _above(matrix: NDArray[numpy.float32], kept: _Kept) -> Iterator[RowPairs]:
    """Yield the pairs above the bar as it stands, block by block; a bound that does not help is no longer asked for."""
    rows = len(matrix)
    bounded = _bounded(matrix) if rows >= _LEAST_ROWS and matrix.shape[1] >= _LEAST_DIMENSION else None
    helped = 0
    for top in range(0, rows, _ROWS):
        for left in range(top - top % _COLUMNS, rows, _COLUMNS):
            found = None if bounded is None else _bounded_block(matrix, bounded, top, left, kept.bar)
            helped += 1 if found is not None else -1
            if helped < -_PATIENCE:
                bounded = None
            yield found or _whole_block(matrix, top, left, kept.bar)


def _bounded_block(
    matrix: NDArray[numpy.float32], bounded: NDArray[numpy.float32], top: int, left: int, bar: float
) -> RowPairs | None:
    """Return the pairs of a block, compared one by one where their bound allows it.

    None when too many would have to be.
    """
    possible = bounded[top : top + _ROWS] @ bounded[left : left + _COLUMNS].T > bar - _ROUNDING
    if numpy.count_nonzero(possible) > _MOST_COMPARED * possible.size:
        return None
    upper, lower = _ordered(possible, top, left)
    return _chosen(upper, lower, numpy.einsum("ij,ij->i", matrix[upper], matrix[lower], dtype=numpy.float32), bar)


def _whole_block(matrix: NDArray[numpy.float32], top: int, left: int, bar: float) -> RowPairs:
    product = matrix[top : top + _ROWS] @ matrix[left : left + _COLUMNS].T
    upper, lower = _ordered(product > bar, top, left)
    return _chosen(upper, lower, product[upper - top, lower - left], bar)


def _ordered(where: NDArray[numpy.bool_], top: int, left: int) -> tuple[NDArray[numpy.intp], NDArray[numpy.intp]]:
    """Return the rows of a block's pairs, each pair once."""
    upper, lower = numpy.divmod(numpy.flatnonzero(where), where.shape[1])
    upper, lower = upper + top, lower + left
    once = upper < lower
    return upper[once], lower[once]


def _chosen(
    upper: NDArray[numpy.intp], lower: NDArray[numpy.intp], scores: NDArray[numpy.float32], bar: float
) -> RowPairs:
    scores = numpy.minimum(scores, numpy.float32(1.0))
    close = scores > bar
    return RowPairs(upper[close].astype(numpy.int32), lower[close].astype(numpy.int32), scores[close])


def _bounded(matrix: NDArray[numpy.float32]) -> NDArray[numpy.float32]:
    """Return rows that bound the matrix's inner products from above: main coordinates and the rest's length."""
    kept = matrix.shape[1] // _SHARE - 1
    sample = matrix[:: max(1, len(matrix) // _SAMPLE)].astype(numpy.float64)
    _, directions = numpy.linalg.eigh(sample.T @ sample)
    main = numpy.ascontiguousarray(directions[:, -kept:], dtype=numpy.float32)
    bounded = numpy.empty((len(matrix), kept + 1), dtype=numpy.float32)
    numpy.matmul(matrix, main, out=bounded[:, :kept])
    lengths = numpy.einsum("ij,ij->i", bounded[:, :kept], bounded[:, :kept])
    whole = numpy.einsum("ij,ij->i", matrix, matrix)
    bounded[:, kept] = numpy.sqrt(numpy.maximum(whole - lengths, 0.0))
    return bounded
