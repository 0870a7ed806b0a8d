"""One advisory lock per bank: a fair queue of writers that the kernel empties when a process dies (DESIGN D2).

The lock libraries at hand poll, which starves writers under load; ``flock`` queues them in the kernel. It does not keep
a writer that has just let go from taking the lock again before the next in the queue has woken up, so there are two:
whoever wants the lock first takes the turnstile, and gives that back once the lock is his. This is the one place where
our own code beats a library: SQLite's own waiting gave 16 writers a p99 of 3.6 s.
"""

from __future__ import annotations

import os
import threading
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

from reasoningbank.errors import StoreBusy, StoreUnavailable
from reasoningbank.lock_file import LockFile, open_lock

TURNSTILE = ".turn"
"""What the name of the turnstile's file adds to the name of the lock's file."""
LOCK_TIMEOUT = 30.0
"""Seconds a writer waits for its turn before it gives up with StoreBusy."""


class ThreadTurn:
    """The turn of one thread among those of this process.

    Args:
        name: What is written to, for messages.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._holder = 0

    def join(self, seconds: float) -> None:
        """Wait that long for the turn.

        Raises:
            StoreBusy: When the turn did not come, or when this thread has it already.
        """
        if self._holder == threading.get_ident():
            raise StoreBusy(
                f"this thread is writing to {self._name} already",
                hint="End the transaction before the next one begins.",
            )
        if not self._lock.acquire(timeout=seconds):
            raise StoreBusy(f"another thread has been writing to {self._name} for {seconds:.0f} s")
        self._holder = threading.get_ident()

    def leave(self) -> None:
        """End the turn."""
        self._holder = 0
        self._lock.release()


class WriteLock(Protocol):
    """The write lock of one bank, and the note of its latest change."""

    def held(self) -> AbstractContextManager[None]:
        """Wait for the turn, then hold the lock; raise StoreBusy when the turn does not come."""

    def held_if_free(self, *, threads: float = 0.0) -> AbstractContextManager[bool]:
        """Hold the lock when nobody else does, waiting that long for other threads; yield whether it is held."""

    def mark(self, change: int) -> None:
        """Note the bank's latest acknowledged change; the caller holds the lock."""

    def marked(self) -> int | None:
        """Return the latest change that was noted, None when the bank was never made."""

    def close(self) -> None:
        """Give back what the lock itself needs."""


class ProcessLock:
    """The write lock of a bank that only this process has, shared by all stores of the bank."""

    def __init__(self, name: str, *, timeout: float = LOCK_TIMEOUT) -> None:
        self._turn = ThreadTurn(name)
        self._timeout = timeout
        self._change: int | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Wait for the turn, then hold the lock.

        Raises:
            StoreBusy: When the turn did not come within the timeout, or when this thread holds the lock already.
        """
        self._turn.join(self._timeout)
        try:
            yield
        finally:
            self._turn.leave()

    @contextmanager
    def held_if_free(self, *, threads: float = 0.0) -> Iterator[bool]:
        """Hold the lock when no other thread does or finish in time; yield whether it is held."""
        try:
            self._turn.join(threads)
        except StoreBusy:
            yield False
            return
        try:
            yield True
        finally:
            self._turn.leave()

    def mark(self, change: int) -> None:
        """Note the bank's latest acknowledged change."""
        self._change = change

    def marked(self) -> int | None:
        """Return the latest change that was noted, None when the bank was never made."""
        return self._change

    def close(self) -> None:
        """Keep the lock for the other stores of the bank."""


