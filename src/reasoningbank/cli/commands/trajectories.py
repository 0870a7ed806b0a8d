"""``rbank trajectories``."""

from __future__ import annotations

import click

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, bank_command
from reasoningbank.cli.output import print_json, print_text


@bank_command("trajectories", COMMANDS["trajectories"])
@click.option("--limit", default=0, show_default=True, metavar="N", type=int, help="Most trajectories; 0 lists all.")
@click.option("--offset", default=0, show_default=True, metavar="N", type=int, help="How many to leave out first.")
@click.option(
    "--verdict", default=None, type=click.Choice(["success", "failure", "partial", "unknown"]), help="Only judged so."
)
@click.option("--pending", is_flag=True, help="Only those that wait to be distilled.")
def command(call: Call, *, limit: int, offset: int, verdict: str | None, pending: bool) -> None:
    """Prints trajectories, oldest first."""
    from reasoningbank.cli.text import trajectories_text
    from reasoningbank.operations.fields import TrajectoriesFields, entry_fields
    from reasoningbank.types.session import VERDICTS

    only = next((known for known in VERDICTS if known == verdict), None)
    with call.open_bank() as bank:
        entries = bank.sessions.list(limit=limit, offset=offset, verdict=only, pending=True if pending else None)
    answer = TrajectoriesFields(trajectories=[entry_fields(entry) for entry in entries], count=len(entries))
    if call.as_json:
        print_json({**answer})
    else:
        print_text(trajectories_text(answer))
