"""A session is one trajectory, and what it waits for is said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.errors import InvalidInput, NegativeLimit
from reasoningbank.llm.scripted import ScriptedModel
from reasoningbank.sessions.growth import continues
from reasoningbank.testing import FrozenClock
from reasoningbank.types.session import QUIET, Step, Trajectory
from sessions.learned_sessions import REPAIRED
from sessions.made_lessons import DELETED, FROZEN, lessons, strategies
from sessions.recorded_sessions import TURNS, Turn, claude_code

UNDONE = "".join(REPAIRED.splitlines(keepends=True)[:6])
"""The same session as ``REPAIRED`` when its test had failed and nothing was repaired."""


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


@promise(
    "session:one-trajectory",
    "A session that is captured again is one trajectory: the longer capture replaces the shorter one under the same "
    "id, is judged again and waits to be distilled; a shorter one changes nothing.",
    source="issue Sessions; DESIGN D8",
)
def test_the_longer_capture_takes_the_place_of_the_shorter_one(
    open_local_bank: Callable[..., Bank], tmp_path: Path
) -> None:
    bank = open_local_bank()
    first = bank.sessions.capture(written(tmp_path / "cc-1.jsonl", UNDONE)).trajectories[0]
    assert (first.verdict, first.steps) == ("failure", 2)
    longer = bank.sessions.capture(written(tmp_path / "cc-1.jsonl", REPAIRED)).trajectories[0]
    assert (longer.id, longer.verdict, longer.duplicate) == (first.id, "success", False)
    assert [one.verdict for one in bank.sessions.judgements(first.id)] == ["failure", "success"]
    assert len(bank.sessions.get(first.id).steps) == longer.steps
    shorter = bank.sessions.capture(written(tmp_path / "cc-1.jsonl", UNDONE)).trajectories[0]
    assert (shorter.id, shorter.verdict, shorter.duplicate) == (first.id, "success", True)
    assert len(bank.sessions.list()) == 1
    assert bank.admin.check().problems == ()
    bank.close()
    assert [one.id for one in open_local_bank().sessions.list()] == [first.id]


@promise("session:one-trajectory")
def test_another_session_of_that_name_stays_another_trajectory(local_bank: Bank, tmp_path: Path) -> None:
    local_bank.sessions.capture(written(tmp_path / "one.jsonl", REPAIRED))
    other = [Turn("Look elsewhere.", "ls", "a b"), *TURNS]
    local_bank.sessions.capture(written(tmp_path / "two.jsonl", claude_code(other)))
    assert len(local_bank.sessions.list()) == 2


steps = st.lists(
    st.builds(Step, thought=st.sampled_from(("", "a", "ab")), action=st.sampled_from(("ls", "pwd"))), max_size=4
)


@given(steps=steps, more=steps)
@promise("session:one-trajectory")
def test_a_state_is_continued_by_every_longer_one_and_only_by_those(steps: list[Step], more: list[Step]) -> None:
    earlier = Trajectory(task="t", steps=tuple(steps), session="s", source="claude-code")
    later = replace(earlier, steps=(*steps, *more))
    assert continues(later, earlier)
    assert continues(earlier, later) == (not more or continues(earlier, later))
    if len(more) > 0:
        assert not continues(earlier, later)
    assert not continues(replace(later, session="other"), earlier)
    assert not continues(replace(later, session=""), replace(earlier, session=""))
    if len(steps) > 1:
        assert not continues(replace(later, steps=(Step(action="rm"), *later.steps[1:])), earlier)


@promise(
    "session:interim",
    "A state that was captured while the session goes on credits and teaches nothing before the session has ended or "
    "was quiet for ten minutes.",
    source="issue Sessions",
)
@pytest.mark.parametrize("ends", ["quiet", "end"])
def test_an_interim_state_teaches_nothing(local_bank: Bank, clock: FrozenClock, tmp_path: Path, ends: str) -> None:
    memory = local_bank.record(title="Make ranges inclusive", content="Look at the end of a loop.", outcome="success")
    local_bank.search("the end of a loop", session="cc-1")
    transcript = written(tmp_path / "cc-1.jsonl", UNDONE)
    local_bank.sessions.capture_later(transcript, ended=False)
    local_bank.jobs.work()
    (state,) = local_bank.sessions.states()
    assert (state.state, state.shown, state.verdict) == ("captured", 1, "failure")
    assert state.reason.startswith("waits for quiet until ")
    assert local_bank.get(memory.id).confidence == 0.8
    if ends == "quiet":
        clock.advance(QUIET - timedelta(seconds=1))
        local_bank.jobs.work()
        assert local_bank.get(memory.id).confidence == 0.8
        clock.advance(timedelta(seconds=1))
    else:
        local_bank.sessions.capture_later(transcript)
    local_bank.jobs.work()
    assert local_bank.get(memory.id).confidence < 0.8
    (state,) = local_bank.sessions.states()
    assert (state.state, state.reason) == ("waiting", "waits for a model: none configured")
    local_bank.sessions.capture_later(written(transcript, REPAIRED))
    local_bank.jobs.work()
    assert local_bank.get(memory.id).confidence > 0.8
    assert len(local_bank.sessions.list()) == 1


@promise(
    "session:end-after-interim",
    "The end of a session is kept also while an interim state of it, equally long, is still queued.",
    source="issue Sessions",
)
def test_an_end_is_not_lost_while_an_interim_state_is_queued(local_bank: Bank, tmp_path: Path) -> None:
    transcript = written(tmp_path / "cc-1.jsonl", REPAIRED)
    assert local_bank.sessions.capture_later(transcript, ended=False) == 1
    assert local_bank.sessions.capture_later(transcript) == 1
    assert local_bank.sessions.capture_later(transcript) == 0
    local_bank.jobs.work()
    (state,) = local_bank.sessions.states()
    assert (state.state, state.reason) == ("waiting", "waits for a model: none configured")


@promise(
    "session:states",
    "`rbank sessions` shows where each session stands, queued, captured, waiting or distilled, and what it waits for.",
    source="issue Sessions",
)
def test_each_session_says_where_it_stands_and_why(local_bank: Bank, clock: FrozenClock, tmp_path: Path) -> None:
    assert local_bank.sessions.states() == ()
    transcript = tmp_path / "cc-1.jsonl"
    transcript.write_text(REPAIRED)
    local_bank.sessions.capture_later(transcript, quiet=QUIET)
    (state,) = local_bank.sessions.states()
    assert (state.state, state.task, state.id) == ("queued", "cc-1.jsonl", "")
    assert state.reason.startswith("waits for quiet until ")
    clock.advance(QUIET)
    assert "a worker or a server" in local_bank.sessions.states()[0].reason
    local_bank.jobs.work(limit=1)
    (state,) = local_bank.sessions.states()
    assert (state.state, state.verdict, state.judge) == ("captured", "success", "evidence")
    assert state.reason == "waits for a worker or a server, which do it within a minute"
    local_bank.jobs.work()
    (state,) = local_bank.sessions.states()
    assert (state.state, state.verdict, state.judge) == ("waiting", "success", "evidence")
    assert state.reason == "waits for a model: none configured"
    local_bank.distillation.skip(state.id)
    assert [(one.state, one.reason) for one in local_bank.sessions.states()] == [("distilled", "taught nothing new")]
    assert local_bank.sessions.states(state="waiting") == ()
    with pytest.raises(InvalidInput):
        local_bank.sessions.states(state="lost")  # type: ignore[arg-type]  # what no state is called


@promise("session:states")
def test_with_a_model_a_session_waits_for_a_worker(open_learning_bank: Callable[..., Bank], tmp_path: Path) -> None:
    bank = open_learning_bank(ScriptedModel({}))
    transcript = tmp_path / "cc-1.jsonl"
    transcript.write_text(REPAIRED)
    bank.sessions.capture(transcript)
    (state,) = bank.sessions.states()
    assert (state.state, "a worker or a server" in state.reason) == ("waiting", True)


@promise(
    "session:distilled-once",
    "What a shorter state of a session has taught does not double: when the longer one is distilled, what it does not "
    "teach again, and nobody has said anything about, is archived.",
    source="issue Sessions",
)
def test_what_a_shorter_state_taught_does_not_double(open_learning_bank: Callable[..., Bank], tmp_path: Path) -> None:
    first = {**FROZEN, "title": "Count the rows of a page", "content": "Count every row of one page in a test."}
    model = ScriptedModel({"distil_failure": lessons(DELETED), "distil_success": strategies(first)})
    bank = open_learning_bank(model)
    bank.sessions.capture(written(tmp_path / "cc-1.jsonl", UNDONE))
    bank.jobs.work()
    (before,) = bank.memories.list()
    assert (before.outcome, before.state) == ("failure", "candidate")
    bank.sessions.capture(written(tmp_path / "cc-1.jsonl", REPAIRED))
    assert len(bank.sessions.list(pending=True)) == 1
    bank.jobs.work()
    assert {one.outcome: one.state for one in bank.memories.list(states=("candidate", "archived"))} == {
        "failure": "archived",
        "success": "candidate",
    }
    for _ in range(2):
        bank.sessions.capture(written(tmp_path / "cc-1.jsonl", REPAIRED))
        bank.jobs.work()
    assert len(bank.memories.list(states=("candidate", "active"))) == 1
    assert [one.state for one in bank.sessions.states()] == ["distilled"]


@promise(
    "session:unknown-word-refused",
    "A list of sessions refuses a verdict or a state that does not exist, and a worker a negative limit.",
    source="DESIGN how we write: bad input gets an error",
)
def test_a_word_or_a_number_that_means_nothing_is_refused(local_bank: Bank) -> None:
    with pytest.raises(InvalidInput, match="success, failure, partial or unknown, not 'zzz'"):
        local_bank.sessions.list(verdict="zzz")  # type: ignore[arg-type]  # a caller without types
    with pytest.raises(InvalidInput, match="not 'zzz'"):
        local_bank.sessions.states(state="zzz")  # type: ignore[arg-type]  # a caller without types
    with pytest.raises(NegativeLimit):
        local_bank.jobs.work(limit=-1)
