"""``rbank backup``."""

from __future__ import annotations

import click

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, bank_command
from reasoningbank.cli.output import print_json, print_text


@bank_command("backup", COMMANDS["backup"])
@click.argument("file", required=False)
def command(call: Call, *, file: str | None) -> None:
    """Copies the bank to FILE, by default below the data directory, while others read and write."""
    from reasoningbank.cli.answers import BackupAnswer
    from reasoningbank.context import usable_path

    target = None if file is None else usable_path(file)
    with call.open_bank() as bank:
        path = bank.admin.backup(target)
    answer = BackupAnswer(path=str(path), bytes=path.stat().st_size)
    if call.as_json:
        print_json({**answer})
    else:
        print_text(answer["path"])
