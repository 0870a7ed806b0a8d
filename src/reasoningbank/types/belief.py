"""How far a memory is believed: a Beta posterior whose evidence is counted exactly.

Evidence is kept in whole billionths, so that sums do not depend on their order, a roll-up changes nothing and the
stored score equals the score replayed from the log (DESIGN D4).
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

from reasoningbank.errors import InvalidConfidence, InvalidInput

_MAX_TERMS = 400
_TINY = 1e-300
_PRECISION = 1e-15


def beta_cumulative(x: float, alpha: float, beta: float) -> float:
    """Return the regularised incomplete beta function I_x(alpha, beta).

    Evaluated by the continued fraction of DLMF 8.17.22 with the modified Lentz method; the symmetry
    I_x(a, b) = 1 - I_{1-x}(b, a) keeps it on the side where the fraction converges fast. A parameter of zero is the
    limiting point mass.
    """
    if alpha <= 0.0:
        return 1.0
    if beta <= 0.0:
        return 0.0 if x < 1.0 else 1.0
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    powers = alpha * math.log(x) + beta * math.log1p(-x)
    front = math.exp(math.lgamma(alpha + beta) - math.lgamma(alpha) - math.lgamma(beta) + powers)
    # Decided once: rounding can put both x and 1 - x on the slow side.
    if x > (alpha + 1.0) / (alpha + beta + 2.0):
        return 1.0 - front / (beta * _continued_fraction(1.0 - x, beta, alpha))
    return front / (alpha * _continued_fraction(x, alpha, beta))


def _continued_fraction(x: float, alpha: float, beta: float) -> float:
    fraction = numerator = 1.0
    denominator = 0.0
    for term in range(1, _MAX_TERMS):
        half = term // 2
        if term % 2 == 0:
            step = half * (beta - half) * x / ((alpha + term - 1.0) * (alpha + term))
        else:
            step = -(alpha + half) * (alpha + beta + half) * x / ((alpha + term - 1.0) * (alpha + term))
        denominator = 1.0 + step * denominator
        denominator = 1.0 / (denominator if abs(denominator) > _TINY else _TINY)
        numerator = 1.0 + step / numerator
        numerator = numerator if abs(numerator) > _TINY else _TINY
        change = numerator * denominator
        fraction *= change
        if abs(change - 1.0) < _PRECISION:
            break
    return fraction


@functools.lru_cache(maxsize=4_096)
def beta_quantile(probability: float, alpha: float, beta: float) -> float:
    """Return the x with I_x(alpha, beta) = probability, by bisection to the last bit that matters.

    Every hit of every search shows its interval, and most beliefs have been shown before: the latest are kept.
    """
    if alpha <= 0.0:
        return 0.0
    if beta <= 0.0:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(48):
        middle = (low + high) / 2.0
        if beta_cumulative(middle, alpha, beta) < probability:
            low = middle
        else:
            high = middle
    return (low + high) / 2.0


UNIT = 1_000_000_000
"""Whole units of evidence in 1.0."""

PRIOR_STRENGTH = 2
"""alpha0 + beta0 of every prior: at a confidence of 0.5 this is the Beta(1, 1) of seed 004."""

MIN_CONFIDENCE = 0.7
"""The threshold of the proven list (seed 000 ``MinConfidence``)."""

EXPLICIT_RECORD_CONFIDENCE = 0.8
"""The initial confidence of a memory somebody recorded (seed 000)."""

DISTILLED_CONFIDENCE = 0.6
"""The initial confidence of a memory distilled from a session (seed 000)."""


def to_units(value: float) -> int:
    """Convert a weight or a count to whole billionths."""
    return round(value * UNIT)


def check_confidence(value: float, name: str = "confidence") -> float:
    """Return the value when it is a number in [0, 1].

    Args:
        value: The number.
        name: The argument that it was given as, for the message.

    Raises:
        InvalidConfidence: For anything else, NaN included.
    """
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0.0 <= value <= 1.0:
        raise InvalidConfidence(f"{name} must be between 0.0 and 1.0, not {value}")
    return float(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Belief:
    """A Beta posterior: a prior of strength two and the evidence gathered since.

    Attributes:
        prior: alpha0 in billionths, from 0 to 2 * 10**9; beta0 is the rest of 2 * 10**9.
        positive: Sum of the weights of positive signals, in billionths.
        negative: Sum of the weights of negative signals, in billionths.
    """

    prior: int
    positive: int = 0
    negative: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.prior <= PRIOR_STRENGTH * UNIT or self.positive < 0 or self.negative < 0:
            raise InvalidInput(f"evidence cannot be negative: {self.prior}, {self.positive}, {self.negative}")

    @classmethod
    def starting_at(cls, confidence: float) -> Belief:
        """Return the belief of a memory with no evidence: its score is exactly the given confidence (DESIGN D4)."""
        return cls(prior=to_units(PRIOR_STRENGTH * check_confidence(confidence)))

    @property
    def score(self) -> float:
        """alpha / (alpha + beta), the mean of the posterior, correctly rounded."""
        return (self.prior + self.positive) / (PRIOR_STRENGTH * UNIT + self.positive + self.negative)

    @property
    def initial(self) -> float:
        """The confidence the memory started with."""
        return self.prior / (PRIOR_STRENGTH * UNIT)

    @property
    def alpha(self) -> float:
        """alpha0 plus the positive evidence."""
        return (self.prior + self.positive) / UNIT

    @property
    def beta(self) -> float:
        """beta0 plus the negative evidence."""
        return (PRIOR_STRENGTH * UNIT - self.prior + self.negative) / UNIT

    def interval(self, mass: float = 0.9) -> tuple[float, float]:
        """Return the central credible interval that holds the given mass of the posterior."""
        tail = (1.0 - mass) / 2.0
        return (beta_quantile(tail, self.alpha, self.beta), beta_quantile(1.0 - tail, self.alpha, self.beta))

    @property
    def lower_bound(self) -> float:
        """The lower end of the 90 % interval (DESIGN section 2)."""
        return self.interval()[0]

    def with_evidence(self, *, positive: bool, weight: int) -> Belief:
        """Return the belief after one more signal of the given weight in billionths."""
        if weight < 0:
            raise InvalidInput(f"a weight cannot be negative: {weight}")
        return Belief(
            prior=self.prior,
            positive=self.positive + (weight if positive else 0),
            negative=self.negative + (0 if positive else weight),
        )

    def room_against(self, least: float) -> int:
        """Return the most weight in billionths of further evidence against that leaves the score at ``least`` or more.

        Zero when it is lower already. It solves alpha / (alpha + beta + w) = least for w, rounded down.
        """
        whole, part = round(least * UNIT), self.prior + self.positive
        return max(0, part * UNIT // whole - (PRIOR_STRENGTH * UNIT + self.positive + self.negative))

    def without_evidence(self, *, positive: bool, weight: int) -> Belief:
        """Return the belief before a signal of the given weight in billionths was added."""
        if weight < 0:
            raise InvalidInput(f"a weight cannot be negative: {weight}")
        return Belief(
            prior=self.prior,
            positive=self.positive - (weight if positive else 0),
            negative=self.negative - (0 if positive else weight),
        )
