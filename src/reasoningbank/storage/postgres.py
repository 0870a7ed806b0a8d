"""The PostgreSQL engine: banks of many tenants in one database, kept apart by the database itself (DESIGN D1, D18).

Every statement runs in a transaction that first says whose bank it is about; the policies of the tables do the rest
(``postgres_schema``). Nothing outlives a transaction on a connection, neither a setting nor a lock nor a prepared
statement, so a proxy that lends connections for a transaction at a time may stand before the server.

Whoever writes to a bank waits for the others by an advisory lock of the transaction; who reads waits for nobody. What
searches compare is held in memory, as with SQLite, and each search reads what has changed since the last one. The words
of texts are kept in tables of their own, split and stemmed as SQLite does it, so both engines rank alike.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from reasoningbank.errors import StoreClosed, StoreError, StoreTooNew, StoreUnavailable
from reasoningbank.settings import shown_url
from reasoningbank.storage import schema
from reasoningbank.storage.connection import RowSource
from reasoningbank.storage.graph_tables import GraphCache
from reasoningbank.storage.index_port import Nearby
from reasoningbank.storage.postgres_connection import (
    READ_ONE,
    READ_STATE,
    BankOwner,
    ConnectionPool,
    PostgresSource,
    pool_of,
    translated,
)
from reasoningbank.storage.postgres_copies import BankCopies
from reasoningbank.storage.postgres_replica import reads_of
from reasoningbank.storage.rows import Row, Value
from reasoningbank.storage.sidecars import SidecarArrays
from reasoningbank.storage.sqlite import owner_rows
from reasoningbank.storage.sqlite_connection import TEXT_INDEXES
from reasoningbank.storage.store import Store, StoreReader
from reasoningbank.storage.unit import Standings, Unit
from reasoningbank.types.graph import Edge, Node
from reasoningbank.types.graph_search import GraphFilter, GraphKind
from reasoningbank.types.ports import Vector
from reasoningbank.types.recall import Filter
from reasoningbank.types.records import Salvage, SimilarTraces, StoreReport
from reasoningbank.types.scope import LEVELS, Scope, directory_name

if TYPE_CHECKING:
    import psycopg

    from reasoningbank.storage.bank_search import Indexes, SearchState
    from reasoningbank.storage.graph_search import FoundInGraph

# --- One bank --------------------------------------------------------------------------------------------------------


class _Walks:
    """Hold what walks ask of the graph, answered from what was read lately."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._cache = GraphCache()

    def nodes(self, ids: Collection[str], /) -> Mapping[str, Node]:
        with self._database.reading(READ_STATE) as source:
            return self._cache.nodes(source, ids)

    def edges_around(self, ids: Collection[str], /) -> Mapping[str, Sequence[Edge]]:
        with self._database.reading(READ_STATE) as source:
            return self._cache.edges_around(source, ids)


