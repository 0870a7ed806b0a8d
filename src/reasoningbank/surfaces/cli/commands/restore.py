"""``rbank restore``."""

from __future__ import annotations

import click

from reasoningbank.surfaces.cli.call import Call, bank_command
from reasoningbank.surfaces.cli.group import COMMANDS
from reasoningbank.surfaces.cli.output import print_json, print_text


@bank_command("restore", COMMANDS["restore"])
@click.argument("file")
@click.option("--yes", is_flag=True, help="Do not ask. Without a terminal nothing is asked anyway.")
def command(call: Call, *, file: str, yes: bool) -> None:
    """Puts the backup FILE in the bank's place; what the bank held until now is kept beside it."""
    from reasoningbank.surfaces.cli.answers import RestoreAnswer
    from reasoningbank.surfaces.cli.input import confirmed
    from reasoningbank.upkeep import usable_path

    path = usable_path(file)
    if not yes:
        confirmed(f"Replace the bank by {file}?")
    with call.open_bank() as bank:
        bank.restore(path)
    with call.open_bank() as bank:
        answer = RestoreAnswer(restored=True, path=file, memories=bank.count())
    if call.as_json:
        print_json({**answer})
    else:
        print_text(f"Restored {answer['memories']} memories from {file}.")
