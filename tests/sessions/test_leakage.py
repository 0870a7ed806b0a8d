"""What a task taught is kept from that task when it is evaluated, and from no other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matts.attempts import AT, SOLVED, Ledger, a_memory, a_run
from promises import promise
from reasoningbank.matts.attempts import run
from reasoningbank.matts.comparison import parallel
from reasoningbank.matts.matts import learned_from, same_text
from reasoningbank.memories.admission import index
from reasoningbank.storage import open_storage
from reasoningbank.storage.store import Store
from reasoningbank.testing import HashingEmbedder
from reasoningbank.types.matts import Task
from reasoningbank.types.memory import Memory
from reasoningbank.types.recall import Hit
from reasoningbank.types.scope import Scope
from reasoningbank.types.session import Origin, Trajectory

TASK = Task(text="Cancel the booking of Mia Li.", id="airline-7")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A real, empty bank."""
    return open_storage(None, home=tmp_path).open(Scope(tenant="tenant", project="project"))


def keep(store: Store, *memories: Memory) -> None:
    with store.transaction() as transaction:
        for memory, indexed in zip(memories, index(memories, HashingEmbedder()), strict=True):
            transaction.memories.insert(memory, indexed)


def keep_source(store: Store, memory: Memory, trajectory: Trajectory, *, kind: str = "distilled") -> None:
    with store.transaction() as transaction:
        transaction.sessions.keep(trajectory)
        origin = Origin(memory_id=memory.id, trajectory=trajectory.id, kind="distilled", at=AT)
        transaction.sessions.add_origin(origin if kind == "distilled" else replace(origin, kind="corroborated"))


@promise(
    "matts:leakage",
    "With the leakage guard no memory that was learned from the same task, by its text or its id, reaches the agent; "
    "without it all do.",
    source="issue MaTTS; spec/paper 4 (11)",
)
@pytest.mark.parametrize(
    "said", ["Cancel the booking of Mia Li.", "  cancel THE booking\n of mia li", "Cancel the booking of Mia Li!!"]
)
def test_a_memory_of_the_same_task_is_told_however_it_is_spelled(store: Store, said: str) -> None:
    memory = a_memory(task=said)
    keep(store, memory)
    assert learned_from(TASK, store)(memory)


@promise("matts:leakage")
def test_a_memory_of_another_task_or_of_none_is_no_leak(store: Store) -> None:
    other = a_memory(task="Cancel the booking of Ivan Ito.", identity="other")
    recorded = a_memory(identity="recorded")
    keep(store, other, recorded)
    leaks = learned_from(TASK, store)
    assert not leaks(other)
    assert not leaks(recorded)


@promise("matts:leakage")
def test_a_memory_is_told_by_the_trajectory_it_came_from(store: Store) -> None:
    by_id, by_text, other = (a_memory(identity=name) for name in ("by-id", "by-text", "other"))
    keep(store, by_id, by_text, other)
    keep_source(store, by_id, replace(a_run(*SOLVED, task="as asked"), metadata={"task_id": "airline-7"}))
    keep_source(store, by_text, a_run(*SOLVED, task="cancel the booking of mia li"))
    keep_source(store, other, replace(a_run(*SOLVED, task="another"), metadata={"task_id": "airline-8"}))
    leaks = learned_from(TASK, store)
    assert [leaks(memory) for memory in (by_id, by_text, other)] == [True, True, False]


@promise("matts:leakage")
def test_a_source_in_the_provenance_counts_and_an_erased_one_does_not(store: Store) -> None:
    source = replace(a_run(*SOLVED, task="as asked"), metadata={"task_id": "airline-7"})
    there, gone = a_memory(source=source.id, identity="there"), a_memory(source="erased", identity="gone")
    keep(store, there, gone)
    with store.transaction() as transaction:
        transaction.sessions.keep(source)
    leaks = learned_from(TASK, store)
    assert [leaks(there), leaks(gone)] == [True, False]


@promise("matts:leakage")
def test_that_the_task_said_the_same_later_does_not_make_it_its_own(store: Store) -> None:
    memory = a_memory(task="Another task")
    keep(store, memory)
    keep_source(store, memory, a_run(*SOLVED, task=TASK.text), kind="corroborated")
    assert not learned_from(TASK, store)(memory)


@promise("matts:leakage")
def test_the_switch_works_both_ways(store: Store) -> None:
    own, other = a_memory(task=TASK.text, identity="own"), a_memory(task="Another task", identity="other")
    keep(store, own, other)
    ledger = Ledger(own, other)
    shown: list[tuple[str, ...]] = []

    def agent(task: Task, memories: Sequence[Hit]) -> Trajectory:
        shown.append(tuple(hit.id for hit in memories))
        return a_run(*SOLVED)

    open_ = run(parallel(TASK, agent, 2, ledger.parts))
    guarded = run(parallel(TASK, agent, 2, replace(ledger.parts, withhold=learned_from(TASK, store))))
    assert shown == [("own", "other")] * 2 + [("other",)] * 2
    assert (open_.withheld, guarded.withheld) == ((), ("own",))
    assert [hit.id for hit in guarded.recall.delivered] == ["other"]
    assert guarded.trajectory is not None
    assert guarded.trajectory.memories == ("other",)
    assert guarded.recall.tokens == 0


@promise("matts:leakage")
def test_a_task_that_was_redacted_or_cut_when_it_was_stored_is_the_same() -> None:
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    assert same_text(f"Deploy with {key}.", "Deploy with [REDACTED:github-token]")
    long = "Count the words. " * 400
    assert same_text(long, long[:2_000])
    assert not same_text(long, long[:1_900])


@promise("matts:leakage")
@pytest.mark.parametrize(("one", "other"), [("?!", "..."), ("", ""), ("", "Cancel"), (" ", "\n")])
def test_texts_without_a_letter_are_the_same_only_as_they_are(one: str, other: str) -> None:
    assert not same_text(one, other)
    assert same_text("?!", " ?! ")


@promise("matts:leakage")
@given(st.text(min_size=1, max_size=60))
def test_any_visible_task_is_the_same_as_itself_in_capitals_and_with_spaces(text: str) -> None:
    from reasoningbank.safety.stored_text import clean

    if clean(text):
        assert same_text(text, text)
        assert same_text(text, f"  {text}\t")
