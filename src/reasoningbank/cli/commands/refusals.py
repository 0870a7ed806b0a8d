"""``rbank refusals``."""

from __future__ import annotations

import click

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, bank_command
from reasoningbank.cli.output import print_json, print_text


@bank_command("refusals", COMMANDS["refusals"])
@click.option("--trajectory", default=None, metavar="ID", help="Only of this trajectory.")
@click.option("--limit", default=20, show_default=True, metavar="N", type=int, help="Most items; 0 lists all.")
def command(call: Call, *, trajectory: str | None, limit: int) -> None:
    """Prints lessons that were not stored and why, newest first."""
    from reasoningbank.cli.text import refusals_text
    from reasoningbank.operations.fields import refusal_fields

    with call.open_bank() as bank:
        refused = [refusal_fields(one) for one in bank.distillation.refusals(trajectory=trajectory, limit=limit)]
    if call.as_json:
        print_json({"refused": refused, "count": len(refused)})
    else:
        print_text(refusals_text(refused))
