"""A trajectory that an application made is prepared as one that was read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from promises import promise
from reasoningbank.errors import InvalidInput
from reasoningbank.sessions.readers import prepare
from reasoningbank.storage import open_storage
from reasoningbank.types.scope import Scope
from reasoningbank.types.session import Evidence, Step, Trajectory
from sessions.recorded_sessions import TASK, WRITERS, claude_code, sessions

TEXTS = st.text(max_size=60) | st.sampled_from(
    [
        "rbank search x",
        "memory_search",
        "pytest -q",
        "1 failed, 2 passed in 0.1s",
        "pass" + "word=hunter2x",
        "a\x1b[31mb",
        "x " * 5_000,
    ]
)
STEPS = st.builds(
    Step,
    user=TEXTS,
    thought=TEXTS,
    action=TEXTS,
    tool=TEXTS,
    observation=TEXTS,
    error=TEXTS,
    exit_code=st.none() | st.integers(-5, 300),
    actor=TEXTS,
)
FACTS = st.builds(
    Evidence,
    kind=st.just("user_verdict"),
    positive=st.booleans(),
    detail=TEXTS,
    name=TEXTS,
    step=st.none() | st.just(0),
)


@promise(
    "capture:prepare",
    "A trajectory that an application made is prepared as one that was read, facts of its steps before given ones, "
    "and preparing twice changes nothing more.",
    source="issue 3 Capture; plan prepare()",
)
@settings(max_examples=80)
@example(steps=[], facts=[], answer="0 \x1b\r0", metadata={})
@given(st.lists(STEPS, max_size=5), st.lists(FACTS, max_size=2), TEXTS, st.dictionaries(TEXTS, TEXTS, max_size=2))
def test_preparing_twice_changes_nothing_more(
    steps: list[Step], facts: list[Evidence], answer: str, metadata: dict[str, str]
) -> None:
    trajectory = Trajectory(
        task=TASK, steps=tuple(steps), evidence=tuple(facts), final_answer=answer, metadata=metadata, session=answer
    )
    once = prepare(trajectory)
    assert prepare(once) == once
    assert (once.id, once.created_at, len(once.steps)) == (trajectory.id, trajectory.created_at, len(steps))


@promise("capture:prepare")
@pytest.mark.parametrize("name", WRITERS)
def test_what_was_read_is_prepared(name: str, tmp_path: Path) -> None:
    (trajectory,) = sessions(tmp_path, WRITERS[name][0]())
    assert prepare(trajectory) == trajectory


@promise("capture:prepare")
def test_facts_of_the_steps_come_before_given_ones() -> None:
    given_fact = Evidence(kind="user_verdict", positive=False, detail="It is wrong.")
    step = Step(tool="bash", action="pytest -q", observation="3 passed in 0.1s", exit_code=0)
    trajectory = prepare(Trajectory(task=TASK, steps=(step,), evidence=(given_fact,)))
    assert trajectory.evidence[-1] == given_fact
    assert trajectory.evidence[0].kind == "test_run"
    assert trajectory.evidence[0].positive


@promise("capture:prepare")
def test_a_task_of_invisible_characters_is_refused() -> None:
    with pytest.raises(InvalidInput):
        prepare(Trajectory(task="\u200b\u2060"))


@promise("capture:same-twice")
def test_a_store_keeps_the_same_transcript_once(tmp_path: Path) -> None:
    store = open_storage(None, home=tmp_path / "home").open(Scope(tenant="t", project="p"))
    (first,) = sessions(tmp_path, claude_code())
    (second,) = sessions(tmp_path, claude_code())
    with store.transaction() as transaction:
        assert transaction.sessions.keep(first)
        assert not transaction.sessions.keep(second)
        assert transaction.sessions.keep(replace(second, session="another"))
    stored = store.sessions.trajectory(first.id)
    assert stored == first
    store.close()
