"""``rbank get``."""

from __future__ import annotations

import click

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, bank_command
from reasoningbank.cli.output import print_json, print_text


@bank_command("get", COMMANDS["get"])
@click.argument("memory_id", metavar="ID")
def command(call: Call, *, memory_id: str) -> None:
    """Prints one memory."""
    from reasoningbank.cli.text import memory_text
    from reasoningbank.operations.fields import memory_answer

    with call.open_bank() as bank:
        answer = memory_answer(bank.get(memory_id))
    if call.as_json:
        print_json({**answer})
    else:
        print_text(memory_text(answer))
