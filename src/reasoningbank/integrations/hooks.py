"""``rbank hook EVENT``: a client tells what happens, and gets memories to show.

A hook never stands in its agent's way: whatever fails, the client gets its neutral answer and exit status 0, and the
failure is noted in ``hooks.log`` below the data directory. Nothing heavy is imported before it is needed, and what only
keeps something runs in a process of its own, after the answer.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, BinaryIO, Literal, NamedTuple, TextIO

from reasoningbank.errors import InvalidInput

if TYPE_CHECKING:
    from reasoningbank.integrations.processes import Process

__all__ = ["main"]


Client = Literal["claude-code", "cursor", "copilot", "opencode"]
Event = Literal[
    "SessionStart",
    "UserPromptSubmit",
    "PostToolUse",
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
    """What happened, whatever the client calls it; a text that is missing or of another type is empty.

    Attributes:
        client: Whose answers it understands; Codex, Gemini CLI and our opencode plugin understand those of Claude
            Code.
        named: The client's own name of the event.
        session: The client's name for the session.
        transcript: Path of the session's transcript.
        directory: Where the agent works.
        prompt: What the user said.
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


def event_of(name: str) -> Event | None:
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
"""What Gemini CLI puts before the prompt of a session: what hooks have said."""


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
    prompt = _text(given, "transformedPrompt", "prompt", "user_prompt")
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


_SPEAKING: frozenset[Event] = frozenset({"SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure"})


def reply(event: Event | None, payload: Payload, context: str) -> str:
    """Return the client's JSON that adds the context to what its agent sees.

    Without one the answer that changes nothing.
    """
    if not context or event not in _SPEAKING:
        return neutral(payload.client)
    if payload.client == "cursor":
        return json.dumps({"continue": True, "additional_context": context})
    if payload.client == "copilot":
        if event == "UserPromptSubmit":
            return json.dumps({"modifiedTransformedPrompt": f"{payload.prompt}\n\n{context}"})
        return json.dumps({"additionalContext": context})
    name = payload.named if payload.named in {"BeforeAgent", "AfterTool"} else event
    return json.dumps({"hookSpecificOutput": {"hookEventName": name, "additionalContext": context}})


def neutral(client: Client) -> str:
    """Return the answer that changes nothing."""
    return json.dumps({"continue": True}) if client == "cursor" else "{}"


MAX_PAYLOAD = 16_000_000


class HookPlace(NamedTuple):
    """Which bank an event belongs to: the command's options; None for what the settings and the payload say."""

    url: str | None = None
    tenant: str | None = None
    project: str | None = None
    team: str | None = None
    org: str | None = None


def note(event_name: str, error: Exception) -> None:
    """Note a failure in the log below the data directory."""
    from reasoningbank.integrations.hook_actions import write

    write(event_name, error)


def run_on_standard_streams(event_name: str, place: HookPlace) -> None:
    """Read the payload from stdin and answer on stdout; one that is closed is empty, or takes nothing."""
    with os.fdopen(os.open(os.devnull, os.O_RDWR), "r+", encoding="utf-8") as nothing:
        source, target = sys.stdin or nothing, sys.stdout or nothing
        run(event_name, source.buffer, target, place)


def run(event_name: str, source: BinaryIO, target: TextIO, place: HookPlace) -> None:
    """Read the payload, answer the client, and do what is left to do; never raises.

    What only keeps something is done after the answer, in a process of its own where the system has ``fork``.
    """
    event, payload, context = event_of(event_name), Payload(), ""
    try:
        payload = payload_of(source.read(MAX_PAYLOAD))
        if event == "PostToolUse" and payload.exit_code:
            event = "PostToolUseFailure"
        if event is not None and event not in KEEPING and not payload.subagent:
            from reasoningbank.integrations.hook_actions import context_for

            context = context_for(event, payload, place)
    except Exception as error:  # noqa: BLE001 - a hook must never stop its agent
        note(event_name, error)
        _say(target, neutral(payload.client), event_name)
        return
    _say(target, reply(event, payload, context), event_name)
    if event in KEEPING and _worth_keeping(event, payload):
        _later(event, payload, place)


def _say(target: TextIO, text: str, event_name: str) -> None:
    """Write the answer at once; a client that went away is no reason to fail."""
    try:
        target.write(text + "\n")
        target.flush()
    except (OSError, ValueError) as error:
        with os.fdopen(os.open(os.devnull, os.O_WRONLY)) as nothing:
            os.dup2(nothing.fileno(), target.fileno())
        note(event_name, error)


def _worth_keeping(event: Event, payload: Payload) -> bool:
    if payload.subagent or payload.continued:
        return False
    return bool(payload.summary if event == "PostCompact" else payload.transcript)


def _later(event: Event, payload: Payload, place: HookPlace) -> None:
    """Keep in a process of its own that its client neither waits for nor ends; without ``fork`` in this one.

    Then nothing is waited for: the client waits for the hook.
    """
    try:
        if not hasattr(os, "fork"):
            _keep(event, payload, place, None)
            return
        from reasoningbank.integrations.client_sessions import client_process

        client = client_process()
        if os.fork() == 0:
            _detached(event, payload, place, client)
    except Exception as error:  # noqa: BLE001 - a hook must never stop its agent
        note(event, error)


def _detached(event: Event, payload: Payload, place: HookPlace, client: Process) -> None:
    """Run the child: it leaves its parent's session and streams, keeps, and ends."""
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nothing, stream)
        _keep(event, payload, place, client)
    except Exception as error:  # noqa: BLE001 - a hook must never stop its agent
        note(event, error)
    finally:
        os._exit(0)


def _keep(event: Event, payload: Payload, place: HookPlace, client: Process | None) -> None:
    from reasoningbank.integrations.hook_actions import keep

    keep(event, payload, place, client)


_OPTIONS = ("--home", *(f"--{name}" for name in HookPlace._fields))


def main(words: Sequence[str]) -> int:
    """Answer one event; the payload is read from stdin, the answer goes to stdout.

    Args:
        words: The event's name, and ``--url``, ``--tenant``, ``--project``, ``--team``, ``--org`` or ``--home``, the
            data directory, with a value.

    Returns:
        0, whatever happens.
    """
    event, given = _read(words)
    if "--home" in given:
        from reasoningbank.settings import use_home

        use_home(given["--home"])
    run_on_standard_streams(event, HookPlace(*(given.get(f"--{name}") for name in HookPlace._fields)))
    return 0


def _read(words: Sequence[str]) -> tuple[str, dict[str, str]]:
    """Return the event and the options; what is not known is passed over."""
    event, given, waiting = "", {}, ""
    for word in words:
        name, equals, value = word.partition("=")
        if waiting:
            given[waiting], waiting = word, ""
        elif name in _OPTIONS and equals:
            given[name] = value
        elif name in _OPTIONS:
            waiting = name
        elif not word.startswith("-"):
            event = event or word
    return event, given
