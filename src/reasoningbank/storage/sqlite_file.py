"""Banks as SQLite files: where they lie, what lies beside them, and their backups."""

from __future__ import annotations

import os
import re
import shutil
import uuid
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from glob import escape
from itertools import islice
from pathlib import Path
from typing import cast

import apsw

from reasoningbank.errors import BankError, ScopeViolation, StoreBusy, StoreCorrupt, StoreError, StoreUnavailable
from reasoningbank.storage.locks import BankLock
from reasoningbank.storage.scratch import COMPANIONS, Purpose, remove_abandoned, scratch_file, scratch_folder
from reasoningbank.storage.sidecars import SidecarFiles
from reasoningbank.storage.sqlite import SqliteDatabase, scope_of
from reasoningbank.storage.sqlite_connection import (
    BUSY_MILLISECONDS,
    CHECKSUM_VFS,
    RESERVED_BYTES,
    check_readable,
    checksum_vfs,
    identity_of,
    migrate,
    open_connection,
    page_checksums,
    translated,
    unavailable,
)
from reasoningbank.storage.sqlite_repair import renew_checksums
from reasoningbank.storage.store import Store
from reasoningbank.types.records import Salvage
from reasoningbank.types.scope import LEVELS, Scope, directory_name

SUFFIX = ".db"
FILE_SUFFIXES = frozenset({".db", ".sqlite", ".sqlite3"})
_FORMATS = slice(18, 20)
"""The bytes of a database that say how it is written and read: 2 for a write-ahead log, 1 for a rollback journal."""
_ROLLBACK = 1
_KEPT = re.compile(r"\.before-restore-\d{8}T\d{12}$")
_BEFORE_VERSION = re.compile(r"\.before-\d+$")
KEPT_RESTORES = 3
"""What so many restores have replaced is kept beside the bank."""


