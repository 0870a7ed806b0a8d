"""What the SQLite store owes to sessions and searches beyond the contract of stores: erasure, damage, old banks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from promises import promise
from reasoningbank.errors import StoreCorrupt, StoreError
from reasoningbank.storage import bank_search as searching
from reasoningbank.storage import schema
from reasoningbank.storage.sqlite_connection import open_connection
from reasoningbank.storage.sqlite_file import SqliteStorage
from reasoningbank.storage.sqlite_memory import ProcessStorage
from reasoningbank.storage.store import Store
from reasoningbank.types.records import Job
from reasoningbank.types.session import Origin, Refusal, Step
from storage.contract.base import EAST, EVERYTHING, MODEL, NORTH, SCOPE, START, UP, fill, indexed, lesson, vector
from storage.contract.learning import judgement, trajectory
from storage.contract.traces import trace

HOUR = timedelta(hours=1)


@pytest.fixture
def bank(tmp_path: Path) -> Path:
    """Where a bank file is to be made."""
    return tmp_path / "bank.db"


@pytest.fixture
def store(bank: Path) -> Iterator[Store]:
    """An open bank."""
    opened = SqliteStorage(bank).open(SCOPE)
    yield opened
    opened.close()


def learn(store: Store) -> None:
    """One row of every table of learning."""
    fill(store, [lesson("m1")])
    with store.transaction() as transaction:
        transaction.sessions.keep(trajectory("t1", steps=(Step(observation="Zanzibar" * 90),)), key="file")
        transaction.sessions.judge("t1", judgement("failure", rationale="Zanzibar was closed"))
        transaction.sessions.refuse(Refusal(id="r1", trajectory="t1", reason="markup", detail="Zanzibar", at=START))
        transaction.sessions.add_origin(Origin(memory_id="m1", trajectory="t1", kind="distilled", at=START))
        transaction.sessions.keep_trace(trace("s1"), vector(*EAST), MODEL)
        transaction.jobs.enqueue(Job(kind="distil", key="t1", due=START))


@promise("learning:erase")
def test_no_byte_of_an_erased_trajectory_stays_in_any_file(store: Store, bank: Path) -> None:
    """Compressed text is looked for as it was written; the judgement's and the refusal's words too."""
    learn(store)
    rows = open_connection(bank)
    body = rows.execute("SELECT body FROM trajectory_bodies").get
    assert isinstance(body, bytes)
    rows.close()
    with store.transaction() as transaction:
        for number in range(40):
            transaction.sessions.keep(trajectory(f"other {number}"))
    with store.transaction() as transaction:
        transaction.sessions.erase_trajectory("t1")
    for path in bank.parent.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert body not in content, path.name
            assert b"Zanzibar" not in content, path.name
    assert store.check().problems == ()


@promise(
    "learning:damage",
    "A row of learning that is not what was written is never an answer; the check names it and everything that hangs "
    "on nothing.",
    source="DESIGN D2",
)
@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("UPDATE trajectories SET task = 'another task'", True),
        ("UPDATE trajectories SET distilled = 5", True),
        ("UPDATE trajectories SET digest = 'x' WHERE number = 1", True),
        ("UPDATE trajectory_bodies SET body = zeroblob(40)", True),
        (
            "UPDATE trajectory_bodies SET body = b.body, checksum = b.checksum "
            "FROM trajectory_bodies AS b WHERE b.number = 2",
            True,
        ),
        ("UPDATE judgements SET verdict = 'success'", True),
        ("UPDATE origins SET trajectory = 't9'", True),
        ("UPDATE refusals SET body = '{}'", True),
        ("UPDATE traces SET body = replace(body, 'unknown', 'success')", True),
        ("UPDATE trace_vectors SET vector = zeroblob(16)", True),
        ("UPDATE jobs SET attempts = 0, lease = '', until = 0", True),
        ("UPDATE jobs SET key = 'other'", True),
        ("DELETE FROM trajectory_bodies WHERE number = 1", False),
        ("DELETE FROM trace_vectors", False),
        ("DELETE FROM trajectories WHERE number = 1", False),
        ("DELETE FROM traces", False),
        ("DELETE FROM memories", False),
    ],
)
def test_a_row_that_is_not_what_was_written_is_never_an_answer(
    store: Store, bank: Path, statement: str, named: bool
) -> None:
    """Reading it raises StoreCorrupt, and the check names it; the check names what hangs on rows that are gone."""
    learn(store)
    with store.transaction() as transaction:
        transaction.sessions.keep(trajectory("t2"))
        assert transaction.jobs.claim(("distil",), lease="one", at=START, until=START + HOUR)
    connection = open_connection(bank)
    connection.pragma("foreign_keys", False)
    connection.execute(statement)
    connection.close()
    assert store.check().problems
    if not named:
        return
    refused = 0
    for read in (
        lambda: store.sessions.trajectory("t1"),
        lambda: store.sessions.trajectories(limit=0),
        lambda: store.sessions.judgements("t1"),
        lambda: store.sessions.origins(),
        lambda: store.sessions.refusals(),
        lambda: store.sessions.traces(),
        lambda: store.search.similar_traces(vector(*EAST), limit=1),
        lambda: store.jobs.waiting(due=START),
    ):
        try:
            read()
        except StoreCorrupt as error:
            assert "does not hold what was written" in str(error)
            refused += 1
    assert refused


@promise("learning:damage")
def test_a_damaged_job_is_not_handed_out(store: Store, bank: Path) -> None:
    learn(store)
    connection = open_connection(bank)
    connection.execute('UPDATE jobs SET payload = \'{"path": "/etc"}\'')
    connection.close()
    with pytest.raises(StoreError), store.transaction() as transaction:
        transaction.jobs.claim(("distil",), lease="one", at=START, until=START + HOUR)


@promise(
    "learning:migration",
    "A bank of the first schema is migrated with a backup beside it and keeps its memories and jobs.",
    source="DESIGN section 5; memoria H1",
)
@promise("memoria:H1", "The migration of an old bank keeps its rows.", source="spec/memoria_haios H1")
def test_a_bank_of_the_first_schema_keeps_its_memories_and_jobs(bank: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is migrated when it is opened, with a backup beside it, and takes everything about learning."""
    with monkeypatch.context() as patched:
        patched.setattr(schema, "MIGRATIONS", schema.MIGRATIONS[:1])
        old = SqliteStorage(bank).open(SCOPE)
        memories = [lesson(f"m{number}", tags=("t",)) for number in range(5)]
        connection = open_connection(bank)
        # Today's program writes two columns that came later.
        for name in ("context_start", "context_words"):
            connection.execute(f"ALTER TABLE memories ADD COLUMN {name} INTEGER NOT NULL DEFAULT 0")
        fill(old, [(memory, indexed("kiwi")) for memory in memories])
        for name in ("context_start", "context_words"):
            connection.execute(f"ALTER TABLE memories DROP COLUMN {name}")
        for number, due in enumerate((1_767_268_800_000_000, 1_767_268_800_000_001)):
            connection.execute(
                "INSERT INTO jobs VALUES ('roll_up', ?, ?, ?, ?)", (f"daily {number}", due, '{"n": "ä"}', number)
            )
        connection.close()
        assert old.memories.page(EVERYTHING, limit=0, offset=0) == memories
        old.close()
    store = SqliteStorage(bank).open(SCOPE)
    assert list(store.memories.page(EVERYTHING, limit=0, offset=0)) == memories
    assert [hit.id for hit in store.search.nearest("content", vector(*EAST), EVERYTHING, 9)] == [
        each.id for each in memories
    ]
    jobs = store.jobs.waiting(due=START + timedelta(days=1))
    assert [(job.key, job.attempts, dict(job.payload)) for job in jobs] == [
        ("daily 0", 0, {"n": "ä"}),
        ("daily 1", 1, {"n": "ä"}),
    ]
    assert [(job.lease, job.error) for job in jobs] == [("", "")] * 2
    kept = open_connection(bank.with_name("bank.db.before-2"))
    assert kept.pragma("user_version") == 1
    assert kept.execute("SELECT count(*) FROM jobs").get == 2
    kept.close()
    with store.transaction() as transaction:
        assert not transaction.jobs.enqueue(jobs[0])
        assert transaction.jobs.finish(replace(jobs[0], lease=""))
        assert transaction.jobs.claim(("roll_up",), lease="one", at=START + HOUR, until=START + 2 * HOUR)
        transaction.memories.delete("m1")
    learn_again = lesson("m9")
    fill(store, [learn_again])
    with store.transaction() as transaction:
        transaction.sessions.keep(trajectory("t1"))
        assert transaction.sessions.add_origin(Origin(memory_id="m9", trajectory="t1", kind="distilled", at=START))
        transaction.sessions.keep_trace(trace("s1"), vector(*UP), MODEL)
    report = store.check()
    assert (report.problems, report.schema) == ((), len(schema.MIGRATIONS))
    store.close()
    assert not bank.with_name("bank.db.before-2").exists(), "it still held what was deleted"


