"""Events of Copilot CLI: one object per line, with a type and its data."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from reasoningbank.safety.quotation import memories_in
from reasoningbank.sessions.readers.drafts import Skipped
from reasoningbank.sessions.readers.json_stream import (
    action,
    exit_code,
    fields,
    joined,
    listed,
    moment,
    number,
    text,
)
from reasoningbank.sessions.readers.turns import SessionBuilder
from reasoningbank.types.session import Trajectory

NAME = "copilot"
_EXITED = re.compile(r"\n?<(?:shellId: \S{1,80} completed|exited) with exit code (-?\d{1,9})>\s*\Z")
_SHELLS = frozenset({"bash", "powershell", "local_shell"})
_CONTINUED = "agent-"
_SUB_AGENT = "sub-agent"
_MAX_KNOWN = 20_000


class Copilot:
    """Reads the events of one session."""

    def __init__(self) -> None:
        self._session = SessionBuilder(NAME)
        self._place = 0
        self._tools: dict[str, str] = {}
        self._agents: dict[str, str] = {}

    def take(self, place: int, entry: object) -> Iterator[Trajectory | Skipped]:
        """Read one event; yield what was wrong with it."""
        line = fields(entry)
        kind, data = line.get("type"), line.get("data")
        self._place = self._place or place
        if not isinstance(kind, str) or not isinstance(data, dict):
            yield Skipped(place, "it must be an object with a type and data")
            return
        self._session.starts(moment(line.get("timestamp")))
        actor = self._actor(line, data)
        if kind in ("session.start", "session.resume"):
            self._head(data)
        elif kind == "user.message":
            self._person(data, actor)
        elif kind == "assistant.message":
            self._agent(data, actor)
        elif kind == "tool.execution_start":
            self._call(text(data.get("toolCallId")), text(data.get("toolName")), data.get("arguments"), actor)
        elif kind == "tool.execution_complete":
            self._result(data, actor)
        elif kind == "subagent.started":
            _remember(self._agents, text(data.get("toolCallId")), text(data.get("agentName")) or _SUB_AGENT)
        elif kind == "hook.end":
            for shown in fields(data.get("output")).values():
                self._session.desk.show(memories_in(text(shown)))
        elif kind == "session.error":
            self._session.fails(text(data.get("message")), actor)

    def finish(self) -> Iterator[Trajectory | Skipped]:
        """Yield the session."""
        yield self._session.finish(self._place)

    def _actor(self, line: Mapping[str, object], data: Mapping[str, object]) -> str:
        call, agent = text(data.get("parentToolCallId")), text(line.get("agentId"))
        if not call and not agent:
            return ""
        name = self._agents.get(call) or self._agents.get(agent) or _SUB_AGENT
        return f"{name} {agent or call}"

    def _head(self, data: Mapping[str, object]) -> None:
        self._session.name = self._session.name or text(data.get("sessionId"))
        self._session.describe(data, {"copilotVersion": "client_version", "selectedModel": "model"})
        names = {"cwd": "directory", "branch": "branch", "headCommit": "commit"}
        self._session.describe(fields(data.get("context")), names)

    def _person(self, data: Mapping[str, object], actor: str) -> None:
        self._session.desk.read(text(data.get("transformedContent")))
        said = text(data.get("content"))
        if actor or text(data.get("source")).startswith(_CONTINUED):
            self._session.propose_task(said)
        elif not data.get("source") and data.get("isAutopilotContinuation") is not True:
            self._session.hears(said)

    def _agent(self, data: Mapping[str, object], actor: str) -> None:
        self._session.describe(data, {"model": "model"})
        self._session.says(text(data.get("reasoningText")), actor, counted=False, final=False)
        self._session.says(text(data.get("content")), actor, final=not actor)
        for entry in listed(data.get("toolRequests")):
            request = fields(entry)
            self._call(text(request.get("toolCallId")), text(request.get("name")), request.get("arguments"), actor)

    def _call(self, call: str, tool: str, arguments: object, actor: str) -> None:
        """Take a call; the agent's message asks for it and an event of its own says that it began."""
        if call not in self._tools:
            _remember(self._tools, call, tool)
            self._session.acts(call, tool, action(tool, arguments), actor)

    def _result(self, data: Mapping[str, object], actor: str) -> None:
        call, result = text(data.get("toolCallId")), fields(data.get("result"))
        tool = self._tools.get(call, "")
        seen = joined(result.get("content"))
        code = exit_code(fields(data.get("shellExecution")).get("exitCode"))
        exited = _EXITED.search(seen[-300:]) if tool in _SHELLS else None
        if exited is not None:
            code = number(exited.group(1)) if code is None else code
            seen = seen[: len(seen) - len(exited.group(0))].lstrip("\n")
        failed = data.get("success") is False
        told = text(fields(data.get("error")).get("message")) if failed else ""
        self._session.answers(call, seen or told, failed=failed, exit_code=code, actor=actor)


def _remember(known: dict[str, str], key: str, value: str) -> None:
    if len(known) >= _MAX_KNOWN:
        known.pop(next(iter(known)))
    known[key] = value
