"""What a record costs without its embedding, against a bare commit of the same bytes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import corpus
import pytest
from pytest_benchmark.fixture import BenchmarkFixture
from ratios import compare

from reasoningbank.storage import open_storage
from reasoningbank.types.memory import Memory
from reasoningbank.types.records import Indexed
from reasoningbank.types.scope import Scope

ROUNDS = 400


@pytest.fixture
def prepared() -> Iterator[list[tuple[Memory, Indexed]]]:
    """Memories with their words and vectors ready."""
    yield list(corpus.memories(2 * ROUNDS + 10, described=False))


def bare(path: Path) -> apsw.Connection:
    """A database with the same durability and nothing else."""
    connection = apsw.Connection(str(path))
    connection.execute(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; "
        "CREATE TABLE memory (id TEXT PRIMARY KEY, title TEXT, content TEXT, vector BLOB)"
    ).fetchall()
    return connection


def test_a_record_against_a_bare_commit(
    benchmark: BenchmarkFixture, tmp_path: Path, prepared: list[tuple[Memory, Indexed]]
) -> None:
    store = open_storage(None, home=tmp_path / "home").open(Scope(tenant="bench", project="bench"))
    connection = bare(tmp_path / "bare.db")

    def record(number: int) -> None:
        memory, indexed = prepared[number]
        with store.transaction() as transaction:
            transaction.memories.insert(memory, indexed)

    def commit(number: int) -> None:
        memory, indexed = prepared[number]
        with connection:
            connection.execute(
                "INSERT INTO memory VALUES (?, ?, ?, ?)",
                (memory.id, memory.title, memory.content, indexed.vectors["content"].tobytes()),
            )

    figures = compare(record, commit, rounds=ROUNDS)
    benchmark.extra_info.update(record=str(figures))
    print(f"\nrecord: {figures} (limit 1.5x)")
    numbers = iter(range(ROUNDS + 5, 2 * ROUNDS + 10))
    benchmark.pedantic(lambda: record(next(numbers)), rounds=50)
    store.close()
    connection.close()
    assert figures.ratio <= 1.5
