"""``rbank history``."""

from __future__ import annotations

import click

from reasoningbank.surfaces.cli.call import Call, bank_command
from reasoningbank.surfaces.cli.group import COMMANDS
from reasoningbank.surfaces.cli.output import print_json, print_text


@bank_command("history", COMMANDS["history"])
@click.argument("memory_id", metavar="ID")
def command(call: Call, *, memory_id: str) -> None:
    """Prints every event of a memory with the confidence that followed."""
    from reasoningbank.surfaces.cli.answers import history_answer
    from reasoningbank.surfaces.cli.readable import history_text

    with call.open_bank() as bank:
        answer = history_answer(bank.get(memory_id), bank.history(memory_id))
    if call.as_json:
        print_json({**answer})
    else:
        print_text(history_text(answer))
