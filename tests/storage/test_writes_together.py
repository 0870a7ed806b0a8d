"""Writes of several threads that wait for each other share a transaction, and each stands for itself."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic, sleep

import pytest

from opened_banks import OpenBank
from promises import promise
from reasoningbank.errors import MemoryNotFound
from reasoningbank.storage import open_storage
from reasoningbank.storage.store import Transaction
from reasoningbank.types.recall import Recall
from reasoningbank.types.scope import Scope

TOGETHER = 12


def logging(number: int) -> Callable[[Transaction], None]:
    """A write that logs a search."""
    answer = Recall(query=f"query {number}", session="s", embedder="e", at=datetime(2026, 11, 23, tzinfo=UTC))
    return lambda transaction: transaction.deliveries.log_recall(answer)


def failing(transaction: Transaction) -> None:
    """A write that begins and cannot be ended."""
    logging(1_000)(transaction)
    raise MemoryNotFound("no such memory")


@promise(
    "search:log-together",
    "Searches that run at the same time log what they delivered in one transaction; each is durable when it returns.",
    source="issue 13",
)
def test_writes_that_wait_share_a_transaction_and_fail_alone(tmp_path: Path) -> None:
    store = open_storage(None, home=tmp_path).open(Scope(tenant="acme", project="shop"))
    begun, go_on = threading.Event(), threading.Event()
    seen: list[int] = []

    def first(transaction: Transaction) -> None:
        begun.set()
        assert go_on.wait(30)
        logging(0)(transaction)

    def counted(number: int) -> Callable[[Transaction], None]:
        def write(transaction: Transaction) -> None:
            logging(number)(transaction)
            seen.append(id(transaction))

        return write

    with ThreadPoolExecutor(TOGETHER + 2) as threads:
        leading = threads.submit(store.write_together, first)
        assert begun.wait(30)
        writes: list[Future[None]] = [threads.submit(store.write_together, counted(n)) for n in range(1, TOGETHER)]
        deadline = monotonic() + 30
        while len(store._together._waiting) < TOGETHER - 1:
            assert monotonic() < deadline
            sleep(0.01)
        go_on.set()
        leading.result(30)
        for write in writes:
            write.result(30)
        assert len(set(seen)) == 1
        mixed = [threads.submit(store.write_together, each) for each in (logging(100), failing, logging(101))]
        mixed[0].result(30)
        with pytest.raises(MemoryNotFound):
            mixed[1].result(30)
        mixed[2].result(30)
    logged = {log.query for log in store.deliveries.recalls(limit=0)}
    assert logged == {f"query {number}" for number in (*range(TOGETHER), 100, 101)}
    assert not store.check().problems
    store.close()


@promise("search:log-together")
def test_searches_of_many_threads_are_all_logged_and_counted(open_bank: OpenBank) -> None:
    bank = open_bank()
    memory = bank.record(title="Retry the pool", content="Retry when the pool times out.", outcome="success")
    with ThreadPoolExecutor(16) as threads:
        found = list(threads.map(lambda n: bank.search("retry the pool", session=f"s{n}"), range(48)))
    assert all(memory.id in [hit.id for hit in answer.delivered] and not answer.warnings for answer in found)
    assert bank.get(memory.id).usage_count == 48
