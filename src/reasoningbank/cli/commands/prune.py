"""``rbank prune``."""

from __future__ import annotations

import click

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, bank_command
from reasoningbank.cli.output import print_json, print_text


@bank_command("prune", COMMANDS["prune"])
@click.option("--dry-run", is_flag=True, help="Say what would be done and write nothing.")
def command(call: Call, *, dry_run: bool) -> None:
    """Archives memories below 0.3 that nobody used for 90 days, with the reason; none is deleted.

    The worker does so every day. `rbank update ID --state active` brings one back.
    """
    from reasoningbank.operations.curation_fields import prune_fields, prune_text

    with call.open_bank() as bank:
        answer = prune_fields(bank.curation.prune(dry_run=dry_run))
    if call.as_json:
        print_json({**answer})
    else:
        print_text(prune_text(answer))
