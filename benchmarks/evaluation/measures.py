"""Measures of a ranking, and how sure they are."""

from __future__ import annotations

import math
from collections.abc import Sequence, Set

import numpy
from numpy.typing import NDArray

DEPTH = 10
"""How far down a ranking is looked at."""
RESAMPLES = 2_000

Numbers = NDArray[numpy.float64]


def ndcg(ranking: Sequence[str], relevant: Set[str], depth: int = DEPTH) -> float:
    """nDCG with binary relevance: sum of ``1 / log2(rank + 1)`` over the relevant, divided by the best possible."""
    gained = sum(1 / math.log2(place + 2) for place, key in enumerate(ranking[:depth]) if key in relevant)
    return gained / sum(1 / math.log2(place + 2) for place in range(min(depth, len(relevant))))


def recall(ranking: Sequence[str], relevant: Set[str], depth: int = DEPTH) -> float:
    """Share of the relevant that are among the first ``depth``, of at most ``depth``."""
    return len(set(ranking[:depth]) & relevant) / min(depth, len(relevant))


def interval(values: Sequence[float] | Numbers, seed: int = 1) -> tuple[float, float]:
    """The 95 % bootstrap interval of the mean: percentiles of 2,000 resamples, the same ones every time."""
    numbers = numpy.asarray(values, dtype=numpy.float64)
    if not numbers.size:
        return math.nan, math.nan
    chosen = numpy.random.default_rng(seed).integers(0, numbers.size, (RESAMPLES, numbers.size))
    low, high = numpy.percentile(numbers[chosen].mean(axis=1), [2.5, 97.5])
    return float(low), float(high)


def mean(values: Sequence[float] | Numbers) -> float:
    """The mean; not a number when there is nothing."""
    numbers = numpy.asarray(values, dtype=numpy.float64)
    return float(numbers.mean()) if numbers.size else math.nan
