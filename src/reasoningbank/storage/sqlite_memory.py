"""``memory://``: banks that end when the last of them is closed. All is the SQLite engine but where its pages lie.

They lie in a file system for SQLite whose files are bytes of this process: several connections, one writer, nothing on
a disk. SQLite's own ``memdb`` keeps readers out for as long as a write transaction is open. Here the lock levels are
those of a file with a rollback journal: whoever writes keeps the changed pages to itself until it commits, readers see
what was committed last, and only the moment of committing waits for reads that have begun.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from weakref import WeakValueDictionary

import apsw

from reasoningbank.errors import StoreUnavailable
from reasoningbank.storage.locks import ProcessLock
from reasoningbank.storage.sidecars import SidecarArrays
from reasoningbank.storage.sqlite import Opening, SqliteDatabase
from reasoningbank.storage.sqlite_connection import RESERVED_BYTES, checksum_vfs, configure, translated
from reasoningbank.storage.sqlite_file import copy, restore_pages, verify
from reasoningbank.storage.store import Store
from reasoningbank.types.records import Salvage
from reasoningbank.types.scope import LEVELS, Scope

VFS = "reasoningbank-pages"
PRAGMAS = "PRAGMA journal_mode = MEMORY; PRAGMA cache_spill = OFF"
"""What every connection needs, so that nothing is written before a transaction is committed."""


class Pages:
    """The bytes of one database, and who reads and writes them. They end with the last reference to them."""

    def __init__(self) -> None:
        self.name = f"{VFS}-{next(_numbers)}"
        self.content = bytearray()
        self.latch = threading.Lock()
        self.readers = 0
        self.writer: object | None = None
        self.closing = False
        _known[self.name] = self

    def connect(self) -> apsw.Connection:
        """Open one more connection to them, on which ``PRAGMAS`` are still to be run."""
        _register()
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
        return apsw.Connection(self.name, flags=flags, vfs=VFS)


class _Handle:
    """One connection's hold on the pages: the methods that SQLite calls, under its names."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages
        self._level = apsw.SQLITE_LOCK_NONE

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        return bytes(self._pages.content[offset : offset + amount])

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        content = self._pages.content
        content.extend(bytes(max(0, offset - len(content))))
        content[offset : offset + len(data)] = data

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        del self._pages.content[newsize:]

    def xFileSize(self) -> int:  # noqa: N802
        return len(self._pages.content)

    def xLock(self, level: int) -> None:  # noqa: N802
        """Raise the level of this connection's lock.

        Raises:
            apsw.BusyError: When others are in the way; SQLite then waits and asks again.
        """
        pages = self._pages
        with pages.latch:
            if level <= self._level:
                return
            if level == apsw.SQLITE_LOCK_SHARED:
                if pages.closing:
                    raise apsw.BusyError("a transaction is being committed")
                pages.readers += 1
                self._level = level
                return
            if pages.writer not in (None, self):
                raise apsw.BusyError("another connection is writing")
            pages.writer = self
            if level == apsw.SQLITE_LOCK_EXCLUSIVE:
                pages.closing = True
                if pages.readers > 1:
                    self._level = apsw.SQLITE_LOCK_PENDING
                    raise apsw.BusyError("a read has begun")
            self._level = level

    def xUnlock(self, level: int) -> None:  # noqa: N802
        pages = self._pages
        with pages.latch:
            if level >= self._level:
                return
            if self._level > apsw.SQLITE_LOCK_SHARED:
                pages.writer, pages.closing = None, False
            if level == apsw.SQLITE_LOCK_NONE:
                pages.readers -= 1
            self._level = level

    def xCheckReservedLock(self) -> bool:  # noqa: N802
        return self._pages.writer is not None

    def xSync(self, _flags: int) -> None:  # noqa: N802
        """Do nothing: there is no disk."""

    def xSectorSize(self) -> int:  # noqa: N802
        return 4_096

    def xDeviceCharacteristics(self) -> int:  # noqa: N802
        return 0

    def xFileControl(self, _op: int, _pointer: int) -> bool:  # noqa: N802
        return False

    def xClose(self) -> None:  # noqa: N802
        self.xUnlock(apsw.SQLITE_LOCK_NONE)


class _FileSystem(apsw.VFS):
    """Finds pages by name; chance and dates are the platform's."""

    def __init__(self) -> None:
        super().__init__(VFS, "")

    def xOpen(self, name: str | apsw.URIFilename | None, _flags: list[int]) -> _Handle:  # type: ignore[override]  # noqa: N802
        wanted = name.filename() if isinstance(name, apsw.URIFilename) else name
        pages = _known.get(wanted or "")
        if pages is None:
            raise apsw.CantOpenError(f"there are no pages {wanted!r} in this process")
        return _Handle(pages)

    def xFullPathname(self, name: str) -> str:  # noqa: N802
        return name

    def xAccess(self, _pathname: str, _flags: int) -> bool:  # noqa: N802
        return False

    def xSleep(self, microseconds: int) -> int:  # noqa: N802
        """Wait; the platform's own way, called through this class, would stop every other thread meanwhile."""
        time.sleep(microseconds / 1_000_000)
        return microseconds

    def xDelete(self, _filename: str, _syncdir: bool) -> None:  # noqa: N802
        """Do nothing: journals are kept by the connections."""


_numbers = itertools.count(1)
_known: WeakValueDictionary[str, Pages] = WeakValueDictionary()
_registration = threading.Lock()
_registered: list[_FileSystem] = []


