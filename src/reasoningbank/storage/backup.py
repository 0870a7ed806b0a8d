"""Backups: complete copies of a bank file, and a bank's content replaced by that of a backup."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import apsw

from reasoningbank.errors import ScopeViolation, StoreCorrupt, StoreUnavailable
from reasoningbank.storage.connection import BUSY_MILLISECONDS, checksum_vfs, open_connection
from reasoningbank.storage.failures import translated
from reasoningbank.storage.schema import check_readable, migrate
from reasoningbank.types.scope import Scope

_FORMATS = slice(18, 20)
"""The bytes of a database that say how it is written and read: 2 for a write-ahead log, 1 for a rollback journal."""
_ROLLBACK = 1


def copy(connection: apsw.Connection, target: Path, *, vfs: str | None) -> None:
    """Write a consistent copy through SQLite's backup interface, force it to the disk and rename it into place.

    Args:
        connection: What is copied.
        target: The file to write.
        vfs: The SQLite VFS to write it through.

    Raises:
        StoreUnavailable: When the target's directory does not exist or cannot be written.
    """
    with translated(target):
        if not target.parent.is_dir():
            raise StoreUnavailable(
                f"the directory {target.parent} does not exist", hint="Create it, then back up again."
            )
    with _beside(target, "partial") as partial:
        with closing(apsw.Connection(str(partial), vfs=vfs)) as copied:
            _pour(connection, copied)
            copied.pragma("journal_mode", "delete")
        partial.replace(target)
        sync_directory(target.parent)


def restore(scope: Scope, source: Path, target: Path) -> int:
    """Give the bank at the target the content of a backup; called under the bank's lock.

    Returns:
        The number of the bank's latest change.

    The content is replaced in one transaction, so that every process that has the bank open goes on with the restored
    one. A bank that is too damaged for that is renamed aside and replaced by a new file.

    Raises:
        StoreUnavailable: When there is no backup.
        StoreCorrupt: When the backup is damaged; the bank stays as it is.
        StoreTooNew: When a newer version has written the backup.
        ScopeViolation: When it is a backup of another scope.
    """
    verify(scope, source)
    kept = _kept_name(target)
    with translated(target), _beside(target, "restoring") as prepared:
        with closing(_reading(source)) as backup, closing(apsw.Connection(str(prepared), vfs=checksum_vfs())) as copied:
            _pour(backup, copied)
            copied.pragma("journal_mode", "delete")
        if target.exists() and target.stat().st_size and _is_whole(target):
            change = _pour_over(prepared, target, kept)
        else:
            change = _replace(prepared, target, kept)
    shutil.rmtree(target.with_name(target.name + ".vectors"), ignore_errors=True)
    return change


def restore_pages(source: Path, bank: apsw.Connection) -> int:
    """Give a bank without a file the content of a backup that was verified; called under the bank's lock.

    Returns:
        The number of the bank's latest change.
    """
    change = _latest_change(bank)
    with closing(_reading(source)) as backup:
        content = bytearray(backup.serialize("main"))
    content[_FORMATS] = bytes((_ROLLBACK, _ROLLBACK))
    with closing(apsw.Connection(":memory:")) as prepared:
        prepared.deserialize("main", bytes(content))
        renewed = _renew(prepared, change)
        _pour(prepared, bank)
    return renewed


def sync_directory(directory: Path) -> None:
    """Force a directory's entries to the disk, so that a new or renamed file survives a power cut."""
    if os.name != "posix":
        return
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _beside(target: Path, purpose: str) -> Iterator[Path]:
    """Give a new, private file beside the target, which is gone after the block unless it was renamed."""
    path = target.with_name(f"{target.name}.{uuid.uuid4().hex[:12]}.{purpose}")
    with translated(target):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        try:
            yield path
        finally:
            for suffix in ("", "-journal", "-wal", "-shm"):
                path.with_name(path.name + suffix).unlink(missing_ok=True)


def _reading(path: Path) -> apsw.Connection:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY, vfs=checksum_vfs())
    connection.set_busy_timeout(BUSY_MILLISECONDS)
    return connection


