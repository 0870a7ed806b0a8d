"""Intervals of success rates and of their difference, and bounds that may be looked at every day."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from reasoningbank.domain.beta import beta_cumulative

Z95 = 1.959963984540054
"""The normal quantile of a two-sided 95 % interval."""
_STEPS = 60


class Stratum(NamedTuple):
    """Known ends of the sessions that were drawn with one hold-out share, in both arms."""

    with_succeeded: int
    with_known: int
    without_succeeded: int
    without_known: int


def score_interval(rate: float, count: float, z: float = Z95) -> tuple[float, float]:
    """The score interval of a rate with continuity correction (Wilson 1927; Newcombe 1998, method 4).

    Args:
        rate: The observed rate.
        count: Of how many; it need not be whole. Without any the interval is (0, 1).
        z: The normal quantile.
    """
    if count <= 0:
        return 0.0, 1.0
    middle, scale = 2 * count * rate + z * z, 2 * (count + z * z)
    below = z * z - 2 - 1 / count + 4 * rate * (count * (1 - rate) + 1)
    above = z * z + 2 - 1 / count + 4 * rate * (count * (1 - rate) - 1)
    low = 0.0 if rate <= 0.0 else max(0.0, (middle - 1 - z * math.sqrt(max(0.0, below))) / scale)
    high = 1.0 if rate >= 1.0 else min(1.0, (middle + 1 + z * math.sqrt(max(0.0, above))) / scale)
    return min(low, rate), max(high, rate)


def difference(strata: Sequence[Stratum], z: float = Z95) -> tuple[float, tuple[float, float]] | None:
    """The difference of two success rates with its interval; None when no stratum has both arms.

    One stratum: Newcombe's hybrid score interval with continuity correction (1998, method 11; without it the interval
    covers too rarely where an arm has few sessions, see docs/decisions/0014). Several, because the hold-out share was
    changed: the rates are averaged with Mantel-Haenszel weights, so that a change of the project over time is not taken
    for an effect, and the interval of each average is taken at its effective count ``1 / sum(w_i^2 / n_i)``.
    """
    both = [one for one in strata if one.with_known and one.without_known]
    if not both:
        return None
    sizes = [one.with_known * one.without_known / (one.with_known + one.without_known) for one in both]
    weights = [size / sum(sizes) for size in sizes]
    with_rate = sum(w * one.with_succeeded / one.with_known for w, one in zip(weights, both, strict=True))
    without_rate = sum(w * one.without_succeeded / one.without_known for w, one in zip(weights, both, strict=True))
    with_count = 1 / sum(w * w / one.with_known for w, one in zip(weights, both, strict=True))
    without_count = 1 / sum(w * w / one.without_known for w, one in zip(weights, both, strict=True))
    with_low, with_high = score_interval(with_rate, with_count, z)
    without_low, without_high = score_interval(without_rate, without_count, z)
    gap = with_rate - without_rate
    low = gap - math.hypot(with_rate - with_low, without_high - without_rate)
    high = gap + math.hypot(with_high - with_rate, without_rate - without_low)
    return gap, (max(-1.0, low), min(1.0, high))


def log_evidence_below(rate: float, succeeded: int, count: int) -> float:
    """The logarithm of the evidence that a true success rate is below ``rate``: a test martingale's value.

    The likelihood ratio of rates below to ``rate`` itself, averaged evenly over [0, rate]:
    ``B(s+1, n-s+1) I_rate(s+1, n-s+1) / (rate^(s+1) (1-rate)^(n-s))``. While the true rate is ``rate`` or more it ever
    exceeds ``log(1/a)`` with a probability of at most ``a``, however often one looks (Ville's inequality).
    """
    if count == 0 or rate <= 0.0:
        return 0.0
    failed = count - succeeded
    if rate >= 1.0:
        return math.inf if failed else 0.0
    share = beta_cumulative(rate, succeeded + 1.0, failed + 1.0)
    if share <= 0.0:
        return -math.inf
    whole = math.lgamma(succeeded + 1) + math.lgamma(failed + 1) - math.lgamma(count + 2)
    return whole + math.log(share) - (succeeded + 1) * math.log(rate) - failed * math.log1p(-rate)


def upper_bound(succeeded: int, count: int, error: float) -> float:
    """What a true success rate is at most; wrong at any time of a sequence with a probability of at most ``error``."""
    limit = -math.log(error)
    low, high = (succeeded / count if count else 1.0), 1.0
    if log_evidence_below(high, succeeded, count) < limit:
        return 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if log_evidence_below(middle, succeeded, count) < limit:
            low = middle
        else:
            high = middle
    return high


def lower_bound(succeeded: int, count: int, error: float) -> float:
    """What a true success rate is at least, on the same terms."""
    return 1.0 - upper_bound(count - succeeded, count, error)
