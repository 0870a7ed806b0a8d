"""The command line and the tool show what the bank shows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from promises import promise
from reasoningbank.cli.app import rbank
from reasoningbank.mcp.banks import Banks
from reasoningbank.mcp.calls import Caller
from reasoningbank.mcp.schemas import tools_by_profile
from reasoningbank.mcp.tools import Tools
from reasoningbank.safety.quotation import BLOCK_START, is_own_tool, own_command, shows_memories
from reasoningbank.settings import Settings
from reasoningbank.testing import HashingEmbedder

PROFILES = tools_by_profile()

CALLER = Caller(tenant="acme", session="s1")
LESSON = {"title": "Retry a failed call", "content": "Wait, then retry the failed call.", "outcome": "success"}


def run(*words: str) -> dict[str, Any]:
    """Runs a command for one JSON object."""
    result = CliRunner().invoke(rbank, ["--tenant", "acme", "--project", "shop", *words, "--json"])
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    answer = json.loads(result.stdout)
    assert isinstance(answer, dict)
    return answer


@promise(
    "inject:command",
    "rbank briefing and rbank session-outcome have the options and JSON fields that other programs rely on.",
    source="issue, Interface exactly",
)
def test_the_commands_have_the_interface_that_other_programs_rely_on(home_of_commands: Path) -> None:
    stored = run("record", "--title", LESSON["title"], "--content", LESSON["content"], "--outcome", "success")
    brief = run("briefing", "--session", "s")
    assert set(brief) == {"text", "tokens", "items", "left_out", "session"}
    shown = {"standing": "vouched", "confidence": 0.8, "scope": "project", "outcome": "success"}
    assert brief["items"] == [{"id": stored["id"], **shown}]
    assert brief["left_out"] == []
    assert brief["session"] == "s"
    none = run("briefing", "--budget", "20")
    assert (none["text"], none["tokens"], none["items"]) == ("", 0, [])
    assert none["left_out"] == [{"id": stored["id"], "reason": "budget"}]
    assert run("session-outcome", "s", "succeeded") == {"credited": []}
    run("briefing", "--task", LESSON["title"], "--session", "s")
    ended = run("session-outcome", "s", "succeeded")
    assert set(ended) == {"credited"}
    assert set(ended["credited"][0]) == {"memory_id", "succeeded", "previous_confidence", "new_confidence"}
    assert ended["credited"][0]["succeeded"] is True
    assert ended["credited"][0]["new_confidence"] == run("get", stored["id"])["confidence"] > 0.8
    assert run("session-outcome", "s", "succeeded") == ended
    replaced = run("session-outcome", "s", "failed")["credited"]
    assert [one["memory_id"] for one in replaced] == [stored["id"]]
    assert replaced[0]["new_confidence"] == run("get", stored["id"])["confidence"] < 0.8
    readable = CliRunner().invoke(
        rbank, ["--tenant", "acme", "--project", "shop", "briefing", "--task", "a failed call"]
    )
    assert readable.stdout.startswith(BLOCK_START)
    assert "tokens, session" in readable.stderr


@pytest.fixture
def tools(tmp_path: Path) -> Iterator[Tools]:
    """The tools of the profile inside this process."""
    banks = Banks(Settings(home=tmp_path / "home"), project="shop", embedder=HashingEmbedder())
    made = Tools(banks, profile="briefing")
    yield made
    made.close()


@promise(
    "inject:tool",
    "memory_briefing is offered by the profile briefing; the core keeps its seven tools.",
    source="issue Injection",
)
def test_the_tool_shows_the_same_and_the_core_is_as_it_was(tools: Tools) -> None:
    assert set(PROFILES["briefing"]) == {*PROFILES["core"], "memory_briefing"}
    assert len(PROFILES["core"]) == 7
    stored = tools.call("memory_record", LESSON, CALLER)
    answer = tools.call("memory_briefing", {"task": LESSON["title"]}, CALLER)
    assert not answer.failed
    assert answer.text == answer.fields["text"]
    assert answer.text.startswith(BLOCK_START)
    assert answer.fields["session"] == "s1"
    assert set(answer.fields) == set(tools.specs["memory_briefing"].outputs)
    assert str(stored.fields["id"]) in answer.text
    assert tools.call("memory_briefing", {"task": LESSON["title"], "budget": 10}, CALLER).fields["items"] == []
    unknown = tools.call("memory_briefing", {"project_id": "elsewhere", "task": "a failed call"}, CALLER)
    assert (unknown.fields["text"], unknown.failed) == ("", False)
    assert "Nothing is known of project" in unknown.text
    for wrong in ({"budget": -1}, {"task": " "}, {"budget": "many"}, {"nonsense": 1}):
        assert tools.call("memory_briefing", wrong, CALLER).failed
    assert tools.call("memory_briefing", {}, Caller(tenant="globex", session="s")).fields["items"] == []


@promise("inject:echo")
def test_capture_knows_the_tool_and_the_command(tools: Tools) -> None:
    assert is_own_tool("mcp__reasoningbank__memory_briefing")
    assert shows_memories("memory_briefing")
    assert shows_memories(own_command("rbank briefing --task x"))


@promise("inject:command")
def test_a_reversed_verdict_tells_the_movement_as_it_was_and_an_unknown_session_is_named(
    home_of_commands: Path,
) -> None:
    stored = run("record", "--title", LESSON["title"], "--content", LESSON["content"], "--outcome", "success")
    run("briefing", "--task", LESSON["title"], "--session", "s")
    run("session-outcome", "s", "failed")
    before = run("get", stored["id"])["confidence"]
    words = ["--tenant", "acme", "--project", "shop", "session-outcome"]
    said = CliRunner().invoke(rbank, [*words, "s", "succeeded"]).stdout
    now = run("get", stored["id"])["confidence"]
    assert f"confidence {before:.3f} to {now:.3f} (without this session it would be 0.800)." in said
    again = CliRunner().invoke(rbank, [*words, "s", "succeeded"]).stdout
    assert f"unchanged, confidence {now:.3f}; the session counts for it already (without" in again
    assert (
        "nothing is known of a session named nosuch" in CliRunner().invoke(rbank, [*words, "nosuch", "failed"]).stdout
    )
