"""Where the vectors of a bank lie as whole matrices: files that processes share, or arrays of one process."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from reasoningbank.errors import StoreError
from reasoningbank.storage.locks import BankLock

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    from reasoningbank.storage.vector_file import Header, Snapshot

SIDECAR_NAME = "sidecar {}"
"""Under this name the bank's ``meta`` table holds the token of a leg's current sidecar."""
RETRY_SECONDS = 60.0
"""After a sidecar could not be written, no further attempt is made for this long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Renewal:
    """Sidecars that are to be made anew.

    Attributes:
        tokens: What the bank's ``meta`` table is to hold before they are written, which is when they become current.
        change: They hold nothing that was deleted up to this change, and are not written when more was.
        write: Writes them; the caller still holds off all who change sidecars.
    """

    tokens: Mapping[str, str]
    change: int
    write: Callable[[], None]


class Sidecars(Protocol):
    """Give what is derived from a bank's vectors, one matrix for each leg."""

    def last(self, leg: str) -> Snapshot | None:
        """Return the newest matrix of a leg, current as long as ``facts`` of its header hold; None when there is none.

        It is read without a look into the bank.
        """

    def facts(self, header: Header) -> Mapping[str, str]:
        """Return what the bank's ``meta`` table says, by name, as long as this matrix is current."""

    def held(self) -> AbstractContextManager[bool]:
        """Hold off all others who change them when nobody does; yield whether matrices can be written now."""

    def name(self, header: Header) -> str:
        """Return under which name the bank holds the token of the leg's current matrix."""

    def write(self, header: Header, keys: NDArray[numpy.int64], vectors: NDArray[numpy.float32]) -> Snapshot | None:
        """Make the leg's next matrix of these rows, keys ascending; None when that cannot be done now.

        The bank holds its token, and the caller has held off all others from before that was committed: whoever
        deletes a memory afterwards finds the matrix and overwrites the vector in it.
        """

    def erase(self, keys: Sequence[int]) -> None:
        """Overwrite the vectors of deleted memories, or remove what holds them."""

    def remove(self) -> bool:
        """Remove all of it, to be made again when it is needed; False when somebody is at it."""


class SidecarFiles:
    """Files in a directory beside the bank file, mapped into memory.

    Args:
        directory: Where they lie; made with the first of them.
        lock: Held by whoever changes them.
    """

    def __init__(self, directory: Path, lock: BankLock) -> None:
        self._directory = directory
        self._lock = lock
        self._retry = 0.0

    @property
    def bytes(self) -> int | None:
        """Size of all of them; None when there is no directory."""
        if not self._directory.is_dir():
            return None
        return sum(file.stat().st_size for file in self._directory.iterdir())

    def last(self, leg: str) -> Snapshot | None:
        if not self._directory.is_dir():
            return None
        from reasoningbank.storage import vector_file

        headers = {path: vector_file.read_header(path) for path in self._directory.glob(f"{leg}-*{vector_file.SUFFIX}")}
        whole = [(header.change, path) for path, header in headers.items() if header is not None]
        return vector_file.read_snapshot(max(whole)[1]) if whole else None

    def facts(self, header: Header) -> Mapping[str, str]:
        return {**header.facts, self.name(header): header.token}

    @contextmanager
    def held(self) -> Iterator[bool]:
        """Hold their lock when nobody does; not soon after a sidecar could not be written."""
        with ExitStack() as lock:
            free = False
            if time.monotonic() >= self._retry:
                try:
                    free = lock.enter_context(self._lock.held_if_free())
                except StoreError:
                    self._retry = time.monotonic() + RETRY_SECONDS
            yield free

    def name(self, header: Header) -> str:
        return SIDECAR_NAME.format(self._path(header).name)

    def write(self, header: Header, keys: NDArray[numpy.int64], vectors: NDArray[numpy.float32]) -> Snapshot | None:
        from reasoningbank.storage import vector_file

        try:
            vector_file.write_snapshot(self._path(header), replace(header, rows=len(keys)), keys, vectors)
        except OSError:
            # The sidecar is derived: without it the rows stay in memory and searches answer the same.
            self._retry = time.monotonic() + RETRY_SECONDS
            return None
        return vector_file.read_snapshot(self._path(header))

    def erase(self, keys: Sequence[int]) -> None:
        """Overwrite the vectors with zeros in all files; a file that cannot be overwritten is removed."""
        if not self._directory.is_dir():
            return
        from reasoningbank.storage import vector_file

        with suppress(StoreError), self._lock.held():
            vector_file.remove_unfinished(self._directory)
            for path in self._directory.glob(f"*{vector_file.SUFFIX}"):
                try:
                    vector_file.erase_keys(path, keys)
                except OSError:
                    path.unlink(missing_ok=True)

    def remove(self) -> bool:
        from reasoningbank.storage import vector_file

        with self._lock.held_if_free() as alone:
            if alone:
                with suppress(OSError):
                    for path in self._directory.glob(f"*{vector_file.SUFFIX}*"):
                        path.unlink(missing_ok=True)
            return alone

    def _path(self, header: Header) -> Path:
        from reasoningbank.storage import vector_file

        model = hashlib.sha256(header.model_id.encode()).hexdigest()[:12]
        return self._directory / f"{header.leg}-{model}{vector_file.SUFFIX}"


class SidecarArrays:
    """Arrays of this process, for a bank that has no file. Only who asked for one has it."""

    def last(self, leg: str) -> None:  # noqa: ARG002 - there is never one at the first search of a process
        return None

    def facts(self, header: Header) -> Mapping[str, str]:
        return {**header.facts, self.name(header): header.token}

    def held(self) -> AbstractContextManager[bool]:
        """Say that they can always be written: nobody else sees them."""
        return nullcontext(enter_result=True)

    def name(self, header: Header) -> str:
        return SIDECAR_NAME.format(header.leg)

    def write(self, header: Header, keys: NDArray[numpy.int64], vectors: NDArray[numpy.float32]) -> Snapshot:
        import numpy

        from reasoningbank.storage import vector_file

        erased = numpy.empty(0, dtype=numpy.int64)
        return vector_file.Snapshot(header=replace(header, rows=len(keys)), keys=keys, matrix=vectors, erased=erased)

    def erase(self, keys: Sequence[int]) -> None:
        """Do nothing: whoever has one lets the rows of deleted memories die before its next search."""

    def remove(self) -> bool:
        """Say that it is done: there is nothing beside the bank."""
        return True
