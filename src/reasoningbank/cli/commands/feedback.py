"""``rbank feedback``."""

from __future__ import annotations

import click

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, bank_command
from reasoningbank.cli.output import print_json, print_text


@bank_command("feedback", COMMANDS["feedback"])
@click.argument("memory_id", metavar="ID")
@click.argument("verdict", type=click.Choice(["helpful", "unhelpful"]))
@click.option("--session", default=None, metavar="S", help="The session the rating belongs to; default: a new one.")
def command(call: Call, *, memory_id: str, verdict: str, session: str | None) -> None:
    """Rates a memory and prints how its confidence moved."""
    from reasoningbank.operations.fields import feedback_answer

    with call.open_bank() as bank:
        rating = bank.feedback(memory_id, helpful=verdict == "helpful", session=session, rater="human")
    if call.as_json:
        print_json({**feedback_answer(rating)})
    else:
        print_text(rating.message)
