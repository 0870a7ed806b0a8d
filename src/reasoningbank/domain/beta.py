"""The Beta distribution's cumulative function and quantile, in the standard library alone."""

from __future__ import annotations

import math

_MAX_TERMS = 400
_TINY = 1e-300
_PRECISION = 1e-15


def beta_cumulative(x: float, alpha: float, beta: float) -> float:
    """The regularised incomplete beta function I_x(alpha, beta).

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
    if x > (alpha + 1.0) / (alpha + beta + 2.0):
        return 1.0 - beta_cumulative(1.0 - x, beta, alpha)
    log_front = (
        math.lgamma(alpha + beta) - math.lgamma(alpha) - math.lgamma(beta) + alpha * math.log(x) + beta * math.log1p(-x)
    )
    return math.exp(log_front) / (alpha * _continued_fraction(x, alpha, beta))


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


def beta_quantile(probability: float, alpha: float, beta: float) -> float:
    """The x with I_x(alpha, beta) = probability, by bisection to the last bit that matters."""
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
