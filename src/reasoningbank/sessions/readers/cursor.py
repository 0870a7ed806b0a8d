"""Transcripts of Cursor's agent: one object per line with a role and a message, and no answers of tools.

What tools answered is known to Cursor's hooks alone. Ours note it, and put it behind a copy of the transcript.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta, timezone

from reasoningbank.safety.quotation import BLOCK_START
from reasoningbank.sessions.readers.drafts import Skipped
from reasoningbank.sessions.readers.json_stream import action, exit_code, fields, joined, listed, text
from reasoningbank.sessions.readers.turns import MAX_OPEN, SessionBuilder
from reasoningbank.types.session import CURSOR_SESSION, TOOL_OUTCOME, Trajectory

NAME = "cursor"
_SPEAKERS = frozenset({"user", "assistant"})
_OWN = frozenset({"turn_ended", "metadata", CURSOR_SESSION, TOOL_OUTCOME})
_ASKED = re.compile(r"<user_query>\s*(.*?)\s*(?:</user_query>|\Z)", re.DOTALL)
_INSERTED = re.compile(
    r"<(timestamp|user_info|project_layout|rules|user_rules|agent_skills|available_skills|git_status|attached_files"
    r"|always_applied_workspace_rules|agent_requestable_workspace_rules|open_and_recently_viewed_files|agent_transcripts"
    r"|system_reminder|system-reminder|mcp_instructions|mcp_file_system|mcp_file_system_servers|system_notification"
    r"|cursor_rules_context|task_notification|agent_notification|manually_attached_skills|cloud_instructions)\b"
    r"[^>]{0,200}>.*?(?:</\1>|\Z)",
    re.DOTALL,
)
_TIME = re.compile(
    r"<timestamp>\w+, (\w{3}) (\d{1,2}), (\d{4}), (\d{1,2}:\d{2} [AP]M) \(UTC(?:([+-])(\d{1,2})(?::(\d{2}))?)?\)<"
)
_HIDDEN = "[REDACTED]"


def is_line(entry: Mapping[str, object]) -> bool:
    """Return whether an object is a line of a transcript."""
    if text(entry.get("type")) in _OWN - {"metadata"}:
        return True
    spoken = "type" not in entry and text(entry.get("role")) in _SPEAKERS
    return spoken and isinstance(fields(entry.get("message")).get("content"), (str, list))


class Cursor:
    """Reads the lines of one session."""

    def __init__(self) -> None:
        self._session = SessionBuilder(NAME)
        self._place = 0
        self._calls: deque[tuple[str, str, str]] = deque(maxlen=MAX_OPEN)
        self._called = 0
        self._outcomes: deque[Mapping[str, object]] = deque(maxlen=MAX_OPEN)

    def take(self, place: int, entry: object) -> Iterator[Trajectory | Skipped]:
        """Read one line; yield what was wrong with it."""
        line = fields(entry)
        self._place = self._place or place
        kind, message = text(line.get("type")), fields(line.get("message"))
        if kind == TOOL_OUTCOME:
            self._outcomes.append(line)
        elif kind == CURSOR_SESSION:
            self._session.name = text(line.get("session"))
            self._session.describe(line, {"directory": "directory", "version": "client_version", "model": "model"})
        elif kind == "turn_ended":
            if line.get("status") == "error":
                self._session.fails(text(line.get("error")) or "the turn ended with an error")
        elif line.get("role") == "user":
            self._person(joined(message.get("content")))
        elif line.get("role") == "assistant":
            self._agent(message.get("content"))
        elif kind not in _OWN:
            yield Skipped(place, "it must be an object with a role and a message")

    def finish(self) -> Iterator[Trajectory | Skipped]:
        """Yield the session.

        The last outcome of a command belongs to its last call: hooks may have been installed in the middle.
        """
        calls: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        for call, tool, what in self._calls:
            calls[tool, what].append(call)
        for outcome in reversed(self._outcomes):
            waiting = calls[text(outcome.get("tool")), text(outcome.get("action"))]
            if waiting:
                self._session.answers(
                    waiting.pop(),
                    text(outcome.get("output")),
                    failed=outcome.get("failed") is True,
                    exit_code=exit_code(outcome.get("exit_code")),
                )
        yield self._session.finish(self._place)

    def _person(self, said: str) -> None:
        self._session.starts(_time(said))
        if BLOCK_START in said:
            self._session.desk.read(said)
        asked = _ASKED.findall(said)
        self._session.hears("\n\n".join(asked) if asked else _INSERTED.sub("", said).strip())

    def _agent(self, content: object) -> None:
        counted = True
        for entry in listed(content) if isinstance(content, list) else [{"type": "text", "text": content}]:
            block = fields(entry)
            kind = block.get("type")
            if kind == "text":
                said = text(block.get("text")).replace(_HIDDEN, "").strip()
                self._session.says(said, counted=counted)
                counted = False
            elif kind == "thinking":
                self._session.says(text(block.get("thinking")), counted=False, final=False)
            elif kind == "tool_use":
                self._call(text(block.get("name")), block.get("input"))

    def _call(self, tool: str, arguments: object) -> None:
        self._called += 1
        call, what = str(self._called), action(tool, arguments)
        self._calls.append((call, tool, what))
        self._session.acts(call, tool, what)


def _time(said: str) -> datetime | None:
    """Return the time that Cursor writes before a prompt, such as ``Tuesday, Apr 28, 2026, 10:15 AM (UTC+3)``."""
    found = _TIME.search(said)
    if found is None:
        return None
    month, day, year, at, sign, hours, minutes = found.groups()
    ahead = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
    try:
        zone = timezone(-ahead if sign == "-" else ahead)
        return datetime.strptime(f"{month} {day} {year} {at}", "%b %d %Y %I:%M %p").replace(tzinfo=zone)
    except ValueError:
        return None
