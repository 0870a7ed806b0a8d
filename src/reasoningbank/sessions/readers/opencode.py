"""Sessions of opencode as ``opencode export`` writes them: one object with the session and its messages."""

from __future__ import annotations

from collections.abc import Mapping

from reasoningbank.sessions.readers.drafts import Skipped
from reasoningbank.sessions.readers.json_stream import action, exit_code, fields, joined, listed, moment, text
from reasoningbank.sessions.readers.turns import SessionBuilder
from reasoningbank.types.session import Trajectory

NAME = "opencode"
_NO_OUTPUT = "(no output)"


class OpenCode:
    """Takes the parts of one session."""

    def __init__(self) -> None:
        self._session = SessionBuilder(NAME)

    def put(self, key: str, value: object) -> None:
        """Take what is said about the session, or one message."""
        if key == "info":
            self._head(fields(value))
        elif key == "messages":
            self._message(fields(value))

    def finish(self, place: int) -> Trajectory | Skipped:
        """Return the trajectory, or why there is none."""
        return self._session.finish(place)

    def _head(self, info: Mapping[str, object]) -> None:
        self._session.name = text(info.get("id"))
        self._session.starts(moment(fields(info.get("time")).get("created")))
        self._session.describe(info, {"directory": "directory", "version": "client_version"})

    def _message(self, message: Mapping[str, object]) -> None:
        info = fields(message.get("info"))
        self._session.starts(moment(fields(info.get("time")).get("created")))
        if not self._session.name:
            self._session.name = text(info.get("sessionID"))
        parts = [fields(part) for part in listed(message.get("parts"))]
        if info.get("role") == "user":
            self._session.rules(text(info.get("system")))
            self._person(parts)
        elif info.get("role") == "assistant":
            self._session.describe(info, {"modelID": "model"})
            self._session.rules(joined(info.get("system")))
            self._agent(parts, info)

    def _person(self, parts: list[Mapping[str, object]]) -> None:
        said = []
        for part in parts:
            words = text(part.get("text"))
            if part.get("type") != "text" or part.get("ignored") is True:
                continue
            if part.get("synthetic") is True:
                self._session.desk.read(words)
            else:
                said.append(words)
        self._session.hears("\n".join(filter(None, said)))

    def _agent(self, parts: list[Mapping[str, object]], info: Mapping[str, object]) -> None:
        summary = info.get("summary") is True
        counted = True
        for part in parts:
            kind = part.get("type")
            if kind == "text" and not summary:
                self._session.says(text(part.get("text")), counted=counted)
                counted = False
            elif kind == "reasoning":
                self._session.says(text(part.get("text")), counted=False, final=False)
            elif kind == "tool":
                self._call(part)
        problem = fields(info.get("error"))
        if problem:
            told = text(fields(problem.get("data")).get("message")) or text(problem.get("name"))
            self._session.fails(told)

    def _call(self, part: Mapping[str, object]) -> None:
        call, tool, state = text(part.get("callID")), text(part.get("tool")), fields(part.get("state"))
        self._session.acts(call, tool, action(tool, state.get("input")))
        status, facts = state.get("status"), fields(state.get("metadata"))
        if status == "error":
            seen = text(facts.get("output")) or text(state.get("error"))
            self._session.answers(call, seen, failed=True, exit_code=exit_code(facts.get("exit")))
        elif status == "completed":
            seen = joined(state.get("output"))
            code = exit_code(facts.get("exit"))
            self._session.answers(call, "" if seen == _NO_OUTPUT else seen, exit_code=code)
