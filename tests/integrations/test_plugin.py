"""The Claude Code plugin of the repository: its files, and every command that they name."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

import reasoningbank
from promises import promise
from reasoningbank import Bank, Settings
from reasoningbank.cli.app import COMMANDS
from reasoningbank.integrations.clients import Where, targets_of
from reasoningbank.integrations.hook_payload import event_of
from reasoningbank.mcp.schemas import tools_by_profile
from reasoningbank.safety.quotation import BLOCK_START
from sessions.learned_sessions import RBANK, REPAIRED, environment, eventually

TOOLS = tools_by_profile()["core"]

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = ROOT / "plugins" / "claude-code"
EVENTS = [
    "SessionStart", "UserPromptSubmit", "PostToolUseFailure", "Stop", "SessionEnd", "PreCompact", "PostCompact",
]  # fmt: skip
SPEAKING = {"SessionStart", "UserPromptSubmit", "PostToolUseFailure"}
FIELDS: dict[str, dict[str, object]] = {
    "SessionStart": {"source": "startup", "model": "m", "session_title": "t", "seconds_since_last_response": 3},
    "UserPromptSubmit": {"prompt": "A network call fails now and then.", "source": "user"},
    "PostToolUseFailure": {
        "tool_name": "Bash", "tool_input": {"command": "alembic upgrade head"}, "tool_use_id": "toolu_1",
        "error": "Exit code 1: the migration of the live database failed", "is_interrupt": False, "duration_ms": 4,
    },
    "Stop": {"stop_hook_active": False, "last_assistant_message": "Done.", "background_tasks": [], "session_crons": []},
    "SessionEnd": {"reason": "logout"},
    "PreCompact": {"trigger": "manual", "custom_instructions": ""},
    "PostCompact": {"trigger": "auto", "compact_summary": "The range is inclusive now and tests pass."},
}  # fmt: skip


def load(path: Path) -> dict[str, Any]:
    """A JSON file of the plugin."""
    found = json.loads(path.read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The plugin as a client has it: copied, in a directory whose name has spaces."""
    target = tmp_path / "my plugins" / "reasoningbank"
    shutil.copytree(PLUGIN, target)
    return target


def variables(home: Path, plugin: Path) -> dict[str, str]:
    """What the client sets when it runs a plugin's command."""
    path = f"{RBANK.parent}{os.pathsep}{os.environ['PATH']}"
    return environment(home) | {"PATH": path, "CLAUDE_PLUGIN_ROOT": str(plugin)}


@promise(
    "plugin:files",
    "The plugin's manifest and marketplace have the keys that Claude Code reads, at the package's version.",
    source="issue 4; spec/clients 4b",
)
def test_the_files_have_the_keys_that_the_client_reads() -> None:
    manifest = load(PLUGIN / ".claude-plugin" / "plugin.json")
    assert set(manifest) == {
        "name", "version", "description", "author", "homepage", "repository", "license", "keywords",
    }  # fmt: skip
    assert set(manifest["author"]) == {"name"}
    market = load(ROOT / ".claude-plugin" / "marketplace.json")
    assert set(market) == {"name", "owner", "plugins"}
    (entry,) = market["plugins"]
    assert set(entry) == {"name", "version", "source", "description"}
    assert (ROOT / entry["source"]).resolve() == PLUGIN
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {manifest["version"], entry["version"], project["version"]} == {reasoningbank.__version__}
    assert (entry["name"], entry["description"]) == (manifest["name"], manifest["description"])
    assert (manifest["license"], manifest["homepage"]) == (project["license"], project["urls"]["Documentation"])
    assert [path.name for path in sorted((PLUGIN / ".claude-plugin").iterdir())] == ["plugin.json"]
    for name in (manifest["name"], market["name"]):
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)


