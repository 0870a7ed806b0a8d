"""One session of our own making, written in every format that capture reads."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from reasoningbank.sessions.readers import Skipped, read
from reasoningbank.types.session import Trajectory

TASK = "The nightly export drops the last row of every page; find out why and repair it."
ANSWER = "The loop stopped one short of the page size. It is inclusive now, and the tests pass."
STARTED = "2026-03-04T05:06:07Z"


@dataclass(frozen=True)
class Turn:
    """A command of a shell, why it was run and what came of it."""

    thought: str
    action: str
    observation: str
    exit_code: int = 0


TURNS = (
    Turn(
        "First see what the exporter does.",
        "sed -n 1,40p export/pages.py",
        "for row in range(size - 1):\n    emit(row)",
    ),
    Turn(
        "Prove it with a test.", "pytest -q tests/test_pages.py", "E   assert 9 == 10\n1 failed, 3 passed in 0.12s", 1
    ),
    Turn("Make the range inclusive.", "sed -i 's/size - 1/size/' export/pages.py", ""),
    Turn("Run the tests again.", "pytest -q tests/test_pages.py", "4 passed in 0.11s"),
)


def claude_code(turns: Sequence[Turn] = TURNS, task: str = TASK, answer: str = ANSWER, *, tool: str = "Bash") -> str:
    """JSON lines of Claude Code."""
    common = {
        "sessionId": "cc-1",
        "isSidechain": False,
        "cwd": "/home/dev/shop",
        "version": "2.1.0",
        "timestamp": STARTED,
    }
    lines: list[dict[str, object]] = [
        {"type": "summary", "summary": "Repair of the export", "leafUuid": "u-0"},
        {**common, "type": "user", "uuid": "u-0", "message": {"role": "user", "content": task}},
    ]
    for number, turn in enumerate(turns):
        call = f"toolu_{number}"
        said = [
            {"type": "text", "text": turn.thought},
            {"type": "tool_use", "id": call, "name": tool, "input": {"command": turn.action, "description": "d"}},
        ]
        failed = turn.exit_code != 0
        seen = f"Exit code {turn.exit_code}\n{turn.observation}" if failed else turn.observation
        result = {"type": "tool_result", "tool_use_id": call, "content": seen, "is_error": failed}
        report = {"stdout": turn.observation, "stderr": "", "interrupted": False} if not failed else f"Error: {seen}"
        lines.append(
            {**common, "type": "assistant", "uuid": f"a-{number}", "message": {"role": "assistant", "content": said}}
        )
        lines.append(
            {
                **common,
                "type": "user",
                "uuid": f"r-{number}",
                "toolUseResult": report,
                "message": {"role": "user", "content": [result]},
            }
        )
    last = {"role": "assistant", "content": [{"type": "text", "text": answer}]}
    lines.append({**common, "type": "assistant", "uuid": "a-last", "message": last})
    return _lines(lines)


def codex(turns: Sequence[Turn] = TURNS, task: str = TASK, answer: str = ANSWER, *, tool: str = "shell") -> str:
    """JSON lines of Codex."""

    def item(**payload: object) -> dict[str, object]:
        return {"timestamp": STARTED, "type": "response_item", "payload": payload}

    def message(role: str, text: str) -> dict[str, object]:
        kind = "output_text" if role == "assistant" else "input_text"
        return item(type="message", role=role, content=[{"type": kind, "text": text}])

    lines: list[dict[str, object]] = [
        {"timestamp": STARTED, "type": "session_meta", "payload": {"id": "cx-1", "timestamp": STARTED, "cwd": "/src"}},
        message("developer", "Rules of the house."),
        message("user", "<environment_context>\n  <cwd>/src</cwd>\n</environment_context>"),
        message("user", task),
        {"timestamp": STARTED, "type": "event_msg", "payload": {"type": "user_message", "message": task}},
    ]
    for number, turn in enumerate(turns):
        call = f"call_{number}"
        arguments = json.dumps({"command": ["bash", "-lc", turn.action], "workdir": "/src"})
        output = json.dumps({"output": turn.observation, "metadata": {"exit_code": turn.exit_code}})
        lines += [
            item(type="reasoning", summary=[{"type": "summary_text", "text": turn.thought}], encrypted_content="x"),
            item(type="function_call", name=tool, arguments=arguments, call_id=call),
            item(type="function_call_output", call_id=call, output=output),
        ]
    lines.append(message("assistant", answer))
    return _lines(lines)


def gemini_records(
    turns: Sequence[Turn] = TURNS, task: str = TASK, answer: str = ANSWER, *, tool: str = "run_shell_command"
) -> tuple[dict[str, object], list[dict[str, object]]]:
    """The head of a chat of Gemini CLI and its messages; one with a call is written before and after it ran."""

    def message(mark: str, kind: str, content: object, **more: object) -> dict[str, object]:
        return {"id": mark, "timestamp": STARTED, "type": kind, "content": content, **more}

    head: dict[str, object] = {"sessionId": "gm-1", "projectHash": "0f", "startTime": STARTED, "kind": "main"}
    asked = [{"text": task}, {"text": "<hook_context>From a hook.</hook_context>"}]
    records = [
        message("c-0", "user", [{"text": "<session_context>\nThe date.\n</session_context>"}]),
        message("u-0", "user", asked),
    ]
    for number, turn in enumerate(turns):
        mark, call = f"g-{number}", f"{tool}_{number}"
        report = f"Output: {turn.observation or '(empty)'}"
        report += f"\nExit Code: {turn.exit_code}" if turn.exit_code else ""
        seen = f"<untrusted_context>\n{report}\nProcess Group PGID: 77\n</untrusted_context>"
        answered = {"functionResponse": {"id": call, "name": tool, "response": {"output": seen}}}
        ran = {
            "id": call,
            "name": tool,
            "args": {"command": turn.action, "description": "d"},
            "result": [answered],
            "status": "success",
            "timestamp": STARTED,
        }
        records += [
            message(mark, "gemini", turn.thought, thoughts=[], model="m"),
            message(mark, "gemini", turn.thought, thoughts=[], model="m", toolCalls=[ran]),
            message(f"r-{number}", "user", [answered]),
        ]
    records.append(message("g-last", "gemini", answer, thoughts=[], model="m"))
    return head, records


def gemini(
    turns: Sequence[Turn] = TURNS, task: str = TASK, answer: str = ANSWER, *, tool: str = "run_shell_command"
) -> str:
    """JSON lines of Gemini CLI."""
    head, records = gemini_records(turns, task, answer, tool=tool)
    lines = [head, {"$set": {"messages": records[:1], "lastUpdated": STARTED}}]
    for record in records[1:]:
        lines += [record, {"$set": {"lastUpdated": STARTED}}]
    return _lines(lines)


def gemini_object(turns: Sequence[Turn] = TURNS, task: str = TASK, answer: str = ANSWER) -> str:
    """A chat of Gemini CLI as its earlier versions wrote it, one object."""
    head, records = gemini_records(turns, task, answer)
    last = {str(record["id"]): record for record in records}
    return json.dumps({**head, "lastUpdated": STARTED, "messages": [*last.values()]}, indent=2)


def copilot(turns: Sequence[Turn] = TURNS, task: str = TASK, answer: str = ANSWER, *, tool: str = "bash") -> str:
    """JSON lines of Copilot CLI."""

    def event(kind: str, **data: object) -> dict[str, object]:
        return {"type": kind, "data": data, "id": kind, "timestamp": STARTED, "parentId": None}

    lines = [
        event("session.start", sessionId="cp-1", copilotVersion="1.0.0", startTime=STARTED, context={"cwd": "/src"}),
        event("user.message", content=task, transformedContent=f"<current_datetime>now</current_datetime>\n{task}"),
        event("system.message", role="system", content="Rules of the house."),
    ]
    for number, turn in enumerate(turns):
        call, asked = f"call_{number}", {"command": turn.action, "description": "d"}
        shell = {"exitCode": turn.exit_code}
        seen = f"{turn.observation}\n<shellId: {number} completed with exit code {turn.exit_code}>"
        request = {"toolCallId": call, "name": tool, "arguments": asked, "type": "function"}
        lines += [
            event("assistant.turn_start", turnId=str(number)),
            event("assistant.message", messageId=f"m-{number}", content=turn.thought, toolRequests=[request]),
            event("tool.execution_start", toolCallId=call, toolName=tool, arguments=asked),
            event(
                "tool.execution_complete", toolCallId=call, shellExecution=shell, success=True, result={"content": seen}
            ),
        ]
    lines.append(event("assistant.message", messageId="m-last", content=answer, toolRequests=[]))
    lines.append(event("session.shutdown", shutdownType="routine"))
    return _lines(lines)


def cursor_transcript(
    turns: Sequence[Turn] = TURNS, task: str = TASK, answer: str = ANSWER, *, tool: str = "Shell"
) -> str:
    """A transcript of Cursor's agent; what its tools answered is not in it."""

    def line(role: str, *blocks: Mapping[str, object]) -> dict[str, object]:
        return {"role": role, "message": {"content": [*blocks]}}

    at = "<timestamp>Wednesday, Mar 4, 2026, 6:06 AM (UTC+1)</timestamp>"
    asked = f"<open_and_recently_viewed_files>\nexport.py\n</open_and_recently_viewed_files>\n{at}"
    lines = [line("user", {"type": "text", "text": f"{asked}\n<user_query>\n{task}\n</user_query>"})]
    for turn in turns:
        call = {"type": "tool_use", "name": tool, "input": {"command": turn.action, "description": "d"}}
        lines.append(line("assistant", {"type": "text", "text": f"{turn.thought}\n\n[REDACTED]"}, call))
    lines.append(line("assistant", {"type": "text", "text": answer}))
    return _lines([*lines, {"type": "turn_ended", "status": "success"}])


