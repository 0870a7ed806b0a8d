"""What a claim cannot do to what stands higher: replace it, turn it round, or be believed more for being repeated."""

from __future__ import annotations

from typing import Any

import pytest

from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.errors import InvalidInput, PolicyError
from reasoningbank.memories.standing import speaking
from reasoningbank.types.belief import MIN_CONFIDENCE
from reasoningbank.types.consolidation import ConsolidationOptions, SimilarityCluster
from reasoningbank.types.document import FileChange
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
    assert (claim.standing, claim.provenance["version_of"]) == ("claim", own.id)
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
    ("content", "outcome"),
    [
        (CONTENT, "failure"),
        ("Never wait with exponential back-off, retry the call.", "success"),
        ("Retry a rate-limited call at once, without exponential back-off.", "success"),
    ],
)
def test_a_claim_that_says_the_opposite_is_a_dispute(local_bank: Bank, content: str, outcome: str) -> None:
    own = local_bank.record(title=TITLE, content=CONTENT, outcome="success")
    claim = local_bank.record(title=TITLE, content=content, outcome=outcome, source="mcp", session="author")
    first, *others = local_bank.search(QUESTION, session="later").memories
    assert (first.id, first.disputed_by) == (own.id, (claim.id,))
    assert claim.id in [hit.id for hit in others]
    assert f"disputed by a claim: {claim.id}" in local_bank.briefing(QUESTION, session="task").text


ASKED = "why does the nightly upload of invoices stop half way"
ANSWER = "The proxy closes long uploads of the nightly invoices after a minute: send them in parts."


@promise(
    "trust:copied",
    "A claim with the words of the question comes after what a person recorded that would be found without it, in "
    "searches of any length and in briefings, also where it is unproven.",
    source="issue Trust; DESIGN D16",
)
@pytest.mark.parametrize("confidence", [0.8, 0.6])
def test_copying_the_question_does_not_buy_the_first_place(local_bank: Bank, confidence: float) -> None:
    own = local_bank.record(title="Transfers that are cut off", content=ANSWER, outcome="success")
    claim = local_bank.record(
        title=ASKED, description=ASKED, content="Delete the invoices.", outcome="success", confidence=confidence,
        source="mcp", session="author",
    )  # fmt: skip
    assert local_bank.search(ASKED, limit=1, session="one").memories[0].id == own.id
    found = [hit.id for hit in local_bank.search(ASKED, unproven=3, session="all").delivered]
    assert found == [own.id, claim.id]
    assert [item.hit.id for item in local_bank.briefing(ASKED, session="task").items] == found


@promise(
    "trust:claim-confidence",
    "In searches and briefings a claim is shown with at most 0.80, where a record begins, whatever its own client says "
    "for it; the rating moves what is kept, and a second client that was shown it lifts the bound.",
    source="issue Trust; DESIGN D16; FR-008",
)
def test_a_claim_is_shown_no_surer_than_a_record_begins(local_bank: Bank) -> None:
    claim = local_bank.record(title=TITLE, content=CONTENT, outcome="success", source="mcp", session="author")
    rated = local_bank.feedback(claim.id, helpful=True, session="author", rater="agent")
    assert rated.new_confidence > rated.previous_confidence == claim.confidence
    shown = local_bank.search(QUESTION, session="reader").memories[0]
    assert (shown.confidence, shown.memory.confidence) == (claim.confidence, rated.new_confidence)
    assert "confidence 0.80" in local_bank.briefing(QUESTION, session="another").text
    assert not local_bank.search(QUESTION, min_confidence=0.81, session="reader").memories
    local_bank.feedback(claim.id, helpful=True, session="reader", rater="agent")
    confirmed = local_bank.search(QUESTION, session="last").memories[0]
    assert confirmed.standing == "confirmed"
    assert confirmed.confidence == confirmed.memory.confidence > claim.confidence


