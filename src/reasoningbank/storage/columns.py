"""The filterable properties of every memory as numpy columns, so that a filter costs one pass and no query."""

from __future__ import annotations

from collections.abc import Sequence

import numpy
from numpy.typing import NDArray

from reasoningbank.domain.memory import OUTCOMES, STATES
from reasoningbank.domain.recall import Filter
from reasoningbank.storage.rows import Row, to_microseconds

GONE = -1
"""The state code of a deleted memory."""

COLUMNS_SQL = "SELECT key, outcome, state, category, confidence, created_at FROM memories WHERE change > ? ORDER BY key"


class Columns:
    """Arrays that grow with the bank; row i belongs to the memory of ``keys[i]``, and keys ascend."""

    def __init__(self) -> None:
        self._count = 0
        self._keys = numpy.empty(0, dtype=numpy.int64)
        self._outcome = numpy.empty(0, dtype=numpy.int8)
        self._state = numpy.empty(0, dtype=numpy.int8)
        self._category = numpy.empty(0, dtype=numpy.int32)
        self._confidence = numpy.empty(0, dtype=numpy.float64)
        self._created = numpy.empty(0, dtype=numpy.int64)
        self._categories: dict[str, int] = {}

    @property
    def living(self) -> int:
        """How many rows belong to memories that are not deleted."""
        return int((self._state[: self._count] != GONE).sum())

    @property
    def keys(self) -> NDArray[numpy.int64]:
        """The keys of all rows, ascending."""
        return self._keys[: self._count]

    def apply(self, rows: Sequence[Row], deleted: Sequence[int]) -> None:
        """Takes over changed rows of COLUMNS_SQL and forgets deleted keys."""
        known = [row for row in rows if self._holds(int(row[0]))]  # type: ignore[arg-type]
        fresh = rows[len(known) :] if len(known) < len(rows) else []
        for row in known:
            self._write(self._position(int(row[0])), [row])  # type: ignore[arg-type]
        if fresh:
            self._reserve(self._count + len(fresh))
            self._write(self._count, fresh)
            self._count += len(fresh)
        for key in deleted:
            if self._holds(key):
                self._state[self._position(key)] = GONE

    def positions(self, keys: NDArray[numpy.int64]) -> NDArray[numpy.int32]:
        """The row of each key, all of which must be held."""
        return numpy.searchsorted(self.keys, keys).astype(numpy.int32)

    def mask(self, condition: Filter, tagged: NDArray[numpy.int64] | None) -> NDArray[numpy.bool_]:
        """Which rows meet the filter; ``tagged`` are the keys that carry its tags, None when it names none."""
        size = self._count
        keep: NDArray[numpy.bool_] = numpy.zeros(size, dtype=numpy.bool_)
        for code, state in enumerate(STATES):
            if state in condition.states:
                keep |= self._state[:size] == code
        if condition.outcome is not None:
            keep &= self._outcome[:size] == OUTCOMES.index(condition.outcome)
        if condition.category is not None:
            keep &= self._category[:size] == self._categories.get(condition.category, GONE)
        if condition.min_confidence is not None:
            keep &= self._confidence[:size] >= condition.min_confidence
        if condition.below_confidence is not None:
            keep &= self._confidence[:size] < condition.below_confidence
        if condition.created_after is not None:
            keep &= self._created[:size] >= to_microseconds(condition.created_after)
        if condition.created_before is not None:
            keep &= self._created[:size] < to_microseconds(condition.created_before)
        if tagged is not None:
            keep &= numpy.isin(self.keys, tagged)
        return keep

    def _holds(self, key: int) -> bool:
        position = self._position(key)
        return position < self._count and int(self._keys[position]) == key

    def _position(self, key: int) -> int:
        return int(numpy.searchsorted(self.keys, key))

    def _write(self, start: int, rows: Sequence[Row]) -> None:
        end = start + len(rows)
        keys, outcomes, states, categories, confidences, created = zip(*rows, strict=True)
        self._keys[start:end] = keys
        self._outcome[start:end] = [OUTCOMES.index(outcome) for outcome in outcomes]
        self._state[start:end] = [STATES.index(state) for state in states]
        self._category[start:end] = [self._categories.setdefault(name, len(self._categories)) for name in categories]
        self._confidence[start:end] = confidences
        self._created[start:end] = created

    def _reserve(self, size: int) -> None:
        capacity = len(self._keys)
        if size <= capacity:
            return
        capacity = max(size, capacity + capacity // 4, 1_024)
        for name in ("_keys", "_outcome", "_state", "_category", "_confidence", "_created"):
            old = getattr(self, name)
            grown = numpy.empty(capacity, dtype=old.dtype)
            grown[: self._count] = old[: self._count]
            setattr(self, name, grown)
