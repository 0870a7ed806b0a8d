"""Ratings, outcomes and deliveries through the Bank: how belief moves, exactly, and once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.testing import FrozenClock

EXPLICIT = 0.7 / 1.7
OUTCOME = USAGE = 0.5 / 1.7


def lesson(bank: Bank, confidence: float = 0.8) -> str:
    """Records one lesson and returns its id."""
    return bank.record(
        title="Retry network calls", content="Back off, then retry.", outcome="success", confidence=confidence
    ).id


@promise(
    "belief:feedback",
    "A rating moves the confidence by exactly its frozen weight, helpful up, unhelpful down.",
    source="DESIGN D4",
)
@promise(
    "contextd:10",
    "Helpful raises the confidence above its previous value, unhelpful lowers it.",
    source="spec/contextd row 10",
)
def test_helpful_raises_and_unhelpful_lowers_by_the_documented_amount(local_bank: Bank) -> None:
    up, down = lesson(local_bank), lesson(local_bank)
    rating = local_bank.feedback(up, helpful=True)
    assert rating.previous_confidence == 0.8
    assert rating.new_confidence == pytest.approx((1.6 + EXPLICIT) / (2 + EXPLICIT), abs=1e-8)
    assert local_bank.feedback(down, helpful=False).new_confidence == pytest.approx(1.6 / (2 + EXPLICIT), abs=1e-8)
    assert local_bank.get(up).confidence == rating.new_confidence
    assert "rose" in rating.message


@promise(
    "belief:outcome",
    "An outcome counts once per memory and session, and every time when no session is named.",
    source="DESIGN D5",
)
@promise(
    "contextd:11",
    "An outcome moves the confidence; the returned value is the stored one; no session is fine.",
    source="spec/contextd row 11",
)
def test_an_outcome_counts_once_per_session_and_every_time_without_one(local_bank: Bank) -> None:
    memory = lesson(local_bank)
    first = local_bank.outcome(memory, succeeded=True, session="s1")
    assert first.recorded
    assert first.new_confidence == pytest.approx((1.6 + OUTCOME) / (2 + OUTCOME), abs=1e-8)
    second = local_bank.outcome(memory, succeeded=False, session="s1")
    assert not second.recorded
    assert second.new_confidence == first.new_confidence == local_bank.get(memory).confidence
    assert "before" in second.message
    third = local_bank.outcome(memory, succeeded=False)
    fourth = local_bank.outcome(memory, succeeded=False)
    assert third.recorded
    assert fourth.new_confidence < third.new_confidence < first.new_confidence


@promise(
    "belief:agent-cap",
    "An agent's ratings count once per memory and session, a human's always.",
    source="DESIGN D5",
)
def test_an_agents_ratings_count_once_per_session_and_a_humans_always(local_bank: Bank) -> None:
    memory = lesson(local_bank)
    assert local_bank.feedback(memory, helpful=True, session="s", rater="agent").counted
    stuffed = [local_bank.feedback(memory, helpful=True, session="s", rater="agent") for _ in range(50)]
    assert not any(rating.counted for rating in stuffed)
    before = local_bank.get(memory).confidence
    assert local_bank.feedback(memory, helpful=True, session="s").new_confidence > before
    assert local_bank.feedback(memory, helpful=True, session="t", rater="agent").counted


@promise(
    "belief:learning",
    "A rating credits what predicted it, positive and negative, and each prediction once.",
    source="DESIGN D5",
)
def test_a_rating_teaches_which_signals_to_trust_and_credits_them_once(local_bank: Bank) -> None:
    memory = lesson(local_bank)
    local_bank.search("retry network calls", session="s1")
    local_bank.sessions.outcome("s1", True)
    local_bank.feedback(memory, helpful=True)
    after_one = local_bank.admin.stats().weights["usage"]
    assert after_one == pytest.approx((6 / 11) / (0.7 + 6 / 11 + 6 / 11), abs=1e-8)
    local_bank.feedback(memory, helpful=True)
    assert local_bank.admin.stats().weights["usage"] == after_one
    local_bank.outcome(memory, succeeded=False, session="s2")
    local_bank.feedback(memory, helpful=False)
    assert local_bank.admin.stats().weights["outcome"] > (6 / 11) / (0.7 + 6 / 11 + 6 / 11)


@promise(
    "belief:frozen",
    "Learning changes the weight of future signals only; no memory's confidence moves by it.",
    source="DESIGN D4",
)
def test_learning_never_moves_evidence_given_before(local_bank: Bank) -> None:
    settled, other = (
        lesson(local_bank),
        local_bank.record(title="Other", content="Something else.", outcome="success").id,
    )
    local_bank.outcome(settled, succeeded=True, session="s0")
    before = local_bank.get(settled).confidence
    for number in range(5):
        local_bank.outcome(other, succeeded=True, session=f"s{number}")
        local_bank.feedback(other, helpful=False)
    assert local_bank.admin.stats().weights["outcome"] < OUTCOME
    assert local_bank.get(settled).confidence == before


@promise(
    "belief:rollup",
    "A roll-up changes no confidence, survives a restart and forgets no session it has counted.",
    source="DESIGN D4",
)
@promise(
    "contextd:39",
    "Signals, aggregates and weights are stored and survive a restart.",
    source="spec/contextd row 39",
)
@promise(
    "contextd:40",
    "A roll-up moves what is older than thirty days, keeps the rest and changes no total.",
    source="spec/contextd row 40",
)
def test_a_roll_up_changes_no_confidence_and_survives_a_restart(
    open_local_bank: Callable[..., Bank], clock: FrozenClock
) -> None:
    bank = open_local_bank()
    memory = lesson(bank)
    for number in range(6):
        bank.outcome(memory, succeeded=number % 3 != 0, session=f"s{number}")
        bank.feedback(memory, helpful=number % 2 == 0)
        clock.advance(timedelta(days=7))
    before = bank.get(memory).belief
    moved = bank.admin.roll_up()
    assert 0 < moved < 12
    assert bank.get(memory).belief == before
    assert bank.admin.check().problems == ()
    bank.close()
    bank = open_local_bank()
    assert bank.get(memory).belief == before
    kinds = [event.kind for event in bank.memories.history(memory)]
    assert kinds[:2] == ["recorded", "rolled_up"]
    assert bank.memories.history(memory)[-1].confidence == before.score
    assert not bank.outcome(memory, succeeded=True, session="s0").recorded


@promise("belief:daily", "The roll-up runs by itself once a day.", source="seed 000 FR-005c")
def test_the_roll_up_runs_by_itself_once_a_day(local_bank: Bank, clock: FrozenClock) -> None:
    memory = lesson(local_bank)
    local_bank.outcome(memory, succeeded=True, session="old")
    clock.advance(timedelta(days=31))
    local_bank.outcome(memory, succeeded=True, session="new")
    assert [event.kind for event in local_bank.memories.history(memory)].count("rolled_up") == 1
    assert [event.kind for event in local_bank.memories.history(memory)].count("outcome") == 1


@promise("belief:history", "History tells every step with the confidence that followed.", source="issue Bank")
def test_history_tells_every_step_with_the_confidence_that_followed(local_bank: Bank, clock: FrozenClock) -> None:
    memory = lesson(local_bank, confidence=0.6)
    steps = [0.6]
    for helpful in (True, False, True):
        clock.advance(timedelta(minutes=1))
        steps.append(local_bank.feedback(memory, helpful=helpful).new_confidence)
    assert [event.confidence for event in local_bank.memories.history(memory)] == steps
