"""A lock that a file stands for: one process, and one object in it, has it at a time. Light.

On Linux and macOS it is ``flock``, whose queue the kernel keeps; on Windows ``msvcrt.locking`` of one byte, which is
asked for again and again. The system lets go of both when a process dies. Where Python has neither, a second file that
only one can make stands for the lock; it names its process, and whoever finds that process gone takes it over.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from reasoningbank.system import open_private

MARKER = ".held"
"""The ending that the name of the second file adds to that of the first."""
_POLL_SECONDS = 0.005

try:
    import fcntl
except ImportError:
    _FLOCK = False
else:
    _FLOCK = sys.platform != "win32"


class LockFile(Protocol):
    """An open file that can be locked, with a note in it that everybody can read."""

    descriptor: int

    def try_lock(self) -> bool:
        """Take the lock when it is free; return whether it was."""

    def lock(self) -> None:
        """Wait for the lock, however long that takes."""

    def unlock(self) -> None:
        """Let go of the lock."""

    def close(self) -> None:
        """Close the file, and let go of the lock when it is held."""

    def read_note(self, size: int) -> bytes:
        """Return the first bytes of the file."""

    def write_note(self, note: bytes) -> None:
        """Write the first bytes of the file."""


def open_lock(path: Path) -> LockFile:
    """Open a file, made when it is missing, as a lock that nobody has by that.

    Raises:
        OSError: When it cannot be opened.
    """
    if sys.platform == "win32":
        return _ByteLock(path)
    else:  # noqa: RET505 - the type checker reads one branch a system
        return _QueuedLock(path) if _FLOCK else _MarkedLock(path)


def passing_lock(path: Path) -> LockFile | None:
    """Return the lock of a file that goes with its holder, held; None when another has it.

    Raises:
        OSError: When it cannot be opened.
    """
    while True:
        lock = open_lock(path)
        if not lock.try_lock():
            lock.close()
            return None
        # Whoever waited for a holder that has removed the file has locked a file that nobody else sees.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(lock.descriptor), path.stat()):
                return lock
        lock.close()


def remove_lock(path: Path, lock: LockFile) -> None:
    """Remove the file of a lock that is held, and let go of it."""
    if sys.platform == "win32":  # where an open file cannot be removed
        lock.close()
        with suppress(OSError):
            path.unlink()
    else:
        with suppress(OSError):
            path.unlink()
        lock.close()


def is_handed_on() -> bool:
    """Return whether a child that inherits the descriptor of a lock has the lock, too."""
    return _FLOCK


class _MarkedLock:
    def __init__(self, path: Path) -> None:
        from filelock import SoftFileLock

        self._path = path
        self._marker = SoftFileLock(path.with_name(path.name + MARKER), thread_local=False)
        self.descriptor = _opened(path)

    def try_lock(self) -> bool:
        from filelock import Timeout

        try:
            self._marker.acquire(timeout=0)
        except Timeout:
            return False
        return True

    def lock(self) -> None:
        self._marker.acquire(poll_interval=_POLL_SECONDS)

    def unlock(self) -> None:
        self._marker.release()

    def close(self) -> None:
        self._marker.release()
        os.close(self.descriptor)

    def read_note(self, size: int) -> bytes:
        return _read(self._path, size)

    def write_note(self, note: bytes) -> None:
        _write(self._path, note)


if sys.platform == "win32":
    import msvcrt

    _FAR = 1 << 30
    """The byte that is locked lies behind all that is written: what is locked on Windows nobody else can read."""

    class _ByteLock:
        def __init__(self, path: Path) -> None:
            self._path = path
            self.descriptor = _opened(path)

        def try_lock(self) -> bool:
            os.lseek(self.descriptor, _FAR, os.SEEK_SET)
            try:
                msvcrt.locking(self.descriptor, msvcrt.LK_NBLCK, 1)
            except PermissionError:
                return False
            return True

        def lock(self) -> None:
            while not self.try_lock():
                time.sleep(_POLL_SECONDS)

        def unlock(self) -> None:
            os.lseek(self.descriptor, _FAR, os.SEEK_SET)
            msvcrt.locking(self.descriptor, msvcrt.LK_UNLCK, 1)

        def close(self) -> None:
            os.close(self.descriptor)

        def read_note(self, size: int) -> bytes:
            return _read(self._path, size)

        def write_note(self, note: bytes) -> None:
            _write(self._path, note)
else:

    class _QueuedLock:
        def __init__(self, path: Path) -> None:
            self.descriptor = _opened(path)

        def try_lock(self) -> bool:
            try:
                fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            return True

        def lock(self) -> None:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX)

        def unlock(self) -> None:
            fcntl.flock(self.descriptor, fcntl.LOCK_UN)

        def close(self) -> None:
            os.close(self.descriptor)

        def read_note(self, size: int) -> bytes:
            return os.pread(self.descriptor, size, 0)

        def write_note(self, note: bytes) -> None:
            os.pwrite(self.descriptor, note, 0)


def _opened(path: Path) -> int:
    return open_private(path, os.O_RDWR | os.O_CREAT)


def _read(path: Path, size: int) -> bytes:
    """Read by another opening of the file: a thread may be moving in the first one."""
    descriptor = _opened(path)
    try:
        return os.read(descriptor, size)
    finally:
        os.close(descriptor)


def _write(path: Path, note: bytes) -> None:
    descriptor = _opened(path)
    try:
        os.write(descriptor, note)
    finally:
        os.close(descriptor)
