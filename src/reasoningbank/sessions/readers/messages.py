"""Lists of messages as OpenAI's and Anthropic's interfaces know them, and logs of several agents that talk."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from reasoningbank.sessions.readers.drafts import Skipped, StepDraft
from reasoningbank.sessions.readers.json_stream import action, exit_code, fields, joined, listed, moment, number, text
from reasoningbank.sessions.readers.turns import SessionBuilder
from reasoningbank.types.session import Trajectory

NAME = "messages"
LISTS = ("messages", "traj", "history", "conversation")
"""Keys of a session whose value is its list of messages; the first that has any counts."""
_TASKS = ("question", "task")
_SESSIONS = ("session_id", "session", "conversation_id", "question_ID", "id")
_PERSONS = frozenset({"user", "human", "User", "Human", "user_proxy"})
_SILENT = frozenset({"system", "developer"})
_TOOLS = frozenset({"tool", "function"})
_FAILED = re.compile(
    r"\A\s*(?:(?:Error|ERROR|Exception)\b ?[:(]|Traceback \(most recent call last\)|\{\"error\": ?[\"{])"
)
_EXIT_CODE = re.compile(r"\A\s*(?:<returncode>\s*|exit ?code: ?)(-?\d{1,9})\b", re.IGNORECASE)
_TERMINAL = re.compile(r"terminal|executor", re.IGNORECASE)
_GOODBYE = "TERMINATE"
_GOODBYE = "TERMINATE"
_CODE = re.compile(r"```[\w+-]*[ \t]*\n(.*?)```", re.DOTALL)
_MAX_REPORT = 100_000


class Messages:
    """Takes the messages of one session. What else stands beside them, such as labels, is not looked at."""

    def __init__(self) -> None:
        self._session = SessionBuilder(NAME)
        self._list = ""
        self._facts: dict[str, str] = {}
        self._said: StepDraft | None = None
        self._words = ""

    def put(self, key: str, value: object) -> None:
        """Take the value of a key, or one element of the array that is its value."""
        if key in LISTS:
            self._list = self._list or key
            if key == self._list:
                self._message(fields(value))
        elif key in _SILENT:
            self._session.rules(joined(value if isinstance(value, (str, list)) else [value]), further=True)
        elif key in _TASKS and isinstance(value, str):
            self._session.set_task(value)
        elif key in _SESSIONS and isinstance(value, (str, int)) and not isinstance(value, bool):
            self._facts[key] = str(value)
        elif key in ("task_id", "trial") and isinstance(value, (str, int)):
            self._facts[key] = self._session.metadata[key] = str(value)
        elif key in ("created_at", "timestamp"):
            self._session.starts(moment(value))

    def finish(self, place: int) -> Trajectory | Skipped:
        """Return the trajectory, or why there is none."""
        trial = " ".join(f"{key} {self._facts[key]}" for key in ("task_id", "trial") if key in self._facts)
        self._session.name = next((self._facts[key] for key in _SESSIONS if key in self._facts), trial)
        return self._session.finish(place)

    def _message(self, message: Mapping[str, object]) -> None:
        role, content = text(message.get("role")), message.get("content")
        self._session.starts(moment(message.get("timestamp")))
        speaker = text(message.get("name"))
        if role in _TOOLS:
            call = text(message.get("tool_call_id")) or speaker
            self._result(call, joined(content), exit_code(message.get("exit_code")))
        elif role in _SILENT:
            self._session.rules(joined(content), further=True)
        elif not role:
            return
        elif speaker or (role not in _PERSONS and role != "assistant"):
            self._speaks(speaker or role, joined(content))
        elif role == "assistant":
            self._agent(message, content)
        else:
            self._person(content)

    def _person(self, content: object) -> None:
        said: list[str] = []
        for block in [content] if isinstance(content, str) else listed(content):
            part = fields(block)
            if part.get("type") == "tool_result":
                failed = part.get("is_error") is True
                self._result(text(part.get("tool_use_id")), joined(part.get("content")), None, failed=failed)
            else:
                said.append(block if isinstance(block, str) else text(part.get("text")))
        self._session.hears("\n".join(filter(None, said)))

    def _agent(self, message: Mapping[str, object], content: object) -> None:
        thought = text(message.get("reasoning_content")) or text(message.get("reasoning"))
        self._session.says(thought, counted=False, final=False)
        self._session.says(joined(content))
        for block in listed(content):
            part = fields(block)
            if part.get("type") == "tool_use":
                self._call(text(part.get("id")), text(part.get("name")), part.get("input"))
        for entry in listed(message.get("tool_calls")):
            call = fields(entry)
            function = fields(call.get("function")) or call
            self._call(text(call.get("id")), text(function.get("name")), function.get("arguments"))
        single = fields(message.get("function_call"))
        if single:
            self._call(text(single.get("name")), text(single.get("name")), single.get("arguments"))

    def _call(self, call: str, tool: str, arguments: object) -> None:
        self._session.acts(call, tool, action(tool, arguments))

    def _result(self, call: str, seen: str, code: int | None, *, failed: bool = False) -> None:
        if code is None:
            code = _reported(seen)
        self._session.answers(call, seen, failed=failed or _FAILED.match(seen) is not None, exit_code=code)

    def _speaks(self, speaker: str, said: str) -> None:
        """Take the words of one of several agents, or the terminal that runs the code of the one before."""
        ran = _EXIT_CODE.match(said)
        if self._said is not None and (ran is not None or _TERMINAL.search(speaker) is not None):
            if ran is not None:
                code = "\n".join(_CODE.findall(self._words))
                self._session.desk.act(self._said, "code" if code else "", code)
            exited = number(ran.group(1)) if ran is not None else None
            self._session.observes(self._said, said, exit_code=exited)
            self._said = None
            return
        if speaker in _PERSONS and not self._session.has_task:
            self._session.hears(said)
            return
        self._session.says(said, speaker, final=said.strip() != _GOODBYE)
        self._words = said
        self._said = self._session.pauses(speaker)


def _reported(seen: str) -> int | None:
    """Return the exit status that a tool's answer begins with or, as an object, names."""
    match = _EXIT_CODE.match(seen)
    if match is not None:
        return number(match.group(1))
    if not seen.lstrip().startswith("{") or len(seen) > _MAX_REPORT or '"' not in seen:
        return None
    if not any(f'"{key}"' in seen for key in ("exit_code", "exitCode", "returncode")):
        return None
    try:
        report = fields(json.loads(seen))
    except (ValueError, RecursionError):
        return None
    codes = (exit_code(report.get(key)) for key in ("exit_code", "exitCode", "returncode"))
    return next((code for code in codes if code is not None), None)
