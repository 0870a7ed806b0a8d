"""The demonstration: two sessions with real commands, hooks and server, of which the second does better."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from promises import promise
from reasoningbank.demo.agent import SETTINGS_IDEAS, Ran, reach
from reasoningbank.demo.checkout import check_out
from reasoningbank.demo.hooked import PlainShell
from reasoningbank.demo.run import INVOICES
from shared_servers import run_directory, servers_in

RBANK = Path(sys.executable).parent / "rbank"
ERROR = "FileNotFoundError: [Errno 2] No such file or directory: 'local.ini'"


def demo(temporary: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the demonstration of a user whose own bank and temporary files are in this folder."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("REASONINGBANK_")}
    own = {"TMPDIR": str(temporary), "REASONINGBANK_HOME": str(temporary / "untouched"), **variables}
    return subprocess.run(
        [str(RBANK), "demo", *words], env=kept | own, capture_output=True, text=True, check=False, timeout=180
    )


@promise(
    "demo:loop",
    "`rbank demo` plays two sessions of a scripted agent with real commands through the installed hooks and the real "
    "server: the first becomes recipes without a model, the hook of a failed command shows the right one in the "
    "second, the agent needs fewer commands, and the confidence of that recipe alone rises.",
    source="issue 11 The demo is the loop",
)
@pytest.mark.parametrize("shared", ["true", "false"])
def test_the_second_session_does_better_because_of_the_first(shared: str) -> None:
    with run_directory() as temporary:
        done = demo(temporary, "--json", REASONINGBANK_SHARED=shared)
        assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
        assert servers_in(temporary) == []
        assert list(temporary.iterdir()) == [], "nothing is left, and the user's own bank was not made"
    answer = json.loads(done.stdout)
    assert answer["ok"] is True
    assert {check["ok"] for check in answer["checks"]} == {True}
    first, second = answer["first"], answer["second"]
    assert [first[0]["exit_code"], first[-1]["exit_code"]] == [1, 0]
    assert [second[0]["exit_code"], second[-1]["exit_code"]] == [1, 0]
    assert ERROR in first[0]["output"]
    assert ERROR in second[0]["output"]
    assert len(second) == 3 < answer["without_memory"] == len(first) == 7
    assert not any(each["shown"] for each in first)
    assert "| - ran: cp local.example.ini local.ini" in second[0]["shown"]
    assert answer["verdict"] == "success"
    moved, other = answer["recipes"]
    assert moved["title"].startswith("FileNotFoundError")
    assert moved["before"] == other["before"] == other["after"] == pytest.approx(0.6)
    assert moved["after"] > 0.6
    assert [line.partition(",")[0] for line in answer["why"][:-1]] == [
        "Outcome evidence for it",
        "Usage evidence for it",
    ]
    assert "memory_search" in answer["tools"]


@promise(
    "demo:readable",
    "The demo tells its story on one screen of at most 40 lines and leaves nothing behind.",
    source="issue 11 The demo is the loop",
)
def test_the_demo_is_told_on_one_screen() -> None:
    with run_directory() as temporary:
        done = demo(temporary)
        assert done.returncode == 0, done.stdout + done.stderr
        assert list(temporary.iterdir()) == []
    lines = done.stdout.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 125
    for expected in (
        "SESSION 1",
        "A WEEK LATER",
        "7 commands until the tests pass",
        "3 commands",
        "alpha / (alpha + beta) =",
        "checks held",
    ):
        assert expected in done.stdout
    assert "FAILED" not in done.stdout
    assert re.search(r"confidence 0\.6[1-9]\d \(was 0\.600\): FileNotFoundError", done.stdout)


@promise(
    "demo:honest",
    "The demo's agent follows what its hook printed and nothing else: with other advice, or without, it needs more "
    "commands, and a demo whose hooks show nothing fails.",
    source="issue 11 The demo is the loop",
)
def test_the_agent_has_no_other_way_to_know(tmp_path: Path) -> None:
    class Advised(PlainShell):
        def run(self, thought: str, command: str) -> Ran:
            ran = super().run(thought, command)
            return Ran(command=command, exit_code=ran.exit_code, output=ran.output, shown=advice)

    needed = {}
    for number, advice in enumerate(("", "| - ran: true", "| - ran: cp local.example.ini local.ini")):
        shell = Advised(check_out(tmp_path / str(number)), {"PATH": f"{RBANK.parent}:{os.environ['PATH']}"})
        commands = reach(shell, "", INVOICES, SETTINGS_IDEAS)
        assert commands[-1].exit_code == 0
        needed[advice] = len(commands)
    assert [*needed.values()] == [7, 9, 3]


@promise("demo:honest")
def test_a_demo_whose_hooks_show_nothing_fails() -> None:
    with run_directory() as temporary:
        program = (
            "import sys\n"
            "from reasoningbank.cli import main\n"
            "from reasoningbank.demo import hooked\n"
            "read = hooked.read_installed\n"
            "import reasoningbank.demo.run as demo\n"
            "def without(home):\n"
            "    found = read(home)\n"
            "    hooks = {name: each for name, each in found.hooks.items() if name != 'PostToolUseFailure'}\n"
            "    return hooked.Installed(hooks=hooks, server=found.server, variables=found.variables)\n"
            "demo.read_installed = without\n"
            "sys.argv = ['rbank', 'demo']\n"
            "main()\n"
        )
        kept = {name: value for name, value in os.environ.items() if not name.startswith("REASONINGBANK_")}
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=kept | {"TMPDIR": str(temporary)},
            capture_output=True,
            text=True,
            check=False,
            timeout=180,
        )
        assert done.returncode == 1, done.stdout + done.stderr
        assert "FAILED  the hook showed the recipe of the error in session 2" in done.stdout
        assert "FAILED  the agent needed fewer commands" in done.stdout
        assert list(temporary.iterdir()) == []
