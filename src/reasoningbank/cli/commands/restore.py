"""``rbank restore``."""

from __future__ import annotations

import click

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, bank_command
from reasoningbank.cli.output import print_json, print_text


@bank_command("restore", COMMANDS["restore"])
@click.argument("file")
@click.option("--yes", is_flag=True, help="Do not ask. Without a terminal nothing is asked anyway.")
def command(call: Call, *, file: str, yes: bool) -> None:
    """Puts the backup FILE in the bank's place; what the bank held until now is kept beside it."""
    from reasoningbank.cli.answers import RestoreAnswer
    from reasoningbank.cli.output import confirmed
    from reasoningbank.context import usable_path

    path = usable_path(file)
    if not yes:
        confirmed(f"Replace the bank by {file}?")
    with call.open_bank() as bank:
        bank.admin.restore(path)
    with call.open_bank() as bank:
        answer = RestoreAnswer(restored=True, path=file, memories=bank.memories.count())
    if call.as_json:
        print_json({**answer})
    else:
        print_text(f"Restored {answer['memories']} memories from {file}.")
