"""What a hook's own process does after its answer: the due work of its bank that needs no language model.

A server or a worker does it within seconds when one runs; then nothing is left to do here. Of several such processes of
one bank one works, the others end. It starts no process, so no hook comes of it.
"""

from __future__ import annotations

import hashlib
import os
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING

from reasoningbank.integrations.client_sessions import private_folder
from reasoningbank.integrations.hook_client import FOLDER, place_of
from reasoningbank.types.scope import Scope

if TYPE_CHECKING:
    from reasoningbank.bank import Bank

PATIENCE_SECONDS = 30.0
"""How long a server that runs may take before its work is done here."""
_LOOK_SECONDS = 1.0
_LONGEST_SECONDS = 600.0


def do_due_work(bank: Bank, home: Path) -> None:
    """Do the bank's due work, unless a server does it or another hook's process is at it.

    Args:
        bank: The bank; its model, if any, is asked.
        home: The data directory.
    """
    lock = _lock(home, bank.scope)
    if lock is None:
        return
    try:
        deadline = time.monotonic() + (PATIENCE_SECONDS if _server_listens(home) else 0.0)
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


def _server_listens(home: Path) -> bool:
    path = place_of(home)
    if path is None:
        return False
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(0.25)
            connection.connect(os.fspath(path))
    except OSError:
        return False
    return True
