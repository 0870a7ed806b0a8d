"""The loop without a model, from process start: a session is captured, becomes a recipe, and a hook shows it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from promises import promise
from sessions.learned_sessions import environment
from sessions.recorded_sessions import Turn, claude_code, codex

RBANK = Path(sys.executable).parent / "rbank"
ERROR = 'Traceback (most recent call last):\n  File "/srv/{place}.py", line {line}, in <module>\n' + (
    "ModuleNotFoundError: No module named 'yaml'"
)
PROVEN = 0.7
FAILED: dict[str, Any] = {
    "hook_event_name": "PostToolUseFailure",
    "tool_name": "Bash",
    "tool_input": {"command": "python3 -m app.other"},
    "error": f"Exit code 1\n{ERROR.format(place='elsewhere/other', line=77)}",
}
TURNS = (
    Turn("Run it.", "python3 -m app.report", ERROR.format(place="report", line=3), 1),
    Turn("The parser is missing.", "pip install pyyaml", "Successfully installed pyyaml-6.0"),
    Turn("Again.", "python3 -m app.report", "12 rows written"),
)


CLIENT = (sys.executable, "-c", "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:]).returncode)")
"""A client that runs a hook: a person's commands beside it are not under it."""


def run(shop: Path, home: Path, *words: str, given: str = "") -> str:
    """Runs ``rbank`` in a project's directory, hooks under a client of their own, and returns what it prints."""
    done = subprocess.run(
        [*(CLIENT if words[0] == "hook" else ()), str(RBANK), *words],
        input=given,
        env={**environment(home), "HOME": str(home.parent)},
        cwd=shop,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout


@promise(
    "recipes:hook",
    "In the default install, without a key, a captured session becomes a recipe that a worker makes, and the hook of a "
    "tool that failed with the same error shows it, unproven, with the day of its session.",
    source="issue 11 Recipes",
)
@pytest.mark.parametrize("written", [claude_code, codex])
def test_a_captured_session_is_shown_when_its_error_comes_again(tmp_path: Path, written: Callable[..., str]) -> None:
    home, shop = tmp_path / "home", tmp_path / "shop"
    shop.mkdir()

    def rbank(*words: str, given: str = "") -> str:
        return run(shop, home, *words, given=given)

    transcript = tmp_path / "session.jsonl"
    transcript.write_text(written(TURNS, "Make the report run"), encoding="utf-8")
    assert "1 captured" in rbank("capture", str(transcript))
    assert "1 done" in rbank("worker", "--once")
    assert "ModuleNotFoundError: No module named 'yaml'" in rbank("list")
    payload = {"session_id": "a-week-later", "cwd": str(shop), **FAILED}
    answer = rbank("hook", "PostToolUseFailure", given=json.dumps(payload))
    shown = json.loads(answer)["hookSpecificOutput"]["additionalContext"]
    assert "| - ran: pip install pyyaml" in shown
    assert "Then `python3 -m app.report` passed." in shown
    assert "seen once, in a session of" in shown
    assert "unproven, test it with care" in shown
    assert rbank("hook", "PostToolUseFailure", given=json.dumps(payload)).strip() == "{}", "once a session"
    other = {**payload, "session_id": "another", "error": FAILED["error"].replace("yaml", "toml")}
    assert "pyyaml" not in rbank("hook", "PostToolUseFailure", given=json.dumps(other))


@promise(
    "recipes:at-its-error",
    "The recipe for the very error is shown when a tool fails with it, once a session, although the session was shown "
    "it at its start; and when the session succeeds, that is evidence for it.",
    source="issue 11 Recipes",
)
def test_a_proven_recipe_is_shown_again_at_its_error_and_earns_credit(tmp_path: Path) -> None:
    home, shop = tmp_path / "home", tmp_path / "shop"
    shop.mkdir()

    def confidence() -> float:
        (memory,) = (one for one in json.loads(run(shop, home, "list", "--json"))["memories"] if "yaml" in one["title"])
        return float(memory["confidence"])

    def hook(event: str, session: str, **more: object) -> str:
        payload = {"session_id": session, "cwd": str(shop), **more, "hook_event_name": event}
        answer = json.loads(run(shop, home, "hook", event, given=json.dumps(payload)))
        return str(answer.get("hookSpecificOutput", {}).get("additionalContext", ""))

    transcript = tmp_path / "session.jsonl"
    transcript.write_text(claude_code(TURNS, "Make the report run"), encoding="utf-8")
    run(shop, home, "capture", str(transcript))
    run(shop, home, "worker", "--once")
    for number in range(9):
        if confidence() > PROVEN:
            break
        assert "pip install pyyaml" in hook("PostToolUseFailure", f"earlier-{number}", **FAILED)
        run(shop, home, "session-outcome", f"earlier-{number}", "succeeded")
    before = confidence()
    assert before > PROVEN
    assert "pip install pyyaml" in hook("SessionStart", "now", source="startup")
    assert "pip install pyyaml" in hook("PostToolUseFailure", "now", **FAILED)
    assert hook("PostToolUseFailure", "now", **FAILED) == "", "once a session"
    run(shop, home, "session-outcome", "now", "succeeded")
    assert confidence() > before


WATCHERS = "Error: ENOSPC: System limit for number of file watchers reached, watch '/srv/shop/src'"
UNWATCHED = Turn(
    "Start it.", "npm run dev", f"{WATCHERS}\n    at FSWatcher.start (node:internal/fs/watchers:248:19)", 1
)
TRIED = (
    UNWATCHED,
    Turn("Install anew.", "npm ci", "added 812 packages in 9s"),
    UNWATCHED,
    Turn("Another version.", "npm install chokidar@3", "added 1 package in 1s"),
    UNWATCHED,
)
OTHERS = (
    ("ls src/main", "ls: cannot access 'src/main': No such file or directory"),
    ("python3 -m app", ERROR.format(place="app", line=3).replace("yaml", "httpx")),
    ("ruff check", "app/a.py:1:8: F401 [*] `os` imported but unused\nFound 1 error."),
    ("npx tsc", "src/a.ts(3,5): error TS2304: Cannot find name 'fetchAll'."),
    ("npm test", "Error: Cannot find module './limits'\nRequire stack:\n- /srv/shop/test/a.js"),
    (
        "npm ci",
        "npm error code EACCES\nnpm error syscall mkdir\nnpm error Error: EACCES: permission denied, mkdir '/srv/x'",
    ),
    (
        "npm run dev",
        "Error: listen EADDRINUSE: address already in use :::3000\n    at Server.setupListenHandle (node:net:1)",
    ),
)


@promise(
    "recipes:silent",
    "A recipe or a dead end is shown after a tool's failure only where its own error came again: other errors, however "
    "alike their words are, bring none, neither alone nor beside the right recipe.",
    source="issue 11 Recipes",
)
def test_other_errors_bring_no_recipe(tmp_path: Path) -> None:
    home, shop = tmp_path / "home", tmp_path / "shop"
    shop.mkdir()
    for number, (turns, task) in enumerate([(TRIED, "Start the shop"), (TURNS, "Make the report run")]):
        transcript = tmp_path / f"session-{number}.jsonl"
        told = claude_code(turns, task, "It does not start yet.").replace("cc-1", f"cc-{number}")
        transcript.write_text(told, encoding="utf-8")
        run(shop, home, "capture", str(transcript))
    run(shop, home, "worker", "--once")

    def shown(number: int, command: str, error: str) -> str:
        payload = {**FAILED, "session_id": f"later-{number}", "cwd": str(shop), "tool_input": {"command": command}}
        answer = json.loads(
            run(
                shop,
                home,
                "hook",
                "PostToolUseFailure",
                given=json.dumps({**payload, "error": f"Exit code 1\n{error}"}),
            )
        )
        return str(answer.get("hookSpecificOutput", {}).get("additionalContext", ""))

    assert "npm ci" in shown(0, "npm run dev", TRIED[0].observation)
    for number, (command, error) in enumerate(OTHERS, start=1):
        assert shown(number, command, error) == "", command
    right = shown(99, "python3 -m app.report", ERROR.format(place="report", line=5))
    assert "pip install pyyaml" in right
    assert "npm ci" not in right
