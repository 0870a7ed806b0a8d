"""Signals, their weights and what a project learns: golden values of spec/contextd 1.4, rules of D4 and D5."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promises import promise
from reasoningbank.errors import EmptyMemoryId, EmptyProjectId, InvalidInput
from reasoningbank.types.belief import UNIT, Belief, to_units
from reasoningbank.types.signal import (
    LEARNING_WINDOW_HOURS,
    RECENT_DAYS,
    SIGNAL_TYPES,
    ProjectWeights,
    Signal,
    SignalAggregate,
    SignalType,
    compute_confidence,
    replay,
)

START = datetime(2026, 1, 1, tzinfo=UTC)
FRESH = ProjectWeights(project="p")
NOTHING = SignalAggregate(memory_id="m", project="p")
GOLDEN = 5e-5
"""The golden values have four decimals."""


def given_signal(kind: SignalType, positive: bool = True, weight: int | None = None) -> Signal:
    return Signal(memory_id="m", project="p", type=kind, positive=positive, weight=weight, at=START)


def confidence(*signals: Signal, weights: ProjectWeights = FRESH, aggregate: SignalAggregate = NOTHING) -> float:
    """What ``ComputeConfidenceFromHybrid`` of seed 004 gives: prior 0.5, current weights for everything."""
    return compute_confidence(0.5, aggregate, signals, weights)


HELPFUL, UNHELPFUL = given_signal("explicit"), given_signal("explicit", positive=False)
DELIVERED = given_signal("usage")
SUCCEEDED, FAILED = given_signal("outcome"), given_signal("outcome", positive=False)

kinds = st.sampled_from(SIGNAL_TYPES)
frozen = st.builds(given_signal, kinds, st.booleans(), st.integers(0, UNIT))
project_weights = st.builds(
    ProjectWeights,
    project=st.just("p"),
    **{
        f"{kind}_{side}": st.floats(0.0, 1_000.0, allow_subnormal=False)
        for kind in SIGNAL_TYPES
        for side in ("alpha", "beta")
    },
)


@promise("contextd:32", "Signals have the three types of the seed and refuse empty ids.", source="spec/contextd row 32")
def test_a_signal_has_one_of_three_types_and_belongs_to_a_memory() -> None:
    assert SIGNAL_TYPES == ("explicit", "usage", "outcome")
    signal = Signal(memory_id="m", project="p", type="usage", positive=True, session="s")
    assert signal.id
    assert signal.at.tzinfo is not None
    assert (signal.memory_id, signal.project, signal.positive, signal.session) == ("m", "p", True, "s")
    assert signal.id != replace(signal, id=Signal(memory_id="m", project="p", type="usage", positive=True).id).id
    with pytest.raises(EmptyMemoryId, match="memory ID cannot be empty"):
        replace(signal, memory_id="")
    with pytest.raises(EmptyProjectId, match="project ID cannot be empty"):
        replace(signal, project="")
    with pytest.raises(InvalidInput, match="signal type"):
        replace(signal, type="stars")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="time zone"):
        replace(signal, at=datetime(2026, 1, 1))


@promise("contextd:33", "Aggregates count signals by type and polarity.", source="spec/contextd row 33")
def test_an_aggregate_counts_by_type_and_polarity() -> None:
    aggregate = NOTHING
    for number, kind in enumerate(SIGNAL_TYPES):
        for positive in (True, False):
            for _ in range(number + 1 + 3 * positive):
                aggregate = aggregate.add(given_signal(kind, positive))
    for number, kind in enumerate(SIGNAL_TYPES):
        assert aggregate.count(kind, positive=True) == number + 4
        assert aggregate.count(kind, positive=False) == number + 1
    assert (aggregate.positive, aggregate.negative) == (None, None)
    weighed = NOTHING.add(given_signal("usage", True, 5)).add(given_signal("outcome", False, 7))
    assert (weighed.positive, weighed.negative) == (5, 7)
    assert (weighed.usage_positive, weighed.outcome_negative) == (1, 1)


def normalised(weights: ProjectWeights) -> tuple[float, ...]:
    """The weights of explicit, usage and outcome signals."""
    return tuple(weights.weight_for(name) for name in ("explicit", "usage", "outcome"))


@promise("contextd:34", "Weights start at 7:3, 5:5, 5:5 and sum to one.", source="spec/contextd row 34")
@promise("weights:priors", "The priors are 7:3, 5:5 and 5:5.", source="seed 000 FR-005a")
def test_weights_start_at_the_priors_and_sum_to_one() -> None:
    assert (FRESH.explicit_alpha, FRESH.explicit_beta) == (7.0, 3.0)
    assert (FRESH.usage_alpha, FRESH.usage_beta, FRESH.outcome_alpha, FRESH.outcome_beta) == (5.0,) * 4
    explicit, usage, outcome = normalised(FRESH)
    assert explicit == pytest.approx(7 / 17)
    assert usage == outcome == pytest.approx(5 / 17)
    assert explicit > usage
    assert sum(normalised(FRESH)) == pytest.approx(1.0)
    assert (RECENT_DAYS, LEARNING_WINDOW_HOURS) == (30, 24)


@promise("weights:normalised", "The three weights sum to one whatever was learned.", source="spec/contextd 1.4")
@given(project_weights)
def test_weights_are_normalised_whatever_was_learned(weights: ProjectWeights) -> None:
    assert sum(normalised(weights)) == pytest.approx(1.0)
    assert all(0.0 <= weight <= 1.0 for weight in normalised(weights))


@promise("weights:normalised")
def test_without_any_evidence_all_types_weigh_the_same() -> None:
    nothing = ProjectWeights(
        project="p",
        explicit_alpha=0.0,
        explicit_beta=0.0,
        usage_alpha=0.0,
        usage_beta=1.0,
        outcome_alpha=0.0,
        outcome_beta=9.0,
    )
    assert normalised(nothing) == (1 / 3, 1 / 3, 1 / 3)


@promise(
    "belief:golden",
    "compute_confidence with prior 0.5 reproduces every golden value of the seed.",
    source="spec/contextd 1.4",
)
@pytest.mark.parametrize(
    ("signals", "golden"),
    [
        ([], 0.5),
        ([HELPFUL], 0.5854),
        ([UNHELPFUL], 0.4146),
        ([SUCCEEDED], 0.5641),
        ([FAILED], 0.4359),
        ([HELPFUL] * 2, 0.6458),
        ([HELPFUL] * 3, 0.6909),
        ([HELPFUL] * 4, 0.7258),
        ([HELPFUL] * 5, 0.7536),
        ([SUCCEEDED] * 2, 0.6136),
        ([SUCCEEDED] * 3, 0.6531),
        ([SUCCEEDED] * 4, 0.6852),
        ([SUCCEEDED] * 5, 0.7119),
        ([SUCCEEDED] * 6, 0.7344),
        ([DELIVERED] * 4 + [SUCCEEDED], 0.7119),
    ],
)
def test_golden_values_at_the_first_weights(signals: list[Signal], golden: float) -> None:
    assert confidence(*signals) == pytest.approx(golden, abs=GOLDEN)


@promise("belief:golden")
def test_golden_values_with_learning() -> None:
    praised = FRESH.learn_from_feedback(True, [DELIVERED])
    assert (praised.usage_alpha, praised.usage_beta) == (6.0, 5.0)
    assert confidence(DELIVERED, HELPFUL, weights=praised) == pytest.approx(0.6315, abs=GOLDEN)
    blamed = FRESH.learn_from_feedback(False, [DELIVERED])
    assert (blamed.usage_alpha, blamed.usage_beta) == (5.0, 6.0)
    assert confidence(DELIVERED, UNHELPFUL, weights=blamed) == pytest.approx(0.4725, abs=GOLDEN)


@promise("belief:golden")
def test_golden_value_of_a_much_delivered_memory_that_is_rated_down() -> None:
    weights, ratings, reached = FRESH, [], {}
    for count in range(1, 14):
        weights = weights.learn_from_feedback(False, [DELIVERED] * 100)
        ratings.append(UNHELPFUL)
        reached[count] = confidence(*[DELIVERED] * 100, *ratings, weights=weights)
    assert reached[5] == pytest.approx(0.874, abs=5e-4)
    assert reached[12] >= 0.7 > reached[13]


@promise("belief:golden")
@promise(
    "contextd:38",
    "Confidence of aggregates and recent signals equals the golden 0.7457.",
    source="spec/contextd row 38",
)
def test_golden_value_of_aggregate_and_recent_signals() -> None:
    aggregate = SignalAggregate(
        memory_id="m",
        project="p",
        explicit_positive=5,
        explicit_negative=1,
        usage_positive=10,
        usage_negative=2,
        outcome_positive=3,
        outcome_negative=1,
    )
    assert confidence(HELPFUL, DELIVERED, FAILED, aggregate=aggregate) == pytest.approx(0.7457, abs=GOLDEN)


@promise(
    "weights:frozen",
    "What a project learns later never changes the worth of earlier evidence.",
    source="DESIGN D4",
)
@promise("belief:golden")
def test_the_flaw_of_retroactive_weights_does_not_exist_with_frozen_ones() -> None:
    """At current weights a helpful rating lowers 0.9563 to 0.9561; with the weight of its time it never does."""
    before = [HELPFUL] * 50 + [DELIVERED]
    learned = FRESH.learn_from_feedback(True, [DELIVERED])
    assert confidence(*before) == pytest.approx(0.9563, abs=GOLDEN)
    assert confidence(*before, HELPFUL, weights=learned) == pytest.approx(0.9561, abs=GOLDEN)
    frozen_before = [replace(signal, weight=to_units(FRESH.weight_for(signal.type))) for signal in before]
    rating = replace(HELPFUL, weight=to_units(FRESH.weight_for("explicit")))
    assert confidence(*frozen_before, rating, weights=learned) > confidence(*frozen_before, weights=learned)


@promise("weights:frozen")
@given(st.lists(frozen, max_size=30), project_weights, project_weights, st.floats(0.0, 1.0))
def test_what_a_project_learns_later_never_changes_earlier_evidence(
    signals: list[Signal], now: ProjectWeights, later: ProjectWeights, prior: float
) -> None:
    assert replay(prior, NOTHING, signals, now) == replay(prior, NOTHING, signals, later)


@promise("belief:order-free")
@given(st.lists(frozen, max_size=30), st.floats(0.0, 1.0), st.randoms(use_true_random=False))
def test_the_order_of_the_log_does_not_matter(signals: list[Signal], prior: float, shuffler: random.Random) -> None:
    shuffled = signals.copy()
    shuffler.shuffle(shuffled)
    assert replay(prior, NOTHING, shuffled, FRESH) == replay(prior, NOTHING, signals, FRESH)


@promise("belief:roll-up-neutral", "Rolling up any part of the evidence changes no confidence.", source="DESIGN D4")
@given(st.lists(st.tuples(frozen, st.booleans()), max_size=30), st.floats(0.0, 1.0))
def test_a_roll_up_of_any_part_of_the_log_changes_nothing(log: list[tuple[Signal, bool]], prior: float) -> None:
    rolled = NOTHING
    for signal, old in log:
        rolled = rolled.add(signal) if old else rolled
    whole = replay(prior, NOTHING, [signal for signal, _ in log], FRESH)
    assert replay(prior, rolled, [signal for signal, old in log if not old], FRESH) == whole


@promise("belief:replay", "The stored confidence equals the one replayed from the log.", source="DESIGN D4")
@given(st.lists(frozen, max_size=30), st.sampled_from((0.8, 0.6, 0.5, 0.123456789)))
def test_the_stored_belief_equals_the_replayed_log(signals: list[Signal], prior: float) -> None:
    belief = Belief.starting_at(prior)
    for signal in signals:
        assert signal.weight is not None
        belief = belief.with_evidence(positive=signal.positive, weight=signal.weight)
    replayed = replay(belief.initial, NOTHING, signals, FRESH)
    assert replayed == belief
    assert replayed.score == belief.score == compute_confidence(prior, NOTHING, signals, FRESH)


@promise("belief:golden")
@given(st.lists(st.builds(given_signal, kinds, st.booleans()), max_size=30))
def test_unweighted_counts_and_unweighted_signals_are_worth_the_same(signals: list[Signal]) -> None:
    rolled = NOTHING
    for signal in signals:
        rolled = rolled.add(signal)
    assert confidence(aggregate=rolled) == confidence(*signals)


@promise(
    "contextd:35",
    "A correct prediction credits its type, a wrong one debits it, others stay.",
    source="spec/contextd row 35",
)
@promise(
    "weights:learning",
    "A rating credits right and debits wrong predictions, positive and negative; explicit weights never change.",
    source="DESIGN D5; seed 000 FR-005b",
)
@pytest.mark.parametrize("kind", ["usage", "outcome"])
@pytest.mark.parametrize("predicted", [True, False])
@pytest.mark.parametrize("helpful", [True, False])
def test_a_rating_credits_or_debits_both_kinds_of_prediction(kind: SignalType, predicted: bool, helpful: bool) -> None:
    learned = FRESH.learn_from_feedback(helpful, [given_signal(kind, predicted)] * 3)
    side = "alpha" if predicted == helpful else "beta"
    assert learned == replace(FRESH, **{f"{kind}_{side}": 6.0})  # type: ignore[arg-type]


@promise("weights:learning")
def test_a_type_that_predicted_both_is_credited_and_debited_once() -> None:
    learned = FRESH.learn_from_feedback(True, [SUCCEEDED, FAILED, FAILED, DELIVERED])
    assert learned == replace(FRESH, outcome_alpha=6.0, outcome_beta=6.0, usage_alpha=6.0)


@promise("weights:learning")
@given(st.lists(frozen, max_size=20), st.booleans())
def test_explicit_weights_never_change_and_nothing_is_learned_from_nothing(
    signals: list[Signal], helpful: bool
) -> None:
    learned = FRESH.learn_from_feedback(helpful, signals)
    assert (learned.explicit_alpha, learned.explicit_beta) == (7.0, 3.0)
    assert FRESH.learn_from_feedback(helpful, [HELPFUL, UNHELPFUL]) == FRESH
    assert FRESH.learn_from_feedback(helpful, []) == FRESH
    gained = sum((learned.usage_alpha, learned.usage_beta, learned.outcome_alpha, learned.outcome_beta)) - 20.0
    assert gained == len({(signal.type, signal.positive) for signal in signals if signal.type != "explicit"})


@promise("contextd:36", "Types that predict well gain weight.", source="spec/contextd row 36")
@promise("weights:learning")
def test_types_that_predict_well_gain_weight() -> None:
    usage, outcome = FRESH, FRESH
    for _ in range(5):
        usage = usage.learn_from_feedback(True, [DELIVERED])
    for _ in range(10):
        outcome = outcome.learn_from_feedback(False, [FAILED])
    assert usage.weight_for("usage") > FRESH.weight_for("usage")
    assert usage.weight_for("outcome") < FRESH.weight_for("outcome")
    assert outcome.weight_for("outcome") > outcome.weight_for("usage")
    assert outcome.weight_for("outcome") > FRESH.weight_for("outcome")


@promise("contextd:32")
def test_times_of_signals_may_lie_in_any_zone() -> None:
    elsewhere = START.astimezone(tz=None) + timedelta(hours=1)
    assert replace(HELPFUL, at=elsewhere).at - START == timedelta(hours=1)
