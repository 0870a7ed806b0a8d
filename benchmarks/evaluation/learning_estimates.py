"""Numbers with their 95 % intervals: shares, means and statistics of samples that come in groups."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy
from numpy.typing import NDArray

from evaluation.measures import RESAMPLES, Numbers

_Z = 1.959963984540054
Indexes = NDArray[numpy.intp]


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A number measured on a sample.

    Attributes:
        value: The number; not a number when there was nothing to measure.
        low: Lower end of the 95 % interval.
        high: Upper end.
        count: How many things it was measured on.
    """

    value: float
    low: float
    high: float
    count: int


NOTHING = Estimate(value=math.nan, low=math.nan, high=math.nan, count=0)
"""What was measured on nothing."""


def share(hits: int, total: int) -> Estimate:
    """A proportion with its Wilson score interval (Wilson, 1927); it is right for 0 and for all as well."""
    if not total:
        return NOTHING
    part, square = hits / total, _Z * _Z
    middle = (part + square / (2 * total)) / (1 + square / total)
    half = _Z * math.sqrt(part * (1 - part) / total + square / (4 * total * total)) / (1 + square / total)
    return Estimate(value=part, low=max(0.0, middle - half), high=min(1.0, middle + half), count=total)


def average(values: Sequence[float], groups: Sequence[Hashable]) -> Estimate:
    """A mean with its bootstrap interval; whole groups are drawn, as what is in one group is alike."""
    numbers = numpy.asarray(values, dtype=numpy.float64)
    return resampled(lambda chosen: float(numbers[chosen].mean()), groups)


def resampled(statistic: Callable[[Indexes], float], groups: Sequence[Hashable], seed: int = 1) -> Estimate:
    """A statistic with its bootstrap interval: percentiles over 2,000 draws of whole groups, the same ones every time.

    Args:
        statistic: The number for a sample, given as indexes; not a number where it cannot be told.
        groups: The group that each thing of the sample belongs to.
        seed: Of the draws.
    """
    members: dict[Hashable, list[int]] = defaultdict(list)
    for index, group in enumerate(groups):
        members[group].append(index)
    if not members:
        return NOTHING
    parts = [numpy.array(each, dtype=numpy.intp) for each in members.values()]
    chance = numpy.random.default_rng(seed)
    drawn = chance.integers(0, len(parts), (RESAMPLES, len(parts)))
    values = numpy.array([statistic(numpy.concatenate([parts[one] for one in draw])) for draw in drawn])
    values = values[~numpy.isnan(values)]
    low, high = numpy.percentile(values, [2.5, 97.5]) if values.size else (math.nan, math.nan)
    everything = numpy.arange(len(groups), dtype=numpy.intp)
    return Estimate(value=statistic(everything), low=float(low), high=float(high), count=len(groups))


def auroc(probabilities: Numbers, truths: NDArray[numpy.bool_]) -> float:
    """How often a success has a higher probability than a failure, ties count half; not a number without both."""
    successes, failures = probabilities[truths], probabilities[~truths]
    if not (successes.size and failures.size):
        return math.nan
    gaps = successes[:, None] - failures[None, :]
    return float(((gaps > 0) + 0.5 * (gaps == 0)).mean())


def brier(probabilities: Numbers, truths: NDArray[numpy.bool_]) -> float:
    """Mean squared distance of the probability from 1 for a success and 0 for a failure (Brier, 1950)."""
    return float(((probabilities - truths) ** 2).mean()) if probabilities.size else math.nan
