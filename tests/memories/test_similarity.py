"""The cosine of two vectors keeps the rules of seed 004 ``CosineSimilarity``."""

from __future__ import annotations

import math

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promises import promise
from reasoningbank.memories.similarity import cosine_similarity

pytestmark = promise("contextd:41", "Cosine similarity keeps its fifteen rules.", source="spec/contextd row 41")

numbers = st.floats(-1e6, 1e6, allow_subnormal=False)
pairs = st.integers(1, 8).flatmap(
    lambda size: st.tuples(*[st.lists(numbers, min_size=size, max_size=size) for _ in range(2)])
)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([1.0, 2.0, 3.0], [1.0, 2.0, 3.0], 1.0),
        ([1.0, 0.0], [0.0, 1.0], 0.0),
        ([1.0, 2.0], [-1.0, -2.0], -1.0),
        ([1.0, 2.0, 3.0], [10.0, 20.0, 30.0], 1.0),
        ([1.0, 2.0, 3.0], [1e-30, 2e-30, 3e-30], 1.0),
        ([3.0, 4.0], [4.0, 3.0], 0.96),
        ([1.0, 1.0], [1.0, 0.0], 1 / math.sqrt(2)),
        ([-1.0, 1.0], [1.0, 1.0], 0.0),
        ([2.0], [5.0], 1.0),
        ([2.0], [-5.0], -1.0),
        ([1e38, 1e38], [1e38, 1e38], 1.0),
        ([], [], 0.0),
        ([], [1.0], 0.0),
        ([1.0, 2.0], [1.0, 2.0, 3.0], 0.0),
        ([0.0, 0.0], [1.0, 2.0], 0.0),
        ([1.0, 2.0], [0.0, 0.0], 0.0),
        ([0.0], [0.0], 0.0),
    ],
)
def test_known_cases(first: list[float], second: list[float], expected: float) -> None:
    assert cosine_similarity(first, second) == pytest.approx(expected, abs=1e-12)
    arrays = (numpy.array(first, dtype=numpy.float32), numpy.array(second, dtype=numpy.float32))
    assert cosine_similarity(*arrays) == pytest.approx(expected, abs=1e-6)


@given(pairs)
def test_it_is_symmetric_and_bounded(pair: tuple[list[float], list[float]]) -> None:
    first, second = pair
    cosine = cosine_similarity(first, second)
    assert -1.0 <= cosine <= 1.0
    assert cosine == pytest.approx(cosine_similarity(second, first), abs=1e-12)


@given(pairs, st.floats(1e-3, 1e3))
def test_length_does_not_matter_and_direction_does(pair: tuple[list[float], list[float]], factor: float) -> None:
    first, second = pair
    cosine = cosine_similarity(first, second)
    assert cosine_similarity([factor * number for number in first], second) == pytest.approx(cosine, abs=1e-9)
    assert cosine_similarity([-number for number in first], second) == pytest.approx(-cosine, abs=1e-9)
