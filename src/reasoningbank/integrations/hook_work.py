"""What a hook's own process does after its answer: the due work of its bank that needs no language model.

A server or a worker does it within seconds when one runs; then nothing is left to do here. Of several such processes of
one bank one works, the others end. It starts no process, so no hook comes of it.

A client that only says that a turn has ended leaves a session that is over when it was quiet for ten minutes. Where no
server runs, the process waits for that, or for the end of the client, and then captures the session; it never outlives
the client by more than that, and never waits for longer than an hour.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from reasoningbank.integrations.shared_server import listens, place_of
from reasoningbank.lock_file import passing_lock, remove_lock
from reasoningbank.processes import Process, lives, private_folder
from reasoningbank.settings import Settings
from reasoningbank.types.scope import Scope
from reasoningbank.types.session import QUIET

if TYPE_CHECKING:
    from reasoningbank.bank import Bank

FOLDER = "run"
"""The directory below the data directory that holds the locks."""
PATIENCE_SECONDS = 30.0
"""How long a server that runs may take before its work is done here."""
GONE_SECONDS = 10.0
"""A transcript may still be written to so long after its client has ended."""
_LOOK_SECONDS = 1.0
_LONGEST_SECONDS = 3_600.0
_SLACK = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """A session that may go on: its transcript, and the client that writes it."""

    transcript: str
    client: Process


def do_due_work(
    bank: Bank, settings: Settings, url: str | None = None, *, patient: bool = False, watched: Watched | None = None
) -> None:
    """Do the bank's due work, unless a server does it or another hook's process is at it.

    Args:
        bank: The bank; its model, if any, is asked.
        settings: Where the data directory and the shared server are.
        url: Where the bank lives, when the hook's command says so.
        patient: Whether what becomes due when a session was quiet is waited for, unless a server would do it.
        watched: A session that has ended when its client has.
    """
    path = _lock_place(settings.home, bank.scope)
    lock = passing_lock(path)
    if lock is None:
        return
    try:
        began, ended = time.monotonic(), 0.0
        patience = PATIENCE_SECONDS if _server_listens(settings, url) else 0.0
        while (now := time.monotonic()) < began + _LONGEST_SECONDS:
            if bank.jobs.due() and now >= began + patience:
                report = bank.jobs.work(limit=1)
                if not report.done + report.postponed + report.buried:
                    return
                continue
            if not bank.jobs.due():
                if not patient or not _waits_for_quiet(bank) or _server_listens(settings, url):
                    return
                if watched is not None and not lives(watched.client):
                    ended = ended or now
                    if now >= ended + GONE_SECONDS:
                        bank.sessions.capture_later(watched.transcript)
                        watched = None
                        continue
            time.sleep(_LOOK_SECONDS)
    finally:
        remove_lock(path, lock)
        _sweep(path.parent)


def _waits_for_quiet(bank: Bank) -> bool:
    """Return whether something becomes due as soon as a session was quiet for long enough."""
    due = bank.jobs.next_due()
    return due is not None and due <= datetime.now(UTC) + QUIET + _SLACK


def _lock_place(home: Path, scope: Scope) -> Path:
    """Return the bank's lock file."""
    folder = home / FOLDER
    private_folder(folder)
    name = hashlib.sha256(f"{scope.tenant}\x00{scope.project}".encode("utf-8", "surrogatepass")).hexdigest()[:24]
    return folder / f"hook-{name}.lock"


def _sweep(folder: Path) -> None:
    """Remove the locks that processes have left which were killed."""
    for path in folder.glob("hook-*.lock"):
        lock = passing_lock(path)
        if lock is not None:
            remove_lock(path, lock)


def _server_listens(settings: Settings, url: str | None) -> bool:
    place = place_of(settings, url)
    return place is not None and listens(place)
