"""``rbank doctor``."""

from __future__ import annotations

import sys

import click

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, bank_command
from reasoningbank.cli.output import print_json, print_note, print_text, progress


@bank_command("doctor", COMMANDS["doctor"])
@click.option("--reembed", is_flag=True, help="First compute all vectors again with the embedder of today.")
def command(call: Call, *, reembed: bool) -> None:
    """Prints facts and problems; exit status 1 when there is a problem."""
    from reasoningbank.cli.answers import doctor_answer
    from reasoningbank.cli.doctor import examine

    done = 0
    if reembed:
        with call.open_bank() as bank, progress("re-embedding") as bar:
            done = bank.admin.reembed(progress=bar.step)
    if sys.stderr.isatty():
        print_note("Reading the whole bank and trying the embedder ...")
    answer = doctor_answer(examine(call), reembedded=done)
    if call.as_json:
        print_json({**answer})
    else:
        width = max(map(len, answer["facts"]))
        lines = [f"{name:<{width}}  {value}" for name, value in answer["facts"].items()]
        if reembed:
            lines.append(f"{done} memories re-embedded.")
        lines += [f"problem: {problem}" for problem in answer["problems"]]
        count = len(answer["problems"])
        summary = "Everything is in order." if not count else f"{count} {'problem' if count == 1 else 'problems'}."
        print_text("\n".join([*lines, summary]))
    if not answer["healthy"]:
        sys.exit(1)
