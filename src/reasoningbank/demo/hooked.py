"""The part of Claude Code in the demonstration: it runs commands and the installed hooks, and writes the transcript.

Hooks and server are those that ``rbank install claude-code`` has written into the configuration; they run as the
client runs them, with its payloads on stdin. The transcript has the client's format and grows with each step.
"""

from __future__ import annotations

import json
import subprocess
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from reasoningbank.demo.agent import Ran
from reasoningbank.errors import BankError

_SECONDS = 60.0
_VERSION = "2.1.197"
_MOST_OUTPUT = 30_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """Hold what the installation has written: the hooks of each event, and how the server is started.

    Attributes:
        hooks: Commands by event.
        server: The server's command.
        variables: Variables of the server.
    """

    hooks: Mapping[str, tuple[tuple[str, ...], ...]]
    server: tuple[str, ...]
    variables: Mapping[str, str]


def read_installed(home: Path) -> Installed:
    """Return the entries of Claude Code's own files below a home directory.

    Raises:
        BankError: When they are not there.
    """
    try:
        settings = json.loads((home / ".claude" / "settings.json").read_text(encoding="utf-8"))
        server = json.loads((home / ".claude.json").read_text(encoding="utf-8"))["mcpServers"]["reasoningbank"]
    except (OSError, ValueError, KeyError) as error:
        raise BankError(f"the installation is not complete: {error}", hint="Run rbank doctor.") from error
    return Installed(
        hooks={
            event: tuple((hook["command"], *hook["args"]) for group in groups for hook in group["hooks"])
            for event, groups in settings["hooks"].items()
        },
        server=(server["command"], *server["args"]),
        variables=server.get("env", {}),
    )


def run_command(command: str, directory: Path, variables: Mapping[str, str]) -> Ran:
    """Run a command in a shell of its own, as agents' clients do."""
    done = subprocess.run(  # noqa: S603 - a command of the demonstration's own script
        ["sh", "-c", command],  # noqa: S607 - the system's shell
        cwd=directory,
        env=dict(variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=_SECONDS,
        check=False,
    )
    return Ran(command=command, exit_code=done.returncode, output=done.stdout[-_MOST_OUTPUT:].rstrip("\n"))


class PlainShell:
    """A client without a memory: it only runs commands."""

    def __init__(self, directory: Path, variables: Mapping[str, str]) -> None:
        self._directory = directory
        self._variables = variables

    def run(self, thought: str, command: str) -> Ran:
        """Run a command; nobody is told why."""
        del thought
        return run_command(command, self._directory, self._variables)


class HookedSession:
    """One session of a client with the installed hooks.

    Args:
        installed: The hooks.
        directory: The checkout that the agent works in.
        transcript: Where the transcript is written.
        variables: The environment of commands and hooks.
        prompt: What the user asks for.
    """

    def __init__(
        self, installed: Installed, directory: Path, transcript: Path, variables: Mapping[str, str], prompt: str
    ) -> None:
        self.id = str(uuid.uuid4())
        self._installed = installed
        self._directory = directory
        self._transcript = transcript
        self._variables = {**variables, "CLAUDE_PROJECT_DIR": str(directory)}
        self._last: str | None = None
        self._tell("SessionStart", source="startup")
        self._tell("UserPromptSubmit", prompt=prompt)
        self._write("user", message={"role": "user", "content": prompt})

    def run(self, thought: str, command: str) -> Ran:
        """Run a command as the client's Bash tool does; after a failure its hook may add something."""
        call = f"toolu_{uuid.uuid4().hex[:24]}"
        asked = {"command": command, "description": thought}
        self._say({"type": "text", "text": thought}, {"type": "tool_use", "id": call, "name": "Bash", "input": asked})
        ran = run_command(command, self._directory, self._variables)
        failed = ran.exit_code != 0
        seen = f"Exit code {ran.exit_code}\n{ran.output}" if failed else ran.output
        report = f"Error: {seen}" if failed else {"stdout": ran.output, "stderr": "", "interrupted": False}
        result = {"type": "tool_result", "tool_use_id": call, "content": seen, "is_error": failed}
        self._write("user", message={"role": "user", "content": [result]}, toolUseResult=report)
        if not failed:
            return ran
        shown = self._tell(
            "PostToolUseFailure",
            tool_name="Bash",
            tool_input=asked,
            tool_use_id=call,
            error=seen,
            is_interrupt=False,
        )
        return Ran(command=command, exit_code=ran.exit_code, output=ran.output, shown=shown)

    def end(self, answer: str) -> None:
        """Let the agent say its last words and end the session."""
        self._say({"type": "text", "text": answer})
        self._tell("SessionEnd", reason="prompt_input_exit")

    def _tell(self, event: str, **given: object) -> str:
        """Run the hooks of an event and return what they add for the agent; it is written as the client writes it."""
        payload = {
            "session_id": self.id,
            "transcript_path": str(self._transcript),
            "cwd": str(self._directory),
            "hook_event_name": event,
            **given,
        }
        added = []
        for command in self._installed.hooks.get(event, ()):
            done = subprocess.run(  # noqa: S603 - the command that the installation has written
                command,
                input=json.dumps(payload),
                cwd=self._directory,
                env=dict(self._variables),
                stdout=subprocess.PIPE,
                text=True,
                timeout=_SECONDS,
                check=False,
            )
            answer: dict[str, Any] = json.loads(done.stdout or "{}")
            added.append(answer.get("hookSpecificOutput", {}).get("additionalContext", ""))
        text = "\n".join(filter(None, added))
        if text:
            kept = {"type": "hook_additional_context", "content": [text], "hookName": event, "hookEvent": event}
            self._write("attachment", attachment=kept)
        return text

    def _say(self, *blocks: Mapping[str, object]) -> None:
        self._write("assistant", message={"role": "assistant", "model": "a script", "content": [*blocks]})

    def _write(self, kind: str, **fields: object) -> None:
        mark = str(uuid.uuid4())
        line = {
            "parentUuid": self._last,
            "isSidechain": False,
            "userType": "external",
            "cwd": str(self._directory),
            "sessionId": self.id,
            "version": _VERSION,
            "type": kind,
            "uuid": mark,
            "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            **fields,
        }
        self._transcript.parent.mkdir(parents=True, exist_ok=True)
        with self._transcript.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        self._last = mark
