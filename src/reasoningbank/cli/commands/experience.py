"""``rbank experience``."""

from __future__ import annotations

import click

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, bank_command
from reasoningbank.cli.output import print_json, print_text


@bank_command("experience", COMMANDS["experience"])
@click.argument("query")
@click.option("--limit", default=None, metavar="N", type=int, help="Most proven memories; default: the strategy's own.")
@click.option("--session", default=None, metavar="S", help="What the delivery counts for; default: a new one.")
@click.option(
    "--mode",
    default="semantic",
    show_default=True,
    metavar="M",
    help="semantic, session_recovery (newest first, no syntheses) or knowledge_lookup (decisions and the like).",
)
def command(call: Call, *, query: str, limit: int | None, session: str | None, mode: str) -> None:
    """Searches the way that served similar searches best, and adds the strategies those taught."""
    from reasoningbank.cli.text import experience_text
    from reasoningbank.operations.fields import experience_fields

    with call.open_bank() as bank:
        answer = experience_fields(bank.experience.search(query, limit=limit, session=session, mode=mode))
    if call.as_json:
        print_json({**answer})
    else:
        print_text(experience_text(answer))
