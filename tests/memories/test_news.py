"""What happened to memories lately: what is new, what evidence moved, who was shown one, and lists in another order."""

from __future__ import annotations

from datetime import timedelta

import pytest

from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.errors import InvalidInput
from reasoningbank.testing import FrozenClock
from reasoningbank.types.memory import Memory


def lesson(bank: Bank, number: int, **more: object) -> Memory:
    """A recorded memory of its own subject."""
    subject = ("figs", "apples", "pears")[number]
    return bank.record(title=f"Prune {subject}", content=f"Prune {subject} in winter.", outcome="success", **more)  # type: ignore[arg-type]


@promise(
    "memories:news",
    "A bank says what was recorded since a time, which memories evidence has raised or lowered since then, and from "
    "what to what.",
    source="issue 16",
)
def test_the_news_of_a_week_are_what_is_new_and_what_evidence_moved(
    bank_of_each_kind: Bank, clock: FrozenClock
) -> None:
    bank = bank_of_each_kind
    old, fallen = lesson(bank, 0), lesson(bank, 1)
    bank.feedback(old.id, helpful=True, session="before")
    clock.advance(timedelta(days=10))
    then = clock.now() - timedelta(days=7)
    before = bank.get(old.id).confidence
    new = lesson(bank, 2)
    for session in ("one", "two"):
        bank.feedback(old.id, helpful=True, session=session)
        bank.feedback(fallen.id, helpful=False, session=session)
    news = bank.memories.news(then)
    assert (news.recorded, [memory.id for memory in news.newest]) == (1, [new.id])
    assert (news.helped, news.harmed) == (1, 1)
    assert [(move.id, move.title) for move in news.moves] == [(old.id, "Prune figs"), (fallen.id, "Prune apples")]
    assert news.moves[0].before == pytest.approx(before)
    assert news.moves[0].after == pytest.approx(bank.get(old.id).confidence)
    assert news.moves[1].before == pytest.approx(fallen.confidence)
    clock.advance(timedelta(days=30))
    assert bank.memories.news(clock.now() - timedelta(days=7)).moves == ()


@promise("memories:meetings", "A memory names the sessions that were shown it, and how they ended.", source="issue 16")
def test_a_memory_names_the_sessions_that_were_shown_it(bank_of_each_kind: Bank) -> None:
    bank = bank_of_each_kind
    figs = lesson(bank, 0)
    for session in ("first", "second"):
        assert bank.search("prune figs", session=session).memories[0].id == figs.id
    bank.sessions.outcome("second", succeeded=False)
    bank.outcome(figs.id, succeeded=True, session="first")
    met = bank.memories.meetings(figs.id)
    assert [(one.session, one.how, one.helped, one.succeeded) for one in met] == [
        ("second", "asked", None, False),
        ("first", "asked", True, None),
    ]
    assert len(bank.memories.meetings(figs.id, limit=1)) == 1


@promise(
    "search:look",
    "A person who looks at what an agent would be shown makes no delivery: no session was shown anything, and nothing "
    "was used.",
    source="issue 16",
)
def test_a_look_at_a_search_counts_for_nothing(bank_of_each_kind: Bank) -> None:
    bank = bank_of_each_kind
    figs = lesson(bank, 0)
    seen = bank.search("prune figs", session="looking", logged=False)
    assert [hit.id for hit in seen.memories] == [figs.id]
    assert bank.get(figs.id).usage_count == 0
    assert bank.memories.meetings(figs.id) == ()
    assert bank.admin.stats().recalls == 0


@promise(
    "memories:order",
    "Memories are listed as recorded, or the newest, surest, most shown or last changed first.",
    source="issue 16",
)
def test_a_list_has_the_order_that_it_is_asked_for(bank_of_each_kind: Bank, clock: FrozenClock) -> None:
    bank = bank_of_each_kind
    first, second, third = (lesson(bank, number, confidence=(0.7, 0.9, 0.8)[number]) for number in range(3))
    clock.advance(timedelta(days=1))
    bank.update(first.id, content="Prune figs in late winter.")
    bank.search("prune pears", session="one", limit=1)
    expected = {
        "recorded": [first.id, second.id, third.id],
        "newest": [third.id, second.id, first.id],
        "confidence": [second.id, third.id, first.id],
        "shown": [third.id, first.id, second.id],
        "changed": [first.id, third.id, second.id],
    }
    found = {order: [memory.id for memory in bank.memories.list(order=order)] for order in expected}  # type: ignore[arg-type]
    assert found == expected
    assert [memory.id for memory in bank.memories.list(order="confidence", limit=1, offset=1)] == [third.id]
    with pytest.raises(InvalidInput, match="order must be recorded, newest, "):
        bank.memories.list(order="loudest")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="as recorded"):
        bank.memories.list(order="newest", linked_to=["node"])
