"""Transactions: all or nothing, seen by nobody before the end, and none lost among threads."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from promises import promise
from reasoningbank.errors import StoreClosed
from reasoningbank.storage.store import Store, Transaction
from reasoningbank.types.recall import CONTENT_LEG, Recall
from reasoningbank.types.records import Job, Link, WeightChange
from reasoningbank.types.signal import ProjectWeights
from storage.contract.base import (
    EAST,
    EVERYTHING,
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


class TransactionConformance(Conformance):
    """What a store owes to a transaction."""

    @promise(
        "storage:atomic",
        "An exception inside a transaction leaves no trace of any of its writes.",
        source="DESIGN D1",
    )
    def test_an_exception_leaves_no_trace_of_any_write(self) -> None:
        """Whatever its kind and wherever it comes, and the store works on."""
        with self.fresh() as store:
            fill(store, [(lesson("m1"), indexed("kiwi")), (lesson("m2"), indexed("kiwi"))])
            before = _everything(store)
            for error in (ValueError("stop"), KeyboardInterrupt()):
                try:
                    with store.transaction() as transaction:
                        _write_everything(transaction)
                        raise error
                except type(error):
                    assert _everything(store) == before
            with store.transaction() as transaction:
                _write_everything(transaction)
            assert _everything(store) != before

    @promise(
        "storage:isolation",
        "A transaction sees its own writes; nobody else sees them before it ends.",
        source="DESIGN D1",
    )
    def test_a_transaction_sees_its_own_writes_and_nobody_else_does(self) -> None:
        """Until it ends; then everybody does, in the same process and through another handle."""
        storage = self.storage()
        writer, reader = storage.open(SCOPE), storage.open(SCOPE)
        try:
            fill(writer, [(lesson("m1"), indexed("kiwi")), (lesson("m2"), indexed("kiwi"))])
            before = _everything(reader)
            with writer.transaction() as transaction:
                _write_everything(transaction)
                assert transaction.memories.get("m3").id == "m3"
                assert transaction.memories.get("m1").title == "Changed"
                assert transaction.memories.count(EVERYTHING) == 2
                assert [memory.id for memory in transaction.memories.page(EVERYTHING, limit=0, offset=0)] == [
                    "m1",
                    "m3",
                ]
                assert len(transaction.evidence.signals("m1")) == 1
                assert transaction.evidence.aggregate("m1").usage_positive == 1
                assert transaction.evidence.weights().usage_alpha == 6.0
                assert len(transaction.memories.revisions("m1")) == 1
                assert len(transaction.memories.links("m1")) == 1
                assert list(transaction.memories.same_text(lesson("m3").fingerprint)) == ["m3"]
                assert _everything(reader) == before
                assert _everything(writer) == before
            assert _everything(reader) == _everything(writer) != before
            assert [hit.id for hit in reader.search.nearest(CONTENT_LEG, vector(*EAST), EVERYTHING, 9)] == ["m1", "m3"]
        finally:
            reader.close()
            writer.close()

    @promise(
        "storage:transaction-ends",
        "A transaction cannot be used after its end, so no write escapes the lock.",
        source="DESIGN D2",
    )
    def test_a_transaction_cannot_be_used_after_its_end(self) -> None:
        """A write that belongs to no transaction would be neither atomic nor locked."""
        with self.fresh() as store:
            with store.transaction() as transaction:
                pass
            with refuses(StoreClosed):
                transaction.memories.insert(lesson("m1"), indexed())
            with refuses(StoreClosed):
                transaction.memories.count(EVERYTHING)
            assert store.memories.count(EVERYTHING) == 0

    @promise(
        "storage:threads",
        "No write of eight threads is lost and a shared count misses none.",
        source="issue 2 Bank thread-safe",
    )
    def test_no_write_of_eight_threads_is_lost(self) -> None:
        """Each thread stores, counts up and reads; all 200 memories and 200 steps of the shared count are there."""
        failures: list[BaseException] = []
        with self.fresh() as store:
            fill(store, [lesson("shared")])

            def work(worker: int) -> None:
                try:
                    for number in range(25):
                        with store.transaction() as transaction:
                            transaction.memories.insert(lesson(f"w{worker}-{number}"), indexed("kiwi"))
                            shared = transaction.memories.get("shared")
                            transaction.memories.update(replace(shared, usage_count=shared.usage_count + 1))
                        assert store.memories.get(f"w{worker}-{number}").id == f"w{worker}-{number}"
                        known = store.memories.count(EVERYTHING)
                        assert len(store.search.nearest(CONTENT_LEG, vector(*EAST), EVERYTHING, 3)) >= min(3, known)
                except BaseException as error:  # noqa: BLE001 - handed to the test's own thread
                    failures.append(error)

            threads = [threading.Thread(target=work, args=(worker,)) for worker in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert failures == []
            assert store.memories.get("shared").usage_count == 200
            assert store.memories.count(EVERYTHING) == 201
            assert len(store.search.nearest(CONTENT_LEG, vector(*EAST), EVERYTHING, 999)) == 201
            assert len(store.search.matching("kiwi", EVERYTHING, 999).hits) == 200

    @promise(
        "storage:closed",
        "A closed store raises StoreClosed from every method; closing twice is fine.",
        source="issue 2 Bank",
    )
    def test_a_closed_store_says_so_and_closing_twice_is_fine(self) -> None:
        """Every method raises StoreClosed; other stores of the same scope go on."""
        storage = self.storage()
        store, other = storage.open(SCOPE), storage.open(SCOPE)
        fill(store, [lesson("m1")])
        store.close()
        store.close()
        unreachable = Path("never-written")
        for call in (
            lambda: store.memories.get("m1"),
            lambda: store.memories.page(EVERYTHING, limit=1, offset=0),
            lambda: store.memories.count(EVERYTHING),
            lambda: store.evidence.signals("m1"),
            lambda: store.evidence.weights(),
            lambda: store.search.nearest(CONTENT_LEG, vector(*EAST), EVERYTHING, 1),
            lambda: store.search.similarities(CONTENT_LEG, vector(*EAST), ["m1"]),
            lambda: store.search.matching("kiwi", EVERYTHING, 1),
            lambda: store.search.vector(CONTENT_LEG, "m1"),
            lambda: store.jobs.waiting(due=START),
            lambda: store.deliveries.recalls(limit=1),
            lambda: store.check(),
            lambda: store.backup(unreachable),
            lambda: store.transaction().__enter__(),
            lambda: store.model_id,
        ):
            with refuses(StoreClosed):
                call()
        assert store.scope == SCOPE
        assert not unreachable.exists()
        assert other.memories.get("m1") == lesson("m1")
        other.close()


def _write_everything(transaction: Transaction) -> None:
    """One write of every kind on a store that holds m1 and m2."""
    transaction.memories.insert(lesson("m3"), indexed("lamp"))
    transaction.memories.update(
        replace(transaction.memories.get("m1"), title="Changed", version=2), indexed("zebra"), revision=True
    )
    transaction.evidence.add_signal(signal("m1", day=-40), once=True)
    transaction.evidence.roll_up(START - timedelta(days=30), START)
    transaction.evidence.add_signal(signal("m1", session="s2"))
    transaction.evidence.set_aggregate(
        replace(transaction.evidence.aggregate("m3"), usage_negative=1, positive=0, negative=5, last_rollup=START)
    )
    transaction.evidence.set_weights(
        WeightChange(at=START, weights=ProjectWeights(project=SCOPE.project, usage_alpha=6.0), signal_id="s")
    )
    transaction.deliveries.log_recall(Recall(query="kiwi", at=START))
    transaction.memories.link(Link(source="m1", target="m3", kind="merged"))
    transaction.jobs.enqueue(Job(kind="distil", key="k", due=START))
    transaction.memories.delete("m2")


def _everything(store: Store) -> tuple[object, ...]:
    """All that can be read."""
    memories = list(store.memories.page(EVERYTHING, limit=0, offset=0))
    ids = ["m1", "m2", "m3"]
    return (
        memories,
        [
            (
                list(store.evidence.signals(m)),
                store.evidence.aggregate(m),
                list(store.memories.revisions(m)),
                list(store.memories.links(m)),
            )
            for m in ids
        ],
        [hit.id for hit in store.search.nearest(CONTENT_LEG, vector(*EAST), EVERYTHING, 99)],
        [[hit.id for hit in store.search.matching(word, EVERYTHING, 99).hits] for word in ("kiwi", "lamp", "zebra")],
        store.evidence.weights(),
        list(store.evidence.weight_history()),
        list(store.deliveries.recalls(limit=0)),
        list(store.jobs.waiting(due=START)),
        store.model_id,
        store.words_worth,
    )
