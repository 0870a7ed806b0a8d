"""``rbank report``: the operation of the table, and with ``--html`` the same and more as one page."""

from __future__ import annotations

from typing import Any

import click

from reasoningbank.cli.agents import of_an_agent
from reasoningbank.cli.built import built_command, files_named
from reasoningbank.cli.call import Call
from reasoningbank.cli.output import print_json, print_text
from reasoningbank.operations.table import OPERATIONS


def _command() -> click.Command:
    """Return the command of the operation, with the option for a page."""
    operation = next(each for each in OPERATIONS if each.command is not None and each.command.name == "report")
    made = built_command(operation)
    told = made.callback
    assert told is not None

    def callback(*, html: str | None, **options: Any) -> None:
        if html is None:
            told(**options)
        else:
            _write(Call.of(click.get_current_context(), options), html)

    said = "Write one page for a team instead, with calibration, memories and the success criteria; offline, no script."
    option = click.Option(["--html"], metavar="FILE", help=said, shell_complete=files_named)
    made.params.insert(0, option)
    made.callback = callback
    return made


def _write(call: Call, html: str) -> None:
    """Write the page of this call's bank to a file."""
    from reasoningbank.memories.admission import sayable
    from reasoningbank.safety.checks import usable_path
    from reasoningbank.safety.file_access import write_whole
    from reasoningbank.web.team_report import report_page

    path = usable_path(html)
    with call.open_bank(reads=True) as bank:
        page = report_page(bank, sayable if of_an_agent() else str)
    with write_whole(path) as file:
        file.write(page)
    if call.as_json:
        print_json({"path": str(path), "bytes": len(page.encode("utf-8"))})
    else:
        print_text(f"Wrote {path}. It needs no network.")


report = _command()
