"""``rbank list``."""

from __future__ import annotations

from datetime import datetime

import click

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, bank_command
from reasoningbank.cli.output import Moment, print_json, print_note, print_text


@bank_command("list", COMMANDS["list"])
@click.option("--limit", default=0, show_default=True, metavar="N", type=int, help="Most memories; 0 lists all.")
@click.option("--offset", default=0, show_default=True, metavar="N", type=int, help="How many to leave out first.")
@click.option("--outcome", default=None, metavar="success|failure", help="Only strategies or only anti-patterns.")
@click.option("--tag", "tags", multiple=True, metavar="X", help="Only with this tag; several: all of them.")
@click.option("--category", default=None, metavar="WORD", help="Only this kind of knowledge.")
@click.option("--min-confidence", default=None, metavar="C", type=float, help="Only at least this confidence.")
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice(["candidate", "active", "archived", "quarantined"]),
    help="Only this state; may be given several times. Default: all.",
)
@click.option("--as-of", default=None, type=Moment(), metavar="TIME", help="As the bank stood then.")
def command(
    call: Call,
    *,
    limit: int,
    offset: int,
    outcome: str | None,
    tags: tuple[str, ...],
    category: str | None,
    min_confidence: float | None,
    states: tuple[str, ...],
    as_of: datetime | None,
) -> None:
    """Prints memories, oldest first."""
    from reasoningbank.cli.answers import ListAnswer
    from reasoningbank.cli.text import list_text
    from reasoningbank.operations.curation_fields import past_fields
    from reasoningbank.operations.fields import memory_answer
    from reasoningbank.types.memory import STATES

    chosen = [state for state in STATES if not states or state in states]
    with call.open_bank() as bank:
        if as_of is not None:
            view = bank.at(as_of)
            past = past_fields(
                view,
                view.list(
                    limit=limit,
                    offset=offset,
                    outcome=outcome,
                    tags=tags,
                    category=category,
                    states=chosen,
                    min_confidence=min_confidence,
                ),
            )
            if call.as_json:
                print_json({**past})
                return
            for note in past["notes"]:
                print_note(note)
            for memory in past["memories"]:
                for said in memory["unknown"]:
                    print_note(f"{memory['id']}: {said}")
            print_text(list_text([*past["memories"]]))
            return
        memories = bank.memories.list(
            limit=limit,
            offset=offset,
            outcome=outcome,
            tags=tags,
            category=category,
            states=chosen,
            min_confidence=min_confidence,
        )
    answer = ListAnswer(memories=[memory_answer(memory) for memory in memories], count=len(memories))
    if call.as_json:
        print_json({**answer})
    else:
        print_text(list_text(answer["memories"]))
