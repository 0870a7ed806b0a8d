"""``rbank verdict``."""

from __future__ import annotations

import click

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, bank_command
from reasoningbank.cli.output import print_json, print_text


@bank_command("verdict", COMMANDS["verdict"])
@click.argument("trajectory_id", metavar="ID")
@click.argument("verdict", type=click.Choice(["success", "failure", "partial"]))
@click.option("--note", default="", metavar="TEXT", help="Why; the distiller is told.")
def command(call: Call, *, trajectory_id: str, verdict: str, note: str) -> None:
    """Says how a session ended; a person's word stands above all evidence."""
    from reasoningbank.operations.fields import judgement_fields
    from reasoningbank.types.session import VERDICTS

    said = next(known for known in VERDICTS if known == verdict)
    with call.open_bank() as bank:
        judgement = bank.sessions.verdict(trajectory_id, said, note=note)
    if call.as_json:
        print_json({**judgement_fields(judgement)})
    else:
        print_text(f"{judgement.verdict}: {judgement.rationale}")
