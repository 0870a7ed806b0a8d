"""What the tests of the surfaces share about learning: small recorded sessions, a model's answers, real processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

import reasoningbank
from llm.replay_server import Asked
from mcp_processes import sharing
from reasoningbank import Bank, Settings
from reasoningbank.llm.prompts import prompt
from sessions.recorded_sessions import TURNS, Turn, claude_code

RBANK = Path(sys.executable).parent / "rbank"
TENANT, PROJECT = "acme", "shop"
STRATEGY = {
    "title": "Count the rows of one page in a test",
    "description": "When a paged export loses rows; not when whole pages are missing",
    "content": "Write a test that counts the rows of one page, make the range inclusive, and run the test again.",
    "steps": [1, 2, 3],
    "tags": ["paging"],
}
ABOUT_MEMORY = {
    "title": "Ask the memory bank first",
    "description": "When a task begins",
    "content": "Call memory_search of the reasoning bank before anything else and read the memories it returns.",
    "steps": [0],
    "tags": [],
}
LESSON = {
    "title": "Do not trust a count that nobody checked",
    "description": "When a report is sent to customers without a check of its numbers",
    "what_went_wrong": "The totals were copied from yesterday's file, so that every customer saw old numbers.",
    "do_instead": "Compute the totals again and compare two of them by hand before the report is sent.",
    "steps": [0],
    "tags": ["reports"],
}
RULE = {
    "title": "Ask for rows by their paging task",
    "description": "When rows of a paged result are missing",
    "content": "Look at the bounds of the loop over pages first, because an exclusive end drops the last row.",
}
_ANSWERS: dict[str, dict[str, object]] = {
    "distil_success": {"strategies": [STRATEGY, ABOUT_MEMORY], "lessons": []},
    "distil_failure": {"strategies": [], "lessons": [LESSON]},
    "strategy_success": {**RULE},
    "session": {"nodes": [], "edges": []},
    "judge": {
        "reason": "No step shows that the report was right or that it was sent.",
        "completeness": "unclear",
        "grounding": "unclear",
        "right_target": "unclear",
        "verdict": "unknown",
        "probability": 0.5,
    },
}
REPAIRED = claude_code()
"""A session that its own test runs prove to be a success."""
UNDECIDED = json.dumps(
    {
        "session": "report-1",
        "task": "Send the monthly report to all customers.",
        "steps": [{"thought": "I take the totals of yesterday, they will do.", "tool": "editor", "action": "report"}],
        "final_answer": "The report is on its way.",
    }
)
"""A session that nothing proves anything about."""


def repaired(number: int) -> str:
    """A further session of the same kind with words of its own."""
    first = Turn(
        f"Look at exporter number {number}.", f"sed -n 1,40p export/{number}.py", "for row in range(size - 1):"
    )
    return claude_code((first, *TURNS[1:]), task=f"Exporter {number} drops the last row; repair it.").replace(
        "cc-1", f"cc-{number}"
    )


def model(asked: Asked) -> str:
    """The recorded model: a good strategy and one that must be refused, a lesson, the rule of a search, or nothing."""
    name = next((name for name in _ANSWERS if json.dumps(prompt(name, "").instructions)[1:400] in asked.text), "")
    return json.dumps(_ANSWERS[name])


def environment(home: Path, **settings: str) -> dict[str, str]:
    """The environment of a process: this data directory, these settings, and nothing of the developer's."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("REASONINGBANK_")}
    own = {"HOME": str(home), "PAID_CALLS": "false", **{name.upper(): value for name, value in settings.items()}}
    source = str(Path(reasoningbank.__file__).parents[1])
    given = {f"REASONINGBANK_{name}": value for name, value in own.items()}
    return kept | sharing() | given | {"PYTHONPATH": source}


def with_model(url: str) -> dict[str, str]:
    """The settings of the recorded model."""
    return {"llm": "openai:recorded", "llm_url": url}


def rbank(home: Path, *arguments: str | Path, **settings: str) -> subprocess.CompletedProcess[str]:
    """Runs the installed command in a process of its own."""
    home.parent.mkdir(parents=True, exist_ok=True)
    return subprocess.run(
        [str(RBANK), "--tenant", TENANT, "--project", PROJECT, *map(str, arguments)],
        env=environment(home, **settings),
        cwd=home.parent,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def answer(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The JSON object of a command that did its work."""
    assert done.returncode == 0, done.stderr
    return cast(dict[str, Any], json.loads(done.stdout))


def bank_of(home: Path, **settings: Any) -> Bank:
    """The same bank inside this process."""
    return Bank.open(tenant=TENANT, project=PROJECT, settings=Settings(home=home, **settings))


def written(folder: Path, sessions: Mapping[str, str]) -> list[Path]:
    """Transcripts as files."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in sessions.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in sessions]


def eventually(found: Callable[[], bool], seconds: float = 60) -> None:
    """Waits until something is so."""
    deadline = time.monotonic() + seconds
    while not found():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.1)
