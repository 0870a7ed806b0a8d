"""Every edit keeps its predecessor, and an earlier text can be made the newest again."""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from curation.similar_lessons import OTHER
from opened_banks import OpenBank
from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.context import Context
from reasoningbank.errors import InvalidInput, MemoryNotFound
from reasoningbank.settings import Settings
from reasoningbank.storage.sqlite_memory import ProcessStorage
from reasoningbank.testing import FrozenClock, HashingEmbedder
from reasoningbank.types.scope import Scope
from recorded_memories import later, said, store_of


@promise(
    "guard:versions",
    "Every edit keeps its predecessor, and an earlier text can be made the newest; evidence and state stay.",
    source="issue 4",
)
def test_every_edit_keeps_its_predecessor(bank_of_each_kind: Bank, clock: FrozenClock) -> None:
    memory = said(bank_of_each_kind, OTHER, tags=["one"])
    later(clock)
    bank_of_each_kind.update(memory.id, content="Pin them all", tags=[])
    later(clock)
    bank_of_each_kind.update(memory.id, title="Another title", outcome="failure")
    kept = bank_of_each_kind.memories.versions(memory.id)
    assert [(each.version, each.title, each.content, each.outcome, each.tags) for each in kept] == [
        (1, "A lesson", OTHER, "success", ("one",)),
        (2, "A lesson", "Pin them all", "success", ()),
        (3, "Another title", "Pin them all", "failure", ()),
    ]
    assert kept[0].updated_at == memory.created_at
    assert kept[-1] == bank_of_each_kind.get(memory.id)
    with pytest.raises(MemoryNotFound):
        bank_of_each_kind.memories.versions("nobody")


@promise("guard:versions")
def test_an_earlier_text_becomes_the_newest_and_evidence_stays(bank_of_each_kind: Bank, clock: FrozenClock) -> None:
    memory = said(bank_of_each_kind, OTHER, description="Before a release.", tags=["one"], category="build")
    later(clock)
    bank_of_each_kind.update(
        memory.id, content="Water the plants", description="", tags=["two"], category="", outcome="failure"
    )
    bank_of_each_kind.feedback(memory.id, helpful=True)
    bank_of_each_kind.quarantine.add(memory_id=memory.id, reason="It waters plants.")
    bank_of_each_kind.search("plants")
    before = bank_of_each_kind.get(memory.id)
    later(clock)
    restored = bank_of_each_kind.memories.revert(memory.id, 1)
    assert restored == bank_of_each_kind.get(memory.id)
    assert (restored.content, restored.description, restored.tags) == (OTHER, "Before a release.", ("one",))
    assert (restored.category, restored.outcome, restored.version) == ("build", "success", 3)
    assert (restored.belief, restored.state, restored.usage_count) == (before.belief, "quarantined", before.usage_count)
    assert restored.updated_at == clock.now()
    assert [each.content for each in bank_of_each_kind.memories.versions(memory.id)] == [
        OTHER,
        "Water the plants",
        OTHER,
    ]
    bank_of_each_kind.quarantine.release(memory_id=memory.id)
    assert bank_of_each_kind.search("lock file of the service").memories[0].id == memory.id
    assert bank_of_each_kind.memories.revert(memory.id, 3) == bank_of_each_kind.get(memory.id)
    for version in (0, 4, -1):
        with pytest.raises(InvalidInput, match="no version") as caught:
            bank_of_each_kind.memories.revert(memory.id, version)
        assert caught.value.hint == "Its versions are 1, 2, 3."
    with pytest.raises(MemoryNotFound):
        bank_of_each_kind.memories.revert("nobody", 1)


@promise("guard:versions")
def test_secrets_are_removed_from_earlier_versions_too(bank_of_each_kind: Bank) -> None:
    memory = said(bank_of_each_kind, OTHER)
    secret = "ghp_" + "a1B2" * 9
    with store_of(bank_of_each_kind).transaction() as transaction:
        transaction.memories.update(replace(memory, content=f"Use {secret} there"))
    bank_of_each_kind.update(memory.id, content="Use the token")
    assert secret not in bank_of_each_kind.memories.versions(memory.id)[0].content
    assert secret not in bank_of_each_kind.memories.revert(memory.id, 1).content


@promise("guard:versions")
def test_restores_and_edits_at_once_lose_nothing() -> None:
    place = Scope(tenant="t", project="p")
    bank = Bank(
        Context(
            ProcessStorage(), place, HashingEmbedder(32), settings=Settings(home=Path("unused")), clock=FrozenClock()
        )
    )
    memory = said(bank, OTHER)
    bank.update(memory.id, content="Second")
    stored: list[str] = []

    def work(number: int) -> None:
        with suppress(InvalidInput):
            if number % 2:
                bank.memories.revert(memory.id, 1)
            else:
                stored.append(bank.update(memory.id, content=f"Text of thread {number}").content)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kept = bank.memories.versions(memory.id)
    assert [each.version for each in kept] == list(range(1, len(kept) + 1))
    contents = [each.content for each in kept]
    assert set(stored) <= set(contents)
    assert all(earlier != later for earlier, later in pairwise(contents))


@promise("guard:versions")
def test_a_memory_of_another_project_of_the_tenant_is_restored_where_it_lies(open_bank_of_each_kind: OpenBank) -> None:
    bank, other = open_bank_of_each_kind("shop"), open_bank_of_each_kind("bakery")
    memory = said(bank, OTHER)
    bank.update(memory.id, content="Second")
    assert other.memories.revert(memory.id, 1).content == OTHER
    assert bank.get(memory.id).version == 3
    assert [each.version for each in other.memories.versions(memory.id)] == [1, 2, 3]
