"""``rbank demote``."""

from __future__ import annotations

import click

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, bank_command
from reasoningbank.cli.output import print_json, print_text


@bank_command("demote", COMMANDS["demote"])
@click.argument("memory_id", metavar="ID")
@click.option("--reason", default="", metavar="TEXT", help="Why; kept with the change.")
@click.option("--reviewer", default=None, metavar="NAME", help="Who says so; default: the local user.")
def command(call: Call, *, memory_id: str, reason: str, reviewer: str | None) -> None:
    """Archives a promoted memory in its team or org; what it was made of stays as it is."""
    from reasoningbank.operations.curation_fields import promotion_fields, promotion_text
    from reasoningbank.settings import local_tenant

    with call.open_bank() as bank:
        by = local_tenant() if reviewer is None else reviewer
        answer = promotion_fields(bank.sharing.demote(memory_id, reviewer=by, reason=reason))
    if call.as_json:
        print_json({**answer})
    else:
        print_text(promotion_text(answer))
