"""``rbank briefing``."""

from __future__ import annotations

import click

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, bank_command
from reasoningbank.cli.output import print_json, print_note, print_text


@bank_command("briefing", COMMANDS["briefing"])
@click.option("--task", default=None, metavar="T", help="The task in words; without it the best proven memories.")
@click.option("--budget", default=500, show_default=True, metavar="N", type=int, help="Most tokens of the text.")
@click.option("--session", default=None, metavar="S", help="What the delivery counts for; default: a new one.")
def command(call: Call, *, task: str | None, budget: int, session: str | None) -> None:
    """Prints the best memories for an agent's context as quoted evidence; nothing when nothing is relevant."""
    from reasoningbank.operations.fields import brief_answer

    with call.open_bank() as bank:
        brief = bank.briefing(task, budget, session)
    for warning in brief.warnings:
        print_note(f"warning: {warning}")
    if call.as_json:
        print_json({**brief_answer(brief)})
        return
    if brief.text:
        print_text(brief.text.rstrip("\n"))
    print_note(f"{brief.message} ({brief.tokens} tokens, session {brief.session})")
    for one in brief.left_out:
        print_note(f"left out: {one.id}, {one.reason}")
