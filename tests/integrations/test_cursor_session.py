"""Cursor's sessions through the hooks that are installed into it.

Cursor runs only with an account, so its part is played here: the payloads of its hooks and the lines of its transcript
have the form that its documentation (September 2026) and its own TypeScript SDK (1.0.18) give them.
"""

from __future__ import annotations

import json
import stat
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from integrations.test_whole_way import ERROR, RIGHT, TEST, WRONG
from promises import promise
from sessions.learned_sessions import RBANK, environment, eventually

FAILED = f'Traceback (most recent call last):\n  File "prices.py", line 6, in sign\nValueError: {ERROR}\n\nFAILED'
PASSED = "Ran 1 test in 0.001s\n\nOK"


@dataclass
class Cursor:
    """A user's Cursor: it runs the installed hooks and writes a transcript.

    Attributes:
        home: The user's home directory.
        work: The project.
        session: The conversation.
        said: The lines of its transcript.
        shown: What hooks have told its agent.
        says_where: Whether it tells its hooks where the transcript is.
    """

    home: Path
    work: Path
    session: str
    said: list[dict[str, object]] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    says_where: bool = True

    @property
    def transcript(self) -> Path:
        """Where Cursor keeps the conversation."""
        project = str(self.work).strip("/").replace("/", "-").replace("_", "-")
        return self.home / ".cursor/projects" / project / "agent-transcripts" / self.session / f"{self.session}.jsonl"

    def rbank(self, *words: str) -> Any:
        """The JSON that a command of ours answers with."""
        done = subprocess.run(
            [str(RBANK), *words, "--json"],
            env=self._environment(),
            cwd=self.work,
            capture_output=True,
            text=True,
            check=True,
        )
        return json.loads(done.stdout)

    def hook(self, event: str, **fields: object) -> dict[str, Any]:
        """Run the hooks of an event as they are installed."""
        installed = json.loads((self.home / ".cursor" / "hooks.json").read_text(encoding="utf-8"))
        assert installed["version"] == 1
        (handler,) = installed["hooks"][event]
        if fields.get("tool_name", "Shell") != handler.get("matcher", "Shell"):
            return {}
        payload = {
            "conversation_id": self.session,
            "generation_id": "g-1",
            "model": "m",
            "hook_event_name": event,
            "cursor_version": "3.7.0",
            "workspace_roots": [str(self.work)],
            "user_email": None,
            "transcript_path": str(self.transcript) if self.says_where else None,
            **fields,
        }
        done = subprocess.run(
            ["sh", "-c", handler["command"]],
            input=json.dumps(payload),
            env=self._environment(),
            cwd=self.home / ".cursor",
            capture_output=True,
            text=True,
            timeout=handler["timeout"] * 10,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        answer = cast(dict[str, Any], json.loads(done.stdout))
        self.shown.append(str(answer.get("additional_context", "")))
        return answer

    def asks(self, prompt: str) -> None:
        """A person begins the conversation."""
        self.hook("sessionStart", session_id=self.session, is_background_agent=False)
        self.hook("beforeSubmitPrompt", prompt=prompt, attachments=[])
        self._line("user", {"type": "text", "text": f"<user_query>\n{prompt}\n</user_query>"})

    def uses(self, tool: str, given: Mapping[str, object], answer: Mapping[str, object]) -> str:
        """The agent calls a tool; what hooks tell it then."""
        self._line("assistant", {"type": "tool_use", "name": tool, "input": given})
        told = {"tool_name": tool, "tool_input": given, "tool_output": json.dumps(answer), "duration": 12}
        return str(self.hook("postToolUse", tool_use_id="t", cwd="", **told).get("additional_context", ""))

    def ends(self, answer: str) -> None:
        """The agent says that it is done, and the conversation is closed."""
        self._line("assistant", {"type": "text", "text": answer})
        self.said.append({"type": "turn_ended", "status": "success"})
        self._write()
        self.hook("stop", status="completed", loop_count=0)
        self.hook("sessionEnd", reason="completed", duration_ms=9, final_status="completed")

    def repairs(self) -> str:
        """The agent runs the test, edits, and runs it again; what it is told after the failure."""
        told = self.uses("Shell", {"command": TEST}, {"output": FAILED, "exitCode": 1})
        edit = {"path": str(self.work / "prices.py"), "old_string": WRONG, "new_string": RIGHT}
        self.uses("StrReplace", edit, {})
        self.uses("Shell", {"command": TEST}, {"output": PASSED, "exitCode": 0})
        return told

    def _line(self, role: str, block: dict[str, object]) -> None:
        self.said.append({"role": role, "message": {"content": [block]}})
        self._write()

    def _write(self) -> None:
        self.transcript.parent.mkdir(parents=True, exist_ok=True)
        self.transcript.write_text("".join(f"{json.dumps(line)}\n" for line in self.said), encoding="utf-8")

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in environment(self.home).items() if name != "REASONINGBANK_HOME"}
        return kept | {"HOME": str(self.home), "XDG_DATA_HOME": str(self.home / "data")}


@promise(
    "capture:cursor-hooks",
    "The hooks that are installed into Cursor note what its shell commands did, because its transcripts do not say it; "
    "a session that repaired a failing test is so captured with exit statuses and becomes a recipe, which the hook of "
    "the next failing command shows; when that session ends well the recipe is credited.",
    source="issue 11; Cursor's documentation of hooks",
)
@pytest.mark.timeout(180)
@pytest.mark.parametrize("says_where", [True, False])
def test_a_session_of_cursor_is_captured_shown_and_credited(says_where: bool, tmp_path: Path) -> None:
    home, work = tmp_path / "user", tmp_path / "shop"
    work.mkdir()
    first = Cursor(home, work, "6130c625-1b9e-4f7a-a1a2-0c9d2c1f4e11", says_where=says_where)
    home.mkdir()
    first.rbank("install", "cursor")
    first.asks("The price test fails. Find out why and repair it.")
    assert first.repairs() == ""
    first.ends("The price test passes now.")
    assert "".join(first.shown) == ""
    eventually(lambda: [each["state"] for each in first.rbank("sessions")["sessions"]] == ["waiting"])
    (session,) = first.rbank("sessions")["sessions"]
    assert (session["session"], session["verdict"]) == (first.session, "success")
    (recipe,) = first.rbank("list")["memories"]
    assert recipe["title"] == f"ValueError: {ERROR}"
    kept = [*(home / "data" / "reasoningbank" / "cursor-sessions").iterdir()]
    assert len(kept) == 2
    assert {stat.S_IMODE(path.stat().st_mode) for path in kept} == {0o600}

    second = Cursor(home, work, "6130c625-1b9e-4f7a-a1a2-0c9d2c1f4e12", says_where=says_where)
    second.asks("What does the build say?")
    assert recipe["id"] in second.repairs()
    second.ends("The price test passes again.")
    eventually(lambda: len(second.rbank("sessions")["sessions"]) == 2)
    eventually(lambda: second.rbank("get", recipe["id"])["confidence"] > recipe["confidence"])
