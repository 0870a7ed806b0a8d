"""Connections to a bank in SQLite: what they guarantee, how they spell statements, and what their errors mean here."""

from __future__ import annotations

import errno
import os
import re
import stat
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

import apsw
import apsw.sqlite_extra

from reasoningbank.errors import (
    BankError,
    InvalidInput,
    StoreBusy,
    StoreClosed,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreTooNew,
    StoreUnavailable,
)
from reasoningbank.storage import schema
from reasoningbank.storage.connection import statements_of
from reasoningbank.storage.rows import LAST, Row, Value
from reasoningbank.system import open_private, user_id

CHECKSUM_VFS = "cksmvfs"
RESERVED_BYTES = 8
"""Bytes at the end of every page that hold its checksum (SQLite's checksum VFS)."""
BUSY_MILLISECONDS = 10_000
APPLICATION_ID = 0x52424E4B
"""Marks the file as a bank ("RBNK")."""

_PRAGMAS = """
PRAGMA synchronous = FULL;
PRAGMA fullfsync = ON;
PRAGMA foreign_keys = ON;
PRAGMA trusted_schema = OFF;
PRAGMA secure_delete = ON;
PRAGMA cell_size_check = ON;
PRAGMA mmap_size = 0;
PRAGMA temp_store = MEMORY;
PRAGMA journal_size_limit = 67108864;
PRAGMA cache_size = -16384;
"""

_registration = threading.Lock()
_registered: list[bool] = []
_RAISED = (apsw.Error, OSError, ValueError, OverflowError, TypeError)
"""What a statement may raise: the engine's errors, and those of values that it cannot take."""
_CORRUPT = (apsw.CorruptError, apsw.NotADBError, apsw.FormatError)
_BUSY = (apsw.BusyError, apsw.LockedError, apsw.ProtocolError)
_REFUSED = (apsw.ReadOnlyError, apsw.CantOpenError, apsw.PermissionsError, apsw.AuthError)
_UNFIT = (apsw.TooBigError, apsw.MismatchError, apsw.RangeError, apsw.ConstraintError)
_UNREADABLE = frozenset({apsw.SQLITE_IOERR_DATA, apsw.SQLITE_IOERR_CORRUPTFS, apsw.SQLITE_IOERR_SHORT_READ})
_NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_LOST = ("no such table", "no such column", "malformed", "vtable constructor failed", "fts5:", "fts5 file format")


@dataclass(frozen=True, slots=True, kw_only=True)
class TextIndex:
    """The index of the words of one table, and what its two views are called on a connection.

    Attributes:
        table: The FTS5 table.
        column: The column of the words, in both tables.
        vocabulary: Its terms with their document frequencies.
        occurrences: Its terms' occurrences.
    """

    table: str
    column: str
    vocabulary: str
    occurrences: str


TEXT_INDEXES: Mapping[str, TextIndex] = {
    "memories": TextIndex(table="memory_text", column="text", vocabulary="vocabulary", occurrences="occurrences"),
    **{
        f"graph_{kind}s": TextIndex(
            table=f"graph_{kind}_text",
            column="words",
            vocabulary=f"graph_{kind}_text_vocabulary",
            occurrences=f"graph_{kind}_text_occurrences",
        )
        for kind in ("node", "edge")
    },
}
"""The indexes of words, by their tables."""
MEMORY_TEXT = TEXT_INDEXES["memories"]
_INDEX_WORDS = {
    table: f"INSERT INTO {index.table} (rowid, {index.column}) "  # noqa: S608 - constant names
    f"SELECT key, {index.column} FROM {table} WHERE key BETWEEN ? AND ? ORDER BY key"
    for table, index in TEXT_INDEXES.items()
}
_INDEX_WORDS_OF_ONE = {
    table: f"INSERT INTO {index.table} (rowid, {index.column}) "  # noqa: S608 - constant names
    f"SELECT key, {index.column} FROM {table} WHERE key = ?"
    for table, index in TEXT_INDEXES.items()
}
_FORGET_WORDS = {
    table: f"DELETE FROM {index.table} WHERE rowid = ?"  # noqa: S608 - constant names
    for table, index in TEXT_INDEXES.items()
}
PART = 1_024
"""So many rows of a long answer are read at once."""
_TABLE = re.compile(r"(CREATE TABLE \w+ \(.*?\));", re.DOTALL)


