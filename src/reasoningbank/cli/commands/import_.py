"""``rbank import``."""

from __future__ import annotations

import click

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, bank_command
from reasoningbank.cli.output import print_json, print_note, print_text, progress


@bank_command("import", COMMANDS["import"])
@click.argument("file")
def command(call: Call, *, file: str) -> None:
    """Adds the memories of FILE: all of them or, when a line is unusable, none."""
    from reasoningbank.cli.answers import import_answer
    from reasoningbank.context import usable_path

    path = usable_path(file)
    with call.open_bank() as bank, progress("importing") as bar:
        answer = import_answer(bank.admin.import_(path, progress=bar.step))
    for memory_id in answer["conflicts"]:
        print_note(f"warning: {memory_id} is here with another text; it was left as it is")
    for memory_id in answer["quarantined"]:
        print_note(f"warning: {memory_id} looks like a prompt injection; it is in quarantine, no search finds it")
    for part in answer["left_out"]:
        print_note(f"warning: {part['kind']} {part['id']} was left out: {part['reason']}")
    if call.as_json:
        print_json({**answer})
    else:
        print_text(
            f"{answer['imported']} imported, {answer['unchanged']} here already, {len(answer['conflicts'])} in conflict"
        )
