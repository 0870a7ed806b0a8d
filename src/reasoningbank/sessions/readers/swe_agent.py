"""``.traj`` files of SWE-agent: an object with ``trajectory`` (steps), ``history`` (messages) and ``info``."""

from __future__ import annotations

import re

from reasoningbank.sessions.readers.drafts import Skipped
from reasoningbank.sessions.readers.json_stream import between, fields, joined, text, written
from reasoningbank.sessions.readers.turns import SessionBuilder
from reasoningbank.types.session import Evidence, Trajectory

NAME = "swe-agent"
_COMMANDS = frozenset(
    {
        "open",
        "goto",
        "scroll_up",
        "scroll_down",
        "create",
        "edit",
        "insert",
        "submit",
        "search_dir",
        "search_file",
        "find_file",
        "filemap",
        "str_replace_editor",
        "view_image",
        "skip",
        "exit_forfeit",
    }
)
_SHELL = "bash"
_TASKS = (
    re.compile(r"^ISSUE:\s*\n(.*?)(?=^INSTRUCTIONS:|\Z)", re.DOTALL | re.MULTILINE),
    re.compile(r"\A(.*?)(?=^INSTRUCTIONS:)", re.DOTALL | re.MULTILINE),
)
_FAILED = re.compile(
    r"\A\s*(?:EXECUTION TIMED OUT|COMMAND TIMED OUT|Your (?:proposed edit has introduced|command was not executed"
    r"|bash command contained syntax errors)|The command .{0,500} was cancelled because|Error: "
    r"|Traceback \(most recent call last\)|bash: .{0,200}: command not found)"
    r"|EXECUTION TIMED OUT\s*\Z",
    re.DOTALL,
)


class SweAgent:
    """Takes the pieces of one file or object in any order of its keys."""

    def __init__(self) -> None:
        self._session = SessionBuilder(NAME)

    def put(self, key: str, value: object) -> None:
        """Take the value of a key, or one element of the array that is its value."""
        if key == "trajectory":
            self._step(value)
        elif key == "history":
            self._message(value)
        elif key == "info":
            self._info(value)
        elif key == "problem_statement":
            self._session.propose_task(text(value) or text(fields(value).get("text")))
        elif key in ("instance_id", "id"):
            self._session.name = self._session.name or text(value)

    def finish(self, place: int) -> Trajectory | Skipped:
        """Return the trajectory, or why there is none."""
        return self._session.finish(place)

    def _step(self, value: object) -> None:
        step = fields(value)
        action = written(step.get("action")).strip()
        thought = text(step.get("thought")) or text(step.get("response"))
        observation = written(step.get("observation")).strip("\n")
        self._session.says(thought, counted=False)
        if not action:
            if observation:
                self._session.fails(observation)
            return
        first = action.split(maxsplit=1)[0]
        draft = self._session.acts("", first if first in _COMMANDS else _SHELL, action)
        self._session.observes(draft, observation, failed=_FAILED.search(observation) is not None)

    def _message(self, value: object) -> None:
        message = fields(value)
        if message.get("role") == "system":
            self._session.rules(joined(message.get("content")), further=True)
        if message.get("role") != "user" or message.get("is_demo") or self._session.has_task:
            return
        said = joined(message.get("content"))
        found = next((match for match in (pattern.search(said) for pattern in _TASKS) if match is not None), None)
        issue = found.group(1).strip() if found is not None else ""
        self._session.set_task(between(said, "<pr_description>", "</pr_description>") or issue or said)

    def _info(self, value: object) -> None:
        info = fields(value)
        submission = text(info.get("submission"))
        if submission.strip():
            self._session.set_answer(submission)
        note_exit(self._session, text(info.get("exit_status")))


def note_exit(session: SessionBuilder, status: str) -> None:
    """Keep how the agent's program ended; an end without a submission is a fact of its own."""
    if not status:
        return
    session.metadata["exit_status"] = status
    if not status.lower().startswith("submitted"):
        detail = f"the run ended without a submission: {status}"
        session.evidence.append(Evidence(kind="submission", positive=False, detail=detail))