class ConnectionSource:
    """Rows of one connection, with the engine's errors in our words."""

    def __init__(self, path: Path, project: str, connection: apsw.Connection, identity: tuple[int, int] | None) -> None:
        self._path = path
        self.project = project
        self.connection = connection
        self.identity = identity
        self._begins_next = False
        self._reading: apsw.Cursor | None = None

    @property
    def schema_sql(self) -> str:
        return "(SELECT user_version FROM pragma_user_version)"

    @property
    def state(self) -> int:
        return self.connection.data_version()

    @property
    def in_transaction(self) -> bool:
        return self.connection.in_transaction

    @property
    def is_closed(self) -> bool:
        """Return whether its connection was given up."""
        try:
            self.connection.in_transaction  # noqa: B018 - raises
        except apsw.ConnectionClosedError:
            return True
        return False

    def begin_with_next(self) -> None:
        """Let the next statement begin a transaction that reads; without one there is none."""
        self._begins_next = True

    def end_reading(self) -> None:
        """End the transaction that reads, if one was begun."""
        self._begins_next = False
        if self._reading is not None:
            self._reading.close(True)
            self._reading = None
        if self.connection.in_transaction:
            self.run("COMMIT")

    def run(self, sql: str, values: Sequence[Value] = ()) -> Sequence[Row]:
        if self._begins_next:
            self._begins_next = False
            self.run("BEGIN")
        try:
            spelling = _spellings.get(sql) or spelled(sql)
            rows: Sequence[Row] = self.connection.execute(spelling, tuple(values)).fetchall()
            return rows
        except _RAISED as error:
            raise failure(self._path, error, self.connection) from error

    def parts(self, sql: str, values: Sequence[Value] = ()) -> Iterator[Sequence[Row]]:
        """Yield the rows of one statement, a thousand at a time: all rows at once take much memory."""
        if self._begins_next:
            self._begins_next = False
            self.run("BEGIN")
        try:
            with closing(self.connection.cursor()) as cursor:
                cursor.execute(spelled(sql), tuple(values))
                while rows := list(islice(cursor, PART)):
                    yield rows
        except _RAISED as error:
            raise failure(self._path, error, self.connection) from error

    def first_read(self, sql: str, values: Sequence[Value] = ()) -> Iterator[Sequence[Row]]:
        """Yield the rows of a statement in parts; its last row begins with LAST and is not among them.

        Where a transaction that reads is to begin, the statement is not ended after its last row: as long as it is not,
        SQLite shows all statements of the connection one state. None need begin a transaction and none end it.

        The first part is empty: by then the state is fixed, and ``state`` tells whether it is another than before.
        """
        if not self._begins_next:
            parts = self.parts(sql, values)
            begun = next(parts)
            yield []
            for part in chain([begun], parts):
                yield part if part[-1][0] != LAST else part[:-1]
            return
        self._begins_next = False
        try:
            self._reading = cursor = self.connection.cursor()
            cursor.execute(spelled(sql), tuple(values))
            yield []
            rows: list[Row] = []
            for row in cursor:
                if row[0] == LAST:
                    break
                rows.append(row)
                if len(rows) == PART:
                    yield rows
                    rows = []
            yield rows
        except _RAISED as error:
            raise failure(self._path, error, self.connection) from error

    def run_each(self, sql: str, rows: Sequence[Row]) -> Sequence[Row]:
        """Run one statement with each of these rows of values; return all that it gives.

        A statement with a list of ``VALUES`` gets as many rows as it may have at once.
        """
        if len(rows) == 1:
            return self.run(sql, rows[0])
        parts = statements_of(sql, rows)
        if parts is None:
            return self._run_each(sql, rows)
        return [row for statement, values in parts for row in self.run(statement, values)]

    def _run_each(self, sql: str, rows: Sequence[Row]) -> Sequence[Row]:
        try:
            found: Sequence[Row] = self.connection.executemany(spelled(sql), rows).fetchall()
            return found
        except _RAISED as error:
            raise failure(self._path, error, self.connection) from error

    def begin(self) -> None:
        self.run("BEGIN IMMEDIATE")

    def claim(self, sql: str, values: Sequence[Value]) -> Sequence[Row]:
        """Return the rows; whoever writes to the file is alone anyway."""
        return self.run(sql, values)

    def index_text(self, table: str, column: str) -> None:
        index = TEXT_INDEXES[table].table
        self.run(
            f"CREATE VIRTUAL TABLE {index} USING fts5 (\n    {column}, content = '{table}', content_rowid = 'key', "
            "tokenize = 'porter unicode61 remove_diacritics 2'\n)"
        )
        self.run(f"INSERT INTO {index} ({index}, rank) VALUES ('secure-delete', 1), ('pgsz', 1950)")  # noqa: S608

    def index_words(self, table: str, first: int, last: int) -> None:
        if first == last:
            self.run(_INDEX_WORDS_OF_ONE[table], (first,))
        else:
            self.run(_INDEX_WORDS[table], (first, last))

    def forget_words(self, table: str, key: int) -> None:
        self.run(_FORGET_WORDS[table], (key,))

    def prepare_words(self, table: str) -> None:
        prepare_vocabulary(self.connection, TEXT_INDEXES[table])