@promise("learning:similar-traces")
@pytest.mark.parametrize("place", ["sqlite", "memory"])
def test_only_the_newest_traces_are_compared(bank: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    """The oldest fall out as new ones come; they are still there, and opening the bank anew changes nothing."""
    monkeypatch.setattr(searching, "COMPARED_TRACES", 50)
    monkeypatch.setattr(searching, "_SPARE", 3)
    storage = SqliteStorage(bank) if place == "sqlite" else ProcessStorage()
    store = storage.open(SCOPE)
    for number in range(130):
        with store.transaction() as transaction:
            transaction.sessions.keep_trace(trace(f"s{number}"), vector(*(EAST if number % 10 == 0 else NORTH)), MODEL)
        nearest = [each.id for each, cosine in store.search.similar_traces(vector(*EAST), limit=200) if cosine == 1.0]
        oldest = max(0, number - 49)
        assert nearest == [f"s{each}" for each in range(number, oldest - 1, -1) if each % 10 == 0]
    assert store.sessions.trace("s0") == trace("s0")
    again = storage.open(SCOPE)
    assert again.search.similar_traces(vector(*EAST), limit=200) == store.search.similar_traces(
        vector(*EAST), limit=200
    )
    with store.transaction() as transaction:
        transaction.sessions.update_trace(trace("s100"), vector(*UP), MODEL)
    assert [(each.id, cosine) for each, cosine in again.search.similar_traces(vector(*UP), limit=1)] == [("s100", 1.0)]
    again.close()
    store.close()


@promise(
    "learning:concurrent-traces",
    "A search among traces sees what another process has written and what a restore took away.",
    source="DESIGN D1; memoria H6",
)
def test_a_search_among_traces_sees_what_another_handle_has_written(store: Store, bank: Path) -> None:
    """Trace by trace, and after a restore that took some of them away."""
    other = SqliteStorage(bank).open(SCOPE)
    target = bank.with_name("saved")
    for number in range(5):
        with other.transaction() as transaction:
            transaction.sessions.keep_trace(trace(f"s{number}"), vector(*EAST), MODEL)
        assert store.search.similar_traces(vector(*EAST), limit=1)[0][0].id == f"s{number}"
        if number == 2:
            store.backup(target)
    SqliteStorage(bank).restore(SCOPE, target)
    assert [each.id for each, _ in store.search.similar_traces(vector(*EAST), limit=9)] == ["s2", "s1", "s0"]
    with other.transaction() as transaction:
        transaction.sessions.keep_trace(trace("new"), vector(*EAST), MODEL)
    assert store.search.similar_traces(vector(*EAST), limit=1)[0][0].id == "new"
    other.close()
