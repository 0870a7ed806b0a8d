"""Which session a client is in: its hooks know and note it, its server and its commands look it up. Light.

Hooks, the server on stdio and the commands of an agent are children of one client process. A hook notes the session's
name under that process in a directory of the data directory that only its user can enter; what runs under the same
process finds it there. So what hooks show, what the agent searches itself and what its transcript says count for one
session. Nobody can name another process than the one that it runs under.

A process is known by its number and the time it began, so that a number that is given out again is another process.
Where the system does not tell them (no ``/proc``), the direct parent's number has to do.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

FOLDER = ("run", "clients")
"""Where the names are, below the data directory."""
MOST_OF_A_NAME = 500
"""Characters of a client's name for a session."""
_WRAPPERS = frozenset(
    {"ash", "bash", "busybox", "dash", "env", "fish", "nice", "rbank", "sh", "timeout", "uv", "uvx", "zsh"}
)
"""What stands between a client and what it starts: shells and launchers."""
_FARTHEST = 12


class ClientProcess(NamedTuple):
    """A process as it can be recognised later.

    Attributes:
        pid: Its number.
        started: When it began, as the system counts; empty where the system does not say.
    """

    pid: int
    started: str


def client_process(pid: int | None = None) -> ClientProcess:
    """Return the client that a process runs under: the nearest of its ancestors that is no shell and no launcher.

    Args:
        pid: The process that started the asker; None for the parent of this one.
    """
    nearest = os.getppid() if pid is None else pid
    current = nearest
    for _ in range(_FARTHEST):
        found = _status(current)
        if found is None:
            break
        name, parent, started = found
        if name not in _WRAPPERS:
            return ClientProcess(current, started)
        if parent <= 1:
            break
        current = parent
    known = _status(nearest)
    return ClientProcess(nearest, known[2] if known else "")


def note_session(home: Path, session: str, client: ClientProcess) -> None:
    """Note the session that a client is in; what is left of clients that ended is removed.

    Nothing is noted where there is no data directory yet.

    Raises:
        OSError: When the directory cannot be used, or others can enter it.
    """
    name = session[:MOST_OF_A_NAME]
    if not name or not home.is_dir():
        return
    folder = home.joinpath(*FOLDER)
    place = folder / _file(client)
    with suppress(OSError, ValueError):
        if _is_private(folder) and place.read_text("utf-8") == name:
            return
    private_folder(folder.parent)
    private_folder(folder)
    for other in folder.iterdir():
        if not _lives(other.name):
            other.unlink(missing_ok=True)
    draft = folder / f"{place.name}.{os.getpid()}"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as file:
        file.write(name)
    draft.replace(place)


def session_of(home: Path, client: ClientProcess) -> str:
    """Return the session that a client is in; empty when its hooks have noted none."""
    folder = home.joinpath(*FOLDER)
    try:
        return (folder / _file(client)).read_text("utf-8")[:MOST_OF_A_NAME] if _is_private(folder) else ""
    except (OSError, ValueError):
        return ""


def private_folder(folder: Path) -> None:
    """Make a directory that only this user can enter.

    Raises:
        OSError: When it cannot be made, or others can enter it.
    """
    folder.mkdir(mode=0o700, exist_ok=True)
    if not _is_private(folder):
        raise PermissionError(0, f"others can enter {folder}")


def _file(client: ClientProcess) -> str:
    return f"{client.pid}-{client.started}"


def _lives(name: str) -> bool:
    """Return whether the process of a file, or the one that is writing it, still runs."""
    number, _, rest = name.partition("-")
    started, _, writer = rest.partition(".")
    if not number.isdecimal():
        return False
    if writer:
        return writer.isdecimal() and _runs(int(writer))
    found = _status(int(number))
    return _runs(int(number)) if found is None else found[2] == started


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _status(pid: int) -> tuple[str, int, str] | None:
    """Return a process's name, its parent and when it began; None where the system does not say."""
    try:
        raw = Path(f"/proc/{pid}/stat").read_bytes()
        head, _, tail = raw.rpartition(b")")
        fields = tail.split()
        name = head.partition(b"(")[2].decode("utf-8", "replace")
        return name, int(fields[1]), fields[19].decode("ascii")
    except (OSError, IndexError, ValueError):
        return None


def _is_private(folder: Path) -> bool:
    """Return whether nobody but this user can have put something there, or can enter."""
    import stat

    try:
        found = folder.lstat()
    except OSError:
        return False
    if not hasattr(os, "geteuid"):
        return stat.S_ISDIR(found.st_mode)
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077
