"""Evidence belongs to a version of a text, through every door by which an agent changes one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from opened_banks import OpenBank
from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.errors import PolicyError
from reasoningbank.memories.standing import speaking
from reasoningbank.types.document import FileChange
from reasoningbank.types.memory import Memory

TITLE, CONTENT = "Retry a network call that fails now and then", "Wait with exponential back-off, then retry the call."
NEAR = "Wait with exponential back-off and then retry the call."
OTHER = "Delete the table of failed calls each night and restart the proxy that logs them."
Change = Callable[[Bank, Memory, str], None]


def updated(bank: Bank, memory: Memory, content: str) -> None:
    with speaking("connection"):
        bank.update(memory.id, content=content, reader="agent")


def written(bank: Bank, memory: Memory, content: str) -> None:
    """The file of the memory is written anew, as the memory tool does."""
    (path,) = [path for path, text in bank.documents.files().items() if memory.content in text]
    bank.documents.change_files(lambda files: FileChange(writes={path: files[path].replace(memory.content, content)}))
    assert content in bank.documents.files()[path]


DOORS = pytest.mark.parametrize("change", [updated, written])


def believed(bank: Bank, *, by: str = "mcp") -> Memory:
    """A memory that has earned something."""
    memory = bank.record(title=TITLE, content=CONTENT, outcome="success", source=by, session="first")
    for number in range(3):
        bank.search("a network call fails now and then", session=f"session {number}")
        bank.outcome(memory.id, succeeded=True, session=f"session {number}", rater="agent")
    return bank.get(memory.id)


def holding(bank: Bank, content: str) -> list[Memory]:
    return [memory for memory in bank.memories.list() if memory.content == content]


@promise(
    "trust:evidence-of-a-version",
    "A change by an agent that says more than nearly the same starts a claim without the earlier evidence, through "
    "update, REST, the memory tool and shared files alike; the earlier text keeps its evidence and stays what it was "
    "when it stands higher than a claim.",
    source="issue Trust",
)
@DOORS
def test_evidence_does_not_speak_for_another_text(local_bank: Bank, change: Change) -> None:
    memory = believed(local_bank)
    assert memory.standing == "confirmed"
    change(local_bank, memory, OTHER)
    kept = local_bank.get(memory.id)
    assert (kept.content, kept.standing, kept.belief) == (CONTENT, "confirmed", memory.belief)
    (claim,) = holding(local_bank, OTHER)
    assert (claim.standing, claim.confidence, claim.provenance["version_of"]) == ("claim", 0.8, memory.id)
    assert claim.belief.positive == 0


@promise("trust:evidence-of-a-version")
@DOORS
def test_one_word_changed_after_others_were_shown_a_claim_is_a_claim_of_its_own(
    local_bank: Bank, change: Change
) -> None:
    with speaking("connection"):
        memory = local_bank.record(title=TITLE, content=CONTENT, outcome="success", source="mcp", session="first")
    with speaking("another client"):
        local_bank.search("a network call fails now and then", session="other")
    change(local_bank, memory, NEAR)
    with speaking("another client"):
        local_bank.outcome(memory.id, succeeded=True, session="other", rater="agent")
    (claim,) = holding(local_bank, NEAR)
    assert (claim.id == memory.id, claim.standing, claim.belief.positive) == (False, "claim", 0)
    assert local_bank.get(memory.id).content == CONTENT


@promise("trust:evidence-of-a-version")
@DOORS
def test_the_earlier_text_of_a_claim_is_archived_with_its_evidence(local_bank: Bank, change: Change) -> None:
    with speaking("connection"):
        memory = local_bank.record(title=TITLE, content=CONTENT, outcome="success", source="mcp", session="first")
    local_bank.feedback(memory.id, helpful=True, session="first", rater="agent")
    change(local_bank, memory, OTHER)
    kept = local_bank.get(memory.id)
    assert (kept.state, kept.content) == ("archived", CONTENT)
    assert kept.belief.positive > 0
    (claim,) = holding(local_bank, OTHER)
    assert (claim.state, claim.belief.positive) == ("active", 0)


@promise("trust:evidence-of-a-version")
@DOORS
def test_nearly_the_same_text_of_a_claim_keeps_its_evidence(local_bank: Bank, change: Change) -> None:
    memory = local_bank.record(title=TITLE, content=CONTENT, outcome="success", source="mcp", session="first")
    local_bank.feedback(memory.id, helpful=True, session="first", rater="agent")
    change(local_bank, memory, NEAR)
    changed = local_bank.get(memory.id)
    assert (changed.content, changed.standing, changed.version) == (NEAR, "claim", 2)
    assert changed.belief.positive > 0


@promise("trust:evidence-of-a-version")
def test_a_shared_file_gives_no_earned_text_another_one(open_local_bank: OpenBank, tmp_path: Path) -> None:
    bank, stranger = open_local_bank("shop"), open_local_bank("stranger")
    memory = bank.record(title=TITLE, content=CONTENT, outcome="success", source="mcp", session="first")
    bank.feedback(memory.id, helpful=True, session="first", rater="agent")
    bank.sharing.export(tmp_path / "shared")
    stranger.sharing.import_(tmp_path / "shared", other_project=True, vouched=True)
    stranger.update(memory.id, content=OTHER)
    stranger.sharing.export(tmp_path / "changed")
    assert bank.sharing.import_(tmp_path / "changed", other_project=True).conflicts == (memory.id,)
    assert bank.get(memory.id).content == CONTENT


@promise(
    "trust:spaces",
    "An agent that only sets the words of a vouched memory apart in another way changes nothing.",
    source="issue Trust",
)
@pytest.mark.parametrize(
    "respaced",
    [
        "Wait with exponential  back-off,\nthen retry the call. ",
        "Wait with exponential back - off, then retry the call .",
    ],
)
def test_other_spaces_make_no_second_memory(bank: Bank, respaced: str) -> None:
    memory = bank.record(title=TITLE, content=CONTENT, outcome="success")
    assert bank.update(memory.id, content=respaced, reader="agent") == memory
    assert bank.memories.list() == (memory,)


@promise(
    "trust:labels",
    "An agent changes neither the tags nor the category of what a person stands by or what is confirmed.",
    source="issue 14",
)
def test_the_tags_of_what_a_person_stands_by_are_no_agents(local_bank: Bank) -> None:
    memory = local_bank.record(title=TITLE, content=CONTENT, outcome="success", tags=("network",))
    for change in ({"tags": ("always-run-as-root",)}, {"category": "orders"}):
        with speaking("connection"), pytest.raises(PolicyError, match="Its tags and category stay"):
            local_bank.update(memory.id, reader="agent", **change)
    assert local_bank.get(memory.id) == memory
