"""``rbank revert``."""

from __future__ import annotations

import click

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, bank_command
from reasoningbank.cli.output import print_json, print_text


@bank_command("revert", COMMANDS["revert"])
@click.argument("memory_id", metavar="ID")
@click.option("--version", "version", required=True, metavar="N", type=int, help="The version whose text comes back.")
def command(call: Call, *, memory_id: str, version: int) -> None:
    """Makes an earlier text of a memory the newest version; its evidence and state stay."""
    from reasoningbank.cli.text import memory_text
    from reasoningbank.operations.fields import memory_answer

    with call.open_bank() as bank:
        answer = memory_answer(bank.memories.revert(memory_id, version))
    if call.as_json:
        print_json({**answer})
    else:
        print_text(memory_text(answer))
