"""What a hook's own process does after its answer: the due work of its bank that needs no language model.

A server or a worker does it within seconds when one runs; then nothing is left to do here. Of several such processes of
one bank one works, the others end. It starts no process, so no hook comes of it.
"""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from reasoningbank.integrations.processes import private_folder
from reasoningbank.integrations.shared_server import join, place_of
from reasoningbank.settings import Settings
from reasoningbank.types.scope import Scope

if TYPE_CHECKING:
    from reasoningbank.bank import Bank

FOLDER = "run"
"""The directory below the data directory that holds the locks."""
PATIENCE_SECONDS = 30.0
"""How long a server that runs may take before its work is done here."""
_LOOK_SECONDS = 1.0
_LONGEST_SECONDS = 600.0


def do_due_work(bank: Bank, settings: Settings, url: str | None = None) -> None:
    """Do the bank's due work, unless a server does it or another hook's process is at it.

    Args:
        bank: The bank; its model, if any, is asked.
        settings: Where the data directory and the shared server are.
        url: Where the bank lives, when the hook's command says so.
    """
    lock = _lock(settings.home, bank.scope)
    if lock is None:
        return
    try:
        deadline = time.monotonic() + (PATIENCE_SECONDS if _server_listens(settings, url) else 0.0)
        end = time.monotonic() + _LONGEST_SECONDS
        while bank.jobs.due() and time.monotonic() < end:
            if time.monotonic() < deadline:
                time.sleep(_LOOK_SECONDS)
                continue
            report = bank.jobs.work(limit=1)
            if not report.done + report.postponed + report.buried:
                return
    finally:
        os.close(lock)


def _lock(home: Path, scope: Scope) -> int | None:
    """Return a descriptor that holds the bank's lock until it is closed; None when another process has it."""
    try:
        import fcntl
    except ImportError:
        return None
    folder = home / FOLDER
    private_folder(folder)
    name = hashlib.sha256(f"{scope.tenant}\x00{scope.project}".encode("utf-8", "surrogatepass")).hexdigest()[:24]
    descriptor = os.open(folder / f"hook-{name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def _server_listens(settings: Settings, url: str | None) -> bool:
    place = place_of(settings, url)
    if place is None:
        return False
    try:
        connection = join(place, start=False)
    except OSError:
        return False
    if connection is None:
        return False
    connection.close()
    return True
