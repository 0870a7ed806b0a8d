"""The dense legs of one search: vectors that are held in memory, or those of memories that an index beside names."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Protocol, cast

import numpy
from numpy.typing import NDArray

from reasoningbank.errors import BankError
from reasoningbank.storage.index_port import Near, Nearby
from reasoningbank.storage.rows import LEGS_PER_KEY, vector_id
from reasoningbank.storage.search_sql import CHANGED_KEYS_SQL, NAMED_VECTORS_SQL
from reasoningbank.storage.vector_codes import compared, enough_for, is_few
from reasoningbank.storage.vector_index import VectorReader, View, decoded_vectors
from reasoningbank.types.recall import DENSE_LEGS, Filter

_Places = NDArray[numpy.int32] | NDArray[numpy.int64]
_SPARE = 32
"""An index is asked for so many more than are wanted: its scores are rounded in another way."""
_WIDER = 4
_MOST_NAMED = 16_384
"""An index is asked for so many at most; more memories of one score are not told apart by their age."""
_EQUAL = 1e-5
"""Scores that are closer than this may be equal ones."""
_EVERY_CHANGE = 2**62
_AT_ONCE = 8_192
"""So many vectors are read from the bank at once."""


class DenseLegs(Protocol):
    """The dense legs in one state of a bank; conditions are numbered as those of the view."""

    @property
    def in_memory(self) -> bool:
        """Whether a thread of its own may compare the vectors while the bank is read."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What went wrong with the comparison, although it was made."""

    def nearest(
        self, leg: str, vector: NDArray[numpy.float32], mask: NDArray[numpy.bool_], limit: int, number: int = 0
    ) -> _Places:
        """Return the memories in the mask with the best scores, best first, then oldest first.

        Args:
            leg: The leg.
            vector: Compared in it.
            mask: The memories; all of them meet the condition.
            limit: Most memories.
            number: The number of the condition.
        """

    def nearest_pools(
        self, vector: NDArray[numpy.float32], limits: Sequence[int], text: str
    ) -> Mapping[str, Sequence[_Places]]:
        """Return per leg of the fused search what ``nearest`` gives for each condition, with the limit of each."""

    def nearest_each(
        self, leg: str, vectors: NDArray[numpy.float32], number: int
    ) -> tuple[_Places, NDArray[numpy.float32]]:
        """Return for each vector the memory with the best score that meets a condition, and that score.

        None when no memory does.
        """

    def scores(
        self, leg: str, vector: NDArray[numpy.float32], places: _Places
    ) -> tuple[NDArray[numpy.intp], NDArray[numpy.float32]]:
        """Return which of these memories have a vector in the leg, by their numbers in the list, and their scores."""

    def vectors(self, leg: str, places: _Places) -> tuple[NDArray[numpy.intp], NDArray[numpy.float32]]:
        """Return which of these memories have a vector in the leg, by their numbers, and copies of the vectors."""

    def every(self, leg: str, mask: NDArray[numpy.bool_]) -> tuple[_Places, NDArray[numpy.float32]]:
        """Return the memories in the mask that have a vector in the leg, oldest first, and copies of the vectors."""


