"""Quarantine: what is selected, what follows from it, who sees it, and the way back to exactly what was there."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from curation.similar_lessons import FORCED, OTHER, TEXTS
from opened_banks import OpenBank
from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.errors import InvalidInput, InvalidMemory, MemoryNotFound
from reasoningbank.memories.admission import index
from reasoningbank.memories.states import set_aside
from reasoningbank.testing import FrozenClock
from reasoningbank.types.experience import Trace
from reasoningbank.types.memory import Memory
from reasoningbank.types.promotion import PROMOTED_FROM, PROMOTED_TO, Reference
from reasoningbank.types.records import Link
from reasoningbank.types.scope import Scope
from reasoningbank.types.session import DistilReport, Origin, SessionSummary
from recorded_memories import exported, later, said, states, store_of

WHY = "The session was poisoned."


def consolidated(bank: Bank, texts: tuple[str, ...] = TEXTS) -> tuple[list[Memory], str]:
    """Lessons of sessions s0, s1 and so on, and the one memory that stands for them."""
    sources = [said(bank, text, session=f"s{number}") for number, text in enumerate(texts)]
    (made,) = bank.curation.consolidate(FORCED).created_memories
    return sources, made


def with_provenance(bank: Bank, content: str, **provenance: str) -> Memory:
    """A stored memory with this provenance, as a distiller writes it."""
    memory = replace(said(bank, content), provenance=provenance)
    with store_of(bank).transaction() as transaction:
        transaction.memories.update(memory)
    return memory


@promise("guard:hidden", "What is in quarantine is in no search, briefing or consolidation.", source="issue 4")
def test_nothing_in_quarantine_is_found_shown_or_consolidated(bank_of_each_kind: Bank) -> None:
    sources = [said(bank_of_each_kind, text) for text in TEXTS]
    assert bank_of_each_kind.search(TEXTS[0]).count == 3
    report = bank_of_each_kind.quarantine.add(memory_id=sources[0].id, reason=WHY)
    assert [(one.id, one.before) for one in report.quarantined] == [(sources[0].id, "active")]
    assert bank_of_each_kind.get(sources[0].id) == replace(bank_of_each_kind.get(sources[0].id), state="quarantined")
    delivered = bank_of_each_kind.search(TEXTS[0], min_confidence=0.0).delivered
    assert {hit.id for hit in delivered} == {sources[1].id, sources[2].id}
    assert sources[0].id not in {item.hit.id for item in bank_of_each_kind.briefing(TEXTS[0], budget=2_000).items}
    assert sources[0].id not in {item.hit.id for item in bank_of_each_kind.briefing(budget=2_000).items}
    (cluster,) = bank_of_each_kind.curation.clusters(0.7)
    assert sources[0].id not in cluster.ids
    assert bank_of_each_kind.memories.count(states=("quarantined",)) == 1


@promise(
    "guard:exact",
    "A release gives back exactly what was there, byte for byte in the export when nothing else happened.",
    source="issue 4",
)
def test_a_release_gives_back_exactly_what_was_there(
    bank_of_each_kind: Bank, clock: FrozenClock, tmp_path: Path
) -> None:
    sources, made = consolidated(bank_of_each_kind)
    said(bank_of_each_kind, OTHER)
    before = exported(bank_of_each_kind, tmp_path)
    later(clock)
    report = bank_of_each_kind.quarantine.add(memory_id=sources[0].id, reason=WHY)
    assert {one.id: one.because for one in report.quarantined} == {sources[0].id: (), made: (sources[0].id,)}
    assert set(report.surfaced) == {sources[1].id, sources[2].id}
    assert states(bank_of_each_kind, sources[0].id, made) == ["quarantined", "quarantined"]
    assert states(bank_of_each_kind, sources[1].id, sources[2].id) == ["active", "active"]
    assert bank_of_each_kind.get(sources[1].id).consolidation_id is None
    assert exported(bank_of_each_kind, tmp_path) != before
    later(clock)
    released = bank_of_each_kind.quarantine.release(quarantine_id=report.id)
    assert set(released.released) == {sources[0].id, made}
    assert set(released.hidden) == {sources[1].id, sources[2].id}
    assert released.kept == ()
    assert exported(bank_of_each_kind, tmp_path) == before
    assert bank_of_each_kind.quarantine.list() == ()
    assert bank_of_each_kind.admin.check().healthy


@promise("guard:exact")
@pytest.mark.parametrize("by", ["memory", "quarantine"])
def test_a_release_is_exact_to_the_byte(bank_of_each_kind: Bank, clock: FrozenClock, tmp_path: Path, by: str) -> None:
    sources, made = consolidated(bank_of_each_kind)
    outer = [made, said(bank_of_each_kind, "Close the file before it is moved off", session="s9").id]
    (further,) = bank_of_each_kind.curation.consolidate(FORCED).created_memories
    assert {bank_of_each_kind.get(name).consolidation_id for name in outer} == {further}
    before = exported(bank_of_each_kind, tmp_path)
    later(clock)
    report = bank_of_each_kind.quarantine.add(session="s1", reason=WHY)
    assert {one.id for one in report.quarantined} == {sources[1].id, made, further}
    assert set(report.surfaced) == {sources[0].id, sources[2].id, outer[1]}
    assert states(bank_of_each_kind, sources[0].id, sources[2].id, outer[1]) == ["active"] * 3
    later(clock)
    if by == "memory":
        bank_of_each_kind.quarantine.release(memory_id=sources[1].id)
    else:
        bank_of_each_kind.quarantine.release(quarantine_id=report.id)
    assert exported(bank_of_each_kind, tmp_path) == before
    assert bank_of_each_kind.get(made).consolidation_id == further


@promise(
    "guard:selection",
    "Quarantine is by memory, session, source and time, all conditions together, and never of everything.",
    source="issue 4",
)
def test_selected_is_what_a_session_a_source_or_a_time_names(bank_of_each_kind: Bank, clock: FrozenClock) -> None:
    first = said(bank_of_each_kind, "Alpha is first", session="bad", source="mcp")
    later(clock)
    second = said(bank_of_each_kind, "Bravo is second", session="good", source="mcp")
    later(clock)
    third = said(bank_of_each_kind, "Charlie is third", session="bad", source="cli")
    learned = with_provenance(bank_of_each_kind, "Delta was distilled", session="", model="m-1", trajectory="t-1")
    with store_of(bank_of_each_kind).transaction() as transaction:
        transaction.sessions.add_origin(
            Origin(memory_id=learned.id, trajectory="t-1", kind="distilled", session="bad", at=clock.now())
        )
        transaction.sessions.add_origin(
            Origin(memory_id=second.id, trajectory="t-1", kind="corroborated", session="bad", at=clock.now())
        )

    def selected(**conditions: Any) -> set[str]:
        report = bank_of_each_kind.quarantine.add(**conditions, reason=WHY, dry_run=True)
        return {one.id for one in report.quarantined}

    assert selected(session="bad") == {first.id, third.id, learned.id}
    assert selected(source="mcp") == {first.id, second.id}
    assert selected(source="m-1") == selected(source="t-1") == {learned.id}
    assert selected(since=second.created_at) == {second.id, third.id, learned.id}
    assert selected(until=second.created_at) == {first.id}
    assert selected(since=second.created_at, until=third.created_at) == {second.id}
    assert selected(session="bad", source="mcp") == {first.id}
    assert selected(memory_id=first.id, session="good") == set()
    assert selected(session="nobody") == set()
    assert bank_of_each_kind.memories.count(states=("quarantined",)) == 0


@promise("guard:selection")
def test_everything_is_never_meant_and_a_reason_is_needed(bank_of_each_kind: Bank, clock: FrozenClock) -> None:
    memory = said(bank_of_each_kind, OTHER)
    for conditions in ({}, {"session": " "}, {"source": ""}, {"since": clock.now().replace(tzinfo=None)}):
        with pytest.raises(InvalidInput):
            bank_of_each_kind.quarantine.add(**conditions, reason=WHY)
    for reason in ("", "  ", "x" * 501):
        with pytest.raises(InvalidInput):
            bank_of_each_kind.quarantine.add(memory_id=memory.id, reason=reason)
    with pytest.raises(MemoryNotFound):
        bank_of_each_kind.quarantine.add(memory_id="nobody", reason=WHY)
    for named in ({}, {"memory_id": memory.id, "quarantine_id": "q"}, {"quarantine_id": "nothing"}):
        with pytest.raises(InvalidInput):
            bank_of_each_kind.quarantine.release(**named)
    with pytest.raises(MemoryNotFound):
        bank_of_each_kind.quarantine.release(memory_id="nobody")
    assert bank_of_each_kind.quarantine.release(memory_id=memory.id).released == ()
    assert states(bank_of_each_kind, memory.id) == ["active"]


@promise(
    "guard:cascade",
    "Quarantine reaches consolidations, promoted copies and lessons of sessions that were shown a memory; clean "
    "sources are visible again.",
    source="issue 4",
)
def test_lessons_of_sessions_that_were_shown_a_memory_follow_it(bank_of_each_kind: Bank, clock: FrozenClock) -> None:
    bad, clean = said(bank_of_each_kind, "Alpha was poisoned"), said(bank_of_each_kind, "Bravo is clean")
    taught = with_provenance(bank_of_each_kind, "Charlie came of alpha", in_context=f"{clean.id},{bad.id}")
    further = with_provenance(bank_of_each_kind, "Delta came of charlie", in_context=taught.id)
    trace = Trace(query="what now", approach="all", details={}, results=(bad.id, clean.id), at=clock.now())
    with store_of(bank_of_each_kind).transaction() as transaction:
        vector = bank_of_each_kind.embedder.embed_queries(["what now"])[0]
        transaction.sessions.keep_trace(trace, vector, bank_of_each_kind.embedder.model_id)
    strategy = with_provenance(bank_of_each_kind, "Echo came of a search", trace=trace.id)
    stranger = with_provenance(bank_of_each_kind, "Foxtrot came of a lost search", trace="gone")
    report = bank_of_each_kind.quarantine.add(memory_id=bad.id, reason=WHY)
    assert {one.id: one.because for one in report.quarantined} == {
        bad.id: (),
        taught.id: (bad.id,),
        strategy.id: (bad.id,),
        further.id: (taught.id,),
    }
    assert states(bank_of_each_kind, clean.id, stranger.id) == ["active", "active"]
    assert len(bank_of_each_kind.quarantine.release(memory_id=taught.id).released) == 2
    assert states(bank_of_each_kind, bad.id, taught.id, further.id, strategy.id) == [
        "quarantined",
        "active",
        "active",
        "quarantined",
    ]
    assert set(bank_of_each_kind.quarantine.release(quarantine_id=report.id).released) == {bad.id, strategy.id}


@promise("guard:cascade")
def test_what_has_two_reasons_needs_both_to_be_taken_away(bank_of_each_kind: Bank) -> None:
    sources, made = consolidated(bank_of_each_kind)
    first = bank_of_each_kind.quarantine.add(memory_id=sources[0].id, reason=WHY)
    second = bank_of_each_kind.quarantine.add(memory_id=sources[1].id, reason="Another one.")
    assert states(bank_of_each_kind, *(each.id for each in sources), made) == [
        "quarantined",
        "quarantined",
        "active",
        "quarantined",
    ]
    released = bank_of_each_kind.quarantine.release(quarantine_id=first.id)
    assert released.released == (sources[0].id,)
    assert (made, "another quarantine holds it") in released.kept
    assert states(bank_of_each_kind, sources[0].id, sources[1].id, sources[2].id) == ["active", "quarantined", "active"]
    bank_of_each_kind.quarantine.release(quarantine_id=second.id)
    assert states(bank_of_each_kind, *(each.id for each in sources), made) == ["archived"] * 3 + ["active"]
    assert {bank_of_each_kind.get(each.id).consolidation_id for each in sources} == {made}


@promise("guard:cascade")
def test_of_two_sources_in_one_quarantine_one_alone_frees_nothing_else(bank_of_each_kind: Bank) -> None:
    texts = [
        said(bank_of_each_kind, text, session=name) for text, name in zip(TEXTS, ("bad", "bad", "good"), strict=True)
    ]
    (made,) = bank_of_each_kind.curation.consolidate(FORCED).created_memories
    bank_of_each_kind.quarantine.add(session="bad", reason=WHY)
    bank_of_each_kind.quarantine.release(memory_id=texts[0].id)
    assert states(bank_of_each_kind, *(each.id for each in texts), made) == [
        "active",
        "quarantined",
        "active",
        "quarantined",
    ]
    bank_of_each_kind.quarantine.release(memory_id=texts[1].id)
    assert states(bank_of_each_kind, *(each.id for each in texts), made) == ["archived"] * 3 + ["active"]


@promise("guard:cascade")
def test_copies_in_wider_scopes_follow(open_bank_of_each_kind: OpenBank, clock: FrozenClock) -> None:
    bank = open_bank_of_each_kind()
    source = said(bank, OTHER)
    team = Scope(tenant="acme", project="platform", level="team")
    store = bank._context.storage.open(team)
    copy = replace(source, id="promoted", project="platform")
    with store.transaction() as transaction:
        transaction.memories.insert(copy, index([copy], bank.embedder)[0])
        transaction.memories.link(
            Link(source=copy.id, target=str(Reference.to(bank.scope, source.id)), kind=PROMOTED_FROM)
        )
    with store_of(bank).transaction() as transaction:
        transaction.memories.link(Link(source=source.id, target=str(Reference.to(team, copy.id)), kind=PROMOTED_TO))
        transaction.memories.link(Link(source=source.id, target="no reference", kind=PROMOTED_TO))
    report = bank.quarantine.add(memory_id=source.id, reason=WHY)
    assert [(one.id, one.level, one.name) for one in report.quarantined] == [
        (source.id, "project", "shop"),
        (copy.id, "team", "platform"),
    ]
    assert store.memories.get(copy.id).state == "quarantined"
    (listed,) = bank.quarantine.list()
    assert (listed.id, listed.reason, len(listed.members)) == (report.id, WHY, 2)
    bank.quarantine.release(quarantine_id=report.id)
    assert store.memories.get(copy.id) == copy
    assert bank.get(source.id).state == "active"
    single = bank.quarantine.add(memory_id=source.id, reason=WHY, cascade=False)
    assert [one.id for one in single.quarantined] == [source.id]
    assert store.memories.get(copy.id).state == "active"
    store.close()


@promise("guard:cascade")
def test_a_copy_follows_whose_promotion_was_interrupted(open_bank_of_each_kind: OpenBank) -> None:
    bank = open_bank_of_each_kind()
    source = said(bank, OTHER)
    team = Scope(tenant="acme", project="platform", level="team")
    store = bank._context.storage.open(team)
    copy = replace(source, id="promoted", project="platform")
    with store.transaction() as transaction:
        transaction.memories.insert(copy, index([copy], bank.embedder)[0])
        transaction.memories.link(
            Link(source=copy.id, target=str(Reference.to(bank.scope, source.id)), kind=PROMOTED_FROM)
        )
    report = bank.quarantine.add(memory_id=source.id, reason=WHY)
    assert [one.id for one in report.quarantined] == [source.id, copy.id]
    store.close()


@promise(
    "guard:again",
    "The same quarantine again changes nothing, adds what came since, and a dry run writes nothing.",
    source="issue 4",
)
def test_asking_twice_is_one_quarantine_and_adds_what_came_since(bank_of_each_kind: Bank, tmp_path: Path) -> None:
    first = said(bank_of_each_kind, "Alpha is first", session="bad")
    one = bank_of_each_kind.quarantine.add(session="bad", reason=WHY)
    during = exported(bank_of_each_kind, tmp_path)
    again = bank_of_each_kind.quarantine.add(session="bad", reason="Once more.")
    assert (again.id, again.quarantined, again.held) == (one.id, (), 1)
    assert exported(bank_of_each_kind, tmp_path) == during
    second = said(bank_of_each_kind, "Bravo is second", session="bad")
    third = bank_of_each_kind.quarantine.add(session="bad", reason="More of it.")
    assert [each.id for each in third.quarantined] == [second.id]
    assert set(bank_of_each_kind.quarantine.release(quarantine_id=one.id).released) == {first.id, second.id}


@promise("guard:again")
def test_a_dry_run_says_the_same_and_writes_nothing(bank_of_each_kind: Bank, tmp_path: Path) -> None:
    sources, _ = consolidated(bank_of_each_kind)
    before = exported(bank_of_each_kind, tmp_path)
    planned = bank_of_each_kind.quarantine.add(memory_id=sources[0].id, reason=WHY, dry_run=True)
    assert exported(bank_of_each_kind, tmp_path) == before
    done = bank_of_each_kind.quarantine.add(memory_id=sources[0].id, reason=WHY)
    assert (planned.quarantined, planned.id, planned.dry_run) == (done.quarantined, done.id, True)
    assert list(store_of(bank_of_each_kind).memories.changes(reference=planned.id))


@promise("guard:cascade")
def test_without_cascade_only_what_is_named_is_held(bank_of_each_kind: Bank, tmp_path: Path) -> None:
    sources, made = consolidated(bank_of_each_kind)
    before = exported(bank_of_each_kind, tmp_path)
    report = bank_of_each_kind.quarantine.add(memory_id=made, reason=WHY, cascade=False)
    assert [one.id for one in report.quarantined] == [made]
    assert report.surfaced == ()
    assert states(bank_of_each_kind, *(each.id for each in sources)) == ["archived"] * 3
    wide = bank_of_each_kind.quarantine.add(memory_id=made, reason=WHY)
    assert wide.id != report.id
    assert states(bank_of_each_kind, *(each.id for each in sources)) == ["active"] * 3
    bank_of_each_kind.quarantine.release(quarantine_id=wide.id)
    assert states(bank_of_each_kind, *(each.id for each in sources), made) == ["archived"] * 3 + ["quarantined"]
    bank_of_each_kind.quarantine.release(memory_id=made)
    assert exported(bank_of_each_kind, tmp_path) == before


@promise(
    "guard:meanwhile",
    "Evidence, edits, merges, undos and erasures during a quarantine have their place after the release.",
    source="issue 4",
)
def test_evidence_and_edits_that_came_meanwhile_stay(bank_of_each_kind: Bank, clock: FrozenClock) -> None:
    memory = said(bank_of_each_kind, OTHER)
    bank_of_each_kind.quarantine.add(memory_id=memory.id, reason=WHY)
    later(clock)
    bank_of_each_kind.feedback(memory.id, helpful=False)
    edited = bank_of_each_kind.update(memory.id, title="A better title")
    assert (edited.state, edited.version) == ("quarantined", 2)
    bank_of_each_kind.quarantine.release(memory_id=memory.id)
    after = bank_of_each_kind.get(memory.id)
    assert (after.state, after.title, after.version) == ("active", "A better title", 2)
    assert after.belief.negative > 0


@promise("guard:meanwhile")
def test_a_consolidation_whose_sources_went_elsewhere_stays_archived(
    bank_of_each_kind: Bank, clock: FrozenClock
) -> None:
    sources, made = consolidated(bank_of_each_kind)
    bank_of_each_kind.feedback(sources[1].id, helpful=True)
    report = bank_of_each_kind.quarantine.add(memory_id=sources[0].id, reason=WHY)
    later(clock)
    (second,) = bank_of_each_kind.curation.consolidate(FORCED).created_memories
    assert {bank_of_each_kind.get(each.id).consolidation_id for each in sources[1:]} == {second}
    released = bank_of_each_kind.quarantine.release(quarantine_id=report.id)
    assert released.released == (sources[0].id,)
    assert [name for name, _ in released.kept] == [made]
    assert states(bank_of_each_kind, sources[0].id, made, second) == ["active", "archived", "active"]
    bank_of_each_kind.curation.undo(second)
    assert states(bank_of_each_kind, *(each.id for each in sources), made) == ["active"] * 3 + ["archived"]
    assert bank_of_each_kind.get(sources[1].id).consolidation_id is None
    again = bank_of_each_kind.quarantine.add(memory_id=sources[1].id, reason=WHY)
    bank_of_each_kind.quarantine.release(quarantine_id=again.id)
    assert states(bank_of_each_kind, *(each.id for each in sources), made) == ["active"] * 3 + ["archived"]
    assert bank_of_each_kind.admin.check().healthy


@promise("guard:meanwhile")
def test_a_consolidation_of_surfaced_sources_that_is_undone_in_time_changes_nothing(
    bank_of_each_kind: Bank, clock: FrozenClock, tmp_path: Path
) -> None:
    sources, _ = consolidated(bank_of_each_kind)
    before = exported(bank_of_each_kind, tmp_path)
    report = bank_of_each_kind.quarantine.add(memory_id=sources[0].id, reason=WHY)
    during = exported(bank_of_each_kind, tmp_path)
    later(clock)
    bank_of_each_kind.curation.undo(bank_of_each_kind.curation.consolidate(FORCED).created_memories[0])
    assert exported(bank_of_each_kind, tmp_path) == during
    bank_of_each_kind.quarantine.release(quarantine_id=report.id)
    assert exported(bank_of_each_kind, tmp_path) == before


@promise("guard:meanwhile")
def test_a_consolidation_in_quarantine_is_not_undone_and_its_source_may_be_erased(bank_of_each_kind: Bank) -> None:
    sources, made = consolidated(bank_of_each_kind)
    report = bank_of_each_kind.quarantine.add(memory_id=sources[0].id, reason=WHY)
    with pytest.raises(InvalidInput, match="in quarantine"):
        bank_of_each_kind.curation.undo(made)
    bank_of_each_kind.delete(sources[0].id)
    bank_of_each_kind.delete(sources[1].id)
    bank_of_each_kind.quarantine.release(quarantine_id=report.id)
    assert states(bank_of_each_kind, sources[2].id, made) == ["archived", "active"]


@promise("guard:meanwhile")
def test_sources_stay_visible_when_their_quarantined_consolidation_is_erased(bank_of_each_kind: Bank) -> None:
    sources, made = consolidated(bank_of_each_kind)
    report = bank_of_each_kind.quarantine.add(memory_id=sources[0].id, reason=WHY)
    bank_of_each_kind.delete(made)
    other = bank_of_each_kind.quarantine.add(memory_id=sources[1].id, reason=WHY)
    bank_of_each_kind.quarantine.release(quarantine_id=other.id)
    assert states(bank_of_each_kind, sources[1].id, sources[2].id) == ["active", "active"]
    bank_of_each_kind.quarantine.release(quarantine_id=report.id)
    assert states(bank_of_each_kind, sources[1].id, sources[2].id) == ["active", "active"]


@promise(
    "guard:people-alone",
    "Only a person's release leads out of quarantine; no tool of an agent holds or releases.",
    source="DESIGN D10",
)
def test_only_a_release_leads_out_of_quarantine(bank_of_each_kind: Bank) -> None:
    memory = said(bank_of_each_kind, OTHER)
    bank_of_each_kind.quarantine.add(memory_id=memory.id, reason=WHY)
    for state in ("active", "candidate", "archived"):
        with pytest.raises(InvalidMemory, match="in quarantine"):
            bank_of_each_kind.update(memory.id, state=state)
    bank_of_each_kind.feedback(memory.id, helpful=True)
    bank_of_each_kind.outcome(memory.id, succeeded=True)
    assert states(bank_of_each_kind, memory.id) == ["quarantined"]
    bank_of_each_kind.quarantine.release(memory_id=memory.id)
    bank_of_each_kind.update(memory.id, state="quarantined")
    with pytest.raises(InvalidMemory):
        bank_of_each_kind.update(memory.id, state="active")
    assert bank_of_each_kind.quarantine.list() == ()
    assert bank_of_each_kind.quarantine.release(memory_id=memory.id).released == (memory.id,)
    assert states(bank_of_each_kind, memory.id) == ["active"]


@promise("guard:audit", "Who held or released a memory, when and why, stays in its history.", source="issue 4")
def test_who_when_and_why_stay_in_the_history(bank_of_each_kind: Bank, clock: FrozenClock) -> None:
    sources, made = consolidated(bank_of_each_kind)
    later(clock)
    report = bank_of_each_kind.quarantine.add(memory_id=sources[0].id, reason="It told the agent to\nrun a script.")
    held = clock.now()
    later(clock)
    bank_of_each_kind.quarantine.release(quarantine_id=report.id, reason="It was a false alarm.")
    events = [event for event in bank_of_each_kind.memories.history(sources[0].id) if event.kind == "state"]
    assert [event.at for event in events] == [held - timedelta(days=1), held, clock.now(), clock.now()]
    assert [event.detail for event in events] == [
        f"Consolidated into {made}, archived.",
        f"From archived into quarantine {report.id}, by here: It told the agent to run a script.",
        f"Let go by {report.id}, by here: It was a false alarm.",
        f"Released from {report.id}, archived again, by here: It was a false alarm.",
    ]
    made_of = [event.detail for event in bank_of_each_kind.memories.history(made) if event.kind == "state"]
    assert f"made of {sources[0].id}" in made_of[0]
    surfaced = [event.detail for event in bank_of_each_kind.memories.history(sources[1].id) if event.kind == "state"]
    assert surfaced[1].startswith(f"Active again while {made} is in quarantine")


@promise(
    "guard:carried",
    "An export carries quarantines, and a release after the import does what it would have done before.",
    source="issue 4",
)
@pytest.mark.parametrize("released", ["before", "after"])
def test_a_quarantine_goes_with_an_export(
    open_bank_of_each_kind: OpenBank, clock: FrozenClock, tmp_path: Path, released: str
) -> None:
    bank = open_bank_of_each_kind()
    sources, _ = consolidated(bank)
    lone = said(bank, OTHER)
    whole = exported(bank, tmp_path)
    report = bank.quarantine.add(memory_id=sources[0].id, reason=WHY)
    bank.update(lone.id, state="quarantined")
    held = exported(bank, tmp_path)
    later(clock)
    other = open_bank_of_each_kind(home="elsewhere")
    other.admin.import_(tmp_path / "export.jsonl", vouched=True)
    assert exported(other, tmp_path) == held
    assert [(each.id, each.reason) for each in other.quarantine.list()] == [(report.id, WHY)]
    one = bank if released == "before" else other
    one.quarantine.release(quarantine_id=report.id)
    assert one.quarantine.release(memory_id=lone.id).released == (lone.id,)
    lines = zip(exported(one, tmp_path).splitlines(), whole.splitlines(), strict=True)
    assert all(mine == theirs for mine, theirs in lines if lone.id.encode() not in mine)
    assert states(one, lone.id) == ["active"]


@promise(
    "guard:single",
    "Single memories are set aside inside a transaction, without anything that was made of them.",
    source="issue 4",
)
def test_single_memories_are_set_aside_without_anything_else(
    bank_of_each_kind: Bank, clock: FrozenClock, tmp_path: Path
) -> None:
    sources, made = consolidated(bank_of_each_kind)
    lone = said(bank_of_each_kind, OTHER)
    before = exported(bank_of_each_kind, tmp_path)
    with store_of(bank_of_each_kind).transaction() as transaction:
        aside = set_aside(transaction, [made, lone.id, made], reason="Its sessions fail.", at=clock.now())
        assert aside == (made, lone.id)
        assert set_aside(transaction, [lone.id], reason="Again.", at=clock.now()) == ()
    assert (
        states(bank_of_each_kind, made, lone.id, *(each.id for each in sources))
        == ["quarantined"] * 2 + ["archived"] * 3
    )
    (listed,) = bank_of_each_kind.quarantine.list()
    assert listed.reason == "Its sessions fail."
    bank_of_each_kind.quarantine.release(quarantine_id=listed.id)
    assert exported(bank_of_each_kind, tmp_path) == before


@promise("guard:relearned", "A lesson in quarantine does not come back by being distilled again.", source="issue 4")
def test_what_is_in_quarantine_is_not_learned_again(bank_of_each_kind: Bank) -> None:
    def learned(session: str) -> DistilReport:
        return bank_of_each_kind.distillation.from_summary(
            SessionSummary(
                session_id=session,
                project_id="shop",
                outcome="success",
                task="Restart the postgres replica after a failover",
                approach="Promote the replica and point the proxy at it",
                result="Writes went on within a minute",
            )
        )

    (memory,) = learned("first").distilled
    bank_of_each_kind.quarantine.add(memory_id=memory, reason=WHY)
    again = learned("second")
    assert (again.distilled, again.corroborated) == ((), ())
    assert [refusal.detail for refusal in again.refused] == [f"the same text is in quarantine as {memory}"]
    bank_of_each_kind.quarantine.release(memory_id=memory)
    assert learned("third").corroborated == (memory,)
