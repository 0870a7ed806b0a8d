"""One bank's file, and what lies beside it: its lock files, its write-ahead log and its sidecars."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import apsw

from reasoningbank.errors import StoreUnavailable
from reasoningbank.storage.backup import copy
from reasoningbank.storage.connection import identity_of, open_connection, page_checksums
from reasoningbank.storage.failures import translated
from reasoningbank.storage.locks import BankLock
from reasoningbank.storage.sidecars import SidecarFiles


class BankFile:
    """The medium of a bank that lies on a disk. Its methods are described at ``Medium``.

    Args:
        path: The bank file.
        vfs: Another SQLite VFS, for tests that cut the power.
    """

    journal = "wal"

    def __init__(self, path: Path, *, vfs: str | None = None) -> None:
        self.path = path
        self.location = str(path)
        self.lock = BankLock(path.with_name(path.name + ".lock"))
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

    def backup(self, connection: apsw.Connection, target: Path) -> None:
        with translated(target):
            if target.exists() and target.samefile(self.path):
                raise StoreUnavailable(f"{target} is the bank itself", hint="Name another file for the backup.")
        copy(connection, target, vfs=connection.open_vfs)

    def keep_version(self, connection: apsw.Connection, version: int) -> None:
        self.backup(connection, self.path.with_name(f"{self.path.name}.before-{version + 1}"))

    def close(self) -> None:
        self.lock.close()
        self._sidecar_lock.close()
