"""``rbank quarantine``."""

from __future__ import annotations

from datetime import datetime

import click

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, bank_command
from reasoningbank.cli.output import Moment, print_json, print_text


@bank_command("quarantine", COMMANDS["quarantine"])
@click.option("--memory", "memory_id", default=None, metavar="ID", help="This memory.")
@click.option("--session", default=None, metavar="S", help="What this session recorded or taught.")
@click.option("--source", default=None, metavar="X", help="What came from this surface, model, prompt or trajectory.")
@click.option("--since", default=None, type=Moment(), metavar="TIME", help="Recorded at this time or later.")
@click.option("--until", default=None, type=Moment(), metavar="TIME", help="Recorded before this time.")
@click.option("--reason", default=None, metavar="WHY", help="Why; it stays in the memories' history.")
@click.option("--no-cascade", is_flag=True, help="Leave what was made of them as it is.")
@click.option("--dry-run", is_flag=True, help="Say what would be held and write nothing.")
@click.option("--list", "listing", is_flag=True, help="Show what is in quarantine instead.")
def command(
    call: Call,
    *,
    memory_id: str | None,
    session: str | None,
    source: str | None,
    since: datetime | None,
    until: datetime | None,
    reason: str | None,
    no_cascade: bool,
    dry_run: bool,
    listing: bool,
) -> None:
    """Holds memories back, with everything that was made of them; `rbank release` lets them go.

    What meets every condition is held. The same conditions again complete what was interrupted and add what came since.
    """
    from reasoningbank.operations.curation_fields import (
        quarantine_fields,
        quarantine_text,
        quarantines_fields,
        quarantines_text,
    )

    named = {memory_id, session, source, since, until, reason} != {None} or no_cascade or dry_run
    if listing and named:
        raise click.UsageError("--list stands alone.")
    if not listing and reason is None:
        raise click.UsageError("Name the --reason.")
    with call.open_bank() as bank:
        if listing:
            listed = quarantines_fields(bank.quarantine.list())
            if call.as_json:
                print_json({**listed})
            else:
                print_text(quarantines_text(listed))
            return
        report = bank.quarantine.add(
            memory_id=memory_id,
            session=session,
            source=source,
            since=since,
            until=until,
            reason=reason or "",
            cascade=not no_cascade,
            dry_run=dry_run,
        )
    answer = quarantine_fields(report)
    if call.as_json:
        print_json({**answer})
    else:
        print_text(quarantine_text(answer))
