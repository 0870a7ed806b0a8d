"""``rbank export``."""

from __future__ import annotations

import click

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, bank_command
from reasoningbank.cli.output import print_json, print_text


@bank_command("export", COMMANDS["export"])
@click.argument("file")
def command(call: Call, *, file: str) -> None:
    """Writes FILE anew, secrets removed; ``rbank import`` reads it."""
    from reasoningbank.cli.answers import ExportAnswer
    from reasoningbank.context import usable_path

    path = usable_path(file)
    with call.open_bank() as bank:
        answer = ExportAnswer(memories=bank.admin.export(path), path=file)
    if call.as_json:
        print_json({**answer})
    else:
        print_text(f"{answer['memories']} memories in {answer['path']}")
