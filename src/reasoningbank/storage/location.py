"""Where banks live: one file per scope under a directory, or one file that the user named."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from glob import escape
from pathlib import Path

from reasoningbank.errors import BankError, ScopeViolation, StoreUnavailable
from reasoningbank.storage import backup as copies
from reasoningbank.storage.bank_file import scope_of
from reasoningbank.storage.connection import open_connection
from reasoningbank.storage.failures import translated, unavailable
from reasoningbank.storage.file import BankFile
from reasoningbank.storage.locks import BankLock
from reasoningbank.storage.sqlite import SqliteDatabase
from reasoningbank.storage.store import Store
from reasoningbank.types.scope import LEVELS, Scope, directory_name

SUFFIX = ".db"
FILE_SUFFIXES = frozenset({".db", ".sqlite", ".sqlite3"})


class SqliteStorage:
    """The Storage port over files.

    A path that ends in ``.db``, ``.sqlite`` or ``.sqlite3`` is one bank file: the first project that opens it owns it,
    and every further project, every team and every org gets a file of its own beside it. Any other path is a directory
    with one folder per tenant and one file per project, team and org in it.

    Args:
        path: The file or directory; made when it does not exist, directories 0700 and files 0600.
        vfs: Another SQLite VFS for all files, for tests that cut the power.
    """

    def __init__(self, path: Path, *, vfs: str | None = None) -> None:
        try:
            self._path = path.expanduser().absolute()
        except RuntimeError as error:
            raise StoreUnavailable(f"{path} names a home directory that does not exist") from error
        self._vfs = vfs
        self._single = self._path.suffix in FILE_SUFFIXES and not self._path.is_dir()

    def open(self, scope: Scope) -> Store:
        """Return the scope's store, made when it does not exist."""
        if self._single and scope.level != "project":
            return Store(SqliteDatabase(BankFile(self._place(scope), vfs=self._vfs), scope), scope)
        try:
            return Store(SqliteDatabase(BankFile(self._place(scope), vfs=self._vfs), scope), scope)
        except ScopeViolation:
            if not self._single:
                raise
            return Store(SqliteDatabase(BankFile(self._sibling(scope), vfs=self._vfs), scope), scope)

    def scopes(self, tenant: str) -> Sequence[Scope]:
        """Return the scopes of one tenant that exist here, by level and name.

        Files that cannot be read are left out.
        """
        if self._single:
            files = [self._path, *self._path.parent.glob(f"{escape(self._path.stem)}--*{escape(self._path.suffix)}")]
        else:
            files = list((self._path / directory_name(tenant)).glob(f"*{SUFFIX}"))
        found = {owner for file in files if (owner := _owner(file)) and owner.tenant == tenant}
        return sorted(found, key=lambda scope: (LEVELS.index(scope.level), scope.project))

    def has(self, scope: Scope) -> bool:
        """Return whether the scope has a bank here; asking makes none."""
        if scope.level == "project" and self._single:
            return scope in {_owner(self._path), _owner(self._sibling(scope))}
        return self._file(scope).is_file()

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
        lock = BankLock(target.with_name(target.name + ".lock"))
        try:
            with lock.held():
                lock.mark(copies.restore(scope, source, target))
        finally:
            lock.close()

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


def _make_private(directory: Path, *, ours: bool = True) -> None:
    """Make the directory and, as far as they are ours, keep it and its parent to their owner."""
    try:
        made = [parent for parent in (directory, *directory.parents) if not parent.exists()]
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        for parent in made:
            parent.chmod(0o700)
            copies.sync_directory(parent.parent)
        if ours and directory.stat().st_mode & 0o077:
            directory.chmod(0o700)
    except OSError as error:
        raise unavailable(directory, error) from error


def _owner(file: Path) -> Scope | None:
    """Return whose bank a file is; None when it is not a readable bank."""
    if file.is_symlink() or not file.is_file() or not file.stat().st_size:
        return None
    try:
        with translated(file), closing(open_connection(file)) as connection:
            rows = connection.execute(
                "SELECT name, value FROM meta WHERE name IN ('tenant', 'project', 'level')"
            ).fetchall()
            return scope_of({str(name): str(value) for name, value in rows})
    except BankError:
        return None
