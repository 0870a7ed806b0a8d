"""Sessions and their jobs that can be told from a name alone, as a worker writes them, and how a bank is checked."""

from __future__ import annotations

import zlib
from datetime import datetime, timedelta

from durability.workload import EVERYTHING, MODEL, START, derived, lesson, vector
from reasoningbank.storage.store import Store, Transaction
from reasoningbank.types.experience import Trace
from reasoningbank.types.records import Job
from reasoningbank.types.session import Judgement, Origin, Refusal, Step, Trajectory

KIND = "distil"
LEASE = timedelta(milliseconds=150)


def session(name: str) -> Trajectory:
    """The trajectory of a name."""
    steps = tuple(
        Step(action=f"{name} step {number}", observation="x" * (zlib.crc32(name.encode()) % 3_000))
        for number in range(1 + zlib.crc32(name.encode()) % 5)
    )
    return Trajectory(id=name, task=f"task of {name}", steps=steps, session=name, source="test", created_at=START)


def judged(name: str) -> Judgement:
    """Its judgement."""
    return Judgement(verdict="failure", probability=0.1, rationale=f"why {name}", judge="evidence", at=START)


def traced(name: str) -> Trace:
    """The search of the same name."""
    return Trace(id=f"trace/{name}", query=f"query {name}", approach="fused", details={"limit": "5"}, at=START)


def capture(transaction: Transaction, name: str) -> None:
    """All that a session writes when it ends, its job included."""
    assert transaction.sessions.keep(session(name), key=f"key/{name}")
    transaction.sessions.judge(name, judged(name))
    transaction.sessions.keep_trace(traced(name), vector(name, 1, "content"), MODEL)
    assert transaction.jobs.enqueue(Job(kind=KIND, key=name, due=START, payload={"trajectory": name}))


def distil(transaction: Transaction, job: Job, at: datetime) -> bool:
    """All that the job of a session writes, its end included; False when the lease was lost, and then nothing."""
    if not transaction.jobs.finish(job):
        return False
    lesson_id = f"lesson/{job.key}"
    transaction.memories.insert(lesson(lesson_id), derived(lesson_id))
    transaction.sessions.refuse(
        Refusal(id=f"refusal/{job.key}", trajectory=job.key, reason="markup", detail="d", at=START)
    )
    assert transaction.sessions.add_origin(Origin(memory_id=lesson_id, trajectory=job.key, kind="distilled", at=START))
    transaction.sessions.mark_distilled(job.key, at)
    return True


def claim(store: Store, lease: str, at: datetime) -> Job | None:
    """The next session's job."""
    with store.transaction() as transaction:
        return transaction.jobs.claim((KIND,), lease=lease, at=at, until=at + LEASE)


def check_sessions(store: Store, late: datetime) -> tuple[set[str], set[str]]:
    """Asserts that every session is whole and its job is there or done, never both and never neither.

    Returns:
        The names of all sessions, and of those whose job was done.
    """
    waiting = {job.key for job in store.jobs.waiting(due=late)}
    assert not store.jobs.dead_jobs()
    lessons = {memory.id for memory in store.memories.page(EVERYTHING, limit=0, offset=0)}
    names, done = set[str](), set[str]()
    for entry in store.sessions.trajectories(limit=0):
        name = entry.id
        names.add(name)
        assert store.sessions.trajectory(name) == session(name), f"torn trajectory: {name}"
        assert list(store.sessions.judgements(name)) == [judged(name)], f"torn judgements: {name}"
        assert entry.judgement == judged(name)
        assert store.sessions.captured(f"key/{name}") == store.sessions.captured(session(name).digest) == name
        assert store.sessions.trace(f"trace/{name}") == traced(name)
        ends = [
            entry.distilled is not None,
            f"lesson/{name}" in lessons,
            len(store.sessions.origins(trajectory=name)) == 1,
            len(store.sessions.refusals(trajectory=name)) == 1,
            name not in waiting,
        ]
        assert len(set(ends)) == 1, f"half done: {name}: {ends}"
        if ends[0]:
            done.add(name)
    assert waiting == names - done
    assert {trace.id for trace in store.sessions.traces()} == {f"trace/{name}" for name in names}
    assert {f"lesson/{name}" for name in done} == {name for name in lessons if name.startswith("lesson/")}
    for name in sorted(names)[:20]:
        nearest = store.search.similar_traces(vector(name, 1, "content"), limit=1)
        assert [(each.id, cosine) for each, cosine in nearest] == [(f"trace/{name}", 1.0)]
    return names, done
