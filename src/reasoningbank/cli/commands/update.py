"""``rbank update``."""

from __future__ import annotations

import click

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, bank_command
from reasoningbank.cli.output import print_json, print_text


@bank_command("update", COMMANDS["update"])
@click.argument("memory_id", metavar="ID")
@click.option("--title", default=None, metavar="T", help="A new title.")
@click.option("--content", default=None, metavar="C", help="A new content; - reads it from stdin.")
@click.option("--description", default=None, metavar="D", help="A new description.")
@click.option("--outcome", default=None, metavar="success|failure", help="A new outcome.")
@click.option(
    "--tag", "tags", multiple=True, metavar="X", help="The new tags, all of them; may be given several times."
)
@click.option("--no-tags", is_flag=True, help="Take all tags away.")
@click.option("--category", default=None, metavar="WORD", help="A new category.")
@click.option(
    "--state",
    default=None,
    type=click.Choice(["candidate", "active", "archived", "quarantined"]),
    help="A new state; archived and quarantined memories are never found by a search.",
)
def command(
    call: Call,
    *,
    memory_id: str,
    title: str | None,
    content: str | None,
    description: str | None,
    outcome: str | None,
    tags: tuple[str, ...],
    no_tags: bool,
    category: str | None,
    state: str | None,
) -> None:
    """Changes a memory and prints it."""
    from reasoningbank.cli.output import text_or_stdin
    from reasoningbank.cli.text import memory_text
    from reasoningbank.operations.fields import memory_answer
    from reasoningbank.types.memory import STATES

    if tags and no_tags:
        raise click.UsageError("--tag and --no-tags contradict each other.")
    if not (tags or no_tags) and {title, content, description, outcome, category, state} == {None}:
        raise click.UsageError("Nothing to change: name at least one of the options.")
    with call.open_bank() as bank:
        memory = bank.update(
            memory_id,
            title=title,
            content=None if content is None else text_or_stdin(content),
            description=description,
            outcome=outcome,
            tags=tags if tags or no_tags else None,
            category=category,
            state=next((known for known in STATES if known == state), None),
        )
    answer = memory_answer(memory)
    if call.as_json:
        print_json({**answer})
    else:
        print_text(memory_text(answer))
