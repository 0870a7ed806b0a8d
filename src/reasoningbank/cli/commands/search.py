"""``rbank search``."""

from __future__ import annotations

from datetime import datetime

import click

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, bank_command
from reasoningbank.cli.output import Moment, print_json, print_note, print_text


@bank_command("search", COMMANDS["search"])
@click.argument("query")
@click.option("--limit", default=5, show_default=True, metavar="N", type=int, help="Most proven memories.")
@click.option(
    "--min-confidence", default=0.7, show_default=True, metavar="C", type=float, help="Proven means at least this."
)
@click.option("--outcome", default=None, metavar="success|failure", help="Only strategies or only anti-patterns.")
@click.option("--tag", "tags", multiple=True, metavar="X", help="Only with this tag; several: all of them.")
@click.option("--category", default=None, metavar="WORD", help="Only this kind of knowledge.")
@click.option(
    "--unproven", default=1, show_default=True, metavar="N", type=int, help="Most memories below --min-confidence."
)
@click.option("--session", default=None, metavar="S", help="What the delivery counts for; default: a new one.")
@click.option("--as-of", default=None, type=Moment(), metavar="TIME", help="As the bank stood then; nothing is logged.")
def command(
    call: Call,
    *,
    query: str,
    limit: int,
    min_confidence: float,
    outcome: str | None,
    tags: tuple[str, ...],
    category: str | None,
    unproven: int,
    session: str | None,
    as_of: datetime | None,
) -> None:
    """Finds memories and prints them, best first."""
    from reasoningbank.cli.text import search_text
    from reasoningbank.operations.fields import search_answer

    if as_of is not None and session is not None:
        raise click.UsageError("--as-of and --session contradict each other: nothing is delivered to the past.")
    with call.open_bank() as bank:
        if as_of is not None:
            recall = bank.at(as_of).search(
                query,
                limit=limit,
                min_confidence=min_confidence,
                outcome=outcome,
                tags=tags,
                category=category,
                unproven=unproven,
            )
        else:
            recall = bank.search(
                query,
                limit=limit,
                min_confidence=min_confidence,
                outcome=outcome,
                tags=tags,
                category=category,
                unproven=unproven,
                session=session,
            )
    answer = search_answer(recall)
    for warning in answer["warnings"]:
        print_note(f"warning: {warning}")
    if call.as_json:
        print_json({**answer})
    else:
        print_text(search_text(answer))
