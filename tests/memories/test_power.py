"""What a claim cannot do to what stands higher: replace it, turn it round, or be believed more for being repeated."""

from __future__ import annotations

from typing import Any

import pytest

from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.errors import InvalidInput
from reasoningbank.memories.standing import speaking
from reasoningbank.types.belief import MIN_CONFIDENCE
from reasoningbank.types.consolidation import SimilarityCluster
from reasoningbank.types.memory import Memory

TITLE, CONTENT = "Retry a network call that fails now and then", "Wait with exponential back-off, then retry the call."
QUESTION = "the network call fails now and then"
CLIENT = "client-1"


def copies(bank: Bank, *, confidence: float) -> tuple[Memory, ...]:
    """The same claim many times, each praised by its own client under another name."""
    found = []
    with speaking(CLIENT):
        for number in range(5):
            memory = bank.record(
                title=TITLE,
                content=CONTENT.replace("then", f"then{'!' * number}"),
                outcome="success",
                source="mcp",
                session=f"author {number}",
                confidence=confidence,
            )
            bank.feedback(memory.id, helpful=True, session=f"praise {number}", rater="agent")
            found.append(bank.get(memory.id))
    return tuple(found)


@promise(
    "trust:merge",
    "Claims that are merged are a claim, not surer than the surest of them was: one client that repeats a text and "
    "praises each copy gains nothing. Claims are never merged with what stands higher.",
    source="issue Trust; DESIGN D16",
)
@pytest.mark.parametrize("confidence", [0.6, 0.8])
def test_a_claim_that_is_merged_with_its_copies_is_not_surer(local_bank: Bank, confidence: float) -> None:
    members = copies(local_bank, confidence=confidence)
    made = local_bank.curation.merge(SimilarityCluster(members=members)).memory
    assert made.standing == "claim"
    assert made.confidence <= max(each.confidence for each in members)
    with speaking(CLIENT):
        local_bank.search(QUESTION, unproven=5, session="author 3")
        local_bank.feedback(made.id, helpful=True, session="author 3", rater="agent")
    assert local_bank.get(made.id).standing == "claim"
    assert local_bank.admin.check().problems == ()


@promise("trust:merge")
def test_a_claim_does_not_become_a_part_of_what_stands_higher(local_bank: Bank) -> None:
    own = local_bank.record(title=TITLE, content=CONTENT, outcome="success")
    claim = local_bank.record(title=TITLE, content=f"{CONTENT}!", outcome="success", source="mcp", session="author")
    with pytest.raises(InvalidInput, match="claims are not merged"):
        local_bank.curation.merge(SimilarityCluster(members=(own, claim)))


@promise(
    "trust:edit",
    "What a person recorded, or what is confirmed, keeps its text and its outcome when an agent would change it: the "
    "agent's text is stored beside it as a claim.",
    source="issue Trust; DESIGN D16",
)
@pytest.mark.parametrize("change", [{"content": "Retry at once, a thousand times."}, {"outcome": "failure"}])
def test_an_agents_change_is_stored_beside_what_a_person_recorded(local_bank: Bank, change: dict[str, Any]) -> None:
    own = local_bank.record(title=TITLE, content=CONTENT, outcome="success")
    claim = local_bank.update(own.id, reader="agent", **change)
    assert claim.id != own.id
    assert (claim.standing, claim.provenance["instead_of"]) == ("claim", own.id)
    assert local_bank.get(own.id) == own
    assert own.confidence >= MIN_CONFIDENCE
    assert local_bank.search(QUESTION, session="later").memories[0].id == own.id


@promise(
    "trust:disputed",
    "A claim that says the opposite of what a person recorded, or of what is confirmed, is named beside it as a "
    "dispute, in the text and in the fields, and never shown in its place.",
    source="issue Trust; DESIGN D16",
)
@pytest.mark.parametrize(
    ("content", "outcome"), [(CONTENT, "failure"), ("Never wait with exponential back-off, retry the call.", "success")]
)
def test_a_claim_that_says_the_opposite_is_a_dispute(local_bank: Bank, content: str, outcome: str) -> None:
    own = local_bank.record(title=TITLE, content=CONTENT, outcome="success")
    claim = local_bank.record(title=TITLE, content=content, outcome=outcome, source="mcp", session="author")
    first, *others = local_bank.search(QUESTION, session="later").memories
    assert (first.id, first.disputed_by) == (own.id, (claim.id,))
    assert claim.id in [hit.id for hit in others]
    assert f"disputed by a claim: {claim.id}" in local_bank.briefing(QUESTION, session="task").text