def _register() -> None:
    with _registration:
        if not _registered:
            _registered.append(_FileSystem())


class BankPages:
    """The medium of one bank without a file, shared by every store that is opened for it.

    Args:
        scope: Whose bank it is.
        location: What reports call its place.
        ended: Called when one store of the bank was closed.
    """

    journal = "memory"
    identity = (0, 0)
    log_bytes = 0
    safety = "in memory"

    def __init__(self, scope: Scope, location: str, ended: Callable[[], None]) -> None:
        self.path = Path(scope.file_name)
        self.location = location
        self._ended = ended
        self.lock = ProcessLock(self.path.name)
        self.sidecars = SidecarArrays()
        self._pages = Pages()

    @property
    def bytes(self) -> int:
        return len(self._pages.content)

    @property
    def sizes(self) -> Mapping[str, int]:
        return {"pages": self.bytes}

    def connect(self) -> apsw.Connection:
        connection = self._pages.connect()
        try:
            if not self.bytes:
                # A backup of it has room for the checksums that files have.
                connection.reserve_bytes("main", RESERVED_BYTES)
            configure(connection).execute(PRAGMAS).fetchall()
            return connection
        except BaseException:
            connection.close()
            raise

    def settle(self) -> None:
        """Do nothing: no other program reaches it."""

    def backup(self, connection: apsw.Connection, target: Path) -> None:
        copy(connection, target, vfs=checksum_vfs())

    def keep_version(self, connection: apsw.Connection, version: int) -> None:
        """Keep nothing: what this process made is of this process's version."""

    has_copies = False

    def erase_in_copies(self, erasures: Sequence[tuple[str, str]]) -> None:
        """Do nothing: it has none."""

    def close(self) -> None:
        """Keep the pages for the other stores of the place, which drops them with the last."""
        self._ended()


class ProcessStorage:
    """The Storage port over banks in this process.

    Args:
        name: What its location is called in reports.
        kept: Whether banks last as long as this object; else they are gone when the last store of them is closed.
    """

    def __init__(self, name: str = "", *, kept: bool = True) -> None:
        self._kept = kept
        self._location = f"memory://{name}"
        self._banks: dict[Scope, BankPages] = {}
        self._open = 0
        self._lock = threading.Lock()

    def open(self, scope: Scope) -> Store:
        """Return the scope's store, made when it does not exist; every store of one scope sees the same bank."""
        with self._lock:
            bank = self._bank(scope)
            self._open += 1
        return Store(SqliteDatabase(bank, scope), scope)

    def scopes(self, tenant: str) -> Sequence[Scope]:
        """Return the scopes of one tenant that were opened here, by level and name."""
        with self._lock:
            found = [scope for scope in self._banks if scope.tenant == tenant]
        return sorted(found, key=lambda scope: (LEVELS.index(scope.level), scope.project))

    def marks(self, tenant: str) -> Mapping[Scope, Hashable]:
        """Return the scopes of one tenant, each with a mark of its own every time: looking into memory costs little."""
        return {scope: object() for scope in self.scopes(tenant)}

    def latest(self, tenant: str, limit: int) -> tuple[Sequence[Scope], int]:
        """Return the projects that were opened last here, the latest first, and how many there are in all."""
        with self._lock:
            found = [scope for scope in self._banks if scope.tenant == tenant and scope.level == "project"]
        return found[::-1][:limit], len(found)

    def has(self, scope: Scope) -> bool:
        """Return whether the scope was opened here; asking makes no bank."""
        with self._lock:
            return scope in self._banks

    def restore(self, scope: Scope, source: Path) -> None:
        """Replace the scope's bank by a backup of the same scope, of a file or of a bank in memory.

        Raises:
            StoreUnavailable: When the backup does not exist.
            StoreCorrupt: When the backup is damaged; the bank stays as it is.
            StoreTooNew: When a newer version has written the backup.
            ScopeViolation: When the backup is of another scope.
        """
        verify(scope, source)
        with self._lock:
            bank = self._bank(scope)
        with bank.lock.held():
            connection = Opening(bank, scope).prepare_locked().connection
            try:
                with translated(source):
                    bank.lock.mark(restore_pages(source, connection))
            finally:
                connection.close()

    def salvaged(self, scope: Scope) -> AbstractContextManager[tuple[Store, Salvage, Path]]:  # noqa: ARG002 - the port
        """Refuse: a bank without a file has nothing on a disk that could be damaged."""
        raise StoreUnavailable("a bank in memory has no file to repair", hint="Open it again.")

    def _bank(self, scope: Scope) -> BankPages:
        """Return a scope's pages, made when there are none; the caller holds the lock."""
        if scope not in self._banks:
            self._banks[scope] = BankPages(scope, self._location, self._ended)
        return self._banks[scope]

    def _ended(self) -> None:
        """Count one store less. All scopes end together: a team's lessons outlive a short look at its store."""
        with self._lock:
            self._open -= 1
            if not self._open and not self._kept:
                self._banks.clear()


_shared: dict[str, ProcessStorage] = {}
_shared_lock = threading.Lock()


def shared_storage(name: str) -> ProcessStorage:
    """Return the place behind ``memory://name``: one for the whole process, for everybody who asks by that name.

    It is empty again when the last of its banks is closed.
    """
    with _shared_lock:
        return _shared.setdefault(name, ProcessStorage(name, kept=False))
