"""Recording, reading, editing and deleting memories through the Bank, on the real store."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TypedDict

import numpy
import pytest

from promises import promise
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


@promise(
    "bank:record",
    "A record is stored at once, at exactly 0.8, and reads back as it was returned.",
    source="seed 000 FR-007",
)
@promise("contextd:3", "The first record creates the project's bank.", source="spec/contextd row 3")
@promise(
    "contextd:4",
    "A record starts at exactly 0.8; any confidence given is kept, 0.0 and 0.5 too.",
    source="spec/contextd row 4",
)
def test_a_record_starts_at_exactly_eight_tenths(local_bank: Bank) -> None:
    memory = local_bank.record(**LESSON)
    assert memory.confidence == 0.8
    assert local_bank.get(memory.id) == memory


@promise("contextd:4")
@pytest.mark.parametrize("confidence", [0.0, 0.25, 0.5, 0.6, 0.95, 1.0])
def test_a_given_confidence_is_kept_exactly(local_bank: Bank, confidence: float) -> None:
    assert local_bank.record(**LESSON, confidence=confidence).confidence == confidence


@promise(
    "bank:validation",
    "Bad input is refused by an error of its own with a hint, and nothing is stored.",
    source="seed 004 errors",
)
@promise("contextd:2", "Recording without the needed fields is InvalidMemory.", source="spec/contextd row 2")
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
    local_bank: Bank, changes: dict[str, object], error: type[Exception]
) -> None:
    with pytest.raises(error) as caught:
        recorded(local_bank, **changes)
    assert getattr(caught.value, "hint", "")
    assert local_bank.memories.count() == 0


@promise("contextd:18", "Every field survives the real store, tags included.", source="spec/contextd row 18")
@promise("contextd:19", "Titles and times come back exactly.", source="spec/contextd row 19")
def test_every_field_survives_the_store_and_a_restart(open_local_bank: Callable[..., Bank]) -> None:
    bank = open_local_bank()
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
    again = open_local_bank().get(memory.id)
    assert again == memory
    assert again.tags == ("shell", "Ünïcode", "c++")
    assert again.provenance == {"source": "test", "session": "s-1", "entered": "person"}


@promise(
    "contextd:9", "Get by id; an empty id and an unknown id are errors of their own.", source="spec/contextd row 9"
)
@promise("contextd:12", "Feedback and outcome on an unknown or empty id are errors.", source="spec/contextd row 12")
@promise(
    "contextd:13",
    "A deleted memory is not found; deleting an unknown one is an error.",
    source="spec/contextd row 13",
)
def test_unknown_and_empty_ids_are_errors_of_their_own(local_bank: Bank) -> None:
    for call in (
        local_bank.get,
        local_bank.delete,
        local_bank.memories.history,
        lambda name: local_bank.feedback(name, helpful=True),
        lambda name: local_bank.outcome(name, succeeded=True),
        lambda name: local_bank.update(name, title="x"),
    ):
        with pytest.raises(EmptyMemoryId):
            call("")
        with pytest.raises(MemoryNotFound):
            call("0190aaaa-0000-7000-8000-000000000000")
        with pytest.raises(MemoryNotFound):
            call("' OR 1=1 --")


@promise("contextd:13")
@promise("bank:delete", "A deleted memory is in no read, list, count or search.", source="issue Bank")
def test_a_deleted_memory_is_gone_from_every_read(local_bank: Bank) -> None:
    kept, gone = (
        recorded(local_bank),
        recorded(local_bank, title="Pin the compiler version", content="Use one toolchain file."),
    )
    local_bank.delete(gone)
    with pytest.raises(MemoryNotFound):
        local_bank.get(gone)
    assert [memory.id for memory in local_bank.memories.list()] == [kept]
    assert local_bank.memories.count() == 1
    assert gone not in [hit.id for hit in local_bank.search("pin the compiler version").delivered]


@promise(
    "contextd:21",
    "List pages with limit and offset; beyond the end is empty; negatives are errors.",
    source="spec/contextd row 21",
)
@promise("bank:list", "List gives the order of recording, with limit and offset.", source="seed 004 ListMemories")
def test_list_pages_in_the_order_of_recording(local_bank: Bank) -> None:
    ids = [recorded(local_bank, title=f"Lesson number {number}") for number in range(7)]
    assert [memory.id for memory in local_bank.memories.list()] == ids
    assert [memory.id for memory in local_bank.memories.list(limit=3)] == ids[:3]
    assert [memory.id for memory in local_bank.memories.list(limit=3, offset=5)] == ids[5:]
    assert local_bank.memories.list(limit=3, offset=50) == ()
    with pytest.raises(NegativeLimit):
        local_bank.memories.list(limit=-1)
    with pytest.raises(NegativeOffset):
        local_bank.memories.list(offset=-1)


@promise(
    "contextd:22",
    "A memory's vector equals the embedding of title, blank line, content.",
    source="spec/contextd row 22",
)
def test_the_stored_vector_is_the_embedding_of_title_and_content(local_bank: Bank, local_embedder: Embedder) -> None:
    memory = local_bank.record(**LESSON)
    expected = local_embedder.embed_documents([f"{memory.title}\n\n{memory.content}"])[0]
    stored = local_bank.memories.vector(memory.id)
    assert stored is not None
    assert float(numpy.dot(stored, expected)) > 0.9999
    assert local_bank.memories.vector(memory.id, leg="description") is None
    with pytest.raises(EmptyMemoryId):
        local_bank.memories.vector("")


@promise("contextd:5", "Times are set on record; an edit keeps the time of creation.", source="spec/contextd row 5")
@promise(
    "bank:update",
    "An edit keeps creation, evidence and the earlier version; an edit that changes nothing makes none.",
    source="issue Bank",
)
def test_an_edit_keeps_the_creation_the_evidence_and_the_earlier_version(local_bank: Bank, clock: FrozenClock) -> None:
    memory = local_bank.record(**LESSON)
    rating = local_bank.feedback(memory.id, helpful=True)
    clock.advance(timedelta(hours=1))
    edited = local_bank.update(memory.id, title="Back off before you retry", tags=["network"])
    assert edited.created_at == memory.created_at
    assert edited.updated_at == clock.now()
    assert edited.version == 2
    assert edited.confidence == rating.new_confidence
    assert [event.kind for event in local_bank.memories.history(memory.id)] == ["recorded", "explicit", "edited"]
    assert local_bank.search("back off before retrying").memories[0].id == memory.id


@promise("bank:update")
def test_an_edit_that_changes_nothing_makes_no_version(local_bank: Bank) -> None:
    memory = local_bank.record(**LESSON)
    assert local_bank.update(memory.id, title=LESSON["title"]).version == 1
    assert local_bank.update(memory.id) == memory


@promise("bank:closed", "A closed bank says so.", source="issue Bank")
def test_a_closed_bank_says_so(local_bank: Bank) -> None:
    local_bank.close()
    local_bank.close()
    with pytest.raises(StoreClosed):
        local_bank.memories.count()


@promise("contextd:20", "Projects are isolated; count, get and delete keep to theirs.", source="spec/contextd row 20")
@promise(
    "bank:owner",
    "Feedback takes only an id: the bank finds its project inside the tenant, and never outside.",
    source="DESIGN D9",
)
def test_projects_are_apart_but_a_rating_finds_its_project(open_local_bank: Callable[..., Bank]) -> None:
    shop, site = open_local_bank(project="shop"), open_local_bank(project="site")
    memory = shop.record(**LESSON)
    assert site.memories.count() == 0
    assert site.memories.list() == ()
    assert site.search("retry flaky network calls").delivered == ()
    rating = site.feedback(memory.id, helpful=True)
    assert rating.new_confidence == shop.get(memory.id).confidence > 0.8
    other = open_local_bank(tenant="umbrella", project="shop")
    with pytest.raises(MemoryNotFound):
        other.feedback(memory.id, helpful=True)
    with pytest.raises(MemoryNotFound):
        other.delete(memory.id)
