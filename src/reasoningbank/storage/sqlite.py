"""The SQLite engine: connections and their pool, locks, what searches hold in memory, backup and check (DESIGN D2)."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from reasoningbank.errors import StoreClosed, StoreError, StoreTooNew
from reasoningbank.storage import check as upkeep
from reasoningbank.storage.bank_file import Medium, Opening
from reasoningbank.storage.connection import ConnectionSource
from reasoningbank.storage.failures import translated
from reasoningbank.storage.graph_cache import GraphCache
from reasoningbank.storage.locks import LOCK_TIMEOUT
from reasoningbank.storage.rows import Row, Value
from reasoningbank.storage.schema import MIGRATIONS
from reasoningbank.storage.sidecars import Register, Sidecars
from reasoningbank.storage.store import StoreReader
from reasoningbank.storage.unit import ERASURE, Standings, Unit
from reasoningbank.types.experience import Trace
from reasoningbank.types.graph import Edge, Node
from reasoningbank.types.graph_search import GraphFilter, GraphKind
from reasoningbank.types.ports import Vector
from reasoningbank.types.recall import Filter
from reasoningbank.types.records import StoreReport
from reasoningbank.types.scope import Scope

if TYPE_CHECKING:
    from reasoningbank.storage.graph_search import FoundInGraph
    from reasoningbank.storage.indexes import Indexes
    from reasoningbank.storage.search import SearchState


class _Generation:
    """Idle connections to one file, and what was derived from it; another file at the same path is another one."""

    def __init__(self, identity: tuple[int, int] | None, sidecars: Sidecars, register: Register) -> None:
        self.identity = identity
        self.walked = GraphCache()
        self.idle: list[ConnectionSource] = []
        self._sidecars = sidecars
        self._register = register
        self._lock = threading.Lock()
        self._indexes: Indexes | None = None

    @property
    def seen_model_id(self) -> str | None:
        """The vector space as the last search saw it; None before the first."""
        return None if self._indexes is None else self._indexes.model_id

    def indexes(self) -> Indexes:
        """Return what searches hold in memory, the same for all of them; the first of them makes it."""
        if self._indexes is None:
            # Arrays need numpy, whose import takes longer than all that a bank does when nothing is searched.
            from reasoningbank.storage.indexes import Indexes

            with self._lock:
                if self._indexes is None:
                    self._indexes = Indexes(self._sidecars, self._register)
        return self._indexes


class _Walks:
    """What walks ask of the graph, answered from what was read lately."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    def nodes(self, ids: Collection[str], /) -> Mapping[str, Node]:
        with self._database._one_state() as (generation, source):
            return generation.walked.nodes(source, ids)

    def edges_around(self, ids: Collection[str], /) -> Mapping[str, Sequence[Edge]]:
        with self._database._one_state() as (generation, source):
            return generation.walked.edges_around(source, ids)


