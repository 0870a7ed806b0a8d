"""Evidence and what was delivered: signals, counts, weights, recalls, links and jobs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from promises import promise
from reasoningbank.errors import InvalidInput
from reasoningbank.storage.store import Transaction
from reasoningbank.types.recall import Hit, Leg, Recall
from reasoningbank.types.records import Job, Link, WeightChange
from reasoningbank.types.signal import SIGNAL_TYPES, ProjectWeights, SignalAggregate, replay
from storage.contract.base import SCOPE, START, Conformance, fill, lesson, refuses, signal

CUTOFF = START - timedelta(days=30)


class EvidenceConformance(Conformance):
    """What a store owes to evidence."""

    @promise(
        "storage:signals",
        "Signals come back whole, oldest first, strictly newer than asked; none without weight, none twice.",
        source="seed 004 SignalStore",
    )
    def test_signals_come_back_oldest_first_and_strictly_newer_than_asked(self) -> None:
        """Every field, whatever the order of storing."""
        stored = [
            signal("m1", "outcome", positive=False, session="", day=2, weight=0),
            signal("m1", "explicit", session="sé ssion", day=-3, weight=411_764_706, rater="human"),
            signal("m1", "usage", day=0, weight=2**61),
            signal("m2", "usage", day=1),
        ]
        with self.fresh() as store:
            fill(store, [lesson("m1"), lesson("m2")])
            with store.transaction() as transaction:
                assert [transaction.evidence.add_signal(each) for each in stored] == [True] * 4
            assert list(store.evidence.signals("m1")) == [stored[1], stored[2], stored[0]]
            assert list(store.evidence.signals("m1", since=START)) == [stored[0]]
            assert list(store.evidence.signals("m1", since=START - timedelta(microseconds=1))) == [stored[2], stored[0]]
            assert list(store.evidence.signals("m2")) == [stored[3]]

    @promise(
        "storage:mark",
        "Whatever is written of evidence, deliveries or weights gives a bank another mark; reading does not.",
        source="issue Metrics",
    )
    def test_every_write_of_evidence_gives_the_store_another_mark(self) -> None:
        """What is kept of a bank's numbers is counted again when the mark is another one."""
        weights = ProjectWeights(project=SCOPE.project, usage_alpha=6.0)
        rated = signal("m1", "explicit", session="s1", day=-40)
        aggregate = SignalAggregate(
            memory_id="m2", project=SCOPE.project, explicit_positive=1, positive=5, negative=0, last_rollup=START
        )
        with self.fresh() as store:
            fill(store, [lesson("m1"), lesson("m2")])
            writes: list[Callable[[Transaction], object]] = [
                lambda t: t.evidence.add_signal(rated, once=True),
                lambda t: t.evidence.add_signals([signal("m1", "outcome", session="s2"), signal("m1", session="s3")]),
                lambda t: t.evidence.set_weights(WeightChange(at=START, weights=weights, signal_id=rated.id)),
                lambda t: t.evidence.roll_up(CUTOFF, START),
                lambda t: t.evidence.set_aggregate(aggregate),
                lambda t: t.evidence.roll_up_sessions(["s2"], START),
                lambda t: t.deliveries.log_recall(Recall(query="q", session="s", embedder="e")),
                lambda t: t.evidence.take_back("m1", t.evidence.given("m1", "explicit", "s1") or pytest.fail("none")),
                lambda t: t.evidence.remove_signal(t.evidence.signals("m1")[0]),
                lambda t: t.memories.delete("m1"),
            ]
            seen = {store.mark}
            for number, write in enumerate(writes, start=2):
                with store.transaction() as transaction:
                    write(transaction)
                seen.add(store.mark)
                store.evidence.signals("m2")
                assert (len(seen), store.mark in seen) == (number, True)

    @promise("storage:signals")
    def test_what_was_rated_is_read_at_once_without_copies_and_imports(self) -> None:
        """The order is that of the evidence; every kind of it moves confidence, but only ratings here are ratings."""
        given = [
            signal("m1", "explicit", session="a", day=1, weight=5),
            signal("m1", "usage", session="b", day=2, weight=7),
            replace(signal("m1", "explicit", session="c", day=3, weight=9), rater="imported", positive=False),
            replace(signal("m1", "explicit", session="d", day=4, weight=11), id="m1/copy"),
            signal("m2", "usage", session="e", day=5),
        ]
        with self.fresh() as store:
            fill(store, [lesson("m1"), lesson("m2")])
            with store.transaction() as transaction:
                transaction.evidence.add_signals(given)
            assert [(each.id, each.rolled, each.consolidated) for each in store.evidence.rated()] == [("m1", 0, False)]
            assert [row[:3] + row[4:] for row in store.evidence.said_of_rated()] == [
                ("m1", 1, 1, 5),
                ("m1", 0, 1, 7),
                ("m1", 0, 0, 9),
                ("m1", 0, 1, 11),
            ]

    @promise("storage:signals")
    def test_a_signal_without_weight_or_with_a_used_id_is_refused(self) -> None:
        """Evidence carries the weight of its time; the same piece of evidence is not stored twice."""
        with self.fresh() as store:
            fill(store, [lesson("m1"), lesson("m2")])
            first = signal("m1")
            with store.transaction() as transaction:
                transaction.evidence.add_signal(first)
                with refuses(InvalidInput):
                    transaction.evidence.add_signal(signal("m1", weight=None))
                with refuses(InvalidInput):
                    transaction.evidence.add_signal(replace(first, positive=False))
                with refuses(InvalidInput):
                    transaction.evidence.add_signal(replace(first, memory_id="m2", session="s9"), once=True)
                assert transaction.evidence.add_signal(signal("m2", session="s9"), once=True)
            assert list(store.evidence.signals("m1")) == [first]

    @promise(
        "storage:once",
        "Evidence counts once per memory, type and session, also after it was rolled up.",
        source="DESIGN D5",
    )
    def test_evidence_counts_once_per_memory_type_and_session(self) -> None:
        """Also after it was rolled up; other sessions, types and memories count for themselves."""
        with self.fresh() as store:
            fill(store, [lesson("m1"), lesson("m2")])
            with store.transaction() as transaction:
                assert transaction.evidence.add_signal(signal("m1", day=-40), once=True)
                assert not transaction.evidence.add_signal(signal("m1"), once=True)
                assert not transaction.evidence.add_signal(signal("m1", positive=False), once=True)
                assert transaction.evidence.add_signal(signal("m1", session="s2"), once=True)
                assert transaction.evidence.add_signal(signal("m1", session="S1"), once=True)
                assert transaction.evidence.add_signal(signal("m1", "outcome"), once=True)
                assert transaction.evidence.add_signal(signal("m2"), once=True)
                assert transaction.evidence.add_signal(signal("m1"))
            with store.transaction() as transaction:
                assert transaction.evidence.roll_up(CUTOFF, START) == 1
                assert not transaction.evidence.add_signal(signal("m1"), once=True)
            assert len(store.evidence.signals("m1")) == 4
            assert store.evidence.counted("m1", "usage", "s1")
            assert not store.evidence.counted("m1", "usage", "s3")
            assert not store.evidence.counted("m1", "explicit", "s1")
            assert not store.evidence.counted("nobody", "usage", "s1")

    @promise(
        "storage:roll-up",
        "A roll-up moves what is older than the cutoff and conserves all evidence to the billionth.",
        source="seed 000 FR-005c; DESIGN D4",
    )
    @promise("contextd:40")
    def test_a_roll_up_moves_what_is_older_and_conserves_all_evidence(self) -> None:
        """To the billionth; what lies at the cutoff or after stays; a second one adds to the first."""
        with self.fresh() as store:
            fill(store, [lesson("m1"), lesson("m2")])
            with store.transaction() as transaction:
                for number in range(60):
                    transaction.evidence.add_signal(
                        signal(
                            "m1" if number % 5 else "m2",
                            SIGNAL_TYPES[number % 3],
                            positive=number % 4 != 0,
                            session=f"s{number}",
                            day=-59.0 + number,
                            weight=100_000_000 + number * 7_654_321,
                        )
                    )
                transaction.evidence.add_signal(replace(signal("m1"), at=CUTOFF))

            def evidence() -> list[tuple[int, int]]:
                beliefs = [
                    replay(0.8, store.evidence.aggregate(m), store.evidence.signals(m), store.evidence.weights())
                    for m in ("m1", "m2")
                ]
                return [(belief.positive, belief.negative) for belief in beliefs]

            before = evidence()
            with store.transaction() as transaction:
                assert transaction.evidence.roll_up(CUTOFF, START) == 29
            assert evidence() == before
            assert all(each.at >= CUTOFF for each in store.evidence.signals("m1"))
            first = store.evidence.aggregate("m1")
            assert first.last_rollup == START
            assert sum(first.count(kind, positive=side) for kind in SIGNAL_TYPES for side in (True, False)) == 23
            with store.transaction() as transaction:
                assert transaction.evidence.roll_up(CUTOFF, START + timedelta(days=1)) == 0
                assert transaction.evidence.roll_up(START + timedelta(days=9), START + timedelta(days=9)) == 32
            assert evidence() == before
            assert list(store.evidence.signals("m1")) == []
            assert store.evidence.aggregate("m1").last_rollup == START + timedelta(days=9)

    @promise(
        "storage:aggregates",
        "Counts are zero until something was rolled up or imported, and are replaced as a whole.",
        source="seed 004 StoreAggregate, GetAggregate",
    )
    def test_counts_are_zero_until_something_was_rolled_up_or_brought_along(self) -> None:
        """An import sets them as a whole, with the evidence they carry and their time."""
        brought = SignalAggregate(
            memory_id="m1",
            project=SCOPE.project,
            explicit_positive=1,
            explicit_negative=2,
            usage_positive=3,
            usage_negative=4,
            outcome_positive=5,
            outcome_negative=6,
            positive=7_000_000_001,
            negative=8,
            last_rollup=START,
        )
        with self.fresh() as store:
            fill(store, [lesson("m1")])
            empty = SignalAggregate(memory_id="m1", project=SCOPE.project, positive=0, negative=0)
            assert store.evidence.aggregate("m1") == empty
            with store.transaction() as transaction:
                for missing in ("positive", "negative", "last_rollup"):
                    with refuses(InvalidInput):
                        transaction.evidence.set_aggregate(replace(brought, **{missing: None}))  # type: ignore[arg-type]
                assert transaction.evidence.aggregate("m1") == empty
                transaction.evidence.set_aggregate(brought)
                transaction.evidence.set_aggregate(replace(brought, usage_positive=30))
            assert store.evidence.aggregate("m1") == replace(brought, usage_positive=30)
            with store.transaction() as transaction:
                transaction.evidence.add_signal(signal("m1", day=-40, weight=5))
                transaction.evidence.roll_up(CUTOFF, START + timedelta(days=1))
            assert store.evidence.aggregate("m1") == replace(
                brought,
                usage_positive=31,
                positive=7_000_000_006,
                last_rollup=START + timedelta(days=1),
                last_activity=START - timedelta(days=40),
            )

    @promise(
        "storage:check",
        "A check names every memory whose confidence does not follow from its evidence, and nothing else.",
        source="issue 2 doctor",
    )
    def test_a_check_reports_a_belief_that_does_not_follow_from_its_evidence(self) -> None:
        """And nothing when everything is in order."""
        with self.fresh() as store:
            fill(store, [lesson("m1"), lesson("m2")])
            rating = signal("m1", weight=7, day=-40)
            with store.transaction() as transaction:
                transaction.evidence.add_signal(rating)
                believed = lesson("m1").belief.with_evidence(positive=True, weight=7)
                transaction.memories.update(replace(lesson("m1"), belief=believed))
            assert store.check().problems == ()
            with store.transaction() as transaction:
                transaction.evidence.roll_up(CUTOFF, START)
            assert store.check().problems == ()
            with store.transaction() as transaction:
                transaction.evidence.add_signal(signal("m2"))
            report = store.check()
            assert len(report.problems) == 1
            assert "m2" in report.problems[0]
            assert report.engine
            assert report.location
            assert all(size >= 0 for size in report.sizes.values())

    @promise(
        "storage:weights",
        "Weights start at the priors; every change is kept with its time and cause.",
        source="seed 004 StoreProjectWeights; issue 2 Confidence",
    )
    def test_weights_start_at_the_priors_and_keep_their_history(self) -> None:
        """Every change with its time and the rating that caused it."""
        with self.fresh() as store:
            assert store.evidence.weights() == ProjectWeights(project=SCOPE.project)
            assert list(store.evidence.weight_history()) == []
            changes = [
                WeightChange(
                    at=START + timedelta(seconds=number),
                    weights=ProjectWeights(project=SCOPE.project, usage_alpha=6.0 + number, outcome_beta=5.1),
                    signal_id=f"signal {number}",
                )
                for number in (2, 1, 3)
            ]
            with store.transaction() as transaction:
                for change in changes:
                    transaction.evidence.set_weights(change)
                    assert transaction.evidence.weights() == change.weights
            assert store.evidence.weights() == changes[-1].weights
            assert list(store.evidence.weight_history()) == changes
            assert list(store.evidence.weight_history(since=changes[-1].at)) == changes[-1:]
            assert list(store.evidence.weight_history(since=changes[0].at - timedelta(seconds=1))) == changes

    @promise(
        "storage:recalls",
        "What a search delivered is read back newest first with ranks, relevance, legs and tokens.",
        source="issue 2 Recall",
    )
    def test_what_was_delivered_is_read_back_newest_first(self) -> None:
        """Items in order with rank, relevance and every leg; proven before unproven."""
        with self.fresh() as store:
            fill(store, [lesson(f"m{number}") for number in range(3)])
            hits = [
                Hit(
                    memory=lesson(f"m{number}"),
                    relevance=1.0 / (number + 3),
                    legs={"content": Leg(rank=number + 1, score=0.1 * number), "lexical": Leg(rank=9, score=12.75)},
                    unproven=number == 2,
                )
                for number in range(3)
            ]
            full = Recall(
                memories=(hits[1], hits[0]),
                unproven=(hits[2],),
                query="wie geht\u2019s \U0001f50d",
                session="s1",
                embedder="conformance",
                tokens=99,
                at=START,
            )
            empty = Recall(query="nothing", at=START - timedelta(days=1))
            with store.transaction() as transaction:
                transaction.deliveries.log_recall(full)
                transaction.deliveries.log_recall(empty)
                with refuses(InvalidInput):
                    transaction.deliveries.log_recall(full)
            assert [log.id for log in store.deliveries.recalls(limit=0)] == [empty.id, full.id]
            assert [log.id for log in store.deliveries.recalls(limit=1)] == [empty.id]
            assert [log.id for log in store.deliveries.recalls(limit=0, session="s1")] == [full.id]
            assert [log.id for log in store.deliveries.recalls(limit=0, session="")] == [empty.id]
            assert store.deliveries.recalls(limit=0, session="s2") == []
            log = store.deliveries.recalls(limit=5)[1]
            assert (log.query, log.session, log.embedder, log.tokens) == (full.query, "s1", "conformance", 99)
            assert log.at == START
            assert [(e.memory_id, e.rank, e.unproven) for e in log.entries] == [
                ("m1", 1, False),
                ("m0", 2, False),
                ("m2", 3, True),
            ]
            assert [entry.relevance for entry in log.entries] == [0.25, 1.0 / 3, 0.2]
            assert [dict(entry.legs) for entry in log.entries] == [dict(hit.legs) for hit in full.delivered]

    @promise(
        "storage:links",
        "A relation between memories is stored once and seen from both ends.",
        source="issue 2 Store",
    )
    def test_a_relation_is_stored_once_and_seen_from_both_ends(self) -> None:
        """Direction and kind make it another relation."""
        with self.fresh() as store:
            fill(store, [lesson("m1"), lesson("m2"), lesson("m3")])
            links = [
                Link(source="m1", target="m2", kind="merged"),
                Link(source="m1", target="m2", kind="supports"),
                Link(source="m2", target="m1", kind="merged"),
            ]
            with store.transaction() as transaction:
                for link in (*links, links[0]):
                    transaction.memories.link(link)
            assert list(store.memories.links("m1")) == links
            assert list(store.memories.links("m2")) == links
            assert list(store.memories.links("m3")) == []

    @promise(
        "storage:jobs",
        "A job waits once per kind and key, is due in order, and ends when it is finished.",
        source="DESIGN section 2 Job",
    )
    def test_jobs_wait_once_are_due_in_order_and_end(self) -> None:
        """A second job of the same kind and key is not stored; a finished one may come again."""
        jobs = [
            Job(kind="distil", key="b", due=START, payload={"path": "ä/b", "n": "1"}, attempts=2),
            Job(kind="distil", key="a", due=START + timedelta(microseconds=1)),
            Job(kind="decay", key="b", due=START - timedelta(days=1)),
        ]
        with self.fresh() as store:
            with store.transaction() as transaction:
                assert [transaction.jobs.enqueue(job) for job in jobs] == [True] * 3
                assert not transaction.jobs.enqueue(replace(jobs[0], due=START - timedelta(days=9), payload={}))
            assert list(store.jobs.waiting(due=START)) == [jobs[2], jobs[0]]
            assert list(store.jobs.waiting(due=START + timedelta(days=1))) == [jobs[2], jobs[0], jobs[1]]
            assert list(store.jobs.waiting(due=START - timedelta(days=2))) == []
            with store.transaction() as transaction:
                transaction.jobs.finish(jobs[0])
                transaction.jobs.finish(jobs[0])
                transaction.jobs.finish(Job(kind="never", key="heard", due=START))
            assert list(store.jobs.waiting(due=START)) == [jobs[2]]
            with store.transaction() as transaction:
                assert transaction.jobs.enqueue(jobs[0])
            assert list(store.jobs.waiting(due=START)) == [jobs[2], jobs[0]]
