"""Read what a client tells a hook: the event, its payload as each client spells it, and the options of the command."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import Literal, NamedTuple

from reasoningbank.errors import InvalidInput

Client = Literal["claude-code", "cursor", "copilot", "opencode"]
HookEvent = Literal[
    "SessionStart",
    "UserPromptSubmit",
    "PostToolUse",
    "PostToolUseFailure",
    "Stop",
    "SessionEnd",
    "PreCompact",
    "PostCompact",
]

KEEPING: frozenset[HookEvent] = frozenset({"Stop", "SessionEnd", "PreCompact", "PostCompact"})
"""Events that only keep something: they are answered at once."""

_EVENTS: Mapping[str, HookEvent] = {
    "sessionstart": "SessionStart",
    "userpromptsubmit": "UserPromptSubmit",
    "userpromptsubmitted": "UserPromptSubmit",
    "userprompttransformed": "UserPromptSubmit",
    "beforesubmitprompt": "UserPromptSubmit",
    "beforeagent": "UserPromptSubmit",
    "posttooluse": "PostToolUse",
    "aftertool": "PostToolUse",
    "posttoolusefailure": "PostToolUseFailure",
    "toolfailure": "PostToolUseFailure",
    "stop": "Stop",
    "agentstop": "Stop",
    "afteragent": "Stop",
    "sessionend": "SessionEnd",
    "precompact": "PreCompact",
    "postcompact": "PostCompact",
}


class Payload(NamedTuple):
    """Hold what happened, whatever the client calls it; a text that is missing or of another type is empty.

    Attributes:
        client: Whose answers it understands; Codex, Gemini CLI and our opencode plugin understand those of Claude
            Code.
        named: The client's own name of the event.
        session: The client's name for the session.
        transcript: Path of the session's transcript.
        directory: Where the agent works.
        prompt: What the user said.
        transformed: The prompt with what Copilot CLI has put around it, which the answer to it replaces.
        source: Where the prompt came from, or why the session started.
        tool: The tool that failed.
        action: What it was to do.
        error: What went wrong, or what the tool printed.
        exit_code: The exit status of what a tool ran; None when the client does not say.
        summary: The client's own summary of what it compacted.
        interrupted: Whether a person stopped the tool.
        continued: Whether a hook has already made the agent go on (``stop_hook_active``).
        subagent: Whether a sub-agent is meant and not the agent.
        version: The client's version, as Cursor says it.
        model: The name of the agent's model, as far as the client says it.
    """

    client: Client = "claude-code"
    named: str = ""
    session: str = ""
    transcript: str = ""
    directory: str = ""
    prompt: str = ""
    transformed: str = ""
    source: str = ""
    tool: str = ""
    action: str = ""
    error: str = ""
    exit_code: int | None = None
    summary: str = ""
    interrupted: bool = False
    continued: bool = False
    subagent: bool = False
    version: str = ""
    model: str = ""


def event_of(name: str) -> HookEvent | None:
    """Return the event of a name in any client's spelling, such as ``session-start``; None when it is none of ours."""
    return _EVENTS.get(re.sub(r"[^a-z]", "", name.lower()))


def payload_of(raw: bytes) -> Payload:
    """Read a client's JSON object.

    Raises:
        InvalidInput: When it is none.
    """
    try:
        given = json.loads(raw.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"the payload is not JSON: {type(error).__name__}") from error
    if not isinstance(given, dict):
        raise InvalidInput("the payload must be a JSON object")
    return _payload(given)


_INJECTED = re.compile(r"<hook_context>.*?</hook_context>\s*", re.DOTALL)
"""The element that Gemini CLI puts before the prompt of a session: it holds the words of hooks."""


def _payload(given: dict[str, object]) -> Payload:
    roots = given.get("workspace_roots")
    first = roots[0] if isinstance(roots, list) and roots else ""
    tool_input = given.get("tool_input", given.get("toolArgs"))
    printed = _printed(given)
    return Payload(
        client=_client(given),
        named=_text(given, "hook_event_name"),
        session=_text(given, "session_id", "conversation_id", "sessionId"),
        transcript=_text(given, "transcript_path", "transcriptPath") or _transcript(given),
        directory=_text(given, "cwd") or (first if isinstance(first, str) else ""),
        prompt=_prompt(given),
        transformed=_text(given, "transformedPrompt"),
        source=_text(given, "source"),
        tool=_text(given, "tool_name", "toolName"),
        action=_action(tool_input) if isinstance(tool_input, dict) else "",
        error=printed,
        exit_code=_exit_code(given, printed),
        summary=_text(given, "compact_summary"),
        interrupted=given.get("is_interrupt") is True or given.get("failure_type") == "permission_denied",
        continued=given.get("stop_hook_active") is True,
        subagent=any(given.get(name) for name in ("agent_id", "agent_transcript_path", "parent_tool_call_id")),
        version=_text(given, "cursor_version"),
        model=_text(given, "model"),
    )


