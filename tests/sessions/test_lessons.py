"""What a trajectory taught is stored whole or not at all, once, and corroborates what is known."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from promises import promise
from reasoningbank.errors import ModelMismatch, TrajectoryNotFound
from reasoningbank.memories.admission import index
from reasoningbank.memories.similarity import THRESHOLDS, is_near, threshold
from reasoningbank.sessions.lessons import Learned, learn
from reasoningbank.storage import open_storage
from reasoningbank.storage.store import Store
from reasoningbank.testing import HashingEmbedder
from reasoningbank.types.memory import STATES, Memory
from reasoningbank.types.ports import Embedder
from reasoningbank.types.recall import CONTENT_LEG, Filter
from reasoningbank.types.session import Item, Judgement, Trajectory
from sessions.lesson_examples import BAD, GOOD
from sessions.stored_trajectories import AT, SCOPE, judged, kept

CLOCK = Item(
    title="Freeze the clock in date tests",
    description="When a test fails only at night or around midnight",
    content="Freeze the clock with a fixture and run the test at 23:59 and 00:01, so that the date no longer decides.",
    outcome="success",
    tags=("python", "tests"),
    steps=(0, 2),
)
CLOCK_AGAIN = replace(
    CLOCK,
    title="Freeze the clock in tests of dates",
    description="When tests break near midnight",
    content="Freeze the clock with a fixture, then run the test at 23:59 and at 00:01 so the date no longer decides.",
)
LOCK = Item(
    title="Commit the lock file",
    description="When dependencies differ between machines",
    content="Commit the lock file beside the manifest and install with the frozen option in continuous integration.",
    outcome="success",
    steps=(2,),
)

MORE = (
    " Set the zone, seed every random generator, sort whatever a dictionary yields, close sockets, drain queues, and "
    "compare the locale settings of both machines beforehand."
)
REWORDED_LOCK = replace(LOCK, content="Something else is to be done whenever this happens again.")


def taught(
    store: Store,
    trajectory: Trajectory,
    *items: Item,
    judgement: Judgement | None = None,
    embedder: Embedder | None = None,
    session: str | None = None,
    limit: int = 3,
    again: bool = True,
) -> Learned:
    return learn(
        store,
        embedder or HashingEmbedder(),
        trajectory,
        judgement or judged(),
        items,
        model="scripted",
        prompt="distil_success@1",
        session=trajectory.session if session is None else session,
        at=AT + timedelta(minutes=1),
        limit=limit,
        again=again,
    )


def everything(store: Store) -> list[Memory]:
    return list(store.memories.page(Filter(states=STATES), limit=0, offset=0))


@promise(
    "distil:provenance",
    "A lesson is a candidate at 0.6 that knows trajectory, steps, session, task, model, prompt and memories in "
    "context.",
    source="issue 3",
)
def test_a_lesson_is_a_candidate_at_sixty_per_cent_that_knows_where_it_came_from(store_of_each_kind: Store) -> None:
    trajectory = kept(store_of_each_kind, "s1", memories=("m1", "m2"))
    failure = replace(GOOD_LESSON, steps=(1,))
    learned = taught(store_of_each_kind, trajectory, CLOCK, failure)
    assert [memory.outcome for memory in learned.memories] == ["success", "failure"]
    for memory, item in zip(learned.memories, (CLOCK, failure), strict=True):
        stored = store_of_each_kind.memories.get(memory.id)
        assert stored == memory
        assert (stored.confidence, stored.state, stored.project) == (0.6, "candidate", "shop")
        assert (stored.title, stored.description, stored.content, stored.tags) == (
            item.title,
            item.description,
            item.content,
            item.tags,
        )
        assert stored.tokens > 10
        assert dict(stored.provenance) == {
            "entered": "model",
            "source": "distilled",
            "session": "s1",
            "trajectory": trajectory.id,
            "task": trajectory.task,
            "steps": ",".join(map(str, item.steps)),
            "model": "scripted",
            "prompt": "distil_success@1",
            "in_context": "m1,m2",
        }
        (origin,) = store_of_each_kind.sessions.origins(memory_id=memory.id)
        assert (origin.trajectory, origin.kind) == (trajectory.id, "distilled")
        assert (origin.session, origin.steps) == ("s1", item.steps)
        assert (origin.model, origin.prompt) == ("scripted", "distil_success@1")
    assert store_of_each_kind.sessions.entry(trajectory.id).distilled == AT + timedelta(minutes=1)


GOOD_LESSON = Item(
    title="Reruns hide the cause",
    description="When a test depends on the date",
    content="What went wrong: reruns were switched on and the failure went on at night.",
    outcome="failure",
    steps=(1,),
)


@promise("distil:refusals-kept", "Refused items are kept with the reason, once.", source="issue 3")
def test_refused_items_are_kept_with_the_reason_and_only_once(store_of_each_kind: Store) -> None:
    trajectory = kept(store_of_each_kind)
    bad = [replace(CLOCK, title=b.title, description=b.description, content=b.content) for b in BAD[1:4]]
    for _ in range(2):
        learned = taught(store_of_each_kind, trajectory, *bad, CLOCK, limit=1)
        assert [refusal.reason for refusal in learned.refused] == ["incomplete"] * 3
    assert (
        sorted(refusal.reason for refusal in store_of_each_kind.sessions.refusals(trajectory=trajectory.id))
        == ["incomplete"] * 3
    )
    assert len(everything(store_of_each_kind)) == 1


@promise(
    "distil:once",
    "Learning the same trajectory twice adds nothing; of two workers with one job one learns.",
    source="issue 3",
)
def test_learning_the_same_trajectory_twice_adds_nothing(store_of_each_kind: Store) -> None:
    trajectory = kept(store_of_each_kind)
    first = taught(store_of_each_kind, trajectory, CLOCK, LOCK)
    before = [
        (
            memory,
            store_of_each_kind.evidence.signals(memory.id),
            store_of_each_kind.sessions.origins(memory_id=memory.id),
        )
        for memory in everything(store_of_each_kind)
    ]
    second = taught(store_of_each_kind, trajectory, LOCK, CLOCK)
    assert second.memories == () and set(second.corroborated) == {memory.id for memory in first.memories}
    third = taught(
        store_of_each_kind,
        trajectory,
        replace(LOCK, content="Something else is to be done whenever this happens again."),
        again=False,
    )
    assert {memory.id for memory in third.memories} == {memory.id for memory in first.memories}
    after = [
        (
            memory,
            store_of_each_kind.evidence.signals(memory.id),
            store_of_each_kind.sessions.origins(memory_id=memory.id),
        )
        for memory in everything(store_of_each_kind)
    ]
    assert after == before and len(after) == 2


@promise(
    "distil:near-duplicate",
    "A near-duplicate is not stored but corroborates; other outcome, opposite advice or other numbers are no "
    "duplicate.",
    source="DESIGN D6",
)
def test_a_near_duplicate_is_not_stored_but_corroborates(store_of_each_kind: Store, local_embedder: Embedder) -> None:
    (memory,) = taught(store_of_each_kind, kept(store_of_each_kind, "s1"), CLOCK, embedder=local_embedder).memories
    second = kept(store_of_each_kind, "s2", task="Mend the billing test")
    learned = taught(store_of_each_kind, second, CLOCK_AGAIN, LOCK, embedder=local_embedder)
    assert learned.corroborated == (memory.id,)
    assert [new.title for new in learned.memories] == [LOCK.title]
    assert [(origin.kind, origin.trajectory) for origin in store_of_each_kind.sessions.origins(memory_id=memory.id)][
        1
    ] == (
        "corroborated",
        second.id,
    )
    (given,) = store_of_each_kind.evidence.signals(memory.id)
    assert (given.type, given.positive, given.session) == ("outcome", True, "s2")
    assert store_of_each_kind.memories.get(memory.id).confidence > 0.6


@promise(
    "distil:independent",
    "Corroboration is evidence once per session, only when independent and judged by facts or a person.",
    source="DESIGN D6",
)
@pytest.mark.parametrize(
    ("judge", "session", "shown", "counts"),
    [
        ("evidence", "s2", False, True),
        ("user", "s2", False, True),
        ("some-model", "s2", False, False),
        ("agent", "s2", False, False),
        ("evidence", "s1", False, False),
        ("evidence", "", False, False),
        ("evidence", "s2", True, False),
    ],
)
def test_only_an_independent_session_that_facts_or_a_person_judged_counts_as_evidence(
    store_of_each_kind: Store, judge: str, session: str, shown: bool, counts: bool
) -> None:
    (memory,) = taught(store_of_each_kind, kept(store_of_each_kind, "s1"), CLOCK).memories
    other = kept(store_of_each_kind, session, task="Mend the billing test", memories=(memory.id,) if shown else ())
    learned = taught(store_of_each_kind, other, CLOCK, judgement=judged(judge=judge))
    assert learned.corroborated == (memory.id,) and not learned.memories
    assert len(store_of_each_kind.evidence.signals(memory.id)) == int(counts)
    assert (store_of_each_kind.memories.get(memory.id).confidence > 0.6) is counts
    assert len(store_of_each_kind.sessions.origins(memory_id=memory.id)) == 2


@promise("distil:independent")
def test_a_session_counts_once_however_many_of_its_trajectories_say_the_same(store_of_each_kind: Store) -> None:
    (memory,) = taught(store_of_each_kind, kept(store_of_each_kind, "s1"), CLOCK).memories
    for task in ("Mend the billing test", "Mend the shipping test", "Mend the tax test"):
        taught(store_of_each_kind, kept(store_of_each_kind, "s2", task=task), CLOCK)
    assert len(store_of_each_kind.evidence.signals(memory.id)) == 1
    taught(store_of_each_kind, kept(store_of_each_kind, "s3", task="Mend the stock test"), CLOCK)
    assert len(store_of_each_kind.evidence.signals(memory.id)) == 2


@promise("distil:near-duplicate")
def test_what_differs_in_outcome_advice_or_numbers_is_no_duplicate(store_of_each_kind: Store) -> None:
    taught(store_of_each_kind, kept(store_of_each_kind, "s1"), CLOCK)
    lesson = replace(CLOCK, outcome="failure", steps=(1,))
    opposite = replace(CLOCK, content=CLOCK.content.replace("Freeze", "Never freeze"))
    numbers = replace(CLOCK, content=CLOCK.content.replace("23:59", "11:59").replace("00:01", "12:01"))
    learned = taught(
        store_of_each_kind, kept(store_of_each_kind, "s2", task="Mend the billing test"), lesson, opposite, numbers
    )
    assert learned.corroborated == () and len(learned.memories) == 3 - len(learned.refused)
    assert {memory.outcome for memory in learned.memories} == {"success", "failure"}
    known, new = everything(store_of_each_kind)[0], learned.memories[-1]
    assert not is_near(new, known, 0.99, "granite/384")


@promise("distil:near-duplicate")
@pytest.mark.parametrize("model_id", ["granite-embedding-30m/384", "all-MiniLM-L6-v2-int8/384", "unheard-of/3072"])
def test_neither_a_close_vector_nor_shared_words_are_enough(model_id: str) -> None:
    def memory(item: Item, content: str = "") -> Memory:
        return Memory(project="p", title=item.title, content=content or item.content, outcome="success")

    known, again = memory(CLOCK), memory(CLOCK_AGAIN)
    other = memory(LOCK)
    more = memory(
        CLOCK,
        CLOCK.content + " Set the zone, seed every random generator, sort whatever a dictionary yields, "
        "close sockets, drain queues, and compare the locale settings of both machines beforehand.",
    )
    line = threshold(model_id)
    assert is_near(again, known, line, model_id)
    assert not is_near(again, known, line - 0.01, model_id)
    assert not is_near(other, known, 0.999, model_id)
    assert not is_near(more, known, 0.999, model_id) and is_near(known, more, 0.999, model_id)
    assert line == next((each.cosine for each in THRESHOLDS if each.family in model_id.casefold()), 0.97)


@promise(
    "distil:atomic", "Lessons, origins, refusals and the mark are stored together or not at all.", source="issue 3"
)
def test_nothing_is_stored_when_any_part_cannot_be(store_of_each_kind: Store) -> None:
    trajectory = kept(store_of_each_kind)
    with pytest.raises(TrajectoryNotFound):
        taught(store_of_each_kind, replace(trajectory, id="unknown"), CLOCK, replace(CLOCK, title=""))
    assert everything(store_of_each_kind) == [] and list(store_of_each_kind.sessions.refusals()) == []
    taught(store_of_each_kind, trajectory, CLOCK)
    with pytest.raises(ModelMismatch):
        taught(
            store_of_each_kind,
            kept(store_of_each_kind, "s2", task="Other"),
            LOCK,
            replace(CLOCK, title=""),
            embedder=HashingEmbedder(32),
        )
    assert len(everything(store_of_each_kind)) == 1 and list(store_of_each_kind.sessions.refusals()) == []


@promise("distil:limit")
def test_an_agent_that_answers_item_by_item_meets_the_same_limit(store_of_each_kind: Store) -> None:
    trajectory = kept(store_of_each_kind)
    items = [
        Item(title=e.title, description=e.description, content=e.content, outcome="success", steps=(2,))
        for e in GOOD[:5]
    ]
    for item in items:
        taught(store_of_each_kind, trajectory, item)
    assert [memory.title for memory in everything(store_of_each_kind)] == [item.title for item in items[:3]]
    assert [refusal.reason for refusal in store_of_each_kind.sessions.refusals(trajectory=trajectory.id)] == [
        "too_many"
    ] * 2
    anew = judged(at=AT + timedelta(minutes=2))
    assert taught(store_of_each_kind, trajectory, items[4], judgement=anew).memories
    assert taught(store_of_each_kind, trajectory, items[0], judgement=anew).corroborated


@promise("distil:near-duplicate")
def test_near_duplicates_within_one_trajectory_are_refused(store_of_each_kind: Store, local_embedder: Embedder) -> None:
    learned = taught(store_of_each_kind, kept(store_of_each_kind), CLOCK, CLOCK_AGAIN, embedder=local_embedder)
    assert len(learned.memories) == 1
    assert [refusal.reason for refusal in learned.refused] == ["same_text"]


@promise(
    "distil:one-stores",
    "Of many workers that learn the same lesson at once, one stores it and the others corroborate it.",
    source="issue 3",
)
def test_of_many_workers_one_stores_a_lesson_and_the_others_corroborate(store_of_each_kind: Store) -> None:
    trajectories = [kept(store_of_each_kind, f"s{number}", task=f"Mend test {number}") for number in range(6)]
    results: list[Learned] = []
    threads = [
        threading.Thread(target=lambda t=t: results.append(taught(store_of_each_kind, t, CLOCK))) for t in trajectories
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(len(result.memories) for result in results) == 1
    (memory,) = everything(store_of_each_kind)
    assert len(store_of_each_kind.sessions.origins(memory_id=memory.id)) == 6
    assert len(store_of_each_kind.evidence.signals(memory.id)) == 5


@promise("distil:once")
def test_of_two_workers_with_one_job_one_learns(store_of_each_kind: Store) -> None:
    trajectory = kept(store_of_each_kind)
    results: list[Learned] = []
    items = (CLOCK, LOCK)
    threads = [
        threading.Thread(
            target=lambda item=item: results.append(taught(store_of_each_kind, trajectory, item, again=False))
        )
        for item in items
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(everything(store_of_each_kind)) == 1
    assert results[0].memories == results[1].memories


_WORKER = """
import sys
from pathlib import Path
from sessions.stored_trajectories import AT, SCOPE, judged
from sessions.test_lessons import items_for, taught
from reasoningbank.storage import open_storage