def cursor(turns: Sequence[Turn] = TURNS, task: str = TASK, answer: str = ANSWER) -> str:
    """The copy of a transcript of Cursor that our hooks make: with what the commands did."""
    head = {"type": "cursor_session", "session": "cu-1", "directory": "/src", "version": "3.7", "model": "m"}
    outcomes = [
        {
            "type": "tool_outcome",
            "tool": "Shell",
            "action": turn.action,
            "output": turn.observation,
            "exit_code": turn.exit_code,
            "failed": False,
        }
        for turn in turns
    ]
    return _lines([head]) + cursor_transcript(turns, task, answer) + _lines(outcomes)


def opencode(turns: Sequence[Turn] = TURNS, task: str = TASK, answer: str = ANSWER, *, tool: str = "bash") -> str:
    """What ``opencode export`` writes."""
    at = {"created": 1_772_600_767_000}

    def message(role: str, *parts: dict[str, object]) -> dict[str, object]:
        info = {"role": role, "time": at, "modelID": "m", "sessionID": "oc-1"}
        return {"info": info, "parts": [{"type": "step-start"}, *parts, {"type": "step-finish", "reason": "stop"}]}

    def words(said: str, **more: object) -> dict[str, object]:
        return {"type": "text", "text": said, **more}

    messages = [message("user", words(task), words("Put in by a plugin.", synthetic=True))]
    for number, turn in enumerate(turns):
        facts = {"output": turn.observation, "exit": turn.exit_code}
        state = {
            "status": "completed",
            "input": {"command": turn.action, "description": "d"},
            "output": turn.observation or "(no output)",
            "metadata": facts,
        }
        call: dict[str, object] = {"type": "tool", "tool": tool, "callID": f"call_{number}", "state": state}
        messages.append(message("assistant", words(turn.thought), call))
    messages.append(message("assistant", words(answer)))
    info = {"id": "oc-1", "directory": "/src", "title": "Repair", "version": "1.18.0", "time": at}
    return json.dumps({"info": info, "messages": messages}, indent=2)


