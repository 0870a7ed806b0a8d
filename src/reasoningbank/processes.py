"""This user's processes, as they can be recognised later, and the directories that only they can enter. Light.

A process is known by its number and the time it began, so that a number that is given out again is another process.
Where the system does not tell them (no ``/proc``), the number has to do.
"""

from __future__ import annotations

import stat
import subprocess
from pathlib import Path
from typing import NamedTuple

from reasoningbank.system import is_running, user_id

_TOLD = Path("/proc")
_SECONDS = 2.0
_COLUMNS = 8


class Process(NamedTuple):
    """A process as it can be recognised later.

    Attributes:
        pid: Its number.
        started: When it began, as the system counts; empty where the system does not say.
    """

    pid: int
    started: str


class ProcessStatus(NamedTuple):
    """Hold what the system says of a process: its name, its parent, when it began, and whether a terminal is its own.

    A terminal is its own when it leads the session of one, as the shell in which a person types does.
    """

    name: str
    parent: int
    started: str
    terminal: bool = False


def status_of(pid: int) -> ProcessStatus | None:
    """Return what the system says of a process; None where it does not say, or there is none."""
    try:
        raw = Path(f"/proc/{pid}/stat").read_bytes()
        head, _, tail = raw.rpartition(b")")
        fields = tail.split()
        name = head.partition(b"(")[2].decode("utf-8", "replace")
        leads = int(fields[3]) == pid and int(fields[4]) != 0
        return ProcessStatus(name, int(fields[1]), fields[19].decode("ascii"), leads)
    except (OSError, IndexError, ValueError):
        return None


def process_of(pid: int) -> Process:
    """Return the process of a number as it can be recognised later."""
    found = status_of(pid)
    return Process(pid, found.started if found else "")


_FARTHEST = 64


def ancestors(pid: int) -> list[tuple[Process, ProcessStatus]]:
    """Return a process and those that it descends from, the nearest first; none where the system does not tell."""
    known = None if _TOLD.is_dir() else _listed()
    found: list[tuple[Process, ProcessStatus]] = []
    current = pid
    while current > 1 and len(found) < _FARTHEST:
        status = status_of(current) if known is None else known.get(current)
        if status is None:
            break
        found.append((Process(current, status.started), status))
        current = status.parent
    return found


def _listed() -> dict[int, ProcessStatus]:
    """Return every process by its number as ``ps`` lists them; none where there is no such program."""
    words = ["/bin/ps", "-axo", "pid=,ppid=,lstart=,comm="]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=_SECONDS, check=False)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return {}
    found = {}
    for line in done.stdout.splitlines():
        parts = line.split(None, 7)
        if len(parts) == _COLUMNS and parts[0].isdecimal() and parts[1].isdecimal():
            name = parts[7].rpartition("/")[2].removeprefix("-")
            found[int(parts[0])] = ProcessStatus(name, int(parts[1]), "-".join(parts[2:7]).replace(":", "."))
    return found


def words_of(pid: int) -> list[str]:
    """Return the program and the arguments of a process; none where the system does not tell."""
    try:
        raw = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return []
    return [word.decode("utf-8", "replace") for word in raw.split(b"\0")]


def boot() -> str:
    """Return what tells this run of the system from the next one; empty where the system does not say."""
    try:
        return (_TOLD / "sys/kernel/random/boot_id").read_text("ascii").strip()
    except (OSError, ValueError):
        return ""


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
