"""Exact vector search: one pass over a matrix, filtered before the best are taken, (DESIGN D3)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar, cast

import numpy
from numpy.typing import NDArray

from reasoningbank.storage.rows import Row, to_microseconds
from reasoningbank.storage.vector_codes import CODED_FROM, VectorCodes, closest, compared
from reasoningbank.storage.vector_file import Snapshot
from reasoningbank.types.memory import OUTCOMES, STATES
from reasoningbank.types.recall import Filter

GONE = -1
"""The state code of a deleted memory."""

_ARRAYS = (
    "_keys",
    "_outcome",
    "_state",
    "_category",
    "_confidence",
    "_created",
    "_tags",
    "_consolidated",
    "_indexed",
    "_context_start",
    "_context_words",
    "_name_ends",
)
"""The columns of Columns."""
_NAME = 11
"""Where a memory's id stands in a row."""


class Places(Protocol):
    """Where things that have keys stand in arrays that grow."""

    @property
    def keys(self) -> NDArray[numpy.int64]:
        """The keys of all rows, ascending."""

    def found(self, keys: NDArray[numpy.int64]) -> tuple[NDArray[numpy.int32], NDArray[numpy.bool_]]:
        """Return the rows of those keys that are held, and which of the keys these are."""


@dataclass(frozen=True, slots=True)
class Names:
    """The ids of memories by their places, one after another: as texts of their own they would take four times as much.

    Attributes:
        text: All ids in UTF-8; others may have been added after these.
        ends: Where each ends.
    """

    text: bytearray
    ends: NDArray[numpy.int64]

    def of(self, places: NDArray[numpy.int32] | NDArray[numpy.int64]) -> list[str]:
        """Return the ids at these places."""
        ends = self.ends[places]
        starts = numpy.where(places > 0, self.ends[places - 1], 0)
        text = self.text
        return [text[start:end].decode() for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]


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
        self._indexed = numpy.empty(0, dtype=numpy.int64)
        self._context_start = numpy.empty(0, dtype=numpy.int32)
        self._context_words = numpy.empty(0, dtype=numpy.int32)
        self._name_ends = numpy.empty(0, dtype=numpy.int64)
        self._name_text = bytearray()
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

    @property
    def names(self) -> Names:
        """The ids of all rows."""
        return Names(self._name_text, self._name_ends[: self._count])

    def apply(self, rows: Sequence[Row], deleted: Sequence[int]) -> None:
        """Take over rows of LOOK_SQL that hold columns, and forget deleted keys."""
        last = int(self._keys[self._count - 1]) if self._count else -1
        known = [row for row in rows if cast(int, row[0]) <= last]
        fresh = rows[len(known) :]
        for row in known:
            self._write(self._position(cast(int, row[0])), [row])
        if fresh:
            self._reserve(self._count + len(fresh))
            self._write(self._count, fresh)
            self._name(fresh)
            self._count += len(fresh)
        for key in deleted:
            if self._holds(key):
                self._state[self._position(key)] = GONE

    def found(self, keys: NDArray[numpy.int64]) -> tuple[NDArray[numpy.int32], NDArray[numpy.bool_]]:
        """Return the rows of those keys that are held, and which of the keys these are."""
        rows = numpy.searchsorted(self.keys, keys).astype(numpy.int32)
        held = rows < self._count
        held[held] = self.keys[rows[held]] == keys[held]
        return rows[held], held

    def derived_since(self, change: int) -> NDArray[numpy.int64]:
        """Return the keys of the memories whose derived parts were changed or made after a change."""
        return self.keys[self._indexed[: self._count] > change]

    def contexts(self) -> tuple[NDArray[numpy.int32], NDArray[numpy.int32]]:
        """Return where the words of each description begin and how many they are; none of a deleted memory."""
        size = self._count
        words = numpy.where(self.alive, self._context_words[:size], numpy.int32(0))
        return self._context_start[:size].copy(), words

    def mask(self, condition: Filter) -> NDArray[numpy.bool_]:
        """Return which rows meet the filter."""
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
        """Return which rows are of one of these categories."""
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
        keys, outcomes, states, categories, confidences, created, tags, consolidated, indexed, begin, words, _, _ = zip(
            *rows, strict=True
        )
        self._keys[start:end] = keys
        self._outcome[start:end] = [OUTCOMES.index(outcome) for outcome in outcomes]
        self._state[start:end] = [STATES.index(state) for state in states]
        self._category[start:end] = [self._categories.setdefault(name, len(self._categories)) for name in categories]
        self._confidence[start:end] = confidences
        self._created[start:end] = created
        self._tags[start:end] = [self._tag_set(text) for text in tags]
        self._consolidated[start:end] = consolidated
        self._indexed[start:end] = indexed
        self._context_start[start:end] = begin
        self._context_words[start:end] = words

    def _name(self, fresh: Sequence[Row]) -> None:
        """Add the ids of rows after the last: a memory keeps its own."""
        names = [cast(str, row[_NAME]).encode() for row in fresh]
        ends = numpy.cumsum([len(name) for name in names]) + len(self._name_text)
        self._name_ends[self._count : self._count + len(fresh)] = ends
        self._name_text += b"".join(names)

    def _tag_set(self, text: str) -> int:
        """Return the number of a list of tags as it is stored."""
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
        for name in _ARRAYS:
            old = getattr(self, name)
            grown = numpy.empty(capacity, dtype=old.dtype)
            grown[: self._count] = old[: self._count]
            setattr(self, name, grown)


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
        live: True when a row is its memory's current one.
        aligned: True when row i belongs to memory i.
        codes: The codes of the snapshot; None when it is small.
    """

    snapshot: NDArray[numpy.float32]
    tail: NDArray[numpy.float32]
    places: NDArray[numpy.int32]
    rows: NDArray[numpy.int32]
    live: NDArray[numpy.bool_]
    aligned: bool
    codes: VectorCodes | None = None

    def scores(self, vector: NDArray[numpy.float32]) -> NDArray[numpy.float32]:
        """Return the inner product with every row, dead ones included."""
        base = len(self.snapshot)
        if not base:
            alone: NDArray[numpy.float32] = numpy.dot(self.tail, vector)
            return alone
        scores = numpy.empty(base + len(self.tail), dtype=numpy.float32)
        numpy.dot(self.snapshot, vector, out=scores[:base])
        numpy.dot(self.tail, vector, out=scores[base:])
        return scores

    def nearest(self, scores: NDArray[numpy.float32], mask: NDArray[numpy.bool_], limit: int) -> NDArray[numpy.int32]:
        """Return the memories in the mask with the best scores, best first, then oldest first."""
        if not len(mask):
            return numpy.empty(0, dtype=numpy.int32)
        keep = self._kept(mask)
        kept = numpy.where(keep, scores, _NEVER)
        eligible = max(0, min(limit, int(numpy.count_nonzero(keep))))
        best = _best(kept, eligible)
        places = self.places[best]
        found: NDArray[numpy.int32] = places[numpy.lexsort((places, -kept[best]))[:eligible]]
        return found

    def nearest_coded(
        self,
        distances: NDArray[numpy.uint16],
        vector: NDArray[numpy.float32],
        mask: NDArray[numpy.bool_],
        limit: int,
        wanted: int,
    ) -> NDArray[numpy.int32]:
        """Return the same, comparing exactly what came since the snapshot, and of the snapshot what codes say is near.

        Args:
            distances: Of the codes of the snapshot from that of the vector.
            vector: What is compared.
            mask: The memories.
            limit: Most memories.
            wanted: How many of the snapshot are compared.
        """
        keep = self._kept(mask)
        base = len(distances)
        near, since = closest(distances, keep[:base], wanted), numpy.flatnonzero(keep[base:]) + base
        rows = numpy.concatenate([near, since]).astype(numpy.int32)
        scores, places = compared(self.taken(rows), vector), self.places[rows]
        found: NDArray[numpy.int32] = places[numpy.lexsort((places, -scores))[:limit]]
        return found

    def _kept(self, mask: NDArray[numpy.bool_]) -> NDArray[numpy.bool_]:
        """Return which rows are the current ones of memories in the mask."""
        return self.live & (mask[: len(self.live)] if self.aligned else mask[self.places])

    def nearest_each(
        self, vectors: NDArray[numpy.float32], mask: NDArray[numpy.bool_]
    ) -> tuple[NDArray[numpy.int32], NDArray[numpy.float32]]:
        """Return for each vector the memory in the mask with the best score, the oldest of equals, and that score.

        No memories when there is none in the mask. One product of matrices compares all vectors: one by one, each would
        read all rows from memory again.
        """
        rows = numpy.flatnonzero(self._kept(mask))
        if not len(rows):
            return numpy.empty(0, dtype=numpy.int32), numpy.empty(0, dtype=numpy.float32)
        base = len(self.snapshot)
        scores = numpy.empty((base + len(self.tail), len(vectors)), dtype=numpy.float32)
        numpy.matmul(self.snapshot, vectors.T, out=scores[:base])
        numpy.matmul(self.tail, vectors.T, out=scores[base:])
        among = scores[rows]
        best = among.max(axis=0)
        places = [self.places[rows[each == most]].min() for each, most in zip(among.T, best, strict=True)]
        return numpy.array(places, dtype=numpy.int32), best

    def vector(self, place: int) -> NDArray[numpy.float32] | None:
        """Return the current vector of a memory, None when it has none in this leg."""
        row, base = int(self.rows[place]), len(self.snapshot)
        if row < 0:
            return None
        found: NDArray[numpy.float32] = self.snapshot[row] if row < base else self.tail[row - base]
        return found

    def taken(self, rows: NDArray[numpy.int32]) -> NDArray[numpy.float32]:
        """Return a copy of the vectors of these rows."""
        base = len(self.snapshot)
        if not base or not len(self.tail):
            whole: NDArray[numpy.float32] = (self.snapshot if base else self.tail)[rows]
            return whole
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
        self._codes = VectorCodes(self._snapshot) if len(self._snapshot) >= CODED_FROM else None
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
        """Add rows; a key that is there already has its old row die."""
        self.forget(keys)
        first, added = self._count, len(keys)
        self._reserve(first + added)
        start = first - len(self._snapshot)
        self._tail[start : start + added] = vectors
        self._live[first : first + added] = True
        self._count = first + added
        self._place(keys, first)

    def forget(self, keys: NDArray[numpy.int64]) -> None:
        """Let the rows of these keys die."""
        self._widen()
        places, _ = self._columns.found(keys)
        rows = self._rows[places]
        self._live[rows[rows >= 0]] = False
        self._rows[places] = _NONE

    def view(self) -> LegView:
        """Return the leg as it is now."""
        self._widen()
        count = self._count
        return LegView(
            snapshot=self._snapshot,
            tail=self._tail[: count - len(self._snapshot)],
            places=self._places[:count],
            rows=self._rows[: len(self._columns.keys)].copy(),
            live=self._live[:count].copy(),
            aligned=self._aligned,
            codes=self._codes,
        )

    def compact(self) -> tuple[NDArray[numpy.int64], NDArray[numpy.float32]]:
        """Return all live rows, keys ascending: what the next snapshot holds."""
        rows = numpy.flatnonzero(self._live[: self._count])
        rows = rows[numpy.argsort(self._places[rows], kind="stable")]
        matrix = numpy.empty((len(rows), self._dimension), dtype=numpy.float32)
        old = rows < len(self._snapshot)
        matrix[old] = self._snapshot[rows[old]]
        matrix[~old] = self._tail[rows[~old] - len(self._snapshot)]
        return self._columns.keys[self._places[rows]], matrix

    def _place(self, keys: NDArray[numpy.int64], first: int) -> None:
        """Give the rows from ``first`` on, which have these keys, their places; rows whose memory is gone die."""
        self._widen()
        places, known = self._columns.found(keys)
        rows = numpy.arange(first, self._count, dtype=numpy.int32)
        self._places[rows[known]] = places
        self._live[rows[~known]] = False
        live = self._live[rows[known]]
        self._rows[places[live]] = rows[known][live]
        self._aligned = self._aligned and bool(known.all()) and bool((places == rows).all())

    def _widen(self) -> None:
        """Make room for a row of every memory."""
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
    """Return places of the best scores: the wanted ones and all that equal the last of them.

    The wanted-th best of the maxima of blocks is not above the wanted-th best score, so that only the few scores from
    it upwards need to be ranked.
    """
    if wanted == 0:
        return numpy.empty(0, dtype=numpy.intp)
    blocks = len(scores) // _BLOCK
    if blocks <= wanted:
        return _reaching(scores, wanted)
    heads = scores[: blocks * _BLOCK].reshape(blocks, _BLOCK).max(axis=1)
    bound = numpy.partition(heads, blocks - wanted)[blocks - wanted]
    places = (scores >= bound).nonzero()[0]
    best: NDArray[numpy.intp] = places[_reaching(scores[places], wanted)]
    return best


def _reaching(scores: NDArray[numpy.float32], wanted: int) -> NDArray[numpy.intp]:
    """Return the places of the wanted best scores, and of all that equal the last of them."""
    worst = numpy.partition(scores, len(scores) - wanted)[len(scores) - wanted]
    reaching: NDArray[numpy.intp] = (scores >= worst).nonzero()[0]
    return reaching


def _grown(old: NDArray[_Item], capacity: int, used: int) -> NDArray[_Item]:
    grown = numpy.empty(capacity, dtype=old.dtype)
    grown[:used] = old[:used]
    return grown
