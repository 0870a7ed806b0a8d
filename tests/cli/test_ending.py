"""Processes that are told to end: within five seconds, whatever they are doing, and nothing acknowledged is lost."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from llm.replay_server import Asked, ReplayServer, Reply
from promises import promise
from sessions.learned_sessions import (
    PROJECT,
    RBANK,
    REPAIRED,
    TENANT,
    bank_of,
    environment,
    eventually,
    with_model,
    written,
)

SECONDS = 5.0
BIG_LINES = 400_000
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM")


@pytest.fixture
def silent() -> Iterator[ReplayServer]:
    """A model that never answers."""

    def wait(_: Asked) -> Reply:
        return Reply(body="{}", delay=3.0 * SECONDS)

    with ReplayServer(wait) as server:
        yield server


def _ends(process: subprocess.Popen[str]) -> None:
    """Asserts that the process ends in time when it is told to, and says nothing of it."""
    process.send_signal(signal.SIGTERM)
    began = time.monotonic()
    try:
        _, complained = process.communicate(timeout=4 * SECONDS)
        assert time.monotonic() - began < SECONDS
    finally:
        process.kill()
    assert process.returncode in {0, -signal.SIGTERM}
    assert "Traceback" not in complained


def _started(home: Path, url: str, *command: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [str(RBANK), "--tenant", TENANT, "--project", PROJECT, *command],
        env=environment(home, **with_model(url)),
        cwd=home.parent,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


WORKING: dict[str, tuple[str, ...]] = {
    "worker": ("worker", "--poll", "0.1"),
    "http": ("serve", "--http", "127.0.0.1:0"),
    "stdio": ("serve",),
}


@promise(
    "durability:ends-in-time",
    "A worker and a server end within five seconds of SIGTERM, also while a model does not answer or a huge file is "
    "read; what was queued is still there.",
    source="issue 13",
)
@pytest.mark.parametrize("entrance", WORKING)
def test_a_model_that_does_not_answer_keeps_no_process_from_ending(
    entrance: str, tmp_path: Path, silent: ReplayServer
) -> None:
    home = tmp_path / "home"
    (session,) = written(tmp_path, {"now.jsonl": REPAIRED})
    with bank_of(home) as bank:
        process = _started(home, silent.url, *WORKING[entrance])
        try:
            bank.sessions.capture_later(session)
            eventually(lambda: bool(silent.requests))
            _ends(process)
        finally:
            process.kill()
        assert len(bank.sessions.list()) == 1
        assert [state.state for state in bank.sessions.states()] != ["distilled"]
        assert bank.admin.check().problems == ()


@promise("durability:ends-in-time")
def test_a_huge_file_keeps_no_worker_from_ending(tmp_path: Path, silent: ReplayServer) -> None:
    home = tmp_path / "home"
    huge = tmp_path / "huge.jsonl"
    turn = json.dumps({"role": "assistant", "content": "I looked at the next part of the file. " * 6})
    with huge.open("w") as file:
        file.write(json.dumps({"role": "user", "content": "Read it all."}) + "\n")
        for _ in range(BIG_LINES):
            file.write(turn + "\n")
    with bank_of(home) as bank:
        bank.sessions.capture_later(huge)
        process = _started(home, silent.url, *WORKING["worker"])
        time.sleep(2.5)
        _ends(process)
        assert bank.admin.check().problems == ()
