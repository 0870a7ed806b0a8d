"""The store of one scope: its tables, its searches and its transactions (DESIGN D1, D2, D18)."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Protocol, cast

import apsw
import numpy

from reasoningbank.errors import StoreClosed, StoreError, StoreTooNew
from reasoningbank.storage import check as upkeep
from reasoningbank.storage.bank_file import Medium, Opening
from reasoningbank.storage.connection import ConnectionSource
from reasoningbank.storage.delivery_tables import DeliveryTables
from reasoningbank.storage.document_tables import DocumentTables
from reasoningbank.storage.evidence_tables import EvidenceTables
from reasoningbank.storage.failures import decoding, translated
from reasoningbank.storage.graph_cache import GraphCache
from reasoningbank.storage.graph_search import FoundInGraph, GraphIndex
from reasoningbank.storage.graph_tables import GraphReader, GraphTables, GraphText, Pointer
from reasoningbank.storage.job_tables import JobTables
from reasoningbank.storage.locks import LOCK_TIMEOUT
from reasoningbank.storage.memory_tables import MemoryTables
from reasoningbank.storage.pairs import close_pairs
from reasoningbank.storage.rows import WORDS_WORTH, Row, Value, words_worth_from
from reasoningbank.storage.schema import MIGRATIONS
from reasoningbank.storage.search import Search, checked
from reasoningbank.storage.session_tables import SessionTables
from reasoningbank.storage.trace_index import TraceIndex
from reasoningbank.storage.unit import ERASURE, Source, Standings, Unit
from reasoningbank.storage.vector_index import DenseIndex
from reasoningbank.storage.vector_search import unit_vector
from reasoningbank.types.experience import Trace
from reasoningbank.types.graph import Edge, Node
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


class _Generation:
    """Idle connections to one file, and what was derived from it; another file at the same path is another one."""

    def __init__(self, identity: tuple[int, int] | None, dense: DenseIndex) -> None:
        self.identity = identity
        self.dense = dense
        self.traces = TraceIndex()
        self.graph = GraphIndex()
        self.walked = GraphCache()
        self.idle: list[ConnectionSource] = []


class _Walks:
    """What walks ask of the graph, answered from what was read lately."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def nodes(self, ids: Collection[str], /) -> Mapping[str, Node]:
        with self._store._one_state() as (generation, source):
            return generation.walked.nodes(source, ids)

    def edges_around(self, ids: Collection[str], /) -> Mapping[str, Sequence[Edge]]:
        with self._store._one_state() as (generation, source):
            return generation.walked.edges_around(source, ids)


