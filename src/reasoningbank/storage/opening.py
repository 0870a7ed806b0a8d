"""Opening one bank file: made, migrated and recognised under the lock, so that many processes may come at once."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from reasoningbank.domain.scope import LEVELS, Scope
from reasoningbank.errors import ScopeViolation, StoreCorrupt
from reasoningbank.storage import lexical
from reasoningbank.storage.connection import ConnectionSource, identity_of, open_connection
from reasoningbank.storage.copies import copy
from reasoningbank.storage.failures import decoding, translated
from reasoningbank.storage.locking import BankLock
from reasoningbank.storage.schema import MIGRATIONS, check_readable, migrate


class BankFile:
    """One bank's place on the disk: the file, its lock and the directory of what is derived from it.

    Args:
        path: The bank file.
        scope: Whose bank it is; a file of another scope is refused.
        vfs: Another SQLite VFS, for tests that cut the power.
    """

    def __init__(self, path: Path, scope: Scope, *, vfs: str | None = None) -> None:
        self.path = path
        self.scope = scope
        self.sidecars = path.with_name(path.name + ".vectors")
        self.lock = BankLock(path.with_name(path.name + ".lock"))
        self.sidecar_lock = BankLock(self.sidecars.with_name(self.sidecars.name + ".lock"))
        self._vfs = vfs
        self._name = str(path)
        self._log = f"{path}-wal"

    @property
    def identity(self) -> tuple[int, int] | None:
        """Which file lies at the path now; None when there is none."""
        return identity_of(self._name)

    @property
    def bytes(self) -> int:
        """Size of the bank file."""
        return self._size()

    @property
    def log_bytes(self) -> int:
        """Size of the write-ahead log."""
        try:
            return os.stat(self._log).st_size  # noqa: PTH116 - asked after every write
        except OSError:
            return 0

    def prepare(self) -> ConnectionSource:
        """A connection to a whole, current bank of the scope; the file is made or migrated when that is needed."""
        with translated(self.path):
            if self._size():
                source = self._connected()
                if self._is_current(source):
                    return source
                source.connection.close()
        with self.lock.held():
            return self.prepare_locked()

    def prepare_locked(self) -> ConnectionSource:
        """The same for a caller that holds the lock."""
        with translated(self.path):
            if self.path.exists() and not self._size() and self.lock.marked() is not None:
                raise StoreCorrupt(f"{self.path.name} was emptied by something else", hint=_EMPTIED)
            source = self._connected()
            try:
                self._migrate(source)
            except BaseException:
                source.connection.close()
                raise
            if not self.lock.marked():
                self.lock.mark(_change(source))
            return source

    def connect(self) -> ConnectionSource:
        """A further connection to the bank as it lies there now.

        Raises:
            ScopeViolation: When the file belongs to another scope.
            StoreCorrupt: When it is not a bank any more.
        """
        with translated(self.path):
            source = self._connected()
            if not self._is_current(source):
                source.connection.close()
                raise StoreCorrupt(f"{self.path.name} is not a whole bank of this version any more")
            return source

    def close(self) -> None:
        """Closes the lock files."""
        self.lock.close()
        self.sidecar_lock.close()

    def _size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    def _connected(self) -> ConnectionSource:
        connection = open_connection(self.path, vfs=self._vfs)
        try:
            if check_readable(connection, self.path.name):
                lexical.prepare_vocabulary(connection)
            return ConnectionSource(self.path, self.scope.project, connection)
        except BaseException:
            connection.close()
            raise

    def _is_current(self, source: ConnectionSource) -> bool:
        """Whether it has every migration and an owner, which must be the scope."""
        try:
            if int(str(source.connection.pragma("user_version"))) < len(MIGRATIONS):
                return False
            acknowledged = self.lock.marked() or 0
            rows = source.run("SELECT name, value FROM meta WHERE name IN ('tenant', 'project', 'level')")
            owner = {cast(str, name): cast(str, value) for name, value in rows}
            if not owner:
                return False
            if owner != _owner(self.scope):
                raise ScopeViolation(f"{self.path.name} belongs to another tenant or project")
            if (change := _change(source)) < acknowledged:
                raise StoreCorrupt(
                    f"{self.path.name} has lost its last {acknowledged - change} acknowledged changes", hint=_LOST
                )
        except BaseException:
            source.connection.close()
            raise
        return True

    def _migrate(self, source: ConnectionSource) -> None:
        version = int(str(source.connection.pragma("user_version")))
        if 0 < version < len(MIGRATIONS):
            copy(source.connection, self.path.with_name(f"{self.path.name}.before-{version + 1}"))
        source.connection.pragma("journal_mode", "wal")
        migrate(source.connection)
        if not self._is_current(source):
            with source.connection:
                for name, value in _owner(self.scope).items():
                    source.run("INSERT INTO meta VALUES (?, ?)", (name, value))
        lexical.prepare_vocabulary(source.connection)


def scope_of(meta: Mapping[str, str]) -> Scope | None:
    """The scope that a bank's own records name; None when they name none."""
    level = next((known for known in LEVELS if known == meta.get("level", "project")), None)
    if level is None or not {"tenant", "project"} <= meta.keys():
        return None
    return Scope(tenant=meta["tenant"], project=meta["project"], level=level)


def _owner(scope: Scope) -> dict[str, str]:
    """What a bank's own records say of its scope: a project's do not say that it is one."""
    owner = {"tenant": scope.tenant, "project": scope.project}
    return owner if scope.level == "project" else owner | {"level": scope.level}


def _change(source: ConnectionSource) -> int:
    with decoding("the bank"):
        return int(cast(int, source.run("SELECT value FROM counters WHERE name = 'change'")[0][0]))


_LOST = (
    "Its write-ahead log was damaged, or an old copy was put in its place. Restore a backup with `rbank restore`; "
    "to go on with what is left, remove its .lock file."
)
_EMPTIED = "Restore a backup with `rbank restore`; to start an empty bank, remove the file and its .lock file."