class HeldLegs:
    """All vectors of a view in memory: every comparison is one pass over a leg, of a large one over its codes.

    See DESIGN D3.
    """

    in_memory = True

    def __init__(self, view: View, warnings: tuple[str, ...] = ()) -> None:
        self.warnings = warnings
        self._view = view
        self._scanned: dict[str, tuple[NDArray[numpy.float32], NDArray[numpy.float32]]] = {}
        self._distances: dict[str, tuple[NDArray[numpy.float32], NDArray[numpy.uint16]]] = {}

    def nearest(
        self,
        leg: str,
        vector: NDArray[numpy.float32],
        mask: NDArray[numpy.bool_],
        limit: int,
        number: int = 0,  # noqa: ARG002 - as the port has it
    ) -> _Places:
        held = self._view.legs.get(leg)
        if held is None:
            return _nobody()
        if held.codes is None or (wanted := enough_for(limit, len(held.snapshot))) is None:
            return held.nearest(self._scan(leg, vector), mask, limit)
        known = self._distances.get(leg)
        if known is None or known[0] is not vector:
            known = self._distances[leg] = (vector, held.codes.distances(vector))
        return held.nearest_coded(known[1], vector, mask, limit, wanted)

    def nearest_pools(
        self,
        vector: NDArray[numpy.float32],
        limits: Sequence[int],
        text: str,  # noqa: ARG002 - as the port has it
    ) -> Mapping[str, Sequence[_Places]]:
        pools = list(zip(self._view.masks, limits, strict=True))
        return {leg: [self.nearest(leg, vector, mask, limit) for mask, limit in pools] for leg in DENSE_LEGS}

    def nearest_each(
        self, leg: str, vectors: NDArray[numpy.float32], number: int
    ) -> tuple[_Places, NDArray[numpy.float32]]:
        held = self._view.legs.get(leg)
        if held is None:
            return _nobody(), numpy.empty(0, dtype=numpy.float32)
        return held.nearest_each(vectors, self._view.masks[number])

    def scores(
        self, leg: str, vector: NDArray[numpy.float32], places: _Places
    ) -> tuple[NDArray[numpy.intp], NDArray[numpy.float32]]:
        held = self._view.legs.get(leg)
        if held is None:
            return numpy.empty(0, dtype=numpy.intp), numpy.empty(0, dtype=numpy.float32)
        rows = held.rows[places]
        present = numpy.flatnonzero(rows >= 0)
        if held.codes is not None and not self._is_scanned(leg, vector) and is_few(len(present), len(held.snapshot)):
            return present, compared(held.taken(rows[present]), vector)
        return present, self._scan(leg, vector)[rows[present]]

    def vectors(self, leg: str, places: _Places) -> tuple[NDArray[numpy.intp], NDArray[numpy.float32]]:
        held = self._view.legs.get(leg)
        if held is None:
            return numpy.empty(0, dtype=numpy.intp), numpy.empty((0, 1), dtype=numpy.float32)
        rows = held.rows[places]
        present = numpy.flatnonzero(rows >= 0)
        return present, held.taken(rows[present])

    def every(self, leg: str, mask: NDArray[numpy.bool_]) -> tuple[_Places, NDArray[numpy.float32]]:
        held = self._view.legs.get(leg)
        if held is None:
            return _nobody(), numpy.empty((0, 1), dtype=numpy.float32)
        places = numpy.flatnonzero(mask & (held.rows >= 0))
        return places, held.taken(held.rows[places])

    def _scan(self, leg: str, vector: NDArray[numpy.float32]) -> NDArray[numpy.float32]:
        """Return the scores of all rows of a leg, compared once for a vector."""
        if not self._is_scanned(leg, vector):
            self._scanned[leg] = (vector, self._view.legs[leg].scores(vector))
        return self._scanned[leg][1]

    def _is_scanned(self, leg: str, vector: NDArray[numpy.float32]) -> bool:
        known = self._scanned.get(leg)
        return known is not None and known[0] is vector


