"""``rbank distill-session``."""

from __future__ import annotations

import click

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, bank_command
from reasoningbank.cli.output import print_json, print_note, print_text


@bank_command("distill-session", COMMANDS["distill-session"])
@click.option("--task", required=True, metavar="T", help="What was to be done.")
@click.option("--approach", required=True, metavar="A", help="How it was done.")
@click.option("--result", required=True, metavar="R", help="What came of it.")
@click.option("--outcome", required=True, type=click.Choice(["success", "failure", "partial"]), help="How it ended.")
@click.option("--avoid", default="", metavar="TEXT", help="Of a partial or failed session: what not to do again.")
@click.option("--tag", "tags", multiple=True, metavar="X", help="A label; may be given several times.")
@click.option("--session", default=None, metavar="S", help="The session's name; default: a new one.")
def command(
    call: Call,
    *,
    task: str,
    approach: str,
    result: str,
    outcome: str,
    avoid: str,
    tags: tuple[str, ...],
    session: str | None,
) -> None:
    """Makes lessons of a finished session's own summary, without a model; each begins at confidence 0.6."""
    from reasoningbank.cli.text import distill_text
    from reasoningbank.operations.fields import distill_fields
    from reasoningbank.types.session import VERDICTS, SessionSummary

    with call.open_bank(session=session) as bank:
        report = bank.distillation.from_summary(
            SessionSummary(
                session_id=bank.session,
                project_id=bank.scope.project,
                outcome=next(known for known in VERDICTS if known == outcome),
                task=task,
                approach=approach,
                result=result,
                avoid=avoid,
                tags=tags,
            )
        )
    answer = distill_fields(report)
    for message in answer["messages"]:
        print_note(message)
    if call.as_json:
        print_json({**answer})
    else:
        print_text(distill_text(answer))
