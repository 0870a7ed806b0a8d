"""``rbank release``."""

from __future__ import annotations

import click

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, bank_command
from reasoningbank.cli.output import print_json, print_text


@bank_command("release", COMMANDS["release"])
@click.argument("quarantine_id", metavar="[QUARANTINE_ID]", required=False)
@click.option("--memory", "memory_id", default=None, metavar="ID", help="Let this memory go from every quarantine.")
@click.option("--reason", default="", metavar="WHY", help="Why; it stays in the memories' history.")
def command(call: Call, *, quarantine_id: str | None, memory_id: str | None, reason: str) -> None:
    """Ends a quarantine, or lets one memory go: each is what it was before, with what came since.

    Name the quarantine that `rbank quarantine` printed, or a memory.
    """
    from reasoningbank.operations.curation_fields import release_fields, release_text

    with call.open_bank() as bank:
        answer = release_fields(
            bank.quarantine.release(memory_id=memory_id, quarantine_id=quarantine_id, reason=reason)
        )
    if call.as_json:
        print_json({**answer})
    else:
        print_text(release_text(answer))
