"""A run without a model, through the real store: the best source is kept, the others are its evidence."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest

from curation.similar_lessons import LESSONS, USES
from opened_banks import OpenBank
from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.errors import InvalidInput, ModelUnavailable, StoreBusy
from reasoningbank.llm.scripted import ScriptedModel
from reasoningbank.testing import FrozenClock
from reasoningbank.types.consolidation import (
    CONSOLIDATED_FROM,
    CONSOLIDATED_INTO,
    CONTRADICTS,
    ConsolidationOptions,
    SimilarityCluster,
)
from reasoningbank.types.memory import Memory
from reasoningbank.types.ports import Embedder
from recorded_memories import exported, said, used

PAIRS = (
    ("Close the file before it is moved away", "Close the file before it is moved"),
    ("Pin every dependency in the lock file", "Pin each dependency in the lock file"),
)
FORCED = ConsolidationOptions(force_all=True, similarity_threshold=0.7)
LOOSE = ConsolidationOptions(similarity_threshold=0.7)


def pairs(bank: Bank, count: int = 2) -> list[list[Memory]]:
    """Two memories each that are alike, and one that is like none."""
    made = [[said(bank, content) for content in pair] for pair in PAIRS[:count]]
    said(bank, "Nothing at all resembles this sentence here", title="Alone")
    return made


@promise("contextd:56", "Consolidation as specified.", source="spec/contextd row 56")
@promise("contextd:25", "Sources of a consolidation are hidden, the result is shown.", source="spec/contextd row 25")
@promise("contextd:55", "Consolidation as specified.", source="spec/contextd row 55")
@promise(
    "consolidating:reviewed-scenario",
    "Three overlapping lessons become one at 0.8554, hide their sources, and become three again.",
    source="issue 4",
)
def test_three_overlapping_lessons_become_one_and_three_again(
    open_bank_in_session: OpenBank, local_embedder: Embedder
) -> None:
    """The reviewed scenario, with the real embedder and the real store."""
    bank = open_bank_in_session(embedder=local_embedder)
    sources = [
        used(bank, said(bank, content, title=title, tags=("net",), confidence=confidence), count)
        for (title, content), (confidence, count) in zip(LESSONS, USES, strict=True)
    ]
    other = said(bank, "Store all times in UTC and convert them where they are shown.", title="Use UTC")

    result = bank.curation.consolidate()
    assert (len(result.created_memories), result.skipped_count, result.total_processed) == (1, 0, 3)
    assert set(result.archived_memories) == {memory.id for memory in sources}
    made = bank.get(result.created_memories[0])
    assert made.confidence == pytest.approx(0.8554, abs=5e-5)
    assert (made.usage_count, made.outcome, made.state) == (30, "success", "active")
    assert made.content in {memory.content for memory in sources}

    shown = [hit.id for hit in bank.search("a network call fails now and then", session="").delivered]
    assert made.id in shown
    assert not {memory.id for memory in sources} & set(shown)
    for source in sources:
        kept = bank.get(source.id)
        assert (kept.state, kept.consolidation_id) == ("archived", made.id)
        assert (kept.title, kept.content, kept.tags, kept.confidence, kept.usage_count, kept.version) == (
            source.title,
            source.content,
            source.tags,
            source.confidence,
            source.usage_count,
            source.version,
        )
        assert kept.updated_at == source.updated_at
    assert bank.get(other.id).state == "active"
    assert bank.admin.check().problems == ()

    again = bank.curation.consolidate(ConsolidationOptions(force_all=True))
    assert (again.created_memories, again.archived_memories, again.total_processed) == ((), (), 0)


@promise("contextd:56")
@promise("consolidating:undo-exact", "After an undo the export is what it was, byte for byte.", source="issue 4")
@promise("consolidating:reviewed-scenario")
def test_after_an_undo_the_export_is_what_it_was_byte_for_byte(
    open_bank_in_session: OpenBank, local_embedder: Embedder, tmp_path: Path
) -> None:
    bank = open_bank_in_session(embedder=local_embedder)
    for (title, content), (confidence, count) in zip(LESSONS, USES, strict=True):
        used(bank, said(bank, content, title=title, confidence=confidence), count)
    bank.search("flaky network call", session="earlier")
    bank.feedback(bank.memories.list()[0].id, helpful=False, session="earlier")
    before = exported(bank, tmp_path)
    result = bank.curation.consolidate()
    bank.curation.consolidate(ConsolidationOptions(force_all=True))
    assert exported(bank, tmp_path) != before
    report = bank.curation.undo(result.created_memories[0])
    assert set(report.restored) == set(result.archived_memories)
    assert (report.moved_signals, report.kept) == (0, False)
    assert exported(bank, tmp_path) == before
    assert bank.admin.check().problems == ()


@promise("contextd:50", "Consolidation as specified.", source="spec/contextd row 50")
@promise("contextd:47", "Consolidation as specified.", source="spec/contextd row 47")
def test_two_clusters_give_two_memories_linked_both_ways(open_bank_in_session: OpenBank) -> None:
    bank = open_bank_in_session()
    made = pairs(bank)
    result = bank.curation.consolidate(LOOSE)
    assert len(result.created_memories) == 2
    assert set(result.archived_memories) == {memory.id for pair in made for memory in pair}
    assert (result.skipped_count, result.total_processed) == (0, 4)
    assert result.duration > timedelta(0)
    for created in result.created_memories:
        links = {(link.source, link.target, link.kind) for link in bank._context.store().memories.links(created)}
        sources = {bank.get(target).id for source, target, kind in links if kind == CONSOLIDATED_FROM}
        assert len(sources) == 2
        assert links == {(created, source, CONSOLIDATED_FROM) for source in sources} | {
            (source, created, CONSOLIDATED_INTO) for source in sources
        }
        assert "source" in bank.get(created).provenance["attribution"]


@promise("contextd:51", "Consolidation as specified.", source="spec/contextd row 51")
@promise("consolidating:dry-run", "A dry run writes nothing, asks no model and does not stamp.", source="issue 4")
def test_a_dry_run_writes_nothing_asks_nobody_and_does_not_stamp(
    open_bank_in_session: OpenBank, tmp_path: Path
) -> None:
    model = ScriptedModel()
    bank = open_bank_in_session(model=model)
    made = pairs(bank)
    before = exported(bank, tmp_path)
    result = bank.curation.consolidate(ConsolidationOptions(similarity_threshold=0.7, dry_run=True))
    assert result.created_memories == ("dry-run-cluster-1", "dry-run-cluster-2")
    assert set(result.archived_memories) == {memory.id for pair in made for memory in pair}
    assert (result.skipped_count, result.total_processed, model.prompts) == (0, 4, ())
    assert exported(bank, tmp_path) == before
    bank._context.model = None
    assert len(bank.curation.consolidate(LOOSE).created_memories) == 2


@promise("contextd:52", "Consolidation as specified.", source="spec/contextd row 52")
def test_at_most_so_many_clusters_the_closest_first(open_bank_in_session: OpenBank) -> None:
    bank = open_bank_in_session()
    pairs(bank)
    closest = bank.curation.clusters(0.7)[0]
    result = bank.curation.consolidate(ConsolidationOptions(similarity_threshold=0.7, max_clusters_per_run=1))
    assert (len(result.created_memories), result.total_processed) == (1, 2)
    assert set(result.archived_memories) == set(closest.ids)


@promise("contextd:53", "Consolidation as specified.", source="spec/contextd row 53")
@promise(
    "consolidating:window", "The window of 24 hours is kept in the bank and ignored when forced.", source="issue 4"
)
def test_the_window_lasts_a_day_survives_a_restart_and_is_ignored_when_forced(
    open_bank_in_session: OpenBank, clock: FrozenClock
) -> None:
    bank = open_bank_in_session()
    pairs(bank, 1)
    assert len(bank.curation.consolidate(LOOSE).created_memories) == 1
    said(bank, "Pin every dependency in the lock file")
    said(bank, "Pin each dependency in the lock file")
    bank.close()
    clock.advance(timedelta(hours=23, minutes=59))
    bank = open_bank_in_session()
    kept_away = bank.curation.consolidate(LOOSE)
    assert (kept_away.created_memories, kept_away.total_processed) == ((), 0)
    assert "window" in kept_away.messages[0]
    short = ConsolidationOptions(similarity_threshold=0.7, window=timedelta(hours=1), dry_run=True)
    assert bank.curation.consolidate(short).total_processed == 2
    clock.advance(timedelta(minutes=1))
    assert len(bank.curation.consolidate(LOOSE).created_memories) == 1
    said(bank, "Close the file before it is moved around")
    assert bank.curation.consolidate(LOOSE).total_processed == 0
    assert bank.curation.consolidate(FORCED).total_processed > 0


@promise("contextd:52")
@promise("contextd:54", "Consolidation as specified.", source="spec/contextd row 54")
@promise(
    "consolidating:failed-merge",
    "A refused merge leaves everything as it was and does not stamp the window.",
    source="issue 4",
)
def test_a_failed_merge_leaves_its_members_and_does_not_stamp(open_bank_in_session: OpenBank) -> None:
    bank = open_bank_in_session(model=ScriptedModel([ModelUnavailable("away"), ModelUnavailable("away")]))
    pairs(bank)
    failed = bank.curation.consolidate(LOOSE)
    assert (failed.created_memories, failed.skipped_count, failed.total_processed) == ((), 4, 4)
    assert len(failed.messages) == 2
    assert bank.memories.count(states=("archived",)) == 0
    bank._context.model = None
    assert len(bank.curation.consolidate(LOOSE).created_memories) == 2


@promise("consolidating:contradictions", "Contradictions are linked and shown, never averaged.", source="issue 4")
def test_a_contradiction_is_linked_shown_and_not_averaged(open_bank_in_session: OpenBank) -> None:
    bank = open_bank_in_session()
    worked, failed = (
        said(bank, "Restart the worker after every deployment", outcome=outcome) for outcome in ("success", "failure")
    )
    result = bank.curation.consolidate()
    assert (result.created_memories, result.total_processed) == ((), 0)
    assert [(each.success, each.failure) for each in result.contradictions] == [(worked.id, failed.id)]
    linked = [link for link in bank._context.store().memories.links(failed.id) if link.kind == CONTRADICTS]
    assert [(link.source, link.target) for link in linked] == [(worked.id, failed.id)]
    assert [bank.get(memory.id).confidence for memory in (worked, failed)] == [0.8, 0.8]
    assert bank.curation.contradictions(failed.id) == result.contradictions


@promise("contextd:48", "Consolidation as specified.", source="spec/contextd row 48")
def test_what_is_no_cluster_is_refused(open_bank_in_session: OpenBank) -> None:
    bank = open_bank_in_session()
    ((one, other),) = pairs(bank, 1)
    against = said(bank, "Close the file before it is moved", outcome="failure")
    for members in ((one,), (one, one), (one, against)):
        with pytest.raises(InvalidInput):
            bank.curation.merge(SimilarityCluster(members=members))
    assert bank.memories.count(states=("archived",)) == 0
    elsewhere = open_bank_in_session("other")
    with pytest.raises(InvalidInput):
        elsewhere.curation.merge(SimilarityCluster(members=(one, other)))


@promise("contextd:48")
@promise(
    "consolidating:all-or-nothing",
    "A merge that is killed, raced or overtaken is there whole or not at all.",
    source="issue 4",
)
def test_a_member_that_changed_meanwhile_is_left_alone(open_bank_in_session: OpenBank, tmp_path: Path) -> None:
    bank = open_bank_in_session()
    pairs(bank, 1)
    (cluster,) = bank.curation.clusters(0.7)
    bank.update(cluster.ids[0], content="Close the file before it is copied elsewhere")
    before = exported(bank, tmp_path)
    with pytest.raises(StoreBusy):
        bank.curation.merge(cluster)
    assert exported(bank, tmp_path) == before


@promise("contextd:57", "Consolidation as specified.", source="spec/contextd row 57")
def test_all_projects_are_added_up_and_only_a_failure_of_all_is_one(open_bank_in_session: OpenBank) -> None:
    first, second = open_bank_in_session("first"), open_bank_in_session("second")
    for bank in (first, second):
        pairs(bank, 1)
    open_bank_in_session("third")
    assert first.curation.consolidate_all([]).total_processed == 0
    partly = first.curation.consolidate_all(["first", "nowhere"], LOOSE)
    assert len(partly.created_memories) == 1
    assert any("nowhere" in message for message in partly.messages)
    with pytest.raises(InvalidInput):
        first.curation.consolidate_all(["nowhere"], LOOSE)
    result = first.curation.consolidate_all(options=FORCED)
    assert (len(result.created_memories), result.total_processed) == (1, 2)
    assert second.get(result.created_memories[0]).project == "second"


@promise("contextd:24", "A consolidated memory is preferred by a flag, not by a phrase.", source="spec/contextd row 24")
def test_of_equals_what_stands_for_several_comes_first_by_what_it_is(open_bank_in_session: OpenBank) -> None:
    """A memory that only says the phrase, or claims the source, gains nothing by it."""
    bank = open_bank_in_session()
    for number in range(3):
        said(bank, "Warm the cache before the release", title="Warm the cache", tags=(f"t{number}",))
    made = bank.curation.consolidate(ConsolidationOptions(max_clusters_per_run=1))
    pretender = said(
        bank, "The cache before the release warm", title="The cache warm", description="", source="consolidated"
    )
    hits = bank.search("warm the cache before the release").memories
    assert [hit.id for hit in hits] == [made.created_memories[0], pretender.id]
    assert hits[0].relevance == hits[1].relevance


@promise("consolidating:no-op", "A run without news changes nothing, forced or not.", source="issue 4")
@pytest.mark.parametrize("rounds", [3])
def test_runs_without_news_change_nothing(open_bank_in_session: OpenBank, tmp_path: Path, rounds: int) -> None:
    bank = open_bank_in_session()
    words = ["close", "open", "move", "copy", "read", "write", "lock", "file", "path", "disk"]
    for number in range(40):
        said(
            bank, " ".join(words[(number * step) % 10] for step in (1, 2, 3, 5, 7)), title=f"About {words[number % 4]}"
        )
    assert bank.curation.consolidate(FORCED).created_memories
    after = exported(bank, tmp_path)
    for _ in range(rounds):
        assert bank.curation.consolidate(FORCED).total_processed == 0
    assert exported(bank, tmp_path) == after


@promise("consolidating:window")
@promise(
    "consolidating:undone-stays", "What a person took apart stays apart until a person forces a run.", source="issue 4"
)
def test_what_a_person_took_apart_stays_apart_until_forced(open_bank_in_session: OpenBank) -> None:
    bank = open_bank_in_session()
    pairs(bank, 1)
    made = bank.curation.consolidate(LOOSE)
    bank.curation.undo(made.created_memories[0])
    without = ConsolidationOptions(similarity_threshold=0.7, window=timedelta(0))
    left = bank.curation.consolidate(without)
    assert (left.created_memories, left.total_processed) == ((), 0)
    assert "undone" in left.messages[0]
    assert len(bank.curation.consolidate(FORCED).created_memories) == 1


@promise("contextd:53")
@promise("consolidating:all-or-nothing")
def test_banks_that_consolidate_at_once_merge_each_cluster_once(open_bank_in_session: OpenBank) -> None:
    banks = [open_bank_in_session() for _ in range(4)]
    for group in range(8):
        for number in range(2):
            said(banks[0], f"group {group} has the words w{group}a w{group}b w{group}c w{group}d and {number}")
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda bank: bank.curation.consolidate(FORCED), banks))
    made = [name for result in results for name in result.created_memories]
    assert len(made) == len(set(made)) == 8
    assert banks[0].memories.count(states=("archived",)) == 16
    assert banks[0].admin.check().problems == ()
