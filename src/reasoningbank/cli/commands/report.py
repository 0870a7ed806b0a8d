"""``rbank report``."""

from __future__ import annotations

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, bank_command
from reasoningbank.cli.output import print_json, print_text


@bank_command("report", COMMANDS["report"])
def command(call: Call) -> None:
    """Compares sessions that were shown memories with those that were held out, and sets aside what does harm.

    Needs a hold-out: REASONINGBANK_HOLDOUT=0.1 keeps one session in ten without injected memories.
    """
    from reasoningbank.operations.curation_fields import uplift_answer, uplift_lines

    with call.open_bank() as bank:
        report = bank.report()
    if call.as_json:
        print_json({**uplift_answer(report)})
        return
    for line in uplift_lines(report):
        print_text(line)
