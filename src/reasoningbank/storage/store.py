"""The store of one scope: its tables, its searches and its transactions (DESIGN D1, D18)."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol, cast

import numpy

from reasoningbank.storage.database import Database
from reasoningbank.storage.delivery_tables import DeliveryTables
from reasoningbank.storage.document_tables import DocumentTables
from reasoningbank.storage.evidence_tables import EvidenceTables
from reasoningbank.storage.failures import decoding
from reasoningbank.storage.graph_tables import GraphReader, GraphTables, GraphText, Pointer
from reasoningbank.storage.job_tables import JobTables
from reasoningbank.storage.memory_tables import MemoryTables
from reasoningbank.storage.pairs import close_pairs
from reasoningbank.storage.rows import WORDS_WORTH, words_worth_from
from reasoningbank.storage.search import checked
from reasoningbank.storage.session_tables import SessionTables
from reasoningbank.storage.unit import Source, Unit
from reasoningbank.storage.vector_search import unit_vector
from reasoningbank.types.experience import Trace
from reasoningbank.types.graph_search import GraphFilter, GraphKind
from reasoningbank.types.ports import Vector
from reasoningbank.types.recall import Filter
from reasoningbank.types.records import Candidates, ClosePairs, LexicalMatches, Pool, Scored, StoreReport, WordsWorth
from reasoningbank.types.scope import Membership, Scope

__all__ = ["GraphReader", "GraphText", "Pointer", "Storage", "Store", "StoreReader", "Transaction"]
MEMBERSHIP = "membership"
"""Under this name ``meta`` holds which team and org the project belongs to."""


class StoreReader:
    """The tables of one scope; inside a transaction they see its own writes.

    Args:
        source: Where the rows come from.
        unit: The transaction that writes; outside of one every write is refused.
        walked: Answers what walks ask of the graph in place of the source.
    """

    def __init__(self, source: Source, unit: Unit, walked: GraphReader | None = None) -> None:
        self.memories = MemoryTables(source, unit)
        self.evidence = EvidenceTables(source, unit)
        self.deliveries = DeliveryTables(source, unit)
        self.sessions = SessionTables(source, unit)
        self.graph = GraphTables(source, unit, walked)
        self.documents = DocumentTables(source, unit)
        self.jobs = JobTables(source, unit)


class Transaction(StoreReader):
    """Writes of one scope that become visible together or not at all."""

    def __init__(self, unit: Unit) -> None:
        super().__init__(unit, unit)
        self._unit = unit

    def whole(self) -> AbstractContextManager[None]:
        """Return a block whose writes happen together or not at all, also when its error is caught."""
        return self._unit.whole()

    def forget_vectors(self) -> None:
        """Remove every vector and the bank's model, so that another model's vectors may come."""
        with self._unit.whole():
            for table in ("vectors", "trace_vectors", "document_vectors", "graph_vectors"):
                self._unit.run(f"DELETE FROM {table}")  # noqa: S608 - constant tables
            self._unit.run("DELETE FROM meta WHERE name IN ('model_id', 'dimension') OR name LIKE 'sidecar %'")
            self._unit.put_meta("space", uuid.uuid4().hex)
            self._unit.note_change()
            self._unit.forget_space()

    def set_membership(self, membership: Membership) -> None:
        """Replace which team and org the project belongs to."""
        self._unit.put_meta(MEMBERSHIP, json.dumps([membership.team, membership.org]))

    def set_words_worth(self, worth: WordsWorth) -> None:
        """Replace what the bank has learned that words are worth in it."""
        self._unit.put_meta(WORDS_WORTH, json.dumps([worth.factor, worth.model_id, worth.memories]))


class StoreSearch:
    """Finds memories, nodes, edges and traces; every search reads one state of the bank."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def nearest(self, leg: str, vector: Vector, condition: Filter, limit: int) -> Sequence[Scored]:
        """Return the memories closest to the vector in a dense leg among those that meet the condition, best first."""
        query = checked(vector)
        with self._database.search([condition], query, leg) as search:
            return search.nearest(leg, query, limit)

    def similarities(self, leg: str, vector: Vector, memory_ids: Sequence[str]) -> Mapping[str, float]:
        """Return the inner product with each of these memories that has a vector in the leg."""
        query = checked(vector)
        with self._database.search([], query, leg) as search:
            return search.similarities(leg, query, memory_ids)

    def matching(self, text: str, condition: Filter, limit: int) -> LexicalMatches:
        """Return BM25 over analysed text among the memories that meet the condition."""
        with self._database.search([condition]) as search:
            return search.matching(text, limit)

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

    def candidates(self, vector: Vector, text: str, pools: Sequence[Pool]) -> Sequence[Candidates]:
        """Return all that a fused search needs, pool by pool, in one state of the bank.

        The same as ``nearest`` in both dense legs, ``matching``, and ``similarities`` of whatever these have found.
        """
        query = checked(vector)
        with self._database.search([pool.condition for pool in pools], query) as search:
            return search.candidates(query, text, pools)

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


