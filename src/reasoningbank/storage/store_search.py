"""The searches of one store, each in one state of the bank (DESIGN D3, D18)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy

from reasoningbank.storage.database import Database
from reasoningbank.storage.pairs import close_pairs
from reasoningbank.storage.search import checked
from reasoningbank.storage.vector_search import unit_vector
from reasoningbank.types.experience import Trace
from reasoningbank.types.graph_search import GraphFilter, GraphKind
from reasoningbank.types.ports import Vector
from reasoningbank.types.recall import Filter
from reasoningbank.types.records import Candidates, ClosePairs, LexicalMatches, Pool, Scored


class StoreSearch:
    """Finds memories, nodes, edges and traces; every search reads one state of the bank."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def nearest(self, leg: str, vector: Vector, condition: Filter, limit: int) -> Sequence[Scored]:
        """Return the memories closest to the vector in a dense leg among those that meet the condition, best first."""
        query = checked(vector)
        with self._database.search([condition], query, leg) as search:
            return search.nearest(leg, query, limit)

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
            "SELECT key, id FROM memories WHERE key IN (SELECT value FROM json_each(?)) ORDER BY key", (str(involved),)
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

    def similar_traces(self, vector: Vector, *, limit: int) -> Sequence[tuple[Trace, float]]:
        """Return the searches whose queries are closest, best first, each with its cosine.

        Only the newest 10,000 count.
        """
        return self._database.similar_traces(unit_vector(vector), limit)
