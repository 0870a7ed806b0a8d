"""Every format gives the same session: its task, its steps, what they did and how they ended."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from promises import promise
from reasoningbank.errors import InvalidInput
from reasoningbank.sessions.readers import FORMATS, Skipped, read
from reasoningbank.types.session import Trajectory
from sessions.recorded_sessions import (
    ANSWER,
    STARTED,
    TASK,
    TURNS,
    WRITERS,
    agents_log,
    claude_code,
    codex,
    cursor,
    cursor_transcript,
    message_list,
    results,
    sessions,
)

NO_EXIT_CODES = {"SWE-agent"}
NO_TIMES = {
    "Cursor",
    "SWE-agent",
    "mini-swe-agent",
    "array of messages",
    "object of messages",
    "array of sessions",
    "log of agents",
}
EXTRA_STEPS = {
    "Claude Code": 1,
    "Codex": 1,
    "Gemini CLI": 1,
    "Gemini CLI, one object": 1,
    "opencode": 1,
    "Copilot CLI": 1,
    "Cursor": 1,
    "SWE-agent": 0,
    "mini-swe-agent": 1,
    "array of messages": 1,
    "object of messages": 1,
    "array of sessions": 1,
    "log of agents": 2,
    "plain steps": 0,
    "plain session": 0,
    "plain object": 0,
}
"""The last words are a step of their own where they are a message."""


@promise(
    "capture:formats",
    "Transcripts of Claude Code, rollouts of Codex, chats of Gemini CLI (lines, or one object), exports of opencode, "
    "events of Copilot CLI, transcripts of Cursor, .traj of SWE-agent, .traj.json of mini-swe-agent, lists of "
    "messages (bare, in objects, in arrays or lines of objects, logs of agents) and the plain JSON lines give the "
    "same session: task, ordered steps with thought, action, tool, observation and exit code, final answer and "
    "evidence.",
    source="issue 3 Capture; DESIGN 1 capture",
)
@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_session(name: str, tmp_path: Path) -> None:
    write, source = WRITERS[name]
    (trajectory,) = sessions(tmp_path, write())
    assert trajectory.source == source
    assert trajectory.task == TASK
    assert trajectory.final_answer == ANSWER
    assert len(trajectory.steps) == len(TURNS) + EXTRA_STEPS[name]
    for step, turn in zip(trajectory.steps, TURNS, strict=False):
        assert turn.thought in step.thought
        assert step.action.strip() == turn.action
        assert step.tool in {"Bash", "bash", "shell", "Shell", "code", "run_shell_command"}
        assert turn.observation.splitlines()[-1:] == step.observation.rstrip('"}').splitlines()[-1:] or (
            turn.observation in json.dumps(step.observation)
            or turn.observation.replace("\n", "\\n") in step.observation
        )
        if name not in NO_EXIT_CODES:
            assert step.exit_code == turn.exit_code
            assert step.failed == (turn.exit_code != 0)
    if name not in NO_TIMES:
        assert trajectory.created_at == datetime.fromisoformat(STARTED)
    assert trajectory.evidence


@promise(
    "capture:detected",
    "The format of a file is told by its content, whatever its name, byte order mark or line ends; naming it gives "
    "the same; an unknown name is refused with the known ones.",
    source="issue 3 Capture (auto-detected)",
)
@pytest.mark.parametrize("name", WRITERS)
def test_the_format_is_told_by_the_content_and_may_be_named(name: str, tmp_path: Path) -> None:
    write, source = WRITERS[name]
    assert source in FORMATS
    (found,) = sessions(tmp_path, b"\xef\xbb\xbf" + write().encode())
    (named,) = sessions(tmp_path, write(), format=source)
    assert found.digest == named.digest
    windows = write().replace("\n", "\r\n")
    assert [found.digest] == [trajectory.digest for trajectory in sessions(tmp_path, windows)]


@promise(
    "capture:cursor",
    "A transcript of Cursor is read as it lies there, with the name of its file, the time of its first prompt and what "
    "the person asked; outcomes that our hooks noted are put to the last calls of the same commands.",
    source="issue 11; Cursor's own TypeScript SDK 1.0.18",
)
def test_a_transcript_of_cursor_is_read_with_and_without_outcomes(tmp_path: Path) -> None:
    name = "0a1b2c3d-0000-4000-8000-00000000abcd"
    path = tmp_path / f"{name}.jsonl"
    path.write_text(cursor_transcript(), encoding="utf-8")
    (bare,) = read(path)
    assert isinstance(bare, Trajectory)
    assert (bare.session, bare.task, bare.final_answer) == (name, TASK, ANSWER)
    assert bare.created_at == datetime(2026, 3, 4, 5, 6, tzinfo=UTC)
    assert [step.action for step in bare.steps[: len(TURNS)]] == [turn.action for turn in TURNS]
    assert {step.exit_code for step in bare.steps} == {None}
    assert not any("REDACTED" in step.thought for step in bare.steps)
    path.write_text(cursor(), encoding="utf-8")
    (whole,) = read(path)
    assert isinstance(whole, Trajectory)
    assert (whole.session, whole.metadata["directory"], whole.metadata["client_version"]) == ("cu-1", "/src", "3.7")
    late = [
        json.dumps({**json.loads(line), "exit_code": 3}) for line in cursor().splitlines() if "tool_outcome" in line
    ]
    path.write_text(cursor_transcript((*TURNS, *TURNS)) + "\n".join(late), encoding="utf-8")
    (twice,) = read(path)
    assert isinstance(twice, Trajectory)
    assert [step.exit_code for step in twice.steps] == [None] * len(TURNS) + [3] * len(TURNS) + [None]


@promise("capture:cursor")
def test_turns_of_cursor_that_break_off_and_lines_that_are_none(tmp_path: Path) -> None:
    lines = [
        {"type": "metadata", "metadata": {"overview": "About exporters."}},
        {"role": "user", "message": {"content": "Repair the exporter."}},
        {"role": "assistant", "message": {"content": [{"type": "tool_use", "name": "Shell", "input": "make"}]}},
        {"type": "turn_ended", "status": "error", "error": "The model is overloaded."},
        {"role": "user", "message": {"content": [{"type": "text", "text": "<user_query>Go on.</user_query>"}]}},
        {"type": "turn_ended", "status": "aborted"},
        {"role": "user", "message": 7},
        {"type": "tool_outcome", "tool": "Shell", "action": "another", "output": "x", "exit_code": 1},
        [],
    ]
    path = tmp_path / "chat.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    found = [*read(path)]
    (session,) = [one for one in found if isinstance(one, Trajectory)]
    assert (session.session, session.task) == ("", "Repair the exporter.")
    assert [(step.action, step.error, step.user) for step in session.steps] == [
        ("make", "", ""),
        ("", "The model is overloaded.", ""),
        ("", "", "Go on."),
    ]
    assert [one.place for one in found if isinstance(one, Skipped)] == [9]


@promise("capture:detected")
def test_an_unknown_name_of_a_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="auto, claude-code, codex"):
        results(tmp_path, claude_code(), format="pickle")


@promise("capture:formats")
def test_lines_of_sessions_and_arrays_of_sessions_give_one_trajectory_each(tmp_path: Path) -> None:
    lines = "\n".join(json.dumps({"id": f"chat-{n}", "messages": message_list(task=f"{TASK} {n}")}) for n in range(3))
    assert [found.session for found in sessions(tmp_path, lines)] == ["chat-0", "chat-1", "chat-2"]
    array = [{"task_id": n, "trial": t, "traj": message_list()} for n in range(2) for t in range(2)]
    found = sessions(tmp_path, json.dumps(array))
    assert [entry.session for entry in found] == [f"task_id {n} trial {t}" for n in range(2) for t in range(2)]
    assert [entry.metadata["trial"] for entry in found] == ["0", "1", "0", "1"]
    assert len({entry.digest for entry in found}) == 4


@promise(
    "capture:same-twice",
    "The same transcript read twice is one trajectory: its digest is equal and a store keeps it once.",
    source="spec/memoria_haios H19; issue 3 Capture (de-duplicated)",
)
@pytest.mark.parametrize("name", WRITERS)
def test_the_same_transcript_twice_is_the_same_trajectory(name: str, tmp_path: Path) -> None:
    write, _ = WRITERS[name]
    first, second = (sessions(tmp_path, write())[0] for _ in range(2))
    assert first.id != second.id
    assert first.digest == second.digest


@promise(
    "capture:short-chats",
    "A chat of two messages without any action is skipped with that reason.",
    source="spec/memoria_haios H19",
)
@pytest.mark.parametrize(
    "name", sorted(set(WRITERS) - {"plain steps", "plain session", "plain object", "SWE-agent", "mini-swe-agent"})
)
def test_a_chat_of_two_messages_is_skipped_with_the_reason(name: str, tmp_path: Path) -> None:
    write, _ = WRITERS[name]
    text = write(()) if name != "log of agents" else write(()).replace("TERMINATE", " ")
    (skipped,) = results(tmp_path, text)
    assert isinstance(skipped, Skipped)
    assert "messages without any action has nothing to learn from" in skipped.reason


def said(role: str, content: object, **more: object) -> dict[str, object]:
    return {
        "type": role,
        "uuid": f"x{abs(hash(json.dumps([content, more], default=str)))}",
        "sessionId": "cc-2",
        "timestamp": STARTED,
        "isSidechain": False,
        "message": {"role": role, "content": content},
        **more,
    }


def use(call: str, tool: str, **arguments: object) -> list[dict[str, object]]:
    return [{"type": "tool_use", "id": call, "name": tool, "input": arguments}]


def result(call: str, content: object, **more: object) -> list[dict[str, object]]:
    return [{"type": "tool_result", "tool_use_id": call, "content": content, **more}]


def claude(tmp_path: Path, *lines: dict[str, object]) -> Trajectory:
    (trajectory,) = sessions(tmp_path, "\n".join(map(json.dumps, lines)))
    return trajectory


@promise(
    "capture:task",
    "The task is what a person said first; meta, command, hook, reminder and summary texts are not a person's, and "
    "the words of a slash command count only when nobody said more.",
    source="issue 3 Capture",
)
def test_the_task_is_what_a_person_said_first_and_nothing_that_was_put_in(tmp_path: Path) -> None:
    trajectory = claude(
        tmp_path,
        said("user", "injected by a hook", isMeta=True),
        said("user", "Caveat: The messages below were generated by the user while running local commands."),
        said("user", "<command-name>/clear</command-name><command-message>clear</command-message>"),
        said("user", "<local-command-stdout>cleared</local-command-stdout>"),
        said("user", [{"type": "text", "text": "<system-reminder>Mind the rules.</system-reminder>"}]),
        said("user", [{"type": "text", "text": "<system-reminder>x</system-reminder>Rename the column."}]),
        said("assistant", use("t1", "Bash", command="ls")),
        said("user", result("t1", "a.sql\n<system-reminder>The file changed.</system-reminder>")),
        said("user", "This session is continued from another one.", isCompactSummary=True),
        said("user", "[Request interrupted by user]"),
        said("user", "Now the tests."),
        said("assistant", "Done."),
    )
    assert trajectory.task == "Rename the column."
    assert trajectory.steps[0].observation == "a.sql\n"
    assert [step.user for step in trajectory.steps if step.user] == ["[Request interrupted by user]\n\nNow the tests."]
    assert "continued" not in repr(trajectory)


@promise("capture:task")
def test_the_words_of_a_slash_command_are_the_task_when_nobody_said_more(tmp_path: Path) -> None:
    trajectory = claude(
        tmp_path,
        said("user", "<command-name>/fix</command-name><command-args>the flaky login test</command-args>"),
        said("assistant", use("t1", "Bash", command="ls")),
        said("user", result("t1", "a.py")),
    )
    assert trajectory.task == "the flaky login test"


@promise(
    "capture:failures",
    "Errors and exit codes are read from every shape in which Claude Code and Codex write them, and are left open "
    "where they are not told.",
    source="issue 3 Capture (error, exit code)",
)
def test_errors_and_exit_codes_of_claude_code(tmp_path: Path) -> None:
    trajectory = claude(
        tmp_path,
        said("user", "Build it."),
        said("assistant", use("t1", "Bash", command="make")),
        said("user", result("t1", "Exit code 2\nmake: no rule", is_error=True), toolUseResult="Error: Exit code 2"),
        said("assistant", use("t2", "Edit", file_path="a.py", old_string="a", new_string="b")),
        said("user", result("t2", [{"type": "text", "text": "String to replace not found."}], is_error=True)),
        said("assistant", use("t3", "Bash", command="sleep 100")),
        said("user", result("t3", ""), toolUseResult={"stdout": "tick", "stderr": "", "interrupted": True}),
        said("assistant", use("t4", "Bash", command="grep x y")),
        said("user", result("t4", ""), toolUseResult={"stdout": "", "returnCodeInterpretation": "No matches found"}),
        said("assistant", use("t5", "Bash", command="server &")),
        said("user", result("t5", "started"), toolUseResult={"stdout": "", "backgroundTaskId": "b1"}),
        said("assistant", use("t6", "Bash", command="true")),
        said("user", result("t6", "fine")),
        said("assistant", "API Error: 529 overloaded", isApiErrorMessage=True),
    )
    assert [step.exit_code for step in trajectory.steps] == [2, None, None, None, None, 0, None]
    assert [step.failed for step in trajectory.steps] == [True, True, True, False, False, False, True]
    assert trajectory.steps[1].error == "String to replace not found."
    assert trajectory.steps[2].observation == "tick"
    assert trajectory.steps[6].error == "API Error: 529 overloaded"


@promise(
    "capture:sub-agents",
    "What sub-agents did is told apart by actor: side chains and agent ids of Claude Code, rollouts of Codex's "
    "sub-agents, speakers of a log of agents; a sub-agent's own file is a session of its own.",
    source="issue 3 Capture (sub-agents)",
)
def test_sub_agents_of_claude_code_are_told_apart(tmp_path: Path) -> None:
    order = "Find every caller of export()."
    trajectory = claude(
        tmp_path,
        said("user", "Clean up the exporter."),
        said("assistant", use("t1", "Task", prompt=order, subagent_type="explorer", description="callers")),
        said("user", order, isSidechain=True, uuid="s1", parentUuid=None),
        said("assistant", use("s-t1", "Grep", pattern="export"), isSidechain=True, uuid="s2", parentUuid="s1"),
        said("user", "Look at the docs.", isSidechain=True, uuid="z1", agentId="a77"),
        said("user", result("s-t1", "a.py:3"), isSidechain=True, uuid="s3", parentUuid="s2"),
        said("assistant", "One page names it.", isSidechain=True, uuid="z2", agentId="a77"),
        said("assistant", "There is one caller.", isSidechain=True, uuid="s4", parentUuid="s3"),
        said("user", result("t1", "There is one caller.")),
        said("assistant", "I removed it."),
    )
    assert trajectory.task == "Clean up the exporter."
    actors = {step.actor: step for step in trajectory.steps}
    assert set(actors) == {"", "explorer 1", "sub-agent a77"}
    assert actors["explorer 1"].thought == "There is one caller."
    assert [step.observation for step in trajectory.steps if step.tool == "Grep"] == ["a.py:3"]
    assert [step.observation for step in trajectory.steps if step.tool == "Task"] == ["There is one caller."]
    assert trajectory.final_answer == "I removed it."
    assert not any(step.user for step in trajectory.steps)


@promise("capture:sub-agents")
def test_a_sub_agents_own_file_is_a_session_of_its_own(tmp_path: Path) -> None:
    more = {"isSidechain": True, "agentId": "a1"}
    trajectory = claude(
        tmp_path,
        said("user", "Find the callers.", **more),
        said("assistant", use("t1", "Grep", pattern="x"), **more),
        said("user", result("t1", "a.py"), **more),
    )
    assert trajectory.task == "Find the callers."
    assert {step.actor for step in trajectory.steps} == {"sub-agent a1"}


@promise("capture:sub-agents")
def test_the_agents_of_a_log_are_actors(tmp_path: Path) -> None:
    (trajectory,) = sessions(tmp_path, agents_log())
    assert [step.actor for step in trajectory.steps[:4]] == ["Expert_0", "Expert_1", "Expert_0", "Expert_1"]


@promise("capture:formats")
def test_one_file_may_hold_several_sessions_of_claude_code(tmp_path: Path) -> None:
    both = claude_code() + claude_code().replace("cc-1", "cc-9").replace('"uuid": "', '"uuid": "9')
    assert [found.session for found in sessions(tmp_path, both)] == ["cc-1", "cc-9"]


@promise("capture:formats")
def test_lines_that_are_there_twice_count_once(tmp_path: Path) -> None:
    (once,) = sessions(tmp_path, claude_code())
    (twice,) = sessions(tmp_path, "".join(line * 2 for line in claude_code().splitlines(keepends=True)))
    assert once.digest == twice.digest


@promise("capture:failures")
def test_exit_codes_of_codex_in_every_shape(tmp_path: Path) -> None:
    def line(kind: str, **payload: object) -> str:
        return json.dumps({"timestamp": STARTED, "type": kind, "payload": payload})

    outputs: list[object] = [
        json.dumps({"output": "a", "metadata": {"exit_code": 3}}),
        "Exit code: 4\nWall time: 0.1 seconds\nOutput:\nb",
        "Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 5\nOriginal token count: 1\nOutput:\nc",
        {"content": "d", "success": False},
        "e",
    ]
    lines = [line("session_meta", id="cx-2", source={"subagent": {"x": 1}}, agent_nickname="Ada")]
    lines.append(line("response_item", type="message", role="user", content=[{"type": "input_text", "text": "Go."}]))
    for number, output in enumerate(outputs):
        arguments = json.dumps({"cmd": f"run {number}"})
        call = f"c{number}"
        lines.append(
            line("response_item", type="function_call", name="exec_command", arguments=arguments, call_id=call)
        )
        if number == 4:
            lines.append(line("event_msg", type="exec_command_end", call_id=call, exit_code=6))
        lines.append(line("response_item", type="function_call_output", call_id=call, output=output))
    lines.append(
        line("response_item", type="custom_tool_call", name="apply_patch", input="*** Begin Patch", call_id="p")
    )
    lines.append(line("response_item", type="custom_tool_call_output", call_id="p", output="Success."))
    (trajectory,) = sessions(tmp_path, "\n".join(lines))
    assert [step.exit_code for step in trajectory.steps] == [3, 4, 5, None, 6, None]
    assert [step.observation for step in trajectory.steps] == ["a", "b", "c", "d", "e", "Success."]
    assert [step.action for step in trajectory.steps[:2]] == ["run 0", "run 1"]
    assert trajectory.steps[3].error == "d"
    assert trajectory.steps[5].action == "*** Begin Patch"
    assert {step.actor for step in trajectory.steps} == {"sub-agent Ada"}


@promise("capture:formats")
def test_a_rollout_of_an_early_codex(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in codex().splitlines()]
    early = [{"id": "cx-0", "timestamp": STARTED, "instructions": None}, {"record_type": "state"}]
    early += [line["payload"] for line in lines if line["type"] == "response_item"]
    (trajectory,) = sessions(tmp_path, "\n".join(map(json.dumps, early)))
    assert (trajectory.task, trajectory.session, len(trajectory.steps)) == (TASK, "cx-0", len(TURNS) + 1)


@promise("capture:formats")
def test_a_mini_swe_agent_with_tools_and_an_end_without_submission(tmp_path: Path) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": json.dumps({"command": "ls"})}}
    messages = [
        {"role": "system", "content": "Work."},
        {
            "role": "user",
            "content": "<pr_description>\nConsider the following PR description:\nFix it.\n</pr_description>",
        },
        {"role": "assistant", "content": "Look.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "<returncode>7</returncode>\n<output>\nno\n</output>"},
        {"role": "exit", "content": "", "extra": {"exit_status": "LimitsExceeded", "submission": ""}},
    ]
    text = json.dumps({"messages": messages, "trajectory_format": "mini-swe-agent-1.1"})
    (trajectory,) = sessions(tmp_path, text)
    assert trajectory.source == "mini-swe-agent"
    assert trajectory.task == "Fix it."
    assert [(step.action, step.exit_code, step.observation) for step in trajectory.steps] == [("ls", 7, "no")]
    assert trajectory.metadata["exit_status"] == "LimitsExceeded"
    assert [fact.positive for fact in trajectory.evidence if fact.kind == "submission"] == [False]


@promise("capture:formats")
def test_messages_with_blocks_and_with_results_out_of_order(tmp_path: Path) -> None:
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "Compare both files."}]},
        {"role": "assistant", "content": [*use("a", "read", path="1"), *use("b", "read", path="2")]},
        {"role": "user", "content": [*result("b", "two"), *result("a", "Error: none", is_error=True)]},
        {"role": "assistant", "content": "They differ."},
        {"role": "user", "content": "Thanks, that works."},
    ]
    (trajectory,) = sessions(tmp_path, json.dumps({"messages": messages}))
    assert [(step.observation, step.failed) for step in trajectory.steps[:2]] == [("Error: none", True), ("two", False)]
    assert trajectory.steps[-1].user == "Thanks, that works."
    assert trajectory.final_answer == "They differ."


@promise(
    "capture:plain",
    "The plain format carries every field of a step and of a session, as lines of steps, lines of sessions or one "
    "object.",
    source="issue 3 Capture (plain generic JSONL)",
)
def test_the_plain_format_has_every_field(tmp_path: Path) -> None:
    step = {
        "user": "and now?",
        "thought": "see",
        "tool": "http",
        "action": {"url": "/x"},
        "observation": {"status": 500},
        "error": "server error",
        "exit_code": 22,
        "actor": "helper",
    }
    head = {
        "task": "Call it.",
        "session": "p-2",
        "created_at": 1_772_600_767,
        "metadata": {"team": "web", "size": 3, "odd": []},
        "evidence": [{"kind": "user_verdict", "positive": False, "detail": "no", "step": 0}, {"kind": "odd"}, 3],
        "memories": ["m-1", 5],
    }
    other = {"task": "Second.", "session": "p-2", "steps": [step]}
    first, second = sessions(tmp_path, "\n".join(map(json.dumps, [head, step, {"final_answer": "It fails."}, other])))
    assert first.steps[0].action == '{"url": "/x"}'
    assert first.steps[0].observation == '{"status": 500}'
    assert (first.steps[0].user, first.steps[0].actor, first.steps[0].exit_code) == ("and now?", "helper", 22)
    assert first.created_at == datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
    assert first.metadata == {"team": "web", "size": "3"}
    assert first.memories == ("m-1",)
    assert [fact.kind for fact in first.evidence if fact.detail == "no"] == ["user_verdict"]
    assert first.final_answer == "It fails."
    assert second.task == "Second."


@promise(
    "capture:labels",
    "Rewards, gold actions and patches, ground truth and marks of mistakes beside a session never reach its "
    "trajectory.",
    source="shared data README; issue 3 It must show (label stripped)",
)
@pytest.mark.parametrize("name", ["array of sessions", "log of agents"])
def test_no_label_reaches_the_trajectory(name: str, tmp_path: Path) -> None:
    write, _ = WRITERS[name]
    (trajectory,) = sessions(tmp_path, write())
    whole = repr(trajectory)
    assert not [word for word in ("LABEL", "reward", "mistake", "gold", "is_correct") if word in whole]


@promise("capture:labels")
def test_a_gold_patch_beside_a_run_is_not_read(tmp_path: Path) -> None:
    write, _ = WRITERS["SWE-agent"]
    run = json.loads(write())
    run["instance"] = {"patch": "LABEL patch", "test_patch": "LABEL tests"}
    run["info"]["resolved"] = "LABEL resolved"
    (trajectory,) = sessions(tmp_path, json.dumps(run))
    assert "LABEL" not in repr(trajectory)
