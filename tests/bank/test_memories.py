"""Recording, reading, editing and deleting memories through the Bank, on the real store."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TypedDict

import numpy
import pytest

from reasoningbank.bank import Bank
from reasoningbank.errors import (
    EmptyContent,
    EmptyMemoryId,
    EmptyTitle,
    InvalidConfidence,
    InvalidMemory,
    InvalidOutcome,
    MemoryNotFound,
    NegativeLimit,
    NegativeOffset,
    StoreClosed,
    TextTooLong,
)
from reasoningbank.testing import FrozenClock
from reasoningbank.types.ports import Embedder


class Fields(TypedDict):
    """What a record needs at least."""

    title: str
    content: str
    outcome: str


LESSON: Fields = {
    "title": "Retry flaky network calls with backoff",
    "content": "Wrap the call, wait twice as long after each failure, give up after five attempts.",
    "outcome": "success",
}


def recorded(bank: Bank, **changes: object) -> str:
    """Records the lesson with changes and returns its id."""
    return bank.record(**{**LESSON, **changes}).id  # type: ignore[arg-type]


@pytest.mark.promise("bank:record", "contextd:3", "contextd:4")
def test_a_record_starts_at_exactly_eight_tenths(bank: Bank) -> None:
    memory = bank.record(**LESSON)
    assert memory.confidence == 0.8
    assert bank.get(memory.id) == memory


@pytest.mark.promise("contextd:4")
@pytest.mark.parametrize("confidence", [0.0, 0.25, 0.5, 0.6, 0.95, 1.0])
def test_a_given_confidence_is_kept_exactly(bank: Bank, confidence: float) -> None:
    assert bank.record(**LESSON, confidence=confidence).confidence == confidence


@pytest.mark.promise("bank:validation", "contextd:2")
@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"title": "  "}, EmptyTitle),
        ({"title": "\u200b"}, EmptyTitle),
        ({"content": ""}, EmptyContent),
        ({"outcome": "unsuccessful"}, InvalidOutcome),
        ({"outcome": "SUCCESS"}, InvalidOutcome),
        ({"title": "x" * 201}, TextTooLong),
        ({"content": "x" * 20_001}, TextTooLong),
        ({"content": "x" * 3_000_000}, TextTooLong),
        ({"tags": ["t"] * 1 + [f"t{number}" for number in range(40)]}, InvalidMemory),
        ({"confidence": 1.5}, InvalidConfidence),
        ({"confidence": float("nan")}, InvalidConfidence),
    ],
)
def test_bad_input_is_refused_with_a_hint_and_stores_nothing(
    bank: Bank, changes: dict[str, object], error: type[Exception]
) -> None:
    with pytest.raises(error) as caught:
        recorded(bank, **changes)
    assert getattr(caught.value, "hint", "")
    assert bank.memories.count() == 0


@pytest.mark.promise("contextd:18", "contextd:19")
def test_every_field_survives_the_store_and_a_restart(open_bank: Callable[..., Bank]) -> None:
    bank = open_bank()
    memory = bank.record(
        title='Quote "paths" — även åäö 漢字 🙂',
        content="First line\n\n  second line\twith a tab\n# and a hash",
        outcome="failure",
        description="When a path holds spaces",
        tags=["shell", "Ünïcode", "c++"],
        category="debugging",
        session="s-1",
        source="test",
    )
    bank.close()
    again = open_bank().get(memory.id)
    assert again == memory
    assert again.tags == ("shell", "Ünïcode", "c++")
    assert again.provenance == {"source": "test", "session": "s-1"}


@pytest.mark.promise("contextd:9", "contextd:12", "contextd:13")
def test_unknown_and_empty_ids_are_errors_of_their_own(bank: Bank) -> None:
    for call in (
        bank.get,
        bank.delete,
        bank.memories.history,
        lambda name: bank.feedback(name, helpful=True),
        lambda name: bank.outcome(name, succeeded=True),
        lambda name: bank.update(name, title="x"),
    ):
        with pytest.raises(EmptyMemoryId):
            call("")
        with pytest.raises(MemoryNotFound):
            call("0190aaaa-0000-7000-8000-000000000000")
        with pytest.raises(MemoryNotFound):
            call("' OR 1=1 --")


@pytest.mark.promise("contextd:13", "bank:delete")
def test_a_deleted_memory_is_gone_from_every_read(bank: Bank) -> None:
    kept, gone = recorded(bank), recorded(bank, title="Pin the compiler version", content="Use one toolchain file.")
    bank.delete(gone)
    with pytest.raises(MemoryNotFound):
        bank.get(gone)
    assert [memory.id for memory in bank.memories.list()] == [kept]
    assert bank.memories.count() == 1
    assert gone not in [hit.id for hit in bank.search("pin the compiler version").delivered]


@pytest.mark.promise("contextd:21", "bank:list")
def test_list_pages_in_the_order_of_recording(bank: Bank) -> None:
    ids = [recorded(bank, title=f"Lesson number {number}") for number in range(7)]
    assert [memory.id for memory in bank.memories.list()] == ids
    assert [memory.id for memory in bank.memories.list(limit=3)] == ids[:3]
    assert [memory.id for memory in bank.memories.list(limit=3, offset=5)] == ids[5:]
    assert bank.memories.list(limit=3, offset=50) == ()
    with pytest.raises(NegativeLimit):
        bank.memories.list(limit=-1)
    with pytest.raises(NegativeOffset):
        bank.memories.list(offset=-1)


@pytest.mark.promise("contextd:22")
def test_the_stored_vector_is_the_embedding_of_title_and_content(bank: Bank, embedder: Embedder) -> None:
    memory = bank.record(**LESSON)
    expected = embedder.embed_documents([f"{memory.title}\n\n{memory.content}"])[0]
    stored = bank.memories.vector(memory.id)
    assert stored is not None
    assert float(numpy.dot(stored, expected)) > 0.9999
    assert bank.memories.vector(memory.id, leg="description") is None
    with pytest.raises(EmptyMemoryId):
        bank.memories.vector("")


@pytest.mark.promise("contextd:5", "bank:update")
def test_an_edit_keeps_the_creation_the_evidence_and_the_earlier_version(bank: Bank, clock: FrozenClock) -> None:
    memory = bank.record(**LESSON)
    rating = bank.feedback(memory.id, helpful=True)
    clock.advance(timedelta(hours=1))
    edited = bank.update(memory.id, title="Back off before you retry", tags=["network"])
    assert edited.created_at == memory.created_at
    assert edited.updated_at == clock.now()
    assert edited.version == 2
    assert edited.confidence == rating.new_confidence
    assert [event.kind for event in bank.memories.history(memory.id)] == ["recorded", "explicit", "edited"]
    assert bank.search("back off before retrying").memories[0].id == memory.id


@pytest.mark.promise("bank:update")
def test_an_edit_that_changes_nothing_makes_no_version(bank: Bank) -> None:
    memory = bank.record(**LESSON)
    assert bank.update(memory.id, title=LESSON["title"]).version == 1
    assert bank.update(memory.id) == memory


@pytest.mark.promise("bank:closed")
def test_a_closed_bank_says_so(bank: Bank) -> None:
    bank.close()
    bank.close()
    with pytest.raises(StoreClosed):
        bank.memories.count()


@pytest.mark.promise("contextd:20", "bank:owner")
def test_projects_are_apart_but_a_rating_finds_its_project(open_bank: Callable[..., Bank]) -> None:
    shop, site = open_bank(project="shop"), open_bank(project="site")
    memory = shop.record(**LESSON)
    assert site.memories.count() == 0
    assert site.memories.list() == ()
    assert site.search("retry flaky network calls").delivered == ()
    rating = site.feedback(memory.id, helpful=True)
    assert rating.new_confidence == shop.get(memory.id).confidence > 0.8
    other = open_bank(tenant="umbrella", project="shop")
    with pytest.raises(MemoryNotFound):
        other.feedback(memory.id, helpful=True)
    with pytest.raises(MemoryNotFound):
        other.delete(memory.id)
