"""Every payload of the clients' conventions, as each client sends it: shown, kept or passed over."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from promises import promise
from reasoningbank import Bank, Settings
from reasoningbank.integrations.hook_payload import HookPlace, event_of
from reasoningbank.integrations.hooks import run
from sessions.learned_sessions import REPAIRED
from sessions.recorded_sessions import cursor_transcript

PROMPT = "A network call fails now and then, make it reliable."
TITLE = "Retry a network call that fails now and then"
FAILURE = "Error: Exit code 1\nalembic upgrade head: the migration of the live database failed"
SUMMARY = "The export dropped a row because its loop ended one short.\nThe range is inclusive now."
CLAUDE: dict[str, object] = {
    "cwd": "/home/dev/shop",
    "permission_mode": "acceptEdits",
    "prompt_id": "p-1",
    "effort": {"level": "high"},
}
TOOL: dict[str, object] = {"tool_name": "Bash", "tool_input": {"command": "alembic upgrade head"}, "tool_use_id": "t"}
CURSOR: dict[str, object] = {"generation_id": "g", "workspace_roots": ["/home/dev/shop"]}


def sent(client: str, event: str, fields: dict[str, object]) -> tuple[str, str, dict[str, object]]:
    """A payload's client, event and own fields."""
    return client, event, fields