class PostgresDatabase:
    """One bank in PostgreSQL. Reads take no lock; a write holds the bank's lock for one transaction.

    Args:
        pool: The connections to its database.
        scope: Whose bank it is.
        owner: The tenant and the bank as the database knows them.
        copies: The copies of the bank on this machine.
    """

    def __init__(self, pool: ConnectionPool, scope: Scope, owner: BankOwner, copies: BankCopies) -> None:
        self.project = scope.project
        self.path = Path(scope.file_name)
        self.walked = _Walks(self)
        self.owner = owner
        self._scope = scope
        self._copies = copies
        self._pool = pool
        self._reads = reads_of(pool)
        self._place = f"{shown_url(pool.url)}, {scope.shown}"
        self._lock = threading.Lock()
        self._closed = False
        self._standings = Standings()
        self._writer: PostgresSource | None = None
        self._indexes: Indexes | None = None
        pool.join()

    @property
    def seen_model_id(self) -> str | None:
        self._check_open()
        seen = None if self._indexes is None else self._indexes.model_id
        return seen or self._standings.model_id

    def run(self, sql: str, values: Sequence[Value] = ()) -> Sequence[Row]:
        with self.reading(READ_ONE) as source:
            return source.run(sql, values)

    def run_each(self, sql: str, rows: Sequence[Row]) -> Sequence[Row]:
        with self.reading(READ_ONE) as source:
            return source.run_each(sql, rows)

    @contextmanager
    def reading(self, mode: str = READ_STATE, *, whole: bool = False, copied: bool = False) -> Iterator[PostgresSource]:
        """Give a transaction that reads, whose state is that of its first statement.

        Args:
            mode: Of the transaction.
            whole: It reads everything, and takes as long as that does.
            copied: It may read a replica that holds all that this process has seen.
        """
        self._check_open()
        limits = self._pool.limits._replace(statement=0) if whole else self._pool.limits
        pool = self._reads if copied else self._pool
        with pool.begun(self.owner.begin(mode, limits)) as connection:
            yield PostgresSource(self._place, self.project, connection)
            with translated(self._place):
                connection.execute("COMMIT")

    @contextmanager
    def writing(self, *, whole: bool = False) -> Iterator[Unit]:
        """Give one transaction under the lock; it is committed when the block ends without an error.

        Args:
            whole: It replaces everything, and takes as long as that does.
        """
        self._check_open()
        limits = self._pool.limits._replace(statement=0) if whole else self._pool.limits
        turn = self._pool.turn(self.owner.bank, self.path.name)
        turn.join(limits.lock)
        try:
            with self._pool.begun(self.owner.begin_writing(limits), writing=True) as connection:
                source = self._writer.begun_on(connection) if self._writer else self._first_writer(connection)
                unit = Unit(source, self._standings, self.project)
                try:
                    if unit.begin() > len(schema.MIGRATIONS):
                        raise StoreTooNew("a newer version has changed the database while this one had it open")
                    yield unit
                    unit.commit()
                    self._reads.written(connection)
                finally:
                    unit.end()
        finally:
            turn.leave()
        self._copies.erase(unit.erasures)

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
        """Give a search of the memories in one state of the bank."""
        indexes = self._searched()
        with self.reading(copied=True) as source:
            yield indexes.search(source, conditions, query, leg, context=context, again=again, nearby=nearby)

    @contextmanager
    def search_graph(
        self, kind: GraphKind, condition: GraphFilter, query: Vector | None = None
    ) -> Iterator[FoundInGraph]:
        """Give a search of the graph in one state of the bank."""
        indexes = self._searched()
        with self.reading(copied=True) as source:
            yield indexes.search_graph(source, kind, condition, query)

    def similar_traces(self, query: Vector, limit: int, least: float) -> SimilarTraces:
        indexes = self._searched()
        with self.reading(copied=True) as source:
            return indexes.similar_traces(source, query, limit, least)

    def check(self) -> StoreReport:
        with self.reading(whole=True) as source:
            [(version, bank_bytes)] = source.run(
                "SELECT current_setting('server_version'), (SELECT coalesce(sum(pg_column_size(m.*)), 0) "
                "FROM memories AS m)"
            )
            problems = [*_word_problems(source), *StoreReader(source, Unit.outside(self.project)).problems()]
            return StoreReport(
                engine=f"PostgreSQL {version!s}, tenants apart by row-level security",
                location=shown_url(self._pool.url),
                schema=len(schema.MIGRATIONS),
                sizes={"memories": int(cast(int, bank_bytes))},
                problems=tuple(problems),
            )

    def backup(self, target: Path) -> None:
        from reasoningbank.storage.postgres_copies import write_backup

        with self.reading(whole=True) as source:
            write_backup(source, self._scope, target)

    def keep(self) -> None:
        """Keep a copy of the bank as it is, which is about to be replaced."""
        self._copies.keep(self.backup)

    def close(self) -> None:
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self._pool.leave()

    def _first_writer(self, connection: psycopg.Connection[Row]) -> PostgresSource:
        self._writer = PostgresSource(self._place, self.project, connection, self.owner.bank)
        return self._writer.begun_on(connection)

    def _searched(self) -> Indexes:
        """Return what searches hold in memory, the same for all of them; the first of them makes it."""
        self._check_open()
        if self._indexes is None:
            from reasoningbank.storage.bank_search import Indexes

            with self._lock:
                if self._indexes is None:
                    self._indexes = Indexes(SidecarArrays(), self.project)
        return self._indexes

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosed("the bank is closed")


def _word_problems(source: RowSource) -> list[str]:
    """Return the rows whose words are not all in the index of words, and what is in it beside them."""
    from reasoningbank.storage.text_search import places_of, words_of

    problems: list[str] = []
    for table, index in TEXT_INDEXES.items():
        rows = source.run(
            f"SELECT g.id, g.{index.column}, d.sz, w.terms, w.places FROM {table} AS g "  # noqa: S608 - constant names
            f"LEFT JOIN {index.table}_docsize AS d ON d.id = g.key LEFT JOIN (SELECT key, count(*) AS terms, "
            f"sum(cardinality(places)) AS places FROM {index.table}_words GROUP BY key) AS w ON w.key = g.key"
        )
        for name, text, size, terms, places in rows:
            found = places_of(cast(str, text))
            words = sum(map(len, found.values()))
            if size is None or (words_of(size), terms or 0, places or 0) != (words, len(found), words):
                problems.append(f"{name!r} of {table} is not in the index of words as it is stored")
        beside = source.run(
            f"SELECT DISTINCT key FROM {index.table}_words WHERE key NOT IN (SELECT key FROM {table})"  # noqa: S608
        )
        problems += [f"the index of words of {table} holds row {row[0]!r}, which is gone" for row in beside]
    return problems


# --- All banks -------------------------------------------------------------------------------------------------------


