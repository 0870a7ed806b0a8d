"""``rbank uninstall``."""

from __future__ import annotations

import click

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, bank_command
from reasoningbank.cli.output import print_json, print_text


@bank_command("uninstall", COMMANDS["uninstall"], own_project=True)
@click.argument("client", metavar="CLIENT")
@click.option("--user", is_flag=True, help="Your own configuration, for every project; the default.")
@click.option("--project", "project_only", is_flag=True, help="The configuration of the working directory's project.")
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
def command(call: Call, *, client: str, user: bool, project_only: bool, dry_run: bool) -> None:
    """Takes the MCP server and hooks out of a client's configuration; everything else stays byte for byte."""
    from reasoningbank.cli.clients import install_answer, install_text, where
    from reasoningbank.integrations.clients import targets_of, uninstall
    from reasoningbank.settings import data_directory

    place = where(user=user, project=project_only)
    changes = uninstall(targets_of(client, place), data_directory(), dry_run=dry_run)
    if call.as_json:
        print_json({**install_answer(client, place.level, changes, dry_run=dry_run)})
    else:
        print_text(install_text(changes, dry_run=dry_run))
