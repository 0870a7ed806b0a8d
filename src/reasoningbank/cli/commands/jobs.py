"""``rbank jobs``."""

from __future__ import annotations

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, bank_command
from reasoningbank.cli.output import print_json, print_text


@bank_command("jobs", COMMANDS["jobs"])
def command(call: Call) -> None:
    """Prints the jobs that failed for good and how many sessions wait."""
    from reasoningbank.cli.text import waiting

    with call.open_bank() as bank:
        dead = bank.jobs.dead()
        pending = len(bank.sessions.list(pending=True))
    if call.as_json:
        listed = [
            {"kind": job.kind, "key": job.key, "attempts": job.attempts, "error": job.error, "due": job.due.isoformat()}
            for job in dead
        ]
        print_json({"dead": listed, "pending": pending})
        return
    lines = [f"{job.kind} {job.key} after {job.attempts} attempts: {job.error}" for job in dead]
    print_text("\n".join([*lines, f"{len(dead)} given up, {waiting(pending)} to be distilled"]))