def spelled(sql: str) -> str:
    """Return a statement of the tables in SQLite's own words (``reasoningbank.storage.database`` lists them)."""
    known = _spellings.get(sql)
    if known is not None:
        return known
    spelling = sql
    for word, own in _WORDS:
        spelling = spelling.replace(word, own)
    if "CREATE TABLE" in spelling:
        spelling = _TABLE.sub(_spelled_table, spelling)
    if len(sql) <= _LONGEST_KEPT and len(_spellings) < _MOST_KEPT:
        _spellings[sql] = spelling
    return spelling


_WORDS = (("texts_in(", "json_each("), ("numbers_in(", "json_each("), ("greatest(", "max("), ("least(", "min("))
_LONGEST_KEPT = 4_096
"""Longer statements hold many rows of values, and seldom come again."""
_MOST_KEPT = 1_024
_spellings: dict[str, str] = {}
"""Statements as they were spelled before: asked for with each statement, so without a call."""


def _spelled_table(found: re.Match[str]) -> str:
    """Return the definition of a table: strict, and ordered by its primary key unless that is one number.

    Rows as long as a vector are not ordered: SQLite's pages then hold few of them.
    """
    identity = "GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY"
    definition = found[1].replace(identity, "PRIMARY KEY AUTOINCREMENT")
    ordered = not re.search(r"INTEGER PRIMARY KEY|vector BLOB", definition)
    return f"{definition} STRICT{', WITHOUT ROWID' if ordered else ''};"


def prepare_vocabulary(connection: apsw.Connection, index: TextIndex = MEMORY_TEXT) -> None:
    """Give the connection views of the index: its terms with their document frequencies, and their occurrences."""
    for name, kind in ((index.vocabulary, "row"), (index.occurrences, "instance")):
        connection.execute(
            f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.{name} USING fts5vocab (main, {index.table}, {kind})"
        )


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
    # First of all: a connection that fails at a damaged file must not remove the log when it is closed.
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    connection.execute(_PRAGMAS).fetchall()
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    return connection


def _make_private_file(path: Path) -> None:
    """Make the file when it is missing; it must be a plain file, and ours are for their owner alone."""
    try:
        if path.is_symlink():
            raise StoreUnavailable(
                f"{path} is a symbolic link", hint="Name the file itself: a bank is never opened through a link."
            )
        descriptor = open_private(path, os.O_RDWR | os.O_CREAT)
        try:
            state = os.fstat(descriptor)
            if not stat.S_ISREG(state.st_mode):
                raise StoreUnavailable(f"{path} is not a file")
            if state.st_mode & 0o077 and state.st_uid == user_id():
                os.chmod(descriptor, 0o600)  # noqa: PTH101 - the file that is open
        finally:
            os.close(descriptor)
    except OSError as error:
        raise unavailable(path, error) from error


def schema_version(connection: apsw.Connection) -> int:
    """Return how many migrations the file has had."""
    return int(str(connection.pragma("user_version")))


def check_readable(connection: apsw.Connection, name: str) -> int:
    """Refuse a file that this version must not touch; return how many migrations it has had.

    Raises:
        StoreTooNew: When a newer version has written it.
        StoreUnavailable: When it is a database of another program.
        StoreCorrupt: When its header says that its pages have no checksums, and it was made with them.
    """
    version = schema_version(connection)
    if version == 0 and connection.execute("SELECT count(*) FROM sqlite_schema").get == 0:
        return 0
    if connection.pragma("application_id") != APPLICATION_ID:
        raise StoreUnavailable(
            f"{name} is a database of another program", hint="Name a file that does not exist yet, or a bank's file."
        )
    if version > len(schema.MIGRATIONS):
        raise StoreTooNew(f"{name} has schema {version}; this version knows schemas up to {len(schema.MIGRATIONS)}")
    if (
        connection.reserve_bytes("main", -1) == 0
        and connection.execute("SELECT value FROM meta WHERE name = 'checksums'").get is not None
    ):
        raise StoreCorrupt(f"the header of {name} has lost its page checksums")
    return version


