"""``rbank record``."""

from __future__ import annotations

import click

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, bank_command
from reasoningbank.cli.output import print_json, print_note, print_text


@bank_command("record", COMMANDS["record"])
@click.option("--title", required=True, metavar="T", help="What it is about, one line.")
@click.option("--content", required=True, metavar="C", help="What to do or what to avoid; - reads it from stdin.")
@click.option("--outcome", required=True, metavar="success|failure", help="Strategy or anti-pattern.")
@click.option("--description", default="", metavar="D", help="When it applies.")
@click.option("--tag", "tags", multiple=True, metavar="X", help="A label; may be given several times.")
@click.option("--category", default="", metavar="WORD", help="The kind of knowledge, one word.")
@click.option("--vouched", is_flag=True, help="You have read it: keep it even when it orders its reader about.")
def command(
    call: Call,
    *,
    title: str,
    content: str,
    outcome: str,
    description: str,
    tags: tuple[str, ...],
    category: str,
    vouched: bool,
) -> None:
    """Stores a memory and prints its id; a text that orders its reader about is kept aside, and stderr says why."""
    from reasoningbank.cli.output import text_or_stdin
    from reasoningbank.memories.admission import why_held
    from reasoningbank.operations.fields import record_answer

    with call.open_bank() as bank:
        memory = bank.record(
            title=title,
            content=text_or_stdin(content),
            outcome=outcome,
            description=description,
            tags=tags,
            category=category,
            source="cli",
            vouched=vouched,
        )
    if said := why_held(memory):
        print_note(said)
    answer = record_answer(memory)
    if call.as_json:
        print_json({**answer})
    else:
        print_text(f"{answer['id']}  {answer['confidence']:.3f}  {answer['outcome']}  {answer['title']}")
