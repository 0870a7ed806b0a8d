"""What sessions teach: trajectories as they were captured, and what was made of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta, timezone

from promises import promise
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

    @promise(
        "learning:round-trip",
        "A trajectory comes back step by step as it was captured, and its judgements in the order they were given.",
        source="issue 3 Capture; DESIGN D8",
    )
    def test_a_trajectory_comes_back_as_it_was_captured(self) -> None:
        """Every step and field, in a list without its steps, and its judgements in the order they were given."""
        first = judgement("failure", at=START, evidence=FULL.evidence, probability=0.25)
        second = judgement("unknown", at=START - timedelta(days=1), judge="model", rationale="ü\n")
        with self.fresh() as store:
            with store.transaction() as transaction:
                assert transaction.sessions.keep(FULL, key="file:1")
                assert transaction.sessions.trajectory(FULL.id) == FULL
                transaction.sessions.judge(FULL.id, first)
                transaction.sessions.judge(FULL.id, second)
            found = store.sessions.trajectory(FULL.id)
            assert found == FULL
            assert found.digest == FULL.digest
            assert found.created_at.utcoffset() is not None
            assert list(store.sessions.judgements(FULL.id)) == [first, second]
            (entry,) = store.sessions.trajectories(limit=0)
            assert entry == store.sessions.entry(FULL.id)
            assert (entry.id, entry.task, entry.session, entry.source) == (
                FULL.id,
                FULL.task,
                FULL.session,
                FULL.source,
            )
            assert (entry.steps, entry.at, entry.judgement, entry.distilled) == (3, FULL.created_at, second, None)

    @promise(
        "learning:once",
        "The same session is kept once, by its idempotency key and by its content, and what is kept never changes.",
        source="issue 3 Capture; memoria H19",
    )
    def test_the_same_session_is_kept_once(self) -> None:
        """By its key and by its content; what is kept never changes."""
        twin = replace(FULL, id="twin")
        grown = replace(FULL, id="grown", final_answer="More.")
        with self.fresh() as store:
            assert store.sessions.captured("file:1") is None
            with store.transaction() as transaction:
                assert transaction.sessions.keep(FULL, key="file:1")
                assert not transaction.sessions.keep(twin, key="file:2")
                assert not transaction.sessions.keep(twin)
                assert not transaction.sessions.keep(grown, key="file:1")
                assert transaction.sessions.captured("file:1") == FULL.id
            assert store.sessions.captured("file:1") == store.sessions.captured(FULL.digest) == FULL.id
            assert store.sessions.captured("file:2") is None
            assert store.sessions.captured("") is None
            assert [entry.id for entry in store.sessions.trajectories(limit=0)] == [FULL.id]
            with store.transaction() as transaction:
                assert transaction.sessions.keep(grown, key="file:2")
                with refuses(InvalidInput):
                    transaction.sessions.keep(replace(FULL, session="another"))
                assert transaction.sessions.keep(trajectory("t1"))
                assert transaction.sessions.keep(trajectory("t2"))
            assert store.sessions.captured("file:2") == "grown"
            assert [entry.id for entry in store.sessions.trajectories(limit=0)] == [FULL.id, "grown", "t1", "t2"]

    @promise(
        "learning:list",
        "Trajectories are listed by their latest verdict and by what waits to be distilled, page by page.",
        source="issue 3 Jobs, Distil",
    )
    def test_trajectories_are_listed_by_their_latest_verdict_and_by_what_waits(self) -> None:
        """In the order they were stored, page by page; one that nobody judged is unknown."""
        names = [f"t{number}" for number in (3, 1, 4, 15, 9)]
        with self.fresh() as store:
            assert list(store.sessions.trajectories(limit=5, verdict="unknown", pending=True)) == []
            with store.transaction() as transaction:
                for name in names:
                    transaction.sessions.keep(trajectory(name))
                transaction.sessions.judge("t3", judgement("success"))
                transaction.sessions.judge("t1", judgement("success"))
                transaction.sessions.judge("t1", judgement("failure"))
                transaction.sessions.judge("t4", judgement("unknown"))
                transaction.sessions.mark_distilled("t3", START)
                transaction.sessions.mark_distilled("t9", START)
                transaction.sessions.mark_distilled("t9", None)
                assert transaction.sessions.entry("t3").distilled == START
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

    @promise(
        "learning:not-found",
        "An unknown trajectory or trace raises TrajectoryNotFound on every verb that needs it and changes nothing.",
        source="DESIGN section 3",
    )
    def test_an_unknown_trajectory_or_trace_is_an_error_of_its_own(self) -> None:
        """On every verb that needs one; an origin needs its memory."""
        with self.fresh() as store:
            reads: tuple[Callable[[str], object], ...] = (
                store.sessions.trajectory,
                store.sessions.entry,
                store.sessions.judgements,
                store.sessions.trace,
            )
            for read in reads:
                with refuses(TrajectoryNotFound):
                    read("nobody")
            assert (
                list(store.sessions.origins(trajectory="nobody"))
                == list(store.sessions.origins(memory_id="nobody"))
                == []
            )
            assert list(store.sessions.refusals(trajectory="nobody")) == []
            with store.transaction() as transaction:
                calls: tuple[Callable[[], object], ...] = (
                    lambda: transaction.sessions.judge("nobody", judgement("success")),
                    lambda: transaction.sessions.mark_distilled("nobody", START),
                    lambda: transaction.sessions.erase_trajectory("nobody"),
                    lambda: transaction.sessions.update_trace(trace("nobody")),
                    lambda: transaction.sessions.update_trace(trace("nobody"), vector(*EAST), MODEL),
                )
                for call in calls:
                    with refuses(TrajectoryNotFound):
                        call()
                with refuses(MemoryNotFound):
                    transaction.sessions.add_origin(Origin(memory_id="m1", trajectory="t1", kind="distilled", at=START))
            assert store.check().problems == ()

    @promise(
        "learning:origins",
        "A trajectory teaches a memory once; the origin goes with its memory and outlives its trajectory.",
        source="issue 3 Distil; DESIGN D6",
    )
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
                transaction.sessions.keep(trajectory("t1"))
                assert [transaction.sessions.add_origin(each) for each in (taught, again, other)] == [True] * 3
                assert not transaction.sessions.add_origin(replace(taught, kind="corroborated", session="s9"))
                assert list(transaction.sessions.origins(memory_id="m1")) == [taught, again]
            assert list(store.sessions.origins(memory_id="m1")) == [taught, again]
            assert list(store.sessions.origins(trajectory="t1")) == [taught, other]
            assert list(store.sessions.origins(memory_id="m2", trajectory="t2")) == []
            assert list(store.sessions.origins()) == [taught, again, other]
            with store.transaction() as transaction:
                transaction.memories.update(replace(store.memories.get("m1"), title="Edited", version=2))
                transaction.sessions.erase_trajectory("t1")
                transaction.memories.delete("m2")
            assert list(store.sessions.origins()) == [taught, again]
            fill(store, [lesson("m2")])
            assert list(store.sessions.origins(memory_id="m2")) == []
            assert store.check().problems == ()

    @promise("learning:refusals", "A refused item is kept with its reason, newest first.", source="issue 3 Distil")
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
                    transaction.sessions.refuse(item)
                with refuses(InvalidInput):
                    transaction.sessions.refuse(items[0])
            assert list(store.sessions.refusals()) == items[::-1]
            assert list(store.sessions.refusals(limit=2)) == items[:1:-1]
            assert list(store.sessions.refusals(trajectory="t1")) == [items[3], items[1]]
            assert list(store.sessions.refusals(trajectory="t1", limit=1)) == [items[3]]

    @promise(
        "learning:erase",
        "An erased trajectory leaves no byte of itself, its judgements or its refusals in any file; its memories stay.",
        source="DESIGN D1",
    )
    def test_an_erased_trajectory_leaves_its_memories_and_nothing_of_itself(self) -> None:
        """Its judgements and refusals go, its content may be captured again, and a new one of its id starts anew."""
        with self.fresh() as store:
            fill(store, [lesson("m1")])
            with store.transaction() as transaction:
                for name in ("t1", "t2"):
                    transaction.sessions.keep(trajectory(name), key=f"key {name}")
                    transaction.sessions.judge(name, judgement("success"))
                    transaction.sessions.refuse(Refusal(trajectory=name, reason="markup", detail="d", at=START))
                transaction.sessions.mark_distilled("t1", START)
            with store.transaction() as transaction:
                transaction.sessions.erase_trajectory("t1")
            with refuses(TrajectoryNotFound):
                store.sessions.trajectory("t1")
            assert [entry.id for entry in store.sessions.trajectories(limit=0)] == ["t2"]
            assert store.sessions.captured("key t1") is None
            assert store.sessions.captured(trajectory("t1").digest) is None
            assert [refusal.trajectory for refusal in store.sessions.refusals()] == ["t2"]
            assert store.memories.get("m1") == lesson("m1")
            with store.transaction() as transaction:
                assert transaction.sessions.keep(trajectory("t1"), key="key t1")
            assert list(store.sessions.judgements("t1")) == []
            assert store.sessions.entry("t1").distilled is None
            assert [entry.id for entry in store.sessions.trajectories(limit=0)] == ["t2", "t1"]
            assert store.check().problems == ()

    @promise(
        "learning:refused-write",
        "What could not be read back is refused before anything is written: bad texts, types, times and vectors.",
        source="issue 3; memoria H20",
    )
    def test_what_could_not_be_read_back_is_refused_and_changes_nothing(self) -> None:
        """Texts that are no Unicode, fields of another type, times without a zone, vectors that point nowhere."""
        lone = "lone \ud800"
        odd: Callable[..., Evidence] = Evidence
        stepped: Callable[..., Step] = Step
        with self.fresh() as store:
            fill(store, [lesson("m1")])
            before = _everything(store)
            attempts: tuple[tuple[type[BankError], Callable[[Transaction], object]], ...] = (
                (InvalidInput, lambda t: t.sessions.keep(trajectory("t1", task=lone))),
                (InvalidInput, lambda t: t.sessions.keep(trajectory("t1", final_answer=lone))),
                (InvalidInput, lambda t: t.sessions.keep(trajectory("t1", steps=(Step(observation=lone),)))),
                (InvalidInput, lambda t: t.sessions.keep(trajectory("t1", steps=(stepped(exit_code="1"),)))),
                (
                    InvalidInput,
                    lambda t: t.sessions.keep(trajectory("t1", evidence=(odd(kind="guess", positive=True),))),
                ),
                (InvalidInput, lambda t: t.sessions.keep(trajectory("t1"), key=lone)),
                (InvalidInput, lambda t: t.sessions.keep(trajectory(" "))),
                (
                    InvalidInput,
                    lambda t: t.sessions.refuse(Refusal(trajectory="t", reason="markup", detail=lone, at=START)),
                ),
                (
                    InvalidInput,
                    lambda t: t.sessions.refuse(Refusal(trajectory="t", reason="markup", detail="", at=NAIVE)),
                ),
                (
                    InvalidInput,
                    lambda t: t.sessions.add_origin(Origin(memory_id="m1", trajectory=lone, kind="distilled")),
                ),
                (InvalidInput, lambda t: t.sessions.keep_trace(trace("s1", query=lone), vector(*EAST), MODEL)),
                (InvalidInput, lambda t: t.sessions.keep_trace(trace("s1"), vector(0, 0, 0, 0), MODEL)),
                (InvalidInput, lambda t: t.sessions.keep_trace(trace("s1"), vector(float("nan"), 0, 0, 1), MODEL)),
                (InvalidInput, lambda t: t.sessions.keep_trace(trace("s1"), vector(0, float("inf"), 0, 1), MODEL)),
                (InvalidInput, lambda t: t.sessions.keep_trace(trace("s1"), vector(*EAST), "")),
                (ModelMismatch, lambda t: t.sessions.keep_trace(trace("s1"), vector(1, 0, 0), MODEL)),
                (ModelMismatch, lambda t: t.sessions.keep_trace(trace("s1"), vector(*EAST), "another/4")),
                (InvalidInput, lambda t: t.memories.insert(lesson("m2"), indexed("", vector(0, 0, 0, 0)))),
            )
            for error, attempt in attempts:
                with store.transaction() as transaction, refuses(error):
                    attempt(transaction)
                assert _everything(store) == before
            assert store.check().problems == ()

    @promise(
        "learning:atomic",
        "A lesson, its origin, refusals, judgement, mark and trace are stored together or not at all, and survive "
        "backup and restore.",
        source="DESIGN D1, D8",
    )
    def test_what_is_learned_is_stored_together_or_not_at_all(self) -> None:
        """Memories with their origins, refusals, judgements, the mark and traces; nobody sees half of it."""
        storage = self.storage()
        store, reader = storage.open(SCOPE), storage.open(SCOPE)
        try:
            with store.transaction() as transaction:
                transaction.sessions.keep(trajectory("t1"), key="k")
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
                assert [origin.memory_id for origin in transaction.sessions.origins(trajectory="t1")] == ["m1"]
            learned = _everything(store)
            assert learned == _everything(reader) != before
            with refuses(StoreClosed):
                transaction.sessions.keep(trajectory("t9"))
            with self.directory() as directory:
                store.backup(directory / "b")
                with store.transaction() as transaction:
                    transaction.sessions.erase_trajectory("t1")
                    transaction.memories.delete("m1")
                storage.restore(SCOPE, directory / "b")
                assert _everything(store) == learned
                assert [each.id for each, _ in store.search.similar_traces(vector(*EAST), limit=1)] == ["s1"]
                if self.durable:
                    store.close()
                    store = self.reopened(storage).open(SCOPE)
                    assert _everything(store) == learned
                    assert store.check().problems == ()
        finally:
            store.close()
            reader.close()
        for call in (
            lambda: store.sessions.trajectory("t1"),
            lambda: store.sessions.trajectories(limit=1),
            lambda: store.sessions.origins(),
            lambda: store.sessions.traces(),
            lambda: store.search.similar_traces(vector(*EAST), limit=1),
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
    transaction.sessions.keep(trajectory("t2"))
    transaction.memories.insert(lesson("m1"), indexed("kiwi"))
    transaction.sessions.add_origin(Origin(memory_id="m1", trajectory="t1", kind="distilled", at=START))
    transaction.sessions.refuse(Refusal(id="r1", trajectory="t1", reason="too_long", detail="d", at=START))
    transaction.sessions.judge("t1", judgement("success"))
    transaction.sessions.mark_distilled("t1", START)
    transaction.sessions.keep_trace(trace("s1"), vector(*EAST), MODEL)


def _everything(store: Store) -> tuple[object, ...]:
    """All that can be read about learning."""
    entries = list(store.sessions.trajectories(limit=0))
    return (
        entries,
        [(store.sessions.trajectory(entry.id), list(store.sessions.judgements(entry.id))) for entry in entries],
        list(store.sessions.origins()),
        list(store.sessions.refusals()),
        list(store.sessions.traces()),
        list(store.memories.page(EVERYTHING, limit=0, offset=0)),
        store.model_id,
    )


def _listed(store: Store, **conditions: object) -> list[str]:
    entries = store.sessions.trajectories(**conditions)  # type: ignore[arg-type]  # names of parameters
    return [entry.id for entry in entries]
