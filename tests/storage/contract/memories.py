"""Memories: what was stored comes back, in order, changed when it was changed, gone when it was deleted."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

from promises import promise
from reasoningbank.errors import BankError, InvalidInput, MemoryNotFound, ModelMismatch, ScopeViolation
from reasoningbank.types.belief import Belief
from reasoningbank.types.identifier import IdKind
from reasoningbank.types.memory import IMPORTED, Memory, StateChange
from reasoningbank.types.recall import CONTENT_LEG, Filter, Hit, Leg, Recall
from reasoningbank.types.records import Indexed, Link
from storage.contract.base import (
    EAST,
    EVERYTHING,
    NORTH,
    SCOPE,
    START,
    Conformance,
    fill,
    indexed,
    lesson,
    refuses,
    signal,
    vector,
)

FULL = Memory(
    id="Caller-Chosen ID/42:ü",
    project=SCOPE.project,
    title="Naïve 東京 \U0001f9e0 'quoted' \"double\" %_\\",
    description="when\tit\napplies\u00a0— even with \x00 inside",
    content="First line\n\n  indented\r\nlast; DROP TABLE memories;--",
    outcome="failure",
    tags=("Zebra", "apple", "Łódź", "a b", "%", "'"),
    category="Debugging & tests",
    state="candidate",
    belief=Belief(prior=1_200_000_001, positive=123_456_789_012, negative=1),
    usage_count=7,
    tokens=321,
    provenance={"surface": "mcp", "session": "s-1", "": "empty", "schlüssel": "wert \U0001f511"},
    consolidation_id="another id",
    created_at=datetime(1999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    updated_at=datetime(2026, 3, 29, 1, 30, 0, 1, tzinfo=timezone(timedelta(hours=5, minutes=45))),
    last_used=datetime(2200, 2, 28, 0, 0, 0, 10, tzinfo=timezone(timedelta(hours=-11))),
    version=3,
)


class MemoryConformance(Conformance):
    """What a store owes to each single memory."""

    @promise("cli:short-ids")
    def test_ids_are_found_by_what_they_begin_with(self) -> None:
        """In the order of their code points, whatever characters they have, and of every kind of thing."""
        kinds: tuple[IdKind, ...] = ("memory", "trajectory", "session", "trace", "node", "edge", "deleted part")
        names = ("ab", "ab%", "ab_1", "abc", "abé", "ab\U0001f9e0", "ac", "AB")
        with self.fresh() as store:
            fill(store, [lesson(name) for name in names])
            found = store.ids_beginning("memory", "ab", limit=9)
            assert [each.id for each in found] == ["ab", "ab%", "ab_1", "abc", "abé", "ab\U0001f9e0"]
            assert found[0].title == "Lesson ab"
            assert [each.id for each in store.ids_beginning("memory", "ab_", limit=9)] == ["ab_1"]
            assert len(store.ids_beginning("memory", "a", limit=2)) == 2
            for kind in kinds[1:]:
                assert list(store.ids_beginning(kind, "ab", limit=9)) == []

    @promise(
        "storage:round-trip",
        "Every field of a memory comes back as it was stored, unicode, tags, provenance and microseconds included.",
        source="issue 2 Store; spec/contextd rows 18, 19, 26",
    )
    @promise("contextd:18")
    @promise("contextd:19")
    @promise("contextd:26")
    def test_every_field_comes_back_as_it_was_stored(self) -> None:
        """Unicode, tags in order, provenance, exact evidence, and times to the microsecond."""
        with self.fresh() as store:
            fill(store, [FULL, lesson("plain")])
            for found in (
                store.memories.get(FULL.id),
                store.memories.page(EVERYTHING, limit=1, offset=0)[0],
                store.memories.many([FULL.id])[FULL.id],
            ):
                assert found == FULL
                assert tuple(found.tags) == FULL.tags
                assert dict(found.provenance) == dict(FULL.provenance)
                assert found.confidence == FULL.confidence
                assert found.updated_at.tzinfo is not None
            assert store.memories.get("plain") == lesson("plain")
            assert store.memories.get("plain").last_used is None
            assert store.memories.get("plain").consolidation_id is None

    @promise("storage:round-trip")
    def test_times_of_all_ages_are_exact(self) -> None:
        """Before 1970, far ahead, and every microsecond in between."""
        moments = [
            datetime(1, 1, 2, tzinfo=UTC),
            datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
            datetime(9999, 12, 30, 23, 59, 59, 999_999, tzinfo=UTC),
            *(START + timedelta(microseconds=step) for step in (1, 2, 3, 333_333)),
        ]
        with self.fresh() as store:
            fill(store, [lesson(f"m{n}", created_at=at, updated_at=at, last_used=at) for n, at in enumerate(moments)])
            for number, at in enumerate(moments):
                found = store.memories.get(f"m{number}")
                assert (found.created_at, found.updated_at, found.last_used) == (at, at, at)

    @promise(
        "storage:paging",
        "Pages follow the order of storing; limit 0 means all; beyond the end is empty; counts agree.",
        source="seed 004 ListMemories, Count",
    )
    @promise("contextd:21")
    def test_pages_follow_the_order_of_storing(self) -> None:
        """Not of ids or times; limit 0 means all, an offset beyond the end gives nothing."""
        names = [f"m{number}" for number in (3, 1, 4, 15, 9, 2, 6)]
        with self.fresh() as store:
            assert list(store.memories.page(EVERYTHING, limit=0, offset=0)) == []
            fill(store, [lesson(name) for name in names])

            def page(limit: int, offset: int) -> list[str]:
                return [memory.id for memory in store.memories.page(EVERYTHING, limit=limit, offset=offset)]

            assert page(0, 0) == names
            assert page(0, 2) == names[2:]
            assert page(100, 0) == names
            assert page(3, 0) + page(3, 3) + page(3, 6) == names
            assert page(3, 7) == page(0, 7) == page(3, 1_000) == []
            with store.transaction() as transaction:
                transaction.memories.update(replace(store.memories.get("m4"), title="Edited"))
                transaction.memories.delete("m1")
                transaction.memories.insert(lesson("m1"), indexed())
            assert page(0, 0) == ["m3", "m4", "m15", "m9", "m2", "m6", "m1"]

    @promise("storage:paging")
    def test_counts_and_lookups(self) -> None:
        """Counting, ids of the same text oldest first, and many at once without those that do not exist."""
        twin = {"title": "Same", "description": "text", "content": "here"}
        with self.fresh() as store:
            assert store.memories.count(EVERYTHING) == 0
            fill(store, [lesson("m9", **twin), lesson("m1"), lesson("m2", **{**twin, "title": "SAME!"})])
            assert store.memories.count(EVERYTHING) == 3
            assert list(store.memories.same_text(store.memories.get("m9").fingerprint)) == ["m9", "m2"]
            assert list(store.memories.same_text(b"\x00" * 16)) == []
            assert set(store.memories.many(["m1", "nobody", "m9", "m1"])) == {"m1", "m9"}
            assert dict(store.memories.many([])) == {}
            with store.transaction() as transaction:
                transaction.memories.update(replace(store.memories.get("m9"), content="Elsewhere"))
            assert list(store.memories.same_text(store.memories.get("m2").fingerprint)) == ["m2"]

    @promise(
        "storage:not-found",
        "Every verb on an unknown memory raises MemoryNotFound and changes nothing.",
        source="seed 004 ErrMemoryNotFound",
    )
    def test_an_unknown_memory_is_an_error_of_its_own(self) -> None:
        """On every verb that needs one; reads of what hangs on it are empty."""
        with self.fresh() as store:
            fill(store, [lesson("m1")])
            with refuses(MemoryNotFound):
                store.memories.get("m2")
            with store.transaction() as transaction:
                for call in (
                    lambda: transaction.memories.get("m2"),
                    lambda: transaction.memories.update(lesson("m2")),
                    lambda: transaction.memories.update(lesson("m2"), indexed(), revision=True),
                    lambda: transaction.memories.delete("m2"),
                    lambda: transaction.evidence.add_signal(signal("m2")),
                    lambda: transaction.evidence.add_signal(signal("m2"), once=True),
                    lambda: transaction.evidence.set_aggregate(
                        replace(transaction.evidence.aggregate("m2"), positive=0, negative=0, last_rollup=START)
                    ),
                    lambda: transaction.deliveries.log_recall(_delivered(lesson("m2"))),
                ):
                    with refuses(MemoryNotFound):
                        call()
            assert store.memories.count(EVERYTHING) == 1
            assert not store.evidence.signals("m2")
            assert not store.memories.revisions("m2")
            assert not store.memories.links("m2")
            assert store.search.vector(CONTENT_LEG, "m2") is None
            assert store.deliveries.recalls(limit=0) == []

    @promise(
        "storage:update",
        "An update replaces the memory and only what it names; earlier versions are kept on wish.",
        source="issue 2 Store",
    )
    def test_an_update_replaces_the_memory_and_only_what_it_names(self) -> None:
        """Without derived parts, text and vectors stay; with them, the old ones are gone; versions are kept on wish."""
        with self.fresh() as store:
            fill(store, [(lesson("m1", tags=("old",)), indexed("kiwi", vector(*EAST), vector(*EAST)))])
            first = store.memories.get("m1")
            second = replace(first, title="Second", tags=("new",), version=2, usage_count=5)
            third = replace(second, content="Third", version=3, state="archived")
            with store.transaction() as transaction:
                transaction.memories.update(second, revision=True)
            assert store.memories.get("m1") == second
            assert store.memories.count(Filter(tags=("old",))) == 0
            assert store.memories.count(Filter(tags=("new",))) == 1
            assert [hit.id for hit in store.search.matching("kiwi", EVERYTHING, 5).hits] == ["m1"]
            with store.transaction() as transaction:
                transaction.memories.update(third, indexed("lamp", vector(*NORTH)), revision=True)
                transaction.memories.update(replace(third, usage_count=6))
            assert store.memories.get("m1") == replace(third, usage_count=6)
            assert list(store.memories.revisions("m1")) == [first, second]
            assert [hit.id for hit in store.search.matching("lamp", EVERYTHING, 5).hits] == ["m1"]
            assert store.search.matching("kiwi", EVERYTHING, 5).hits == ()
            assert store.search.nearest(CONTENT_LEG, vector(*NORTH), EVERYTHING, 5)[0].score == 1.0
            assert store.search.vector("description", "m1") is None

    @promise(
        "storage:erase",
        "Deleting a memory removes its text, vectors, tags, signals, counts, links, deliveries and versions.",
        source="DESIGN D1, issue 2 Store",
    )
    def test_a_deleted_memory_leaves_nothing_behind(self) -> None:
        """Text, vectors, tags, signals, counts, links, deliveries and versions go; a new one of its id starts anew."""
        with self.fresh() as store:
            fill(store, [(lesson(name, tags=("t",)), indexed("kiwi", vector(*EAST))) for name in ("m1", "m2")])
            with store.transaction() as transaction:
                transaction.memories.update(replace(store.memories.get("m1"), version=2), revision=True)
                transaction.evidence.add_signal(signal("m1", day=-40), once=True)
                transaction.evidence.add_signal(signal("m1", session="s2"), once=True)
                transaction.evidence.roll_up(START - timedelta(days=30), START)
                transaction.memories.link(Link(source="m1", target="m2", kind="merged"))
                transaction.memories.link(Link(source="m2", target="m1", kind="source"))
                transaction.deliveries.log_recall(_delivered(store.memories.get("m2"), store.memories.get("m1")))
            with store.transaction() as transaction:
                transaction.memories.delete("m1")
            for reborn in (False, True):
                if reborn:
                    fill(store, [(lesson("m1", title="Reborn"), indexed("lamp", vector(*NORTH)))])
                assert [hit.id for hit in store.search.matching("kiwi", EVERYTHING, 9).hits] == ["m2"]
                assert [memory.id for memory in store.memories.page(Filter(tags=("t",)), limit=0, offset=0)] == ["m2"]
                assert list(store.evidence.signals("m1")) == []
                assert store.evidence.aggregate("m1").last_rollup is None
                assert list(store.memories.revisions("m1")) == []
                assert list(store.memories.links("m1")) == list(store.memories.links("m2")) == []
                assert [entry.memory_id for entry in store.deliveries.recalls(limit=1)[0].entries] == ["m2"]
                assert [entry.rank for entry in store.deliveries.recalls(limit=1)[0].entries] == [1]
            assert [hit.id for hit in store.search.nearest(CONTENT_LEG, vector(*EAST), EVERYTHING, 9)] == ["m2", "m1"]
            with store.transaction() as transaction:
                assert transaction.evidence.add_signal(signal("m1"), once=True)

    @promise("storage:refused-write")
    def test_words_of_a_transaction_are_found_whatever_else_it_did(self) -> None:
        with self.fresh() as store:
            with store.transaction() as transaction:
                for number in range(6):
                    transaction.memories.insert(lesson(f"m{number}"), indexed(f"kiwi word{number}"))
                    with refuses(InvalidInput):
                        transaction.memories.insert(lesson(f"m{number}"), indexed("pear"))
                transaction.memories.delete("m1")
                transaction.memories.update(lesson("m2", version=2), indexed("melon"))
                with refuses(MemoryNotFound), transaction.whole():
                    transaction.memories.insert(lesson("m6"), indexed("kiwi"))
                    transaction.memories.delete("missing")
                transaction.memories.insert(lesson("m7"), indexed("kiwi"))
            found = {
                text: {hit.id for hit in store.search.matching(text, EVERYTHING, 9).hits}
                for text in ("kiwi", "melon", "pear", "word1")
            }
            assert found == {"kiwi": {"m0", "m3", "m4", "m5", "m7"}, "melon": {"m2"}, "pear": set(), "word1": set()}
            assert store.check().problems == ()

    @promise(
        "storage:many-at-once",
        "Memories that are stored together are stored as they are one by one, or none of them.",
        source="issue 17 bulk path",
    )
    def test_many_at_once_are_as_one_by_one(self) -> None:
        """With their words, vectors and log; one that is refused takes the others with it, and the rest goes on."""
        entries = [
            (lesson(f"m{number}"), indexed(f"kiwi word{number}", vector(1, number, 0, 0), vector(0, 1, number, 0)))
            for number in range(501)
        ]
        said = [
            StateChange(memory_id=memory.id, at=START, before=None, after="active", kind=IMPORTED)
            for memory, _ in entries
        ]
        with self.fresh() as store, self.fresh() as other:
            with store.transaction() as transaction:
                for refused in (lesson("m500"), lesson("m501", project="elsewhere")):
                    with refuses(BankError):
                        transaction.memories.insert_all([*entries, (refused, indexed())])
                transaction.memories.insert_all(entries)
                with refuses(MemoryNotFound):
                    transaction.memories.note_all([*said, replace(said[0], memory_id="missing")])
                transaction.memories.note_all(said)
            with other.transaction() as transaction:
                for (memory, derived), change in zip(entries, said, strict=True):
                    transaction.memories.insert(memory, derived)
                    transaction.memories.note(change)
            for each in (store, other):
                assert each.memories.page(EVERYTHING, limit=0, offset=0) == [memory for memory, _ in entries]
                assert each.memories.changes() == said
                assert [hit.id for hit in each.search.matching("word500", EVERYTHING, 9).hits] == ["m500"]
                assert each.check().problems == ()
            near = [each.search.nearest(CONTENT_LEG, vector(*NORTH), EVERYTHING, 501) for each in (store, other)]
            assert len(near[0]) == 501
            assert near[0] == near[1]

    @promise(
        "storage:refused-write",
        "A refused write changes nothing, even when the caller catches its error and the transaction goes on.",
        source="DESIGN D1",
    )
    def test_a_refused_write_changes_nothing_even_when_its_error_is_caught(self) -> None:
        """Each method checks before it writes: the rest of the transaction is committed without a trace of it."""
        other_model = Indexed(text="kiwi", model_id="another/4", vectors={CONTENT_LEG: vector(*EAST)})
        attempts: tuple[tuple[type[BankError], Memory, Indexed], ...] = (
            (InvalidInput, lesson("m1"), indexed()),
            (InvalidInput, lesson("m2"), indexed("kiwi", vector(float("nan"), 0, 0, 0))),
            (InvalidInput, lesson("m2"), indexed("kiwi", vector(0, float("inf"), 0, 0))),
            (InvalidInput, lesson("m2"), indexed("kiwi", vector(*EAST), vector(0, 0, -float("inf"), 0))),
            (ModelMismatch, lesson("m2"), indexed("kiwi", vector(1, 0, 0))),
            (ModelMismatch, lesson("m2"), indexed("kiwi", vector(*EAST), vector(1, 0, 0, 0, 0))),
            (ModelMismatch, lesson("m2"), other_model),
            (InvalidInput, lesson("m2", title="lone surrogate \ud800"), indexed()),
            (InvalidInput, lesson("m2", tags=("\udfff",)), indexed()),
            (ScopeViolation, lesson("m2", project="elsewhere"), indexed()),
        )
        with self.fresh() as store:
            fill(store, [lesson("m1")])
            for error, memory, derived in attempts:
                with store.transaction() as transaction:
                    with refuses(error):
                        transaction.memories.insert(memory, derived)
                    if memory.id == "m2":
                        with refuses(error):
                            transaction.memories.update(replace(memory, id="m1", version=2), derived, revision=True)
                assert list(store.memories.page(EVERYTHING, limit=0, offset=0)) == [lesson("m1")]
                assert list(store.memories.revisions("m1")) == []
                assert store.search.matching("kiwi", EVERYTHING, 5).hits == ()
                assert [hit.id for hit in store.search.nearest(CONTENT_LEG, vector(*EAST), EVERYTHING, 5)] == ["m1"]
            assert not store.check().problems


def _delivered(*memories: Memory) -> Recall:
    hits = tuple(Hit(memory=each, relevance=0.5, legs={"content": Leg(rank=1, score=0.5)}) for each in memories)
    return Recall(memories=hits, query="q", session="s", embedder="conformance", tokens=3, at=START)
