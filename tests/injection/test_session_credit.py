"""The end of a session credits exactly what was shown in it, once, and shared."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reasoningbank.bank import Bank
from reasoningbank.errors import MemoryNotFound
from reasoningbank.types.belief import to_units
from reasoningbank.types.recall import SessionOutcome

LESSONS = (
    ("Retry a network call that fails now and then", "Wait with exponential back-off, then retry the call."),
    ("Back up a database before a migration", "Take a backup of the database before its schema is migrated."),
    ("Parse dates with an explicit format", "Name the format of a date; guessing day and month went wrong."),
    ("Pin the versions of dependencies", "Pin every dependency so that a build can be repeated."),
)


def fill(bank: Bank) -> list[str]:
    """Stores the lessons and returns their ids."""
    return [bank.record(title=title, content=content, outcome="success").id for title, content in LESSONS]


def outcomes(bank: Bank, memory_id: str) -> list[tuple[bool, str, int | None]]:
    """The outcome signals of a memory: polarity, session, weight."""
    signals = bank._context.store().evidence.signals(memory_id)
    return [(one.positive, one.session, one.weight) for one in signals if one.type == "outcome"]


@pytest.mark.promise("inject:credit")
def test_exactly_what_was_shown_is_credited_and_only_once(bank: Bank) -> None:
    retry, backup, parse, pin = fill(bank)
    shown = [item.hit.id for item in bank.briefing("the network call fails now and then", session="s").items]
    assert shown == [retry]
    found = bank.search("migrate the schema of a database", session="s", unproven=0)
    assert [hit.id for hit in found.memories] == [backup]
    bank.search("parse the date of an invoice", session="another")
    before = {memory_id: bank.get(memory_id).confidence for memory_id in (retry, backup, parse, pin)}
    report = bank.sessions.outcome("s", True)
    assert [one.memory_id for one in report.credited] == [retry, backup]
    assert all(one.new_confidence > before[one.memory_id] for one in report.credited)
    assert [bank.get(memory_id).confidence for memory_id in (parse, pin)] == [before[parse], before[pin]]
    again = bank.sessions.outcome("s", False)
    assert (again.credited, set(again.unchanged)) == ((), {retry, backup})
    assert [bank.get(one.memory_id).confidence for one in report.credited] == [
        one.new_confidence for one in report.credited
    ]


@pytest.mark.promise("inject:credit-shared")
@pytest.mark.parametrize("count", [1, 2, 3, 4])
@pytest.mark.parametrize("succeeded", [True, False])
def test_the_weight_of_one_outcome_is_shared_in_equal_parts(bank: Bank, count: int, succeeded: bool) -> None:
    fill(bank)
    shown = [item.hit.id for item in bank.briefing(session="s", limit=count, budget=5_000).items]
    assert len(shown) == count
    whole = to_units(bank.admin.stats().weights["outcome"])
    bank.sessions.outcome("s", succeeded)
    assert [outcomes(bank, memory_id) for memory_id in shown] == [[(succeeded, "s", whole // count)]] * count
    assert whole - count < sum((whole // count,) * count) <= whole


@pytest.mark.promise("inject:credit")
def test_what_one_memory_was_reported_for_before_stays_and_the_others_get_their_share(bank: Bank) -> None:
    fill(bank)
    first, second, *_ = [item.hit.id for item in bank.briefing(session="s", budget=5_000).items]
    alone = bank.outcome(first, succeeded=True, session="s")
    report = bank.sessions.outcome("s", True)
    assert report.unchanged == (first,)
    assert second in {one.memory_id for one in report.credited}
    assert bank.get(first).confidence == alone.new_confidence
    assert outcomes(bank, second) == [(True, "s", to_units(bank.admin.stats().weights["outcome"]) // len(LESSONS))]


@pytest.mark.promise("inject:credit")
def test_a_session_that_was_shown_nothing_credits_nothing_and_deleted_memories_are_passed_over(bank: Bank) -> None:
    ids = fill(bank)
    assert bank.sessions.outcome("unknown", True).credited == ()
    bank.briefing(session="s", budget=5_000)
    bank.delete(ids[0])
    report = bank.sessions.outcome("s", True)
    assert {one.memory_id for one in report.credited} == set(ids[1:])
    with pytest.raises(MemoryNotFound):
        bank.get(ids[0])


@pytest.mark.promise("inject:usage")
def test_a_briefing_without_a_task_is_no_evidence_and_one_with_a_task_counts_once_a_session(bank: Bank) -> None:
    fill(bank)
    before = [(one.confidence, one.usage_count) for one in bank.memories.list()]
    bank.briefing(session="s", budget=5_000)
    assert [(one.confidence, one.usage_count) for one in bank.memories.list()] == before
    (item,) = bank.briefing("the network call fails now and then", session="s").items
    once = bank.get(item.hit.id)
    assert (once.usage_count, once.confidence > item.hit.confidence) == (1, True)
    bank.briefing("the network call fails now and then", session="s")
    assert (bank.get(item.hit.id).usage_count, bank.get(item.hit.id).confidence) == (2, once.confidence)


@pytest.mark.promise("inject:repeat")
def test_on_demand_only_what_the_session_has_not_seen_is_shown(bank: Bank) -> None:
    fill(bank)
    task = "the network call fails now and then"
    (item,) = bank.briefing(task, session="s", repeat=False).items
    again = bank.briefing(task, session="s", repeat=False)
    assert (again.text, [(one.id, one.reason) for one in again.left_out]) == (
        "",
        [(item.hit.id, "shown before in this session")],
    )
    assert bank.briefing(task, session="s").items
    assert bank.briefing(task, session="t", repeat=False).items


@pytest.mark.promise("inject:branch")
def test_a_branch_gets_its_share_of_the_budget_and_only_its_own_outcome(bank: Bank) -> None:
    retry, *others = fill(bank)
    parent = bank.briefing(session="parent", budget=5_000)
    branch = bank.branches.briefing("make the flaky network call reliable", 2_000)
    assert branch.tokens <= 400
    assert [item.hit.id for item in branch.items] == [retry]
    assert branch.session not in {"parent", bank.session}
    report = bank.branches.outcome(branch.session, True)
    assert [one.memory_id for one in report.credited] == [retry]
    assert report.learned is None
    assert all(outcomes(bank, memory_id) == [] for memory_id in others)
    assert len(parent.items) == len(LESSONS)
    assert bank.branches.briefing("make the flaky network call reliable", 300).text == ""


@pytest.mark.promise("inject:branch")
@pytest.mark.parametrize(("succeeded", "outcome"), [(True, "success"), (False, "failure")])
def test_the_account_of_a_branch_becomes_a_lesson_once(bank: Bank, succeeded: bool, outcome: str) -> None:
    branch = bank.branches.briefing("rename the column without downtime", 2_000)

    def end() -> SessionOutcome:
        return bank.branches.outcome(
            branch.session,
            succeeded,
            description="Rename a column of a busy table without downtime",
            approach="Added the new column, wrote to both, copied in batches, then switched the readers.",
            result="The switch took two seconds." if succeeded else "The copy locked the table for ten minutes.",
            avoid="" if succeeded else "Do not copy all rows in one transaction on a busy table.",
        )

    report = end()
    assert report.learned is not None
    assert [bank.get(memory_id).outcome for memory_id in report.learned.distilled] == [outcome]
    count = bank.memories.count()
    end()
    assert bank.memories.count() == count


@settings(max_examples=15)
@given(
    calls=st.lists(
        st.tuples(st.sampled_from(["brief", "search", "outcome"]), st.sampled_from("ab"), st.booleans()), max_size=12
    )
)
@pytest.mark.promise("inject:credit")
def test_no_order_of_calls_credits_twice_or_what_was_not_shown(
    calls: list[tuple[str, str, bool]], open_fresh: Callable[[], Bank]
) -> None:
    with open_fresh() as bank:
        ids = fill(bank)
        shown: dict[str, set[str]] = {"a": set(), "b": set()}
        credited: dict[str, set[str]] = {"a": set(), "b": set()}
        for kind, session, flag in calls:
            if kind == "brief":
                brief = bank.briefing(session=session, limit=2 if flag else 4, budget=5_000)
                shown[session] |= {item.hit.id for item in brief.items}
            elif kind == "search":
                recall = bank.search("migrate a database" if flag else "a network call fails", session=session)
                shown[session] |= {hit.id for hit in recall.delivered}
            else:
                report = bank.sessions.outcome(session, flag)
                new = {one.memory_id for one in report.credited}
                assert new == shown[session] - credited[session]
                credited[session] |= new
        for memory_id in ids:
            sessions = [one[1] for one in outcomes(bank, memory_id)]
            assert sorted(sessions) == sorted(name for name in credited if memory_id in credited[name])
