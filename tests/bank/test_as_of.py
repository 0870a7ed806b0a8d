"""The bank as it stood: texts, states, beliefs and evidence of a moment, and what cannot be known any more."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.similar_lessons import FORCED, OTHER, TEXTS
from opened_banks import OpenBank
from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.context import Context
from reasoningbank.curation.snapshot import Past
from reasoningbank.errors import InvalidInput, MemoryNotFound, ModelMismatch, NegativeLimit, ReadOnlyBank
from reasoningbank.settings import Settings
from reasoningbank.storage.schema import MIGRATIONS, guarding_schema
from reasoningbank.storage.sqlite_connection import ConnectionSource
from reasoningbank.storage.sqlite_memory import ProcessStorage
from reasoningbank.testing import FrozenClock, HashingEmbedder
from reasoningbank.types.lifecycle import PruneRules
from reasoningbank.types.memory import Memory
from reasoningbank.types.quarantine import PastMemory
from reasoningbank.types.scope import Scope
from recorded_memories import later, said, store_of

WHY = "The session was poisoned."


def seen(past: PastMemory) -> tuple[object, ...]:
    """What a view shows of a memory that it is sure of: everything but how often it was delivered."""
    memory = past.memory
    return (memory.id, memory.title, memory.content, memory.tags, memory.state, memory.consolidation_id, memory.belief)


def now(bank: Bank) -> list[tuple[object, ...]]:
    """The same of the bank as it is."""
    return [seen(PastMemory(memory=memory)) for memory in bank.memories.list()]


@promise("past:state", "as_of shows texts, states, beliefs and evidence as they were at that moment.", source="issue 4")
def test_text_state_and_belief_are_those_of_the_moment(bank_of_each_kind: Bank, clock: FrozenClock) -> None:
    memory = said(bank_of_each_kind, OTHER, tags=["old"])
    moments = [(clock.now(), bank_of_each_kind.get(memory.id))]

    def step() -> None:
        moments.append((clock.now(), bank_of_each_kind.get(memory.id)))
        later(clock)

    later(clock)
    for change in (
        lambda: bank_of_each_kind.update(memory.id, content="Pin them all", tags=["new"]),
        lambda: bank_of_each_kind.feedback(memory.id, helpful=True),
        lambda: bank_of_each_kind.quarantine.add(memory_id=memory.id, reason=WHY),
        lambda: bank_of_each_kind.outcome(memory.id, succeeded=False),
        lambda: bank_of_each_kind.quarantine.release(memory_id=memory.id),
        lambda: bank_of_each_kind.update(memory.id, title="Another title", state="archived"),
        lambda: bank_of_each_kind.update(memory.id, state="candidate"),
    ):
        change()
        step()
    assert len({(each.state, each.version, each.belief) for _, each in moments}) == 8
    for moment, then in moments:
        assert bank_of_each_kind.at(moment).get(memory.id) == PastMemory(memory=then)
        assert bank_of_each_kind.at(moment + timedelta(hours=23)).list() == (PastMemory(memory=then),)
    assert bank_of_each_kind.at(moments[0][0] - timedelta(seconds=1)).list() == ()
    with pytest.raises(MemoryNotFound, match="was not in the bank"):
        bank_of_each_kind.at(moments[0][0] - timedelta(seconds=1)).get(memory.id)


@promise("past:state")
def test_a_consolidation_and_its_undo_are_seen_from_both_sides(bank_of_each_kind: Bank, clock: FrozenClock) -> None:
    sources = [said(bank_of_each_kind, text) for text in TEXTS]
    bank_of_each_kind.feedback(sources[0].id, helpful=True)
    before, at_first = now(bank_of_each_kind), clock.now()
    later(clock)
    (made,) = bank_of_each_kind.curation.consolidate(FORCED).created_memories
    merged, at_merge = now(bank_of_each_kind), clock.now()
    later(clock)
    bank_of_each_kind.quarantine.add(memory_id=sources[1].id, reason=WHY)
    held, at_hold = now(bank_of_each_kind), clock.now()
    later(clock)
    bank_of_each_kind.quarantine.release(memory_id=sources[1].id)
    later(clock)
    for moment, then in ((at_first, before), (at_merge, merged), (at_hold, held)):
        view = bank_of_each_kind.at(moment)
        assert [seen(each) for each in view.list()] == then
        assert all(each.exact for each in view.list())
        assert view.notes == ()
    bank_of_each_kind.curation.undo(made)
    view = bank_of_each_kind.at(at_merge)
    assert [each.memory.state for each in view.list()] == ["archived"] * 3
    assert {each.memory.consolidation_id for each in view.list()} == {made}
    assert view.notes == ("1 memory that existed then was erased since and cannot be shown.",)
    assert all(f"What was said of {made}" in each.unknown[0] for each in view.list())
    assert [seen(each) for each in bank_of_each_kind.at(at_first).list()] == before


@promise(
    "past:unknown",
    "What cannot be known any more of the past is said with the answer and never guessed.",
    source="issue 4",
)
def test_rolled_up_evidence_counts_only_where_its_time_is_known(bank_of_each_kind: Bank, clock: FrozenClock) -> None:
    memory = said(bank_of_each_kind, OTHER)
    born = clock.now()
    later(clock)
    bank_of_each_kind.feedback(memory.id, helpful=True)
    rated, early = clock.now(), bank_of_each_kind.get(memory.id).belief
    later(clock, 2)
    bank_of_each_kind.outcome(memory.id, succeeded=False)
    late, newest = bank_of_each_kind.get(memory.id).belief, clock.now()
    later(clock, 40)
    assert bank_of_each_kind.admin.roll_up() == 2
    for moment in (newest, newest + timedelta(days=1), clock.now()):
        assert bank_of_each_kind.at(moment).get(memory.id).memory.belief == late
        assert bank_of_each_kind.at(moment).get(memory.id).exact
    unsure = bank_of_each_kind.at(rated).get(memory.id)
    assert unsure.unknown == (
        "2 signals were rolled up into counts since; which of them had been given by then is not known, and none is "
        "counted.",
    )
    assert unsure.memory.belief == memory.belief != early
    assert not bank_of_each_kind.at(born).get(memory.id).exact
    assert bank_of_each_kind.at(rated).search(OTHER).warnings[0].startswith(f"{memory.id}: 2 signals")


@promise("past:unknown")
def test_what_a_consolidation_began_with_is_known_after_any_roll_up(
    bank_of_each_kind: Bank, clock: FrozenClock
) -> None:
    sources = [said(bank_of_each_kind, text) for text in TEXTS]
    for source in sources:
        bank_of_each_kind.feedback(source.id, helpful=True)
    later(clock, 35)
    bank_of_each_kind.admin.roll_up()
    bank_of_each_kind.outcome(sources[0].id, succeeded=True)
    (made,) = bank_of_each_kind.curation.consolidate(FORCED).created_memories
    began, at = bank_of_each_kind.get(made), clock.now()
    later(clock)
    bank_of_each_kind.feedback(made, helpful=False)
    later(clock, 40)
    bank_of_each_kind.admin.roll_up()
    view = bank_of_each_kind.at(at).get(made)
    assert view.memory.belief == began.belief
    assert [each[:9] for each in view.unknown] == ["1 signal "]


@promise("past:unknown")
def test_what_was_erased_imported_or_delivered_since_is_said(
    open_bank_of_each_kind: OpenBank, clock: FrozenClock, tmp_path: Path
) -> None:
    bank = open_bank_of_each_kind()
    kept, gone = said(bank, OTHER), said(bank, "Alpha goes away")
    bank.admin.export(tmp_path / "export.jsonl")
    at = clock.now()
    later(clock)
    bank.delete(gone.id)
    bank.search(OTHER)
    later(clock)
    view = bank.at(at)
    assert view.notes == ("1 memory that existed then was erased since and cannot be shown.",)
    assert view.get(kept.id).unknown == ("How often it had been delivered by then is not kept.",)
    assert view.get(kept.id).memory.belief == kept.belief
    assert bank.at(clock.now()).notes == ()
    assert bank.at(at - timedelta(days=1)).notes == ()
    other = open_bank_of_each_kind(home="elsewhere")
    other.admin.import_(tmp_path / "export.jsonl")
    assert other.at(at).count() == 0
    assert other.at(clock.now()).count() == 2


@promise("past:unknown")
def test_a_bank_that_is_older_than_its_log_says_since_when_it_is_sure(tmp_path: Path) -> None:
    home = Settings(home=tmp_path)
    with Bank.open(tenant="t", project="p", embedder=HashingEmbedder(), settings=home) as bank:
        memory = said(bank, OTHER)
        path = Path(bank.admin.check().facts["location"])
    with _older(path) as connection:
        number = MIGRATIONS.index(guarding_schema)
        tables = [
            row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
        ]
        assert "state_changes" in tables
        connection.execute("DROP TABLE state_changes; DROP TABLE erasures")
        MIGRATIONS[number](ConnectionSource(path, "p", connection, None))
        assert connection.execute("SELECT 1 FROM meta WHERE name = 'changes since'").get == 1
    with Bank.open(tenant="t", project="p", embedder=HashingEmbedder(), settings=home) as bank:
        since = store_of(bank).memories.changes_since()
        assert since is not None
        assert abs(datetime.now(UTC) - since) < timedelta(minutes=5)
        view = bank.at(memory.created_at)
        assert view.notes[0].startswith("Changes of states are logged since")
        assert view.get(memory.id).unknown == ("Its state then was not logged.",)
        assert bank.at(datetime.now(UTC)).get(memory.id).exact


def _older(path: Path) -> apsw.Connection:
    return apsw.Connection(str(path))


@promise(
    "past:search",
    "A search of the past finds what it would have found; of the present it finds what the bank finds.",
    source="issue 4",
)
def test_a_search_finds_what_it_would_have_found(bank_of_each_kind: Bank, clock: FrozenClock) -> None:
    old = said(bank_of_each_kind, "Restart the postgres replica after failover")
    weak = said(bank_of_each_kind, "Promote the postgres replica by hand", confidence=0.5)
    at = clock.now()
    later(clock)
    bank_of_each_kind.update(old.id, content="Water the office plants twice a week", title="Plants")
    new = said(bank_of_each_kind, "Promote a postgres replica with the operator")
    bank_of_each_kind.quarantine.add(memory_id=weak.id, reason=WHY)
    then = bank_of_each_kind.at(at).search("postgres replica after failover", min_confidence=0.7)
    assert [hit.id for hit in then.memories] == [old.id]
    assert then.memories[0].content == "Restart the postgres replica after failover"
    assert [hit.id for hit in then.unproven] == [weak.id]
    assert then.at == at
    assert new.id in {hit.id for hit in bank_of_each_kind.at(clock.now()).search("postgres replica").memories}
    assert old.id not in {hit.id for hit in bank_of_each_kind.at(clock.now()).search("postgres replica").memories}
    assert not store_of(bank_of_each_kind).deliveries.recalls(limit=0)
    assert bank_of_each_kind.at(at - timedelta(days=1)).search("postgres replica").delivered == ()
    nothing = bank_of_each_kind.at(at).search("postgres replica", outcome="failure", tags=["none"], category="none")
    assert nothing.delivered == ()


@promise("past:search")
def test_of_the_present_the_view_finds_what_the_bank_finds(bank_of_each_kind: Bank, clock: FrozenClock) -> None:
    words = [f"word {letter}" for letter in "abcdefghijklmn"]
    for number in range(40):
        said(
            bank_of_each_kind,
            f"Use {words[number % 14]} with {words[number * 5 % 13]} when {words[number * 3 % 11]} fails",
        )
    later(clock)
    for query in ("word a fails", "word d with word e", "word n when word k fails"):
        view = bank_of_each_kind.at(clock.now()).search(query, unproven=0)
        assert view.count > 0
        found = bank_of_each_kind.search(query, unproven=0)
        assert [(hit.id, hit.relevance) for hit in view.memories] == [(hit.id, hit.relevance) for hit in found.memories]


@promise("past:read-only", "Nothing can be written to the past, and its arguments are checked.", source="issue 4")
def test_nothing_is_written_to_what_is_over(bank_of_each_kind: Bank, clock: FrozenClock) -> None:
    memory = said(bank_of_each_kind, OTHER)
    view = bank_of_each_kind.at(clock.now())
    verbs = {name for name in dir(Bank) if not name.startswith("_")} - {name for name in dir(Past) if name[0] != "_"}
    assert {"record", "update", "delete", "feedback", "outcome", "briefing"} <= verbs
    for name in sorted(verbs):
        with pytest.raises(ReadOnlyBank, match=name) as caught:
            getattr(view, name)
        assert caught.value.hint
    with pytest.raises(AttributeError):
        view._private  # noqa: B018 - the access is what is tested
    assert view.get(memory.id).memory == bank_of_each_kind.get(memory.id)


@promise("past:read-only")
def test_arguments_are_checked_as_the_banks_are(bank_of_each_kind: Bank, clock: FrozenClock) -> None:
    said(bank_of_each_kind, OTHER)
    for moment in (clock.now() + timedelta(seconds=1), clock.now().replace(tzinfo=None)):
        with pytest.raises(InvalidInput):
            bank_of_each_kind.at(moment)
    view = bank_of_each_kind.at(clock.now())
    with pytest.raises(NegativeLimit):
        view.list(limit=-1)
    with pytest.raises(InvalidInput):
        view.count(states=["gone"])  # type: ignore[list-item]  # wrong on purpose
    assert view.list(limit=1, offset=1) == ()
    assert view.count(outcome="success", min_confidence=0.8) == 1
    assert view.count(outcome="failure") == view.count(tags=["x"]) == view.count(category="x") == 0
    assert view.count(min_confidence=0.9) == 0


@promise("past:search")
def test_a_bank_of_another_embedder_is_refused(tmp_path: Path, clock: FrozenClock) -> None:
    home = Settings(home=tmp_path)
    with Bank.open(tenant="t", project="p", embedder=HashingEmbedder(64), settings=home, clock=clock) as bank:
        said(bank, OTHER)
    bank = Bank.open(tenant="t", project="p", embedder=HashingEmbedder(32), settings=home, clock=clock)
    with bank, pytest.raises(ModelMismatch):
        bank.at(clock.now()).search(OTHER)


@promise("past:state")
def test_a_month_without_use_counts_from_when_it_was_over(bank_of_each_kind: Bank, clock: FrozenClock) -> None:
    memory = said(bank_of_each_kind, OTHER)
    with store_of(bank_of_each_kind).transaction() as transaction:
        transaction.memories.update(replace(memory, provenance={"source": "distilled"}))
    later(clock, 100)
    (report,) = bank_of_each_kind.curation.decay().decayed
    assert report.memory_id == memory.id
    beliefs = [
        bank_of_each_kind.at(memory.created_at + timedelta(days=day)).get(memory.id).memory.confidence
        for day in (29, 31, 95)
    ]
    assert beliefs[0] == memory.confidence > beliefs[1] > beliefs[2] == bank_of_each_kind.get(memory.id).confidence


STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["record", "edit", "rate", "fail", "archive", "wake", "hold", "let go", "merge", "undo", "prune", "wait"]
        ),
        st.integers(0, 5),
    ),
    min_size=1,
    max_size=14,
)


@promise("past:state")
@settings(max_examples=60)
@given(STEPS)
def test_whatever_happened_every_moment_is_seen_as_it_was(steps: list[tuple[str, int]]) -> None:
    clock = FrozenClock()
    bank = Bank(
        Context(
            ProcessStorage(),
            Scope(tenant="t", project="p"),
            HashingEmbedder(256),
            settings=Settings(home=Path("unused")),
            clock=clock,
        )
    )
    kept: list[tuple[datetime, list[tuple[object, ...]]]] = []
    undone: set[datetime] = set()
    for step, place in steps:
        _do(bank, step, place, clock)
        if step == "undo":
            undone = {moment for moment, _ in kept}
        kept.append((clock.now(), now(bank)))
        later(clock)
    for moment, then in kept:
        view = bank.at(moment)
        shown = {each.id: each for each in view.list()}
        for row in then:
            past = shown.get(str(row[0]))
            if past is None:
                assert moment in undone
            elif past.exact:
                assert seen(past) == row
            else:
                assert seen(past)[:6] == row[:6]
        assert set(shown) <= {str(row[0]) for row in then}
    assert bank.admin.check().healthy


def _do(bank: Bank, step: str, place: int, clock: FrozenClock) -> None:
    memories = bank.memories.list()
    chosen: Memory | None = memories[place % len(memories)] if memories else None
    if step == "record":
        said(bank, TEXTS[place % 3])
    if step == "wait":
        later(clock, 35)
        bank.admin.roll_up()
    if step == "merge":
        bank.curation.consolidate(FORCED)
    if step == "prune":
        bank.curation.prune(PruneRules(below=0.9, after_days=30))
    if chosen is None:
        return
    quarantined = chosen.state == "quarantined"
    if step == "edit":
        bank.update(chosen.id, content=f"{chosen.content} and {place}")
    if step in {"rate", "fail"}:
        bank.feedback(chosen.id, helpful=step == "rate")
    if step in {"archive", "wake"} and not quarantined:
        bank.update(chosen.id, state="archived" if step == "archive" else "active")
    if step == "hold":
        bank.quarantine.add(memory_id=chosen.id, reason=WHY)
    if step == "let go":
        bank.quarantine.release(memory_id=chosen.id)
    if step == "undo" and "sources" in chosen.provenance:
        try:
            bank.curation.undo(chosen.id)
        except InvalidInput:
            return


@promise("past:unknown")
def test_what_came_in_a_shared_file_was_not_there_before(
    open_bank_of_each_kind: OpenBank, clock: FrozenClock, tmp_path: Path
) -> None:
    bank, other = open_bank_of_each_kind(), open_bank_of_each_kind(home="elsewhere")
    memory = said(bank, OTHER)
    bank.sharing.export(tmp_path / "shop.jsonl")
    later(clock)
    assert other.sharing.import_(tmp_path / "shop.jsonl").added == (memory.id,)
    assert other.at(memory.created_at).count() == 0
    assert other.at(clock.now()).count() == 1


@promise(
    "bank:times",
    "A time is a datetime with a zone or a text of ISO 8601, in every method that takes one.",
    source="issue, Interface exactly",
)
def test_a_time_may_be_written_as_a_text(bank: Bank) -> None:
    kept = bank.record(title="Retry", content="Back off, then retry.", outcome="success")
    assert bank.at("2020-01-01").moment == datetime(2020, 1, 1, tzinfo=UTC)
    assert bank.at("2020-01-01T12:00:00+02:00").moment == datetime(2020, 1, 1, 10, tzinfo=UTC)
    assert [hit.id for hit in bank.search("retry", created_after="2020-01-01").memories] == [kept.id]
    assert bank.search("retry", created_before="2020-01-01").memories == ()
    assert bank.graph.events("2020-01-01", "2020-02-01") == ()
    for call in (
        lambda: bank.at("yesterday"),
        lambda: bank.at(datetime(2020, 1, 1)),
        lambda: bank.search("retry", created_after="soon"),
        lambda: bank.quarantine.add(since="soon", reason="why"),
        lambda: bank.graph.events("soon"),
    ):
        with pytest.raises(InvalidInput):
            call()
