"""``rbank promote``."""

from __future__ import annotations

from typing import Literal

import click

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, bank_command
from reasoningbank.cli.output import print_json, print_note, print_text


@bank_command("promote", COMMANDS["promote"])
@click.argument("memory_ids", nargs=-1, metavar="[ID]...")
@click.option("--candidates", is_flag=True, help="List what several projects or teams have learned; store nothing.")
@click.option("--to", type=click.Choice(["team", "org"]), default=None, help="Where it goes; default: the team.")
@click.option("--title", default=None, metavar="T", help="Instead of the proposed title.")
@click.option("--description", default=None, metavar="D", help="Instead of the proposed description.")
@click.option("--content", default=None, metavar="C", help="Instead of the proposed content; - reads it from stdin.")
@click.option("--ordinary", multiple=True, metavar="WORD", help="A project's name that is meant as an ordinary word.")
@click.option("--reviewer", default=None, metavar="NAME", help="Who approves it; default: the local user.")
@click.option("--yes", is_flag=True, help="Approve it without being asked.")
def command(
    call: Call,
    *,
    memory_ids: tuple[str, ...],
    candidates: bool,
    to: Literal["team", "org"] | None,
    title: str | None,
    description: str | None,
    content: str | None,
    ordinary: tuple[str, ...],
    reviewer: str | None,
    yes: bool,
) -> None:
    """Stores a lesson of several projects in their team, or of teams in their org, once a person has approved it.

    Without --yes the text is shown and a question asked; without a terminal to ask on nothing is stored.
    """
    if candidates == bool(memory_ids):
        raise click.UsageError("Give either --candidates or the ids of memories.")
    if candidates:
        _list(call, to, ordinary)
        return
    from reasoningbank.cli.output import text_or_stdin
    from reasoningbank.operations.curation_fields import (
        candidate_fields,
        candidate_text,
        promotion_fields,
        promotion_text,
    )
    from reasoningbank.settings import local_tenant

    with call.open_bank() as bank:
        written = title is not None and content is not None
        proposal = None if written else bank.sharing.propose(memory_ids, to=to or "team", ordinary=ordinary)
        if not yes:
            if proposal is not None:
                print_note(candidate_text(candidate_fields(proposal)))
            for line in filter(None, (title, description, content)):
                print_note(f"  instead: {line}")
            click.confirm(f"Store this in the {to or 'team'}?", abort=True, err=True)
        promotion = bank.sharing.promote(
            memory_ids if proposal is None else proposal,
            reviewer=local_tenant() if reviewer is None else reviewer,
            to=to or "team",
            title=title,
            description=description,
            content=None if content is None else text_or_stdin(content),
            ordinary=ordinary,
        )
    answer = promotion_fields(promotion)
    if call.as_json:
        print_json({**answer})
    else:
        print_text(promotion_text(answer))


def _list(call: Call, to: Literal["team", "org"] | None, ordinary: tuple[str, ...]) -> None:
    from reasoningbank.operations.curation_fields import CandidatesFields, candidate_fields, candidate_text

    with call.open_bank() as bank:
        found = [candidate_fields(each) for each in bank.sharing.candidates(to=to, ordinary=ordinary)]
    if call.as_json:
        print_json({**CandidatesFields(candidates=found, count=len(found))})
    else:
        print_text("\n\n".join(map(candidate_text, found)) or "Nothing waits for review.")
