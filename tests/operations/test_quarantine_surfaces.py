"""Quarantine, time and versions on the command line, and what no agent can call."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from click.testing import CliRunner, Result

from promises import promise
from reasoningbank.aio import AsyncBank
from reasoningbank.cli.app import rbank
from reasoningbank.mcp.schemas import tools_by_profile
from reasoningbank.operations.json import schema_of
from reasoningbank.settings import Settings
from reasoningbank.testing import HashingEmbedder
from reasoningbank.types.memory import Memory
from reasoningbank.types.quarantine import QuarantineReport

PROFILES = tools_by_profile()

Run = Callable[..., Result]
BEFORE = "2026-01-01T00:00:00Z"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs one command line in tenant acme and project shop, on a home of its own."""
    for name in list(os.environ):
        if name.startswith("REASONINGBANK_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("REASONINGBANK_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments: str) -> Result:
        return CliRunner().invoke(rbank, ["--tenant", "acme", "--project", "shop", *arguments])

    return invoke


def done(result: Result) -> dict[str, Any]:
    """The JSON object of a command that did its work."""
    assert result.exit_code == 0, result.output
    return cast("dict[str, Any]", json.loads(result.stdout))


def recorded(run: Run, content: str) -> str:
    """The id of a new memory."""
    return str(done(run("record", "--title", "A lesson", "--content", content, "--outcome", "success", "--json"))["id"])


@promise(
    "guard:cli",
    "quarantine, release, versions and revert on the command line, with their fields and exit statuses.",
    source="issue 4",
)
def test_memories_go_into_quarantine_and_out_of_it(run: Run) -> None:
    memory = recorded(run, "Pin every dependency in the lock file")
    assert done(run("quarantines", "--json")) == {"quarantines": [], "count": 0}
    planned = done(run("quarantine", "--source", "cli", "--reason", "Poisoned.", "--dry-run", "--json"))
    assert (planned["dry_run"], planned["quarantined"][0]["id"]) == (True, memory)
    held = done(run("quarantine", "--source", "cli", "--since", "2020-01-01", "--reason", "Poisoned.", "--json"))
    assert set(held) == set(schema_of(QuarantineReport)["properties"])
    assert held["quarantined"] == [
        {
            "id": memory,
            "title": "A lesson",
            "scope": "project",
            "project": "shop",
            "before": "active",
            "because": [],
        }
    ]
    assert done(run("search", "pin the dependency", "--json"))["count"] == 0
    listed = done(run("quarantines", "--json"))
    assert (listed["count"], listed["quarantines"][0]["id"]) == (1, held["id"])
    assert "Poisoned." in run("quarantines").stdout
    assert "From active into quarantine" in run("history", memory).stdout
    released = done(run("release", str(held["id"]), "--reason", "False alarm.", "--json"))
    assert released == {"released": [memory], "hidden": [], "kept": []}
    assert done(run("search", "pin the dependency", "--json"))["count"] == 1
    assert run("quarantine", "--memory", memory, "--no-cascade", "--reason", "Again.").exit_code == 0
    assert f"released  {memory}" in run("release", "--memory", memory).stdout
    assert run("release", "--memory", memory).stdout == "Nothing was in quarantine.\n"
    assert run("quarantines").stdout == "Nothing is in quarantine.\n"


@promise("guard:cli")
def test_wrong_arguments_end_with_two(run: Run) -> None:
    memory = recorded(run, "Pin every dependency")
    for arguments in (
        ("quarantine",),
        ("quarantine", "--memory", memory),
        ("quarantine", "--reason", "r"),
        ("quarantines", "--memory", memory),
        ("quarantine", "--since", "yesterday", "--reason", "r"),
        ("release",),
        ("release", "nothing"),
        ("release", "nothing", "--memory", memory),
        ("revert", memory),
        ("revert", memory, "--version", "7"),
        ("list", "--as-of", "then"),
        ("list", "--as-of", "2999-01-01"),
        ("search", "q", "--as-of", "2026-01-01", "--session", "s"),
    ):
        result = run(*arguments, "--json")
        assert result.exit_code == 2, (arguments, result.output)
        assert set(json.loads(result.stderr)) == {"error", "message", "hint"}
    for arguments in (
        ("quarantine", "--memory", "x", "--reason", "r"),
        ("release", "--memory", "x"),
        ("versions", "x"),
    ):
        assert run(*arguments, "--json").exit_code == 3


@promise("guard:cli")
def test_versions_are_listed_and_come_back(run: Run) -> None:
    memory = recorded(run, "Pin every dependency")
    run("update", memory, "--content", "Water the plants")
    listed = done(run("versions", memory, "--json"))
    assert set(listed) == {"memory_id", "versions", "count"}
    assert [version["content"] for version in listed["versions"]] == ["Pin every dependency", "Water the plants"]
    assert "Water the plants" in run("versions", memory).stdout
    back = done(run("revert", memory, "--version", "1", "--json"))
    assert set(back) == set(schema_of(Memory)["properties"])
    assert (back["content"], back["version"]) == ("Pin every dependency", 3)
    assert "Pin every dependency" in run("revert", memory, "--version", "3").stdout


@promise("past:cli", "list and search take --as-of.", source="issue 4")
def test_the_past_is_listed_and_searched(run: Run) -> None:
    memory = recorded(run, "Restart the postgres replica")
    at = str(done(run("get", memory, "--json"))["created_at"])
    run("update", memory, "--content", "Water the plants")
    gone = recorded(run, "Goes away")
    middle = str(done(run("get", gone, "--json"))["created_at"])
    run("delete", gone, "--yes")
    then = done(run("list", "--as-of", at, "--json"))
    assert set(then) == {"as_of", "memories", "count", "notes"}
    assert set(then["memories"][0]) == set(schema_of(Memory)["properties"]) | {"unknown"}
    assert (then["count"], then["memories"][0]["content"]) == (1, "Restart the postgres replica")
    found = done(run("search", "postgres replica", "--as-of", at, "--json"))
    assert found["memories"][0]["content"] == "Restart the postgres replica"
    assert done(run("list", "--as-of", BEFORE, "--json"))["count"] == 0
    text = run("list", "--as-of", middle)
    assert "erased since" in text.stderr
    assert memory in text.stdout


@promise("guard:people-alone")
def test_no_tool_of_an_agent_holds_or_releases() -> None:
    names = {
        name for tools in PROFILES.values() for name in (tool if isinstance(tool, str) else tool.name for tool in tools)
    }
    assert names
    assert not [name for name in names if "quarantine" in name or "release" in name or "revert" in name]


@promise("guard:async", "The asynchronous bank holds, releases and shows the past too.", source="issue 4")
def test_the_asynchronous_bank_guards_too(tmp_path: Path) -> None:
    async def live() -> None:
        settings = Settings(home=tmp_path)
        async with await AsyncBank.open(tenant="t", project="p", embedder=HashingEmbedder(), settings=settings) as bank:
            memory = await bank.record(title="A lesson", content="Pin it.", outcome="success")
            await bank.update(memory.id, content="Pin it all.")
            report = await bank.quarantine.add(memory_id=memory.id, reason="Poisoned.")
            assert [one.id for one in await bank.quarantine.list()] == [report.id]
            assert (await bank.quarantine.release(memory_id=memory.id)).released == (memory.id,)
            assert [each.version for each in await bank.memories.versions(memory.id)] == [1, 2]
            assert (await bank.memories.revert(memory.id, 1)).content == "Pin it."
            view = await bank.at(memory.created_at)
            assert (await view.get(memory.id)).memory.version == 1

    asyncio.run(live())