def swe_agent(turns: Sequence[Turn] = TURNS, task: str = TASK, answer: str = ANSWER) -> str:
    """A ``.traj`` file; it knows no exit codes."""
    steps = [
        {
            "action": f"{turn.action}\n",
            "observation": turn.observation,
            "response": f"{turn.thought}\n```\n{turn.action}\n```",
            "thought": turn.thought,
            "state": '{"working_dir": "/src"}',
        }
        for turn in turns
    ]
    asked = f"Here is the work.\nISSUE:\n{task}\n\nINSTRUCTIONS:\nWork on it by yourself."
    history = [
        {"role": "system", "content": "SETTING: a shell.", "agent": "main"},
        {"role": "user", "content": "A demonstration of something else.", "is_demo": True, "agent": "main"},
        {"role": "user", "content": asked, "agent": "main"},
    ]
    info = {"exit_status": "submitted", "submission": answer, "model_stats": {"api_calls": 4}}
    return json.dumps({"environment": "main", "trajectory": steps, "history": history, "info": info}, indent=2)


def mini_swe_agent(turns: Sequence[Turn] = TURNS, task: str = TASK, answer: str = ANSWER) -> str:
    """A ``.traj.json`` file."""
    rules = "One command in a block ```mswea_bash_command```; end with `echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT`."
    messages: list[dict[str, object]] = [
        {"role": "system", "content": rules},
        {
            "role": "user",
            "content": f"Please solve this issue: {task}\n\nYou can execute bash commands and edit files.",
        },
    ]
    for turn in turns:
        messages += [
            {"role": "assistant", "content": f"{turn.thought}\n\n```mswea_bash_command\n{turn.action}\n```"},
            {
                "role": "user",
                "content": f"<returncode>{turn.exit_code}</returncode>\n<output>\n{turn.observation}\n</output>",
            },
        ]
    done = "Done.\n\n```mswea_bash_command\necho COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT\n```"
    messages += [{"role": "assistant", "content": done}, {"role": "user", "content": answer}]
    info = {"exit_status": "Submitted", "submission": answer}
    return json.dumps({"info": info, "messages": messages, "trajectory_format": "mini-swe-agent-1"}, indent=1)