class BankFile:
    """The medium of a bank that lies on a disk. Its methods are described at ``Medium``.

    Args:
        path: The bank file.
        vfs: Another SQLite VFS, for tests that cut the power.
        backups: How the names of its automatic backups begin; None when it has none.
    """

    journal = "wal"

    def __init__(self, path: Path, *, vfs: str | None = None, backups: Path | None = None) -> None:
        self.path = path
        self._backups = backups
        self.location = str(path)
        self.lock = _lock_of(path)
        directory = path.with_name(path.name + ".vectors")
        self._sidecar_lock = BankLock(directory.with_name(directory.name + ".lock"))
        self.sidecars = SidecarFiles(directory, self._sidecar_lock)
        self._vfs = vfs
        self._name = str(path)
        self._log = f"{path}-wal"

    @property
    def identity(self) -> tuple[int, int] | None:
        return identity_of(self._name)

    @property
    def bytes(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    @property
    def log_bytes(self) -> int:
        try:
            return os.stat(self._log).st_size  # noqa: PTH116 - asked after every write
        except OSError:
            return 0

    @property
    def sizes(self) -> Mapping[str, int]:
        names = (self.path, self.path.with_name(self.path.name + "-wal"))
        sizes = {name.name: name.stat().st_size for name in names if name.exists()}
        sidecars = self.sidecars.bytes
        return sizes if sidecars is None else {**sizes, "sidecar": sidecars}

    @property
    def safety(self) -> str:
        return f"{'with' if page_checksums() else 'without'} page checksums"

    def connect(self) -> apsw.Connection:
        return open_connection(self.path, vfs=self._vfs)

    def settle(self) -> None:
        remove_abandoned(self.path.parent, f"{self.path.name}.")
        if self._vfs is None:
            _settle(self.path, self.lock)

    def backup(self, connection: apsw.Connection, target: Path) -> None:
        with translated(target):
            if target.exists() and target.samefile(self.path):
                raise StoreUnavailable(f"{target} is the bank itself", hint="Name another file for the backup.")
        copy(connection, target, vfs=connection.open_vfs)

    def keep_version(self, connection: apsw.Connection, version: int) -> None:
        self.backup(connection, self.path.with_name(f"{self.path.name}.before-{version + 1}"))

    @property
    def has_copies(self) -> bool:
        return bool(self._kept() or self._backup_files())

    def erase_in_copies(self, erasures: Sequence[tuple[str, str]]) -> None:
        from reasoningbank.storage.copies import SESSION_KINDS, erase_in

        with self._sidecar_lock.held():
            for path in self._kept():
                if _BEFORE_VERSION.search(path.name):
                    # It is of an earlier schema, in which nothing can be deleted any more.
                    path.unlink(missing_ok=True)
                else:
                    erase_in(path, erasures, opened_copy)
            # A backup brings back what was deleted by mistake; what a person has erased stays erased.
            if any(kind in SESSION_KINDS for kind, _ in erasures):
                for path in self._backup_files():
                    erase_in(path, erasures, opened_copy)

    def _kept(self) -> list[Path]:
        """Return the copies of the bank that nobody has asked for."""
        beside = self.path.parent.glob(f"{escape(self.path.name)}.before-*")
        return _files(path for path in beside if _KEPT.search(path.name) or _BEFORE_VERSION.search(path.name))

    def _backup_files(self) -> list[Path]:
        if self._backups is None:
            return []
        return _files(self._backups.parent.glob(f"{escape(self._backups.name)}.*{SUFFIX}"))

    def close(self) -> None:
        self.lock.close()
        self._sidecar_lock.close()


def _files(paths: Iterable[Path]) -> list[Path]:
    return sorted(path for path in paths if path.is_file() and not path.is_symlink())


class SqliteStorage:
    """The Storage port over files.

    A path that ends in ``.db``, ``.sqlite`` or ``.sqlite3`` is one bank file: the first project that opens it owns it,
    and every further project, every team and every org gets a file of its own beside it. Any other path is a directory
    with one folder per tenant and one file per project, team and org in it.

    Args:
        path: The file or directory; made when it does not exist, directories 0700 and files 0600.
        vfs: Another SQLite VFS for all files, for tests that cut the power.
        backups: The directory of automatic backups, with a folder per tenant; None when there are none.
    """

    def __init__(self, path: Path, *, vfs: str | None = None, backups: Path | None = None) -> None:
        self._backups = backups
        try:
            self._path = path.expanduser().absolute()
        except RuntimeError as error:
            raise StoreUnavailable(f"{path} names a home directory that does not exist") from error
        self._vfs = vfs
        self._owners: dict[Path, tuple[tuple[int, ...], Scope | None]] = {}
        self._single = self._path.suffix in FILE_SUFFIXES and not self._path.is_dir()

    def open(self, scope: Scope) -> Store:
        """Return the scope's store, made when it does not exist."""
        if self._single and scope.level != "project":
            return self._opened(self._place(scope), scope)
        try:
            return self._opened(self._place(scope), scope)
        except ScopeViolation:
            if not self._single:
                raise
            return self._opened(self._sibling(scope), scope)

    def backups_of(self, scope: Scope) -> Path | None:
        """Return how the names of a scope's automatic backups begin; None when there are none."""
        return None if self._backups is None else self._backups / directory_name(scope.tenant) / scope.file_name

    def _opened(self, file: Path, scope: Scope) -> Store:
        backups = self.backups_of(scope)
        if backups is not None:
            remove_abandoned(backups.parent, f"{backups.name}.")
        return Store(SqliteDatabase(BankFile(file, vfs=self._vfs, backups=backups), scope), scope)

    def scopes(self, tenant: str) -> Sequence[Scope]:
        """Return the scopes of one tenant that exist here, by level and name.

        Files that cannot be read are left out.
        """
        found = {owner for file in self._files(tenant) if (owner := _owner(file)) and owner.tenant == tenant}
        return sorted(found, key=lambda scope: (LEVELS.index(scope.level), scope.project))

    def marks(self, tenant: str) -> Mapping[Scope, Hashable]:
        """Return the same scopes, each with what its files look like from outside; opens a file only once."""
        found: dict[Scope, Hashable] = {}
        for file in self._files(tenant):
            mark = _mark(file)
            if mark is None:
                continue
            known = self._owners.get(file)
            # Whose bank a file is never changes; one that was none may have become one.
            if known is None or known[0][0] != mark[0] or (known[1] is None and known[0] != mark):
                known = self._owners[file] = (mark, _owner(file))
            if known[1] is not None and known[1].tenant == tenant:
                found[known[1]] = mark
        return found

    def latest(self, tenant: str, limit: int) -> tuple[Sequence[Scope], int]:
        """Return the projects whose banks were written last, the latest first, and how many there are in all.

        In a directory, a bank that cannot be read counts in all; only so many are opened as are returned.
        """
        named = [file for file in self._files(tenant) if self._single or _is_project(file)]
        written = {file: mark[1] for file in named if (mark := _mark(file)) is not None}
        owners = map(_owner, sorted(written, key=lambda file: (-written[file], file.name)))
        projects = (owner for owner in owners if owner and (owner.tenant, owner.level) == (tenant, "project"))
        if self._single:  # the name of a file says nothing there
            found = [*projects]
            return found[:limit], len(found)
        return list(islice(projects, limit)), len(written)

    def _files(self, tenant: str) -> list[Path]:
        """Return what may be a bank of the tenant."""
        if self._single:
            return [self._path, *self._path.parent.glob(f"{escape(self._path.stem)}--*{escape(self._path.suffix)}")]
        return list((self._path / directory_name(tenant)).glob(f"*{SUFFIX}"))

    def has(self, scope: Scope) -> bool:
        """Return whether the scope has a bank here; asking makes none.

        A file that is not a readable bank counts, so that opening it says what is wrong.

        Raises:
            StoreUnavailable: When the place cannot be looked at.
        """
        file = self._file(scope)
        try:
            if scope.level != "project" or not self._single:
                return file.is_file()
            owner = _owner(file)
            unreadable = owner is None and file.exists() and file.stat().st_size > 0
            return owner == scope or unreadable or self._sibling(scope).exists()
        except OSError as error:
            raise unavailable(file, error) from error

    def file_of(self, scope: Scope) -> Path:
        """Return the scope's bank file."""
        place = self._place(scope)
        if not self._single or scope.level != "project":
            return place
        owner, sibling = _owner(place), self._sibling(scope)
        mine = owner == scope or (owner is None and not sibling.exists())
        return place if mine else sibling

    def restore(self, scope: Scope, source: Path) -> None:
        """Replace the scope's bank by a backup of the same scope; the old one is kept beside it.

        Processes that have the bank open go on with the restored one.

        Raises:
            StoreUnavailable: When the backup does not exist.
            StoreCorrupt: When the backup is damaged; the bank stays as it is.
            StoreTooNew: When a newer version has written the backup.
            ScopeViolation: When the backup is of another scope.
        """
        target = self.file_of(scope)
        _make_private(target.parent, ours=not self._single)
        lock = _lock_of(target)
        try:
            with lock.held():
                lock.mark(restore(scope, source, target))
                _keep_newest(target)
        finally:
            lock.close()

    @contextmanager
    def salvaged(self, scope: Scope) -> Iterator[tuple[Store, Salvage, Path]]:
        """Give a new store of every whole row of a damaged one, which stays as it is.

        When the block ends without an error, the new store is a file beside the damaged one.

        Raises:
            StoreUnavailable: When there is no bank file.
            ScopeViolation: When it is the bank of another scope.
        """
        from reasoningbank.storage.sqlite_salvage import salvage

        source = self.file_of(scope)
        if not source.is_file():
            raise StoreUnavailable(f"there is no bank at {source}", hint="Restore a backup with `rbank restore`.")
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
        target = source.with_name(f"{source.name}.repaired-{stamp}")
        with translated(source), scratch_folder(source, "repairing") as folder:
            made = folder / f"bank{SUFFIX}"
            with closing(_lock_of(source)) as lock, lock.held():
                found = salvage(scope, source, made, change=lock.marked() or 0)
            with closing(SqliteStorage(made).open(scope)) as store:
                yield store, found, target
                store.backup(target)

    def _place(self, scope: Scope) -> Path:
        """Return where the scope's bank is made, in a directory that exists and is private."""
        file = self._file(scope)
        _make_private(file.parent, ours=not self._single)
        return file

    def _file(self, scope: Scope) -> Path:
        """Return where the scope's bank is made; the file that the user named is for projects alone."""
        if self._single:
            return self._path if scope.level == "project" else self._sibling(scope)
        return self._path / directory_name(scope.tenant) / f"{scope.file_name}{SUFFIX}"

    def _sibling(self, scope: Scope) -> Path:
        owner = f"{directory_name(scope.tenant)}--{scope.file_name}"
        return self._path.with_name(f"{self._path.stem}--{owner}{self._path.suffix}")


def opened_copy(source: Path, target: Path) -> Store | None:
    """Return a copy of a bank as a bank of its own at another place; None when it is not the copy of one."""
    with translated(source), closing(opened_for_reading(source)) as connection:
        copy(connection, target, vfs=checksum_vfs())
    scope = _owner(target)
    return None if scope is None else Store(SqliteDatabase(BankFile(target), scope), scope)


def _make_private(directory: Path, *, ours: bool = True) -> None:
    """Make the directory and, as far as they are ours, keep it and its parent to their owner."""
    try:
        made = [parent for parent in (directory, *directory.parents) if not parent.exists()]
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        for parent in made:
            parent.chmod(0o700)
            sync_directory(parent.parent)
        if ours and directory.stat().st_mode & 0o077:
            directory.chmod(0o700)
    except OSError as error:
        raise unavailable(directory, error) from error


def _is_project(file: Path) -> bool:
    """Return whether a file of a tenant's directory is, by its name, the bank of a project."""
    return not file.name.startswith(tuple(f"{level}--" for level in LEVELS))


def _mark(file: Path) -> tuple[int, ...] | None:
    """Return which file it is and when its log was last written; None when there is none.

    Every write goes into the log first. The file itself is written too when the log is carried over into it, which a
    reader does that closes it last, so its own time says nothing while there is a log.
    """
    try:
        own = file.stat()
    except OSError:
        return None
    try:
        log = file.with_name(f"{file.name}-wal").stat()
    except OSError:
        return own.st_ino, own.st_mtime_ns, own.st_size
    written = log if log.st_size else own
    return own.st_ino, written.st_mtime_ns, written.st_size


def _owner(file: Path) -> Scope | None:
    """Return whose bank a file is; None when it is not a readable bank."""
    if file.is_symlink() or not file.is_file() or not file.stat().st_size:
        return None
    try:
        with closing(_lock_of(file)) as lock:
            _settle(file, lock)
        with translated(file), closing(open_connection(file)) as connection:
            rows = connection.execute(
                "SELECT name, value FROM meta WHERE name IN ('tenant', 'project', 'level')"
            ).fetchall()
            return scope_of({str(name): str(value) for name, value in rows})
    except BankError:
        return None


def _lock_of(file: Path) -> BankLock:
    return BankLock(file.with_name(f"{file.name}.lock"))


def _settle(file: Path, lock: BankLock) -> None:
    """Renew the page checksums of a bank that another program was the last to close.

    SQLite empties the write-ahead log into the file then and removes it, and a program that knows nothing of page
    checksums writes pages without them. We never remove the log.
    """
    log = f"{file}-wal"
    if not os.path.exists(log) and lock.marked():  # noqa: PTH110 - asked at every opening
        with lock.held(), translated(file):
            if not os.path.exists(log):  # noqa: PTH110
                renew_checksums(file)


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
    remove_abandoned(target.parent, f"{target.name}.")
    with _beside(target, "partial") as partial:
        with closing(_empty_copy(partial, vfs)) as copied:
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
        with (
            closing(opened_for_reading(source)) as backup,
            closing(_empty_copy(prepared, checksum_vfs())) as copied,
        ):
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
    with closing(opened_for_reading(source)) as backup:
        content = bytearray(backup.serialize("main"))
    content[_FORMATS] = bytes((_ROLLBACK, _ROLLBACK))
    with closing(apsw.Connection(":memory:")) as prepared:
        prepared.deserialize("main", bytes(content))
        renewed = _renew(prepared, change)
        _pour(prepared, bank)
    return renewed


def sync_directory(directory: Path) -> None:
    """Force a directory's entries to the disk, so that a new or renamed file survives a power cut."""
    directories = getattr(os, "O_DIRECTORY", 0)
    if not directories:  # Windows opens none
        return
    descriptor = os.open(directory, os.O_RDONLY | directories)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _beside(target: Path, purpose: Purpose) -> Iterator[Path]:
    """Give a new, private file beside the target, which is gone after the block unless it was renamed."""
    with translated(target), scratch_file(target, purpose) as path:
        yield path


def opened_for_reading(path: Path) -> apsw.Connection:
    """Open a bank file that nothing is written to."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY, vfs=checksum_vfs())
    connection.set_busy_timeout(BUSY_MILLISECONDS)
    return connection


def verify(scope: Scope, source: Path) -> None:
    """Read the whole backup and say whose it is.

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
    with closing(opened_for_reading(source)) as backup:
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


def _empty_copy(path: Path, vfs: str | None) -> apsw.Connection:
    """Open a new file whose every page gets its checksum.

    The VFS learns from the first page that a file has checksums. A copy larger than the page cache writes others
    before it, and those of pages that come out of a log would stay as they were.
    """
    connection = apsw.Connection(str(path), vfs=vfs)
    try:
        if vfs == CHECKSUM_VFS:
            connection.reserve_bytes("main", RESERVED_BYTES)
            connection.pragma("user_version", 1)
    except BaseException:
        connection.close()
        raise
    return connection


def _pour(source: apsw.Connection, target: apsw.Connection) -> None:
    """Copy all pages as one transaction of the target."""
    with target.backup("main", source, "main") as backup:
        while not backup.done:
            backup.step()


def _is_whole(target: Path) -> bool:
    try:
        with translated(target), closing(opened_for_reading(target)) as bank:
            return [row[0] for row in bank.execute("PRAGMA integrity_check")] == ["ok"]
    except StoreBusy:
        raise
    except StoreError:
        # Whatever a damaged file makes the engine say: it is replaced as a whole.
        return False


def _kept_name(target: Path) -> Path:
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
    return target.with_name(f"{target.name}.before-restore-{stamp}")


def _keep_newest(target: Path) -> None:
    """Remove what earlier restores have kept, but for the newest."""
    kept = sorted(
        path for path in target.parent.glob(f"{escape(target.name)}.before-restore-*") if _KEPT.search(path.name)
    )
    for path in kept[:-KEPT_RESTORES]:
        for suffix in COMPANIONS:
            path.with_name(path.name + suffix).unlink(missing_ok=True)


def _pour_over(prepared: Path, target: Path, kept: Path) -> int:
    """Keep a copy of the living bank, then replace its content in one transaction."""
    with closing(open_connection(target)) as bank:
        copy(bank, kept, vfs=bank.open_vfs)
        renewed = _renewed_file(prepared, _latest_change(bank))
        with closing(opened_for_reading(prepared)) as content:
            _pour(content, bank)
        bank.pragma("journal_mode", "wal")
        bank.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
    return renewed


def _replace(prepared: Path, target: Path, kept: Path) -> int:
    """Put a new file in the place of one that is missing or too damaged, which is kept as it lies."""
    renewed = _renewed_file(prepared, 0)
    log = target.with_name(target.name + "-wal")
    if target.exists() and (target.stat().st_size or log.exists()):
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
