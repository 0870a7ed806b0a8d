"""``rbank judge``."""

from __future__ import annotations

import click

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, bank_command
from reasoningbank.cli.output import print_json, print_text


@bank_command("judge", COMMANDS["judge"])
@click.argument("trajectory_id", metavar="ID")
def command(call: Call, *, trajectory_id: str) -> None:
    """Judges a session by its evidence, and where that decides nothing by the language model."""
    from reasoningbank.operations.fields import judgement_fields

    with call.open_bank() as bank:
        judgement = bank.sessions.judge(trajectory_id)
    if call.as_json:
        print_json({**judgement_fields(judgement)})
    else:
        probability = f"{judgement.probability:.2f}"
        print_text(f"{judgement.verdict} (success {probability}, by {judgement.judge}): {judgement.rationale}")
