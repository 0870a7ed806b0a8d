"""What sessions teach: trajectories as they were captured, and what was made of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta, timezone

from reasoningbank.errors import BankError, InvalidInput, MemoryNotFound, ModelMismatch, StoreClosed, TrajectoryNotFound
from reasoningbank.storage.store import Store, Transaction
from reasoningbank.types.session import Evidence, Judgement, Origin, Refusal, Step, Trajectory
from storage.contract.base import (
    EAST,
    EVERYTHING,
    MODEL,
    SCOPE,
    START,
    Conformance,
    fill,
    indexed,
    lesson,
    promise,
    refuses,
    vector,
)
from storage.contract.traces import trace

FULL = Trajectory(
    id="Caller-Chosen/1:ü",
    task="Fix the naïve 東京 parser \U0001f9e0 'quoted' %_\\ \x00",
    steps=(
        Step(
            user="please", thought="first\r\nlook", action="cat a.py", tool="bash", observation="x" * 5_000, exit_code=0
        ),
        Step(action="pytest", tool="bash", observation="1 failed", error="exit status 1", exit_code=-9, actor="helper"),
        Step(),
    ),
    final_answer="Done; DROP TABLE trajectories;--",
    evidence=(
        Evidence(kind="test_run", positive=False, detail="1 failed", step=1, name="pytest"),
        Evidence(kind="user_verdict", positive=True),
    ),
    session="session-ä",
    source="claude-code",
    memories=("m1", "m2"),
    metadata={"cwd": "/src", "": "empty"},
    created_at=datetime(2026, 3, 29, 1, 30, 0, 1, tzinfo=timezone(timedelta(hours=5, minutes=45))),
)
NAIVE = datetime(2026, 1, 1)


class LearningConformance(Conformance):
    """What a store owes to what was learned."""

    @promise("learning:round-trip")
    def test_a_trajectory_comes_back_as_it_was_captured(self) -> None:
        """Every step and field, in a list without its steps, and its judgements in the order they were given."""
        first = judgement("failure", at=START, evidence=FULL.evidence, probability=0.25)
        second = judgement("unknown", at=START - timedelta(days=1), judge="model", rationale="ü\n")
        with self.fresh() as store:
            with store.transaction() as transaction:
                assert transaction.keep(FULL, key="file:1")
                assert transaction.trajectory(FULL.id) == FULL
                transaction.judge(FULL.id, first)
                transaction.judge(FULL.id, second)
            found = store.trajectory(FULL.id)
            assert found == FULL
            assert found.digest == FULL.digest
            assert found.created_at.utcoffset() is not None
            assert list(store.judgements(FULL.id)) == [first, second]
            (entry,) = store.trajectories(limit=0)
            assert entry == store.entry(FULL.id)
            assert (entry.id, entry.task, entry.session, entry.source) == (
                FULL.id,
                FULL.task,
                FULL.session,
                FULL.source,
            )
            assert (entry.steps, entry.at, entry.judgement, entry.distilled) == (3, FULL.created_at, second, None)

    @promise("learning:once")
    def test_the_same_session_is_kept_once(self) -> None:
        """By its key and by its content; what is kept never changes."""
        twin = replace(FULL, id="twin")
        grown = replace(FULL, id="grown", final_answer="More.")
        with self.fresh() as store:
            assert store.captured("file:1") is None
            with store.transaction() as transaction:
                assert transaction.keep(FULL, key="file:1")
                assert not transaction.keep(twin, key="file:2")
                assert not transaction.keep(twin)
                assert not transaction.keep(grown, key="file:1")
                assert transaction.captured("file:1") == FULL.id
            assert store.captured("file:1") == store.captured(FULL.digest) == FULL.id
            assert store.captured("file:2") is None
            assert store.captured("") is None
            assert [entry.id for entry in store.trajectories(limit=0)] == [FULL.id]
            with store.transaction() as transaction:
                assert transaction.keep(grown, key="file:2")
                with refuses(InvalidInput):
                    transaction.keep(replace(FULL, session="another"))
                assert transaction.keep(trajectory("t1"))
                assert transaction.keep(trajectory("t2"))
            assert store.captured("file:2") == "grown"
            assert [entry.id for entry in store.trajectories(limit=0)] == [FULL.id, "grown", "t1", "t2"]

    @promise("learning:list")
    def test_trajectories_are_listed_by_their_latest_verdict_and_by_what_waits(self) -> None:
        """In the order they were stored, page by page; one that nobody judged is unknown."""
        names = [f"t{number}" for number in (3, 1, 4, 15, 9)]
        with self.fresh() as store:
            assert list(store.trajectories(limit=5, verdict="unknown", pending=True)) == []
            with store.transaction() as transaction:
                for name in names:
                    transaction.keep(trajectory(name))
                transaction.judge("t3", judgement("success"))
                transaction.judge("t1", judgement("success"))
                transaction.judge("t1", judgement("failure"))
                transaction.judge("t4", judgement("unknown"))
                transaction.mark_distilled("t3", START)
                transaction.mark_distilled("t9", START)
                transaction.mark_distilled("t9", None)
                assert transaction.entry("t3").distilled == START
            assert _listed(store, limit=0) == names
            assert _listed(store, limit=2, offset=1) == names[1:3]
            assert _listed(store, limit=0, offset=4) == names[4:]
            assert _listed(store, limit=9, offset=99) == []
            assert [_listed(store, limit=0, verdict=each) for each in ("success", "failure", "partial", "unknown")] == [
                ["t3"],
                ["t1"],
                [],
                ["t4", "t15", "t9"],
            ]
            assert _listed(store, limit=0, pending=False) == ["t3"]
            assert _listed(store, limit=0, pending=True) == names[1:]
            assert _listed(store, limit=1, offset=1, verdict="unknown", pending=True) == ["t15"]

    @promise("learning:not-found")
    def test_an_unknown_trajectory_or_trace_is_an_error_of_its_own(self) -> None:
        """On every verb that needs one; an origin needs its memory."""
        with self.fresh() as store:
            reads: tuple[Callable[[str], object], ...] = (store.trajectory, store.entry, store.judgements, store.trace)
            for read in reads:
                with refuses(TrajectoryNotFound):
                    read("nobody")
            assert list(store.origins(trajectory="nobody")) == list(store.origins(memory_id="nobody")) == []
            assert list(store.refusals(trajectory="nobody")) == []
            with store.transaction() as transaction:
                calls: tuple[Callable[[], object], ...] = (
                    lambda: transaction.judge("nobody", judgement("success")),
                    lambda: transaction.mark_distilled("nobody", START),
                    lambda: transaction.erase_trajectory("nobody"),
                    lambda: transaction.update_trace(trace("nobody")),
                    lambda: transaction.update_trace(trace("nobody"), vector(*EAST), MODEL),
                )
                for call in calls:
                    with refuses(TrajectoryNotFound):
                        call()
                with refuses(MemoryNotFound):
                    transaction.add_origin(Origin(memory_id="m1", trajectory="t1", kind="distilled", at=START))
            assert store.check().problems == ()

    @promise("learning:origins")
    def test_a_trajectory_teaches_a_memory_once(self) -> None:
        """Found from both sides, oldest first; it is gone with its memory, and stays without its trajectory."""
        taught = Origin(
            memory_id="m1",
            trajectory="t1",
            kind="distilled",
            session="s1",
            steps=(3, 4),
            model="m",
            prompt="p@1",
            at=START,
        )
        again = replace(taught, trajectory="t2", kind="corroborated", session="s2", at=START - timedelta(days=1))
        other = replace(taught, memory_id="m2")
        with self.fresh() as store:
            fill(store, [lesson("m1"), lesson("m2")])
            with store.transaction() as transaction:
                transaction.keep(trajectory("t1"))
                assert [transaction.add_origin(each) for each in (taught, again, other)] == [True] * 3
                assert not transaction.add_origin(replace(taught, kind="corroborated", session="s9"))
                assert list(transaction.origins(memory_id="m1")) == [taught, again]
            assert list(store.origins(memory_id="m1")) == [taught, again]
            assert list(store.origins(trajectory="t1")) == [taught, other]
            assert list(store.origins(memory_id="m2", trajectory="t2")) == []
            assert list(store.origins()) == [taught, again, other]
            with store.transaction() as transaction:
                transaction.update(replace(store.get("m1"), title="Edited", version=2))
                transaction.erase_trajectory("t1")
                transaction.delete("m2")
            assert list(store.origins()) == [taught, again]
            fill(store, [lesson("m2")])
            assert list(store.origins(memory_id="m2")) == []
            assert store.check().problems == ()

    @promise("learning:refusals")
    def test_a_refused_item_is_kept_with_its_reason(self) -> None:
        """Newest first, of one trajectory or of all."""
        items = [
            Refusal(
                id=f"r{number}",
                trajectory=f"t{number % 2}",
                reason="no_trigger",
                detail="it does not say when",
                title="T",
                description="D",
                content="ü" * 100,
                model="m",
                prompt="p@1",
                at=START - timedelta(days=number),
            )
            for number in range(4)
        ]
        with self.fresh() as store:
            with store.transaction() as transaction:
                for item in items:
                    transaction.refuse(item)
                with refuses(InvalidInput):
                    transaction.refuse(items[0])
            assert list(store.refusals()) == items[::-1]
            assert list(store.refusals(limit=2)) == items[:1:-1]
            assert list(store.refusals(trajectory="t1")) == [items[3], items[1]]
            assert list(store.refusals(trajectory="t1", limit=1)) == [items[3]]

    @promise("learning:erase")
    def test_an_erased_trajectory_leaves_its_memories_and_nothing_of_itself(self) -> None:
        """Its judgements and refusals go, its content may be captured again, and a new one of its id starts anew."""
        with self.fresh() as store:
            fill(store, [lesson("m1")])
            with store.transaction() as transaction:
                for name in ("t1", "t2"):
                    transaction.keep(trajectory(name), key=f"key {name}")
                    transaction.judge(name, judgement("success"))
                    transaction.refuse(Refusal(trajectory=name, reason="markup", detail="d", at=START))
                transaction.mark_distilled("t1", START)
            with store.transaction() as transaction:
                transaction.erase_trajectory("t1")
            with refuses(TrajectoryNotFound):
                store.trajectory("t1")
            assert [entry.id for entry in store.trajectories(limit=0)] == ["t2"]
            assert store.captured("key t1") is None
            assert store.captured(trajectory("t1").digest) is None
            assert [refusal.trajectory for refusal in store.refusals()] == ["t2"]
            assert store.get("m1") == lesson("m1")
            with store.transaction() as transaction:
                assert transaction.keep(trajectory("t1"), key="key t1")
            assert list(store.judgements("t1")) == []
            assert store.entry("t1").distilled is None
            assert [entry.id for entry in store.trajectories(limit=0)] == ["t2", "t1"]
            assert store.check().problems == ()

    @promise("learning:refused-write")
    def test_what_could_not_be_read_back_is_refused_and_changes_nothing(self) -> None:
        """Texts that are no Unicode, fields of another type, times without a zone, vectors that point nowhere."""
        lone = "lone \ud800"
        odd: Callable[..., Evidence] = Evidence
        stepped: Callable[..., Step] = Step
        with self.fresh() as store:
            fill(store, [lesson("m1")])
            before = _everything(store)
            attempts: tuple[tuple[type[BankError], Callable[[Transaction], object]], ...] = (
                (InvalidInput, lambda t: t.keep(trajectory("t1", task=lone))),
                (InvalidInput, lambda t: t.keep(trajectory("t1", final_answer=lone))),
                (InvalidInput, lambda t: t.keep(trajectory("t1", steps=(Step(observation=lone),)))),
                (InvalidInput, lambda t: t.keep(trajectory("t1", steps=(stepped(exit_code="1"),)))),
                (InvalidInput, lambda t: t.keep(trajectory("t1", evidence=(odd(kind="guess", positive=True),)))),
                (InvalidInput, lambda t: t.keep(trajectory("t1"), key=lone)),
                (InvalidInput, lambda t: t.keep(trajectory(" "))),
                (InvalidInput, lambda t: t.refuse(Refusal(trajectory="t", reason="markup", detail=lone, at=START))),
                (InvalidInput, lambda t: t.refuse(Refusal(trajectory="t", reason="markup", detail="", at=NAIVE))),
                (InvalidInput, lambda t: t.add_origin(Origin(memory_id="m1", trajectory=lone, kind="distilled"))),
                (InvalidInput, lambda t: t.keep_trace(trace("s1", query=lone), vector(*EAST), MODEL)),
                (InvalidInput, lambda t: t.keep_trace(trace("s1"), vector(0, 0, 0, 0), MODEL)),
                (InvalidInput, lambda t: t.keep_trace(trace("s1"), vector(float("nan"), 0, 0, 1), MODEL)),
                (InvalidInput, lambda t: t.keep_trace(trace("s1"), vector(0, float("inf"), 0, 1), MODEL)),
                (InvalidInput, lambda t: t.keep_trace(trace("s1"), vector(*EAST), "")),
                (ModelMismatch, lambda t: t.keep_trace(trace("s1"), vector(1, 0, 0), MODEL)),
                (ModelMismatch, lambda t: t.keep_trace(trace("s1"), vector(*EAST), "another/4")),
                (InvalidInput, lambda t: t.insert(lesson("m2"), indexed("", vector(0, 0, 0, 0)))),
            )
            for error, attempt in attempts:
                with store.transaction() as transaction, refuses(error):
                    attempt(transaction)
                assert _everything(store) == before
            assert store.check().problems == ()

    @promise("learning:atomic")
    def test_what_is_learned_is_stored_together_or_not_at_all(self) -> None:
        """Memories with their origins, refusals, judgements, the mark and traces; nobody sees half of it."""
        storage = self.storage()
        store, reader = storage.open(SCOPE), storage.open(SCOPE)
        try:
            with store.transaction() as transaction:
                transaction.keep(trajectory("t1"), key="k")
            before = _everything(store)
            try:
                with store.transaction() as transaction:
                    _learn(transaction)
                    raise KeyError("stop")
            except KeyError:
                assert _everything(store) == before
            with store.transaction() as transaction:
                _learn(transaction)
                assert _everything(reader) == before
                assert [origin.memory_id for origin in transaction.origins(trajectory="t1")] == ["m1"]
            learned = _everything(store)
            assert learned == _everything(reader) != before
            with refuses(StoreClosed):
                transaction.keep(trajectory("t9"))
            with self.directory() as directory:
                store.backup(directory / "b")
                with store.transaction() as transaction:
                    transaction.erase_trajectory("t1")
                    transaction.delete("m1")
                storage.restore(SCOPE, directory / "b")
                assert _everything(store) == learned
                assert [each.id for each, _ in store.similar_traces(vector(*EAST), limit=1)] == ["s1"]
                if self.durable:
                    store.close()
                    store = self.reopened(storage).open(SCOPE)
                    assert _everything(store) == learned
                    assert store.check().problems == ()
        finally:
            store.close()
            reader.close()
        for call in (
            lambda: store.trajectory("t1"),
            lambda: store.trajectories(limit=1),
            lambda: store.origins(),
            lambda: store.traces(),
            lambda: store.similar_traces(vector(*EAST), limit=1),
        ):
            with refuses(StoreClosed):
                call()


def trajectory(name: str, **changes: object) -> Trajectory:
    """A short trajectory of this id."""
    plain = Trajectory(
        id=name,
        task=f"Task of {name}",
        steps=(Step(action="make test", observation="ok", exit_code=0),),
        final_answer="done",
        session=f"session of {name}",
        source="jsonl",
        created_at=START,
    )
    changed: Trajectory = replace(plain, **changes)  # type: ignore[arg-type]  # names of fields
    return changed


def judgement(verdict: str, *, at: datetime = START, judge: str = "evidence", **changes: object) -> Judgement:
    """A judgement by evidence."""
    plain = Judgement(verdict="unknown", probability=0.5, rationale="why", judge=judge, at=at)
    changed: Judgement = replace(plain, verdict=verdict, **changes)  # type: ignore[arg-type]  # names of fields
    return changed


def _learn(transaction: Transaction) -> None:
    transaction.keep(trajectory("t2"))
    transaction.insert(lesson("m1"), indexed("kiwi"))
    transaction.add_origin(Origin(memory_id="m1", trajectory="t1", kind="distilled", at=START))
    transaction.refuse(Refusal(id="r1", trajectory="t1", reason="too_long", detail="d", at=START))
    transaction.judge("t1", judgement("success"))
    transaction.mark_distilled("t1", START)
    transaction.keep_trace(trace("s1"), vector(*EAST), MODEL)


def _everything(store: Store) -> tuple[object, ...]:
    """All that can be read about learning."""
    entries = list(store.trajectories(limit=0))
    return (
        entries,
        [(store.trajectory(entry.id), list(store.judgements(entry.id))) for entry in entries],
        list(store.origins()),
        list(store.refusals()),
        list(store.traces()),
        list(store.page(EVERYTHING, limit=0, offset=0)),
        store.model_id,
    )


def _listed(store: Store, **conditions: object) -> list[str]:
    entries = store.trajectories(**conditions)  # type: ignore[arg-type]  # names of parameters
    return [entry.id for entry in entries]
