"""The SQLite engine: opening a bank, connections and their pool, what searches hold in memory, checks (DESIGN D2)."""

from __future__ import annotations

import json
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

import apsw

from reasoningbank.errors import ScopeViolation, StoreClosed, StoreCorrupt, StoreError, StoreTooNew
from reasoningbank.storage import schema
from reasoningbank.storage.graph_tables import GraphCache
from reasoningbank.storage.index_port import Nearby
from reasoningbank.storage.locks import LOCK_TIMEOUT, WriteLock
from reasoningbank.storage.rows import Row, Value, decoding
from reasoningbank.storage.sidecars import Renewal, Sidecars
from reasoningbank.storage.sqlite_check import problems_of
from reasoningbank.storage.sqlite_connection import (
    BUSY_MILLISECONDS,
    ConnectionSource,
    check_readable,
    migrate,
    prepare_vocabulary,
    translated,
)
from reasoningbank.storage.unit import COPIES, ERASURE, Standings, Unit
from reasoningbank.types.graph import Edge, Node
from reasoningbank.types.graph_search import GraphFilter, GraphKind
from reasoningbank.types.ports import Vector
from reasoningbank.types.recall import Filter
from reasoningbank.types.records import SimilarTraces, StoreReport
from reasoningbank.types.scope import LEVELS, Scope

if TYPE_CHECKING:
    from reasoningbank.storage.bank_search import Indexes, SearchState
    from reasoningbank.storage.graph_search import FoundInGraph

LOG_LIMIT = 16 * 2**20
"""Bytes of write-ahead log from which on it is emptied after a write."""
TIDY_ROWS = 64
"""So many rows are written before the size of the log is looked at again."""
REWRITE_LIMIT = 16 * 2**20
"""Bytes of a bank up to which it is rewritten after every deletion: a quarter of a second."""
LOG_MILLISECONDS = 250
REWRITE_MILLISECONDS = 2_000
_PENDING = f"'{ERASURE}', '{COPIES}'"
_FACTS_SQL = (
    f"SELECT name, value FROM meta WHERE name IN ('tenant', 'project', 'level', 'model_id', {_PENDING}) "  # noqa: S608
    "UNION ALL SELECT name, value FROM counters WHERE name = 'change'"
)
"""Whose bank it is and how far it has come."""
_LOST_FILE = (
    "Its write-ahead log was damaged, or an old copy was put in its place. Restore a backup with `rbank restore`; "
    "to go on with what is left, remove its .lock file."
)
_EMPTIED = "Restore a backup with `rbank restore`; to start an empty bank, remove the file and its .lock file."


class Medium(Protocol):
    """Where one bank lies: everything that a file and the memory of a process do differently."""

    @property
    def path(self) -> Path:
        """The bank file, or what stands for it in messages."""

    @property
    def location(self) -> str:
        """Return what reports call the place."""

    @property
    def safety(self) -> str:
        """Return what reports say of how its pages are kept."""

    @property
    def journal(self) -> str:
        """SQLite's journal mode."""

    @property
    def lock(self) -> WriteLock:
        """Held by whoever writes."""

    @property
    def sidecars(self) -> Sidecars:
        """Return what is derived from the bank's vectors."""

    @property
    def identity(self) -> tuple[int, int] | None:
        """Which database lies here now; None when there is none."""

    @property
    def bytes(self) -> int:
        """Size of the database; 0 when there is none."""

    @property
    def log_bytes(self) -> int:
        """Size of the write-ahead log."""

    @property
    def sizes(self) -> Mapping[str, int]:
        """Bytes of every part, by its name."""

    def connect(self) -> apsw.Connection:
        """Open a connection; the database is made, without a schema, when there is none."""

    def settle(self) -> None:
        """Put in order what another program has left behind in a whole bank, and a killed process beside it."""

    def backup(self, connection: apsw.Connection, target: Path) -> None:
        """Write a complete copy to a file, which replaces what was there; raise StoreUnavailable, StoreFull."""

    def keep_version(self, connection: apsw.Connection, version: int) -> None:
        """Keep a copy of a bank of this version, which is about to be migrated."""

    @property
    def has_copies(self) -> bool:
        """Return whether there are copies of it that nobody has asked for."""

    def erase_in_copies(self, erasures: Sequence[tuple[str, str]]) -> None:
        """Delete in them what was deleted here; what cannot be read stays as it is."""

    def close(self) -> None:
        """Give back what this store alone has of it."""


