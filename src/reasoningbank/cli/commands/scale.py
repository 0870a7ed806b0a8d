"""``rbank scale``."""

from __future__ import annotations

import click

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, bank_command
from reasoningbank.cli.output import Seconds, print_json, print_note, print_text


@bank_command("scale", COMMANDS["scale"])
@click.argument("task")
@click.argument("agent", nargs=-1, required=True, metavar="COMMAND...")
@click.option("--k", default=3, show_default=True, metavar="K", type=int, help="Attempts, or most rounds; 1 to 16.")
@click.option(
    "--mode",
    default="parallel",
    show_default=True,
    type=click.Choice(["parallel", "sequential"]),
    help="Attempts beside each other, or rounds that check the one before.",
)
@click.option("--limit", default=5, show_default=True, metavar="N", type=int, help="Most proven memories.")
@click.option("--seconds", default=None, metavar="S", type=Seconds(0.1, 604_800), help="Most seconds of one attempt.")
@click.option("--evaluating", is_flag=True, help="Keep memories that were learned from this very task away.")
def command(
    call: Call,
    *,
    task: str,
    agent: tuple[str, ...],
    k: int,
    mode: str,
    limit: int,
    seconds: float | None,
    evaluating: bool,
) -> None:
    """Lets a program work on a task several times, chooses the best attempt and learns from all of them.

    COMMAND is run without a shell; put -- before it when it has options. It finds the paths of the task, of the
    memories and for its transcript in RBANK_TASK, RBANK_MEMORIES and RBANK_TRANSCRIPT.
    """
    from reasoningbank.cli.text import scaled_text
    from reasoningbank.integrations.agent_command import CommandAgent
    from reasoningbank.operations.fields import scaled_fields
    from reasoningbank.types.matts import MODES

    chosen = next(known for known in MODES if known == mode)
    with call.open_bank() as bank:
        scaled = bank.matts.scale(
            task, CommandAgent(agent, seconds=seconds), k, mode=chosen, limit=limit, evaluating=evaluating
        )
    answer = scaled_fields(scaled)
    for message in answer["learned"]["messages"]:
        print_note(message)
    if call.as_json:
        print_json({**answer})
    else:
        print_text(scaled_text(answer))
    if scaled.best is None:
        raise click.exceptions.Exit(1)