class Store(StoreReader):
    """One bank: its tables as they were committed, its searches and its transactions. Threads may share it.

    Args:
        database: The engine that holds it; closed with the store.
        scope: Whose bank it is.
    """

    def __init__(self, database: Database, scope: Scope) -> None:
        super().__init__(database, Unit.outside(scope.project), database.walked)
        self.search = StoreSearch(database)
        self.project = scope.project
        self._database = database
        self._scope = scope

    @property
    def scope(self) -> Scope:
        """The scope it holds, fixed for its life."""
        return self._scope

    @property
    def path(self) -> Path:
        """The bank file, or what stands for it in messages."""
        return self._database.path

    @property
    def model_id(self) -> str | None:
        """The vector space of the stored vectors; None when there are none yet."""
        rows = self._database.run("SELECT value FROM meta WHERE name = 'model_id'")
        return cast(str, rows[0][0]) if rows else None

    @property
    def seen_model_id(self) -> str | None:
        """The same as the last search saw it, without a look into the bank; None before the first."""
        return self._database.seen_model_id

    @property
    def words_worth(self) -> WordsWorth:
        """What the bank has learned that words are worth in it; factor 1 when it has not."""
        rows = self._database.run("SELECT value FROM meta WHERE name = ?", (WORDS_WORTH,))
        return words_worth_from(rows[0][0] if rows else None)

    @property
    def membership(self) -> Membership:
        """Which team and org the project was last opened with; empty names when with none."""
        rows = self._database.run("SELECT value FROM meta WHERE name = ?", (MEMBERSHIP,))
        if not rows:
            return Membership()
        with decoding("which team and org the project belongs to"):
            team, org = json.loads(cast(str, rows[0][0]))
            return Membership(team=str(team), org=str(org))

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Return one atomic, durable unit of writes; an exception inside leaves no trace."""
        with self._database.writing() as unit:
            yield Transaction(unit)

    def check(self) -> StoreReport:
        """Read everything and report every defect."""
        return self._database.check()

    def backup(self, target: Path) -> None:
        """Write a complete, consistent copy that ``Storage.restore`` accepts."""
        self._database.backup(target)

    def close(self) -> None:
        """Release what the store holds; a second time does nothing."""
        self._database.close()


class Storage(Protocol):
    """A place that holds one store per scope."""

    def open(self, scope: Scope) -> Store:
        """Return the scope's store, made when it does not exist."""

    def scopes(self, tenant: str) -> Sequence[Scope]:
        """Return the scopes of one tenant that exist here: projects by name, then teams, then orgs."""

    def has(self, scope: Scope) -> bool:
        """Return whether the scope has a store here; asking makes none."""

    def restore(self, scope: Scope, source: Path) -> None:
        """Replace the scope's store by a backup of the same scope; an old file is kept aside."""