class StoreSearch:
    """Finds memories, nodes, edges and traces; every search reads one state of the bank."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def nearest(self, leg: str, vector: Vector, condition: Filter, limit: int) -> Sequence[Scored]:
        """Return the memories closest to the vector in a dense leg among those that meet the condition, best first."""
        query = checked(vector)
        with self._store._search([condition], query, leg) as search:
            return search.nearest(leg, query, limit)

    def similarities(self, leg: str, vector: Vector, memory_ids: Sequence[str]) -> Mapping[str, float]:
        """Return the inner product with each of these memories that has a vector in the leg."""
        query = checked(vector)
        with self._store._search([], query, leg) as search:
            return search.similarities(leg, query, memory_ids)

    def matching(self, text: str, condition: Filter, limit: int) -> LexicalMatches:
        """Return BM25 over analysed text among the memories that meet the condition."""
        with self._store._search([condition]) as search:
            return search.matching(text, limit)

    def matching_context(self, text: str, condition: Filter, limit: int) -> LexicalMatches:
        """Return BM25 over the descriptions alone, among the memories that meet the condition.

        Word counts and frequencies are those of the descriptions; ``documents`` counts the memories that have one.
        """
        with self._store._search([condition], context=True) as search:
            return search.matching_context(text, limit)

    def graph_nearest(self, kind: GraphKind, vector: Vector, condition: GraphFilter, limit: int) -> Sequence[Scored]:
        """Return the nodes or edges closest to the vector among those that meet the condition, best first.

        Raises:
            ModelMismatch: When the bank's vectors have another dimension.
        """
        query = checked(vector)
        with self._store._search_graph(kind, condition, query) as found:
            return found.nearest(query, limit)

    def graph_matching(self, kind: GraphKind, text: str, condition: GraphFilter, limit: int) -> LexicalMatches:
        """Return BM25 over the analysed text of nodes or edges among those that meet the condition."""
        with self._store._search_graph(kind, condition) as found:
            return found.matching(text, limit)

    def candidates(self, vector: Vector, text: str, pools: Sequence[Pool]) -> Sequence[Candidates]:
        """Return all that a fused search needs, pool by pool, in one state of the bank.

        The same as ``nearest`` in both dense legs, ``matching``, and ``similarities`` of whatever these have found.
        """
        query = checked(vector)
        with self._store._search([pool.condition for pool in pools], query) as search:
            return search.candidates(query, text, pools)

    def close_pairs(self, leg: str, threshold: float, condition: Filter, *, limit: int) -> ClosePairs:
        """Return every pair of memories that meet the condition and whose cosine in a dense leg is above the threshold.

        Args:
            leg: The leg; memories without a vector in it are in no pair.
            threshold: Pairs exactly at it are left out.
            condition: What both must be.
            limit: Most pairs; when there are more, the closest are given.
        """
        with self._store._search([condition], leg=leg) as search:
            keys, matrix = search.rows(leg)
        # Compared outside of the read: it takes long, and nothing that it reads changes any more.
        found = close_pairs(matrix, threshold, limit)
        involved = keys[numpy.union1d(found.first, found.second)].tolist()
        rows = self._store.run(
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
        with self._store._search([], leg=leg) as search:
            return search.vector(leg, memory_id)

    def vectors(self, leg: str, memory_ids: Sequence[str]) -> Mapping[str, Vector]:
        """Return the stored vectors of those of these memories that have one in the leg."""
        with self._store._search([], leg=leg) as search:
            return search.vectors(leg, memory_ids)

    def similar_traces(self, vector: Vector, *, limit: int) -> Sequence[tuple[Trace, float]]:
        """Return the searches whose queries are closest, best first, each with its cosine.

        Only the newest 10,000 count.
        """
        query = unit_vector(vector)
        with self._store._one_state() as (generation, source):
            return generation.traces.similar(source.run, query, limit)


class Store(StoreReader):
    """One bank. Reads take no lock; a write holds the bank's lock for one transaction. Threads may share it.

    Args:
        medium: Where the bank lies; closed with the store.
        scope: Whose bank it is; that of another scope is refused.
    """

    def __init__(self, medium: Medium, scope: Scope) -> None:
        self.project = scope.project
        super().__init__(self, Unit.outside(scope.project), _Walks(self))
        self.search = StoreSearch(self)
        self._scope = scope
        self._medium = medium
        self._opening = Opening(medium, scope)
        self._pool_lock = threading.Lock()
        self._closed = False
        self._deleted = False
        self._log_limit = upkeep.LOG_LIMIT
        self._tidied = 0
        self._standings = Standings()
        try:
            self._writer: ConnectionSource | None = self._opening.prepare()
            self._generation = self._new_generation(self._writer.identity)
            self._unerased = bool(self._writer.run("SELECT 1 FROM meta WHERE name = ?", (ERASURE,)))
            if self._unerased:
                self._erase_again()
        except BaseException:
            self._medium.close()
            raise

    @property
    def scope(self) -> Scope:
        """The scope it holds, fixed for its life."""
        return self._scope

    @property
    def path(self) -> Path:
        """The bank file, or what stands for it in messages."""
        return self._medium.path

    @property
    def model_id(self) -> str | None:
        """The vector space of the stored vectors; None when there are none yet."""
        rows = self.run("SELECT value FROM meta WHERE name = 'model_id'")
        return cast(str, rows[0][0]) if rows else None

    @property
    def seen_model_id(self) -> str | None:
        """The same as the last search saw it, without a look into the bank; None before the first."""
        with self._pool_lock:
            self._check_open()
            return self._generation.dense.model_id

    @property
    def words_worth(self) -> WordsWorth:
        """What the bank has learned that words are worth in it; factor 1 when it has not."""
        rows = self.run("SELECT value FROM meta WHERE name = ?", (WORDS_WORTH,))
        return words_worth_from(rows[0][0] if rows else None)

    @property
    def membership(self) -> Membership:
        """Which team and org the project was last opened with; empty names when with none."""
        rows = self.run("SELECT value FROM meta WHERE name = ?", (MEMBERSHIP,))
        if not rows:
            return Membership()
        with decoding("which team and org the project belongs to"):
            team, org = json.loads(cast(str, rows[0][0]))
            return Membership(team=str(team), org=str(org))

    def run(self, sql: str, values: Sequence[Value] = ()) -> Sequence[Row]:
        """Return one statement on a pooled connection."""
        with self._borrowed() as (_, source):
            return source.run(sql, values)

    def run_each(self, sql: str, rows: Sequence[Row]) -> Sequence[Row]:
        """Return what one statement gives with each of these rows of values, on a pooled connection."""
        with self._borrowed() as (_, source):
            return source.run_each(sql, rows)

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Return one atomic, durable unit of writes; an exception inside leaves no trace."""
        return self._transaction()

    def check(self) -> StoreReport:
        """Read everything and report every defect."""
        self._check_open()
        with self._medium.lock.held():
            # A connection of its own has nothing cached: it reads what lies on the disk.
            source = self._opening.connect()
            try:
                with translated(self.path):
                    if source.run("SELECT 1 FROM meta WHERE name = ?", (ERASURE,)):
                        self._unerased = True
                        self._tidy_up(source, whatever_it_takes=True)
                    return upkeep.report(self._medium, source, StoreReader(source, Unit.outside(self.project)))
            finally:
                source.connection.close()

    def backup(self, target: Path) -> None:
        """Write a complete, consistent copy that ``Storage.restore`` accepts."""
        with self._borrowed() as (_, source):
            self._medium.backup(source.connection, target)

    def close(self) -> None:
        """Release what the store holds; a second time does nothing."""
        with self._pool_lock:
            if self._closed:
                return
            self._closed = True
            idle, self._generation.idle = self._generation.idle, []
        with suppress(StoreError), self._medium.lock.held_if_free(threads=LOCK_TIMEOUT) as free:
            if free and self._writer is not None:
                self._tidy_up(self._writer, whatever_it_takes=self._deleted)
        for source in (*idle, self._writer):
            if source is not None:
                source.connection.close()
        self._medium.close()

    @contextmanager
    def _transaction(self) -> Iterator[Transaction]:
        self._check_open()
        with self._medium.lock.held():
            self._check_open()
            source = self._current_writer()
            unit = Unit(source, self._standings, self.project)
            try:
                if unit.begin() > len(MIGRATIONS):
                    raise StoreTooNew(f"a newer version has changed {self.path.name} while this one had it open")
                yield Transaction(unit)
                unit.commit()
            except BaseException:
                self._roll_back(source)
                raise
            finally:
                unit.end()
            if unit.change:
                self._medium.lock.mark(unit.change)
            if unit.erased:
                self._deleted = self._unerased = True
            self._tidy_up(source)
        if unit.deleted:
            self._medium.sidecars.erase(unit.deleted)

    def _roll_back(self, source: ConnectionSource) -> None:
        """Leave no transaction behind; a connection that cannot end one is given up."""
        try:
            if source.connection.in_transaction:
                source.run("ROLLBACK")
        except StoreError:
            source.connection.close()
            self._writer = None

    def _tidy_up(self, source: ConnectionSource, *, whatever_it_takes: bool = False) -> None:
        """Tidy up after a write, under the lock: traces of deleted memories go, and the log does not grow for ever.

        A large bank is not rewritten after each deletion, but when the store that deleted is closed or the bank is
        checked. What was committed stays committed when the disk is full or readers are in the way: then the next
        write, the closing or the next opening does it.
        """
        rows = source.connection.total_changes()
        if not self._unerased and not self._closed and 0 <= rows - self._tidied < upkeep.TIDY_ROWS:
            return
        self._tidied = rows
        rewritten = self._unerased and (whatever_it_takes or self._medium.bytes <= upkeep.REWRITE_LIMIT)
        with suppress(apsw.Error):
            if rewritten:
                upkeep.rewrite(source.connection)
                self._unerased = False
            elif self._closed:
                source.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            elif self._unerased or self._medium.log_bytes > self._log_limit:
                emptied = upkeep.empty_log(source.connection)
                self._log_limit = upkeep.LOG_LIMIT if emptied else 2 * self._medium.log_bytes

    def _erase_again(self) -> None:
        """Finish what a killed process or a full disk has left undone after a deletion."""
        with self._medium.lock.held_if_free() as free:
            if free and self._writer is not None:
                with suppress(StoreError):
                    if self._medium.sidecars.remove():
                        self._tidy_up(self._writer)

    @contextmanager
    def _borrowed(self) -> Iterator[tuple[_Generation, ConnectionSource]]:
        """Give a pooled connection of its own for the time of the block."""
        generation, source = self._taken()
        try:
            yield generation, source
        except BaseException:
            source.connection.close()
            raise
        with self._pool_lock:
            if not self._closed and generation is self._generation:
                generation.idle.append(source)
                return
        source.connection.close()

    def _taken(self) -> tuple[_Generation, ConnectionSource]:
        with self._pool_lock:
            self._check_open()
            identity = self._medium.identity
            if identity is not None and identity != self._generation.identity:
                for source in self._generation.idle:
                    source.connection.close()
                self._generation = self._new_generation(identity)
            generation = self._generation
            if generation.idle:
                return generation, generation.idle.pop()
        source = self._opening.connect()
        if source.identity == generation.identity:
            return generation, source
        source.connection.close()
        return self._taken()

    @contextmanager
    def _search(
        self, conditions: Sequence[Filter], query: Vector | None = None, leg: str = "", *, context: bool = False
    ) -> Iterator[Search]:
        """Give a search inside one short read transaction, so that all it reads is of one state."""
        with self._one_state() as (generation, source):
            dimension = None if query is None else len(query)
            view = generation.dense.view(source.run, conditions, dimension, leg=leg, context=context)
            yield Search(view, source)

    @contextmanager
    def _search_graph(
        self, kind: GraphKind, condition: GraphFilter, query: Vector | None = None
    ) -> Iterator[FoundInGraph]:
        """Give a search of the graph inside one short read transaction."""
        with self._one_state() as (generation, source):
            view = generation.graph.view(source.run, kind, None if query is None else len(query))
            yield FoundInGraph(view, source, kind, condition)

    @contextmanager
    def _one_state(self) -> Iterator[tuple[_Generation, ConnectionSource]]:
        """Give a pooled connection inside one short read transaction, so that all it reads is of one state."""
        with self._borrowed() as (generation, source), translated(self.path):
            source.run("BEGIN")
            try:
                yield generation, source
            finally:
                if source.connection.in_transaction:
                    source.run("COMMIT")

    def _new_generation(self, identity: tuple[int, int] | None) -> _Generation:
        dense = DenseIndex(self._medium.sidecars, register=partial(self._register, identity))
        return _Generation(identity, dense)

    def _current_writer(self) -> ConnectionSource:
        """Return the writing connection, opened anew when another file lies at the path; called under the lock."""
        writer = self._writer
        if writer is not None and writer.identity == self._medium.identity:
            return writer
        if writer is not None:
            self._writer = None
            writer.connection.close()
        self._writer = self._opening.prepare_locked()
        return self._writer

    def _register(self, identity: tuple[int, int] | None, name: str, token: str, change: int) -> bool:
        """Note in the bank which sidecar is the current one, unless something was deleted since that change."""
        with self._medium.lock.held_if_free() as free:
            if not free or self._closed:
                return False
            source = self._current_writer()
            if source.identity != identity:
                return False
            source.run("BEGIN IMMEDIATE")
            try:
                if source.run("SELECT 1 FROM deletions WHERE change > ?", (change,)):
                    source.run("ROLLBACK")
                    return False
                source.run(
                    "INSERT INTO meta VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                    (name, token),
                )
                source.run("COMMIT")
            except BaseException:
                self._roll_back(source)
                raise
            return True

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosed("the bank is closed")


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
