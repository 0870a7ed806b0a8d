"""``rbank session-outcome``."""

from __future__ import annotations

import click

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, bank_command
from reasoningbank.cli.output import print_json, print_text


@bank_command("session-outcome", COMMANDS["session-outcome"])
@click.argument("session", metavar="SESSION")
@click.argument("result", type=click.Choice(["succeeded", "failed"]))
def command(call: Call, *, session: str, result: str) -> None:
    """Reports how a session ended for every memory that was shown in it, the credit shared in equal parts."""
    from reasoningbank.operations.fields import session_outcome_answer

    with call.open_bank() as bank:
        report = bank.sessions.outcome(session, result == "succeeded")
    if call.as_json:
        print_json({**session_outcome_answer(report)})
        return
    for one in report.credited:
        print_text(f"{one.memory_id}: {one.message}")
    kept = f"; {len(report.unchanged)} had an outcome of this session already" if report.unchanged else ""
    print_text(f"{len(report.credited)} credited{kept}.")
