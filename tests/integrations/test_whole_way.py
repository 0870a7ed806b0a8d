"""The whole way of a user who typed ``rbank install CLIENT`` and nothing else, with real clients and no key.

The clients are real, so are their hooks, the server that they start and every command in the sessions. Only what their
model says is written here. Each user has a home and a directory for sockets of their own.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from agent_clients import AgentServer, Call, client_environment
from llm.replay_server import Asked
from llm.test_client_model import offered
from promises import promise
from reasoningbank.llm import CLIENTS
from sessions.learned_sessions import RBANK, STRATEGY, eventually, model
from shared_servers import run_directory, servers_in

TEST = "python3 -m unittest test_prices"
ERROR = "the currency code 'EUR' is missing from the price table"
WRONG = 'CODES = {"EURO": "€", "USD": "$"}'
RIGHT = WRONG.replace("EURO", "EUR")
PRICES = f"""{WRONG}


def sign(code):
    if code not in CODES:
        raise ValueError(f"the currency code {{code!r}} is missing from the price table")
    return CODES[code]
"""
TESTS = """import unittest

from prices import sign


class Prices(unittest.TestCase):
    def test_sign(self):
        self.assertEqual(sign("EUR"), "€")
"""
PATCH = f"*** Begin Patch\n*** Update File: prices.py\n@@\n-{WRONG}\n+{RIGHT}\n*** End Patch\n"
HEADLESS: Mapping[str, tuple[str, ...]] = {
    "claude-code": ("claude", "--allowedTools", "Bash,Edit,Read", "-p"),
    "codex": ("codex", "exec", "--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox"),
    "gemini": ("gemini", "--skip-trust", "--yolo", "-m", "gemini-2.5-flash", "-p"),
    "opencode": ("opencode", "run"),
    "copilot": ("copilot", "--allow-all-tools", "-p"),
}
"""How a client is run for one prompt; a person would have trusted the folder, Codex' hooks and the commands."""
UNRELATED = ("--title", "Rotate signing keys", "--content", "Rotate them each quarter.", "--outcome", "success")


def repairs(client: str, work: Path) -> Sequence[Call]:
    """What the model asks for: the test that fails, the edit, and the test that passes."""
    if client == "codex":
        commands = (TEST, f"apply_patch <<'EOF'\n{PATCH}EOF", TEST)
        return tuple(Call(tool="exec_command", given={"cmd": each}) for each in commands)
    file = str(work / "prices.py")
    why = {"description": "Run the price test"}
    if client == "gemini":
        run = Call(tool="run_shell_command", given={"command": TEST, **why})
        given = {"file_path": file, "old_string": WRONG, "new_string": RIGHT, "instruction": "Name the code EUR."}
        return (run, Call(tool="replace", given=given), run)
    if client == "opencode":
        run = Call(tool="bash", given={"command": TEST, **why})
        given = {"filePath": file, "oldString": WRONG, "newString": RIGHT}
        return (run, Call(tool="read", given={"filePath": file}), Call(tool="edit", given=given), run)
    if client == "copilot":
        run = Call(tool="bash", given={"command": TEST, **why})
        given = {"path": file, "old_str": WRONG, "new_str": RIGHT}
        return (run, Call(tool="view", given={"path": file}), Call(tool="edit", given=given), run)
    run = Call(tool="Bash", given={"command": TEST})
    edit = {"file_path": file, "old_string": WRONG, "new_string": RIGHT}
    return (run, Call(tool="Read", given={"file_path": file}), Call(tool="Edit", given=edit), run)


def answered(asked: Asked) -> int:
    """How many calls of tools a request brings the results of."""
    messages = cast("list[dict[str, Any]]", asked.body.get("messages") or [])
    parts = [part for each in messages if isinstance(each["content"], list) for part in each["content"]]
    items = cast("list[dict[str, Any]]", asked.body.get("input") or [])
    results = [part for part in parts if part.get("type") == "tool_result"]
    outputs = [item for item in items if str(item.get("type")).endswith("_call_output")]
    turns = cast("list[dict[str, Any]]", asked.body.get("contents") or [])
    replies = [part for turn in turns for part in turn["parts"] if "functionResponse" in part]
    spoken = [each for each in messages if each.get("role") == "tool"]
    return len(results) + len(outputs) + len(replies) + len(spoken)