class Opening:
    """Connections to one scope's bank.

    Args:
        medium: Where it lies.
        scope: Whose bank it is; that of another scope is refused.

    Attributes:
        model_id: The vector space as the last connection found it; None when there was none.
        unerased: True when it found that deleted memories may have left traces.
        in_copies: What it found to be deleted here and perhaps not in copies; None for nothing.
    """

    def __init__(self, medium: Medium, scope: Scope) -> None:
        self._medium = medium
        self._scope = scope
        self.model_id: str | None = None
        self.unerased = False
        self.in_copies: str | None = None

    def prepare(self) -> ConnectionSource:
        """Return a connection to a whole, current bank of the scope.

        The file is made or migrated when that is needed.
        """
        with translated(self._medium.path):
            if self._medium.bytes:
                self._medium.settle()
                source = self._connected()
                if self._is_current(source):
                    return source
                source.connection.close()
        with self._medium.lock.held():
            return self.prepare_locked()

    def prepare_locked(self) -> ConnectionSource:
        """Return the same for a caller that holds the lock."""
        with translated(self._medium.path):
            medium = self._medium
            if medium.identity is not None and not medium.bytes and medium.lock.marked() is not None:
                raise StoreCorrupt(f"{medium.path.name} was emptied by something else", hint=_EMPTIED)
            source = self._connected()
            try:
                self._migrate(source)
            except BaseException:
                source.connection.close()
                raise
            if not self._medium.lock.marked():
                self._medium.lock.mark(_change(source))
            return source

    def connect(self) -> ConnectionSource:
        """Return a further connection to the bank as it lies there now.

        Raises:
            ScopeViolation: When the file belongs to another scope.
            StoreCorrupt: When it is not a bank any more.
        """
        with translated(self._medium.path):
            source = self._connected()
            if not self._is_current(source):
                source.connection.close()
                raise StoreCorrupt(f"{self._medium.path.name} is not a whole bank of this version any more")
            return source

    def _connected(self) -> ConnectionSource:
        path = self._medium.path
        connection = self._medium.connect()
        try:
            if check_readable(connection, path.name):
                prepare_vocabulary(connection)
            return ConnectionSource(path, self._scope.project, connection, self._medium.identity)
        except BaseException:
            connection.close()
            raise

    def _is_current(self, source: ConnectionSource) -> bool:
        """Return whether it has every migration and an owner, which must be the scope."""
        try:
            if int(str(source.connection.pragma("user_version"))) < len(schema.MIGRATIONS):
                return False
            acknowledged = self._medium.lock.marked() or 0
            with decoding("the bank"):
                facts = dict(cast("list[tuple[str, str]]", source.run(_FACTS_SQL)))
                change, self.model_id = int(facts.pop("change")), facts.pop("model_id", None)
                self.unerased = facts.pop(ERASURE, None) is not None
                self.in_copies = facts.pop(COPIES, None)
            owner = facts
            if not owner:
                return False
            if owner != owner_rows(self._scope):
                raise ScopeViolation(f"{self._medium.path.name} belongs to another tenant or project")
            if change < acknowledged:
                raise StoreCorrupt(
                    f"{self._medium.path.name} has lost its last {acknowledged - change} acknowledged changes",
                    hint=_LOST_FILE,
                )
        except BaseException:
            source.connection.close()
            raise
        return True

    def _migrate(self, source: ConnectionSource) -> None:
        version = int(str(source.connection.pragma("user_version")))
        if 0 < version < len(schema.MIGRATIONS):
            self._medium.keep_version(source.connection, version)
        source.connection.pragma("journal_mode", self._medium.journal)
        migrate(source.connection)
        if not self._is_current(source):
            if version and self._medium.lock.marked():
                raise StoreCorrupt(f"{self._medium.path.name} has lost the record of whose bank it is")
            with source.connection:
                for name, value in owner_rows(self._scope).items():
                    source.run("INSERT INTO meta VALUES (?, ?)", (name, value))
        prepare_vocabulary(source.connection)


def scope_of(meta: Mapping[str, str]) -> Scope | None:
    """Return the scope that a bank's own records name; None when they name none."""
    level = next((known for known in LEVELS if known == meta.get("level", "project")), None)
    if level is None or not {"tenant", "project"} <= meta.keys():
        return None
    return Scope(tenant=meta["tenant"], project=meta["project"], level=level)


def owner_rows(scope: Scope) -> dict[str, str]:
    """Return what a bank's own records say of its scope: a project's do not say that it is one."""
    owner = {"tenant": scope.tenant, "project": scope.project}
    return owner if scope.level == "project" else owner | {"level": scope.level}


