"""How the SQLite store answers a search: word for word as FTS5 ranks, and the same with a helper thread as without."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import apsw
import numpy
import pytest

from promises import promise
from reasoningbank.storage import bank_search as searching
from reasoningbank.storage import open_storage
from reasoningbank.storage.rows import LEGS_PER_KEY
from reasoningbank.storage.search_sql import LOOK_SQL
from reasoningbank.storage.sqlite_connection import spelled
from reasoningbank.storage.store import Store
from reasoningbank.types.recall import CONTENT_LEG, DESCRIPTION_LEG, VECTOR_LEGS, Filter
from reasoningbank.types.records import Indexed, Pool
from storage.contract.base import EVERYTHING, SCOPE, lesson

WORDS = [f"w{number}" for number in range(40)]
DIMENSION = 8


def filled(home: Path, count: int, chance: random.Random) -> Store:
    """A store of memories with random words, frequent and rare ones, and random vectors; some changed or deleted."""
    store = open_storage(None, home=home).open(SCOPE)
    with store.transaction() as transaction:
        for number in range(count):
            transaction.memories.insert(lesson(f"m{number}"), derived(chance))
    with store.transaction() as transaction:
        for number in range(0, count, 5):
            transaction.memories.update(lesson(f"m{number}"), derived(chance))
        for number in range(0, count, 9):
            transaction.memories.delete(f"m{number}")
    return store


def derived(chance: random.Random) -> Indexed:
    """Words by a steep distribution, some of them repeated, sometimes hundreds, and vectors."""
    size = chance.choice((0, 3, 20, 300))
    words = chance.choices(WORDS, [1 / (rank + 1) for rank in range(len(WORDS))], k=size)
    vectors = {
        leg: numpy.array([chance.gauss(0, 1) for _ in range(DIMENSION)], dtype=numpy.float32)
        for leg in (CONTENT_LEG, DESCRIPTION_LEG)
    }
    return Indexed(text=" ".join(words), model_id="random/8", vectors=vectors)


@promise(
    "storage:lexical-fts",
    "Lexical scores and order are those of FTS5's bm25(), to the bit, after every change.",
    source="DESIGN D3",
)
def test_scores_and_order_are_those_of_the_engine_to_the_bit(tmp_path: Path) -> None:
    chance = random.Random(4)
    store = filled(tmp_path, 300, chance)
    file = next(tmp_path.rglob("*.db"))
    connection = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
    for changed in range(3):
        for _ in range(30):
            found = store.search.matching(" ".join(chance.sample(WORDS, chance.randint(1, 6))), EVERYTHING, 999)
            rarest_first = sorted(found.terms, key=lambda term: term.documents)
            rows = connection.execute(
                "SELECT m.id, -bm25(memory_text) FROM memory_text JOIN memories AS m ON m.key = memory_text.rowid "
                "WHERE memory_text MATCH ? ORDER BY bm25(memory_text), m.key",
                (" OR ".join(term.text for term in rarest_first),),
            ).fetchall()
            assert [(hit.id, hit.score) for hit in found.hits] == rows
        with store.transaction() as transaction:
            transaction.memories.insert(lesson(f"new{changed}"), derived(chance))
            transaction.memories.update(lesson("m1"), derived(chance))
            transaction.memories.delete(f"m{changed + 2}")
    connection.close()
    store.close()


@promise("storage:candidates")
def test_a_helper_thread_changes_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(6)
    store = filled(tmp_path, 200, chance)
    pools = [Pool(condition=Filter(), dense=10, lexical=20), Pool(condition=EVERYTHING, dense=3, lexical=1)]
    for _ in range(10):
        query = numpy.array([chance.gauss(0, 1) for _ in range(DIMENSION)], dtype=numpy.float32)
        text = " ".join(chance.sample(WORDS, 4))
        alone = store.search.candidates(query, text, pools)
        monkeypatch.setattr(searching, "BESIDE_MIN_ROWS", 0)
        assert store.search.candidates(query, text, pools) == alone
        monkeypatch.undo()
    store.close()


@promise(
    "storage:first-look",
    "What a process reads for its first search grows with the bank and not with its square, also when every memory was "
    "changed after it was made, as decay changes them.",
    source="DESIGN D3",
)
def test_a_first_look_at_memories_that_were_changed_is_linear(tmp_path: Path) -> None:
    chance = random.Random(4)

    def steps(count: int) -> int:
        home = tmp_path / str(count)
        store = open_storage(None, home=home).open(SCOPE)
        with store.transaction() as transaction:
            for number in range(count):
                transaction.memories.insert(lesson(f"m{number}"), derived(chance))
        with store.transaction() as transaction:
            for number in range(count):
                transaction.memories.update_state(replace(lesson(f"m{number}"), usage_count=2))
        connection = apsw.Connection(str(next(home.rglob("*.db"))), flags=apsw.SQLITE_OPEN_READONLY)
        done = [0]

        def step() -> bool:
            done[0] += 1
            return False

        connection.set_progress_handler(step, 100)
        held = json.dumps([(leg, -1, {}) for leg in range(len(VECTOR_LEGS))])
        rows = connection.execute(spelled(LOOK_SQL), (-1, LEGS_PER_KEY, 1, "", held)).fetchall()
        assert len(rows) > count
        return done[0]

    small, large = steps(100), steps(800)
    assert large < 16 * small