store = open_storage(None, home=Path(sys.argv[1])).open(SCOPE)
print("ready", flush=True)
for entry in store.sessions.trajectories(limit=0, pending=True):
    taught(store, store.sessions.trajectory(entry.id), *items_for(entry.task), again=False)
    print(entry.id, flush=True)
"""


def items_for(task: str) -> tuple[Item, ...]:
    words = {
        "a": "database migration rollback restore snapshot dump verify schema",
        "b": "compiler linker symbol header include library archive object",
        "c": "browser dialog click overlay scroll focus keyboard element",
    }
    number = task.split()[-1]
    lessons = [
        Item(
            title=f"Lesson {letter} of {number}",
            description=f"When {text.split()[0]} work number {number} breaks",
            content=f"Look at {text} and count up to {number}{index} before going on with part{letter}{number}.",
            outcome="success",
        )
        for index, (letter, text) in enumerate(words.items())
    ]
    return (*lessons, Item(title="Nothing", description="", content="", outcome="success"))


@promise("distil:kill", "A worker that is killed with kill -9 loses no lesson and doubles none.", source="issue 3")
def test_a_worker_that_is_killed_loses_no_lesson_and_doubles_none(tmp_path: Path) -> None:
    store = open_storage(None, home=tmp_path).open(SCOPE)
    trajectories = [kept(store, f"s{number}", task=f"Mend number {number}") for number in range(30)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    acknowledged: set[str] = set()
    for delay in (0.02, 0.15, 60.0):
        with subprocess.Popen(
            [sys.executable, "-c", _WORKER, str(tmp_path)], stdout=subprocess.PIPE, text=True, env=environment
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            if delay < 60.0:
                time.sleep(delay)
                process.send_signal(signal.SIGKILL)
            acknowledged |= set(process.stdout.read().split())
        for trajectory in trajectories:
            origins = store.sessions.origins(trajectory=trajectory.id)
            refused = store.sessions.refusals(trajectory=trajectory.id)
            done = store.sessions.entry(trajectory.id).distilled is not None
            assert (len(origins), len(refused)) == ((3, 1) if done else (0, 0))
            assert done or trajectory.id not in acknowledged
    assert len(everything(store)) == 3 * len(trajectories)
    assert len(acknowledged) <= len(trajectories)
    assert not store.sessions.trajectories(limit=0, pending=True)
    assert store.check().problems == ()
    store.close()


_SEARCH = """
import json, sys
from pathlib import Path
from reasoningbank.bank import Bank
from reasoningbank.settings import Settings

