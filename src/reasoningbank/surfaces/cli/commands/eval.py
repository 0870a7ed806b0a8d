"""``rbank eval``: what the product is worth, measured."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from reasoningbank.surfaces.cli.call import Call, bank_command
from reasoningbank.surfaces.cli.group import COMMANDS
from reasoningbank.surfaces.cli.output import print_json, print_note, print_text


@bank_command("eval", COMMANDS["eval"])
@click.argument("what", type=click.Choice(["attack"]))
@click.option("--variants", default=32, show_default=True, metavar="N", type=click.IntRange(1), help="Per family.")
@click.option("--family", "families", multiple=True, metavar="NAME", help="Only this family; several times for more.")
@click.option(
    "--data",
    default=Path("../shared/data"),
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="Honest lessons for the false alarms; what is not there is skipped.",
)
def command(call: Call, *, what: str, variants: int, families: tuple[str, ...], data: Path) -> None:
    """attack: poisons banks in a temporary folder, with the defences off and on, and shows what reaches an agent.

    Your own banks are not touched. Seven families: flood, echo, tool output, disguise, trigger, votes, tenants. Exit
    status 1 when more than 5 % of the attacks reach an agent as a proven memory, or honest lessons lose more than 2 %
    of their recall.
    """
    from reasoningbank.errors import InvalidInput
    from reasoningbank.evaluation.attacks.suite import FAMILY_NAMES, run

    del what
    unknown = [name for name in families if name not in FAMILY_NAMES]
    if unknown:
        raise InvalidInput(f"there is no family {unknown[0]!r}", hint=f"There are {', '.join(FAMILY_NAMES)}.")
    answer = run(data, count=variants, families=families or FAMILY_NAMES, say=print_note)
    text = str(answer.pop("text"))
    if call.as_json:
        print_json(answer)
    else:
        print_text(text)
    if not answer["ok"]:
        sys.exit(1)
