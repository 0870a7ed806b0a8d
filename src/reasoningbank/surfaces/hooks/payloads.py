"""What clients say to a hook: one shape for all of them (spec of Claude Code, Codex, Cursor and Copilot CLI)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Literal, NamedTuple

from reasoningbank.errors import InvalidInput

Client = Literal["claude-code", "cursor", "copilot"]
Event = Literal[
    "SessionStart",
    "UserPromptSubmit",
    "PostToolUseFailure",
    "Stop",
    "SessionEnd",
    "PreCompact",
    "PostCompact",
]

KEEPING: frozenset[Event] = frozenset({"Stop", "SessionEnd", "PreCompact", "PostCompact"})
"""Events that only keep something: they are answered at once."""

_EVENTS: Mapping[str, Event] = {
    "sessionstart": "SessionStart",
    "userpromptsubmit": "UserPromptSubmit",
    "userpromptsubmitted": "UserPromptSubmit",
    "userprompttransformed": "UserPromptSubmit",
    "beforesubmitprompt": "UserPromptSubmit",
    "posttoolusefailure": "PostToolUseFailure",
    "toolfailure": "PostToolUseFailure",
    "stop": "Stop",
    "agentstop": "Stop",
    "sessionend": "SessionEnd",
    "precompact": "PreCompact",
    "postcompact": "PostCompact",
}


class Payload(NamedTuple):
    """What happened, whatever the client calls it; a text that is missing or of another type is empty.

    Attributes:
        client: Whose answers it understands; Codex understands those of Claude Code.
        session: The client's name for the session.
        transcript: Path of the session's transcript.
        directory: Where the agent works.
        prompt: What the user said.
        source: Where the prompt came from, or why the session started.
        tool: The tool that failed.
        action: What it was to do.
        error: What went wrong.
        summary: The client's own summary of what it compacted.
        interrupted: Whether a person stopped the tool.
        continued: Whether a hook has already made the agent go on (``stop_hook_active``).
        subagent: Whether a sub-agent is meant and not the agent.
    """

    client: Client = "claude-code"
    session: str = ""
    transcript: str = ""
    directory: str = ""
    prompt: str = ""
    source: str = ""
    tool: str = ""
    action: str = ""
    error: str = ""
    summary: str = ""
    interrupted: bool = False
    continued: bool = False
    subagent: bool = False


def event_of(name: str) -> Event | None:
    """The event of a name in any client's spelling, such as ``session-start``; None when it is none of ours."""
    return _EVENTS.get(re.sub(r"[^a-z]", "", name.lower()))


def payload_of(raw: bytes) -> Payload:
    """Reads a client's JSON object.

    Raises:
        InvalidInput: When it is none.
    """
    try:
        given = json.loads(raw.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"the payload is no JSON: {type(error).__name__}") from error
    if not isinstance(given, dict):
        raise InvalidInput("the payload is no JSON object")
    return _payload(given)


def _payload(given: dict[str, object]) -> Payload:
    roots = given.get("workspace_roots")
    first = roots[0] if isinstance(roots, list) and roots else ""
    tool_input = given.get("tool_input")
    return Payload(
        client=_client(given),
        session=_text(given, "session_id", "conversation_id", "sessionId"),
        transcript=_text(given, "transcript_path", "transcriptPath"),
        directory=_text(given, "cwd") or (first if isinstance(first, str) else ""),
        prompt=_text(given, "transformedPrompt", "prompt", "user_prompt"),
        source=_text(given, "source"),
        tool=_text(given, "tool_name"),
        action=_action(tool_input) if isinstance(tool_input, dict) else "",
        error=_text(given, "error"),
        summary=_text(given, "compact_summary"),
        interrupted=given.get("is_interrupt") is True,
        continued=given.get("stop_hook_active") is True,
        subagent=bool(given.get("agent_id") or given.get("agent_transcript_path")),
    )


def _client(given: dict[str, object]) -> Client:
    if "conversation_id" in given or "workspace_roots" in given:
        return "cursor"
    return "copilot" if "sessionId" in given else "claude-code"


def _text(given: dict[str, object], *names: str) -> str:
    """The first of these fields that holds a text."""
    found = (given.get(name) for name in names)
    return next((value for value in found if isinstance(value, str) and value), "")


def _action(tool_input: dict[str, object]) -> str:
    """What a tool was asked for, in its own words."""
    return _text(tool_input, "command", "file_path", "path", "pattern", "query", "url", "description")
