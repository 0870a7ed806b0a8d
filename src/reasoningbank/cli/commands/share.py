"""``rbank share``."""

from __future__ import annotations

import click

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, bank_command
from reasoningbank.cli.output import print_json, print_note, print_text


@bank_command("share", COMMANDS["share"])
@click.argument("action", type=click.Choice(["export", "import"]))
@click.argument("path")
@click.option("--other-project", is_flag=True, help="import: also take another project's file into this one.")
def command(call: Call, *, action: str, path: str, other_project: bool) -> None:
    """Writes PATH, or takes over what lies there: a directory with a file per bank, or one .jsonl file.

    The files hold one memory a line in a fixed order, so that git shows and merges what has changed. Importing unites:
    new memories, newer texts, each piece of evidence once.
    """
    from reasoningbank.operations.curation_fields import share_fields, share_text

    if other_project and action == "export":
        raise click.UsageError("--other-project belongs to import.")
    with call.open_bank() as bank:
        done = (
            bank.sharing.export(path) if action == "export" else bank.sharing.import_(path, other_project=other_project)
        )
    answer = share_fields(done)
    for message in answer["messages"]:
        print_note(message)
    if call.as_json:
        print_json({**answer})
    else:
        print_text(share_text(answer, written=action == "export"))
