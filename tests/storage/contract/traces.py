"""How searches were run, and by which vectors they and the tasks of memories are found again."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, timedelta

import numpy

from promises import promise
from reasoningbank.errors import InvalidInput, ModelMismatch
from reasoningbank.storage.store import Store
from reasoningbank.types.experience import Trace
from reasoningbank.types.ports import Vector
from reasoningbank.types.recall import CONTENT_LEG, TASK_LEG, Filter
from reasoningbank.types.records import Indexed
from storage.contract.base import (
    EAST,
    EVERYTHING,
    MODEL,
    NORTH,
    START,
    UP,
    WEST,
    Conformance,
    fill,
    indexed,
    lesson,
    refuses,
    vector,
)


class TraceConformance(Conformance):
    """What a store owes to searches by experience."""

    @promise(
        "learning:traces",
        "A trace comes back as it was run; only how it ended and what was made of it change later.",
        source="seed 002; issue 3 Experience search",
    )
    def test_a_trace_comes_back_and_takes_its_end_later(self) -> None:
        """Newest first, of one session or all; the query and what was applied never change."""
        first, second = trace("s1", session="a"), trace("s2", session="b", at=START - timedelta(days=1))
        with self.fresh() as store:
            with store.transaction() as transaction:
                transaction.sessions.keep_trace(first, vector(*EAST), MODEL)
                transaction.sessions.keep_trace(second, vector(*NORTH), MODEL)
                with refuses(InvalidInput):
                    transaction.sessions.keep_trace(first, vector(*EAST), MODEL)
                assert transaction.sessions.trace("s1") == first
            assert store.sessions.trace("s1") == first
            assert dict(store.sessions.trace("s1").details) == dict(first.details)
            assert list(store.sessions.traces()) == [second, first]
            assert list(store.sessions.traces(limit=1)) == [second]
            assert list(store.sessions.traces(session="a", limit=9)) == [first]
            end = replace(first, outcome="failure", state="extracted", strategies=("m7",), failure_reason="ü")
            with store.transaction() as transaction:
                transaction.sessions.update_trace(replace(end, query="another", approach="x", session="z", results=()))
            assert store.sessions.trace("s1") == end
            assert list(store.sessions.traces()) == [second, end]
            assert store.check().problems == ()

    @promise(
        "learning:similar-traces",
        "Similar traces are those of the exact cosine among the newest 10,000; an equal query has exactly 1.",
        source="memoria H6",
    )
    def test_similar_traces_are_those_of_the_exact_cosine(self) -> None:
        """An equal query has 1.0; lengths do not matter; equal cosines come newest first; memories are apart."""
        with self.fresh() as store:
            assert list(store.search.similar_traces(vector(*EAST), limit=5)) == []
            with store.transaction() as transaction:
                for name, direction in (
                    ("s1", EAST),
                    ("s2", (0, 9, 0, 0)),
                    ("s3", (3, 4, 0, 0)),
                    ("s4", (0.5, 0, 0, 0)),
                ):
                    transaction.sessions.keep_trace(trace(name), vector(*direction), MODEL)
                assert list(store.search.similar_traces(vector(*EAST), limit=5)) == []
            found = store.search.similar_traces(vector(*EAST), limit=9)
            assert [(each.id, cosine) for each, cosine in found] == [("s4", 1.0), ("s1", 1.0), ("s3", 0.6), ("s2", 0.0)]
            assert found[0][0] == trace("s4")
            assert [each.id for each, _ in store.search.similar_traces(vector(0, 2, 0, 0), limit=2)] == ["s2", "s3"]
            assert list(store.search.similar_traces(vector(*EAST), limit=0)) == []
            assert store.search.similar_traces(vector(*WEST), limit=9)[-1][1] == -1.0
            assert list(store.search.nearest(CONTENT_LEG, vector(*EAST), EVERYTHING, 9)) == []
            with store.transaction() as transaction:
                transaction.sessions.keep_trace(trace("s5"), vector(*UP), MODEL)
                transaction.sessions.update_trace(trace("s2", outcome="success"), vector(*UP), MODEL)
            found = store.search.similar_traces(vector(*UP), limit=2)
            assert [(each.id, each.outcome, cosine) for each, cosine in found] == [
                ("s5", "unknown", 1.0),
                ("s2", "success", 1.0),
            ]
            for wrong in (vector(0, 0, 0, 0), vector(float("nan"), 0, 0, 0), numpy.zeros((1, 4), dtype=numpy.float32)):
                with refuses(InvalidInput):
                    store.search.similar_traces(wrong, limit=1)

    @promise("learning:similar-traces")
    def test_many_traces_are_ranked_as_a_full_comparison_ranks_them(self) -> None:
        """Also those that came between two searches."""
        numbers = numpy.random.default_rng(11)
        rows = numbers.standard_normal((300, 24)).astype(numpy.float32)
        with self.fresh() as store:
            for start in (0, 100, 200):
                with store.transaction() as transaction:
                    for number in range(start, start + 100):
                        transaction.sessions.keep_trace(trace(f"s{number}"), rows[number], "random/24")
                for query in numbers.standard_normal((3, 24)).astype(numpy.float32):
                    exact = rows[: start + 100].astype(numpy.float64) @ query.astype(numpy.float64)
                    exact /= numpy.linalg.norm(rows[: start + 100], axis=1) * numpy.linalg.norm(query)
                    found = store.search.similar_traces(query, limit=20)
                    assert [each.id for each, _ in found] == [f"s{row}" for row in numpy.argsort(-exact)[:20]]
                    assert all(abs(cosine - exact[int(each.id[1:])]) < 2e-6 for each, cosine in found)

    @promise(
        "learning:model",
        "Vectors of traces and memories are of one model; others are refused until the bank forgets its vectors.",
        source="DESIGN D11; memoria H18",
    )
    def test_traces_and_memories_are_of_one_model(self) -> None:
        """The first vector of either fixes it; a bank that forgets its vectors takes another's for both."""
        with self.fresh() as store:
            with store.transaction() as transaction:
                transaction.sessions.keep_trace(trace("s1"), vector(*EAST), MODEL)
                transaction.sessions.keep_trace(trace("s2"), vector(*NORTH), MODEL)
            assert _model_of(store) == MODEL
            other = Indexed(text="", model_id="another/4", vectors={CONTENT_LEG: vector(*EAST)})
            with refuses(ModelMismatch), store.transaction() as transaction:
                transaction.memories.insert(lesson("m1"), other)
            with refuses(ModelMismatch):
                store.search.similar_traces(vector(1, 0, 0), limit=1)
            fill(store, [lesson("m1")])
            assert len(store.search.similar_traces(vector(*EAST), limit=5)) == 2
            with store.transaction() as transaction:
                transaction.forget_vectors()
                transaction.memories.update(
                    lesson("m1"), replace(other, model_id="wide/6", vectors={CONTENT_LEG: _wide(0)})
                )
                transaction.sessions.update_trace(trace("s2"), _wide(1), "wide/6")
            assert _model_of(store) == "wide/6"
            assert [each.id for each, _ in store.search.similar_traces(_wide(1), limit=5)] == ["s2"]
            assert store.sessions.trace("s1") == trace("s1")
            assert len(store.check().problems) == 1
            with refuses(ModelMismatch):
                store.search.similar_traces(vector(*EAST), limit=5)
            with store.transaction() as transaction:
                transaction.sessions.update_trace(trace("s1"), _wide(1), "wide/6")
            assert [each.id for each, _ in store.search.similar_traces(_wide(1), limit=5)] == ["s2", "s1"]
            assert store.check().problems == ()

    @promise(
        "learning:task-leg",
        "A memory is found by the task it came from, in a leg of its own that the fused search does not use.",
        source="issue 3 Recall by task",
    )
    def test_a_memory_is_found_by_the_task_it_came_from(self) -> None:
        """A third dense leg: filtered, changed and deleted as the others, and not part of the fused search."""

        def derived(task: tuple[float, ...] | None) -> Indexed:
            vectors = {CONTENT_LEG: vector(*UP)} | ({} if task is None else {TASK_LEG: vector(*task)})
            return Indexed(text="kiwi", model_id=MODEL, vectors=vectors)

        with self.fresh() as store:
            assert list(store.search.nearest(TASK_LEG, vector(*EAST), EVERYTHING, 9)) == []
            fill(store, [(lesson("m1"), derived(EAST)), (lesson("m2"), derived(None))])
            fill(store, [(lesson("m3", outcome="failure"), derived((0.6, 0.8, 0, 0)))])
            assert [hit.id for hit in store.search.nearest(CONTENT_LEG, vector(*EAST), EVERYTHING, 9)] == [
                "m1",
                "m2",
                "m3",
            ]
            assert [hit.id for hit in store.search.nearest(TASK_LEG, vector(*EAST), EVERYTHING, 9)] == ["m1", "m3"]
            assert [hit.id for hit in store.search.nearest(TASK_LEG, vector(*EAST), EVERYTHING, 1)] == ["m1"]
            failures = Filter(outcome="failure")
            assert [hit.id for hit in store.search.nearest(TASK_LEG, vector(*EAST), failures, 9)] == ["m3"]
            assert dict(store.search.similarities(TASK_LEG, vector(*EAST), ["m1", "m2"])) == {"m1": 1.0}
            assert store.search.vector(TASK_LEG, "m2") is None
            fill(store, [(lesson("m4"), derived(NORTH))])
            with store.transaction() as transaction:
                transaction.memories.update(lesson("m1"), derived(None))
                transaction.memories.update(lesson("m2"), derived(NORTH))
            assert [hit.id for hit in store.search.nearest(TASK_LEG, vector(*NORTH), EVERYTHING, 9)] == [
                "m2",
                "m4",
                "m3",
            ]
            kept = store.search.vector(TASK_LEG, "m2")
            assert kept is not None
            assert kept.tolist() == list(NORTH)
            with store.transaction() as transaction:
                transaction.memories.delete("m2")
            assert [hit.id for hit in store.search.nearest(TASK_LEG, vector(*NORTH), EVERYTHING, 9)] == ["m4", "m3"]
            with store.transaction() as transaction:
                transaction.forget_vectors()
                transaction.memories.update(lesson("m4"), derived(EAST))
            assert [hit.id for hit in store.search.nearest(TASK_LEG, vector(*EAST), EVERYTHING, 9)] == ["m4"]

    @promise(
        "learning:unit",
        "Vectors are kept at unit length; one that points nowhere is refused.",
        source="memoria H20",
    )
    def test_vectors_are_kept_at_unit_length(self) -> None:
        """Of memories too: a score is a cosine; one that has unit length already is kept to the bit."""
        with self.fresh() as store:
            fill(store, [(lesson("m1"), indexed("", vector(0, 30, 40, 0))), (lesson("m2"), indexed("", vector(*UP)))])
            kept = store.search.vector(CONTENT_LEG, "m1")
            assert kept is not None
            assert kept.tolist() == vector(0, 0.6, 0.8, 0).tolist()
            assert [hit.id for hit in store.search.nearest(CONTENT_LEG, vector(*UP), EVERYTHING, 2)] == ["m2", "m1"]


def trace(name: str, **changes: object) -> Trace:
    """A trace of this id."""
    plain = Trace(
        id=name,
        query=f"how to {name}",
        approach="fused",
        details={"legs": "content,lexical", "limit": "10"},
        results=("m1", "gone"),
        session="s",
        milliseconds=12,
        at=START.astimezone(UTC),
    )
    changed: Trace = replace(plain, **changes)  # type: ignore[arg-type]  # names of fields
    return changed


def _model_of(store: Store) -> str | None:
    return store.model_id


def _wide(axis: int) -> Vector:
    return vector(*(1.0 if place == axis else 0.0 for place in range(6)))