def message_list(
    turns: Sequence[Turn] = TURNS, task: str = TASK, answer: str = ANSWER, *, tool: str = "bash"
) -> list[object]:
    """Messages as OpenAI's interface has them."""
    messages: list[object] = [{"role": "system", "content": "Be exact."}, {"role": "user", "content": task}]
    for number, turn in enumerate(turns):
        call = f"call_{number}"
        function = {"name": tool, "arguments": json.dumps({"command": turn.action})}
        calls = [{"id": call, "type": "function", "function": function}]
        report = json.dumps({"output": turn.observation, "exit_code": turn.exit_code})
        messages += [
            {"role": "assistant", "content": turn.thought, "tool_calls": calls},
            {"role": "tool", "tool_call_id": call, "name": tool, "content": report},
        ]
    messages.append({"role": "assistant", "content": answer})
    return messages


def bare_messages(turns: Sequence[Turn] = TURNS, task: str = TASK, answer: str = ANSWER) -> str:
    """An array of messages."""
    return json.dumps(message_list(turns, task, answer))


def message_object(turns: Sequence[Turn] = TURNS, task: str = TASK, answer: str = ANSWER) -> str:
    """An object with an array of messages, over many lines."""
    return json.dumps({"id": "chat-1", "messages": message_list(turns, task, answer)}, indent=2)


def message_sessions(turns: Sequence[Turn] = TURNS, task: str = TASK, answer: str = ANSWER) -> str:
    """An array of sessions with labels beside the messages."""
    session = {
        "task_id": 7,
        "reward": 1.0,
        "info": {"gold": "LABEL gold actions"},
        "traj": message_list(turns, task, answer),
        "trial": 2,
    }
    return json.dumps([session])


def agents_log(turns: Sequence[Turn] = TURNS, task: str = TASK, answer: str = ANSWER) -> str:
    """A log of agents that talk and of the terminal that runs their code, with marks about the mistake."""
    history: list[dict[str, object]] = []
    for number, turn in enumerate(turns):
        speaker = f"Expert_{number % 2}"
        state = "execution succeeded" if turn.exit_code == 0 else "execution failed"
        history += [
            {"content": f"{turn.thought}\n```sh\n{turn.action}\n```", "role": "assistant", "name": speaker},
            {
                "content": f"exitcode: {turn.exit_code} ({state})\nCode output: {turn.observation}",
                "role": "user",
                "name": "Computer_terminal",
            },
        ]
    history += [
        {"content": answer, "role": "assistant", "name": "Expert_0"},
        {"content": "TERMINATE", "role": "assistant", "name": "Expert_0"},
    ]
    marks = {
        "is_correct": False,
        "question": task,
        "question_ID": "q-1",
        "ground_truth": "LABEL truth",
        "history": history,
        "mistake_agent": "LABEL agent",
        "mistake_step": "1",
        "mistake_reason": "LABEL reason",
    }
    return json.dumps(marks, indent=4)


