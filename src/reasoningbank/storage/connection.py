"""Connections to one bank file: how they are opened, what they guarantee, and our names for their errors."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import apsw.sqlite_extra

from reasoningbank.errors import (
    BankError,
    InvalidInput,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreUnavailable,
)

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
"""

_CORRUPT = (apsw.CorruptError, apsw.NotADBError, apsw.FormatError)
_FULL = (apsw.FullError,)
_BUSY = (apsw.BusyError, apsw.LockedError, apsw.ProtocolError)
_UNREADABLE = frozenset({apsw.SQLITE_IOERR_DATA, apsw.SQLITE_IOERR_CORRUPTFS, apsw.SQLITE_IOERR_SHORT_READ})
_NO_SPACE = frozenset({apsw.SQLITE_IOERR_SHMSIZE, apsw.SQLITE_IOERR_WRITE})

_registration = threading.Lock()
_registered: list[bool] = []


def page_checksums() -> bool:
    """Whether this platform's SQLite package has page checksums; registers them once per process."""
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


def open_connection(path: Path, *, vfs: str | None = None) -> apsw.Connection:
    """Opens a connection with everything the product promises: WAL, FULL, checksums, secure deletion.

    Args:
        path: The bank file; made when it does not exist, readable by its owner alone.
        vfs: Another SQLite VFS, for tests that cut the power.
    """
    chosen = vfs or (CHECKSUM_VFS if page_checksums() else "")
    _create_private(path)
    connection = apsw.Connection(str(path), vfs=chosen or None)
    try:
        connection.set_busy_timeout(BUSY_MILLISECONDS)
        if page_checksums() and path.stat().st_size == 0:
            connection.reserve_bytes("main", RESERVED_BYTES)
        connection.execute(_PRAGMAS)
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    except BaseException:
        connection.close()
        raise
    return connection


def _create_private(path: Path) -> None:
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0), 0o600))
    except OSError as error:
        raise unavailable(path, error) from error


def unavailable(path: Path, error: OSError) -> StoreError:
    """The error of a path that the operating system refuses."""
    if error.errno in {28, 122}:
        return StoreFull(f"no space is left to write {path}")
    return StoreUnavailable(f"{path} cannot be used: {error.strerror}")


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turns the engine's errors into ours; everything else passes."""
    try:
        yield
    except BankError:
        raise
    except apsw.Error as error:
        raise _translate(path, error) from error
    except OSError as error:
        raise unavailable(path, error) from error


def _translate(path: Path, error: apsw.Error) -> BankError:
    extended = getattr(error, "extendedresult", 0)
    if isinstance(error, _CORRUPT) or extended in _UNREADABLE:
        return StoreCorrupt(f"{path.name} does not hold what was written to it: {error}")
    if isinstance(error, _FULL) or extended in _NO_SPACE:
        return StoreFull(f"no space is left to write {path}; what was acknowledged is safe")
    if isinstance(error, _BUSY):
        return StoreBusy(f"{path.name} is locked by a program that does not use the bank's lock file: {error}")
    if isinstance(error, (apsw.ReadOnlyError, apsw.CantOpenError, apsw.PermissionsError, apsw.AuthError)):
        return StoreUnavailable(f"{path} cannot be written: {error}")
    if isinstance(error, (apsw.TooBigError, apsw.MismatchError, apsw.RangeError)):
        return InvalidInput(f"a value does not fit the store: {error}")
    if isinstance(error, apsw.SQLError) and "no such table" in str(error):
        return StoreCorrupt(f"{path.name} has lost a table: {error}")
    return StoreError(f"{path.name}: {type(error).__name__}: {error}")
