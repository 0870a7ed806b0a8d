"""``rbank distill``."""

from __future__ import annotations

import click

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, bank_command
from reasoningbank.cli.output import print_json, print_note, print_text


@bank_command("distill", COMMANDS["distill"])
@click.argument("trajectory_ids", nargs=-1, metavar="[ID...]")
@click.option("--pending", is_flag=True, help="All that wait, as well.")
def command(call: Call, *, trajectory_ids: tuple[str, ...], pending: bool) -> None:
    """Makes lessons of captured sessions with the configured language model; what cannot be done now waits."""
    from reasoningbank.cli.text import distill_text
    from reasoningbank.operations.fields import distill_fields

    if not trajectory_ids and not pending:
        raise click.UsageError("Name trajectories, or pass --pending.")
    with call.open_bank() as bank:
        answer = distill_fields(bank.distillation.run(*trajectory_ids, pending=pending))
    for message in answer["messages"]:
        print_note(f"waits: {message}")
    if call.as_json:
        print_json({**answer})
    else:
        print_text(distill_text(answer))
