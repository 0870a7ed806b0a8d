"""Searches of a leg that is large enough for codes, against the exact comparison of all its vectors."""

from __future__ import annotations

import numpy
import pytest
from numpy.typing import NDArray

from promises import promise
from reasoningbank.storage.vector_codes import CODED_FROM, VectorCodes, enough_for
from reasoningbank.storage.vector_file import Header, Snapshot
from reasoningbank.storage.vector_search import LegMatrix, LegView

ROWS, WIDTH, TOP = CODED_FROM + 1_000, 96, 10


class Known:
    """The places of memories whose keys are their places."""

    def __init__(self, count: int) -> None:
        self.keys = numpy.arange(count, dtype=numpy.int64)

    def found(self, keys: NDArray[numpy.int64]) -> tuple[NDArray[numpy.int32], NDArray[numpy.bool_]]:
        held = keys < len(self.keys)
        return keys[held].astype(numpy.int32), held


def unit(vectors: NDArray[numpy.float64]) -> NDArray[numpy.float32]:
    scaled: NDArray[numpy.float32] = (vectors / numpy.linalg.norm(vectors, axis=-1, keepdims=True)).astype(
        numpy.float32
    )
    return scaled


@pytest.fixture(scope="module")
def vectors() -> NDArray[numpy.float32]:
    """Vectors in groups, as texts about few subjects have them, all to one side of the origin."""
    chance = numpy.random.default_rng(3)
    middles = chance.standard_normal((300, WIDTH)) + 0.8
    return unit(middles[chance.integers(300, size=ROWS + 50)] + 0.6 * chance.standard_normal((ROWS + 50, WIDTH)))


@pytest.fixture(scope="module")
def leg(vectors: NDArray[numpy.float32]) -> LegView:
    """A leg with a snapshot, rows that came after it, changed and deleted memories."""
    keys = numpy.arange(ROWS, dtype=numpy.int64)
    header = Header(bank="b s", leg="content", model_id="m", dimension=WIDTH, rows=ROWS, change=1, token="t")
    snapshot = Snapshot(header=header, keys=keys, matrix=vectors[:ROWS], erased=numpy.empty(0, dtype=numpy.int64))
    matrix = LegMatrix(WIDTH, snapshot, Known(ROWS + 50))
    matrix.append(numpy.arange(ROWS, ROWS + 50), vectors[ROWS:])
    matrix.append(numpy.arange(20), vectors[100:120])
    matrix.forget(numpy.arange(40, 60))
    return matrix.view()


def searched(leg: LegView, vector: NDArray[numpy.float32], mask: NDArray[numpy.bool_]) -> list[int]:
    assert leg.codes is not None
    wanted = enough_for(TOP, len(leg.snapshot))
    assert wanted is not None
    found: list[int] = leg.nearest_coded(leg.codes.distances(vector), vector, mask, TOP, wanted).tolist()
    return found


@promise(
    "search:codes",
    "A search of 50,000 vectors or more finds at least 99 in 100 of the ten that are closest, whatever the filter, and "
    "none that is deleted, changed or filtered away.",
    source="issue 17",
)
@pytest.mark.parametrize("one_in", [1, 3, 50, 5_000])
def test_what_codes_tell_is_what_an_exact_comparison_finds(
    leg: LegView, vectors: NDArray[numpy.float32], one_in: int
) -> None:
    chance = numpy.random.default_rng(one_in)
    mask = numpy.arange(ROWS + 50) % one_in == 0
    right = total = 0
    for number in chance.integers(ROWS + 50, size=60):
        vector = unit(vectors[number] + 0.05 * chance.standard_normal(WIDTH))
        exact = leg.nearest(leg.scores(vector), mask, TOP).tolist()
        found = searched(leg, vector, mask)
        assert mask[found].all()
        assert not set(found) & set(range(40, 60))
        right += len(set(found) & set(exact))
        total += len(exact)
    assert total >= 60 * min(TOP, mask.sum() - 1)
    assert right >= 0.99 * total


@promise("search:codes")
def test_what_is_new_or_changed_is_found_by_its_own_vector(leg: LegView, vectors: NDArray[numpy.float32]) -> None:
    everything = numpy.ones(ROWS + 50, dtype=numpy.bool_)
    assert searched(leg, vectors[ROWS + 7], everything)[0] == ROWS + 7
    assert searched(leg, vectors[105], everything)[:2] == [5, 105]
    assert 5 not in searched(leg, vectors[5], everything)
    assert searched(leg, vectors[5], numpy.zeros(ROWS + 50, dtype=numpy.bool_)) == []


@promise("search:codes")
def test_a_distance_is_the_number_of_other_bits(vectors: NDArray[numpy.float32]) -> None:
    some = vectors[:40, :70]
    middle = some.mean(axis=0, dtype=numpy.float64).astype(numpy.float32)
    expected = ((some > middle) != (some[3] > middle)).sum(axis=1)
    assert VectorCodes(numpy.ascontiguousarray(some)).distances(some[3]).tolist() == expected.tolist()


@promise("search:codes")
def test_few_vectors_and_many_hits_need_no_codes() -> None:
    assert enough_for(TOP, CODED_FROM - 1) is None
    assert enough_for(CODED_FROM, CODED_FROM) is None
    assert enough_for(TOP, 100_000) == 3_125
