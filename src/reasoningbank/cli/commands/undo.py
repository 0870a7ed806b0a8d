"""``rbank undo``."""

from __future__ import annotations

import click

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, bank_command
from reasoningbank.cli.output import print_json, print_text


@bank_command("undo", COMMANDS["undo"])
@click.argument("consolidation_id", metavar="CONSOLIDATION_ID")
def command(call: Call, *, consolidation_id: str) -> None:
    """Takes a consolidated memory apart: its sources are as before, and get the evidence that came since."""
    from reasoningbank.operations.fields import undo_fields

    with call.open_bank() as bank:
        answer = undo_fields(bank.curation.undo(consolidation_id))
    if call.as_json:
        print_json({**answer})
        return
    lines = [f"restored  {name}" for name in answer["restored_memories"]]
    lines.append(f"{answer['moved_signals']} pieces of evidence moved to them")
    if answer["kept"]:
        lines.append(f"{consolidation_id} was edited since: it is archived with its evidence")
    print_text("\n".join(lines))
