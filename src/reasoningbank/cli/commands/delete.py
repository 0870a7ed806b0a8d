"""``rbank delete``."""

from __future__ import annotations

import click

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, bank_command
from reasoningbank.cli.output import print_json, print_text


@bank_command("delete", COMMANDS["delete"])
@click.argument("memory_id", metavar="ID")
@click.option("--yes", is_flag=True, help="Do not ask. Without a terminal nothing is asked anyway.")
def command(call: Call, *, memory_id: str, yes: bool) -> None:
    """Erases a memory; backups and exports made before still hold it."""
    from reasoningbank.cli.output import confirmed
    from reasoningbank.operations.fields import DeleteAnswer

    with call.open_bank() as bank:
        if not yes:
            confirmed(f"Erase {bank.get(memory_id).title!r} and its evidence?")
        bank.delete(memory_id)
    if call.as_json:
        print_json({**DeleteAnswer(deleted=True, memory_id=memory_id)})
    else:
        print_text(f"Deleted {memory_id}.")