def plain_steps(turns: Sequence[Turn] = TURNS, task: str = TASK, answer: str = ANSWER) -> str:
    """The plain format, an object per step."""
    lines: list[dict[str, object]] = [{"session": "p-1", "task": task, "created_at": STARTED}]
    lines += [
        {
            "session": "p-1",
            "thought": turn.thought,
            "tool": "bash",
            "action": turn.action,
            "observation": turn.observation,
            "exit_code": turn.exit_code,
        }
        for turn in turns
    ]
    lines.append({"session": "p-1", "final_answer": answer})
    return _lines(lines)


def plain_session(turns: Sequence[Turn] = TURNS, task: str = TASK, answer: str = ANSWER) -> str:
    """The plain format, an object per session."""
    steps = [
        {
            "thought": turn.thought,
            "tool": "bash",
            "action": turn.action,
            "observation": turn.observation,
            "exit_code": turn.exit_code,
        }
        for turn in turns
    ]
    return _lines([{"session": "p-1", "task": task, "created_at": STARTED, "steps": steps, "final_answer": answer}])


def plain_object(turns: Sequence[Turn] = TURNS, task: str = TASK, answer: str = ANSWER) -> str:
    """The plain format, a file that is one object over many lines."""
    return json.dumps(json.loads(plain_session(turns, task, answer)), indent=2)


Writer = Callable[..., str]
WRITERS: dict[str, tuple[Writer, str]] = {
    "Claude Code": (claude_code, "claude-code"),
    "Codex": (codex, "codex"),
    "Gemini CLI": (gemini, "gemini"),
    "Gemini CLI, one object": (gemini_object, "gemini"),
    "opencode": (opencode, "opencode"),
    "Copilot CLI": (copilot, "copilot"),
    "Cursor": (cursor, "cursor"),
    "SWE-agent": (swe_agent, "swe-agent"),
    "mini-swe-agent": (mini_swe_agent, "mini-swe-agent"),
    "array of messages": (bare_messages, "messages"),
    "object of messages": (message_object, "messages"),
    "array of sessions": (message_sessions, "messages"),
    "log of agents": (agents_log, "messages"),
    "plain steps": (plain_steps, "jsonl"),
    "plain session": (plain_session, "jsonl"),
    "plain object": (plain_object, "jsonl"),
}
"""Every way of writing, and the name of its format."""


def sessions(path: Path, text: str | bytes, *, format: str = "auto") -> list[Trajectory]:  # noqa: A002
    """The trajectories of a file with this text, of which nothing may be skipped."""
    found = results(path, text, format=format)
    assert not [result for result in found if isinstance(result, Skipped)], found
    return [result for result in found if isinstance(result, Trajectory)]


def results(path: Path, text: str | bytes, *, format: str = "auto") -> list[Trajectory | Skipped]:  # noqa: A002
    """Everything that reading a file with this text gives."""
    file = path / "recorded"
    file.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return list(read(file, format=format))


def all_texts(trajectory: Trajectory) -> str:
    """Every text that a trajectory holds."""
    parts = [trajectory.task, trajectory.final_answer, trajectory.session, trajectory.source]
    for step in trajectory.steps:
        parts += [step.user, step.thought, step.action, step.tool, step.observation, step.error, step.actor]
    for fact in trajectory.evidence:
        parts += [fact.detail, fact.name]
    for key, value in trajectory.metadata.items():
        parts += [key, value]
    return "\n\n".join([*parts, *trajectory.memories])


def _lines(objects: Sequence[object]) -> str:
    return "".join(json.dumps(value) + "\n" for value in objects)
