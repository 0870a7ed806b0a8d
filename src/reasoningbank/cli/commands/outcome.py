"""``rbank outcome``."""

from __future__ import annotations

import click

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, bank_command
from reasoningbank.cli.output import print_json, print_text


@bank_command("outcome", COMMANDS["outcome"])
@click.argument("memory_id", metavar="ID")
@click.argument("result", type=click.Choice(["succeeded", "failed"]))
@click.option("--session", default=None, metavar="S", help="The task; each counts once. Without it every call counts.")
def command(call: Call, *, memory_id: str, result: str, session: str | None) -> None:
    """Reports a task's end and prints how the confidence moved."""
    from reasoningbank.operations.fields import outcome_answer

    with call.open_bank() as bank:
        report = bank.outcome(memory_id, succeeded=result == "succeeded", session=session, rater="human")
    if call.as_json:
        print_json({**outcome_answer(report)})
    else:
        print_text(report.message)