@promise(
    "plugin:hooks",
    "Every hook command of the plugin exists, has a timeout, and answers a real payload from process start.",
    source="issue 4; spec/clients 4b",
)
def test_every_hook_is_one_that_the_installer_writes_too() -> None:
    hooks = load(PLUGIN / "hooks" / "hooks.json")["hooks"]
    assert list(hooks) == EVENTS
    where = Where(level="project", home=ROOT, project=ROOT, command="rbank")
    own = {entry.path[1]: entry.value for entry in targets_of("claude-code", where)[1].entries}
    for event, (group,) in hooks.items():
        (handler,) = group["hooks"]
        value = own[event]
        assert isinstance(value, dict)
        assert group.get("matcher") == value.get("matcher")
        assert {key: handler[key] for key in ("type", "command", "args")} == {
            key: value["hooks"][0][key] for key in ("type", "command", "args")
        }
        assert set(handler) - {"statusMessage"} == {"type", "command", "args", "timeout"}
        assert 0 < handler["timeout"] <= 10
        assert event_of(handler["args"][1]) == event
    assert "${" not in (PLUGIN / "hooks" / "hooks.json").read_text(), "exec form needs no placeholder and no quotes"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A data directory with a strategy and an anti-pattern of a project, and the project's directory."""
    home, work = tmp_path_factory.mktemp("plugin") / "home", tmp_path_factory.mktemp("work")
    with open_bank(home, work) as bank:
        bank.record(title="Retry a network call that fails now and then", content="Back off.", outcome="success")
        bank.record(
            title="Never migrate a live database without a backup",
            content="alembic upgrade on the live database failed half way; take a backup first.",
            outcome="failure",
        )
    return home, work


def open_bank(home: Path, work: Path) -> Bank:
    """The bank of a project's directory."""
    return Bank.open(tenant="acme", project=str(work), settings=Settings(home=home))


@promise("plugin:hooks")
@promise("hook:payloads")
@pytest.mark.parametrize("event", EVENTS)
def test_every_hook_command_answers_a_real_payload_from_process_start(
    installed: Path, place: tuple[Path, Path], tmp_path: Path, event: str
) -> None:
    home, work = place
    transcript = tmp_path / "s.jsonl"
    transcript.write_text(REPAIRED)
    payload = {
        "session_id": f"s-{event}",
        "transcript_path": str(transcript),
        "cwd": str(work),
        "permission_mode": "default",
        "prompt_id": "p",
        "effort": {"level": "high"},
        "hook_event_name": event,
        **FIELDS[event],
    }
    (group,) = load(installed / "hooks" / "hooks.json")["hooks"][event]
    (handler,) = group["hooks"]
    done = subprocess.run(
        [handler["command"], *handler["args"]],
        input=json.dumps(payload).encode(),
        env=variables(home, installed) | {"REASONINGBANK_TENANT": "acme", "CLAUDE_PROJECT_DIR": str(work)},
        cwd=work,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    answer = json.loads(done.stdout)
    if event in SPEAKING:
        assert answer["hookSpecificOutput"]["hookEventName"] == event
        assert BLOCK_START in answer["hookSpecificOutput"]["additionalContext"]
        return
    assert answer == {}

    def kept() -> bool:
        with open_bank(home, work) as bank:
            waiting = bank._context.store().jobs.waiting(due=datetime.now(UTC) + timedelta(days=1))
            paths = [job.payload.get("path") for job in waiting if job.kind == "capture"]
            return str(transcript) in paths or any(one.session == f"s-{event}" for one in bank.sessions.list())

    eventually(kept)


@promise("plugin:server", "The plugin's MCP server is started by the real client.", source="issue 4; spec/clients 4b")
def test_the_server_of_the_plugin_is_started_by_the_real_client(installed: Path, tmp_path: Path) -> None:
    (server,) = load(installed / ".mcp.json")["mcpServers"].values()
    assert set(server) == {"command", "args"}
    tmp_path.joinpath("work").mkdir()

    async def work() -> list[str]:
        parameters = StdioServerParameters(
            command=server["command"],
            args=server["args"],
            env=variables(tmp_path / "home", installed),
            cwd=str(tmp_path / "work"),
        )
        async with Client(parameters, read_timeout_seconds=60) as client:
            listed = await client.list_tools()
            waiting = await client.call_tool("memory_distill", {})
            assert not waiting.is_error
            return [tool.name for tool in listed.tools]

    assert anyio.run(work) == list(TOOLS)


@promise(
    "plugin:skill",
    "The plugin's skill is short and names only tools and commands that exist.",
    source="issue 4; spec/clients 4b",
)
def test_the_skill_names_only_what_exists() -> None:
    (folder,) = (PLUGIN / "skills").iterdir()
    text = (folder / "SKILL.md").read_text(encoding="utf-8")
    head = re.fullmatch(r"---\nname: (\S+)\ndescription: (.{1,1024})\n---\n(.*)", text, flags=re.DOTALL)
    assert head is not None
    assert head[1] == folder.name
    assert len(head[3]) < 3_000
    assert set(re.findall(r"`(memory_\w+)`", text)) <= set(TOOLS)
    assert set(re.findall(r"`rbank (\w[\w-]*)", text)) <= set(COMMANDS)
