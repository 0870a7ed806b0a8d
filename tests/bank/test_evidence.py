"""Ratings, outcomes and deliveries through the Bank: how belief moves, exactly, and once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from reasoningbank.bank import Bank
from reasoningbank.testing import FrozenClock

EXPLICIT = 0.7 / 1.7
OUTCOME = USAGE = 0.5 / 1.7


def lesson(bank: Bank, confidence: float = 0.8) -> str:
    """Records one lesson and returns its id."""
    return bank.record(
        title="Retry network calls", content="Back off, then retry.", outcome="success", confidence=confidence
    ).id


@pytest.mark.promise("belief:feedback", "contextd:10")
def test_helpful_raises_and_unhelpful_lowers_by_the_documented_amount(bank: Bank) -> None:
    up, down = lesson(bank), lesson(bank)
    rating = bank.feedback(up, helpful=True)
    assert rating.previous_confidence == 0.8
    assert rating.new_confidence == pytest.approx((1.6 + EXPLICIT) / (2 + EXPLICIT), abs=1e-8)
    assert bank.feedback(down, helpful=False).new_confidence == pytest.approx(1.6 / (2 + EXPLICIT), abs=1e-8)
    assert bank.get(up).confidence == rating.new_confidence
    assert "rose" in rating.message


@pytest.mark.promise("belief:outcome", "contextd:11")
def test_an_outcome_counts_once_per_session_and_every_time_without_one(bank: Bank) -> None:
    memory = lesson(bank)
    first = bank.outcome(memory, succeeded=True, session="s1")
    assert first.recorded
    assert first.new_confidence == pytest.approx((1.6 + OUTCOME) / (2 + OUTCOME), abs=1e-8)
    second = bank.outcome(memory, succeeded=False, session="s1")
    assert not second.recorded
    assert second.new_confidence == first.new_confidence == bank.get(memory).confidence
    assert "before" in second.message
    third = bank.outcome(memory, succeeded=False)
    fourth = bank.outcome(memory, succeeded=False)
    assert third.recorded
    assert fourth.new_confidence < third.new_confidence < first.new_confidence


@pytest.mark.promise("belief:agent-cap")
def test_an_agents_ratings_count_once_per_session_and_a_humans_always(bank: Bank) -> None:
    memory = lesson(bank)
    assert bank.feedback(memory, helpful=True, session="s", rater="agent").counted
    stuffed = [bank.feedback(memory, helpful=True, session="s", rater="agent") for _ in range(50)]
    assert not any(rating.counted for rating in stuffed)
    before = bank.get(memory).confidence
    assert bank.feedback(memory, helpful=True, session="s").new_confidence > before
    assert bank.feedback(memory, helpful=True, session="t", rater="agent").counted


@pytest.mark.promise("belief:learning")
def test_a_rating_teaches_which_signals_to_trust_and_credits_them_once(bank: Bank) -> None:
    memory = lesson(bank)
    bank.search("retry network calls", session="s1")
    bank.feedback(memory, helpful=True)
    after_one = bank.admin.stats().weights["usage"]
    assert after_one == pytest.approx((6 / 11) / (0.7 + 6 / 11 + 0.5), abs=1e-8)
    bank.feedback(memory, helpful=True)
    assert bank.admin.stats().weights["usage"] == after_one
    bank.outcome(memory, succeeded=False, session="s1")
    bank.feedback(memory, helpful=False)
    assert bank.admin.stats().weights["outcome"] > 0.5 / (0.7 + 6 / 11 + 0.5)


@pytest.mark.promise("belief:frozen")
def test_learning_never_moves_evidence_given_before(bank: Bank) -> None:
    settled, other = lesson(bank), bank.record(title="Other", content="Something else.", outcome="success").id
    bank.outcome(settled, succeeded=True, session="s0")
    before = bank.get(settled).confidence
    for number in range(5):
        bank.outcome(other, succeeded=True, session=f"s{number}")
        bank.feedback(other, helpful=False)
    assert bank.admin.stats().weights["outcome"] < OUTCOME
    assert bank.get(settled).confidence == before


@pytest.mark.promise("belief:rollup", "contextd:39", "contextd:40")
def test_a_roll_up_changes_no_confidence_and_survives_a_restart(
    open_bank: Callable[..., Bank], clock: FrozenClock
) -> None:
    bank = open_bank()
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
    bank = open_bank()
    assert bank.get(memory).belief == before
    kinds = [event.kind for event in bank.memories.history(memory)]
    assert kinds[:2] == ["recorded", "rolled_up"]
    assert bank.memories.history(memory)[-1].confidence == before.score
    assert not bank.outcome(memory, succeeded=True, session="s0").recorded


@pytest.mark.promise("belief:daily")
def test_the_roll_up_runs_by_itself_once_a_day(bank: Bank, clock: FrozenClock) -> None:
    memory = lesson(bank)
    bank.outcome(memory, succeeded=True, session="old")
    clock.advance(timedelta(days=31))
    bank.outcome(memory, succeeded=True, session="new")
    assert [event.kind for event in bank.memories.history(memory)].count("rolled_up") == 1
    assert [event.kind for event in bank.memories.history(memory)].count("outcome") == 1


@pytest.mark.promise("belief:history")
def test_history_tells_every_step_with_the_confidence_that_followed(bank: Bank, clock: FrozenClock) -> None:
    memory = lesson(bank, confidence=0.6)
    steps = [0.6]
    for helpful in (True, False, True):
        clock.advance(timedelta(minutes=1))
        steps.append(bank.feedback(memory, helpful=helpful).new_confidence)
    assert [event.confidence for event in bank.memories.history(memory)] == steps
