"""``rbank stability``."""

from __future__ import annotations

import click

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, bank_command
from reasoningbank.cli.output import print_json, print_text


@bank_command("stability", COMMANDS["stability"])
@click.option("--repository", metavar="PATH", help="A directory in the git repository; default: the working directory.")
@click.option("--dry-run", is_flag=True, help="Say what would be done and write nothing.")
def command(call: Call, *, repository: str | None, dry_run: bool) -> None:
    """Looks up in git what became of the commits that strategies came from; nothing is written to the repository.

    A commit that has stood for seven days speaks for the memory, a reverted one against it, each once.
    """
    from reasoningbank.operations.curation_fields import stability_fields, stability_text

    with call.open_bank() as bank:
        answer = stability_fields(bank.curation.check_stability(repository, dry_run=dry_run))
    if call.as_json:
        print_json({**answer})
    else:
        print_text(stability_text(answer))
