"""The success criteria of a bank as numbers: what each says, of how many cases, and how sure it is (seed 000)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

LEAST_SAMPLE = 20
"""Below so many cases a number says nothing, and none is given."""
LEAST_RATINGS = 50
"""Ratings from which on the learned weights of a project should be stable (SC-005)."""
NOT_ENOUGH = "not enough data yet"


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """Hold one success criterion.

    Attributes:
        id: Its name in the seed, SC-001 to SC-006.
        name: What it is, in a few words.
        definition: What is counted, and of what.
        target: What is wanted, in words.
        value: The number; None when there is not enough data.
        interval: Its 95 % interval; None where a sample has none.
        sample: How many cases it is made of.
        needed: From so many cases on there is a value.
        met: Whether the value is what is wanted; None without a value.
        message: What this says, or what is missing.
    """

    id: str
    name: str
    definition: str
    target: str
    value: float | None = None
    interval: tuple[float, float] | None = None
    sample: int = 0
    needed: int = LEAST_SAMPLE
    met: bool | None = None
    message: str = NOT_ENOUGH


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationBin:
    """Hold the cases of a reliability diagram whose confidence lies between two values.

    Attributes:
        low: The least confidence.
        high: What every confidence is below; 1 belongs to the last bin.
        cases: How many there are.
        confidence: Their mean confidence.
        helpful: The share of them that helped.
    """

    low: float
    high: float
    cases: int
    confidence: float
    helpful: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationReport:
    """Hold how well confidence foretells ratings.

    Attributes:
        metric: The criterion: the share of helpful ratings among those of memories above 0.8.
        cases: How many ratings all of this is made of.
        brier: The mean squared difference of confidence and rating, 0 to 1; None without enough data.
        ece: The expected calibration error: the mean distance of confidence and helpful share, weighted by cases.
        ece_interval: Its 95 % interval.
        bins: The reliability diagram: ten bins of equal width, those without a case left out.
    """

    metric: Metric
    cases: int = 0
    brier: float | None = None
    ece: float | None = None
    ece_interval: tuple[float, float] | None = None
    bins: tuple[CalibrationBin, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """Hold the success criteria of a project at one time.

    Attributes:
        at: When they were counted.
        helpful_rate: SC-001.
        delivery_tokens: SC-002.
        learning_rate: SC-003.
        fewer_mistakes: SC-004.
        weight_spread: SC-005.
        calibration: SC-006.
    """

    at: datetime
    helpful_rate: Metric
    delivery_tokens: Metric
    learning_rate: Metric
    fewer_mistakes: Metric
    weight_spread: Metric
    calibration: CalibrationReport

    @property
    def all(self) -> tuple[Metric, ...]:
        """Every criterion, in the order of their ids."""
        return (
            self.helpful_rate,
            self.delivery_tokens,
            self.learning_rate,
            self.fewer_mistakes,
            self.weight_spread,
            self.calibration.metric,
        )
