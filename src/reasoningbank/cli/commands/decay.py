"""``rbank decay``."""

from __future__ import annotations

import click

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, bank_command
from reasoningbank.cli.output import print_json, print_text


@bank_command("decay", COMMANDS["decay"])
@click.option("--dry-run", is_flag=True, help="Say what would be done and write nothing.")
def command(call: Call, *, dry_run: bool) -> None:
    """Lowers the confidence of memories for each full month in which nobody used them; the worker does so every day.

    Use, a rating, an outcome or an edit ends it. What a person recorded keeps its confidence unless the setting
    decay_recorded says otherwise. A second run changes nothing.
    """
    from reasoningbank.operations.curation_fields import decay_fields, decay_text

    with call.open_bank() as bank:
        answer = decay_fields(bank.curation.decay(dry_run=dry_run))
    if call.as_json:
        print_json({**answer})
    else:
        print_text(decay_text(answer))