class NamedLegs:
    """Vectors that are read from the bank when an index beside it names their memories.

    What the index says are proposals: conditions and scores are those of the bank. Memories that were changed after
    what the index knows are compared beside those that it names. An index that does not answer is replaced by reading
    every vector of the leg.

    Args:
        view: The state of the bank.
        source: Reads it.
        conditions: Those of the view's masks.
        nearby: The index.
    """

    in_memory = False

    def __init__(self, view: View, source: VectorReader, conditions: Sequence[Filter], nearby: Nearby) -> None:
        self._view = view
        self._source = source
        self._conditions = conditions
        self._nearby = nearby
        self._read: dict[str, dict[int, NDArray[numpy.float32]]] = {}
        self._asked: dict[str, set[int]] = {}
        self._changed: tuple[int, NDArray[numpy.int64]] | None = None
        self._failure = ""

    @property
    def warnings(self) -> tuple[str, ...]:
        return (self._failure,) if self._failure else ()

    def nearest(
        self,
        leg: str,
        vector: NDArray[numpy.float32],
        mask: NDArray[numpy.bool_],
        limit: int,
        number: int = 0,
    ) -> _Places:
        if limit <= 0:
            return _nobody()
        condition = self._conditions[number]
        [found] = self._found([(Near(leg=leg, vector=vector, condition=condition, limit=limit), mask)])
        return found[0]

    def nearest_pools(
        self, vector: NDArray[numpy.float32], limits: Sequence[int], text: str
    ) -> Mapping[str, Sequence[_Places]]:
        wanted = [
            (Near(leg=leg, vector=vector, condition=condition, limit=limit, text=text), mask)
            for leg in DENSE_LEGS
            for condition, mask, limit in zip(self._conditions, self._view.masks, limits, strict=True)
        ]
        found = iter(self._found(wanted))
        return {leg: [next(found)[0] for _ in limits] for leg in DENSE_LEGS}

    def nearest_each(
        self, leg: str, vectors: NDArray[numpy.float32], number: int
    ) -> tuple[_Places, NDArray[numpy.float32]]:
        mask, condition = self._view.masks[number], self._conditions[number]
        found = self._found([(Near(leg=leg, vector=each, condition=condition, limit=1), mask) for each in vectors])
        if not all(len(places) for places, _ in found):
            return _nobody(), numpy.empty(0, dtype=numpy.float32)
        places = numpy.array([each[0] for each, _ in found], dtype=numpy.int64)
        return places, numpy.array([scores[0] for _, scores in found], dtype=numpy.float32)

    def scores(
        self, leg: str, vector: NDArray[numpy.float32], places: _Places
    ) -> tuple[NDArray[numpy.intp], NDArray[numpy.float32]]:
        present, matrix = self.vectors(leg, places)
        return present, _compared(matrix, vector)

    def vectors(self, leg: str, places: _Places) -> tuple[NDArray[numpy.intp], NDArray[numpy.float32]]:
        known = self._known(leg, places)
        present = [number for number, place in enumerate(places.tolist()) if place in known]
        if not present:
            return numpy.empty(0, dtype=numpy.intp), numpy.empty((0, 1), dtype=numpy.float32)
        return numpy.array(present, dtype=numpy.intp), numpy.stack([known[int(places[number])] for number in present])

    def every(self, leg: str, mask: NDArray[numpy.bool_]) -> tuple[_Places, NDArray[numpy.float32]]:
        places = numpy.flatnonzero(mask)
        parts = [
            self._vectors_of(leg, places[start : start + _AT_ONCE]) for start in range(0, len(places), _AT_ONCE)
        ] or [(places, numpy.empty((0, 1), dtype=numpy.float32))]
        whole = [part for part in parts if len(part[0])] or parts[:1]
        return numpy.concatenate([part[0] for part in whole]), numpy.concatenate([part[1] for part in whole])

    def _found(self, wanted: Sequence[tuple[Near, NDArray[numpy.bool_]]]) -> Sequence[tuple[_Places, _Scores]]:
        """Return the best memories of each wish, and their scores."""
        found: list[tuple[_Places, _Scores] | None] = [None] * len(wanted)
        if not self._view.model_id:
            return [(_nobody(), _no_scores())] * len(wanted)
        open_ = [number for number, (near, _) in enumerate(wanted) if near.limit > 0]
        for number, (near, _) in enumerate(wanted):
            if near.limit <= 0:
                found[number] = (_nobody(), numpy.empty(0, dtype=numpy.float32))
        more = _SPARE
        while open_ and not self._failure:
            asked = [wanted[number][0].widened(more) for number in open_]
            try:
                answer = self._nearby.near(asked, self._view.facts)
                changed = self._places_changed(answer.change)
            except BankError as error:
                self._failure = self._nearby.failed(error)
                break
            left = []
            for number, named in zip(open_, answer.named, strict=True):
                near, mask = wanted[number]
                places = self._places_of(named.keys)
                least = named.least
                if least is not None and math.isnan(least):
                    least = self._least(near, places, near.limit + more)
                found[number] = best = self._best(near, mask, numpy.union1d(places, changed))
                if not self._enough(near, best[1], least) and near.limit + more < _MOST_NAMED:
                    left.append(number)
            open_, more = left, more * _WIDER
        for number in open_ if self._failure else ():
            near, mask = wanted[number]
            every, matrix = self.every(near.leg, mask)
            found[number] = _ordered(every, _compared(matrix, near.vector), near.limit)
        return [each for each in found if each is not None]

    def _least(self, near: Near, places: NDArray[numpy.int64], limit: int) -> float:
        """Return what no memory that is not named can surpass, when the best of the leg up to a limit are named."""
        scores = numpy.sort(self.scores(near.leg, near.vector, places)[1])[::-1]
        return float(scores[limit - 1]) if len(scores) >= limit else math.inf

    def _enough(self, near: Near, scores: _Scores, least: float | None) -> bool:
        """Return whether what an index has not named cannot be among the best.

        Args:
            near: What was wanted.
            scores: The exact scores of the best.
            least: The least score that the index has named; None when it has named all that it holds.
        """
        return least is None or (len(scores) >= near.limit and float(scores[-1]) > least + _EQUAL)

    def _best(self, near: Near, mask: NDArray[numpy.bool_], places: NDArray[numpy.int64]) -> tuple[_Places, _Scores]:
        places = places[mask[places]]
        present, scores = self.scores(near.leg, near.vector, places)
        return _ordered(places[present], scores, near.limit)

    def _places_of(self, keys: Sequence[int]) -> NDArray[numpy.int64]:
        """Return the places of those of these keys that the bank has."""
        named = numpy.unique(numpy.array(list(keys), dtype=numpy.int64))
        if not len(self._view.keys):
            return numpy.empty(0, dtype=numpy.int64)
        places = numpy.minimum(numpy.searchsorted(self._view.keys, named), len(self._view.keys) - 1)
        known: NDArray[numpy.int64] = places[self._view.keys[places] == named]
        return known

    def _places_changed(self, change: int) -> NDArray[numpy.int64]:
        """Return the memories that were changed after a change; raise StoreUnavailable when they are too many."""
        if self._changed is None or self._changed[0] != change:
            rows = self._source.run(CHANGED_KEYS_SQL, (change, self._nearby.most_changed + 1))
            self._nearby.check_behind(len(rows))
            self._changed = (change, self._places_of([cast(int, row[0]) for row in rows]))
        return self._changed[1]

    def _known(self, leg: str, places: _Places) -> Mapping[int, NDArray[numpy.float32]]:
        """Return the vectors of those of these memories that have one in the leg; each is read once."""
        known, asked = self._read.setdefault(leg, {}), self._asked.setdefault(leg, set())
        missing = numpy.array([place for place in places.tolist() if place not in asked], dtype=numpy.int64)
        for start in range(0, len(missing), _AT_ONCE):
            found, matrix = self._vectors_of(leg, missing[start : start + _AT_ONCE])
            known.update(zip(found.tolist(), matrix, strict=True))
        asked.update(missing.tolist())
        return known

    def _vectors_of(self, leg: str, places: _Places) -> tuple[NDArray[numpy.int64], NDArray[numpy.float32]]:
        """Return those of these memories that have a vector in the leg, oldest first, and the vectors."""
        keys = str(self._view.keys[places].tolist())
        rows = self._source.run(NAMED_VECTORS_SQL, (LEGS_PER_KEY, vector_id(0, leg), _EVERY_CHANGE, keys))
        if not rows:
            return numpy.empty(0, dtype=numpy.int64), numpy.empty((0, 1), dtype=numpy.float32)
        found = numpy.array([row[0] for row in rows], dtype=numpy.int64) // LEGS_PER_KEY
        return self._view.places(found), decoded_vectors(rows)


_Scores = NDArray[numpy.float32]


def _compared(matrix: NDArray[numpy.float32], vector: NDArray[numpy.float32]) -> _Scores:
    """Return the inner products of rows: that of a row is the same whatever other rows there are."""
    if not len(matrix):
        return _no_scores()
    products: _Scores = (matrix * vector).sum(axis=1, dtype=numpy.float32)
    return products


def _ordered(places: _Places, scores: _Scores, limit: int) -> tuple[_Places, _Scores]:
    """Return the best of these memories, best first, then oldest first."""
    order = numpy.lexsort((places, -scores))[:limit]
    return places[order], scores[order]


def _nobody() -> NDArray[numpy.int64]:
    return numpy.empty(0, dtype=numpy.int64)


def _no_scores() -> _Scores:
    return numpy.empty(0, dtype=numpy.float32)
