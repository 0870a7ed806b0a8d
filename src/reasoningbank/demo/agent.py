"""The agent of the demonstration: a script that runs real commands and follows a recipe when its client shows one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

_ADVICE = re.compile(r"^\| - ran: (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """A command that was run.

    Attributes:
        command: As it was given to the shell.
        exit_code: Its exit status.
        output: What it printed, on both streams.
        shown: What the client's hooks added for the agent.
    """

    command: str
    exit_code: int
    output: str
    shown: str = ""

    @property
    def last_line(self) -> str:
        """The last line that says something."""
        lines = [line.strip() for line in self.output.splitlines() if line.strip()]
        return next((line for line in reversed(lines) if "Error" in line), lines[-1] if lines else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Idea:
    """Something to try, and whether the goal is worth another run after it."""

    thought: str
    command: str
    retry: bool = True


class Shell(Protocol):
    """Run a command for an agent."""

    def run(self, thought: str, command: str) -> Ran:
        """Run a command and return what came of it."""


SETTINGS_IDEAS: tuple[Idea, ...] = (
    Idea(thought="See what reads the file.", command="cat settings.py", retry=False),
    Idea(thought="Point the shop at the example.", command="export SHOP_SETTINGS=local.example.ini"),
    Idea(thought="See what is there.", command="ls", retry=False),
    Idea(thought="Make the missing file from the example.", command="cp local.example.ini local.ini"),
)
"""The agent tries these by itself when a test fails, in this order."""
REPORT_IDEAS: tuple[Idea, ...] = (Idea(thought="It may not be run yet.", command="chmod +x report.sh"),)


def reach(shell: Shell, thought: str, goal: str, ideas: Sequence[Idea]) -> list[Ran]:
    """Run the goal until it passes, and return every command that this took.

    What a hook showed after the failure is tried first, then the agent's own ideas in their order.

    Args:
        shell: Where commands run.
        thought: Why the goal is run.
        goal: The command that has to pass.
        ideas: What the agent comes up with by itself.
    """
    done = [shell.run(thought, goal)]
    shown = [
        Idea(thought="An earlier session had this error; do what helped there.", command=each)
        for each in _ADVICE.findall(done[0].shown)
    ]
    for idea in (*shown, *ideas):
        if done[-1].command == goal and not done[-1].exit_code:
            break
        done.append(shell.run(idea.thought, idea.command))
        if idea.retry:
            done.append(shell.run("Again.", goal))
    return done
