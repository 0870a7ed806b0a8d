"""The default store: one SQLite file per project, safe for many threads and processes (DESIGN D1, D2)."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import cast

import apsw

from reasoningbank.domain.recall import Filter
from reasoningbank.domain.scope import Scope
from reasoningbank.errors import ModelMismatch, ScopeViolation, StoreClosed, StoreCorrupt, StoreTooNew
from reasoningbank.ports import LexicalMatches, Scored, StoreReport, Transaction, Vector
from reasoningbank.storage import lexical, upkeep
from reasoningbank.storage.connection import open_connection, translated
from reasoningbank.storage.dense import DenseIndex
from reasoningbank.storage.locking import BankLock
from reasoningbank.storage.reads import Reads
from reasoningbank.storage.rows import Row, Value
from reasoningbank.storage.schema import MIGRATIONS, migrate, schema_version
from reasoningbank.storage.writes import Writes


class ConnectionSource:
    """Rows of one connection, with the engine's errors in our words."""

    def __init__(self, path: Path, project: str, connection: apsw.Connection) -> None:
        self._path = path
        self.project = project
        self.connection = connection
        self.identity = identity_of(path)

    def run(self, sql: str, values: Sequence[Value] = ()) -> Sequence[Row]:
        with translated(self._path):
            return cast(Sequence[Row], self.connection.execute(sql, tuple(values)).fetchall())


def identity_of(path: Path) -> tuple[int, int] | None:
    """Tells two files of the same path apart: a restored bank is another file."""
    try:
        state = path.stat()
    except OSError:
        return None
    return (state.st_dev, state.st_ino)


