"""``rbank install``."""

from __future__ import annotations

import click

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, bank_command
from reasoningbank.cli.output import print_json, print_text


@bank_command("install", COMMANDS["install"], own_project=True)
@click.argument("client", metavar="CLIENT")
@click.option("--user", is_flag=True, help="Your own configuration, for every project; the default.")
@click.option("--project", "project_only", is_flag=True, help="The configuration of the working directory's project.")
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
def command(call: Call, *, client: str, user: bool, project_only: bool, dry_run: bool) -> None:
    """Puts the MCP server, and hooks where the client has them, into its configuration; everything else stays.

    CLIENT is claude-code, codex, cursor, vscode, gemini, copilot or opencode. A second time changes nothing; files are
    copied below the data directory before they change.
    """
    from reasoningbank.cli.clients import install_answer, install_text, where
    from reasoningbank.integrations.clients import install, targets_of
    from reasoningbank.settings import data_directory

    place = where(user=user, project=project_only)
    changes = install(targets_of(client, place), data_directory(), dry_run=dry_run)
    if call.as_json:
        print_json({**install_answer(client, place.level, changes, dry_run=dry_run)})
    else:
        print_text(install_text(changes, dry_run=dry_run))
