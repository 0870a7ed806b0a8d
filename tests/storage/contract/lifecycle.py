"""What a store knows of memories that are not active, and of evidence that brings its own weight."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from promises import promise
from reasoningbank.errors import InvalidInput
from reasoningbank.types.memory import PRUNED, Cause
from reasoningbank.types.signal import COUNTERS, SignalAggregate, replay
from storage.contract.base import SCOPE, START, Conformance, fill, lesson, refuses, signal

CUTOFF = START - timedelta(days=30)
NOW = START + timedelta(days=100)


class LifecycleConformance(Conformance):
    """Idle memories, and rolled-up stability and disuse."""

    @promise(
        "storage:idle",
        "A store finds what was not active since a time, in pages, with the time of its last activity, before and "
        "after a roll-up.",
        source="issue 4",
    )
    def test_idle_memories_are_those_without_any_later_activity(self) -> None:
        """Use, edits, every signal but disuse and changes of state are activity; the edge belongs to the idle."""
        with self.fresh() as store:
            fill(
                store,
                [
                    lesson("m0", provenance={"source": "api"}),
                    lesson("m1", last_used=START + timedelta(days=5)),
                    lesson("m2", updated_at=START + timedelta(days=6)),
                    lesson("m3"),
                    lesson("m4", state="candidate"),
                    lesson("m5", state="archived"),
                    lesson("m6", state="quarantined"),
                    lesson("m7"),
                ],
            )
            with store.transaction() as transaction:
                transaction.evidence.add_signal(signal("m3", "outcome", positive=False, day=7))
                transaction.evidence.add_signal(signal("m4", "disuse", positive=False, day=8))
                transaction.evidence.add_signal(signal("m4", "disuse", positive=False, day=7, session="other"))
                cause = Cause(at=START + timedelta(days=9), kind=PRUNED)
                transaction.memories.update(lesson("m7", state="archived"), cause=cause)
                transaction.memories.update(lesson("m7"), cause=replace(cause, at=START + timedelta(days=10)))
            found = store.evidence.idle(NOW)
            assert [(each.id, each.active, each.disused) for each in found] == [
                ("m0", START, None),
                ("m1", START + timedelta(days=5), None),
                ("m2", START + timedelta(days=6), None),
                ("m3", START + timedelta(days=7), None),
                ("m4", START + timedelta(seconds=4), START + timedelta(days=8)),
                ("m7", START + timedelta(days=10), None),
            ]
            assert dict(found[0].provenance) == {"source": "api"}
            assert found[0].belief == lesson("m0").belief
            for day, idle in ((10, "m0 m1 m2 m3 m4 m7"), (7, "m0 m1 m2 m3 m4"), (6.9, "m0 m1 m2 m4"), (5, "m0 m1 m4")):
                assert [each.id for each in store.evidence.idle(START + timedelta(days=day))] == idle.split()
            assert store.evidence.idle(START - timedelta(microseconds=1)) == []

    @promise("storage:idle")
    def test_idle_memories_come_in_pages_and_below_a_confidence(self) -> None:
        """In the order they were stored; the page after a memory that is gone begins anew; writes are seen."""
        with self.fresh() as store:
            fill(store, [lesson(f"m{number}") for number in range(5)])
            with store.transaction() as transaction:
                low = lesson("m3")
                transaction.memories.update(
                    replace(low, belief=low.belief.with_evidence(positive=False, weight=4_000_000_000))
                )
                assert [each.id for each in transaction.evidence.idle(NOW, below=0.3)] == ["m3"]
                assert [each.id for each in transaction.evidence.idle(NOW, below=lesson("m3").confidence)] == ["m3"]
            assert [each.id for each in store.evidence.idle(NOW, limit=2)] == ["m0", "m1"]
            assert [each.id for each in store.evidence.idle(NOW, after="m1", limit=2)] == ["m2", "m3"]
            assert [each.id for each in store.evidence.idle(NOW, after="m4")] == []
            assert [each.id for each in store.evidence.idle(NOW, after="gone", limit=1)] == ["m0"]

    @promise("storage:idle")
    @promise("storage:roll-up")
    def test_a_roll_up_keeps_counts_evidence_and_when_a_memory_was_active(self) -> None:
        """The new types are counted by themselves, and idleness is the same before and after."""
        with self.fresh() as store:
            born = START - timedelta(days=300)
            fill(store, [lesson(f"m{number}", created_at=born, updated_at=born) for number in (1, 2)])
            with store.transaction() as transaction:
                for number in range(3):
                    transaction.evidence.add_signal(
                        signal("m1", "disuse", positive=False, session="", day=-100 + number, weight=7)
                    )
                transaction.evidence.add_signal(signal("m1", "stability", session="abc", day=-120, weight=11))
                transaction.evidence.add_signal(
                    signal("m1", "stability", session="abc", positive=False, day=-119, weight=13)
                )
                transaction.evidence.add_signal(signal("m2", "disuse", positive=False, day=-50, weight=3))
            before = store.evidence.idle(NOW)
            evidence = replay(
                0.8, store.evidence.aggregate("m1"), store.evidence.signals("m1"), store.evidence.weights()
            )
            with store.transaction() as transaction:
                assert transaction.evidence.roll_up(CUTOFF, START) == 6
            assert store.evidence.idle(NOW) == before
            assert before[0].active == START - timedelta(days=119)
            assert before[0].disused == START - timedelta(days=98)
            assert (
                replay(0.8, store.evidence.aggregate("m1"), store.evidence.signals("m1"), store.evidence.weights())
                == evidence
            )
            rolled = store.evidence.aggregate("m1")
            assert [getattr(rolled, name) for name in COUNTERS] == [0, 0, 0, 0, 0, 0, 1, 1, 3]
            assert (rolled.last_activity, rolled.last_disuse) == (before[0].active, before[0].disused)
            assert (store.evidence.aggregate("m2").last_activity, before[1].active) == (None, born)
            with store.transaction() as transaction:
                transaction.evidence.add_signal(signal("m1", "disuse", positive=False, day=-80, weight=2))
                transaction.evidence.add_signal(signal("m2", "usage", day=-70, weight=2))
                assert transaction.evidence.roll_up(CUTOFF, START) == 2
            assert store.evidence.aggregate("m1").last_activity == before[0].active
            assert store.evidence.aggregate("m1").last_disuse == START - timedelta(days=80)
            assert store.evidence.aggregate("m2").last_activity == START - timedelta(days=70)

    @promise("storage:idle")
    def test_counts_of_an_earlier_version_were_active_as_late_as_can_be(self) -> None:
        """They do not say when: thirty days before they were rolled up at the latest."""
        with self.fresh() as store:
            born = START - timedelta(days=300)
            fill(store, [lesson("m1", created_at=born, updated_at=born)])
            old = SignalAggregate(
                memory_id="m1",
                project=SCOPE.project,
                explicit_positive=1,
                positive=5,
                negative=0,
                last_rollup=START,
            )
            with store.transaction() as transaction:
                transaction.evidence.set_aggregate(old)
            assert [each.active for each in store.evidence.idle(NOW)] == [CUTOFF]
            assert store.evidence.idle(CUTOFF - timedelta(days=1)) == []

    @promise("storage:idle")
    def test_a_month_without_use_never_speaks_for_a_memory(self) -> None:
        """And evidence that no project learns the weight of brings its own."""
        with refuses(InvalidInput):
            signal("m1", "disuse", positive=True)
        with refuses(InvalidInput):
            signal("m1", "stability", weight=None)