def verify(scope: Scope, source: Path) -> None:
    """Read the whole backup and says whose it is.

    Raises:
        StoreUnavailable: When there is no backup.
        StoreCorrupt: When it is damaged.
        StoreTooNew: When a newer version has written it.
        ScopeViolation: When it is a backup of another scope.
    """
    with translated(source):
        if not source.is_file():
            raise StoreUnavailable(f"there is no backup at {source}", hint="Pass the path that `rbank backup` printed.")
        _verify(scope, source)


def _verify(scope: Scope, source: Path) -> None:
    with closing(_reading(source)) as backup:
        check_readable(backup, source.name)
        state = [row[0] for row in backup.execute("PRAGMA integrity_check")]
        if state != ["ok"]:
            raise StoreCorrupt(f"{source.name} is damaged: {state[0]}")
        rows = backup.execute("SELECT name, value FROM meta").fetchall()
    meta = {str(name): str(value) for name, value in rows}
    if (meta.get("tenant"), meta.get("project"), meta.get("level", "project")) != (
        scope.tenant,
        scope.project,
        scope.level,
    ):
        raise ScopeViolation(f"{source.name} is a backup of another tenant or project")


def _pour(source: apsw.Connection, target: apsw.Connection) -> None:
    """Copy all pages as one transaction of the target."""
    with target.backup("main", source, "main") as backup:
        while not backup.done:
            backup.step()


def _is_whole(target: Path) -> bool:
    try:
        with translated(target), closing(_reading(target)) as bank:
            return [row[0] for row in bank.execute("PRAGMA integrity_check")] == ["ok"]
    except (StoreCorrupt, StoreUnavailable):
        return False


def _kept_name(target: Path) -> Path:
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
    return target.with_name(f"{target.name}.before-restore-{stamp}")


def _pour_over(prepared: Path, target: Path, kept: Path) -> int:
    """Keep a copy of the living bank, then replaces its content in one transaction."""
    with closing(open_connection(target)) as bank:
        copy(bank, kept, vfs=bank.open_vfs)
        renewed = _renewed_file(prepared, _latest_change(bank))
        with closing(_reading(prepared)) as content:
            _pour(content, bank)
        bank.pragma("journal_mode", "wal")
        bank.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
    return renewed


def _replace(prepared: Path, target: Path, kept: Path) -> int:
    """Put a new file in the place of one that is missing or too damaged, which is kept as it lies."""
    renewed = _renewed_file(prepared, 0)
    if target.exists() and target.stat().st_size:
        log = target.with_name(target.name + "-wal")
        if log.exists():
            log.rename(kept.with_name(kept.name + "-wal"))
        os.link(target, kept)
    for suffix in ("-wal", "-shm"):
        target.with_name(target.name + suffix).unlink(missing_ok=True)
    prepared.replace(target)
    sync_directory(target.parent)
    with closing(open_connection(target)) as bank:
        bank.pragma("journal_mode", "wal")
    return renewed


def _renewed_file(prepared: Path, change: int) -> int:
    with closing(apsw.Connection(str(prepared), vfs=checksum_vfs())) as content:
        return _renew(content, change)


def _renew(content: apsw.Connection, change: int) -> int:
    """Make the restored content a bank of its own, so that nothing derived from the old one is taken for its own.

    Returns:
        The number of its latest change, which is greater than the given one.
    """
    migrate(content)
    with content:
        content.execute("UPDATE meta SET value = ? WHERE name = 'bank'", (str(uuid.uuid4()),))
        content.execute("DELETE FROM meta WHERE name LIKE 'sidecar %'")
        content.execute(
            "UPDATE floors SET value = max((SELECT value FROM counters WHERE name = 'change'), ?) + 1 "
            "WHERE name = 'change'",
            (change,),
        )
    return _latest_change(content)


def _latest_change(bank: apsw.Connection) -> int:
    return cast(int, bank.execute("SELECT value FROM counters WHERE name = 'change'").get)
