"""``rbank promote``, ``scale`` and ``graph example``: commands that ask a person, run a program or write a file."""

from __future__ import annotations

import shlex
from contextlib import nullcontext
from typing import Literal

import click

from reasoningbank.cli.agents import as_client, of_an_agent
from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, command
from reasoningbank.cli.identifiers import whole_id
from reasoningbank.cli.output import Seconds, approved, print_json, print_note, print_text, text_or_stdin
from reasoningbank.errors import InvalidInput, StoreUnavailable
from reasoningbank.operations.json import to_json

DEFAULT_EXAMPLE = "shop_graph.json"
"""The file that ``rbank graph example`` writes when none is named."""


@command(
    "promote",
    COMMANDS["promote"],
    click.Argument(["memory_ids"], nargs=-1, required=True, metavar="ID..."),
    click.Option(
        ["--to"], type=click.Choice(["team", "org"]), default="team", show_default=True, help="Where it goes."
    ),
    click.Option(["--title"], default=None, metavar="T", help="Instead of the proposed title."),
    click.Option(["--description"], default=None, metavar="D", help="Instead of the proposed description."),
    click.Option(
        ["--content"], default=None, metavar="C", help="Instead of the proposed content; - reads it from stdin."
    ),
    click.Option(
        ["--ordinary"], multiple=True, metavar="WORD", help="A project's name that is meant as an ordinary word."
    ),
    click.Option(["--reviewer"], default=None, metavar="NAME", help="Who approves it; default: the local user."),
    click.Option(["--yes"], is_flag=True, help="Approve it without being asked."),
)
def promote(
    call: Call,
    *,
    memory_ids: tuple[str, ...],
    to: Literal["team", "org"],
    title: str | None,
    description: str | None,
    content: str | None,
    ordinary: tuple[str, ...],
    reviewer: str | None,
    yes: bool,
) -> None:
    """Store a lesson of several projects in their team, or of teams in their org, once a person has approved it.

    Without --yes the text is shown and a question asked; without a terminal to ask on nothing is stored. `rbank
    candidates` lists what waits for review.
    """
    from reasoningbank.operations.sharing_text import candidate_text, promotion_text
    from reasoningbank.settings import local_tenant

    with call.open_bank(makes=not call.names_no_bank()) as bank:
        memory_ids = tuple(whole_id(bank, "memory", each, by_agent=False) for each in memory_ids)
        written = title is not None and content is not None
        proposal = None if written else bank.sharing.propose(memory_ids, to=to, ordinary=ordinary)
        if not yes:
            if proposal is not None:
                print_note(candidate_text(proposal))
            for line in filter(None, (title, description, content)):
                print_note(f"  instead: {line}")
            approved(f"Store this in the {to}?")
        promotion = bank.sharing.promote(
            memory_ids if proposal is None else proposal,
            reviewer=local_tenant() if reviewer is None else reviewer,
            to=to,
            title=title,
            description=description,
            content=None if content is None else text_or_stdin(content),
            ordinary=ordinary,
        )
    if call.as_json:
        print_json(to_json(promotion))
    else:
        print_text(promotion_text(promotion))


@command(
    "scale",
    COMMANDS["scale"],
    click.Argument(["task"]),
    click.Argument(["agent"], nargs=-1, required=True, metavar="COMMAND..."),
    click.Option(
        ["--k"], default=3, show_default=True, metavar="K", type=int, help="Attempts, or most rounds; 1 to 16."
    ),
    click.Option(
        ["--mode"],
        default="parallel",
        show_default=True,
        type=click.Choice(["parallel", "sequential"]),
        help="Attempts beside each other, or rounds that check the one before.",
    ),
    click.Option(["--limit"], default=5, show_default=True, metavar="N", type=int, help="Most proven memories."),
    click.Option(
        ["--seconds"], default=None, metavar="S", type=Seconds(0.1, 604_800), help="Most seconds of one attempt."
    ),
    click.Option(["--evaluating"], is_flag=True, help="Keep memories that were learned from this very task away."),
)
def scale(
    call: Call,
    *,
    task: str,
    agent: tuple[str, ...],
    k: int,
    mode: Literal["parallel", "sequential"],
    limit: int,
    seconds: float | None,
    evaluating: bool,
) -> None:
    """Let a program work on a task several times, choose the best attempt and learn from all of them.

    COMMAND is run without a shell; put -- before it when it has options. It finds the paths of the task, of the
    memories and for its transcript in RBANK_TASK, RBANK_MEMORIES and RBANK_TRANSCRIPT.
    """
    from reasoningbank.integrations.agent_command import CommandAgent
    from reasoningbank.operations.session_text import scaled_text

    runner = CommandAgent(agent, seconds=seconds)
    with call.open_bank() as bank, as_client(bank.session) if of_an_agent() else nullcontext():
        scaled = bank.matts.scale(task, runner, k, mode=mode, limit=limit, evaluating=evaluating)
    for message in scaled.report.messages:
        print_note(message)
    if call.as_json:
        print_json(to_json(scaled))
    else:
        print_text(scaled_text(scaled))
    if scaled.best is None:
        raise click.exceptions.Exit(1)


@command("example", "Write the shipped graph and say what to ask it.", click.Argument(["file"], required=False))
def example(call: Call, *, file: str | None) -> None:
    """Write the shipped graph to a file, and say which question it answers and how to ask it.

    The JSON has `path`, `question`, `commands` and `story`.
    """
    from reasoningbank.demo.graph import PROJECT, QUESTION, SEEDS, STORY, TAGS, copy_shop_graph, shop_graph
    from reasoningbank.safety.checks import usable_path

    name = file or DEFAULT_EXAMPLE
    path = usable_path(name)
    try:
        if path.is_file() and path.read_bytes() != shop_graph().encode("utf-8"):
            raise InvalidInput(f"{name[:80]!r} is there already and holds something else", hint="Name another file.")
        copy_shop_graph(path)
    except OSError as error:
        raise StoreUnavailable(f"{name[:80]!r} cannot be written: {error.strerror}") from error
    seeds = " ".join(f"--seed {seed}={score}" for seed, score in SEEDS.items())
    commands = [
        f"rbank --project {PROJECT} graph import {shlex.quote(str(path))} --vouched",
        f'rbank --project {PROJECT} graph search "{QUESTION}"',
        f"rbank --project {PROJECT} graph walk {seeds} {' '.join(f'--tag {tag}' for tag in TAGS)}",
    ]
    if call.as_json:
        print_json({"path": str(path), "question": QUESTION, "commands": commands, "story": list(STORY)})
    else:
        print_text("\n".join((f"Wrote {path}. Its question: {QUESTION}", *commands)))
