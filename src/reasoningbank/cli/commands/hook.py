"""``rbank hook``."""

from __future__ import annotations

import sys

import click

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, bank_command


@bank_command("hook", COMMANDS["hook"])
@click.argument("event", metavar="EVENT")
def command(call: Call, *, event: str) -> None:
    """Answers a client's hook: its JSON on stdin, its JSON on stdout, exit status 0 whatever happens.

    EVENT in any client's spelling: session-start, user-prompt-submit, tool-failure, stop, session-end, pre-compact,
    post-compact. Failures are noted in hooks.log below the data directory.
    """
    from reasoningbank.integrations.hooks import Place, run

    place = Place(url=call.url, tenant=call.tenant, project=call.project, team=call.team, org=call.org)
    run(event, sys.stdin.buffer, sys.stdout, place)
