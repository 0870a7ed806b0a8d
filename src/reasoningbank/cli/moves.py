"""``rbank migrate`` and ``rbank reembed``: banks in another place, and vectors of another model."""

from __future__ import annotations

import sys
from itertools import count
from typing import TYPE_CHECKING

import click

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, command
from reasoningbank.cli.output import print_json, print_note, print_text, progress

if TYPE_CHECKING:
    from reasoningbank.settings import Settings
    from reasoningbank.storage.store import Storage

_CONFIGURED = "default"


@command(
    "migrate",
    COMMANDS["migrate"],
    click.Argument(["source"], metavar="FROM"),
    click.Argument(["target"], metavar="TO"),
    click.Option(["--replace"], is_flag=True, help="Put a bank in the place of another one of its name."),
)
def migrate(call: Call, *, source: str, target: str, replace: bool) -> None:
    """Carry all banks of the tenant from one place to another, of whichever engine, and compare every row.

    FROM and TO are URLs: sqlite:///DIRECTORY, sqlite:///FILE.db, postgresql://...; ``default`` is the configured place.
    With --project only that project's bank. Banks stay where they were, too. A bank arrives whole or not at all: begun
    again, the command passes over what has arrived. Exit status 1 when a bank was written to meanwhile.
    """
    from reasoningbank.errors import InvalidInput, NotFound
    from reasoningbank.operations.json import to_json
    from reasoningbank.settings import load_settings
    from reasoningbank.storage.migration import STEPS, BankMigration
    from reasoningbank.types.quantity import counted
    from reasoningbank.types.scope import Scope

    settings = load_settings()
    tenant = call.owner(settings)
    if source == target:
        raise InvalidInput("FROM and TO are one place", hint="Name two URLs.")
    places = _storage(source, settings), _storage(target, settings)
    scopes = list(places[0].scopes(tenant))
    if call.project is not None:
        scopes = [scope for scope in scopes if scope == Scope(tenant=tenant, project=call.project)]
        if not scopes:
            raise NotFound(f"there is no bank for project {call.project[:80]!r} at the source")
    migration = BankMigration(*places, replace=replace)
    with progress("migrating") as bar:
        numbers = count(1)
        total = STEPS * len(scopes)
        done = [migration.carry(scope, lambda: bar.step(next(numbers), total)) for scope in scopes]
    if call.as_json:
        print_json({"banks": [to_json(bank) for bank in done], "rows": sum(bank.rows for bank in done)})
    else:
        lines = [
            f"{bank.level} {bank.project}: {counted(bank.rows, 'row')}, "
            f"{'copied and compared' if bank.status == 'copied' else 'was there already, and is the same'}"
            for bank in done
        ]
        print_text("\n".join(lines) or f"Tenant {tenant} has no bank there.")
    changed = [bank.project for bank in done if bank.changed]
    if changed:
        print_note(f"Written to meanwhile: {', '.join(changed)}. Run it again with --replace when nobody writes.")
        sys.exit(1)


def _storage(place: str, settings: Settings) -> Storage:
    from reasoningbank.storage import open_storage

    return open_storage((settings.url or None) if place == _CONFIGURED else place, home=settings.home)


@command("reembed", COMMANDS["reembed"])
def reembed(call: Call) -> None:
    """Make all vectors of the bank anew with the embedder of today, while others search and write.

    Until all are made, searches use the old ones; then one transaction puts the new ones in their place. What was
    written meanwhile gets its vector in that transaction.
    """
    with call.open_bank(makes=False) as bank, progress("re-embedding") as bar:
        done = bank.admin.reembed(progress=bar.step)
        model = bank.embedder.model_id
    if call.as_json:
        print_json({"reembedded": done, "model": model})
    else:
        print_text(f"{done} memories re-embedded with {model}.")
