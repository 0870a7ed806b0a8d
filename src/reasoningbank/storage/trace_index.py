"""The vectors of the newest traces in memory, and which of them are closest to a query."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Protocol, cast

import numpy
from numpy.typing import NDArray

from reasoningbank.errors import ModelMismatch, StoreCorrupt
from reasoningbank.storage.rows import Row, Value, checksum, decoding
from reasoningbank.storage.session_tables import read_trace
from reasoningbank.types.experience import COMPARED_TRACES, COSINE_DIGITS, Trace
from reasoningbank.types.ports import Vector

_STATE_SQL = (
    "SELECT name, value FROM meta WHERE name IN ('bank', 'space', 'dimension') UNION ALL "
    "SELECT 'replaced', max(replaced) FROM trace_vectors WHERE replaced IS NOT NULL"
)
_VECTORS_SQL = "SELECT number, vector, checksum FROM trace_vectors WHERE number > ? ORDER BY number DESC LIMIT ?"
_TRACES_SQL = "SELECT number, id, session, body, checksum FROM traces WHERE number IN (SELECT value FROM json_each(?))"
_SPARE = 1_024


class TraceReader(Protocol):
    """Runs one query of a consistent read and gives its rows."""

    def __call__(self, sql: str, values: Sequence[Value] = ()) -> Sequence[Row]:
        """Return all rows of the query."""


class TraceIndex:
    """Rows of trace vectors by age, refreshed before every search: only new ones are read."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._forget(())

    def similar(self, read: TraceReader, query: Vector, limit: int) -> Sequence[tuple[Trace, float]]:
        """Return the closest traces, best first, then newest first; this makes the first read of its transaction.

        Raises:
            ModelMismatch: When the bank's vectors have another dimension.
        """
        with self._lock:
            try:
                with decoding("a trace's vector"):
                    self._refresh(read, len(query))
            except BaseException:
                self._forget(())
                raise
            numbers = self._numbers[: self._count][-COMPARED_TRACES:]
            products = self._matrix[: self._count][-COMPARED_TRACES:] @ query
        cosines = numpy.clip(products.astype(numpy.float64).round(COSINE_DIGITS), -1.0, 1.0)
        best = numpy.lexsort((-numbers, -cosines))[: max(0, limit)]
        wanted = numbers[best].tolist()
        traces = {cast(int, row[0]): read_trace(row) for row in read(_TRACES_SQL, (str(wanted),))}
        if len(traces) < len(wanted):
            raise StoreCorrupt("a trace's vector belongs to no trace")
        return [(traces[number], cosine) for number, cosine in zip(wanted, cosines[best].tolist(), strict=True)]

    def _forget(self, state: tuple[object, ...], dimension: int = 0) -> None:
        self._state = state
        self._count = 0
        self._numbers: NDArray[numpy.int64] = numpy.empty(0, dtype=numpy.int64)
        self._matrix: NDArray[numpy.float32] = numpy.empty((0, dimension), dtype=numpy.float32)

    def _refresh(self, read: TraceReader, dimension: int) -> None:
        facts = dict(cast("Sequence[tuple[str, str | int | None]]", read(_STATE_SQL)))
        stored = facts.get("dimension")
        if stored is not None and int(stored) != dimension:
            raise ModelMismatch(f"the bank's vectors have {stored} dimensions, the query's {dimension}")
        state = (facts["bank"], facts.get("space"), facts["replaced"], dimension)
        if state != self._state:
            self._forget(state, dimension)
        last = int(self._numbers[self._count - 1]) if self._count else -1
        rows = read(_VECTORS_SQL, (last, COMPARED_TRACES))
        if rows:
            self._append(rows[::-1], dimension)

    def _append(self, rows: Sequence[Row], dimension: int) -> None:
        if self._count + len(rows) > len(self._numbers):
            self._make_room(len(rows), dimension)
        for place, (number, vector, stored) in enumerate(rows, start=self._count):
            if checksum((number, vector)) != stored:
                raise StoreCorrupt(f"the vector of trace number {number!r} does not hold what was written to it")
            self._numbers[place] = cast(int, number)
            self._matrix[place] = numpy.frombuffer(cast(bytes, vector), dtype=numpy.float32)
        self._count += len(rows)

    def _make_room(self, more: int, dimension: int) -> None:
        """Drop what is too old to be compared, and leaves room for further rows."""
        kept = slice(max(0, self._count - COMPARED_TRACES), self._count)
        numbers, matrix = self._numbers[kept], self._matrix[kept]
        capacity = len(numbers) + more + _SPARE
        self._numbers = numpy.empty(capacity, dtype=numpy.int64)
        self._matrix = numpy.empty((capacity, dimension), dtype=numpy.float32)
        self._count = len(numbers)
        self._numbers[: self._count], self._matrix[: self._count] = numbers, matrix
