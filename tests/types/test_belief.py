"""Belief: starts where it is told, moves only the right way, and equals its evidence exactly (DESIGN D4)."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promises import promise
from reasoningbank.errors import InvalidConfidence, InvalidInput
from reasoningbank.types.belief import (
    DISTILLED_CONFIDENCE,
    EXPLICIT_RECORD_CONFIDENCE,
    MIN_CONFIDENCE,
    PRIOR_STRENGTH,
    UNIT,
    Belief,
    check_confidence,
    to_units,
)

confidences = st.floats(0.0, 1.0)
weights = st.integers(0, UNIT)
evidence = st.lists(st.tuples(st.booleans(), weights), max_size=60)


def after(belief: Belief, signals: list[tuple[bool, int]]) -> Belief:
    """The belief after all of these signals, one by one."""
    for positive, weight in signals:
        belief = belief.with_evidence(positive=positive, weight=weight)
    return belief


@promise("belief:constants", "The thresholds are 0.7, 0.8 and 0.6.", source="seed 000, seed 004 Constants")
def test_the_constants_are_those_of_the_seeds() -> None:
    assert (MIN_CONFIDENCE, EXPLICIT_RECORD_CONFIDENCE, DISTILLED_CONFIDENCE, PRIOR_STRENGTH) == (0.7, 0.8, 0.6, 2)


@promise(
    "belief:initial",
    "A memory without evidence is believed at exactly its initial confidence.",
    source="DESIGN D4",
)
@pytest.mark.parametrize("confidence", [0.8, 0.6, 0.7, 0.5, 0.0, 1.0, 0.95, 0.1, 0.3])
def test_a_belief_without_evidence_is_exactly_its_initial_confidence(confidence: float) -> None:
    belief = Belief.starting_at(confidence)
    assert belief.score == confidence
    assert belief.initial == confidence


@promise("belief:initial")
@given(confidences)
def test_any_initial_confidence_is_kept_to_the_billionth(confidence: float) -> None:
    assert abs(Belief.starting_at(confidence).score - confidence) <= 0.25 / UNIT + 1e-16


@promise("contextd:37", "A Beta(1, 1) belief is 0.5 and moves by the signal's weight.", source="spec/contextd row 37")
@promise("belief:uniform", "A prior of 0.5 is Beta(1, 1).", source="seed 004 NewMemoryConfidence")
def test_a_uniform_prior_is_one_half_and_moves_by_the_weight() -> None:
    uniform = Belief.starting_at(0.5)
    assert (uniform.alpha, uniform.beta, uniform.score) == (1.0, 1.0, 0.5)
    weight = to_units(7 / 17)
    helped, harmed = (uniform.with_evidence(positive=side, weight=weight) for side in (True, False))
    assert helped.alpha == pytest.approx(1 + 7 / 17, abs=1e-9)
    assert (helped.beta, harmed.alpha) == (1.0, 1.0)
    assert helped.score == pytest.approx(0.5854, abs=5e-5)
    assert harmed.score == pytest.approx(0.4146, abs=5e-5)
    assert helped.score + harmed.score == pytest.approx(1.0)


@promise(
    "belief:praise-never-hides",
    "A helpful rating raises a recorded memory above 0.8, an unhelpful one lowers it.",
    source="DESIGN D4; spec/contextd 0.1",
)
def test_a_rating_moves_a_recorded_memory_the_way_it_points() -> None:
    recorded = Belief.starting_at(EXPLICIT_RECORD_CONFIDENCE)
    weight = to_units(7 / 17)
    assert recorded.with_evidence(positive=True, weight=weight).score == pytest.approx((1.6 + 7 / 17) / (2 + 7 / 17))
    assert recorded.with_evidence(positive=False, weight=weight).score == pytest.approx(1.6 / (2 + 7 / 17))


@promise(
    "belief:monotone",
    "A positive signal never lowers the confidence, a negative one never raises it.",
    source="DESIGN D4",
)
@given(confidences, evidence, weights)
def test_a_positive_signal_never_lowers_and_a_negative_never_raises(
    confidence: float, signals: list[tuple[bool, int]], weight: int
) -> None:
    belief = after(Belief.starting_at(confidence), signals)
    assert belief.with_evidence(positive=True, weight=weight).score >= belief.score
    assert belief.with_evidence(positive=False, weight=weight).score <= belief.score
    assert 0.0 <= belief.score <= 1.0


@promise("belief:monotone")
@given(st.floats(0.01, 0.99), evidence, st.integers(UNIT // 100, UNIT))
def test_a_signal_of_weight_moves_the_score(confidence: float, signals: list[tuple[bool, int]], weight: int) -> None:
    belief = after(Belief.starting_at(confidence), signals)
    assert belief.with_evidence(positive=True, weight=weight).score > belief.score
    assert belief.with_evidence(positive=False, weight=weight).score < belief.score


@promise("belief:order-free", "The order of evidence does not matter, to the last bit.", source="DESIGN D4")
@given(confidences, evidence, st.randoms(use_true_random=False))
def test_the_order_of_evidence_does_not_matter(
    confidence: float, signals: list[tuple[bool, int]], shuffler: random.Random
) -> None:
    shuffled = signals.copy()
    shuffler.shuffle(shuffled)
    start = Belief.starting_at(confidence)
    assert after(start, shuffled) == after(start, signals)
    assert after(start, shuffled).score == after(start, signals).score


@promise(
    "belief:interval",
    "The 90 % interval lies in [0, 1], narrows with evidence, and its lower end is the lower bound.",
    source="DESIGN section 2 Belief",
)
@given(confidences, evidence)
def test_the_interval_lies_in_order_and_its_lower_end_is_the_lower_bound(
    confidence: float, signals: list[tuple[bool, int]]
) -> None:
    belief = after(Belief.starting_at(confidence), signals)
    low, high = belief.interval()
    assert 0.0 <= low <= high <= 1.0
    assert belief.lower_bound == low
    wide_low, wide_high = belief.interval(0.99)
    assert wide_low <= low + 1e-9
    assert wide_high >= high - 1e-9


@promise("belief:interval")
def test_more_evidence_narrows_the_interval() -> None:
    widths = []
    for count in (0, 5, 50, 500):
        signals = [(number % 5 != 0, to_units(0.4)) for number in range(count)]
        low, high = after(Belief.starting_at(0.8), signals).interval()
        widths.append(high - low)
    assert widths == sorted(widths, reverse=True)


@promise(
    "belief:validation",
    "A confidence is a number from 0 to 1; NaN is refused; evidence is never negative.",
    source="seed 004 ErrInvalidConfidence",
)
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), -1e-12, 1.0000001, 2.0, -1.0])
def test_only_a_number_from_zero_to_one_is_a_confidence(value: float) -> None:
    with pytest.raises(InvalidConfidence, match=r"between 0\.0 and 1\.0"):
        check_confidence(value)
    with pytest.raises(InvalidConfidence):
        Belief.starting_at(value)


@promise("belief:validation")
def test_evidence_cannot_be_negative() -> None:
    for wrong in ({"prior": -1}, {"prior": 2 * UNIT + 1}, {"prior": 0, "positive": -1}, {"prior": 0, "negative": -1}):
        with pytest.raises(InvalidInput, match="negative"):
            Belief(**wrong)
    with pytest.raises(InvalidInput, match="negative"):
        Belief.starting_at(0.5).with_evidence(positive=True, weight=-1)