def _change(source: ConnectionSource) -> int:
    with decoding("the bank"):
        return int(cast(int, source.run("SELECT value FROM counters WHERE name = 'change'")[0][0]))


_REGISTER_SQL = (
    "INSERT INTO meta SELECT key, value FROM json_each(?) "
    "WHERE NOT EXISTS (SELECT 1 FROM deletions WHERE change > ?) "
    "ON CONFLICT (name) DO UPDATE SET value = excluded.value RETURNING name"
)
"""Says which sidecars are the current ones, unless something was deleted that they still hold."""


_NO_SIDECARS = nullcontext()


class _Generation:
    """Idle connections to one file, and what was derived from it; another file at the same path is another one."""

    def __init__(self, identity: tuple[int, int] | None, sidecars: Sidecars, project: str) -> None:
        self.identity = identity
        self.walked = GraphCache()
        self.idle: list[ConnectionSource] = []
        self._sidecars = sidecars
        self._project = project
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
            from reasoningbank.storage.bank_search import Indexes

            with self._lock:
                if self._indexes is None:
                    self._indexes = Indexes(self._sidecars, self._project)
        return self._indexes

    @property
    def is_searched(self) -> bool:
        """Return whether anything was searched, without which no sidecar is due."""
        return self._indexes is not None

    def renewal(self) -> AbstractContextManager[Renewal | None]:
        """Give what makes the sidecars that searches have found to be due; None when there are none now."""
        return nullcontext() if self._indexes is None else self._indexes.renewal()


