"""``rbank agents-md``."""

from __future__ import annotations

from pathlib import Path

import click

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, bank_command
from reasoningbank.cli.output import print_json, print_text


@bank_command("agents-md", COMMANDS["agents-md"])
@click.option("--write", is_flag=True, help="Keep the block in the file instead of printing it.")
@click.option("--file", "file", default="AGENTS.md", show_default=True, metavar="FILE", help="Which file.")
def command(call: Call, *, write: bool, file: str) -> None:
    """Prints the block that tells agents about the bank, or keeps it in a file; the rest of the file stays as it is."""
    from reasoningbank.integrations.agents_md import BLOCK, with_block
    from reasoningbank.integrations.clients import rewrite

    path = Path(file)
    changed = rewrite(path, with_block) if write else False
    if call.as_json:
        print_json({"path": str(path), "changed": changed, "block": BLOCK})
    elif write:
        print_text(f"{path}: {'changed' if changed else 'as it was'}")
    else:
        print_text(BLOCK.rstrip("\n"))