SHOWN: list[tuple[str, str, dict[str, object], str]] = [
    *(
        (
            *sent(
                "claude", "SessionStart", {"source": source, "agent_type": "main", "model": "m", "context_tokens": 9}
            ),
            TITLE,
        )
        for source in ("startup", "resume", "clear", "compact", "fork")
    ),
    *((*sent("claude", "UserPromptSubmit", {"prompt": PROMPT, "source": source}), TITLE) for source in ("user", "sdk")),
    ("claude", "UserPromptSubmit", {"prompt": PROMPT}, TITLE),
    (
        "claude",
        "PostToolUseFailure",
        {**TOOL, "error": FAILURE, "is_interrupt": False, "duration_ms": 4},
        "Never migrate",
    ),
    ("claude", "PostToolUseFailure", {**TOOL, "error": FAILURE}, "Never migrate"),
    ("codex", "SessionStart", {"source": "startup"}, TITLE),
    ("codex", "UserPromptSubmit", {"user_prompt": PROMPT}, TITLE),
    ("codex", "UserPromptSubmit", {"prompt": PROMPT, "last_assistant_message": "x"}, TITLE),
    ("cursor", "sessionStart", {}, TITLE),
    ("cursor", "beforeSubmitPrompt", {"prompt": PROMPT, "attachments": []}, TITLE),
    ("copilot", "sessionStart", {"source": "startup", "initialPrompt": "x"}, TITLE),
    (
        "copilot",
        "userPromptTransformed",
        {"prompt": PROMPT, "transformedPrompt": f"The time is 10:00.\n\n{PROMPT}"},
        TITLE,
    ),
    (
        "copilot",
        "postToolUse",
        {
            "toolName": "bash",
            "toolArgs": {"command": "alembic upgrade head"},
            "toolResult": {
                "resultType": "success",
                "textResultForLlm": f"{FAILURE}\n<shellId: 0 completed with exit code 1>",
            },
        },
        "Never migrate",
    ),
    ("gemini", "SessionStart", {"source": "startup"}, TITLE),
    ("gemini", "BeforeAgent", {"prompt": PROMPT}, TITLE),
    (
        "gemini",
        "AfterTool",
        {
            **TOOL,
            "tool_response": {
                "llmContent": f"<untrusted_context>\nOutput: {FAILURE}\nExit Code: 1\nProcess Group PGID: 7\n"
                "</untrusted_context>",
                "returnDisplay": FAILURE,
            },
        },
        "Never migrate",
    ),
    (
        "cursor",
        "postToolUse",
        {
            "tool_name": "Shell",
            "tool_input": {"command": "alembic upgrade head", "cwd": ""},
            "tool_output": json.dumps({"output": FAILURE, "exitCode": 1}),
            "duration": 4,
        },
        "Never migrate",
    ),
    (
        "cursor",
        "postToolUseFailure",
        {
            "tool_name": "Shell",
            "tool_input": {"command": "alembic upgrade head"},
            "error_message": FAILURE,
            "failure_type": "error",
            "is_interrupt": False,
        },
        "Never migrate",
    ),
]
KEPT: list[tuple[str, str, dict[str, object]]] = [
    (
        "claude",
        "Stop",
        {"stop_hook_active": False, "last_assistant_message": "Done.", "background_tasks": [], "session_crons": []},
    ),
    ("claude", "Stop", {}),
    *(
        sent("claude", "SessionEnd", {"reason": reason})
        for reason in ("clear", "resume", "logout", "prompt_input_exit", "other")
    ),
    *(sent("claude", "PreCompact", {"trigger": trigger, "custom_instructions": ""}) for trigger in ("manual", "auto")),
    ("claude", "PostCompact", {"trigger": "manual", "compact_summary": SUMMARY}),
    ("codex", "Stop", {"stop_hook_active": False, "last_assistant_message": "Done."}),
    ("codex", "PreCompact", {"trigger": "auto"}),
    ("cursor", "stop", {"status": "completed", "loop_count": 0}),
    ("cursor", "preCompact", {"trigger": "auto", "context_usage_percent": 85}),
    ("cursor", "sessionEnd", {"reason": "completed", "duration_ms": 4_261, "final_status": "completed"}),
    ("copilot", "agentStop", {"stopReason": "end_turn"}),
    ("copilot", "sessionEnd", {"reason": "complete"}),
    ("gemini", "AfterAgent", {"prompt": "x", "prompt_response": "Done.", "stop_hook_active": False}),
    ("gemini", "SessionEnd", {"reason": "exit"}),
]
PASSED: list[tuple[str, str, dict[str, object]]] = [
    *(
        sent("claude", "UserPromptSubmit", {"prompt": PROMPT, "source": source})
        for source in ("system", "loop_wakeup", "schedule_wakeup", "poll_event")
    ),
    ("claude", "PostToolUseFailure", {**TOOL, "error": FAILURE, "is_interrupt": True}),
    ("claude", "Stop", {"stop_hook_active": True}),
    ("claude", "Stop", {"agent_id": "a-1", "agent_type": "Explore"}),
    ("claude", "SubagentStop", {"agent_id": "a-1", "agent_transcript_path": "/x", "agent_type": "Explore"}),
    ("claude", "PostCompact", {"trigger": "auto", "compact_summary": ""}),
    ("claude", "StopFailure", {"error": "rate_limit", "error_details": "429", "last_assistant_message": "x"}),
    ("claude", "PreToolUse", TOOL),
    ("claude", "PostToolUse", {**TOOL, "tool_response": {"stdout": "ok"}, "duration_ms": 4}),
    ("claude", "InstructionsLoaded", {"file_path": "/x", "memory_type": "Project", "load_reason": "start"}),
    *(
        sent("claude", event, {})
        for event in (
            "PostToolBatch", "Notification", "UserPromptExpansion", "SubagentStart", "PreModelSwitch",
            "PostModelSwitch", "PermissionRequest", "PermissionDenied", "Setup", "TeammateIdle", "TaskCreated",
            "TaskCompleted",
            "Elicitation", "ElicitationResult", "ConfigChange", "WorktreeCreate", "WorktreeRemove", "CwdChanged",
            "FileChanged", "DirectoryAdded", "MessageDisplay",
        )
    ),
    ("codex", "PreToolUse", TOOL),
    ("codex", "PermissionRequest", TOOL),
    ("codex", "PostToolUse", {**TOOL, "tool_response": "ok"}),
    ("cursor", "preToolUse", TOOL),
    ("cursor", "postToolUse", TOOL),
    ("cursor", "postToolUse", {**TOOL, "tool_output": json.dumps({"output": FAILURE, "exitCode": 0})}),
    ("cursor", "postToolUseFailure", {**TOOL, "error_message": FAILURE, "failure_type": "permission_denied"}),
    ("cursor", "postToolUseFailure", {**TOOL, "error_message": FAILURE, "parent_tool_call_id": "toolu_0"}),
    ("copilot", "postToolUse", {"toolName": "bash", "toolArgs": {}, "toolResult": {"textResultForLlm": "ok"}}),
    ("gemini", "AfterTool", {**TOOL, "tool_response": {"llmContent": f"Output: {FAILURE}"}}),
    ("cursor", "afterShellExecution", {"command": "ls", "output": "a", "duration": 1}),
    ("cursor", "afterMCPExecution", {"tool_name": "x", "tool_input": "{}", "result_json": "{}"}),
    ("cursor", "afterFileEdit", {"file_path": "/x", "edits": [{"old_string": "a", "new_string": "b"}]}),
    ("antigravity", "PreInvocation", {"workspacePaths": ["/home/dev/shop"]}),
    ("windsurf", "pre_user_prompt", {"tool_info": {"user_prompt": PROMPT}}),
    ("windsurf", "post_cascade_response", {"tool_info": {"response": "x"}}),
]  # fmt: skip


def payload(client: str, event: str, session: str, transcript: str, fields: dict[str, object]) -> dict[str, object]:
    """What this client sends."""
    common: dict[str, dict[str, object]] = {
        "claude": {**CLAUDE, "session_id": session, "transcript_path": transcript, "hook_event_name": event},
        "codex": {
            "session_id": session, "turn_id": "t-1", "transcript_path": transcript, "cwd": "/home/dev/shop",
            "hook_event_name": event, "model": "m",
        },
        "gemini": {
            "session_id": session, "transcript_path": transcript, "cwd": "/home/dev/shop", "hook_event_name": event,
            "timestamp": "2026-11-22T18:38:42.374Z",
        },
        "cursor": {**CURSOR, "conversation_id": session, "hook_event_name": event, "transcript_path": transcript},
        "copilot": {"sessionId": session, "timestamp": 1, "cwd": "/home/dev/shop", "transcriptPath": transcript},
        "antigravity": {"conversationId": session, "transcriptPath": transcript},
        "windsurf": {"agent_action_name": event, "trajectory_id": session},
    }  # fmt: skip
    return common[client] | fields