def migrate(connection: apsw.Connection) -> None:
    """Apply what is missing, each migration and its number in one transaction."""
    source = ConnectionSource(Path(connection.filename), "", connection, None)
    for number in range(schema_version(connection), len(schema.MIGRATIONS)):
        connection.execute("BEGIN IMMEDIATE")
        try:
            schema.MIGRATIONS[number](source)
            if not number:
                _mark(source)
            connection.pragma("user_version", number + 1)
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")


def _mark(source: ConnectionSource) -> None:
    """Say in a new file that it is a bank, and whether its pages have checksums."""
    if source.connection.reserve_bytes("main", -1):
        source.run("INSERT INTO meta VALUES ('checksums', 'page')")
    source.connection.pragma("application_id", APPLICATION_ID)


def unavailable(path: Path, error: OSError) -> StoreError:
    """Return the error of a path that the operating system refuses."""
    if error.errno in _NO_SPACE:
        return StoreFull(f"no space is left to write {path}")
    return StoreUnavailable(f"{path} cannot be used: {error.strerror}")


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn what the engine and the operating system raise about a file into our errors."""
    try:
        yield
    except BankError:
        raise
    except (apsw.Error, OSError, UnicodeError, OverflowError) as error:
        raise failure(path, error) from error


def failure(path: Path, error: Exception, connection: apsw.Connection | None = None) -> BankError:
    """Return our error for one of theirs.

    Args:
        path: The bank file it is about.
        error: What was raised by the engine or for a value it cannot take.
        connection: Where it was raised, to tell a full disk from a failing one.
    """
    if isinstance(error, BankError):
        return error
    if isinstance(error, OSError):
        return unavailable(path, error)
    if isinstance(error, UnicodeDecodeError):
        return StoreCorrupt(f"{path.name} holds a text that is not Unicode: {error}")
    if not isinstance(error, apsw.Error):
        return InvalidInput(f"a value does not fit the store: {error}")
    return _engine_failure(path, error, connection)


_DAMAGED = (
    "Keep the file. `rbank doctor --repair` saves every whole row of it; `rbank restore` puts the newest backup in its "
    "place."
)


def _engine_failure(path: Path, error: apsw.Error, connection: apsw.Connection | None) -> BankError:
    if isinstance(error, _CORRUPT) or getattr(error, "extendedresult", 0) in _UNREADABLE:
        return StoreCorrupt(f"{path.name} does not hold what was written to it: {error}", hint=_DAMAGED)
    if isinstance(error, apsw.FullError) or (isinstance(error, apsw.IOError) and _out_of_space(connection)):
        return StoreFull(f"no space is left to write {path}; what was acknowledged is safe")
    if isinstance(error, _BUSY):
        return StoreBusy(f"{path.name} is locked by a program that does not use the bank's lock file: {error}")
    if isinstance(error, _REFUSED):
        return StoreUnavailable(f"{path} cannot be used: {error}")
    if isinstance(error, apsw.IOError):
        return StoreUnavailable(f"the disk failed on {path}: {error}", hint="Look for defects of the disk.")
    if isinstance(error, apsw.ConstraintError) and "UNIQUE" in str(error):
        place = str(error).rpartition(": ")[2]
        return InvalidInput(f"it is stored already: two rows cannot have the same {place}")
    if isinstance(error, _UNFIT):
        return InvalidInput(f"a value does not fit the store: {error}")
    if isinstance(error, apsw.ConnectionClosedError):
        return StoreClosed("the bank is closed")
    if isinstance(error, apsw.SQLError) and any(sign in str(error) for sign in _LOST):
        return StoreCorrupt(f"{path.name} has lost a part: {error}")
    return StoreError(f"{path.name}: {type(error).__name__}: {error}")


def _out_of_space(connection: apsw.Connection | None) -> bool:
    if connection is None:
        return False
    try:
        return connection.system_errno in _NO_SPACE
    except apsw.ConnectionClosedError:
        return False