class SqliteDatabase:
    """One bank in SQLite. Reads take no lock; a write holds the bank's lock for one transaction.

    Args:
        medium: Where the bank lies; closed with the database.
        scope: Whose bank it is; that of another scope is refused.
    """

    def __init__(self, medium: Medium, scope: Scope) -> None:
        self.project = scope.project
        self.walked = _Walks(self)
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
            self._unerased = self._opening.unerased
            if self._unerased:
                self._erase_again()
        except BaseException:
            self._medium.close()
            raise

    @property
    def path(self) -> Path:
        """The bank file, or what stands for it in messages."""
        return self._medium.path

    @property
    def seen_model_id(self) -> str | None:
        """The same as it was seen last, without a look into the bank; None when it was not."""
        with self._pool_lock:
            self._check_open()
            return self._generation.seen_model_id or self._standings.model_id or self._opening.model_id

    def run(self, sql: str, values: Sequence[Value] = ()) -> Sequence[Row]:
        """Return one statement on a pooled connection."""
        with self._borrowed() as (_, source):
            return source.run(sql, values)

    def run_each(self, sql: str, rows: Sequence[Row]) -> Sequence[Row]:
        """Return what one statement gives with each of these rows of values, on a pooled connection."""
        with self._borrowed() as (_, source):
            return source.run_each(sql, rows)

    @contextmanager
    def writing(self) -> Iterator[Unit]:
        """Give one transaction under the lock; it is committed when the block ends without an error."""
        self._check_open()
        with self._medium.lock.held():
            self._check_open()
            source = self._taken_writer()
            unit = Unit(source, self._standings, self.project)
            try:
                if unit.begin() > len(MIGRATIONS):
                    raise StoreTooNew(f"a newer version has changed {self.path.name} while this one had it open")
                yield unit
                unit.commit()
            except BaseException:
                self._roll_back(source)
                self._give_back(source)
                raise
            finally:
                unit.end()
            if unit.change:
                self._medium.lock.mark(unit.change)
            if unit.erased:
                self._deleted = self._unerased = True
            self._tidy_up(source)
            self._give_back(source)
        if unit.deleted:
            self._medium.sidecars.erase(unit.deleted)

    @contextmanager
    def search(
        self, conditions: Sequence[Filter], query: Vector | None = None, leg: str = "", *, context: bool = False
    ) -> Iterator[SearchState]:
        """Give a search inside one short read transaction, so that all it reads is of one state."""
        with self._one_state() as (generation, source):
            yield generation.indexes().search(source, conditions, query, leg, context=context)

    @contextmanager
    def search_graph(
        self, kind: GraphKind, condition: GraphFilter, query: Vector | None = None
    ) -> Iterator[FoundInGraph]:
        """Give a search of the graph inside one short read transaction."""
        with self._one_state() as (generation, source):
            yield generation.indexes().search_graph(source, kind, condition, query)

    def similar_traces(self, query: Vector, limit: int) -> Sequence[tuple[Trace, float]]:
        """Return the traces closest to a unit vector, best first."""
        with self._one_state() as (generation, source):
            return generation.indexes().similar_traces(source, query, limit)

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
            if self._writer is not None:
                idle.append(self._writer)
                self._writer = None
        with suppress(StoreError), self._medium.lock.held_if_free(threads=LOCK_TIMEOUT) as free:
            if free and idle:
                self._tidy_up(idle[-1], whatever_it_takes=self._deleted)
        for source in idle:
            source.connection.close()
        self._medium.close()

    def _roll_back(self, source: ConnectionSource) -> None:
        """Leave no transaction behind; a connection that cannot end one is given up."""
        try:
            if source.in_transaction:
                source.run("ROLLBACK")
        except StoreError:
            source.connection.close()

    def _give_back(self, source: ConnectionSource) -> None:
        """Keep a connection that has written for the next that writes, or reads when no other is idle."""
        with self._pool_lock:
            if not source.is_closed and not self._closed and self._writer is None:
                self._writer = source
                return
        source.connection.close()

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
            writer = self._writer
            if free and writer is not None:
                with suppress(StoreError):
                    if self._medium.sidecars.remove():
                        self._tidy_up(writer)

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
            writer = self._writer
            if writer is not None and writer.identity == generation.identity:
                self._writer = None
                return generation, writer
        source = self._opening.connect()
        if source.identity == generation.identity:
            return generation, source
        source.connection.close()
        return self._taken()

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
        return _Generation(identity, self._medium.sidecars, partial(self._register, identity))

    def _taken_writer(self) -> ConnectionSource:
        """Take a connection that may write, opened anew when another file lies at the path; called under the lock."""
        identity = self._medium.identity
        with self._pool_lock:
            writer, self._writer = self._writer, None
            idle = self._generation.idle
            if writer is None and idle:
                writer = idle.pop()
        if writer is not None and writer.identity == identity:
            return writer
        if writer is not None:
            writer.connection.close()
        return self._opening.prepare_locked()

    def _register(self, identity: tuple[int, int] | None, name: str, token: str, change: int) -> bool:
        """Note in the bank which sidecar is the current one, unless something was deleted since that change."""
        with self._medium.lock.held_if_free() as free:
            if not free or self._closed:
                return False
            source = self._taken_writer()
            try:
                return source.identity == identity and self._registered(source, name, token, change)
            except BaseException:
                self._roll_back(source)
                raise
            finally:
                self._give_back(source)

    @staticmethod
    def _registered(source: ConnectionSource, name: str, token: str, change: int) -> bool:
        source.run("BEGIN IMMEDIATE")
        if source.run("SELECT 1 FROM deletions WHERE change > ?", (change,)):
            source.run("ROLLBACK")
            return False
        source.run(
            "INSERT INTO meta VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value", (name, token)
        )
        source.run("COMMIT")
        return True

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosed("the bank is closed")
