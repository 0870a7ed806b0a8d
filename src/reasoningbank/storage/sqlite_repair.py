"""Mend a bank's file: page checksums that another program has left behind."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import apsw

from reasoningbank.storage.sqlite_check import problems_of
from reasoningbank.storage.sqlite_connection import (
    RESERVED_BYTES,
    ConnectionSource,
    checksum_vfs,
    configure,
    identity_of,
    migrate,
    prepare_vocabulary,
)

_HEADER = 100
_MAGIC = b"SQLite format 3\0"
_STATISTICS = frozenset(("table", f"sqlite_stat{number}") for number in (1, 3, 4))
"""The tables of ``ANALYZE``. Source: "Database File Format", section 2.6, sqlite.org."""


def renew_checksums(path: Path) -> bool:
    """Give every page of a whole bank its checksum; called under the bank's lock.

    A page whose checksum is wrong may also be damaged. So the bank is read as a whole first, as ``rbank doctor`` does:
    its structure, its indexes, and the checksum of every row. A bank with any defect stays as it is. Indexes and
    statistics of another program are dropped.

    Returns:
        Whether checksums were renewed.
    """
    if not _has_stale_page(path):
        return False
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOFOLLOW
    with closing(apsw.Connection(str(path), flags=flags, vfs=checksum_vfs())) as connection:
        connection.execute("PRAGMA checksum_verification = OFF").fetchall()
        configure(connection)
        foreign = _foreign_objects(connection)
        if foreign is None:
            return False
        prepare_vocabulary(connection)
        project = str(connection.execute("SELECT value FROM meta WHERE name = 'project'").get)
        source = ConnectionSource(path, project, connection, identity_of(path))
        if problems_of(source, project):
            return False
        for kind, name in foreign:
            quoted = name.replace('"', '""')
            connection.execute(f'DROP {kind} "{quoted}"')
        connection.execute("VACUUM")
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    return True


def _foreign_objects(connection: apsw.Connection) -> Sequence[tuple[str, str]] | None:
    """Return the kinds and names of what another program has added and what can be dropped without a loss.

    Returns:
        Indexes and the statistics of ``ANALYZE``; None when anything else is not exactly what this version makes: a
        trigger, a view or a table could change what is written.
    """
    with closing(apsw.Connection(":memory:")) as fresh:
        migrate(fresh)
        expected = _objects_of(fresh)
        if _header_of(connection) != _header_of(fresh):
            return None
    found = _objects_of(connection)
    if not expected <= found:
        return None
    added = sorted((str(kind), str(name)) for kind, name, *_ in found - expected)
    if any(kind != "index" and (kind, name) not in _STATISTICS for kind, name in added):
        return None
    return added


def _header_of(connection: apsw.Connection) -> Sequence[object]:
    return [connection.pragma(name) for name in ("application_id", "user_version", "encoding", "auto_vacuum")]


def _objects_of(connection: apsw.Connection) -> set[tuple[object, ...]]:
    return set(connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema"))


def _has_stale_page(path: Path) -> bool:
    """Return whether a page of a file that was made with page checksums does not have its own."""
    if checksum_vfs() is None:
        return False
    with path.open("rb") as file:
        header = file.read(_HEADER)
        if len(header) < _HEADER or not header.startswith(_MAGIC) or header[20] != RESERVED_BYTES:
            return False
        size = int.from_bytes(header[16:18]) or 512
        size = 65_536 if size == 1 else size
        file.seek(0)
        with closing(apsw.Connection(":memory:")) as judge:
            while page := file.read(size):
                if len(page) == size and judge.execute("SELECT verify_checksum(?)", (page,)).get == 0:
                    return True
    return False