class _Walks:
    """Hold what walks ask of the graph, answered from what was read lately."""

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
        self._log_limit = LOG_LIMIT
        self._tidied = 0
        self._standings = Standings()
        try:
            self._writer: ConnectionSource | None = self._opening.prepare()
            self._generation = self._new_generation(self._writer.identity)
            self._unerased = self._opening.unerased
            if self._unerased:
                self._erase_again()
            if self._opening.in_copies is not None:
                self._erase_in_copies(self._opening.in_copies)
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
        # What holds off who changes sidecars outlives the transaction in which they are announced.
        with ExitStack() if self._generation.is_searched else _NO_SIDECARS as sidecars:
            with self._medium.lock.held():
                self._check_open()
                source = self._taken_writer()
                unit = Unit(source, self._standings, self.project)
                try:
                    if unit.begin() > len(schema.MIGRATIONS):
                        raise StoreTooNew(f"a newer version has changed {self.path.name} while this one had it open")
                    yield unit
                    unit.check_whole()
                    noted = self._noted(unit)
                    renewal = self._announced(source, unit, sidecars)
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
            if renewal is not None:
                renewal.write()
        if unit.deleted:
            self._medium.sidecars.erase(unit.deleted)
        if noted:
            self._erase_in_copies(noted)

    @contextmanager
    def search(
        self,
        conditions: Sequence[Filter],
        query: Vector | None = None,
        leg: str = "",
        *,
        context: bool = False,
        again: bool = False,
        nearby: Nearby | None = None,
    ) -> Iterator[SearchState]:
        """Give a search inside one short read transaction, so that all it reads is of one state.

        Args:
            conditions: What memories must be; searches name them by their numbers.
            query: A vector that is compared with those of the bank.
            leg: The leg that it is compared in, when that is not one of the fused search.
            context: Rank the words of the descriptions by themselves.
            again: Use the vectors of the last search, for what belongs to that search.
            nearby: An index beside the bank that names what may be closest.
        """
        with self._one_state() as (generation, source):
            found = generation.indexes().search(
                source, conditions, query, leg, context=context, again=again, nearby=nearby
            )
            if found.standing is not None:
                # Who logs what was found often writes through this connection, and needs no other look.
                self._standings.keep(source, found.standing)
            yield found

    @contextmanager
    def search_graph(
        self, kind: GraphKind, condition: GraphFilter, query: Vector | None = None
    ) -> Iterator[FoundInGraph]:
        """Give a search of the graph inside one short read transaction."""
        with self._one_state() as (generation, source):
            yield generation.indexes().search_graph(source, kind, condition, query)

    def similar_traces(self, query: Vector, limit: int, least: float) -> SimilarTraces:
        """Return the traces closest to a unit vector, with at least this cosine, best first, and what they taught."""
        # Traces are never erased one by one, so each of the two reads may see a state of its own.
        with self._borrowed() as (generation, source), translated(self.path):
            return generation.indexes().similar_traces(source, query, limit, least)

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
                    versions = f"SQLite {apsw.sqlite_lib_version()} through apsw {apsw.apsw_version()}"
                    return StoreReport(
                        engine=f"{versions}, {self._medium.safety}",
                        location=self._medium.location,
                        schema=len(schema.MIGRATIONS),
                        sizes=self._medium.sizes,
                        problems=tuple(problems_of(source, self.project)),
                    )
            finally:
                source.connection.close()

    def backup(self, target: Path) -> None:
        """Write a complete, consistent copy that ``Storage.restore`` accepts."""
        with self._borrowed() as (_, source):
            self._medium.backup(source.connection, target)

    def close(self) -> None:
        """Release what the store holds; a second time does nothing."""
        self._renew_sidecars()
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
        if not self._unerased and not self._closed and 0 <= rows - self._tidied < TIDY_ROWS:
            return
        self._tidied = rows
        rewritten = self._unerased and (whatever_it_takes or self._medium.bytes <= REWRITE_LIMIT)
        with suppress(apsw.Error):
            if rewritten:
                _rewrite(source.connection)
                self._unerased = False
            elif self._closed:
                source.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            elif self._unerased or self._medium.log_bytes > self._log_limit:
                emptied = _empty_log(source.connection)
                self._log_limit = LOG_LIMIT if emptied else 2 * self._medium.log_bytes

    def _noted(self, unit: Unit) -> str:
        """Keep in the transaction what copies may hold that is deleted here; a killed process leaves the note."""
        if not unit.erasures or not self._medium.has_copies:
            return ""
        waiting = unit.run("SELECT value FROM meta WHERE name = ?", (COPIES,))
        erasures = [*(json.loads(str(waiting[0][0])) if waiting else []), *unit.erasures]
        unit.put_meta(COPIES, noted := json.dumps(erasures))
        return noted

    def _erase_in_copies(self, noted: str) -> None:
        """Delete in the copies what the note says, then the note, unless somebody has written another one."""
        with decoding("what copies of the bank hold"):
            self._medium.erase_in_copies([(str(kind), str(digest)) for kind, digest in json.loads(noted)])
        with suppress(StoreError), self._medium.lock.held():
            source = self._taken_writer()
            source.run("DELETE FROM meta WHERE name = ? AND value = ?", (COPIES, noted))
            self._give_back(source)

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
            source.begin_with_next()
            try:
                yield generation, source
            finally:
                source.end_reading()

    def _new_generation(self, identity: tuple[int, int] | None) -> _Generation:
        return _Generation(identity, self._medium.sidecars, self.project)

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

    def _announced(self, source: ConnectionSource, unit: Unit, held: ExitStack | None) -> Renewal | None:
        """Say in the transaction which sidecars are written after it; None when there are none.

        Sidecars are announced before they are written: of those that a killed process leaves behind, none holds a
        memory that was deleted before, and whoever deletes one later waits for them and erases it in them. A
        search with a trace leaves it to the next write, or to the end of the store: it runs enough statements.
        """
        generation = self._generation
        if held is None or unit.deleted or unit.traced or source.identity != generation.identity:
            return None
        renewal = held.enter_context(generation.renewal())
        if renewal is None or not unit.run(_REGISTER_SQL, (json.dumps(dict(renewal.tokens)), renewal.change)):
            return None
        return renewal

    def _renew_sidecars(self) -> None:
        """Make the sidecars that searches have found to be due and that no write has made since."""
        with self._generation.renewal() as renewal:
            due = renewal is not None
        if due and not self._closed:
            with suppress(StoreError), self.writing():
                pass

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosed("the bank is closed")


def _rewrite(connection: apsw.Connection) -> None:
    """Rewrite the file without what was deleted, and empty the write-ahead log into it.

    Secure deletion alone leaves copies behind: a row that was moved when a page was split stays in the unused space of
    the page it came from (measured: up to six copies of a deleted word in a file of 300 memories).
    """
    connection.set_busy_timeout(REWRITE_MILLISECONDS)
    try:
        connection.execute("VACUUM")
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    finally:
        connection.set_busy_timeout(BUSY_MILLISECONDS)
    connection.execute("DELETE FROM meta WHERE name = ?", (ERASURE,))


def _empty_log(connection: apsw.Connection) -> bool:
    """Start the write-ahead log over; False when readers are in the way for longer than a moment."""
    connection.set_busy_timeout(LOG_MILLISECONDS)
    try:
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    except apsw.BusyError:
        return False
    finally:
        connection.set_busy_timeout(BUSY_MILLISECONDS)
    return True
