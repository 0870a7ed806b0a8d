"""The exact vector search: one pass over a leg's matrix, filtered before the best are taken (DESIGN D3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy
from numpy.typing import NDArray

from reasoningbank.storage.columns import Places
from reasoningbank.storage.snapshot import Snapshot

_Item = TypeVar("_Item", bound=numpy.generic)
_NEVER = numpy.float32(-numpy.inf)
_NONE = -1
_BLOCK = 64
SNAPSHOT_MIN_ROWS = 2_048
"""Below this many rows no sidecar is written: reading them from the bank is as fast."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LegView:
    """One state of a leg that nothing changes any more; places of memories are those in the columns.

    Attributes:
        snapshot, tail: The vectors, row numbers running through both.
        places: The memory of each row.
        rows: The current row of each memory, -1 for one without a vector in the leg.
        live: Whether a row is its memory's current one.
        aligned: Whether row i belongs to memory i.
    """

    snapshot: NDArray[numpy.float32]
    tail: NDArray[numpy.float32]
    places: NDArray[numpy.int32]
    rows: NDArray[numpy.int32]
    live: NDArray[numpy.bool_]
    aligned: bool

    def scores(self, vector: NDArray[numpy.float32]) -> NDArray[numpy.float32]:
        """The inner product with every row, dead ones included."""
        base = len(self.snapshot)
        scores = numpy.empty(base + len(self.tail), dtype=numpy.float32)
        numpy.dot(self.snapshot, vector, out=scores[:base])
        numpy.dot(self.tail, vector, out=scores[base:])
        return scores

    def nearest(self, scores: NDArray[numpy.float32], mask: NDArray[numpy.bool_], limit: int) -> NDArray[numpy.int32]:
        """The memories in the mask with the best scores, best first, then oldest first."""
        if not len(mask):
            return numpy.empty(0, dtype=numpy.int32)
        keep = self.live & (mask[: len(scores)] if self.aligned else mask[self.places])
        kept = numpy.where(keep, scores, _NEVER)
        eligible = max(0, min(limit, int(numpy.count_nonzero(keep))))
        best = _best(kept, eligible)
        places = self.places[best]
        found: NDArray[numpy.int32] = places[numpy.lexsort((places, -kept[best]))[:eligible]]
        return found

    def vector(self, place: int) -> NDArray[numpy.float32] | None:
        """The current vector of a memory, None when it has none in this leg."""
        row, base = int(self.rows[place]), len(self.snapshot)
        if row < 0:
            return None
        found: NDArray[numpy.float32] = self.snapshot[row] if row < base else self.tail[row - base]
        return found

    def taken(self, rows: NDArray[numpy.int32]) -> NDArray[numpy.float32]:
        """A copy of the vectors of these rows."""
        base = len(self.snapshot)
        matrix = numpy.empty((len(rows), self.snapshot.shape[1]), dtype=numpy.float32)
        old = rows < base
        matrix[old] = self.snapshot[rows[old]]
        matrix[~old] = self.tail[rows[~old] - base]
        return matrix


class LegMatrix:
    """One leg's vectors: the mapped snapshot and, after it, the rows that came since.

    Row numbers run through both parts. A vector that was replaced or deleted leaves a dead row behind.

    Args:
        dimension: Length of every vector.
        snapshot: The rows to begin with.
        columns: Where the memories have their places; it holds every memory whose vector is appended.
    """

    def __init__(self, dimension: int, snapshot: Snapshot | None, columns: Places) -> None:
        empty = numpy.empty((0, dimension), dtype=numpy.float32)
        self._snapshot: NDArray[numpy.float32] = empty if snapshot is None else snapshot.matrix
        self._tail = empty
        self._dimension = dimension
        self._columns = columns
        keys = numpy.empty(0, dtype=numpy.int64) if snapshot is None else snapshot.keys
        self._count = len(keys)
        self._places = numpy.zeros(len(keys), dtype=numpy.int32)
        self._live = numpy.ones(len(keys), dtype=numpy.bool_)
        if snapshot is not None:
            self._live[snapshot.erased] = False
        self._rows = numpy.empty(0, dtype=numpy.int32)
        self._aligned = True
        self._place(keys, 0)

    @property
    def snapshot_rows(self) -> int:
        """How many rows lie in the mapped snapshot, dead ones included."""
        return len(self._snapshot)

    @property
    def tail_rows(self) -> int:
        """How many rows came after the snapshot."""
        return self._count - len(self._snapshot)

    def append(self, keys: NDArray[numpy.int64], vectors: NDArray[numpy.float32]) -> None:
        """Adds rows; a key that is there already has its old row die."""
        self.forget(keys)
        first, added = self._count, len(keys)
        self._reserve(first + added)
        start = first - len(self._snapshot)
        self._tail[start : start + added] = vectors
        self._live[first : first + added] = True
        self._count = first + added
        self._place(keys, first)

    def forget(self, keys: NDArray[numpy.int64]) -> None:
        """Lets the rows of these keys die."""
        self._widen()
        places, _ = self._columns.found(keys)
        rows = self._rows[places]
        self._live[rows[rows >= 0]] = False
        self._rows[places] = _NONE

    def view(self) -> LegView:
        """The leg as it is now."""
        self._widen()
        count = self._count
        return LegView(
            snapshot=self._snapshot,
            tail=self._tail[: count - len(self._snapshot)],
            places=self._places[:count],
            rows=self._rows[: len(self._columns.keys)].copy(),
            live=self._live[:count].copy(),
            aligned=self._aligned,
        )

    def compact(self) -> tuple[NDArray[numpy.int64], NDArray[numpy.float32]]:
        """All live rows, keys ascending: what the next snapshot holds."""
        rows = numpy.flatnonzero(self._live[: self._count])
        rows = rows[numpy.argsort(self._places[rows], kind="stable")]
        matrix = numpy.empty((len(rows), self._dimension), dtype=numpy.float32)
        old = rows < len(self._snapshot)
        matrix[old] = self._snapshot[rows[old]]
        matrix[~old] = self._tail[rows[~old] - len(self._snapshot)]
        return self._columns.keys[self._places[rows]], matrix

    def _place(self, keys: NDArray[numpy.int64], first: int) -> None:
        """Gives the rows from ``first`` on, which have these keys, their places; rows whose memory is gone die."""
        self._widen()
        places, known = self._columns.found(keys)
        rows = numpy.arange(first, self._count, dtype=numpy.int32)
        self._places[rows[known]] = places
        self._live[rows[~known]] = False
        live = self._live[rows[known]]
        self._rows[places[live]] = rows[known][live]
        self._aligned = self._aligned and bool(known.all()) and bool((places == rows).all())

    def _widen(self) -> None:
        """Makes room for a row of every memory."""
        size = len(self._columns.keys)
        if size > len(self._rows):
            rows = numpy.full(max(size, len(self._rows) + len(self._rows) // 4), _NONE, dtype=numpy.int32)
            rows[: len(self._rows)] = self._rows
            self._rows = rows

    def _reserve(self, size: int) -> None:
        if size > len(self._places):
            capacity = max(size, len(self._places) + len(self._places) // 4, 256)
            self._places = _grown(self._places, capacity, self._count)
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
