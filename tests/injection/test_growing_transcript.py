"""A transcript that still grows is captured once it is quiet."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from learned_sessions import REPAIRED
from reasoningbank.bank import Bank
from reasoningbank.testing import FrozenClock

QUIET = timedelta(minutes=10)


@pytest.mark.promise("hook:capture")
def test_a_growing_file_is_one_trajectory(bank: Bank, clock: FrozenClock, tmp_path: Path) -> None:
    transcript = tmp_path / "cc-1.jsonl"
    lines = REPAIRED.splitlines(keepends=True)
    for end in range(1, len(lines) + 1):
        transcript.write_text("".join(lines[:end]))
        assert bank.sessions.capture_later(transcript, quiet=QUIET) == 1
        clock.advance(QUIET / 2)
        bank.jobs.work()
        assert bank.sessions.list() == ()
    clock.advance(QUIET)
    bank.jobs.work()
    assert len(bank.sessions.list()) == 1
    assert bank.sessions.capture_later(transcript, quiet=QUIET) == 1
    assert bank.sessions.capture_later(transcript) == 1
    assert bank.sessions.capture_later(transcript) == 0
    bank.jobs.work()
    clock.advance(2 * QUIET)
    assert bank.jobs.work().done == 0
    assert len(bank.sessions.list()) == 1


@pytest.mark.promise("hook:capture")
def test_a_file_that_held_no_session_yet_is_taken_up_again_when_it_does(
    bank: Bank, clock: FrozenClock, tmp_path: Path
) -> None:
    transcript = tmp_path / "cc-1.jsonl"
    transcript.write_text("nothing of a session\n")
    bank.sessions.capture_later(transcript, quiet=QUIET)
    clock.advance(QUIET)
    bank.jobs.work()
    assert len(bank.jobs.dead()) == 1
    transcript.write_text(REPAIRED)
    assert bank.sessions.capture_later(transcript, quiet=QUIET) == 1
    clock.advance(QUIET)
    bank.jobs.work()
    assert (len(bank.jobs.dead()), len(bank.sessions.list())) == (0, 1)
