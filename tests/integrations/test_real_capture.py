"""Sessions that real clients leave behind: from their hooks to the sessions that ``rbank`` shows."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from agent_clients import AgentServer, client_environment, shell_session
from integrations.test_real_hooks import QUESTION, installed_into
from promises import promise
from reasoningbank.errors import InvalidInput
from reasoningbank.integrations.clients import Where, install, targets_of, uninstall
from reasoningbank.sessions.readers import read
from reasoningbank.types.session import Trajectory
from sessions.learned_sessions import rbank

COMMANDS = ("python3 check.py", "printf 'print(1)' > check.py", "python3 check.py")
RUN = {
    "gemini": ("gemini", "--skip-trust", "--yolo", "-m", "gemini-2.5-flash", "-p"),
    "opencode": ("opencode", "run"),
    "copilot": ("copilot", "--allow-all-tools", "-p"),
}
WRITES = {
    "gemini": ".gemini/tmp/*/chats/*.jsonl",
    "opencode": ".local/share/opencode/reasoningbank/*.json",
    "copilot": ".copilot/session-state/*/events.jsonl",
}


def waited_for(home: Path) -> dict[str, Any]:
    """The one session that a hook has put into the bank or its queue."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        found: list[dict[str, Any]] = json.loads(rbank(home, "sessions", "--json").stdout)["sessions"]
        if found:
            return found[0]
        time.sleep(0.5)
    raise AssertionError("no session came")


@promise(
    "capture:real-clients",
    "Gemini CLI, opencode and Copilot CLI, set up with `rbank install`, show their model what fits, queue their "
    "sessions by themselves, and what they wrote is read with every command and its exit status.",
    source="issue 11",
)
@pytest.mark.timeout(300)
@pytest.mark.parametrize("client", RUN)
def test_a_real_clients_session_is_queued_and_read(client: str, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "check.py").write_text("print(1 / 0)\n")
    with AgentServer(shell_session(COMMANDS, "It is repaired.")) as server:
        variables = client_environment(client, tmp_path / "user", server.url)
        variables = installed_into(client, tmp_path, variables)
        done = subprocess.run(
            [*RUN[client], QUESTION],
            env=variables | {"PWD": str(work)},
            cwd=work,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert any("Close the file before it is moved." in asked.text for asked in server.requests)
    known = waited_for(tmp_path / "home")
    (transcript,) = (tmp_path / "user").glob(WRITES[client])
    assert known["state"] in {"queued", "captured", "waiting", "distilled"}
    (session,) = read(transcript)
    assert isinstance(session, Trajectory)
    assert (session.source, session.task.strip('"')) == (client, QUESTION)
    assert [step.action for step in session.steps[:3]] == [*COMMANDS]
    assert [step.exit_code for step in session.steps[:3]] == [1, 0, 0]
    assert "ZeroDivisionError" in session.steps[0].observation
    assert session.final_answer == "It is repaired."
    assert session.memories
    assert any(fact.kind == "repair" and fact.positive for fact in session.evidence)


@promise(
    "install:opencode-plugin",
    "`rbank install opencode` writes a plugin that runs our hooks with the options given; `uninstall` removes it; a "
    "file of that name that is not ours is left as it is.",
    source="issue 11",
)
def test_the_plugin_of_opencode_is_ours_alone(tmp_path: Path) -> None:
    place = Where(
        level="user", home=tmp_path, project=tmp_path, command="/opt/my tools/rbank", options=("--tenant", "acme")
    )
    targets = targets_of("opencode", place)
    plugin = tmp_path / ".config" / "opencode" / "plugin" / "reasoningbank.js"
    install(targets, tmp_path / "data")
    written = plugin.read_text(encoding="utf-8")
    assert 'const COMMAND = ["/opt/my tools/rbank", "hook", "", "--tenant", "acme"]\n' in written
    assert {change.action for change in install(targets, tmp_path / "data")} == {"none"}
    plugin.write_text(written.replace("const SECONDS = 10", "const SECONDS = 9"))
    install(targets, tmp_path / "data")
    assert plugin.read_text(encoding="utf-8") == written
    uninstall(targets, tmp_path / "data")
    assert not plugin.exists()
    plugin.write_text("// mine\n")
    with pytest.raises(InvalidInput, match="not ours"):
        install(targets, tmp_path / "data")
    uninstall(targets, tmp_path / "data")
    assert plugin.read_text() == "// mine\n"