def distils(asked: Asked) -> str:
    """The recorded model; a client may ask for a session's title, too."""
    return model(asked) if "JSON schema" in asked.text else "Prices"


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """A user with a client, a project and nothing else.

    Attributes:
        client: The client.
        server: What the client takes for its model.
        variables: The user's environment.
        work: The project.
        sockets: Where shared servers have their sockets.
    """

    client: str
    server: AgentServer
    variables: Mapping[str, str]
    work: Path
    sockets: Path

    def run(self, *command: str | Path) -> str:
        """Run a command in the project and return what it prints."""
        done = subprocess.run(
            [str(word) for word in command],
            env=self.variables,
            cwd=self.work,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )
        assert done.returncode == 0, f"{command}: {done.stdout}\n{done.stderr}"
        return done.stdout

    def rbank(self, *words: str) -> Any:
        """Return the JSON that a command of ours answers with."""
        return json.loads(self.run(RBANK, *words, "--json"))

    def session(self, prompt: str) -> Sequence[Asked]:
        """Run the client for one prompt and return what its model was asked."""
        before = len(self.server.requests)
        self.run(*HEADLESS[self.client], prompt)
        return [each for each in self.server.requests[before:] if offered(each)]

    def confidences(self) -> dict[str, float]:
        """How far each memory is believed."""
        return {each["id"]: each["confidence"] for each in self.rbank("list")["memories"]}

    def sessions(self) -> list[dict[str, Any]]:
        """Where the sessions stand, the newest first."""
        return cast("list[dict[str, Any]]", self.rbank("sessions")["sessions"])


@contextmanager
def user_of(
    client: str, folder: Path, *, otherwise: Callable[[Asked], str] = lambda _: "Prices", **settings: str
) -> Iterator[User]:
    """A user whose model repairs the price table whenever it may use tools."""
    work = folder / "shop"
    work.mkdir()
    (work / "prices.py").write_text(PRICES, encoding="utf-8")
    (work / "test_prices.py").write_text(TESTS, encoding="utf-8")
    steps = repairs(client, work)

    def say(asked: Asked) -> str | Call:
        if offered(asked) <= {"request_user_input"}:
            return otherwise(asked)
        done = answered(asked)
        return steps[done] if done < len(steps) else "The price test passes now."

    with run_directory() as sockets, AgentServer(say) as server:
        variables = client_environment(client, folder / "user", server.url)
        variables["PATH"] = f"{RBANK.parent}{os.pathsep}{variables['PATH']}"
        variables |= {"PYTHONDONTWRITEBYTECODE": "1", "PWD": str(work)}
        given = {"RUN_DIRECTORY": str(sockets), **{name.upper(): value for name, value in settings.items()}}
        variables |= {f"REASONINGBANK_{name}": value for name, value in given.items()}
        user = User(client=client, server=server, variables=variables, work=work, sockets=sockets)
        for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "Begin")):
            user.run("git", "-c", "user.name=Dana", "-c", "user.email=dana@example.com", *words)
        yield user


