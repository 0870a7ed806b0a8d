"""``rbank review`` on a terminal: a person is shown one memory after the other, and approves, rejects or goes on."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from reasoningbank.cli.output import print_text

if TYPE_CHECKING:
    from reasoningbank.bank import Bank

APPROVE, REJECT, NEXT, QUIT = "a", "r", "n", "q"


def asks(given: Mapping[str, object], *, as_json: bool) -> bool:
    """Return whether a person is asked: on a terminal, when nothing is approved or rejected by an option."""
    return not as_json and not given and sys.stdin.isatty() and sys.stdout.isatty()


def review(bank: Bank) -> None:
    """Show what waits, what was shown most first, and do what the person says of each."""
    from reasoningbank.operations.text import review_item_text

    found = bank.quarantine.review(limit=0)
    for number, item in enumerate(found.items, start=1):
        print_text(f"{number} of {found.waiting}\n{review_item_text(item)}")
        said = click.prompt(
            "Approve, reject, next or quit", type=click.Choice([APPROVE, REJECT, NEXT, QUIT]), default=NEXT, err=True
        )
        if said == QUIT:
            return
        if said == APPROVE:
            bank.quarantine.review(approve=[item.id], limit=1)
        elif said == REJECT:
            bank.quarantine.review(reject=[item.id], limit=1)
    print_text("Nothing more waits for a person.")
