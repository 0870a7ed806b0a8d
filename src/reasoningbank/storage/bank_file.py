"""Opening one bank: made, migrated and recognised under the lock, so that many processes may come at once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol, cast

import apsw

from reasoningbank.errors import ScopeViolation, StoreCorrupt
from reasoningbank.storage.connection import ConnectionSource
from reasoningbank.storage.failures import decoding, translated
from reasoningbank.storage.locks import WriteLock
from reasoningbank.storage.schema import MIGRATIONS, check_readable, migrate
from reasoningbank.storage.sidecars import Sidecars
from reasoningbank.storage.unit import ERASURE
from reasoningbank.storage.vocabulary import prepare_vocabulary
from reasoningbank.types.scope import LEVELS, Scope


class Medium(Protocol):
    """Where one bank lies: everything that a file and the memory of a process do differently."""

    @property
    def path(self) -> Path:
        """The bank file, or what stands for it in messages."""

    @property
    def location(self) -> str:
        """What reports call the place."""

    @property
    def safety(self) -> str:
        """What reports say of how its pages are kept."""

    @property
    def journal(self) -> str:
        """SQLite's journal mode."""

    @property
    def lock(self) -> WriteLock:
        """Held by whoever writes."""

    @property
    def sidecars(self) -> Sidecars:
        """What is derived from the bank's vectors."""

    @property
    def identity(self) -> tuple[int, int] | None:
        """Which database lies here now; None when there is none."""

    @property
    def bytes(self) -> int:
        """Size of the database; 0 when there is none."""

    @property
    def log_bytes(self) -> int:
        """Size of the write-ahead log."""

    @property
    def sizes(self) -> Mapping[str, int]:
        """Bytes of every part, by its name."""

    def connect(self) -> apsw.Connection:
        """Open a connection; the database is made, without a schema, when there is none."""

    def backup(self, connection: apsw.Connection, target: Path) -> None:
        """Write a complete copy to a file, which replaces what was there; raise StoreUnavailable, StoreFull."""

    def keep_version(self, connection: apsw.Connection, version: int) -> None:
        """Keep a copy of a bank of this version, which is about to be migrated."""

    def close(self) -> None:
        """Give back what this store alone has of it."""


class Opening:
    """Connections to one scope's bank.

    Args:
        medium: Where it lies.
        scope: Whose bank it is; that of another scope is refused.

    Attributes:
        model_id: The vector space as the last connection found it; None when there was none.
        unerased: Whether it found that deleted memories may have left traces.
    """

    def __init__(self, medium: Medium, scope: Scope) -> None:
        self._medium = medium
        self._scope = scope
        self.model_id: str | None = None
        self.unerased = False

    def prepare(self) -> ConnectionSource:
        """Return a connection to a whole, current bank of the scope.

        The file is made or migrated when that is needed.
        """
        with translated(self._medium.path):
            if self._medium.bytes:
                source = self._connected()
                if self._is_current(source):
                    return source
                source.connection.close()
        with self._medium.lock.held():
            return self.prepare_locked()

    def prepare_locked(self) -> ConnectionSource:
        """Return the same for a caller that holds the lock."""
        with translated(self._medium.path):
            medium = self._medium
            if medium.identity is not None and not medium.bytes and medium.lock.marked() is not None:
                raise StoreCorrupt(f"{medium.path.name} was emptied by something else", hint=_EMPTIED)
            source = self._connected()
            try:
                self._migrate(source)
            except BaseException:
                source.connection.close()
                raise
            if not self._medium.lock.marked():
                self._medium.lock.mark(_change(source))
            return source

    def connect(self) -> ConnectionSource:
        """Return a further connection to the bank as it lies there now.

        Raises:
            ScopeViolation: When the file belongs to another scope.
            StoreCorrupt: When it is not a bank any more.
        """
        with translated(self._medium.path):
            source = self._connected()
            if not self._is_current(source):
                source.connection.close()
                raise StoreCorrupt(f"{self._medium.path.name} is not a whole bank of this version any more")
            return source

    def _connected(self) -> ConnectionSource:
        path = self._medium.path
        connection = self._medium.connect()
        try:
            if check_readable(connection, path.name):
                prepare_vocabulary(connection)
            return ConnectionSource(path, self._scope.project, connection, self._medium.identity)
        except BaseException:
            connection.close()
            raise

    def _is_current(self, source: ConnectionSource) -> bool:
        """Return whether it has every migration and an owner, which must be the scope."""
        try:
            if int(str(source.connection.pragma("user_version"))) < len(MIGRATIONS):
                return False
            acknowledged = self._medium.lock.marked() or 0
            with decoding("the bank"):
                facts = dict(cast("list[tuple[str, str]]", source.run(_FACTS_SQL)))
                change, self.model_id = int(facts.pop("change")), facts.pop("model_id", None)
                self.unerased = facts.pop(ERASURE, None) is not None
            owner = facts
            if not owner:
                return False
            if owner != _owner(self._scope):
                raise ScopeViolation(f"{self._medium.path.name} belongs to another tenant or project")
            if change < acknowledged:
                raise StoreCorrupt(
                    f"{self._medium.path.name} has lost its last {acknowledged - change} acknowledged changes",
                    hint=_LOST_FILE,
                )
        except BaseException:
            source.connection.close()
            raise
        return True

    def _migrate(self, source: ConnectionSource) -> None:
        version = int(str(source.connection.pragma("user_version")))
        if 0 < version < len(MIGRATIONS):
            self._medium.keep_version(source.connection, version)
        source.connection.pragma("journal_mode", self._medium.journal)
        migrate(source.connection)
        if not self._is_current(source):
            with source.connection:
                for name, value in _owner(self._scope).items():
                    source.run("INSERT INTO meta VALUES (?, ?)", (name, value))
        prepare_vocabulary(source.connection)


def scope_of(meta: Mapping[str, str]) -> Scope | None:
    """Return the scope that a bank's own records name; None when they name none."""
    level = next((known for known in LEVELS if known == meta.get("level", "project")), None)
    if level is None or not {"tenant", "project"} <= meta.keys():
        return None
    return Scope(tenant=meta["tenant"], project=meta["project"], level=level)


def _owner(scope: Scope) -> dict[str, str]:
    """Return what a bank's own records say of its scope: a project's do not say that it is one."""
    owner = {"tenant": scope.tenant, "project": scope.project}
    return owner if scope.level == "project" else owner | {"level": scope.level}


def _change(source: ConnectionSource) -> int:
    with decoding("the bank"):
        return int(cast(int, source.run("SELECT value FROM counters WHERE name = 'change'")[0][0]))


_FACTS_SQL = (
    f"SELECT name, value FROM meta WHERE name IN ('tenant', 'project', 'level', 'model_id', '{ERASURE}') "  # noqa: S608
    "UNION ALL SELECT name, value FROM counters WHERE name = 'change'"
)
"""Whose bank it is and how far it has come."""
_LOST_FILE = (
    "Its write-ahead log was damaged, or an old copy was put in its place. Restore a backup with `rbank restore`; "
    "to go on with what is left, remove its .lock file."
)
_EMPTIED = "Restore a backup with `rbank restore`; to start an empty bank, remove the file and its .lock file."