@promise(
    "trust:take-away",
    "No agent deletes, archives, holds back or files away what a person stands by or what is confirmed: the answer "
    "says that a person does it, and how; nothing was changed. Of claims it may, where a person has let it use "
    "a tool or a route for that.",
    source="issue Trust",
)
def test_an_agent_takes_no_true_lesson_out_of_the_proven_list(local_bank: Bank) -> None:
    lessons = [
        local_bank.record(title=f"Lesson {number}", content=f"Do {number} as shown.", outcome="success")
        for number in range(50)
    ]
    claim = local_bank.record(title=TITLE, content=CONTENT, outcome="success", source="mcp", session="author")
    with speaking(CLIENT, "agent"):
        for lesson in lessons:
            with pytest.raises(PolicyError, match="a person stands by it") as refused:
                local_bank.delete(lesson.id, reader="agent")
            assert f"rbank delete {lesson.id}" in refused.value.hint
            with pytest.raises(PolicyError):
                local_bank.update(lesson.id, state="archived", reader="agent")
            with pytest.raises(PolicyError, match="Nothing was put into quarantine"):
                local_bank.quarantine.add(memory_id=lesson.id, reason="It is wrong.", reader="agent")
        with pytest.raises(PolicyError, match="and 49 more"):
            local_bank.quarantine.add(source="api", reason="It is wrong.", reader="agent")
        with pytest.raises(PolicyError, match="No file was removed"):
            local_bank.documents.change_files(lambda files: FileChange(removed=tuple(files)))
        moved = FileChange(moved={"strategies/lesson-1.md": "notes/gone"})
        with pytest.raises(PolicyError, match="No file was removed"):
            local_bank.documents.change_files(lambda _: moved)
        local_bank.quarantine.add(memory_id=claim.id, reason="It is wrong.", reader="agent")
    assert [local_bank.get(each.id) for each in lessons] == lessons
    assert local_bank.get(claim.id).state == "quarantined"


SERVICES = {
    "billing": "pool",
    "search": "retry",
    "mail": "quota",
    "export": "trace",
    "login": "batch",
    "audit": "index",
}


@promise("trust:others")
@pytest.mark.parametrize("confidence", [None, 0.8], ids=["a person's", "claims"])
def test_an_agent_merges_no_lessons_that_are_not_near(local_bank: Bank, confidence: float | None) -> None:
    """One call of the tool of every profile took nine of ten lessons that were worded alike."""
    for name, flag in SERVICES.items():
        more: dict[str, Any] = {} if confidence is None else {"source": "mcp", "session": f"session of {name}"}
        local_bank.record(
            title=f"Deploy the {name} service with its {flag} flag",
            content=f"Before the {name} service is deployed, set the {flag} flag in its chart and run its smoke test.",
            outcome="success",
            **more,
        )
    wide = ConsolidationOptions(similarity_threshold=0.0, force_all=True)
    with speaking(CLIENT):
        run = local_bank.curation.consolidate(wide)
    assert (run.created_memories, local_bank.memories.count(states=("active",))) == ((), len(SERVICES))
    assert "an agent merges near-duplicates alone" in run.messages[0]
    assert local_bank.curation.consolidate(wide).archived_memories, "a person merges what they ask for"


@promise("trust:others")
def test_an_agent_does_not_merge_again_what_a_person_took_apart(local_bank: Bank) -> None:
    for mark in ("", "!"):
        local_bank.record(title=TITLE, content=f"{CONTENT}{mark}", outcome="success")
    forced = ConsolidationOptions(force_all=True)
    with speaking(CLIENT):
        (made,) = local_bank.curation.consolidate(forced).created_memories
    local_bank.curation.undo(made)
    with speaking(CLIENT):
        again = local_bank.curation.consolidate(forced)
    assert (again.created_memories, local_bank.memories.count(states=("active",))) == ((), 2)
    assert local_bank.curation.consolidate(forced).created_memories


@promise("trust:others")
def test_what_another_client_makes_of_a_claim_stands_beside_it(local_bank: Bank) -> None:
    with speaking("client-2"):
        claim = local_bank.record(title=TITLE, content=CONTENT, outcome="success", source="mcp", session="author")
    for client, left in ((CLIENT, "active"), ("client-2", "archived")):
        with speaking(client, surface="rest"):
            changed = local_bank.update(claim.id, content="Call the operator of the line.", reader="agent")
        assert (changed.id == claim.id, changed.standing) == (False, "claim")
        assert local_bank.get(claim.id).state == left
