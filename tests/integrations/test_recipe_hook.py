"""The loop without a model, from process start: a session is captured, becomes a recipe, and a hook shows it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from promises import promise
from sessions.learned_sessions import environment
from sessions.recorded_sessions import Turn, claude_code, codex

RBANK = Path(sys.executable).parent / "rbank"
ERROR = 'Traceback (most recent call last):\n  File "/srv/{place}.py", line {line}, in <module>\n' + (
    "ModuleNotFoundError: No module named 'yaml'"
)
TURNS = (
    Turn("Run it.", "python3 -m app.report", ERROR.format(place="report", line=3), 1),
    Turn("The parser is missing.", "pip install pyyaml", "Successfully installed pyyaml-6.0"),
    Turn("Again.", "python3 -m app.report", "12 rows written"),
)


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
        done = subprocess.run(
            [str(RBANK), *words],
            input=given,
            env={**environment(home), "HOME": str(tmp_path)},
            cwd=shop,
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        return done.stdout

    transcript = tmp_path / "session.jsonl"
    transcript.write_text(written(TURNS, "Make the report run"), encoding="utf-8")
    assert "1 captured" in rbank("capture", str(transcript))
    assert "1 done" in rbank("worker", "--once")
    assert "ModuleNotFoundError: No module named 'yaml'" in rbank("list")
    payload = {
        "session_id": "a-week-later",
        "cwd": str(shop),
        "hook_event_name": "PostToolUseFailure",
        "tool_name": "Bash",
        "tool_input": {"command": "python3 -m app.other"},
        "error": f"Exit code 1\n{ERROR.format(place='elsewhere/other', line=77)}",
    }
    answer = rbank("hook", "PostToolUseFailure", given=json.dumps(payload))
    shown = json.loads(answer)["hookSpecificOutput"]["additionalContext"]
    assert "| - ran: pip install pyyaml" in shown
    assert "Then `python3 -m app.report` passed." in shown
    assert "seen in a session of" in shown
    assert "unproven, test it with care" in shown
    assert rbank("hook", "PostToolUseFailure", given=json.dumps(payload)).strip() == "{}", "once a session"
    other = {**payload, "session_id": "another", "error": payload["error"].replace("yaml", "toml")}  # type: ignore[attr-defined]
    assert "pyyaml" not in rbank("hook", "PostToolUseFailure", given=json.dumps(other))