def context(client: str, event: str, answer: dict[str, Any]) -> str:
    """The text for the agent, in the shape that its client understands."""
    if client == "cursor":
        assert set(answer) == {"continue", "additional_context"}
        return str(answer["additional_context"])
    if client == "copilot":
        assert set(answer) == {"modifiedTransformedPrompt" if event == "userPromptTransformed" else "additionalContext"}
        return str(next(iter(answer.values())))
    output = answer.pop("hookSpecificOutput")
    assert (answer, set(output)) == ({}, {"hookEventName", "additionalContext"})
    assert output["hookEventName"] == event
    return str(output["additionalContext"])


def neutral(client: str) -> dict[str, Any]:
    """The answer that changes nothing."""
    return {"continue": True} if client == "cursor" else {}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A data directory with a strategy and an anti-pattern."""
    place = tmp_path_factory.mktemp("payloads") / "home"
    with bank_of(place) as bank:
        bank.record(title=TITLE, content="Wait with exponential back-off, then retry.", outcome="success")
        bank.record(
            title="Never migrate a live database without a backup",
            content="alembic upgrade on the live database failed half way and lost a column; take a backup first.",
            outcome="failure",
        )
    yield place


@pytest.fixture
def transcript(tmp_path: Path) -> str:
    """A transcript of a session."""
    path = tmp_path / "s.jsonl"
    path.write_text(REPAIRED)
    return str(path)


def bank_of(home: Path) -> Bank:
    """The bank that the hooks use."""
    return Bank.open(tenant="acme", project="shop", settings=Settings(home=home))


def answered(home: Path, monkeypatch: pytest.MonkeyPatch, event: str, given: dict[str, object]) -> dict[str, Any]:
    """The hook's answer; what it would keep in a process of its own is kept in this one."""
    monkeypatch.setenv("REASONINGBANK_HOME", str(home))
    monkeypatch.delattr(os, "fork")
    target = io.StringIO()
    run(event, io.BytesIO(json.dumps(given).encode()), target, HookPlace(tenant="acme", project="shop"))
    found = json.loads(target.getvalue())
    assert isinstance(found, dict)
    assert not (home / "hooks.log").exists()
    return found


def traces(home: Path) -> tuple[int, int]:
    """How many captures wait, and how many trajectories there are."""
    with bank_of(home) as bank:
        jobs = bank._context.store().jobs.waiting(due=datetime.now(UTC) + timedelta(days=1))
        return sum(job.kind == "capture" for job in jobs), len(bank.sessions.list())


@promise(
    "hook:payloads",
    "Every payload of the clients' conventions is shown, kept or passed over, in the client's own shape.",
    source="issue 4; spec/clients 4b, 4c",
)
@pytest.mark.parametrize(("client", "event", "fields", "title"), SHOWN)
def test_what_is_to_be_shown_is_shown_in_the_clients_own_shape(
    home: Path,
    transcript: str,
    monkeypatch: pytest.MonkeyPatch,
    client: str,
    event: str,
    fields: dict[str, object],
    title: str,
) -> None:
    session = f"{client}-{event}-{sorted(fields.items(), key=str)}"[:200]
    answer = answered(home, monkeypatch, event, payload(client, event, session, transcript, fields))
    assert title in context(client, event, answer)
    assert traces(home) == (0, 0)


@promise("hook:payloads")
@pytest.mark.parametrize(("client", "event", "fields"), KEPT)
def test_what_is_to_be_kept_is_kept_and_nothing_is_said(
    tmp_path: Path, transcript: str, monkeypatch: pytest.MonkeyPatch, client: str, event: str, fields: dict[str, object]
) -> None:
    place = tmp_path / "home"
    if client == "cursor":
        Path(transcript).write_text(cursor_transcript(), encoding="utf-8")
    assert answered(place, monkeypatch, event, payload(client, event, "s-1", transcript, fields)) == neutral(client)
    assert traces(place) == ((1, 0) if event_of(event) == "Stop" else (0, 1))


@promise("hook:payloads")
@promise(
    "hook:skipped",
    "Events of sub-agents, continued turns, machines' prompts, slash commands, interrupted tools and unknown events "
    "change nothing.",
    source="spec/clients 4b",
)
@pytest.mark.parametrize(("client", "event", "fields"), PASSED)
def test_what_is_nobodys_business_is_passed_over(
    tmp_path: Path, transcript: str, monkeypatch: pytest.MonkeyPatch, client: str, event: str, fields: dict[str, object]
) -> None:
    place = tmp_path / "home"
    assert answered(place, monkeypatch, event, payload(client, event, "s-1", transcript, fields)) == neutral(client)
    assert not place.exists()
