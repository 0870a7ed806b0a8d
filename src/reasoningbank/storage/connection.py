"""Connections to one bank file: how they are opened, and what they guarantee."""

from __future__ import annotations

import os
import re
import stat
import threading
from collections.abc import Sequence
from pathlib import Path

import apsw
import apsw.sqlite_extra

from reasoningbank.errors import StoreUnavailable
from reasoningbank.storage.failures import failure, unavailable
from reasoningbank.storage.rows import Row, Value

CHECKSUM_VFS = "cksmvfs"
RESERVED_BYTES = 8
"""Bytes at the end of every page that hold its checksum (SQLite's checksum VFS)."""
BUSY_MILLISECONDS = 10_000

_PRAGMAS = """
PRAGMA synchronous = FULL;
PRAGMA foreign_keys = ON;
PRAGMA trusted_schema = OFF;
PRAGMA secure_delete = ON;
PRAGMA cell_size_check = ON;
PRAGMA mmap_size = 0;
PRAGMA temp_store = MEMORY;
PRAGMA journal_size_limit = 67108864;
PRAGMA cache_size = -16384;
"""

MAX_VALUES = 16_384
"""Most values that one statement is given at once; SQLite takes 32,766."""
_ROW_OF_VALUES = re.compile(r"\bVALUES (\(\?(?:, \?)*\))")

_registration = threading.Lock()
_registered: list[bool] = []


class ConnectionSource:
    """Rows of one connection, with the engine's errors in our words."""

    def __init__(self, path: Path, project: str, connection: apsw.Connection, identity: tuple[int, int] | None) -> None:
        self._path = path
        self.project = project
        self.connection = connection
        self.identity = identity

    @property
    def schema_sql(self) -> str:
        return "SELECT 'schema', user_version FROM pragma_user_version"

    @property
    def state(self) -> int:
        return self.connection.data_version()

    @property
    def in_transaction(self) -> bool:
        return self.connection.in_transaction

    @property
    def is_closed(self) -> bool:
        """Whether its connection was given up."""
        try:
            self.connection.in_transaction  # noqa: B018 - raises
        except apsw.ConnectionClosedError:
            return True
        return False

    def run(self, sql: str, values: Sequence[Value] = ()) -> Sequence[Row]:
        try:
            rows: Sequence[Row] = self.connection.execute(sql, tuple(values)).fetchall()
            return rows
        except (apsw.Error, OSError, ValueError, OverflowError, TypeError) as error:
            raise failure(self._path, error, self.connection) from error

    def run_each(self, sql: str, rows: Sequence[Row]) -> Sequence[Row]:
        """Run one statement with each of these rows of values; return all that it gives.

        A statement with a list of ``VALUES`` gets as many rows as it may have at once.
        """
        place = _ROW_OF_VALUES.search(sql)
        if place is None or len(rows) < 2:
            return self._run_each(sql, rows)
        found: list[Row] = []
        size = max(1, MAX_VALUES // len(rows[0]))
        for start in range(0, len(rows), size):
            part = rows[start : start + size]
            places = ", ".join([place.group(1)] * len(part))
            found += self.run(
                sql[: place.start(1)] + places + sql[place.end(1) :], [each for row in part for each in row]
            )
        return found

    def _run_each(self, sql: str, rows: Sequence[Row]) -> Sequence[Row]:
        try:
            found: Sequence[Row] = self.connection.executemany(sql, rows).fetchall()
            return found
        except (apsw.Error, OSError, ValueError, OverflowError, TypeError) as error:
            raise failure(self._path, error, self.connection) from error


def identity_of(path: str | Path) -> tuple[int, int] | None:
    """Tell two files of the same path apart: a file that was put in a bank's place is another file."""
    try:
        state = os.stat(path)  # noqa: PTH116 - asked before every write
    except OSError:
        return None
    return (state.st_dev, state.st_ino)


def page_checksums() -> bool:
    """Return whether this platform's SQLite package has page checksums; registers them once per process."""
    with _registration:
        if not _registered:
            available = apsw.sqlite_extra.has("cksumvfs") == "extension"
            if available:
                default = apsw.vfs_names()[0]
                loader = apsw.Connection(":memory:")
                apsw.sqlite_extra.load(loader, "cksumvfs")
                loader.close()
                apsw.set_default_vfs(default)
            _registered.append(available)
        return _registered[0]


def checksum_vfs() -> str | None:
    """Return the VFS that bank files are read through by default; None for the platform's own."""
    return CHECKSUM_VFS if page_checksums() else None


def open_connection(path: Path, *, vfs: str | None = None) -> apsw.Connection:
    """Open a connection with everything the product promises: WAL, FULL, checksums, secure deletion.

    Args:
        path: The bank file; made when it does not exist, readable by its owner alone.
        vfs: Another SQLite VFS, for tests that cut the power.
    """
    _make_private_file(path)
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_NOFOLLOW
    chosen = vfs or checksum_vfs()
    connection = apsw.Connection(str(path.parent.resolve() / path.name), flags=flags, vfs=chosen)
    try:
        if chosen == CHECKSUM_VFS and path.stat().st_size == 0:
            connection.reserve_bytes("main", RESERVED_BYTES)
        return configure(connection)
    except BaseException:
        connection.close()
        raise


def configure(connection: apsw.Connection) -> apsw.Connection:
    """Set what every connection to a bank has in common; the connection itself."""
    connection.set_busy_timeout(BUSY_MILLISECONDS)
    connection.execute(_PRAGMAS).fetchall()
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    return connection


def _make_private_file(path: Path) -> None:
    """Make the file when it is missing; it must be a plain file, and ours are for their owner alone."""
    try:
        if path.is_symlink():
            raise StoreUnavailable(
                f"{path} is a symbolic link", hint="Name the file itself: a bank is never opened through a link."
            )
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0), 0o600)
        try:
            state = os.fstat(descriptor)
            if not stat.S_ISREG(state.st_mode):
                raise StoreUnavailable(f"{path} is not a file")
            if os.name == "posix" and state.st_mode & 0o077 and state.st_uid == os.geteuid():
                os.fchmod(descriptor, 0o600)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise unavailable(path, error) from error
