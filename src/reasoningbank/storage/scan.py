"""The exact vector search: one pass over a leg's matrix, filtered before the best are taken (DESIGN D3)."""

from __future__ import annotations

from typing import TypeVar

import numpy
from numpy.typing import NDArray

from reasoningbank.storage.columns import Columns
from reasoningbank.storage.snapshot import Snapshot

_Item = TypeVar("_Item", bound=numpy.generic)
_NEVER = numpy.float32(-numpy.inf)
_BLOCK = 64
SNAPSHOT_MIN_ROWS = 2_048
"""Below this many rows no sidecar is written: reading them from the bank is as fast."""


class LegMatrix:
    """One leg's vectors: the mapped snapshot and, after it, the rows that came since.

    Row numbers run through both parts. A vector that was replaced or deleted leaves a dead row behind.
    """

    def __init__(self, dimension: int, snapshot: Snapshot | None) -> None:
        empty = numpy.empty((0, dimension), dtype=numpy.float32)
        self._snapshot: NDArray[numpy.float32] = empty if snapshot is None else snapshot.matrix
        self._tail = empty
        self._dimension = dimension
        keys = numpy.empty(0, dtype=numpy.int64) if snapshot is None else snapshot.keys
        self._count = len(keys)
        self._keys = keys.copy()
        self._column = numpy.zeros(len(keys), dtype=numpy.int32)
        self._live = numpy.ones(len(keys), dtype=numpy.bool_)
        if snapshot is not None:
            self._live[snapshot.erased] = False
        self._snapshot_keys = keys
        self._tail_rows: dict[int, int] = {}
        self._aligned = True
        self._latest: tuple[bytes, NDArray[numpy.float32]] | None = None

    @property
    def live_rows(self) -> int:
        """How many rows hold a current vector."""
        return int(self._live[: self._count].sum())

    @property
    def snapshot_rows(self) -> int:
        """How many rows lie in the mapped snapshot, dead ones included."""
        return len(self._snapshot)

    @property
    def tail_rows(self) -> int:
        """How many rows came after the snapshot."""
        return self._count - len(self._snapshot)

    def place(self, columns: Columns, first: int = 0) -> None:
        """Finds the column of every row from ``first`` on; rows whose memory is gone die."""
        keys = self._keys[first : self._count]
        positions = columns.positions(keys)
        known = positions < len(columns.keys)
        known[known] = columns.keys[positions[known]] == keys[known]
        self._column[first : self._count] = numpy.where(known, positions, 0)
        self._live[first : self._count] &= known
        rows = numpy.arange(first, self._count, dtype=numpy.int32)
        self._aligned = (first == 0 or self._aligned) and bool((known & (positions == rows)).all())

    def append(self, keys: NDArray[numpy.int64], vectors: NDArray[numpy.float32], columns: Columns) -> None:
        """Adds rows; a key that is there already has its old row die."""
        first, added = self._count, len(keys)
        for number, key in enumerate(keys.tolist()):
            old = self._row(key)
            if old is not None:
                self._live[old] = False
            self._tail_rows[key] = first + number
        self._reserve(first + added)
        self._keys[first : first + added] = keys
        start = first - len(self._snapshot)
        self._tail[start : start + added] = vectors
        self._live[first : first + added] = True
        self._count = first + added
        self.place(columns, first)

    def forget(self, keys: list[int]) -> bool:
        """Lets the rows of deleted keys die; returns whether the snapshot holds any of them."""
        rows = [row for row in (self._row(key) for key in keys) if row is not None]
        self._live[rows] = False
        return any(row < len(self._snapshot) for row in rows)

    def search(
        self, vector: NDArray[numpy.float32], mask: NDArray[numpy.bool_], limit: int
    ) -> tuple[NDArray[numpy.int64], NDArray[numpy.float32]]:
        """Keys and inner products of the best live rows whose column is in the mask, best first, then oldest first."""
        count = self._count
        keep = self._live[:count] & self._of_rows(mask, count)
        scores = numpy.where(keep, self._scores(vector, count), _NEVER)
        eligible = min(limit, int(numpy.count_nonzero(keep)))
        best = _best(scores, eligible)
        keys = self._keys[best]
        order = numpy.lexsort((keys, -scores[best]))[:eligible]
        return keys[order], scores[best][order]

    def similarities(self, vector: NDArray[numpy.float32], keys: NDArray[numpy.int64]) -> dict[int, float]:
        """The inner product with each of these keys that has a current vector."""
        rows = self._rows(keys)
        held = rows >= 0
        held[held] = self._live[rows[held]]
        scores = self._scores(vector, self._count)[rows[held]]
        return dict(zip(keys[held].tolist(), scores.tolist(), strict=True))

    def vector(self, key: int) -> NDArray[numpy.float32] | None:
        """The current vector of a key, None when it has none in this leg."""
        row = self._row(key)
        if row is None or not self._live[row]:
            return None
        base = len(self._snapshot)
        found: NDArray[numpy.float32] = self._snapshot[row] if row < base else self._tail[row - base]
        return found

    def compact(self) -> tuple[NDArray[numpy.int64], NDArray[numpy.float32]]:
        """All live rows, keys ascending: what the next snapshot holds."""
        rows = numpy.flatnonzero(self._live[: self._count])
        rows = rows[numpy.argsort(self._keys[rows], kind="stable")]
        matrix = numpy.empty((len(rows), self._dimension), dtype=numpy.float32)
        old = rows < len(self._snapshot)
        matrix[old] = self._snapshot[rows[old]]
        matrix[~old] = self._tail[rows[~old] - len(self._snapshot)]
        return self._keys[rows], matrix

    def _scores(self, vector: NDArray[numpy.float32], count: int) -> NDArray[numpy.float32]:
        """All inner products; those of the latest vector are kept, for one search asks several times."""
        name = vector.tobytes()
        if self._latest is not None and self._latest[0] == name and len(self._latest[1]) == count:
            return self._latest[1]
        base = len(self._snapshot)
        scores = numpy.empty(count, dtype=numpy.float32)
        numpy.dot(self._snapshot, vector, out=scores[:base])
        numpy.dot(self._tail[: count - base], vector, out=scores[base:])
        self._latest = (name, scores)
        return scores

    def _of_rows(self, mask: NDArray[numpy.bool_], count: int) -> NDArray[numpy.bool_]:
        """A mask over columns as a mask over rows."""
        if self._aligned:
            return mask[:count]
        return mask[self._column[:count]] if len(mask) else numpy.zeros(count, dtype=numpy.bool_)

    def _rows(self, keys: NDArray[numpy.int64]) -> NDArray[numpy.int64]:
        """The row of each key, -1 for a key that has none."""
        rows = numpy.full(len(keys), -1, dtype=numpy.int64)
        if len(self._snapshot_keys):
            found = numpy.searchsorted(self._snapshot_keys, keys)
            found[found == len(self._snapshot_keys)] = 0
            rows = numpy.where(self._snapshot_keys[found] == keys, found, rows)
        if self._tail_rows:
            newer = numpy.array([self._tail_rows.get(key, -1) for key in keys.tolist()], dtype=numpy.int64)
            rows = numpy.where(newer >= 0, newer, rows)
        return rows

    def _row(self, key: int) -> int | None:
        row = self._tail_rows.get(key)
        if row is not None:
            return row
        row = int(numpy.searchsorted(self._snapshot_keys, key))
        return row if row < len(self._snapshot_keys) and int(self._snapshot_keys[row]) == key else None

    def _reserve(self, size: int) -> None:
        if size > len(self._keys):
            capacity = max(size, len(self._keys) + len(self._keys) // 4, 256)
            self._keys = _grown(self._keys, capacity, self._count)
            self._column = _grown(self._column, capacity, self._count)
            self._live = _grown(self._live, capacity, self._count)
        base = len(self._snapshot)
        if size - base > len(self._tail):
            used = self._count - base
            tail = numpy.empty((max(size - base, 2 * len(self._tail), 256), self._dimension), dtype=numpy.float32)
            tail[:used] = self._tail[:used]
            self._tail = tail


def _best(scores: NDArray[numpy.float32], wanted: int) -> NDArray[numpy.intp]:
    """Places of the best scores: the wanted ones and all that equal the last of them.

    The wanted-th best of the maxima of blocks is not above the wanted-th best score, so that only the few scores from
    it upwards need to be ranked.
    """
    if wanted == 0:
        return numpy.empty(0, dtype=numpy.intp)
    places = numpy.arange(len(scores))
    blocks = len(scores) // _BLOCK
    if blocks > wanted:
        heads = scores[: blocks * _BLOCK].reshape(blocks, _BLOCK).max(axis=1)
        bound = numpy.partition(heads, blocks - wanted)[blocks - wanted]
        places = numpy.flatnonzero(scores >= bound)
    worst = numpy.partition(scores[places], len(places) - wanted)[len(places) - wanted]
    best: NDArray[numpy.intp] = places[scores[places] >= worst]
    return best


def _grown(old: NDArray[_Item], capacity: int, used: int) -> NDArray[_Item]:
    grown = numpy.empty(capacity, dtype=old.dtype)
    grown[:used] = old[:used]
    return grown
