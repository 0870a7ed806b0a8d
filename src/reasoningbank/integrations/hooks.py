"""``rbank hook EVENT``: a client tells what happens, and gets memories to show.

A hook never stands in its agent's way: whatever fails, the client gets its neutral answer and exit status 0, and the
failure is noted in ``hooks.log`` below the data directory. Nothing heavy is imported before it is needed, and what only
keeps something runs in a process of its own, after the answer.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, BinaryIO, TextIO

from reasoningbank.integrations.hook_payload import KEEPING, Client, HookEvent, HookPlace, Payload, event_of, payload_of

if TYPE_CHECKING:
    from reasoningbank.client_sessions import HandOver

__all__ = ["main"]


_SPEAKING: frozenset[HookEvent] = frozenset({"SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure"})


def reply(event: HookEvent | None, payload: Payload, context: str) -> str:
    """Return the client's JSON that adds the context to what its agent sees.

    Without one the answer that changes nothing.
    """
    if not context or event not in _SPEAKING:
        return neutral(payload.client)
    if payload.client == "cursor":
        return json.dumps({"continue": True, "additional_context": context})
    if payload.client == "copilot":
        if event == "UserPromptSubmit":
            return json.dumps({"modifiedTransformedPrompt": f"{payload.transformed or payload.prompt}\n\n{context}"})
        return json.dumps({"additionalContext": context})
    name = payload.named if payload.named in {"BeforeAgent", "AfterTool"} else event
    return json.dumps({"hookSpecificOutput": {"hookEventName": name, "additionalContext": context}})


def neutral(client: Client) -> str:
    """Return the answer that changes nothing."""
    return json.dumps({"continue": True}) if client == "cursor" else "{}"


MAX_PAYLOAD = 16_000_000


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


def _worth_keeping(event: HookEvent, payload: Payload) -> bool:
    if payload.subagent or payload.continued:
        return False
    return bool(payload.summary if event == "PostCompact" else payload.transcript)


def _later(event: HookEvent, payload: Payload, place: HookPlace) -> None:
    """Keep in a process of its own that its client neither waits for nor ends; without ``fork`` in this one.

    Then nothing is waited for: the client waits for the hook.
    """
    try:
        if not hasattr(os, "fork"):
            _keep(event, payload, place, None)
            return
        from reasoningbank.client_sessions import handing_over

        # Asked before the fork: what has started the hook may be gone when the child looks for it.
        source = handing_over()
        if os.fork() == 0:
            _detached(event, payload, place, source)
    except Exception as error:  # noqa: BLE001 - a hook must never stop its agent
        note(event, error)


def _detached(event: HookEvent, payload: Payload, place: HookPlace, source: HandOver) -> None:
    """Run the child: it leaves its parent's session and streams, keeps, and ends."""
    try:
        if sys.platform != "win32":
            os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nothing, stream)
        _keep(event, payload, place, source)
    except Exception as error:  # noqa: BLE001 - a hook must never stop its agent
        note(event, error)
    finally:
        os._exit(0)


def _keep(event: HookEvent, payload: Payload, place: HookPlace, source: HandOver | None) -> None:
    from reasoningbank.integrations.hook_actions import keep

    keep(event, payload, place, source)


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
