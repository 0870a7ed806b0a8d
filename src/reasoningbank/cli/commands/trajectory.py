"""``rbank trajectory``."""

from __future__ import annotations

import click

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, bank_command
from reasoningbank.cli.output import print_json, print_note, print_text


@bank_command("trajectory", COMMANDS["trajectory"])
@click.argument("trajectory_id", metavar="ID")
@click.option("--forget", is_flag=True, help="Erase it instead; the memories it taught stay.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def command(call: Call, *, trajectory_id: str, forget: bool, yes: bool) -> None:
    """Prints one session's steps, its evidence and how it was judged."""
    from reasoningbank.cli.output import confirmed
    from reasoningbank.cli.text import trajectory_text
    from reasoningbank.operations.fields import trajectory_fields

    with call.open_bank() as bank:
        if forget:
            if not yes:
                confirmed(f"Erase trajectory {trajectory_id}?")
            bank.sessions.delete(trajectory_id)
            if call.as_json:
                print_json({"forgotten": True, "trajectory_id": trajectory_id})
            else:
                print_note(f"Trajectory {trajectory_id} is erased.")
            return
        answer = trajectory_fields(bank.sessions.get(trajectory_id), bank.sessions.judgements(trajectory_id))
    if call.as_json:
        print_json({**answer})
    else:
        print_text(trajectory_text(answer))
