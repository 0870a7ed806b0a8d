"""``rbank demo``."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, bank_command
from reasoningbank.cli.output import print_json, print_text


@bank_command("demo", COMMANDS["demo"])
def command(call: Call) -> None:
    """Records the lessons of a real session in a fresh directory, through the real MCP server and client.

    Then searches, rates, reports outcomes and shows how each confidence follows from its evidence. Your own banks are
    not touched. Exit status 1 when a step did not do what it should.
    """
    from reasoningbank.demo.run import run
    from reasoningbank.demo.server import PROJECT, TENANT

    answer = run(_silent if call.as_json else print_text)
    if call.as_json:
        print_json({**answer})
    else:
        marks = [f"   {'ok    ' if check['ok'] else 'FAILED'}  {check['what']}" for check in answer["checks"]]
        print_text(f"\nWhat had to hold ({answer['seconds']:.1f} s):\n" + "\n".join(marks))
        rbank = _rbank()
        there = f"REASONINGBANK_HOME={answer['home']} {rbank} --tenant {TENANT} --project {PROJECT}"
        print_text(
            "\nNext:\n"
            f"   look inside     {there} list\n"
            f"   your own bank   {rbank} record --title ... --content ... --outcome success\n"
            f"   your agent      claude mcp add reasoningbank -- {rbank} serve   (other clients: README)"
        )
    if not answer["ok"]:
        sys.exit(1)


def _rbank() -> str:
    """How this command is called from here: by its name, or by its path when the name is not found."""
    return "rbank" if shutil.which("rbank") else str(Path(sys.executable).with_name("rbank"))


def _silent(text: str) -> None:
    """Says nothing: with --json only the answer is printed."""
