"""``rbank consolidate``."""

from __future__ import annotations

import click

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, bank_command
from reasoningbank.cli.output import print_json, print_note, print_text


@bank_command("consolidate", COMMANDS["consolidate"])
@click.option("--threshold", default=0.8, show_default=True, metavar="T", type=float, help="Least cosine, 0 to 1.")
@click.option("--max-clusters", default=0, metavar="N", type=int, help="Most clusters; 0, the default, for all.")
@click.option("--dry-run", is_flag=True, help="Say what would be done and write nothing.")
@click.option("--force", is_flag=True, help="Also within 24 hours of the last run, and what was undone before.")
def command(call: Call, *, threshold: float, max_clusters: int, dry_run: bool, force: bool) -> None:
    """Makes one memory of several that say nearly the same; `rbank undo` takes it apart again.

    The language model writes the text when one is configured, and every claim of it is checked; without one the best
    memory's text is kept word for word. The others are archived as its evidence.
    """
    from reasoningbank.operations.fields import consolidation_fields, consolidation_text
    from reasoningbank.types.consolidation import ConsolidationOptions

    options = ConsolidationOptions(
        similarity_threshold=threshold, max_clusters_per_run=max_clusters, dry_run=dry_run, force_all=force
    )
    with call.open_bank() as bank:
        answer = consolidation_fields(bank.curation.consolidate(options))
    for message in answer["messages"]:
        print_note(message)
    if call.as_json:
        print_json({**answer})
    else:
        print_text(consolidation_text(answer))