def _prompt(given: dict[str, object]) -> str:
    prompt = _text(given, "prompt", "user_prompt", "transformedPrompt")
    return _INJECTED.sub("", prompt) if given.get("hook_event_name") == "BeforeAgent" else prompt


_RESULTS = ("tool_response", "toolResult", "tool_output")
"""Keys under which clients put what a tool answered: Codex and Gemini CLI, Copilot CLI, Cursor."""
_TEXTS = ("llmContent", "textResultForLlm", "output", "stdout", "stderr", "error")
_NAME = re.compile(r"[\w-]{1,100}")
_REPORT = "<untrusted_context>\nOutput: "
_EXITED = re.compile(r"^(?:Exit Code: |<shellId: \S{1,80} completed with exit code )(-?\d{1,9})>?$", re.MULTILINE)
"""The shell tools of Gemini CLI and Copilot CLI say it so, at the end of what was printed."""


def _printed(given: dict[str, object]) -> str:
    """Return what went wrong, or what a tool printed, whatever the client calls it."""
    said = _text(given, "error", "error_message")
    if said:
        return said
    for name in _RESULTS:
        result = _result(given, name)
        if isinstance(result, str) and result:
            return result
        if isinstance(result, dict):
            texts = [text for key in _TEXTS if isinstance(text := result.get(key), str) and text.strip()]
            return "\n".join(texts).removeprefix(_REPORT)
    return ""


def _result(given: dict[str, object], name: str) -> object:
    """Return what a tool answered; Cursor writes the object as JSON into a text."""
    result = given.get(name)
    if name == "tool_output" and isinstance(result, str) and result.lstrip()[:1] == "{":
        try:
            return json.loads(result)
        except (ValueError, RecursionError):
            return result
    return result


def _exit_code(given: dict[str, object], printed: str) -> int | None:
    """Return the exit status of a shell tool, as far as its client says it; Gemini CLI says nothing of 0."""
    result = next((found for name in _RESULTS if (found := _result(given, name)) is not None), None)
    if not isinstance(result, dict):
        return None
    for key in ("exitCode", "exit_code"):
        code = result.get(key)
        if isinstance(code, int) and not isinstance(code, bool):
            return code
    found = _EXITED.findall(printed[-1_000:])
    if found:
        return int(found[-1])
    return 0 if "llmContent" in result else None


def _transcript(given: dict[str, object]) -> str:
    """Return where a client keeps a session's transcript that does not say it.

    Copilot CLI does not say it at the end of a session, Cursor's command line never did in its first versions.
    """
    copilot, cursor = given.get("sessionId"), given.get("conversation_id")
    roots = given.get("workspace_roots")
    home = os.path.expanduser("~")  # noqa: PTH111 - pathlib is not loaded in a hook that shows nothing
    if isinstance(copilot, str) and _NAME.fullmatch(copilot):
        from reasoningbank.settings import copilot_directory

        return f"{copilot_directory()}/session-state/{copilot}/events.jsonl"
    if isinstance(cursor, str) and _NAME.fullmatch(cursor) and isinstance(roots, list) and roots:
        project = re.sub(r"[^a-zA-Z0-9]+", "-", str(roots[0])).strip("-")
        folder = f"{home}/.cursor/projects/{project}/agent-transcripts"
        flat, nested = f"{folder}/{cursor}.jsonl", f"{folder}/{cursor}/{cursor}.jsonl"
        return flat if os.path.exists(flat) else nested  # noqa: PTH110
    return ""


def _client(given: dict[str, object]) -> Client:
    if given.get("client") == "opencode":
        return "opencode"
    if "conversation_id" in given or "workspace_roots" in given:
        return "cursor"
    return "copilot" if "sessionId" in given else "claude-code"


def _text(given: dict[str, object], *names: str) -> str:
    """Return the first of these fields that holds a text."""
    found = (given.get(name) for name in names)
    return next((value for value in found if isinstance(value, str) and value), "")


def _action(tool_input: dict[str, object]) -> str:
    """Return what a tool was asked for, in its own words."""
    return _text(tool_input, "command", "file_path", "path", "pattern", "query", "url", "description")


class HookPlace(NamedTuple):
    """Name the bank of an event by the command's options; None for what the settings and the payload say."""

    url: str | None = None
    tenant: str | None = None
    project: str | None = None
    team: str | None = None
    org: str | None = None