with Bank.open(tenant="acme", project="shop", embedder="local", settings=Settings(home=Path(sys.argv[1]))) as bank:
    found = bank.search(sys.argv[2], unproven=3)
    print(json.dumps([[hit.id, hit.unproven, hit.confidence] for hit in found.delivered]))
"""


def found_by_a_new_process(home: Path, query: str) -> list[tuple[str, bool, float]]:
    """What a bank search in a process of its own delivers."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    answer = subprocess.run(
        [sys.executable, "-c", _SEARCH, str(home), query], capture_output=True, text=True, env=environment, check=True
    )
    return [(str(memory), bool(unproven), float(score)) for memory, unproven, score in json.loads(answer.stdout)]


@promise("distil:found", "What was learned is found by search in a new process.", source="seed 000 P2, P3")
def test_what_was_learned_is_found_in_a_new_process(tmp_path: Path, local_embedder: Embedder) -> None:
    store = open_storage(None, home=tmp_path).open(SCOPE)
    (strategy,) = taught(store, kept(store), CLOCK, embedder=local_embedder).memories
    failed = kept(store, "s2", task="Deploy on Friday")
    (lesson,) = taught(store, failed, GOOD_LESSON, judgement=judged("failure"), embedder=local_embedder).memories
    store.close()
    query = "our test fails around midnight depending on the date"
    assert sorted(found_by_a_new_process(tmp_path, query)) == [(strategy.id, True, 0.6), (lesson.id, True, 0.6)]


@promise("distil:near-duplicate")
def test_the_index_of_a_lesson_is_the_bank_s_own(store_of_each_kind: Store, local_embedder: Embedder) -> None:
    (memory,) = taught(store_of_each_kind, kept(store_of_each_kind), CLOCK, embedder=local_embedder).memories
    expected = index([memory], local_embedder)[0].vectors[CONTENT_LEG]
    stored = store_of_each_kind.search.vector(CONTENT_LEG, memory.id)
    assert stored is not None and float(stored @ expected) > 0.999
