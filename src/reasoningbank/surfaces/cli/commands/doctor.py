"""``rbank doctor``."""

from __future__ import annotations

import sys

from reasoningbank.surfaces.cli.call import Call, bank_command
from reasoningbank.surfaces.cli.group import COMMANDS
from reasoningbank.surfaces.cli.output import print_json, print_note, print_text


@bank_command("doctor", COMMANDS["doctor"])
def command(call: Call) -> None:
    """Prints facts and problems; exit status 1 when there is a problem."""
    from reasoningbank.surfaces.cli.answers import doctor_answer
    from reasoningbank.surfaces.cli.examination import examine

    if sys.stderr.isatty():
        print_note("Reading the whole bank and trying the embedder ...")
    answer = doctor_answer(examine(call))
    if call.as_json:
        print_json({**answer})
    else:
        width = max(map(len, answer["facts"]))
        lines = [f"{name:<{width}}  {value}" for name, value in answer["facts"].items()]
        lines += [f"problem: {problem}" for problem in answer["problems"]]
        lines.append("Everything is in order." if answer["healthy"] else f"{len(answer['problems'])} problems.")
        print_text("\n".join(lines))
    if not answer["healthy"]:
        sys.exit(1)