class SqliteStore(Reads):
    """The Store port over one file. Reads take no lock; a write holds the bank's lock for one transaction."""

    def __init__(self, path: Path, scope: Scope, *, vfs: str | None = None) -> None:
        self._path = path
        self._scope = scope
        self._vfs = vfs
        self.project = scope.project
        super().__init__(self)
        self._lock = BankLock(path.with_name(path.name + ".lock"))
        self._pool: list[ConnectionSource] = []
        self._pool_lock = threading.Lock()
        self._closed = False
        self._counts = lexical.TermCounts()
        try:
            with translated(path):
                self._writer = self._prepare()
                self._identity = self._writer.identity
                self._dense = self._open_dense()
        except BaseException:
            self._lock.close()
            raise

    @property
    def scope(self) -> Scope:
        return self._scope

    @property
    def path(self) -> Path:
        """The bank file."""
        return self._path

    @property
    def model_id(self) -> str | None:
        rows = self.run("SELECT value FROM meta WHERE name = 'model_id'")
        return cast(str, rows[0][0]) if rows else None

    def run(self, sql: str, values: Sequence[Value] = ()) -> Sequence[Row]:
        """One statement on a pooled connection."""
        with self._borrowed() as source:
            return source.run(sql, values)

    def transaction(self) -> AbstractContextManager[Transaction]:
        return self._transaction()

    def nearest(self, leg: str, vector: Vector, condition: Filter, limit: int) -> Sequence[Scored]:
        with self._snapshot() as source:
            self._check_space(source, vector)
            found = self._dense.search(source.run, leg, vector, condition, limit)
            names = self._names(source, [key for key, _ in found])
        return [Scored(id=names[key], score=score) for key, score in found]

    def similarities(self, leg: str, vector: Vector, memory_ids: Sequence[str]) -> Mapping[str, float]:
        with self._snapshot() as source:
            self._check_space(source, vector)
            names = self._keys(source, memory_ids)
            found = self._dense.similarities(source.run, leg, vector, list(names))
        return {names[key]: score for key, score in found.items()}

    def matching(self, text: str, condition: Filter, limit: int) -> LexicalMatches:
        with self._snapshot() as source, translated(self._path):
            words = lexical.stems(source.connection, text)
            return lexical.match(source.run, self._counts, words, condition, limit)

    def vector(self, leg: str, memory_id: str) -> Vector | None:
        with self._snapshot() as source:
            keys = list(self._keys(source, [memory_id]))
            return self._dense.vector(source.run, leg, keys[0]) if keys else None

    def check(self) -> StoreReport:
        with self._lock.held(), self._borrowed() as source, translated(self._path):
            return upkeep.report(self._path, source, Reads(source))

    def backup(self, target: Path) -> None:
        with self._borrowed() as source, translated(target):
            upkeep.copy(source.connection, target)

    def close(self) -> None:
        with self._pool_lock:
            if self._closed:
                return
            self._closed = True
            idle, self._pool = self._pool, []
        with self._lock.held_if_free() as free:
            if free:
                with contextlib.suppress(apsw.Error):
                    self._writer.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        for source in (*idle, self._writer):
            source.connection.close()
        self._dense.close()
        self._lock.close()

    @contextmanager
    def _transaction(self) -> Iterator[Transaction]:
        self._check_open()
        with self._lock.held():
            self._check_open()
            source = self._current_writer()
            source.run("BEGIN IMMEDIATE")
            try:
                writes = Writes(source)
                yield writes
                source.run("COMMIT")
            except BaseException:
                if source.connection.in_transaction:
                    source.run("ROLLBACK")
                raise
            if writes.deleted:
                with translated(self._path):
                    source.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        if writes.deleted:
            with self._snapshot() as reader:
                self._dense.erase(reader.run, writes.deleted)

    @contextmanager
    def _borrowed(self) -> Iterator[ConnectionSource]:
        """A pooled connection of its own for the time of the block."""
        with self._pool_lock:
            self._check_open()
            self._follow()
            source = self._pool.pop() if self._pool else None
        if source is None:
            with translated(self._path):
                source = self._connect()
        try:
            yield source
        except BaseException:
            source.connection.close()
            raise
        with self._pool_lock:
            if not self._closed and source.identity == self._identity:
                self._pool.append(source)
                return
        source.connection.close()

    @contextmanager
    def _snapshot(self) -> Iterator[ConnectionSource]:
        """A connection inside one short read transaction, so that several reads see one state."""
        with self._borrowed() as source:
            source.run("BEGIN")
            try:
                yield source
            finally:
                if source.connection.in_transaction:
                    source.run("COMMIT")

    def _follow(self) -> None:
        """Lets go of the file that a restore has replaced."""
        identity = identity_of(self._path)
        if identity is None or identity == self._identity:
            return
        idle, self._pool = self._pool, []
        for source in idle:
            source.connection.close()
        self._identity = identity
        self._counts = lexical.TermCounts()
        self._dense.close()
        self._dense = self._open_dense()

    def _current_writer(self) -> ConnectionSource:
        """The writing connection, opened anew when a restore has replaced the file; called under the lock."""
        if self._writer.identity != identity_of(self._path):
            self._writer.connection.close()
            with translated(self._path):
                self._writer = self._prepare_locked()
        return self._writer

    def _open_dense(self) -> DenseIndex:
        return DenseIndex(self._path.with_name(self._path.name + ".vectors"), bank=self._check_scope())

    def _prepare(self) -> ConnectionSource:
        """Opens the writer; makes or migrates the file under the lock when that is needed."""
        fresh = not self._path.exists() or self._path.stat().st_size == 0
        if not fresh:
            source = self._connect()
            if schema_version(source.connection) == len(MIGRATIONS) and self._has_scope(source):
                return source
            source.connection.close()
        with self._lock.held():
            return self._prepare_locked()

    def _prepare_locked(self) -> ConnectionSource:
        source = self._connect()
        version = schema_version(source.connection)
        if version > len(MIGRATIONS):
            source.connection.close()
            raise StoreTooNew(
                f"{self._path.name} has schema {version}; this version knows schemas up to {len(MIGRATIONS)}"
            )
        if 0 < version < len(MIGRATIONS):
            upkeep.copy(source.connection, self._path.with_name(f"{self._path.name}.before-{version + 1}"))
        source.connection.pragma("journal_mode", "wal")
        migrate(source.connection)
        if not self._has_scope(source):
            self._write_scope(source)
        return source

    def _connect(self) -> ConnectionSource:
        connection = open_connection(self._path, vfs=self._vfs)
        source = ConnectionSource(self._path, self.project, connection)
        if schema_version(connection):
            lexical.prepare_vocabulary(connection)
        return source

    def _write_scope(self, source: ConnectionSource) -> None:
        source.run("BEGIN IMMEDIATE")
        source.run("INSERT INTO meta VALUES ('tenant', ?)", (self._scope.tenant,))
        source.run("INSERT INTO meta VALUES ('project', ?)", (self._scope.project,))
        source.run("COMMIT")
        lexical.prepare_vocabulary(source.connection)

    @staticmethod
    def _has_scope(source: ConnectionSource) -> bool:
        return source.run("SELECT count(*) FROM meta WHERE name IN ('tenant', 'project')") == [(2,)]

    def _check_scope(self) -> str:
        """Refuses a file of another scope; returns the bank's own identifier."""
        connection = self._connect()
        try:
            rows = connection.run("SELECT name, value FROM meta")
        finally:
            connection.connection.close()
        meta = {cast(str, name): cast(str, value) for name, value in rows}
        if (meta.get("tenant"), meta.get("project")) != (self._scope.tenant, self._scope.project):
            raise ScopeViolation(f"{self._path.name} belongs to another tenant or project")
        if "bank" not in meta:
            raise StoreCorrupt(f"{self._path.name} has lost its identity")
        return meta["bank"]

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosed("the bank is closed")

    def _check_space(self, source: ConnectionSource, vector: Vector) -> None:
        rows = source.run("SELECT value FROM meta WHERE name = 'dimension'")
        if rows and int(cast(str, rows[0][0])) != len(vector):
            raise ModelMismatch(f"the bank's vectors have {rows[0][0]!r} dimensions, the query's {len(vector)}")

    @staticmethod
    def _names(source: ConnectionSource, keys: Sequence[int]) -> Mapping[int, str]:
        rows = source.run("SELECT key, id FROM memories WHERE key IN (SELECT value FROM json_each(?))", (str(keys),))
        return {cast(int, key): cast(str, name) for key, name in rows}

    @staticmethod
    def _keys(source: ConnectionSource, memory_ids: Sequence[str]) -> Mapping[int, str]:
        rows = source.run(
            "SELECT key, id FROM memories WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(memory_ids)),),
        )
        return {cast(int, key): cast(str, name) for key, name in rows}
