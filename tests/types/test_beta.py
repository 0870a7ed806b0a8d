"""The Beta distribution: known values, closed forms and symmetries; SciPy as an oracle where it is installed."""

from __future__ import annotations

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from promises import promise
from reasoningbank.types.belief import beta_cumulative, beta_quantile

pytestmark = promise(
    "belief:beta",
    "The Beta distribution and its quantile agree with closed forms, symmetries and SciPy.",
    source="spec/engineering C.7 statistics",
)

shapes = st.floats(0.05, 200.0)
shares = st.floats(0.001, 0.999)


def test_the_uniform_distribution_is_the_identity() -> None:
    for x in (0.0, 0.05, 0.3, 0.5, 0.95, 1.0):
        assert beta_cumulative(x, 1.0, 1.0) == pytest.approx(x, abs=1e-14)
        assert beta_quantile(x, 1.0, 1.0) == pytest.approx(x, abs=1e-12)


def test_beta_two_two_is_a_cubic() -> None:
    for x in (0.1, 0.25, 0.5, 0.8, 0.99):
        assert beta_cumulative(x, 2.0, 2.0) == pytest.approx(3 * x**2 - 2 * x**3, abs=1e-14)
        assert beta_quantile(3 * x**2 - 2 * x**3, 2.0, 2.0) == pytest.approx(x, abs=1e-11)


@given(shapes, shares)
def test_a_power_when_one_shape_is_one(shape: float, x: float) -> None:
    assert beta_cumulative(x, shape, 1.0) == pytest.approx(x**shape, rel=1e-11, abs=1e-13)
    assert beta_cumulative(x, 1.0, shape) == pytest.approx(-math.expm1(shape * math.log1p(-x)), rel=1e-11, abs=1e-13)


@given(st.integers(1, 30), st.integers(1, 30), shares)
def test_whole_shapes_are_a_binomial_tail(alpha: int, beta: int, x: float) -> None:
    trials = alpha + beta - 1
    tail = math.fsum(math.comb(trials, k) * x**k * (1 - x) ** (trials - k) for k in range(alpha, trials + 1))
    assert beta_cumulative(x, alpha, beta) == pytest.approx(tail, abs=1e-12)


@given(shapes, shapes, shares)
def test_mirrored_shapes_mirror_the_distribution(alpha: float, beta: float, x: float) -> None:
    assert beta_cumulative(x, alpha, beta) + beta_cumulative(1 - x, beta, alpha) == pytest.approx(1.0, abs=1e-11)
    assert beta_quantile(x, alpha, beta) == pytest.approx(1 - beta_quantile(1 - x, beta, alpha), abs=1e-8)


@given(shapes, shapes, st.integers(-4, 4))
@example(0.2, 2.6, 1)
@example(191.43612140760732, 1.440113151243467, 1)
def test_rounding_does_not_matter_where_the_two_sides_meet(alpha: float, beta: float, steps: int) -> None:
    meeting = (alpha + 1.0) / (alpha + beta + 2.0)
    x = meeting
    for _ in range(abs(steps)):
        x = math.nextafter(x, 1.0 if steps > 0 else 0.0)
    assert beta_cumulative(x, alpha, beta) == pytest.approx(beta_cumulative(meeting, alpha, beta), abs=1e-12)


@given(st.floats(0.3, 200.0), st.floats(0.3, 200.0), st.floats(0.01, 0.99))
def test_the_quantile_inverts_the_distribution(alpha: float, beta: float, share: float) -> None:
    x = beta_quantile(share, alpha, beta)
    assert beta_cumulative(max(0.0, x - 1e-9), alpha, beta) <= share + 1e-9
    assert beta_cumulative(min(1.0, x + 1e-9), alpha, beta) >= share - 1e-9


@given(shapes, shapes, shares, shares)
def test_the_distribution_rises(alpha: float, beta: float, one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert beta_cumulative(low, alpha, beta) <= beta_cumulative(high, alpha, beta) + 1e-12


def test_tables() -> None:
    assert beta_quantile(0.05, 1.6, 0.4) == pytest.approx(_bisect(0.05, 1.6, 0.4), abs=1e-4)
    assert beta_quantile(0.05, 5.0, 1.0) == pytest.approx(0.05 ** (1 / 5), abs=1e-12)
    assert beta_quantile(0.5, 0.5, 0.5) == pytest.approx(0.5, abs=1e-12)
    assert beta_quantile(0.1, 0.5, 0.5) == pytest.approx(math.sin(0.05 * math.pi) ** 2, abs=1e-12)


def test_limits_are_point_masses() -> None:
    assert beta_quantile(0.05, 0.0, 2.0) == 0.0
    assert beta_quantile(0.95, 2.0, 0.0) == 1.0
    assert beta_cumulative(0.0, 3.0, 2.0) == 0.0
    assert beta_cumulative(1.0, 3.0, 2.0) == 1.0
    assert beta_cumulative(0.5, 0.0, 2.0) == 1.0
    assert beta_cumulative(0.5, 2.0, 0.0) == 0.0


def test_scipy_agrees_where_it_is_installed() -> None:
    stats = pytest.importorskip("scipy.stats", reason="SciPy is an oracle, not a dependency")
    for alpha in (0.1, 0.5, 1.6, 2.0, 17.3, 120.0):
        for beta in (0.1, 0.4, 1.0, 3.5, 80.0):
            for share in (0.01, 0.05, 0.5, 0.95):
                assert beta_cumulative(share, alpha, beta) == pytest.approx(
                    stats.beta.cdf(share, alpha, beta), abs=1e-12
                )
                assert beta_quantile(share, alpha, beta) == pytest.approx(stats.beta.ppf(share, alpha, beta), abs=1e-9)


def _bisect(share: float, alpha: float, beta: float) -> float:
    """The quantile from a numerical integral of the density, substituted so that its ends are smooth."""
    steps = 200_000
    scale = math.gamma(alpha + beta) / (math.gamma(alpha) * math.gamma(beta))
    total, x = 0.0, 0.0
    for number in range(steps):
        angle = (number + 0.5) * math.pi / (2 * steps)
        x = math.sin(angle) ** 2
        total += (
            scale * 2 * math.sin(angle) ** (2 * alpha - 1) * math.cos(angle) ** (2 * beta - 1) * math.pi / (2 * steps)
        )
        if total >= share:
            break
    return x
