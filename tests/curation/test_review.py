"""The review: a person approves or rejects what agents recorded and nobody has confirmed."""

from __future__ import annotations

import pytest

from opened_banks import OpenBank
from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.errors import InvalidInput
from reasoningbank.types.memory import Memory

QUESTION = "a network call fails"


def claimed(bank: Bank, number: int) -> Memory:
    """What an agent has recorded."""
    return bank.record(
        title=f"Network call fails {number}",
        content=f"Ask proxy number {number} for its log of the network call.",
        outcome="success",
        source="mcp",
        session=f"session {number}",
    )


@promise(
    "trust:review",
    "`rbank review` lists what agents recorded and nobody has confirmed, what was shown most first. What a person "
    "approves is vouched for; what a person rejects is in quarantine until it is released.",
    source="issue Trust",
)
def test_a_person_approves_and_rejects_what_agents_recorded(local_bank: Bank) -> None:
    own = local_bank.record(title="Network call fails", content="Read the log first.", outcome="success")
    first, second, third = (claimed(local_bank, number) for number in range(3))
    for session in ("one", "two"):
        local_bank.search(f"{QUESTION} {2}: proxy number 2", limit=2, session=session)
    listed = local_bank.quarantine.review()
    assert {item.id for item in listed.items} == {first.id, second.id, third.id}
    assert [item.shown for item in listed.items] == sorted((item.shown for item in listed.items), reverse=True)
    assert own.id not in {item.id for item in listed.items}
    done = local_bank.quarantine.review(approve=[first.id], reject=[second.id])
    assert [item.id for item in done.items] == [third.id]
    assert local_bank.get(first.id).standing == "vouched"
    assert local_bank.get(first.id).confidence > first.confidence
    assert local_bank.get(second.id).state == "quarantined"
    local_bank.quarantine.release(memory_id=second.id)
    assert local_bank.get(second.id).state == "active"
    with pytest.raises(InvalidInput, match="both approved and rejected"):
        local_bank.quarantine.review(approve=[third.id], reject=[third.id])
    assert local_bank.admin.check().problems == ()


@promise("trust:review")
def test_approval_makes_a_candidate_active(open_local_bank: OpenBank) -> None:
    bank = open_local_bank()
    memory = bank.record(
        title="Retries", content="See https://retries.example.dev/guide first.", outcome="success", source="mcp"
    )
    assert memory.state == "candidate"
    bank.quarantine.review(approve=[memory.id])
    assert (bank.get(memory.id).state, bank.get(memory.id).standing) == ("active", "vouched")
