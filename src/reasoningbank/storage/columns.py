"""The filterable properties of every memory as numpy columns, so that a filter costs one pass and no query."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Protocol

import numpy
from numpy.typing import NDArray

from reasoningbank.domain.memory import OUTCOMES, STATES
from reasoningbank.domain.recall import Filter
from reasoningbank.storage.rows import CONSOLIDATED_SQL, Row, to_microseconds

GONE = -1
"""The state code of a deleted memory."""

_KNOWN = (
    "(SELECT coalesce(max(key), -1) FROM "
    "(SELECT key FROM memories WHERE {0} >= 0 AND born <= {0} ORDER BY key DESC LIMIT 1))"
)
"""The last key of a memory that was made up to a change: one look at every memory that was made since."""


def changed_since(columns: str, joined: str = "", *, change: str = "?1", derived: bool = False) -> str:
    """A query for the memories ``m`` that were changed or made after a change; all of them after a change below 0.

    Keys are given out in the order of changes, so the new ones are those after the last that was there; the others
    are in the index of rows that were changed after they were made.

    Args:
        columns: What is read; the rows ascend by the first column, which must ascend with the key.
        joined: Joins of what hangs on the memories.
        change: The parameter that holds the change.
        derived: Only memories whose derived parts were changed or made.
    """
    known = _KNOWN.format(change)
    condition = f"m.change <> m.born AND m.change > {change} AND m.key <= {known}"
    if derived:
        condition += f" AND m.indexed > {change}"
    return (
        f"SELECT {columns} FROM memories AS m INDEXED BY memories_by_change {joined} WHERE {condition} "  # noqa: S608
        f"UNION ALL SELECT {columns} FROM memories AS m {joined} WHERE m.key > {known} ORDER BY 1"
    )


COLUMNS_SQL = changed_since(
    "m.key, m.outcome, m.state, m.category, m.confidence, m.created_at, m.tags, " + CONSOLIDATED_SQL
)


class Places(Protocol):
    """Where things that have keys stand in arrays that grow."""

    @property
    def keys(self) -> NDArray[numpy.int64]:
        """The keys of all rows, ascending."""

    def found(self, keys: NDArray[numpy.int64]) -> tuple[NDArray[numpy.int32], NDArray[numpy.bool_]]:
        """The rows of those keys that are held, and which of the keys these are."""


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
        self._tags = numpy.empty(0, dtype=numpy.int32)
        self._consolidated = numpy.empty(0, dtype=numpy.bool_)
        self._categories: dict[str, int] = {}
        self._tag_sets: dict[str, int] = {}
        self._sets_with: dict[str, list[int]] = {}

    @property
    def living(self) -> int:
        """How many rows belong to memories that are not deleted."""
        return int(self.alive.sum())

    @property
    def alive(self) -> NDArray[numpy.bool_]:
        """Which rows belong to memories that are not deleted."""
        alive: NDArray[numpy.bool_] = self._state[: self._count] != GONE
        return alive

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

    def found(self, keys: NDArray[numpy.int64]) -> tuple[NDArray[numpy.int32], NDArray[numpy.bool_]]:
        """The rows of those keys that are held, and which of the keys these are."""
        rows = numpy.searchsorted(self.keys, keys).astype(numpy.int32)
        held = rows < self._count
        held[held] = self.keys[rows[held]] == keys[held]
        return rows[held], held

    def mask(self, condition: Filter) -> NDArray[numpy.bool_]:
        """Which rows meet the filter."""
        size = self._count
        keep: NDArray[numpy.bool_] = numpy.zeros(size, dtype=numpy.bool_)
        for code, state in enumerate(STATES):
            if state in condition.states:
                keep |= self._state[:size] == code
        if condition.outcome is not None:
            keep &= self._outcome[:size] == OUTCOMES.index(condition.outcome)
        if condition.category is not None:
            keep &= self._category[:size] == self._categories.get(condition.category, GONE)
        if condition.categories is not None:
            keep &= self._among(condition.categories)
        if condition.consolidated is not None:
            keep &= self._consolidated[:size] == condition.consolidated
        if condition.min_confidence is not None:
            keep &= self._confidence[:size] >= condition.min_confidence
        if condition.below_confidence is not None:
            keep &= self._confidence[:size] < condition.below_confidence
        if condition.created_after is not None:
            keep &= self._created[:size] >= to_microseconds(condition.created_after)
        if condition.created_before is not None:
            keep &= self._created[:size] < to_microseconds(condition.created_before)
        for tag in condition.tags:
            carrying = numpy.zeros(len(self._tag_sets), dtype=numpy.bool_)
            carrying[self._sets_with.get(tag, [])] = True
            keep &= carrying[self._tags[:size]]
        return keep

    def _among(self, categories: Sequence[str]) -> NDArray[numpy.bool_]:
        """Which rows are of one of these categories."""
        wanted = numpy.zeros(len(self._categories), dtype=numpy.bool_)
        wanted[[self._categories[name] for name in categories if name in self._categories]] = True
        return wanted[self._category[: self._count]]

    def _holds(self, key: int) -> bool:
        position = self._position(key)
        return position < self._count and int(self._keys[position]) == key

    def _position(self, key: int) -> int:
        return int(numpy.searchsorted(self.keys, key))

    def _write(self, start: int, rows: Sequence[Row]) -> None:
        end = start + len(rows)
        keys, outcomes, states, categories, confidences, created, tags, consolidated = zip(*rows, strict=True)
        self._keys[start:end] = keys
        self._outcome[start:end] = [OUTCOMES.index(outcome) for outcome in outcomes]
        self._state[start:end] = [STATES.index(state) for state in states]
        self._category[start:end] = [self._categories.setdefault(name, len(self._categories)) for name in categories]
        self._confidence[start:end] = confidences
        self._created[start:end] = created
        self._tags[start:end] = [self._tag_set(text) for text in tags]
        self._consolidated[start:end] = consolidated

    def _tag_set(self, text: str) -> int:
        """The number of a list of tags as it is stored."""
        number = self._tag_sets.get(text)
        if number is None:
            number = len(self._tag_sets)
            for tag in dict.fromkeys(json.loads(text)):
                self._sets_with.setdefault(tag, []).append(number)
            self._tag_sets[text] = number
        return number

    def _reserve(self, size: int) -> None:
        capacity = len(self._keys)
        if size <= capacity:
            return
        capacity = max(size, capacity + capacity // 4, 1_024)
        for name in ("_keys", "_outcome", "_state", "_category", "_confidence", "_created", "_tags", "_consolidated"):
            old = getattr(self, name)
            grown = numpy.empty(capacity, dtype=old.dtype)
            grown[: self._count] = old[: self._count]
            setattr(self, name, grown)
