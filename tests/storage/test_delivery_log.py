"""A search writes a handful of statements and commits once, however many memories the bank holds or it delivers."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from promises import promise
from reasoningbank import Bank
from reasoningbank.storage import open_storage
from reasoningbank.storage.connection import ConnectionSource
from reasoningbank.storage.rows import Row, Value
from reasoningbank.testing import HashingEmbedder
from reasoningbank.types.recall import Recall
from reasoningbank.types.scope import Scope

MOST = 15
"""Statements of one search, the beginning and the end of its two transactions apart."""
MOST_AT_FIRST = 20
"""The same when a process reads the index of a bank for the first time."""
WORDS = [
    *("retry", "timeout", "postgres", "pool", "cache", "login", "token", "queue", "page", "file", "socket", "json"),
    *("yaml", "test", "build", "deploy", "merge", "branch", "commit", "lint", "type", "error", "stack", "trace"),
]
QUERY = "retry timeout postgres pool cache"


class Statements:
    """Everything that is run on a connection of a bank."""

    def __init__(self) -> None:
        self.all: list[str] = []

    def of(self, bank: Bank, session: str, limit: int) -> tuple[Recall, int, int]:
        """Returns what a search delivers, how many statements it runs, and how often it commits a write."""
        self.all.clear()
        answer = bank.search(QUERY, session=session, limit=limit)
        counted = [each for each in self.all if not each.startswith(("BEGIN", "COMMIT"))]
        return answer, len(counted), sum(each == "BEGIN IMMEDIATE" for each in self.all)


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> Iterator[Statements]:
    seen = Statements()
    run, run_each = ConnectionSource.run, ConnectionSource.run_each

    def noted(source: ConnectionSource, sql: str, values: Sequence[Value] = ()) -> Sequence[Row]:
        seen.all.append(sql)
        return run(source, sql, values)

    def each_noted(source: ConnectionSource, sql: str, rows: Sequence[Row]) -> Sequence[Row]:
        seen.all.append(sql)
        return run_each(source, sql, rows)

    monkeypatch.setattr(ConnectionSource, "run", noted)
    monkeypatch.setattr(ConnectionSource, "run_each", each_noted)
    yield seen


def filled(path: Path, size: int) -> Bank:
    """Returns a bank of that many memories, candidates of agents among them."""
    chance = random.Random(size)
    bank = Bank.open(f"sqlite:///{path}", tenant="me", project="demo", embedder=HashingEmbedder())
    for number in range(5):
        bank.experience.ingest(f"Always retry the timeout of pool {number} {' '.join(chance.sample(WORDS, 6))}.")
    for number in range(size - 5):
        bank.record(
            title=f"Strategy {number} {' '.join(chance.sample(WORDS, 3))}",
            content=f"{' '.join(chance.sample(WORDS, 8))} number {number}",
            outcome="success",
            confidence=0.6 if number % 3 == 0 else 0.8,
        )
    return bank


@promise(
    "search:delivery-log",
    "A search of any bank runs at most 15 SQL statements and one commit, what it delivered and counted included; the "
    "first search of a bank at most 20.",
    source="issue 10",
)
@pytest.mark.parametrize("size", [10, 300, 3_000])
def test_a_search_runs_few_statements_and_commits_once(statements: Statements, tmp_path: Path, size: int) -> None:
    with filled(tmp_path, size) as bank:
        answer, first, commits = statements.of(bank, "a", 10)
        assert answer.delivered and not answer.warnings
        assert first <= MOST_AT_FIRST and commits <= 2
        for session, limit in (("b", 10), ("b", 10), ("b", 100), ("c", 100), ("d", 1), ("e", 0)):
            answer, count, commits = statements.of(bank, session, limit)
            assert len(answer.memories) <= limit
            assert count <= MOST, (session, limit, statements.all)
            assert commits == 1
        bank.record(title="One more", content="retry it once more", outcome="success")
        _, count, commits = statements.of(bank, "f", 10)
        assert count <= MOST, statements.all
        assert commits == 1


@promise("search:delivery-log")
def test_every_hit_of_a_search_is_logged_and_counted_once_a_session(statements: Statements, tmp_path: Path) -> None:
    with filled(tmp_path, 300) as bank:
        first, _, _ = statements.of(bank, "a", 50)
        second, _, _ = statements.of(bank, "a", 50)
        assert len(first.memories) == 50
        for hit in first.memories:
            again = bank.get(hit.id)
            times = 1 + (hit.id in {each.id for each in second.delivered})
            assert again.usage_count == hit.memory.usage_count + times
            assert again.belief.positive > hit.memory.belief.positive
    store = open_storage(f"sqlite:///{tmp_path}", home=tmp_path).open(Scope(tenant="me", project="demo"))
    try:
        assert [len(log.entries) for log in store.deliveries.recalls(limit=2)] == [
            len(second.delivered),
            len(first.delivered),
        ]
        assert store.check().problems == ()
    finally:
        store.close()
