"""Where the failures of hooks go."""

from __future__ import annotations

import os
import traceback
from datetime import UTC, datetime
from pathlib import Path

from reasoningbank.errors import BankError
from reasoningbank.settings import data_directory

LOG_FILE = "hooks.log"
MAX_LOG = 1_000_000
"""Bytes of the log at which it becomes ``hooks.log.1`` and a new one begins."""


def write(event_name: str, error: Exception) -> None:
    """Notes a failure in the log: when, at what event, and which error; no text of the payload.

    When not even that can be written, nothing more is done.
    """
    said = f"{error.code}: {error.advice}" if isinstance(error, BankError) else _place_of(error)
    try:
        home = data_directory()
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = home / LOG_FILE
        if path.exists() and path.stat().st_size > MAX_LOG:
            path.replace(path.with_name(f"{LOG_FILE}.1"))
        line = f"{datetime.now(UTC).isoformat(timespec='seconds')} {event_name[:40]!r} {said[:500]!r}\n"
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(descriptor, "a", encoding="utf-8", errors="backslashreplace") as log:
            log.write(line)
    except (OSError, ValueError, RuntimeError):
        return


def _place_of(error: Exception) -> str:
    """The type of an unexpected error and where it was raised; its words may quote the payload."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{where}"
