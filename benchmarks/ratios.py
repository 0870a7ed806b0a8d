"""Fair comparisons: two pieces of work in turns inside one run, medians and their ratio."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Comparison:
    """Medians of two pieces of work in milliseconds, and the median of their ratios pair by pair."""

    ours: float
    theirs: float
    ratio: float

    def __str__(self) -> str:
        return f"{self.ours:.3f} ms against {self.theirs:.3f} ms: {self.ratio:.2f}x"


def compare(ours: Callable[[int], object], theirs: Callable[[int], object], *, rounds: int) -> Comparison:
    """Runs both in turns, after one warm-up each."""
    ours(0), theirs(0)
    pairs = [(_milliseconds(ours, number), _milliseconds(theirs, number)) for number in range(1, rounds + 1)]
    return Comparison(
        ours=statistics.median(pair[0] for pair in pairs),
        theirs=statistics.median(pair[1] for pair in pairs),
        ratio=statistics.median(pair[0] / pair[1] for pair in pairs),
    )


def _milliseconds(work: Callable[[int], object], number: int) -> float:
    start = time.perf_counter()
    work(number)
    return (time.perf_counter() - start) * 1_000.0
