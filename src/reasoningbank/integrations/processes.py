"""This user's processes, as they can be recognised later, and the directories that only they can enter. Light.

A process is known by its number and the time it began, so that a number that is given out again is another process.
Where the system does not tell them (no ``/proc``), the number has to do.
"""

from __future__ import annotations

import stat
from pathlib import Path
from typing import NamedTuple

from reasoningbank.system import is_running, user_id


class Process(NamedTuple):
    """A process as it can be recognised later.

    Attributes:
        pid: Its number.
        started: When it began, as the system counts; empty where the system does not say.
    """

    pid: int
    started: str


class ProcessStatus(NamedTuple):
    """Hold what the system says of a process: its name, its parent, and when it began."""

    name: str
    parent: int
    started: str


def status_of(pid: int) -> ProcessStatus | None:
    """Return what the system says of a process; None where it does not say, or there is none."""
    try:
        raw = Path(f"/proc/{pid}/stat").read_bytes()
        head, _, tail = raw.rpartition(b")")
        fields = tail.split()
        name = head.partition(b"(")[2].decode("utf-8", "replace")
        return ProcessStatus(name, int(fields[1]), fields[19].decode("ascii"))
    except (OSError, IndexError, ValueError):
        return None


def process_of(pid: int) -> Process:
    """Return the process of a number as it can be recognised later."""
    found = status_of(pid)
    return Process(pid, found.started if found else "")


def lives(process: Process) -> bool:
    """Return whether this very process still runs, and not another one of its number."""
    found = status_of(process.pid)
    return is_running(process.pid) if found is None else not process.started or found.started == process.started


def is_private(folder: Path) -> bool:
    """Return whether nobody but this user can have put something there, or can enter; False when it is not there."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    user = user_id()
    return stat.S_ISDIR(found.st_mode) and (user is None or (found.st_uid == user and not found.st_mode & 0o077))


def private_folder(folder: Path) -> None:
    """Make a directory that only this user can enter.

    Raises:
        OSError: When it cannot be made, or others can enter it.
    """
    folder.mkdir(mode=0o700, exist_ok=True)
    if not is_private(folder):
        raise PermissionError(0, f"others can enter {folder}")
