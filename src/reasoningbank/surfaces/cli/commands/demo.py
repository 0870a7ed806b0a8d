"""``rbank demo``."""

from __future__ import annotations

import sys

from reasoningbank.surfaces.cli.call import Call, bank_command
from reasoningbank.surfaces.cli.group import COMMANDS
from reasoningbank.surfaces.cli.output import print_json, print_text


@bank_command("demo", COMMANDS["demo"])
def command(call: Call) -> None:
    """Records the lessons of a real session in a fresh directory, through the real MCP server and client.

    Then searches, rates, reports outcomes and shows how each confidence follows from its evidence. Your own banks are
    not touched. Exit status 1 when a step did not do what it should.
    """
    from reasoningbank.surfaces.demo.run import run
    from reasoningbank.surfaces.demo.server import PROJECT, TENANT

    answer = run(_silent if call.as_json else print_text)
    if call.as_json:
        print_json({**answer})
    else:
        marks = [f"   {'ok    ' if check['ok'] else 'FAILED'}  {check['what']}" for check in answer["checks"]]
        print_text(f"\nWhat had to hold ({answer['seconds']:.1f} s):\n" + "\n".join(marks))
        print_text(
            "\nNext:\n"
            f"   look inside     REASONINGBANK_HOME={answer['home']} rbank --tenant {TENANT} --project {PROJECT} list\n"
            "   your own bank   rbank record --title ... --content ... --outcome success\n"
            "   your agent      claude mcp add reasoningbank -- rbank serve   (other clients: README)"
        )
    if not answer["ok"]:
        sys.exit(1)


def _silent(text: str) -> None:
    """Says nothing: with --json only the answer is printed."""
