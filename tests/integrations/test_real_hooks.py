"""Hooks as real clients run them, and what an agent is told about sessions that wait."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from agent_clients import AgentServer, client_environment
from promises import promise
from reasoningbank.integrations.hook_payload import payload_of
from sessions.learned_sessions import RBANK, REPAIRED, UNDECIDED, environment, rbank, written

LESSON = ("--title", "Close files", "--content", "Close the file before it is moved.", "--outcome", "success")
QUESTION = "How do I move a file that is open?"


def installed_into(client: str, folder: Path, variables: dict[str, str]) -> dict[str, str]:
    """Install into a client of a user below a folder, with a lesson in the bank, and return its environment."""
    home = folder / "home"
    assert rbank(home, "record", *LESSON).returncode == 0
    own = {name: value for name, value in environment(home).items() if name.startswith(("REASON", "PYTHONP"))}
    given = {**variables, **own}
    done = subprocess.run(
        [str(RBANK), "--tenant", "acme", "--project", "shop", "install", client, "--json"],
        env=given,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return variables | {"PYTHONPATH": given["PYTHONPATH"]}


@promise(
    "hooks:gemini",
    "Gemini CLI runs the hooks that are installed into it, and its model is shown the memories that fit the prompt.",
    source="issue 11",
)
@pytest.mark.timeout(240)
def test_gemini_cli_shows_its_model_what_fits(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    with AgentServer("Done.") as server:
        variables = client_environment("gemini", tmp_path / "user", server.url)
        variables = installed_into("gemini", tmp_path, variables)
        done = subprocess.run(
            ["gemini", "--skip-trust", "-m", "gemini-2.5-flash", "-p", QUESTION],
            env=variables,
            cwd=work,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        asked = next(each for each in server.requests if QUESTION in each.text)
    assert "Close the file before it is moved." in asked.text
    assert "reasoningbank-memories" in asked.text


@promise("hooks:gemini")
def test_what_gemini_cli_put_before_the_prompt_is_not_searched_for() -> None:
    told = {
        "session_id": "s",
        "hook_event_name": "BeforeAgent",
        "prompt": f"<hook_context>Old\nwords</hook_context>\n\n{QUESTION}",
    }
    assert payload_of(json.dumps(told).encode()).prompt == QUESTION
    told["hook_event_name"] = "UserPromptSubmit"
    assert payload_of(json.dumps(told).encode()).prompt == told["prompt"]


def started(home: Path, **settings: str) -> str:
    """What an agent is told at the start of a session."""
    done = subprocess.run(
        [sys.executable, "-m", "reasoningbank.cli", "hook", "session-start", "--tenant", "acme", "--project", "shop"],
        env=environment(home, **settings),
        input=json.dumps({"session_id": "s", "hook_event_name": "SessionStart", "source": "startup"}),
        capture_output=True,
        text=True,
        check=True,
    )
    answer: dict[str, Any] = json.loads(done.stdout)
    return str(answer.get("hookSpecificOutput", {}).get("additionalContext", ""))


@promise(
    "hooks:reminder",
    "At the start of a session an agent is told at most once a day, in one line, how many sessions wait to be "
    "distilled; never when a model does it, none waits, or reminders are switched off.",
    source="issue 11",
)
def test_an_agent_is_told_once_a_day_that_sessions_wait(tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert rbank(home, "capture", *written(tmp_path, {"undecided": UNDECIDED})).returncode == 0
    assert started(home) == ""
    assert rbank(home, "capture", *written(tmp_path, {"one": REPAIRED})).returncode == 0
    assert started(home, reminders="false") == ""
    assert started(home, llm="client:claude-code") == ""
    (line,) = started(home).splitlines()
    assert "1 captured session waits" in line
    assert "memory_distill" in line
    assert started(home) == ""
    (home / "reminded").write_text(datetime(2026, 1, 1, tzinfo=UTC).date().isoformat())
    assert "memory_distill" in started(home)
