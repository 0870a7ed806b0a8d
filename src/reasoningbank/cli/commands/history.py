"""``rbank history``."""

from __future__ import annotations

import click

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, bank_command
from reasoningbank.cli.output import print_json, print_text


@bank_command("history", COMMANDS["history"])
@click.argument("memory_id", metavar="ID")
def command(call: Call, *, memory_id: str) -> None:
    """Prints every event of a memory with the confidence that followed."""
    from reasoningbank.cli.answers import history_answer
    from reasoningbank.cli.text import history_text

    with call.open_bank() as bank:
        answer = history_answer(bank.get(memory_id), bank.memories.history(memory_id))
    if call.as_json:
        print_json({**answer})
    else:
        print_text(history_text(answer))