class BankLock:
    """The write lock of one bank, shared by the threads of this process and by all processes on this machine.

    Every file that takes part is opened of its own, so that giving up one's place in the queue never
    releases a lock that another thread has got in the meantime.
    """

    def __init__(self, path: Path, *, timeout: float = LOCK_TIMEOUT) -> None:
        self._path = path
        self._timeout = timeout
        self._turn = ThreadTurn(path.name)
        self._file: LockFile | None = None
        self._turnstile: LockFile | None = None
        self._process = os.getpid()

    def held(self) -> AbstractContextManager[None]:
        """Wait for the turn, then hold the lock.

        Raises:
            StoreBusy: When the turn did not come within the timeout, or when this thread holds the lock already.
            StoreUnavailable: When the lock file cannot be opened or locked.
        """
        return _Held(self)

    def take(self) -> LockFile:
        """Wait for the turn; the file that holds the lock from now on. ``held`` gives it back by itself."""
        self._turn.join(self._timeout)
        try:
            return self._acquired()
        except BaseException:
            self._turn.leave()
            raise

    def give_back(self, file: LockFile) -> None:
        """End what ``take`` began."""
        try:
            self._release(file)
        finally:
            self._turn.leave()

    @contextmanager
    def held_if_free(self, *, threads: float = 0.0) -> Iterator[bool]:
        """Hold the lock when no other process does; yield whether it is held.

        Args:
            threads: Seconds to wait for another thread of this process to finish with it.
        """
        try:
            self._turn.join(threads)
        except StoreBusy:
            yield False
            return
        try:
            file = self._own()
            free = self._tried(file)
            try:
                yield free
            finally:
                if free:
                    self._release(file)
        finally:
            self._turn.leave()

    def mark(self, change: int) -> None:
        """Note the bank's latest acknowledged change; the caller holds the lock.

        The note is not forced to the disk: after a power cut it may be missing or old, but never ahead of the bank.
        """
        raw = b"%020d" % change
        self._own().write_note(raw + b" %08x\n" % zlib.crc32(raw))

    def marked(self) -> int | None:
        """Return the latest change that was noted, 0 when the note is damaged, None when the bank was never made."""
        note = self._own().read_note(64)
        whole = note[20:29] == b" %08x" % zlib.crc32(note[:20])
        return (int(note[:20]) if whole else 0) if note else None

    def close(self) -> None:
        """Close the lock file, unless it is held at this moment."""
        try:
            self._turn.join(0.0)
        except StoreBusy:
            return
        try:
            for file in (self._file, self._turnstile):
                if file is not None and self._process == os.getpid():
                    file.close()
            self._file = self._turnstile = None
        finally:
            self._turn.leave()

    def _own(self) -> LockFile:
        if self._process != os.getpid():
            self._file = self._turnstile = None
            self._process = os.getpid()
        if self._file is None:
            self._file = self._opened()
        return self._file

    def _opened(self, suffix: str = "") -> LockFile:
        try:
            return open_lock(self._path.with_name(self._path.name + suffix))
        except OSError as error:
            raise StoreUnavailable(f"the lock file {self._path} cannot be opened: {error.strerror}") from error

    def _tried(self, file: LockFile) -> bool:
        try:
            return file.try_lock()
        except OSError as error:
            raise self._refused(error) from error

    def _refused(self, error: OSError) -> StoreUnavailable:
        return StoreUnavailable(
            f"{self._path} cannot be locked: {error.strerror}",
            hint="Put the bank on a local disk: network file systems without locks cannot keep it safe.",
        )

    def _acquired(self) -> LockFile:
        """Return the file that holds the lock once it is this process's turn."""
        own = self._own()
        if self._turnstile is None:
            self._turnstile = self._opened(TURNSTILE)
        if self._tried(self._turnstile):
            try:
                if self._tried(own):
                    return own
            finally:
                self._turnstile.unlock()
        return self._queued()

    def _queued(self) -> LockFile:
        """Wait in the kernel's queue; a thread does the waiting, because the lock knows no timeout."""
        waiter = _Waiter(self._opened(TURNSTILE), self._opened())
        waiter.start()
        try:
            state = waiter.wait(self._timeout)
        except BaseException:
            if not waiter.abandon():
                waiter.file.close()
            raise
        if isinstance(state, OSError):
            raise self._refused(state) from state
        if not state and waiter.abandon():
            raise StoreBusy(f"another process has been writing to {self._path.name} for {self._timeout:.0f} s")
        return waiter.file

    def _release(self, file: LockFile) -> None:
        if file is self._file:
            file.unlock()
        else:
            file.close()


class _Held:
    """The time in which the lock is held."""

    __slots__ = ("_file", "_lock")

    def __init__(self, lock: BankLock) -> None:
        self._lock = lock

    def __enter__(self) -> None:
        self._file = self._lock.take()

    def __exit__(self, *_: object) -> None:
        self._lock.give_back(self._file)


class _Waiter(threading.Thread):
    """Wait for the lock on an open file of its own, and close it when nobody wants the lock any more."""

    def __init__(self, turnstile: LockFile, file: LockFile) -> None:
        super().__init__(name="reasoningbank-lock", daemon=True)
        self._turnstile = turnstile
        self.file = file
        self._done = threading.Event()
        self._decision = threading.Lock()
        self._abandoned = False
        self._error: OSError | None = None

    def run(self) -> None:
        try:
            self._turnstile.lock()
            self.file.lock()
        except OSError as error:
            self._error = error
        finally:
            self._turnstile.close()
        with self._decision:
            if self._abandoned or self._error is not None:
                self.file.close()
            self._done.set()

    def wait(self, seconds: float) -> bool | OSError:
        """Return whether the lock came in time, or the reason why it never will."""
        came = self._done.wait(seconds)
        return came if self._error is None else self._error

    def abandon(self) -> bool:
        """Give the place in the queue up; False when the lock has come after all and is held."""
        with self._decision:
            self._abandoned = not self._done.is_set()
            return self._abandoned or self._error is not None
