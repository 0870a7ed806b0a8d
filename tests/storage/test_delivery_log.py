"""A search writes a handful of statements and commits once, however many memories the bank holds or it delivers."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import apsw
import pytest

from promises import promise
from reasoningbank import Bank
from reasoningbank.search.search import By
from reasoningbank.storage import open_storage
from reasoningbank.testing import HashingEmbedder
from reasoningbank.types.recall import Recall
from reasoningbank.types.scope import Scope

MOST = 15
"""Statements of one search, the beginning and the end of its two transactions apart."""
WORDS = [
    *("retry", "timeout", "postgres", "pool", "cache", "login", "token", "queue", "page", "file", "socket", "json"),
    *("yaml", "test", "build", "deploy", "merge", "branch", "commit", "lint", "type", "error", "stack", "trace"),
]
QUERY = "retry timeout postgres pool cache"


class Statements:
    """Every statement that SQLite runs on any connection, a row of values being a run of its own."""

    def __init__(self) -> None:
        self.all: list[str] = []

    def watch(self, connection: apsw.Connection) -> None:
        """Listens to a connection; what a statement runs inside of SQLite is a part of it."""
        connection.trace_v2(apsw.SQLITE_TRACE_STMT, self._note, id=id(self))

    def _note(self, event: Mapping[str, Any]) -> None:
        if not event["trigger"]:
            self.all.append(event["sql"])

    def of(self, bank: Bank, session: str | None, limit: int = 10, by: By = "memory") -> tuple[Recall, int, int]:
        """Returns what a search delivers, how many statements it runs, and how often it commits a write."""
        self.all.clear()
        answer = bank.search(QUERY, session=session, limit=limit, by=by)
        return answer, len(self.counted()), sum(each == "BEGIN IMMEDIATE" for each in self.all)

    def counted(self) -> list[str]:
        """Returns what was run, without the beginnings and ends of transactions."""
        return [each for each in self.all if not each.startswith(("BEGIN", "COMMIT"))]


@pytest.fixture
def statements() -> Iterator[Statements]:
    seen = Statements()
    apsw.connection_hooks.append(seen.watch)
    yield seen
    apsw.connection_hooks.remove(seen.watch)


def opened(path: Path) -> Bank:
    """Returns the bank of a folder."""
    return Bank.open(f"sqlite:///{path}", tenant="me", project="demo", embedder=HashingEmbedder())


def filled(path: Path, size: int) -> Bank:
    """Returns a bank of that many memories, candidates of agents among them."""
    chance = random.Random(size)
    bank = opened(path)
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
    "A search of any bank runs at most 15 SQL statements and one commit, what it delivered and counted included: "
    "also the first of a process, and after another process has written.",
    source="issue 10",
)
@pytest.mark.parametrize("size", [10, 300, 1_500])
def test_a_search_runs_few_statements_and_commits_once(statements: Statements, tmp_path: Path, size: int) -> None:
    def check(session: str | None, limit: int = 10, by: By = "memory") -> Recall:
        answer, count, commits = statements.of(bank, session, limit, by)
        assert count <= MOST, (session, limit, by, statements.counted())
        assert commits == 1
        assert len(answer.memories) <= limit or by == "experience"
        return answer

    with filled(tmp_path, size) as bank:
        answer = check("a")
        assert answer.delivered and not answer.warnings
        for session, limit in (("b", 10), ("b", 10), ("b", 100), ("c", 100), ("d", 1), ("e", 0), (None, 10)):
            check(session, limit)
        bank.record(title="One more", content="retry it once more", outcome="success")
        check("f")
        with opened(tmp_path) as other:
            other.record(title="Two more", content="retry it twice more", outcome="success")
            other.search(QUERY, session="g")
        check("h")
    for session, by in (("i", "memory"), ("j", "memory"), ("k", "experience")):
        with opened(tmp_path) as bank:
            check(session, by="experience" if by == "experience" else "memory")


@promise("search:delivery-log")
def test_a_search_of_many_memories_of_one_text_runs_few_statements(statements: Statements, tmp_path: Path) -> None:
    with opened(tmp_path) as bank:
        for _ in range(60):
            bank.record(title="Retry", content="retry the timeout of the postgres pool cache", outcome="success")
            bank.record(title="R", content="retry the pool cache", outcome="success", confidence=0.6)
        _, first, commits = statements.of(bank, "a")
        assert (first <= MOST, commits) == (True, 1), statements.counted()
        with opened(tmp_path) as other:
            other.search(QUERY, session="b")
        answer, count, commits = statements.of(bank, "c")
        assert (count <= MOST, commits) == (True, 1), statements.counted()
        assert len(answer.memories) == 1 and len(answer.memories[0].duplicates) > 20


@promise("search:delivery-log")
def test_every_hit_of_a_search_is_logged_and_counted_and_changes_no_belief(
    statements: Statements, tmp_path: Path
) -> None:
    with filled(tmp_path, 300) as bank:
        first, _, _ = statements.of(bank, "a", 50)
        second, _, _ = statements.of(bank, "a", 50)
        assert len(first.memories) == 50
        for hit in first.memories:
            again = bank.get(hit.id)
            times = 1 + (hit.id in {each.id for each in second.delivered})
            assert again.usage_count == hit.memory.usage_count + times
            assert again.belief == hit.memory.belief
    store = open_storage(f"sqlite:///{tmp_path}", home=tmp_path).open(Scope(tenant="me", project="demo"))
    try:
        assert [len(log.entries) for log in store.deliveries.recalls(limit=2)] == [
            len(second.delivered),
            len(first.delivered),
        ]
        assert store.check().problems == ()
    finally:
        store.close()
