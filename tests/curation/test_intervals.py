"""The interval of a difference covers it, and bounds hold however often one looks."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promises import promise
from reasoningbank.curation.uplift import (
    Stratum,
    difference,
    log_evidence_below,
    lower_bound,
    score_interval,
    upper_bound,
)

counts = st.integers(1, 60).flatmap(lambda count: st.tuples(st.integers(0, count), st.just(count)))


def interval(*numbers: int) -> tuple[float, float]:
    """The interval of one stratum."""
    found = difference([Stratum(*numbers)])
    assert found is not None
    return found[1]


@promise(
    "uplift:interval",
    "The interval of the difference is Newcombe's hybrid score interval with continuity correction, agrees with his "
    "published examples, holds the difference, and turns with the arms.",
    source="issue 4 (95 % interval)",
)
@pytest.mark.parametrize(
    ("numbers", "low", "high"),
    [((56, 70, 48, 80), 0.0428, 0.3422), ((9, 10, 3, 10), 0.1013, 0.8387), ((5, 56, 0, 29), -0.0667, 0.2037)],
)
def test_the_interval_is_that_of_the_published_examples(
    numbers: tuple[int, int, int, int], low: float, high: float
) -> None:
    assert interval(*numbers) == pytest.approx((low, high), abs=6e-5)


@promise(
    "uplift:coverage",
    "Computed exactly over all outcomes, the interval covers the true difference in at least 93 % of cases also with "
    "1 to 20 sessions in an arm.",
    source="issue 4 (95 % interval)",
)
@pytest.mark.parametrize(("first", "second"), [(9, 1), (18, 2), (10, 5), (20, 3), (45, 5), (20, 10)])
def test_the_interval_covers_the_difference_also_with_few_sessions(first: int, second: int) -> None:
    """Exactly, over every outcome, at 169 pairs of true rates."""
    bounds = {(a, b): interval(a, first, b, second) for a in range(first + 1) for b in range(second + 1)}
    rates = [0.02 + 0.08 * step for step in range(13)]
    for one in rates:
        for other in rates:
            gap = one - other
            covered = sum(
                _chance(a, first, one) * _chance(b, second, other)
                for (a, b), (low, high) in bounds.items()
                if low - 1e-12 <= gap <= high + 1e-12
            )
            assert covered >= 0.93, (one, other, covered)


@promise("uplift:interval")
@given(counts, counts)
def test_the_interval_holds_the_difference_and_turns_with_it(one: tuple[int, int], other: tuple[int, int]) -> None:
    low, high = interval(*one, *other)
    gap = one[0] / one[1] - other[0] / other[1]
    assert -1.0 <= low <= gap + 1e-12
    assert gap - 1e-12 <= high <= 1.0
    assert interval(*other, *one) == pytest.approx((-high, -low))


@promise(
    "uplift:strata",
    "When the hold-out share was changed, each share is compared by itself, so that a change of the project is not "
    "taken for an effect of memory.",
    source="docs/decisions/0014",
)
def test_a_change_of_the_hold_out_is_not_taken_for_an_effect() -> None:
    """The arms end alike in each stratum; thrown together, 26 % and 74 % of them would succeed."""
    early, late = Stratum(180, 900, 20, 100), Stratum(80, 100, 720, 900)
    found = difference([early, late])
    assert found is not None
    assert found[0] == pytest.approx(0.0)
    assert found[1][0] < 0.0 < found[1][1]
    assert difference([early]) == difference([early, Stratum(5, 9, 0, 0)])


@promise(
    "uplift:not-enough",
    "When an arm has no session with a known end there is no uplift, the interval is [-1, 1], and the report says "
    "what is missing.",
    source="issue 4 (uplift)",
)
@pytest.mark.parametrize("strata", [[], [Stratum(0, 0, 3, 5)], [Stratum(3, 5, 0, 0)], [Stratum(0, 0, 0, 0)]])
def test_an_empty_arm_has_no_difference(strata: list[Stratum]) -> None:
    assert difference(strata) is None


@promise("uplift:interval")
@given(st.floats(0, 1), st.floats(0, 500))
def test_a_score_interval_holds_its_rate(rate: float, count: float) -> None:
    low, high = score_interval(rate, count)
    assert 0.0 <= low <= rate <= high <= 1.0


@promise("harm:bounds")
@given(counts, st.floats(1e-6, 0.4))
def test_bounds_hold_the_rate_and_mirror_each_other(count: tuple[int, int], error: float) -> None:
    succeeded, known = count
    assert lower_bound(succeeded, known, error) <= succeeded / known <= upper_bound(succeeded, known, error)
    assert upper_bound(succeeded, known, error / 2) >= upper_bound(succeeded, known, error)
    high = upper_bound(succeeded, known, error)
    if high < 1.0:
        assert log_evidence_below(high, succeeded, known) == pytest.approx(-math.log(error), abs=1e-6)


@promise("harm:bounds")
def test_nothing_is_known_of_nothing() -> None:
    assert (lower_bound(0, 0, 0.05), upper_bound(0, 0, 0.05)) == (0.0, 1.0)
    assert upper_bound(3, 3, 0.05) == 1.0
    assert 0.0 < upper_bound(0, 30, 0.05) < 0.25


@promise(
    "harm:anytime",
    "Looking after every session is wrong no more often than looking once: a 5 % bound is ever crossed by chance in "
    "at most 5 % of sequences.",
    source="issue 4 (harm rate per memory)",
)
@pytest.mark.parametrize("rate", [0.3, 0.7])
def test_looking_after_every_session_is_wrong_no_more_often_than_promised(rate: float) -> None:
    """300 sequences of 120 sessions, looked at after each: at most one in twenty ever crosses a 5 % bound."""
    chance = random.Random(3)
    limit = -math.log(0.05)
    crossed = 0
    for _ in range(300):
        succeeded = 0
        for known in range(1, 121):
            succeeded += chance.random() < rate
            if succeeded / known < rate and log_evidence_below(rate, succeeded, known) >= limit:
                crossed += 1
                break
    assert crossed / 300 <= 0.05


def _chance(succeeded: int, count: int, rate: float) -> float:
    return math.comb(count, succeeded) * rate**succeeded * (1 - rate) ** (count - succeeded)
