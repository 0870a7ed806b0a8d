"""SQLite and a naive model in lock-step over everything about learning and jobs: the same answers or errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule, run_state_machine_as_test

from promises import promise
from reasoningbank.storage.store import Store, Transaction
from reasoningbank.types.recall import CONTENT_LEG, TASK_LEG, VECTOR_LEGS
from reasoningbank.types.records import Indexed, Job
from reasoningbank.types.session import VERDICTS, Origin, OriginKind, Refusal, Step, Verdict
from reasoningbank.types.uplift import Exposure, Shown
from storage.contract.base import EVERYTHING, SCOPE, START, lesson, vector
from storage.contract.learning import judgement, trajectory
from storage.contract.traces import trace
from storage.two_stores import TwoStores

MEMORIES = ("m1", "m2", "m3")
TRAJECTORIES = ("t1", "t2", "t3", "t4")
TRACES = ("s1", "s2", "s3")
KINDS = ("distil", "judge")

moments = st.integers(-4, 4).map(lambda hours: START + timedelta(hours=hours))
later = st.integers(5, 9).map(lambda hours: START + timedelta(hours=hours))
memory_ids = st.sampled_from(MEMORIES)
trajectory_ids = st.sampled_from(TRAJECTORIES)
trace_ids = st.sampled_from(TRACES)
kinds = st.sampled_from(KINDS)
keys = st.sampled_from(("", "a", "b"))
told = st.none() | st.booleans()
leases = st.sampled_from(("", "one", "two"))
models = st.sampled_from(("lattice/4", "lattice/4", "lattice/4", "other/4"))
# Coordinates whose products are exact in single precision, so that equal cosines are equal in every store.
directions = st.one_of(
    st.tuples(st.integers(0, 3), st.sampled_from((-1.0, 1.0, 2.0))).map(
        lambda pair: tuple(pair[1] if axis == pair[0] else 0.0 for axis in range(4))
    ),
    st.tuples(*[st.sampled_from((-0.5, 0.5))] * 4),
    st.just((0.0, 0.0, 0.0, 0.0)),
)


class LearningLockstep(TwoStores):
    """Everything about learning."""

    @rule(name=memory_ids, content=directions, task=st.none() | directions, model=models)
    def insert(self, name: str, content: tuple[float, ...], task: tuple[float, ...] | None, model: str) -> None:
        vectors = {CONTENT_LEG: vector(*content)} | ({} if task is None else {TASK_LEG: vector(*task)})
        derived = Indexed(text="kiwi", model_id=model, vectors=vectors)
        known = [memory.id for memory in self.model.page(EVERYTHING, limit=0, offset=0)]
        if name in known:
            self.write(lambda transaction: transaction.memories.update(lesson(name), derived))
        else:
            self.write(lambda transaction: transaction.memories.insert(lesson(name), derived))

    @rule(name=memory_ids)
    def delete(self, name: str) -> None:
        self.write(lambda transaction: transaction.memories.delete(name))

    @rule()
    def forget_vectors(self) -> None:
        self.write(lambda transaction: transaction.forget_vectors())

    @rule(name=trajectory_ids, content=trajectory_ids, key=keys, steps=st.integers(0, 3))
    def keep(self, name: str, content: str, key: str, steps: int) -> None:
        kept = replace(trajectory(content), id=name, steps=(Step(action="a"),) * steps)
        self.write(lambda transaction: transaction.sessions.keep(kept, key=key))

    @rule(name=trajectory_ids)
    def erase_trajectory(self, name: str) -> None:
        self.write(lambda transaction: transaction.sessions.erase_trajectory(name))

    @rule(name=trajectory_ids, verdict=st.sampled_from(VERDICTS), at=moments)
    def judge(self, name: str, verdict: Verdict, at: datetime) -> None:
        self.write(lambda transaction: transaction.sessions.judge(name, judgement(verdict, at=at)))

    @rule(name=trajectory_ids, at=st.none() | moments)
    def mark_distilled(self, name: str, at: datetime | None) -> None:
        self.write(lambda transaction: transaction.sessions.mark_distilled(name, at))

    @rule(memory=memory_ids, name=trajectory_ids, kind=st.sampled_from(("distilled", "corroborated")), at=moments)
    def add_origin(self, memory: str, name: str, kind: OriginKind, at: datetime) -> None:
        origin = Origin(memory_id=memory, trajectory=name, kind=kind, steps=(1, 2), at=at)
        self.write(lambda transaction: transaction.sessions.add_origin(origin))

    @rule(name=trajectory_ids, number=st.integers(0, 3), at=moments)
    def refuse(self, name: str, number: int, at: datetime) -> None:
        refusal = Refusal(id=f"r{number}", trajectory=name, reason="only_names", detail="d", at=at)
        self.write(lambda transaction: transaction.sessions.refuse(refusal))

    @rule(name=trace_ids, direction=directions, model=models, session=keys)
    def keep_trace(self, name: str, direction: tuple[float, ...], model: str, session: str) -> None:
        kept = trace(name, session=session)
        self.write(lambda transaction: transaction.sessions.keep_trace(kept, vector(*direction), model))

    @rule(name=trace_ids, direction=st.none() | directions, model=models, verdict=st.sampled_from(VERDICTS))
    def update_trace(self, name: str, direction: tuple[float, ...] | None, model: str, verdict: Verdict) -> None:
        changed = trace(name, outcome=verdict, state="extracted", strategies=("m1",), query="never stored")
        row = None if direction is None else vector(*direction)
        self.write(lambda transaction: transaction.sessions.update_trace(changed, row, model))

    @rule(session=st.sampled_from(("a", "b", "")), shown=st.lists(memory_ids, max_size=3, unique=True), told=told)
    def expose(self, session: str, shown: list[str], told: bool | None) -> None:
        def action(transaction: Transaction) -> None:
            met = tuple(Shown(memory_id=name, how="asked", succeeded=told) for name in shown)
            transaction.deliveries.expose(Exposure(session=session, at=START, shown=met, succeeded=told))

        self.write(action)

    @rule(kind=kinds, key=keys, due=moments)
    def enqueue(self, kind: str, key: str, due: datetime) -> None:
        self.write(lambda transaction: transaction.jobs.enqueue(Job(kind=kind, key=key, due=due, payload={"k": key})))

    @rule(wanted=st.lists(kinds, max_size=2, unique=True), lease=leases, at=moments, until=later, key=st.none() | keys)
    def claim(self, wanted: list[str], lease: str, at: datetime, until: datetime, key: str | None) -> None:
        self.write(lambda transaction: transaction.jobs.claim(wanted, lease=lease, at=at, until=until, key=key))

    @rule(lease=leases, at=later, until=later)
    def claim_late(self, lease: str, at: datetime, until: datetime) -> None:
        self.write(
            lambda transaction: transaction.jobs.claim(KINDS, lease=lease, at=at, until=until + timedelta(hours=3))
        )

    @rule(
        kind=kinds,
        key=keys,
        lease=leases,
        at=later,
        step=st.sampled_from(("extend", "finish", "put_back", "bury", "revive")),
    )
    def step(self, kind: str, key: str, lease: str, at: datetime, step: str) -> None:
        job = Job(kind=kind, key=key, due=START, lease=lease)
        actions: dict[str, Callable[[Transaction], object]] = {
            "extend": lambda transaction: transaction.jobs.extend(job, at),
            "finish": lambda transaction: transaction.jobs.finish(job),
            "put_back": lambda transaction: transaction.jobs.put_back(job, due=at, error="later"),
            "bury": lambda transaction: transaction.jobs.bury(job, at=at, error="never"),
            "revive": lambda transaction: transaction.jobs.revive(kind, key, due=at),
        }
        self.write(actions[step])

    @rule(name=trajectory_ids, memory=memory_ids, direction=directions)
    def fail(self, name: str, memory: str, direction: tuple[float, ...]) -> None:
        def action(transaction: Transaction) -> None:
            transaction.jobs.enqueue(Job(kind="distil", key="never", due=START))
            transaction.jobs.claim(KINDS, lease="never", at=START, until=START + timedelta(hours=1))
            transaction.sessions.keep(trajectory("never"))
            transaction.sessions.keep_trace(trace("never"), vector(*direction), "lattice/4")
            transaction.sessions.erase_trajectory(name)
            transaction.memories.delete(memory)

        self.write(action, interrupted=True)

    @rule(everybody=st.booleans())
    def reopen(self, everybody: bool) -> None:
        self.subject.close()
        if everybody:
            self.watcher.close()
            self.watcher = self.files.open(SCOPE)
        self.subject = self.files.open(SCOPE)

    @rule()
    def save(self) -> None:
        self.save_both()

    @precondition(lambda self: self.saved)
    @rule()
    def restore(self) -> None:
        self.restore_both()

    @rule(
        limit=st.integers(0, 4),
        offset=st.integers(0, 4),
        verdict=st.none() | st.sampled_from(VERDICTS),
        pending=st.none() | st.booleans(),
        memory=memory_ids,
        name=trajectory_ids,
        session=keys,
    )
    def ask(
        self,
        limit: int,
        offset: int,
        verdict: Verdict | None,
        pending: bool | None,
        memory: str,
        name: str,
        session: str,
    ) -> None:
        found, expected = (
            (
                list(store.sessions.trajectories(limit=limit, offset=offset, verdict=verdict, pending=pending)),
                list(store.sessions.origins(memory_id=memory)),
                list(store.sessions.origins(trajectory=name)),
                list(store.sessions.origins(memory_id=memory, trajectory=name)),
                list(store.sessions.refusals(trajectory=name, limit=limit)),
                list(store.sessions.traces(session=session, limit=limit)),
                store.sessions.captured(session),
                store.sessions.captured(trajectory(name).digest),
            )
            for store in (self.watcher, self.model)
        )
        assert found == expected

    @invariant()
    def everything_that_can_be_read_is_the_same(self) -> None:
        expected = _readable(self.model.as_store)
        assert _readable(self.subject) == expected
        assert _readable(self.watcher) == expected


def _readable(store: Store) -> dict[str, object]:
    entries = list(store.sessions.trajectories(limit=0))
    aim = vector(1, 0, 0, 0)
    return {
        "entries": entries,
        "trajectories": [store.sessions.trajectory(entry.id) for entry in entries],
        "one by one": [store.sessions.entry(entry.id) for entry in entries],
        "judgements": [list(store.sessions.judgements(entry.id)) for entry in entries],
        "origins": list(store.sessions.origins()),
        "refusals": list(store.sessions.refusals()),
        "traces": list(store.sessions.traces()),
        "exposures": [*store.deliveries.exposures(), *(store.deliveries.exposure(name) for name in ("a", "b", ""))],
        "similar": list(store.search.similar_traces(aim, limit=9)),
        "nearest": [list(store.search.nearest(leg, aim, EVERYTHING, 9)) for leg in VECTOR_LEGS],
        "vectors": [
            None if found is None else found.tolist()
            for leg in VECTOR_LEGS
            for found in (store.search.vector(leg, name) for name in MEMORIES)
        ],
        "jobs": list(store.jobs.waiting(due=START + timedelta(days=9))),
        "dead": list(store.jobs.dead_jobs()),
        "claimable": [
            store.jobs.claimable((kind,), at=START + timedelta(hours=hours)) for kind in KINDS for hours in (0, 6)
        ],
        "model": store.model_id,
    }


@promise(
    "learning:lock-step",
    "SQLite and a naive model answer alike after any sequence of learning and queue operations.",
    source="DESIGN section 5",
)
@pytest.mark.timeout(7_200)
def test_sqlite_and_the_naive_model_learn_alike(torture: bool) -> None:
    chosen = settings(max_examples=400 if torture else 25, stateful_step_count=50 if torture else 25)
    run_state_machine_as_test(LearningLockstep, settings=chosen)
