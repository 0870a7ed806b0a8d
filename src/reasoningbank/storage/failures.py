"""Our names for what the engine, the operating system and damaged values raise: nothing else leaves this room."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from reasoningbank.errors import (
    BankError,
    InvalidInput,
    StoreBusy,
    StoreClosed,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreUnavailable,
)

_CORRUPT = (apsw.CorruptError, apsw.NotADBError, apsw.FormatError)
_BUSY = (apsw.BusyError, apsw.LockedError, apsw.ProtocolError)
_REFUSED = (apsw.ReadOnlyError, apsw.CantOpenError, apsw.PermissionsError, apsw.AuthError)
_UNFIT = (apsw.TooBigError, apsw.MismatchError, apsw.RangeError, apsw.ConstraintError)
_UNREADABLE = frozenset({apsw.SQLITE_IOERR_DATA, apsw.SQLITE_IOERR_CORRUPTFS, apsw.SQLITE_IOERR_SHORT_READ})
_NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_LOST = ("no such table", "no such column", "malformed", "vtable constructor failed", "fts5:")


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


@contextmanager
def decoding(what: str) -> Iterator[None]:
    """Turn a stored value that cannot be what was written into StoreCorrupt."""
    try:
        yield
    except StoreCorrupt:
        raise
    except (ValueError, TypeError, LookupError, OverflowError, AttributeError) as error:
        raise StoreCorrupt(f"{what} does not hold what was written to it: {error}") from error


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


def _engine_failure(path: Path, error: apsw.Error, connection: apsw.Connection | None) -> BankError:
    if isinstance(error, _CORRUPT) or getattr(error, "extendedresult", 0) in _UNREADABLE:
        return StoreCorrupt(f"{path.name} does not hold what was written to it: {error}")
    if isinstance(error, apsw.FullError) or (isinstance(error, apsw.IOError) and _out_of_space(connection)):
        return StoreFull(f"no space is left to write {path}; what was acknowledged is safe")
    if isinstance(error, _BUSY):
        return StoreBusy(f"{path.name} is locked by a program that does not use the bank's lock file: {error}")
    if isinstance(error, _REFUSED):
        return StoreUnavailable(f"{path} cannot be used: {error}")
    if isinstance(error, apsw.IOError):
        return StoreUnavailable(f"the disk failed on {path}: {error}", hint="Look for defects of the disk.")
    if isinstance(error, apsw.ConstraintError) and "UNIQUE" in str(error):
        return InvalidInput(f"it is stored already: {error}")
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
