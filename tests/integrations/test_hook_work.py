"""What a hook's own process does after its answer, where no server and no worker runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import pytest

from promises import promise
from reasoningbank import Bank, Settings
from reasoningbank.integrations.hook_work import Watched, do_due_work
from reasoningbank.processes import process_of
from sessions.learned_sessions import PROJECT, RBANK, REPAIRED, TENANT, environment, eventually

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the system does not tell who runs")

CLIENT = """
import subprocess, sys
for _ in range(3):
    subprocess.run(sys.argv[2:], stdin=open(sys.argv[1]), stdout=subprocess.DEVNULL, check=True)
print("turns are over", flush=True)
sys.stdin.readline()
"""
"""A client that fires nothing but Stop, once a turn, and ends when it is told to."""


def processes_of(home: Path) -> list[int]:
    """The processes that run for a data directory, those of the test's client aside."""
    mark, found = f"REASONINGBANK_HOME={home}".encode(), list[int]()
    for process in Path("/proc").iterdir():
        try:
            ours = mark in (process / "environ").read_bytes().split(b"\0")
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if ours and b"hook" in words and CLIENT.encode() not in words:
            found.append(int(process.name))
    return found


def captured(home: Path) -> list[str]:
    with Bank.open(tenant=TENANT, project=PROJECT, settings=Settings(home=home)) as bank:
        return [entry.verdict for entry in bank.sessions.list()]


@promise(
    "hook:stop-only",
    "A session whose client fires nothing but Stop is captured when the client has ended, or was quiet for ten "
    "minutes, also where no server and no worker runs; one process of a bank waits for that, and none is left.",
    source="issue 11, Sessions",
)
def test_a_session_of_a_client_that_fires_only_stop_is_captured_when_the_client_ends(tmp_path: Path) -> None:
    home, transcript, payload = tmp_path / "home", tmp_path / "cc-1.jsonl", tmp_path / "payload"
    transcript.write_text(REPAIRED)
    payload.write_text(
        json.dumps({"session_id": "cc-1", "hook_event_name": "Stop", "transcript_path": str(transcript)})
    )
    words = (str(payload), str(RBANK), "hook", "stop", "--tenant", TENANT, "--project", PROJECT)
    client = subprocess.Popen(
        [sys.executable, "-c", CLIENT, *words],
        env=environment(home),
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert client.stdout is not None
    assert client.stdout.readline() == "turns are over\n"
    eventually(lambda: len(processes_of(home)) == 1)
    time.sleep(2)
    assert (len(processes_of(home)), captured(home)) == (1, [])
    client.communicate("", timeout=10)
    eventually(lambda: captured(home) == ["success"], seconds=60)
    eventually(lambda: processes_of(home) == [], seconds=20)
    assert [*home.glob("run/*.lock")] == [], "the lock goes with its holder"
    assert not (home / "hooks.log").exists()


@promise("hook:stop-only")
def test_a_session_that_was_quiet_for_long_enough_is_captured_while_its_client_lives(tmp_path: Path) -> None:
    transcript = tmp_path / "cc-1.jsonl"
    transcript.write_text(REPAIRED)
    settings = Settings(home=tmp_path, shared=False)
    watched = Watched(transcript=str(transcript), client=process_of(os.getpid()))
    with Bank.open(tenant=TENANT, project=PROJECT, settings=settings) as bank:
        bank.sessions.capture_later(transcript, quiet=timedelta(seconds=3))
        do_due_work(bank, settings)
        assert bank.sessions.list() == ()
        began = time.monotonic()
        do_due_work(bank, settings, patient=True, watched=watched)
        assert 1 < time.monotonic() - began < 30
        assert [entry.verdict for entry in bank.sessions.list()] == ["success"]
        assert not bank.jobs.due()
