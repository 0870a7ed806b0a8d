"""A file system whose disk is full when it is told so, or at random writes."""

from __future__ import annotations

import random

import apsw

NAME = "failing"


class Disk:
    """How full the disk is: ``share`` of all writes that would need space fail, 0 for none and 1 for all."""

    def __init__(self, seed: int = 0) -> None:
        self.share = 0.0
        self.refused = 0
        self._chance = random.Random(seed)

    def take(self) -> None:
        """Refuses a write when the disk is full."""
        if self._chance.random() < self.share:
            self.refused += 1
            raise apsw.FullError("the disk is full")


class FailingFile(apsw.VFSFile):
    """A file on such a disk."""

    def __init__(self, disk: Disk, inherit: str, filename: apsw.URIFilename | str, flags: list[int]) -> None:
        self._disk = disk
        super().__init__(inherit, filename, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - SQLite's name
        self._disk.take()
        super().xWrite(data, offset)


class FailingSystem(apsw.VFS):
    """The platform's file system on such a disk."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._base = apsw.vfs_names()[0]
        super().__init__(NAME, self._base)

    def xOpen(self, name: apsw.URIFilename | str | None, flags: list[int]) -> FailingFile:  # noqa: N802
        return FailingFile(self._disk, self._base, name or "", flags)
