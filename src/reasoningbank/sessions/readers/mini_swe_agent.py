"""``.traj.json`` files of mini-swe-agent: messages in which every answer is one command and every reply its output."""

from __future__ import annotations

import re
from collections.abc import Mapping

from reasoningbank.sessions.readers.drafts import Skipped, StepDraft
from reasoningbank.sessions.readers.json_stream import (
    action,
    between,
    exit_code,
    fields,
    joined,
    listed,
    moment,
    number,
    text,
)
from reasoningbank.sessions.readers.swe_agent import note_exit
from reasoningbank.sessions.readers.turns import SessionBuilder
from reasoningbank.types.session import Trajectory

NAME = "mini-swe-agent"
MARKS = ("mswea_bash_command", "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT", "MINI_SWE_AGENT_FINAL_OUTPUT", "<returncode>")
_COMMAND = re.compile(r"```(?:mswea_bash_command|bash|sh)[ \t]*\n(.*?)\n?```", re.DOTALL)
_RETURNED = re.compile(r"<returncode>\s*(-?\d{1,9})\s*</returncode>")
_OUTPUT = re.compile(r"<(output|output_head)>\n?(.*?)\n?(?:</\1>|\Z)", re.DOTALL)
_EXCEPTION = re.compile(r"<exception>\s*(.*?)\s*(?:</exception>|\Z)", re.DOTALL)
_HEADER = 400
_SUBMITS = ("COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT", "MINI_SWE_AGENT_FINAL_OUTPUT")
_ASKS = "Please solve this issue:"
_RULES = re.compile(r"\n[ \t]{0,20}\nYou can execute bash commands|\n[ \t]{0,20}<instructions>")
_PREAMBLE = "Consider the following PR description:"
_TOOL = "bash"


class MiniSweAgentReader:
    """Takes the messages and the info of one file or object."""

    def __init__(self) -> None:
        self._session = SessionBuilder(NAME)
        self._last: StepDraft | None = None
        self._submitted = False

    def put(self, key: str, value: object) -> None:
        """Take the value of a key, or one element of the array that is its value."""
        if key == "info":
            info = fields(value)
            note_exit(self._session, text(info.get("exit_status")))
            self._session.set_answer(text(info.get("submission")))
        elif key == "instance_id":
            self._session.name = text(value)
        elif key == "messages":
            self._message(fields(value))

    def finish(self, place: int) -> Trajectory | Skipped:
        """Return the trajectory, or why there is none."""
        return self._session.finish(place)

    def _message(self, message: Mapping[str, object]) -> None:
        role, said = message.get("role"), joined(message.get("content"))
        extra = fields(message.get("extra"))
        self._session.starts(moment(message.get("timestamp")) or moment(extra.get("timestamp")))
        if role == "assistant":
            self._answer(message, said, extra)
        elif role == "exit":
            note_exit(self._session, text(extra.get("exit_status")))
            self._session.set_answer(text(extra.get("submission")) or said)
        elif role == "system":
            self._session.rules(said, further=True)
        elif role in ("user", "tool"):
            if not self._session.has_task and role == "user":
                self._session.hears(_asked(said))
            else:
                self._reply(message, said, extra)

    def _answer(self, message: Mapping[str, object], said: str, extra: Mapping[str, object]) -> None:
        calls = [fields(call) for call in listed(message.get("tool_calls"))]
        commands = [
            (text(call.get("id")), action(_TOOL, fields(call.get("function")).get("arguments"))) for call in calls
        ]
        if not commands:
            planned = [text(fields(step).get("command")) for step in listed(extra.get("actions"))]
            commands = [("", command) for command in planned if command]
        if not commands:
            commands = [("", command) for command in _COMMAND.findall(said)[:1]]
            said = _COMMAND.sub("", said) if commands else said
        self._session.says(said.strip())
        self._last = None
        for call, command in commands:
            self._last = self._session.acts(call, _TOOL, command)
            self._submitted = any(mark in command for mark in _SUBMITS)

    def _reply(self, message: Mapping[str, object], said: str, extra: Mapping[str, object]) -> None:
        call, draft = text(message.get("tool_call_id")), self._last
        returned = _RETURNED.search(said, 0, _HEADER)
        exception = _EXCEPTION.search(said, 0, 10 * _HEADER) if said.lstrip().startswith("<") else None
        code = number(returned.group(1)) if returned is not None else exit_code(extra.get("returncode"))
        output = _OUTPUT.search(said) if returned is not None else None
        seen = said if output is None or exception is not None else output.group(2)
        failed = exception is not None and bool(exception.group(1))
        if call:
            self._session.answers(call, seen, failed=failed, exit_code=code)
        elif draft is not None:
            self._session.observes(draft, seen, failed=failed, exit_code=code)
            self._last = None
        elif said.strip():
            self._session.fails(said)
        if self._submitted and returned is None and said.strip():
            self._session.set_answer(said)


def _asked(said: str) -> str:
    """Return what was asked, without the rules that the program puts around it."""
    described = between(said, "<pr_description>", "</pr_description>").removeprefix(_PREAMBLE).strip()
    if described or not said.lstrip().startswith(_ASKS):
        return described or said
    rules = _RULES.search(said)
    return said[: rules.start() if rules else len(said)].strip().removeprefix(_ASKS).strip() or said
