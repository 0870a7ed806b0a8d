"""Chats of Gemini CLI: lines with a head, messages and changes to them, or the one object of earlier versions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from reasoningbank.sessions.readers.drafts import Skipped
from reasoningbank.sessions.readers.json_stream import action, fields, joined, listed, moment, number, text, written
from reasoningbank.sessions.readers.turns import SessionBuilder
from reasoningbank.types.session import Trajectory

NAME = "gemini"
CHANGE = "$set"
"""Key of a line that changes what was said before."""
REWIND = "$rewindTo"
"""Key of a line that takes messages back."""
SPEAKERS = frozenset({"user", "gemini", "info", "warning", "error"})
"""Types of messages."""
_INSERTED = re.compile(r"<(hook_context|session_context)>.*?(?:</\1>|\Z)", re.DOTALL)
_SHELL = "run_shell_command"
_REPORT = "Output: "
_NOTES = ("Exit Code: ", "Signal: ", "Background PIDs: ", "Process Group PGID: ")
"""Lines after a command's output, in this order, as far as they apply."""
_ERROR = "Error: "
_CODE = re.compile(r"-?\d{1,9}")
_MAX_KNOWN = 20_000
_FAILED = frozenset({"error", "cancelled"})


class Gemini:
    """Reads the lines of one chat, which is one session."""

    def __init__(self) -> None:
        self._chat = GeminiChat()
        self._place = 0

    def take(self, place: int, entry: object) -> Iterator[Trajectory | Skipped]:
        """Read one line; yield what was wrong with it."""
        line = fields(entry)
        self._place = self._place or place
        if CHANGE in line:
            line = fields(line[CHANGE])
            for message in listed(line.get("messages")):
                self._chat.put("messages", message)
        elif is_message(line):
            self._chat.put("messages", line)
        elif "projectHash" in line:
            for key, value in line.items():
                for part in value if isinstance(value, list) else [value]:
                    self._chat.put(key, part)
        elif REWIND not in line:
            yield Skipped(place, "it is neither a message of a chat nor a change to one")

    def finish(self) -> Iterator[Trajectory | Skipped]:
        """Yield the session."""
        yield self._chat.finish(self._place)


class GeminiChat:
    """Takes the parts of one chat. A message that is written again is the same message with more in it."""

    def __init__(self) -> None:
        self._session = SessionBuilder(NAME)
        self._actor = ""
        self._said: dict[str, bool] = {}
        self._called: dict[str, bool] = {}

    def put(self, key: str, value: object) -> None:
        """Take the value of a key, or one message."""
        if key == "messages":
            self._message(fields(value))
        elif key == "sessionId":
            self._session.name = text(value)
        elif key == "startTime":
            self._session.starts(moment(value))
        elif key == "kind" and value == "subagent":
            self._actor = "sub-agent"

    def finish(self, place: int) -> Trajectory | Skipped:
        """Return the trajectory, or why there is none."""
        return self._session.finish(place)

    def _message(self, message: Mapping[str, object]) -> None:
        kind, mark = text(message.get("type")), text(message.get("id"))
        self._session.starts(moment(message.get("timestamp")))
        said = _words(message.get("content"))
        new = bool(said.strip()) and mark not in self._said
        if new:
            _remember(self._said, mark, True)
        if kind == "user" and new:
            self._session.desk.read(said)
            self._session.hears(_INSERTED.sub("", said).strip())
        elif kind == "gemini":
            self._session.describe(message, {"model": "model"})
            for thought in listed(message.get("thoughts")) if new or mark not in self._said else ():
                known = fields(thought)
                words = "\n".join(filter(None, (text(known.get("subject")), text(known.get("description")))))
                self._session.says(words, self._actor, counted=False, final=False)
                _remember(self._said, mark, True)
            if new:
                self._session.says(said, self._actor)
            for call in listed(message.get("toolCalls")):
                self._call(fields(call))
        elif kind == "error" and new:
            self._session.fails(said, self._actor)

    def _call(self, call: Mapping[str, object]) -> None:
        mark, tool, status = text(call.get("id")), text(call.get("name")), text(call.get("status"))
        if mark not in self._called:
            self._session.acts(mark, tool, action(tool, call.get("args")), self._actor)
            _remember(self._called, mark, False)
        result = call.get("result")
        if self._called[mark] or (result is None and status not in _FAILED):
            return
        self._called[mark] = True
        seen, code, broken = _seen(tool, result)
        failed = broken or status in _FAILED
        self._session.answers(mark, seen, failed=failed, exit_code=code, actor=self._actor)


def is_message(entry: Mapping[str, object]) -> bool:
    """Return whether an object is a message of a chat."""
    return text(entry.get("type")) in SPEAKERS and "content" in entry and isinstance(entry.get("id"), str)


def _words(content: object) -> str:
    """Return what a message says: it is a text, a part, or a list of both."""
    return joined([content] if isinstance(content, dict) else content)


def _seen(tool: str, result: object) -> tuple[str, int | None, bool]:
    """Return what a call answered, its exit status and whether it says that it failed."""
    found: list[str] = []
    broken = False
    for part in listed(result):
        answer = fields(fields(fields(part).get("functionResponse")).get("response"))
        broken = broken or "error" in answer
        found.append(written(answer.get("output", answer.get("error"))) if answer else text(fields(part).get("text")))
    seen = "\n".join(filter(None, found)) if isinstance(result, list) else written(result)
    if tool != _SHELL:
        return seen, None, broken
    return _reported(seen, broken)


def _reported(seen: str, broken: bool) -> tuple[str, int | None, bool]:
    """Return what a command wrote, its exit status and whether it failed, out of the shell tool's report."""
    report = seen.strip().removeprefix("<untrusted_context>\n").removesuffix("\n</untrusted_context>")
    if not report.startswith(_REPORT):
        return seen, None, broken
    notes: dict[str, str] = {}
    for name in reversed(_NOTES):
        before, _, last = report.rpartition("\n")
        if before and last.startswith(name):
            notes[name], report = last.removeprefix(name), before
    exit_status, signal, background, _ = (notes.get(name) for name in _NOTES)
    code = number(exit_status) if exit_status is not None and _CODE.fullmatch(exit_status) else None
    output = report.removeprefix(_REPORT)
    ran = output.rpartition("\n")[2].startswith(_ERROR) is False
    if exit_status is None and signal is None and background is None and ran:
        code = 0
    told = f"Signal: {signal}" if signal is not None else ""
    return "\n".join(filter(None, ("" if output == "(empty)" else output, told))), code, broken or signal is not None


def _remember(known: dict[str, bool], key: str, value: bool) -> None:
    if len(known) >= _MAX_KNOWN:
        known.pop(next(iter(known)))
    known[key] = value
