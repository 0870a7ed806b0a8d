"""What a client understands as an answer of its hook."""

from __future__ import annotations

import json

from reasoningbank.surfaces.hooks.payloads import Client, Event, Payload

_SPEAKING: frozenset[Event] = frozenset({"SessionStart", "UserPromptSubmit", "PostToolUseFailure"})


def reply(event: Event | None, payload: Payload, context: str) -> str:
    """The client's JSON that adds the context to what its agent sees; without one the answer that changes nothing."""
    if not context or event not in _SPEAKING:
        return neutral(payload.client)
    if payload.client == "cursor":
        return json.dumps({"continue": True, "additional_context": context})
    if payload.client == "copilot":
        if event == "UserPromptSubmit":
            return json.dumps({"modifiedTransformedPrompt": f"{payload.prompt}\n\n{context}"})
        return json.dumps({"additionalContext": context})
    return json.dumps({"hookSpecificOutput": {"hookEventName": event, "additionalContext": context}})


def neutral(client: Client) -> str:
    """The answer that changes nothing."""
    return json.dumps({"continue": True}) if client == "cursor" else "{}"
