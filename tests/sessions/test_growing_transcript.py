"""A transcript that still grows is captured once it is quiet."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.testing import FrozenClock
from sessions.learned_sessions import REPAIRED

QUIET = timedelta(minutes=10)


@promise("hook:capture")
def test_a_growing_file_is_one_trajectory(local_bank: Bank, clock: FrozenClock, tmp_path: Path) -> None:
    transcript = tmp_path / "cc-1.jsonl"
    lines = REPAIRED.splitlines(keepends=True)
    for end in range(1, len(lines) + 1):
        transcript.write_text("".join(lines[:end]))
        assert local_bank.sessions.capture_later(transcript, quiet=QUIET) == 1
        clock.advance(QUIET / 2)
        local_bank.jobs.work()
        assert local_bank.sessions.list() == ()
    clock.advance(QUIET)
    local_bank.jobs.work()
    assert len(local_bank.sessions.list()) == 1
    assert local_bank.sessions.capture_later(transcript, quiet=QUIET) == 1
    assert local_bank.sessions.capture_later(transcript) == 1
    assert local_bank.sessions.capture_later(transcript) == 0
    local_bank.jobs.work()
    clock.advance(2 * QUIET)
    assert local_bank.jobs.work().done == 0
    assert len(local_bank.sessions.list()) == 1


@promise("hook:capture")
def test_a_file_that_held_no_session_yet_is_taken_up_again_when_it_does(
    local_bank: Bank, clock: FrozenClock, tmp_path: Path
) -> None:
    transcript = tmp_path / "cc-1.jsonl"
    transcript.write_text("nothing of a session\n")
    local_bank.sessions.capture_later(transcript, quiet=QUIET)
    clock.advance(QUIET)
    local_bank.jobs.work()
    assert len(local_bank.jobs.dead()) == 1
    transcript.write_text(REPAIRED)
    assert local_bank.sessions.capture_later(transcript, quiet=QUIET) == 1
    clock.advance(QUIET)
    local_bank.jobs.work()
    assert (len(local_bank.jobs.dead()), len(local_bank.sessions.list())) == (0, 1)


@promise("hook:capture")
def test_the_end_of_a_session_may_overtake_its_last_turn(local_bank: Bank, tmp_path: Path) -> None:
    transcript = tmp_path / "cc-1.jsonl"
    transcript.write_text(REPAIRED)
    assert local_bank.sessions.capture_later(transcript) == 1
    assert local_bank.sessions.capture_later(transcript, quiet=QUIET) == 1
    local_bank.jobs.work()
    assert [each.state for each in local_bank.sessions.states()] == ["waiting"]
    assert local_bank.sessions.capture_later(transcript, ended=False) == 1
    assert local_bank.sessions.capture_later(transcript, quiet=QUIET) == 1
    local_bank.jobs.work()
    assert [each.state for each in local_bank.sessions.states()] == ["queued", "waiting"]
