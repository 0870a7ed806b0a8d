"""``python -m jobs.killed_worker HOME``: forks a worker for each line it reads and answers with its process id.

A worker opens the bank and does its jobs until it is killed; its model takes a moment for each answer.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from reasoningbank.bank import Bank
from reasoningbank.llm.scripted import ScriptedModel
from reasoningbank.settings import Settings
from reasoningbank.testing import HashingEmbedder
from reasoningbank.types.ports import Prompt
from reasoningbank.types.session import Trajectory
from sessions.made_lessons import ran

LEASE = timedelta(milliseconds=400)
SECONDS = 0.05


def open_bank(home: Path) -> Bank:
    """The bank that all workers share."""
    return Bank.open(
        tenant="acme",
        project="shop",
        embedder=HashingEmbedder(256),
        model=ScriptedModel(answer),
        settings=Settings(home=home),
    )


def words(number: int) -> list[str]:
    """Words that belong to one session alone."""
    return [f"w{number}{letter * 3}" for letter in "abcdefghkmnp"]


def answer(prompt: Prompt) -> str:
    """One lesson about the words of the session that was asked about."""
    time.sleep(SECONDS)
    number = int(prompt.material.partition("session number ")[2].split()[0])
    own = words(number)
    item = {
        "title": f"Handle {' '.join(own[:3])}",
        "description": f"When {own[3]} breaks {own[4]}",
        "content": f"Compare {' and '.join(own[5:])} before the change.",
        "steps": [0],
        "tags": [],
    }
    return json.dumps({"strategies": [item], "lessons": []})


def warm_up() -> None:
    """Loads everything that a worker needs, so that a fork of this process begins to work at once."""
    with TemporaryDirectory() as scratch, open_bank(Path(scratch)) as bank:
        bank.sessions.keep(Trajectory(task="Repair session number 0", steps=(ran(3),), session="s0"))
        bank.jobs.work()


def main(home: Path) -> None:
    """Forks workers until its input ends."""
    warm_up()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for _ in sys.stdin:
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            with open_bank(home) as bank:
                while True:
                    bank.jobs.work(limit=1, lease=LEASE)
                    time.sleep(0.005)
        print(pid, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
