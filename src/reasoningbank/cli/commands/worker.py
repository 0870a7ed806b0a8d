"""``rbank worker``."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, bank_command
from reasoningbank.cli.output import Seconds, print_json, print_note, print_text

if TYPE_CHECKING:
    from reasoningbank.bank import Bank
    from reasoningbank.jobs.worker import WorkReport


@bank_command("worker", COMMANDS["worker"])
@click.option("--once", is_flag=True, help="Do what is due now and stop.")
@click.option(
    "--poll",
    default=1.0,
    show_default=True,
    metavar="SECONDS",
    type=Seconds(0.05, 3_600),
    help="How often to look for work when there is none.",
)
def command(call: Call, *, once: bool, poll: float) -> None:
    """Does the bank's background work until it is stopped; several workers may share a bank."""
    from reasoningbank.operations.fields import work_fields

    with _stopped_by_signals() as stop, call.open_bank() as bank:
        if bank.model is None:
            print_note("note: no language model is configured, so sessions wait to be distilled.")
        answer = work_fields(_due_now(bank, stop) if once else bank.jobs.work_until(stop, poll=poll))
    for message in answer["messages"]:
        print_note(message)
    if call.as_json:
        print_json({**answer})
    else:
        print_text(f"{answer['done']} done, {answer['postponed']} postponed, {answer['buried']} given up")


def _due_now(bank: Bank, stop: threading.Event) -> WorkReport:
    """Does what is due, one job after the other until told to stop."""
    report = last = bank.jobs.work(limit=1)
    while not stop.is_set() and last.done + last.postponed + last.buried:
        last = bank.jobs.work(limit=1)
        report += last
    return report


@contextmanager
def _stopped_by_signals() -> Iterator[threading.Event]:
    """An event that SIGINT and SIGTERM set while the block runs, so that the job in hand is finished first."""
    stop = threading.Event()
    before = {number: signal.signal(number, lambda *_: stop.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
