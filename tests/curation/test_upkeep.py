"""The steps of the daily upkeep: activation, near-duplicates, the repository, the roll-up."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from curation.aged_banks import DAY, told
from curation.git_repository import Git
from curation.similar_lessons import OTHER, TEXTS
from opened_banks import OpenBank
from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.memories.standing import speaking
from reasoningbank.settings import project_of
from reasoningbank.testing import FrozenClock
from reasoningbank.types.memory import Memory


def candidate(bank: Bank) -> Memory:
    """A memory that has to prove itself."""
    memory = bank.update(told(bank, confidence=0.6).id, state="candidate")
    assert memory.state == "candidate"
    assert memory.confidence == pytest.approx(0.6)
    return memory


def said(bank: Bank) -> dict[str, str]:
    """What came of each step the last time."""
    return {run.kind: run.said for run in bank.jobs.runs()}


@promise(
    "lifecycle:active",
    "A candidate becomes active in the moment in which a rating, an outcome or a commit carries it over the threshold.",
    source="issue 11",
)
def test_a_candidate_becomes_active_with_the_evidence_that_proves_it(open_bank_in_session: OpenBank) -> None:
    bank = open_bank_in_session()
    memory = candidate(bank)
    for _ in range(4):
        bank.feedback(memory.id, helpful=True)
        known = bank.get(memory.id)
        assert (known.state == "active") == (known.confidence >= 0.7)
    assert known.state == "active"
    states = [event for event in bank.memories.history(memory.id) if event.kind == "state"]
    assert states[-1].detail == "Proven, from candidate to active."
    tied = candidate(open_bank_in_session("other"))
    other = open_bank_in_session("other")
    for number in range(3):
        other.outcome(tied.id, succeeded=True, session=f"s{number}")
    assert (other.get(tied.id).state == "active") == (other.get(tied.id).confidence >= 0.7)
    for number in range(2):
        other.curation.report_stability(tied.id, reverted=False, commit=f"abcdef{number}")
    assert (other.get(tied.id).state == "active") == (other.get(tied.id).confidence >= 0.7)


@promise(
    "lifecycle:active-daily",
    "The daily upkeep makes a candidate active that is over the threshold already.",
    source="issue 11",
)
def test_the_upkeep_finds_candidates_that_are_proven_already(
    open_bank_in_session: OpenBank, clock: FrozenClock
) -> None:
    bank = open_bank_in_session()
    memory = candidate(bank)
    for _ in range(4):
        bank.feedback(memory.id, helpful=True)
    bank.update(memory.id, state="candidate")
    bank.jobs.work()
    clock.advance(DAY)
    assert bank.jobs.work().done == 1
    assert bank.get(memory.id).state == "active"
    assert said(bank)["activate"] == "1 candidate became active"


@promise(
    "lifecycle:near",
    "Without a language model the upkeep merges only near-duplicates, keeps the best one's words, and can be undone; "
    "the setting consolidate switches it off.",
    source="issue 11",
)
def test_without_a_model_only_near_duplicates_are_merged(open_learning_bank: OpenBank, clock: FrozenClock) -> None:
    bank = open_learning_bank()
    for seconds in (5, 300):
        content = f"Wait {seconds} seconds before the next call of the service."
        bank.record(title="Wait before the next call", content=content, outcome="success")
    same = [bank.record(title="Mind the file", content=text, outcome="success") for text in TEXTS[:2]]
    bank.record(title="Mind the file", content=OTHER, outcome="success")
    assert [len(cluster.members) for cluster in bank.curation.clusters()] == [2, 2]
    off = open_learning_bank(project="off", consolidate=False)
    for text in TEXTS[:2]:
        off.record(title="Mind the file", content=text, outcome="success")
    for each in (bank, off):
        each.jobs.work()
    clock.advance(timedelta(hours=25))
    for each in (bank, off):
        each.jobs.work()
    (made,) = [each for each in bank.memories.list() if "consolidation" in each.provenance]
    assert made.content in TEXTS[:2]
    assert {bank.get(each.id).state for each in same} == {"archived"}
    assert said(bank)["consolidate"].startswith("2 memories became 1")
    assert set(bank.curation.undo(made.id).restored) == {each.id for each in same}
    clock.advance(timedelta(hours=25))
    bank.jobs.work()
    assert {bank.get(each.id).state for each in same} == {"active"}, "what a person took apart stays apart"
    assert "consolidate" not in said(off)
    assert off.memories.count() == 2


@promise(
    "lifecycle:here",
    "A server or worker that was started in a project's repository looks up there what became of its commits.",
    source="issue 11",
)
def test_the_repository_of_the_working_directory_is_looked_into(
    open_bank_in_session: OpenBank, clock: FrozenClock, git: Git, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    commit = git.commit("one", at=clock.now())
    monkeypatch.chdir(git.path)
    bank = open_bank_in_session(project_of(git.path))
    stranger = open_bank_in_session("another project")
    memories = [told(each, f"As it was done in {commit}.") for each in (bank, stranger)]
    clock.advance(8 * DAY)
    for each in (bank, stranger):
        each.curation.upkeep()
    assert bank.get(memories[0].id).confidence > 0.8
    assert said(bank)["stability"] == "1 memory moved by 1 commit"
    assert stranger.get(memories[1].id).confidence == 0.8
    assert "stability" not in said(stranger)
    monkeypatch.chdir(tmp_path)
    again = open_bank_in_session(project_of(git.path))
    assert {run.kind for run in again.curation.upkeep()} == {"roll-up", "activate", "decay", "prune", "consolidate"}


@promise(
    "lifecycle:rolled",
    "A roll-up that is due is done by the worker, also where nobody rates any more.",
    source="issue 11",
)
def test_a_due_roll_up_does_not_wait_for_a_rating(open_bank_in_session: OpenBank, clock: FrozenClock) -> None:
    bank = open_bank_in_session()
    memory = told(bank)
    bank.feedback(memory.id, helpful=True)
    bank.jobs.work()
    clock.advance(timedelta(days=45))
    store = bank._context.store()
    assert len(store.evidence.signals(memory.id)) == 1
    open_bank_in_session().jobs.work()
    assert [each.type for each in store.evidence.signals(memory.id) if each.type == "explicit"] == []
    assert store.evidence.aggregate(memory.id).explicit_positive == 1
    assert all(job.due > clock.now() for job in bank.jobs.waiting())


@promise(
    "lifecycle:settings-of-a-process",
    "Whatever the settings of a server or worker say, its daily upkeep neither lowers nor archives faster than by "
    "default what a person stands by; claims follow the settings, and so does all that a person prunes.",
    source="issue 14 (Power)",
)
def test_the_settings_of_a_process_take_nothing_out_that_a_person_stands_by(
    open_bank_in_session: OpenBank, clock: FrozenClock
) -> None:
    bank = open_bank_in_session(
        decay_step=0.5, decay_floor=0.01, decay_recorded=True, prune_below=0.95, prune_after_days=1
    )
    own = bank.record(title="Export", content="Export a ledger with its frozen rate.", outcome="success")
    with speaking("client"):
        text = "Wait with back-off, then retry the network call."
        claim = bank.record(title="Retry", content=text, outcome="success", source="mcp")
    clock.advance(100 * DAY)
    bank.curation.upkeep()
    assert bank.get(own.id) == own
    fallen = bank.get(claim.id)
    assert (fallen.state, fallen.confidence < 0.1) == ("archived", True)
    assert [each.memory_id for each in bank.curation.prune().pruned] == [own.id]
