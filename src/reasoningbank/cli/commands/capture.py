"""``rbank capture``."""

from __future__ import annotations

import click

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, bank_command
from reasoningbank.cli.output import print_json, print_note, print_text


@bank_command("capture", COMMANDS["capture"])
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--format",
    "transcript_format",
    default="auto",
    show_default=True,
    type=click.Choice(["auto", "claude-code", "codex", "swe-agent", "mini-swe-agent", "messages", "jsonl"]),
    help="What the files hold; auto tells it by the content.",
)
@click.option("--later", is_flag=True, help="Only queue the files for a worker, as a hook does.")
def command(call: Call, *, files: tuple[str, ...], transcript_format: str, later: bool) -> None:
    """Stores the sessions of transcripts, judged by the evidence in them; the same session twice adds nothing."""
    from reasoningbank.cli.text import capture_text
    from reasoningbank.operations.fields import capture_fields

    with call.open_bank() as bank:
        if later:
            queued = bank.sessions.capture_later(*files, format=transcript_format)
            if call.as_json:
                print_json({"queued": queued})
            else:
                print_text(f"{queued} queued")
            return
        answer = capture_fields(bank.sessions.capture(*files, format=transcript_format))
    for problem in answer["problems"]:
        print_note(f"skipped: {problem}")
    if call.as_json:
        print_json({**answer})
    else:
        print_text(capture_text(answer))
