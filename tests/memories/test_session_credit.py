"""The end of a session credits exactly what was shown in it, once, and shared."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.errors import MemoryNotFound
from reasoningbank.types.belief import to_units
from reasoningbank.types.recall import FITTING, SessionOutcome

LESSONS = (
    ("Retry a network call that fails now and then", "Wait with exponential back-off, then retry the call."),
    ("Back up a database before a migration", "Take a backup of the database before its schema is migrated."),
    ("Parse dates with an explicit format", "Name the format of a date; guessing day and month went wrong."),
    ("Pin the versions of dependencies", "Pin every dependency so that a build can be repeated."),
)


def fill(bank: Bank) -> list[str]:
    """Stores the lessons and returns their ids."""
    return [bank.record(title=title, content=content, outcome="success").id for title, content in LESSONS]


def ask(bank: Bank, session: str, count: int = len(LESSONS)) -> list[str]:
    """Ask for so many lessons, each with its own question; return the ids of what was found."""
    return [hit.id for title, _ in LESSONS[:count] for hit in bank.search(title, session=session, limit=1).memories]


def outcomes(bank: Bank, memory_id: str) -> list[tuple[bool, str, int | None]]:
    """The outcome signals of a memory: polarity, session, weight."""
    signals = bank._context.store().evidence.signals(memory_id)
    return [(one.positive, one.session, one.weight) for one in signals if one.type == "outcome"]


@promise(
    "inject:credit",
    "A session's outcome credits exactly what briefings and searches have shown in it that fitted a task, once per "
    "memory and session, whatever the order of calls.",
    source="issue Injection; DESIGN D5",
)
def test_exactly_what_was_shown_is_credited_and_only_once(local_bank: Bank) -> None:
    retry, backup, parse, pin = fill(local_bank)
    shown = [item.hit.id for item in local_bank.briefing("the network call fails now and then", session="s").items]
    assert shown == [retry]
    found = local_bank.search("migrate the schema of a database", session="s", unproven=0)
    assert [hit.id for hit in found.memories] == [backup]
    local_bank.search("parse the date of an invoice", session="another")
    before = {memory_id: local_bank.get(memory_id).confidence for memory_id in (retry, backup, parse, pin)}
    report = local_bank.sessions.outcome("s", True)
    assert [one.memory_id for one in report.credited] == [retry, backup]
    assert all(one.new_confidence > before[one.memory_id] for one in report.credited)
    assert [local_bank.get(memory_id).confidence for memory_id in (parse, pin)] == [before[parse], before[pin]]
    after = {memory_id: local_bank.get(memory_id).confidence for memory_id in (retry, backup)}
    again = local_bank.sessions.outcome("s", True)
    assert (again.credited, set(again.unchanged)) == ((), {retry, backup})
    assert {memory_id: local_bank.get(memory_id).confidence for memory_id in (retry, backup)} == after


@promise(
    "inject:credit-shared",
    "The weight of one session's outcome is shared in equal parts by everything that was shown for a task.",
    source="issue Injection",
)
@pytest.mark.parametrize("count", [1, 2, 3, 4])
@pytest.mark.parametrize("succeeded", [True, False])
def test_the_weight_of_one_outcome_is_shared_in_equal_parts(local_bank: Bank, count: int, succeeded: bool) -> None:
    fill(local_bank)
    shown = ask(local_bank, "s", count)
    assert len({*shown}) == count
    whole = to_units(local_bank.admin.stats().weights["outcome"])
    local_bank.sessions.outcome("s", succeeded)
    assert [outcomes(local_bank, memory_id) for memory_id in shown] == [[(succeeded, "s", whole // count)]] * count
    assert whole - count < sum((whole // count,) * count) <= whole


@promise("inject:credit")
def test_what_one_memory_was_reported_for_before_stays_and_the_others_get_their_share(local_bank: Bank) -> None:
    fill(local_bank)
    first, second, *_ = ask(local_bank, "s")
    alone = local_bank.outcome(first, succeeded=True, session="s")
    report = local_bank.sessions.outcome("s", True)
    assert report.unchanged == (first,)
    assert second in {one.memory_id for one in report.credited}
    assert [one[0] for one in outcomes(local_bank, first)] == [True]
    assert local_bank.get(first).confidence > alone.new_confidence, "its use in a session that did not fail"
    assert outcomes(local_bank, second) == [
        (True, "s", to_units(local_bank.admin.stats().weights["outcome"]) // len(LESSONS))
    ]


@promise("inject:credit")
def test_a_session_that_was_shown_nothing_credits_nothing_and_deleted_memories_are_passed_over(
    local_bank: Bank,
) -> None:
    ids = fill(local_bank)
    assert local_bank.sessions.outcome("unknown", True).credited == ()
    ask(local_bank, "s")
    local_bank.delete(ids[0])
    report = local_bank.sessions.outcome("s", True)
    assert {one.memory_id for one in report.credited} == set(ids[1:])
    with pytest.raises(MemoryNotFound):
        local_bank.get(ids[0])


@promise(
    "inject:usage",
    "Being shown is not evidence: no search and no briefing changes a confidence; one with a task is counted as a "
    "delivery.",
    source="DESIGN D5",
)
def test_being_shown_is_no_evidence_and_only_a_briefing_with_a_task_is_counted(local_bank: Bank) -> None:
    fill(local_bank)
    before = [(one.confidence, one.usage_count) for one in local_bank.memories.list()]
    local_bank.briefing(session="s", budget=5_000)
    assert [(one.confidence, one.usage_count) for one in local_bank.memories.list()] == before
    (item,) = local_bank.briefing("the network call fails now and then", session="s").items
    once = local_bank.get(item.hit.id)
    assert (once.usage_count, once.confidence) == (1, item.hit.confidence)
    local_bank.briefing("the network call fails now and then", session="t")
    assert (local_bank.get(item.hit.id).usage_count, local_bank.get(item.hit.id).confidence) == (2, once.confidence)


@promise("inject:repeat", "On demand a briefing leaves out what the session was shown before.", source="issue Hooks")
def test_on_demand_only_what_the_session_has_not_seen_is_shown(local_bank: Bank) -> None:
    fill(local_bank)
    task = "the network call fails now and then"
    (item,) = local_bank.briefing(task, session="s", repeat=False).items
    again = local_bank.briefing(task, session="s", repeat=False)
    assert (again.text, [(one.id, one.reason) for one in again.left_out]) == (
        "",
        [(item.hit.id, "shown before in this session")],
    )
    assert local_bank.briefing(task, session="s").items
    assert local_bank.briefing(task, session="t", repeat=False).items


@promise(
    "inject:branch",
    "A branch of a folded context gets its share of the budget, credits only what it was shown, and its account "
    "becomes one lesson.",
    source="issue Injection; seed 001 layer 1",
)
def test_a_branch_gets_its_share_of_the_budget_and_only_its_own_outcome(local_bank: Bank) -> None:
    retry, *others = fill(local_bank)
    parent = local_bank.briefing(session="parent", budget=5_000)
    branch = local_bank.branches.briefing("make the flaky network call reliable", 2_000)
    assert branch.tokens <= 400
    assert [item.hit.id for item in branch.items] == [retry]
    assert branch.session not in {"parent", local_bank.session}
    report = local_bank.branches.outcome(branch.session, True)
    assert [one.memory_id for one in report.credited] == [retry]
    assert report.learned is None
    assert all(outcomes(local_bank, memory_id) == [] for memory_id in others)
    assert len(parent.items) == len(LESSONS)
    assert local_bank.branches.briefing("make the flaky network call reliable", 300).text == ""


@promise("inject:branch")
@pytest.mark.parametrize(("succeeded", "outcome"), [(True, "success"), (False, "failure")])
def test_the_account_of_a_branch_becomes_a_lesson_once(local_bank: Bank, succeeded: bool, outcome: str) -> None:
    branch = local_bank.branches.briefing("rename the column without downtime", 2_000)

    def end() -> SessionOutcome:
        return local_bank.branches.outcome(
            branch.session,
            succeeded,
            description="Rename a column of a busy table without downtime",
            approach="Added the new column, wrote to both, copied in batches, then switched the readers.",
            result="The switch took two seconds." if succeeded else "The copy locked the table for ten minutes.",
            avoid="" if succeeded else "Do not copy all rows in one transaction on a busy table.",
        )

    report = end()
    assert report.learned is not None
    assert [local_bank.get(memory_id).outcome for memory_id in report.learned.distilled] == [outcome]
    count = local_bank.memories.count()
    end()
    assert local_bank.memories.count() == count


@settings(max_examples=15)
@given(
    calls=st.lists(
        st.tuples(st.sampled_from(["brief", "start", "search", "outcome"]), st.sampled_from("ab"), st.booleans()),
        max_size=12,
    )
)
@promise("inject:credit")
def test_no_order_of_calls_credits_twice_or_what_was_not_shown(
    calls: list[tuple[str, str, bool]], open_fresh: Callable[[], Bank]
) -> None:
    with open_fresh() as bank:
        ids = fill(bank)
        shown: dict[str, set[str]] = {"a": set(), "b": set()}
        credited: dict[str, dict[str, bool]] = {"a": {}, "b": {}}
        for kind, session, flag in calls:
            task = "back up a database before a migration" if flag else "a network call fails now and then"
            if kind == "start":
                bank.briefing(session=session, limit=2 if flag else 4, budget=5_000)
            elif kind == "brief":
                brief = bank.briefing(task, session=session, budget=5_000)
                shown[session] |= {item.hit.id for item in brief.items if item.hit.relevance >= FITTING}
            elif kind == "search":
                recall = bank.search(task, session=session)
                shown[session] |= {hit.id for hit in recall.delivered if hit.relevance >= FITTING}
            else:
                report = bank.sessions.outcome(session, flag)
                new = {one.memory_id for one in report.credited}
                assert new == {one for one in shown[session] if credited[session].get(one) is not flag}
                credited[session] |= dict.fromkeys(new, flag)
        for memory_id in ids:
            ends = {one[1]: one[0] for one in outcomes(bank, memory_id)}
            assert len(ends) == len(outcomes(bank, memory_id))
            assert ends == {name: credited[name][memory_id] for name in credited if memory_id in credited[name]}


@promise(
    "evidence:taken-back",
    "A candidate that only a session's verdict had made active is a candidate again when that verdict is taken back; "
    "what was recorded active stays active.",
    source="review, verdicts",
)
def test_a_verdict_that_is_taken_back_takes_its_activation_back(local_bank: Bank) -> None:
    title, content = LESSONS[0]
    memory = local_bank.record(title=title, content=content, outcome="success", confidence=0.68)
    local_bank.update(memory.id, state="candidate")
    other = local_bank.record(title=LESSONS[1][0], content=LESSONS[1][1], outcome="success", confidence=0.68)
    assert local_bank.get(other.id).state == "active"
    for one in (memory, other):
        local_bank.search(one.title, session="s", limit=1)
    local_bank.sessions.outcome("s", True)
    raised = local_bank.get(memory.id)
    assert (raised.state, raised.confidence >= 0.7) == ("active", True)
    local_bank.sessions.outcome("s", False)
    lowered = local_bank.get(memory.id)
    assert (lowered.state, lowered.confidence < 0.7) == ("candidate", True)
    assert local_bank.get(other.id).state == "active"
    local_bank.sessions.outcome("s", True)
    assert local_bank.get(memory.id).state == "active"
