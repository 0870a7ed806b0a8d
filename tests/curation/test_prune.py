"""Pruning: what is neither believed nor used is archived with its reason, and comes back when a person wants it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from curation.aged_banks import DAY, MONTH, told
from opened_banks import OpenBank
from promises import promise
from reasoningbank.errors import InvalidInput
from reasoningbank.testing import FrozenClock
from reasoningbank.types.lifecycle import PruneRules


@promise(
    "lifecycle:pruned",
    "Memories below 0.3 without activity for 90 days are archived with the reason, none is deleted, a dry run writes "
    "nothing.",
    source="issue 4, spec/contextd 5",
)
def test_disbelieved_and_unused_memories_are_archived_with_the_reason(
    open_bank_in_session: OpenBank, clock: FrozenClock
) -> None:
    bank = open_bank_in_session()
    low, edge, high = (told(bank, f"Content {c}.", confidence=c) for c in (0.29, 0.3, 0.9))
    by_hand = bank.record(title="By hand", content="By hand.", outcome="success", confidence=0.1)
    clock.advance(90 * DAY - timedelta(seconds=1))
    assert bank.curation.prune().pruned == ()
    clock.advance(timedelta(seconds=1))
    before = bank.get(low.id)
    planned = bank.curation.prune(dry_run=True)
    assert planned.dry_run
    assert bank.get(low.id) == before
    report = bank.curation.prune()
    assert report.pruned == planned.pruned
    assert [each.memory_id for each in report.pruned] == [low.id, by_hand.id]
    assert report.pruned[0].reason == (
        "Confidence 0.290 is below 0.3, and it has not been used, rated or changed since 2026-01-01 (90 days)."
    )
    assert bank.get(low.id).state == "archived"
    assert bank.get(low.id).belief == before.belief
    assert {bank.get(each.id).state for each in (edge, high)} == {"active"}
    assert bank.curation.prune().pruned == ()
    (change,) = [each for each in bank._context.store().memories.changes(memory_id=low.id) if each.kind == "pruned"]
    assert (change.reason, change.before, change.after) == (report.pruned[0].reason, "active", "archived")
    assert any(report.pruned[0].reason in event.detail for event in bank.memories.history(low.id))


@promise(
    "lifecycle:unpruned",
    "A pruned memory can be made active again and is then left alone for as long again.",
    source="issue 4",
)
def test_a_person_brings_it_back_and_it_stays_for_as_long_again(
    open_bank_in_session: OpenBank, clock: FrozenClock
) -> None:
    bank = open_bank_in_session()
    memory = told(bank, confidence=0.2)
    clock.advance(100 * DAY)
    assert len(bank.curation.prune().pruned) == 1
    assert bank.search("retry with backoff", min_confidence=0.0).delivered == ()
    bank.update(memory.id, state="active")
    assert bank.curation.prune().pruned == ()
    clock.advance(89 * DAY)
    assert bank.curation.prune().pruned == ()
    clock.advance(DAY)
    assert len(bank.curation.prune().pruned) == 1


@promise("lifecycle:pruned")
@pytest.mark.parametrize("way", ["rate", "outcome", "edit"])
def test_activity_keeps_a_disbelieved_memory(open_bank_in_session: OpenBank, clock: FrozenClock, way: str) -> None:
    bank = open_bank_in_session()
    memory = told(bank, confidence=0.2)
    clock.advance(80 * DAY)
    if way == "rate":
        bank.feedback(memory.id, helpful=False)
    elif way == "outcome":
        bank.outcome(memory.id, succeeded=False)
    else:
        bank.update(memory.id, category="network")
    clock.advance(89 * DAY)
    bank.admin.roll_up()
    assert bank.curation.prune().pruned == ()
    clock.advance(DAY)
    assert len(bank.curation.prune().pruned) == 1


@promise("lifecycle:pruned")
@promise("lifecycle:floor")
def test_disuse_alone_archives_no_distilled_memory_but_doubt_and_disuse_do(
    open_bank_in_session: OpenBank, clock: FrozenClock
) -> None:
    bank = open_bank_in_session()
    unused, doubted = (told(bank, f"Content {n}.", confidence=0.6) for n in range(2))
    bank.feedback(doubted.id, helpful=False)
    for _ in range(24):
        clock.advance(MONTH)
        bank.curation.decay()
        bank.curation.prune()
    assert bank.get(unused.id).state == bank.get(doubted.id).state == "active"
    assert bank.get(unused.id).confidence == pytest.approx(0.3, abs=1e-9)
    bank.feedback(doubted.id, helpful=False)
    clock.advance(3 * MONTH)
    bank.curation.decay()
    assert [each.memory_id for each in bank.curation.prune().pruned] == [doubted.id]
    assert bank.admin.check().problems == ()


@promise("lifecycle:settings")
def test_the_rules_of_pruning_are_configurable_and_checked(open_bank_in_session: OpenBank, clock: FrozenClock) -> None:
    bank = open_bank_in_session(prune_below=0.5, prune_after_days=10)
    memory = told(bank, confidence=0.4)
    clock.advance(10 * DAY)
    assert bank.curation.prune(PruneRules(below=0.4, after_days=1)).pruned == ()
    assert [each.memory_id for each in bank.curation.prune().pruned] == [memory.id]
    for below, days in ((1.1, 90), (float("nan"), 90), (0.3, 0), (0.3, 10**9)):
        with pytest.raises(InvalidInput) as caught:
            PruneRules(below=below, after_days=days)
        assert caught.value.hint