@promise(
    "loop:whole-way",
    "After rbank install of Claude Code, Codex, Gemini CLI, opencode or Copilot CLI and nothing else, a session that "
    "repaired a failing test is captured through the client's own hooks and is a recipe within a minute; in the next "
    "session the recipe stands in what the "
    "model is asked right after the same command failed, and when that session ends well the confidence of this memory "
    "rises and no other's. rbank sessions and rbank status say so.",
    source="issue 11, It must show",
)
@pytest.mark.timeout(400)
@pytest.mark.parametrize("client", HEADLESS)
def test_a_fresh_installation_learns_shows_and_credits(client: str, tmp_path: Path) -> None:
    with user_of(client, tmp_path) as user:
        user.run(RBANK, "install", client)
        first = user.session("The price test fails. Find out why and repair it.")
        ended = time.monotonic()
        assert (user.work / "prices.py").read_text().startswith(RIGHT)
        assert not any("reasoningbank-memories" in each.text for each in first)
        eventually(lambda: [each["state"] for each in user.sessions()] == ["waiting"])
        eventually(lambda: bool(user.confidences()))
        assert time.monotonic() - ended < 60
        (session,) = user.sessions()
        assert (session["verdict"], session["reason"]) == (
            "success",
            "waits for a model: none configured; its recipes were learned",
        )
        ((recipe, before),) = user.confidences().items()
        assert before == 0.6
        told = user.rbank("status")
        assert (told["sessions"]["waiting"], told["errors"]) == (1, [])
        assert told["learned_this_week"] == [f"ValueError: {ERROR}"]
        assert told["credited_this_week"] == []

        other = user.rbank("record", *UNRELATED)["id"]
        user.run("git", "checkout", "-q", "prices.py")
        second = user.session("What does the build say?")
        at_first, after_the_failure = second[0], second[1]
        assert recipe not in at_first.text
        assert f"id {recipe}" in after_the_failure.text
        assert json.dumps(f"`{WRONG}` became `{RIGHT}`", ensure_ascii=False)[1:-1] in after_the_failure.text
        eventually(lambda: user.confidences()[recipe] > before)
        after = user.confidences()
        assert after[other] == 0.8
        assert {round(value, 6) for name, value in after.items() if name not in {recipe, other}} <= {0.6}
        assert [each["verdict"] for each in user.sessions()] == ["success", "success"]
        told = user.rbank("status")
        assert told["sessions"]["waiting"] == 2
        assert told["credited_this_week"] == [f"ValueError: {ERROR}: 0.600 to {after[recipe]:.3f}"]
        assert told["errors"] == []

        newest = user.sessions()[0]["id"]
        user.run(RBANK, "verdict", newest, "failure")
        eventually(lambda: user.confidences()[recipe] < before)
        assert user.confidences() | {recipe: 0} == after | {recipe: 0}


@promise("loop:whole-way")
@pytest.mark.timeout(400)
@pytest.mark.parametrize("client", CLIENTS)
def test_the_users_own_client_distils_and_is_never_captured(client: str, tmp_path: Path) -> None:
    with user_of(client, tmp_path, otherwise=distils) as user:
        user.run(RBANK, "install", client, "--distill", "client")
        user.session("The price test fails. Find out why and repair it.")
        eventually(lambda: [each["state"] for each in user.sessions()] == ["distilled"], 120)
        titles = [str(each["title"]) for each in user.rbank("list")["memories"]]
        assert sorted(titles) == sorted([str(STRATEGY["title"]), f"ValueError: {ERROR}"])
        told = user.rbank("status")
        assert told["model"]["name"] == f"client:{client}"
        assert told["model"]["used"]["sessions"] == 1
        # Its place in the graph is asked for after it is distilled.
        eventually(lambda: sum("JSON schema" in each.text for each in user.server.requests) == 2)
        assert (sum(told["sessions"].values()), told["sessions"]["distilled"], told["errors"]) == (1, 1, [])
        asked = len(user.server.requests)
        time.sleep(12)
        assert len(user.server.requests) == asked
        assert len(user.sessions()) == 1


@promise("relay:one-server")
@pytest.mark.timeout(400)
def test_eight_real_windows_share_one_server_and_leave_nothing(tmp_path: Path) -> None:
    with user_of("claude-code", tmp_path, idle_minutes="0.1") as user:
        user.run(RBANK, "install", "claude-code")
        with ThreadPoolExecutor(8) as pool:
            sessions = [pool.submit(user.run, *HEADLESS["claude-code"], f"Task {number}") for number in range(8)]
            most = 0
            while not all(each.done() for each in sessions):
                most = max(most, len(servers_in(user.sockets)))
                time.sleep(0.2)
            for each in sessions:
                assert "passes now" in each.result()
        assert most == 1
        eventually(lambda: not servers_in(user.sockets))
        eventually(lambda: not left_of(tmp_path / "user"))
        assert not [*user.sockets.glob("*.sock"), *user.sockets.glob("*.lock")]


def left_of(home: Path) -> list[str]:
    """The processes of a user that still run."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and f"HOME={home}".encode() in (process / "environ").read_bytes().split(b"\0"):
                found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"))
        except OSError:
            continue
    return found