class PostgresStorage:
    """The Storage port over one database.

    Args:
        url: ``postgresql://...`` with the role that works with banks.
        backups: The directory of automatic backups, with a folder per tenant.
    """

    def __init__(self, url: str, *, backups: Path) -> None:
        self._pool = pool_of(url)
        self._backups = backups

    def open(self, scope: Scope) -> Store:
        """Return the scope's store, made when it does not exist."""
        return Store(self._database(scope), scope)

    def scopes(self, tenant: str) -> Sequence[Scope]:
        """Return the scopes of one tenant that exist here, by level and name."""
        return sorted(self.marks(tenant), key=lambda scope: (LEVELS.index(scope.level), scope.project))

    def marks(self, tenant: str) -> Mapping[Scope, Hashable]:
        """Return the same scopes, each with a mark that is another one once its store was written."""
        rows = self._asked(BankOwner(tenant_key(tenant), 0), "SELECT id, level, project, written FROM banks", ())
        found: dict[Scope, Hashable] = {}
        for bank, level, project, written in rows:
            found[Scope(tenant=tenant, project=str(project), level=cast("Any", level))] = (bank, written)
        return found

    def latest(self, tenant: str, limit: int) -> tuple[Sequence[Scope], int]:
        """Return the projects that came last, the latest first, and how many there are in all.

        When a bank was written is not known here, only how often.
        """
        asked = "SELECT project FROM banks WHERE level = 'project' ORDER BY id DESC"
        rows = self._asked(BankOwner(tenant_key(tenant), 0), asked, ())
        return [Scope(tenant=tenant, project=str(project)) for (project,) in rows[:limit]], len(rows)

    def has(self, scope: Scope) -> bool:
        """Return whether the scope has a store here; asking makes none."""
        return bool(self._known(scope))

    def restore(self, scope: Scope, source: Path) -> None:
        """Replace the scope's store by a backup of the same scope; what it held is kept among the backups.

        Raises:
            StoreUnavailable: When the backup does not exist.
            StoreCorrupt: When the backup is damaged; the bank stays as it is.
            StoreTooNew: When a newer version has written the backup.
            ScopeViolation: When it is a backup of another scope.
        """
        from reasoningbank.storage.postgres_copies import read_backup, restored_rows

        with restored_rows(scope, source) as backup:
            known = self.has(scope)
            database = self._database(scope)
            try:
                if known:
                    database.keep()
                with database.writing(whole=True) as unit:
                    read_backup(backup, unit)
            finally:
                database.close()

    def salvaged(self, scope: Scope) -> AbstractContextManager[tuple[Store, Salvage, Path]]:
        """Refuse: the files of a database are its server's."""
        raise StoreUnavailable(
            f"{scope.shown} is in {shown_url(self._pool.url)} and has no file to repair",
            hint="Restore a backup of the server, or one of the bank with `rbank restore`.",
        )

    def _database(self, scope: Scope) -> PostgresDatabase:
        owner = self._known(scope) or self._made(scope)
        place = self._backups / directory_name(scope.tenant) / scope.file_name
        return PostgresDatabase(self._pool, scope, owner, BankCopies(place))

    def _known(self, scope: Scope) -> BankOwner | None:
        tenant = tenant_key(scope.tenant)
        rows = self._asked(BankOwner(tenant, 0), "SELECT id FROM banks WHERE place = ?", (place_key(scope),))
        return BankOwner(tenant, cast(int, rows[0][0])) if rows else None

    def _made(self, scope: Scope) -> BankOwner:
        """Return the bank of a scope, made unless somebody else has made it by now."""
        tenant = tenant_key(scope.tenant)
        with (
            self._pool.used(),
            self._pool.begun(BankOwner(tenant, 0).begin("READ WRITE", self._pool.limits), writing=True) as connection,
        ):
            source = PostgresSource(shown_url(self._pool.url), scope.project, connection)
            made = source.run(
                "INSERT INTO banks (place, owner, level, project) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING "
                "RETURNING id",
                (place_key(scope), scope.tenant, scope.level, scope.project),
            )
            if made:
                source.run(f"SET LOCAL reasoningbank.bank = '{int(cast(int, made[0][0]))}'")
                schema.begin_bank(source)
                for name, value in owner_rows(scope).items():
                    source.run("INSERT INTO meta VALUES (?, ?)", (name, value))
            with translated(shown_url(self._pool.url)):
                connection.execute("COMMIT")
        found = BankOwner(tenant, cast(int, made[0][0])) if made else self._known(scope)
        if found is None:
            raise StoreError(f"the bank of {scope.shown} was not made")
        return found

    def _asked(self, owner: BankOwner, sql: str, values: Sequence[Value]) -> Sequence[Row]:
        with self._pool.used(), self._pool.begun(owner.begin(READ_ONE, self._pool.limits)) as connection:
            return PostgresSource(shown_url(self._pool.url), "", connection).run(sql, values)


def tenant_key(tenant: str) -> str:
    """Return what stands for a tenant in each of its rows: as long for a long name, and safe in a statement."""
    digest = hashlib.sha256(tenant.encode()).hexdigest()
    return "-".join((digest[:8], digest[8:12], digest[12:16], digest[16:20], digest[20:32]))


def place_key(scope: Scope) -> str:
    """Return what stands for the level and the name of a scope among those of its tenant."""
    return hashlib.sha256(f"{scope.level}\0{scope.project}".encode()).hexdigest()
