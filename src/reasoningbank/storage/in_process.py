"""``memory://``: banks that end with the process. Everything is the SQLite store but where its pages lie."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import apsw

from reasoningbank.storage import backup as copies
from reasoningbank.storage.bank_file import Opening
from reasoningbank.storage.connection import RESERVED_BYTES, checksum_vfs, configure
from reasoningbank.storage.failures import translated
from reasoningbank.storage.locks import ProcessLock
from reasoningbank.storage.pages import PRAGMAS, Pages
from reasoningbank.storage.sidecars import SidecarArrays
from reasoningbank.storage.sqlite import SqliteDatabase
from reasoningbank.storage.store import Store
from reasoningbank.types.scope import LEVELS, Scope


class BankPages:
    """The medium of one bank without a file, shared by every store that is opened for it.

    Args:
        scope: Whose bank it is.
        location: What reports call its place.
    """

    journal = "memory"
    identity = (0, 0)
    log_bytes = 0
    safety = "in memory"

    def __init__(self, scope: Scope, location: str) -> None:
        self.path = Path(scope.file_name)
        self.location = location
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

    def backup(self, connection: apsw.Connection, target: Path) -> None:
        copies.copy(connection, target, vfs=checksum_vfs())

    def keep_version(self, connection: apsw.Connection, version: int) -> None:
        """Keep nothing: what this process made is of this process's version."""

    def close(self) -> None:
        """Keep the pages for the other stores of the bank; they end with the storage."""


class ProcessStorage:
    """The Storage port over banks in this process.

    Args:
        name: What its location is called in reports.
    """

    def __init__(self, name: str = "") -> None:
        self._location = f"memory://{name}"
        self._banks: dict[Scope, BankPages] = {}
        self._lock = threading.Lock()

    def open(self, scope: Scope) -> Store:
        """Return the scope's store, made when it does not exist; every store of one scope sees the same bank."""
        return Store(SqliteDatabase(self._bank(scope), scope), scope)

    def scopes(self, tenant: str) -> Sequence[Scope]:
        """Return the scopes of one tenant that were opened here, by level and name."""
        with self._lock:
            found = [scope for scope in self._banks if scope.tenant == tenant]
        return sorted(found, key=lambda scope: (LEVELS.index(scope.level), scope.project))

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
        copies.verify(scope, source)
        bank = self._bank(scope)
        with bank.lock.held():
            connection = Opening(bank, scope).prepare_locked().connection
            try:
                with translated(source):
                    bank.lock.mark(copies.restore_pages(source, connection))
            finally:
                connection.close()

    def _bank(self, scope: Scope) -> BankPages:
        with self._lock:
            if scope not in self._banks:
                self._banks[scope] = BankPages(scope, self._location)
            return self._banks[scope]


_shared: dict[str, ProcessStorage] = {}
_shared_lock = threading.Lock()


def shared_storage(name: str) -> ProcessStorage:
    """Return the place behind ``memory://name``: one for the whole process, for everybody who asks by that name."""
    with _shared_lock:
        return _shared.setdefault(name, ProcessStorage(name))
