"""What every part of the writes of a bank file needs of the whole; ``Writes`` gives it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager
from typing import cast

from reasoningbank.errors import InvalidInput
from reasoningbank.storage.reads import Reads
from reasoningbank.storage.vector_search import unit_vector
from reasoningbank.types.ports import Vector


class WritePart(Reads, ABC):
    """A part of the writes of one transaction."""

    @abstractmethod
    def _whole(self) -> AbstractContextManager[None]:
        """Return several statements that happen together or not at all."""

    @abstractmethod
    def _note_change(self) -> int:
        """Count this transaction, and says so in the file."""

    @abstractmethod
    def _note_erasure(self) -> None:
        """Say in the file that what was deleted may have left traces in it."""

    @abstractmethod
    def _key(self, memory_id: str) -> int:
        """Return the key of a memory; raises MemoryNotFound."""

    @abstractmethod
    def _keys(self, memory_ids: Collection[str]) -> Mapping[str, int]:
        """Return the keys of those of these memories that exist."""

    @abstractmethod
    def _check_space(self, model_id: str, dimension: int) -> None:
        """Refuse vectors of another model or dimension than the bank's."""

    def _vector(self, vector: Vector, model_id: str) -> bytes:
        """Return the bytes of a vector of the bank's model; raises ModelMismatch."""
        if not model_id:
            raise InvalidInput("a vector needs the name of its model")
        row = unit_vector(vector)
        self._check_space(model_id, len(row))
        return row.tobytes()

    def _next_number(self, table: str) -> int:
        """Return the number of a new row."""
        rows = self._source.run(f"SELECT coalesce(max(number), 0) + 1 FROM {table}")  # noqa: S608 - constant tables
        return cast(int, rows[0][0])
