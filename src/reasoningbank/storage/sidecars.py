"""Where the vectors of a bank lie as whole matrices: files that processes share, or arrays of one process."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
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

Register = Callable[[str, str, int], bool]
"""Says in the bank which sidecar is the current one (name, token, change); False when that cannot be done now."""
Rows = Callable[[], "tuple[NDArray[numpy.int64], NDArray[numpy.float32]]"]
"""All rows that a sidecar is to hold: keys, ascending, and vectors."""


class Sidecars(Protocol):
    """What is derived from a bank's vectors, one matrix for each leg."""

    def read(self, wanted: Header, tokens: Mapping[str, str]) -> Snapshot | None:
        """Return the current matrix of the leg; None when there is none.

        Args:
            wanted: Which bank, leg, model and dimension; the rest of it is not looked at.
            tokens: The bank's ``meta`` table.
        """

    def write(self, header: Header, rows: Rows, register: Register) -> Snapshot | None:
        """Make the leg's next matrix of these rows; None when that cannot be done now."""

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

    def read(self, wanted: Header, tokens: Mapping[str, str]) -> Snapshot | None:
        from reasoningbank.storage import vector_file

        path = self._path(wanted)
        token = tokens.get(SIDECAR_NAME.format(path.name))
        if token is None:
            return None
        return vector_file.read_snapshot(
            path,
            bank=wanted.bank,
            leg=wanted.leg,
            model_id=wanted.model_id,
            dimension=wanted.dimension,
            token=token,
        )

    def write(self, header: Header, rows: Rows, register: Register) -> Snapshot | None:
        if time.monotonic() < self._retry:
            return None
        from reasoningbank.storage import vector_file

        path = self._path(header)
        name = SIDECAR_NAME.format(path.name)
        try:
            with self._lock.held_if_free() as free:
                if not free or not register(name, header.token, header.change):
                    return None
                keys, vectors = rows()
                vector_file.write_snapshot(path, replace(header, rows=len(keys)), keys, vectors)
        except (OSError, StoreError):
            # The sidecar is derived: without it the rows stay in memory and searches answer the same.
            self._retry = time.monotonic() + RETRY_SECONDS
            return None
        return self.read(header, {name: header.token})

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

    def read(self, wanted: Header, tokens: Mapping[str, str]) -> None:  # noqa: ARG002
        return None

    def write(self, header: Header, rows: Rows, register: Register) -> Snapshot:  # noqa: ARG002
        import numpy

        from reasoningbank.storage import vector_file

        keys, vectors = rows()
        erased = numpy.empty(0, dtype=numpy.int64)
        return vector_file.Snapshot(header=replace(header, rows=len(keys)), keys=keys, matrix=vectors, erased=erased)

    def erase(self, keys: Sequence[int]) -> None:
        """Do nothing: whoever has one lets the rows of deleted memories die before its next search."""

    def remove(self) -> bool:
        """Say that it is done: there is nothing beside the bank."""
        return True
