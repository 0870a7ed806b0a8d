"""``rbank versions``."""

from __future__ import annotations

import click

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, bank_command
from reasoningbank.cli.output import print_json, print_text


@bank_command("versions", COMMANDS["versions"])
@click.argument("memory_id", metavar="ID")
def command(call: Call, *, memory_id: str) -> None:
    """Prints every version of a memory, oldest first, the current one last."""
    from reasoningbank.operations.curation_fields import versions_fields, versions_text

    with call.open_bank() as bank:
        answer = versions_fields(memory_id, bank.memories.versions(memory_id))
    if call.as_json:
        print_json({**answer})
    else:
        print_text(versions_text(answer))
