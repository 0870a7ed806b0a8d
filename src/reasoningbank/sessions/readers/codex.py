"""Rollouts of Codex: an object per line, with a type and a payload, or the bare payload in early versions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from reasoningbank.sessions.readers.drafts import Skipped, StepDraft
from reasoningbank.sessions.readers.json_stream import (
    action,
    exit_code,
    fields,
    joined,
    listed,
    moment,
    number,
    shell_words,
    text,
    texts,
    written,
)
from reasoningbank.sessions.readers.turns import SessionBuilder
from reasoningbank.types.session import Trajectory

NAME = "codex"
_INSERTED = re.compile(
    r"\A\s*(?:<(?:environment_context|user_instructions|turn_aborted|permissions|skill|collaboration_mode|hook|"
    r"subagent_notification|apps_instructions|INSTRUCTIONS)\b|# AGENTS\.md instructions|# Context from my IDE)"
)
_REQUEST = re.compile(r"^## My request for Codex:?\s*", re.MULTILINE)
_EXITED = re.compile(r"^(?:Process exited with code|Exit code:|exit_code:) ?(-?\d{1,9})\s*$", re.MULTILINE)
_HEADER = 600
_OUTPUT = re.compile(
    r"\A(?:(?:Chunk ID|Wall time|Exit code|Process|Original token count|Total output lines)[^\n]*\n)+Output:\n"
)
_MAX_CALLS = 1_000


class Codex:
    """Reads the lines of one rollout, which is one session."""

    def __init__(self) -> None:
        self._session = SessionBuilder(NAME)
        self._actor = ""
        self._place = 0
        self._named = False
        self._calls: dict[str, StepDraft] = {}
        self._ended: dict[str, int] = {}
        self._spoken: list[str] = []

    def take(self, place: int, entry: object) -> Iterator[Trajectory | Skipped]:
        """Read one line; yield what was wrong with it."""
        line = fields(entry)
        self._place = self._place or place
        if not line:
            yield Skipped(place, "it is not an object")
            return
        self._session.starts(moment(line.get("timestamp")))
        kind, payload = line.get("type"), line.get("payload")
        if isinstance(payload, dict):
            if kind == "session_meta":
                self._head(payload)
            elif kind == "turn_context":
                self._session.describe(payload, {"model": "model"})
            elif kind == "event_msg":
                self._event(payload)
            elif kind == "response_item":
                self._item(payload)
        elif isinstance(kind, str):
            self._item(line)
        elif "id" in line and "timestamp" in line:
            self._head(line)
        elif "record_type" not in line:
            yield Skipped(place, "it must be an object with a type and a payload")

    def finish(self) -> Iterator[Trajectory | Skipped]:
        """Yield the session."""
        for words in self._spoken:
            self._session.propose_task(words)
        yield self._session.finish(self._place)

    def _head(self, payload: Mapping[str, object]) -> None:
        if self._named:
            return
        self._named = True
        self._session.name = text(payload.get("id"))
        self._session.starts(moment(payload.get("timestamp")))
        self._session.describe(payload, {"cwd": "directory", "cli_version": "client_version"})
        self._session.rules(
            text(fields(payload.get("base_instructions")).get("text")) or text(payload.get("instructions"))
        )
        self._session.describe(fields(payload.get("git")), {"branch": "branch", "commit_hash": "commit"})
        if "subagent" in fields(payload.get("source")):
            name = text(payload.get("agent_nickname")) or text(payload.get("agent_role"))
            self._actor = f"sub-agent {name}".strip()

    def _event(self, payload: Mapping[str, object]) -> None:
        kind = payload.get("type")
        if kind == "user_message" and not self._spoken:
            self._spoken.append(_words(text(payload.get("message"))))
        elif kind == "exec_command_end":
            code, call = exit_code(payload.get("exit_code")), text(payload.get("call_id"))
            draft = self._calls.get(call)
            if code is not None and draft is not None and draft.exit_code is None:
                draft.exit_code = code
            if code is not None and len(self._ended) < _MAX_CALLS:
                self._ended[call] = code
        elif kind == "error":
            self._session.fails(text(payload.get("message")), self._actor)

    def _item(self, item: Mapping[str, object]) -> None:
        kind = item.get("type")
        if kind == "message":
            self._message(item)
        elif kind == "reasoning":
            thoughts = [*texts(item.get("summary")), *texts(item.get("content"))]
            self._session.says("\n".join(thoughts), self._actor, counted=False, final=False)
        elif kind in ("function_call", "custom_tool_call", "mcp_tool_call"):
            space, tool = text(item.get("namespace")), text(item.get("name"))
            arguments = item.get("input") if kind == "custom_tool_call" else item.get("arguments")
            self._call(item, f"{space}{tool}" if space.endswith("__") else tool, action(tool, arguments))
        elif kind == "local_shell_call":
            self._call(item, "shell", shell_words(listed(fields(item.get("action")).get("command"))))
        elif kind == "web_search_call":
            self._call(item, "web_search", text(fields(item.get("action")).get("query")))
        elif isinstance(kind, str) and kind.endswith("_call_output"):
            self._output(item)

    def _message(self, item: Mapping[str, object]) -> None:
        role, said = item.get("role"), joined(item.get("content"))
        if role == "assistant":
            self._session.says(said, self._actor)
        elif role == "user":
            if _INSERTED.match(said) is None or _REQUEST.search(said) is not None:
                self._session.hears(_words(said))
            else:
                self._session.desk.read(said)

    def _call(self, item: Mapping[str, object], tool: str, what: str) -> None:
        call = text(item.get("call_id")) or text(item.get("id"))
        self._remember(call, self._session.acts(call, tool, what, self._actor))

    def _output(self, item: Mapping[str, object]) -> None:
        call, output = text(item.get("call_id")), item.get("output")
        seen, code, failed = _seen(output)
        if code is None:
            code = self._ended.pop(call, None)
        draft = self._session.answers(call, seen, failed=failed, exit_code=code, actor=self._actor)
        self._remember(call, draft)

    def _remember(self, call: str, draft: StepDraft) -> None:
        if len(self._calls) >= _MAX_CALLS:
            self._calls.pop(next(iter(self._calls)))
        self._calls[call] = draft


def _seen(output: object) -> tuple[str, int | None, bool]:
    """Return what a call answered, its exit status and whether it says that it failed."""
    facts: Mapping[str, object] = fields(output)
    if isinstance(output, str) and output.startswith("{") and '"output"' in output:
        try:
            facts = fields(json.loads(output))
        except (ValueError, RecursionError):
            facts = {}
    if facts:
        code = exit_code(fields(facts.get("metadata")).get("exit_code"))
        body = facts.get("output", facts.get("content"))
        return joined(body) or written(body), code, facts.get("success") is False
    seen = joined(output)
    match = _EXITED.search(seen, 0, _HEADER)
    code = number(match.group(1)) if match is not None else None
    return _OUTPUT.sub("", seen), code, False


def _words(said: str) -> str:
    """Return what the person asked, without what the editor put before it."""
    request = _REQUEST.search(said)
    return said if request is None else said[request.end() :]
