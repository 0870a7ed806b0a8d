"""Which session a client is in: its hooks know and note it, its server and its commands look it up. Light.

Hooks, the server on stdio and the commands of an agent are children of one client process. A hook notes the session's
name under that process in a directory of the data directory that only its user can enter; what runs under the same
process finds it there. So what hooks show, what the agent searches itself and what its transcript says count for one
session. Nobody can name another process than the one that it runs under.

A server on stdio notes the client that holds its connection in the same way. A command that has such a client among its
ancestors is an agent's, whatever the client is called. A hook whose answer a client waits for notes that client, too:
what only a person does is refused under it.

Where the system does not tell whose child a process is (no ``/proc``), the direct parent has to do.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from reasoningbank.errors import InvalidInput
from reasoningbank.processes import (
    Process,
    ancestors,
    boot,
    is_private,
    lives,
    private_folder,
    process_of,
    status_of,
    words_of,
)
from reasoningbank.system import is_running, open_private

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reasoningbank.processes import ProcessStatus

FOLDER = ("run", "clients")
"""Where the names are, below the data directory."""
CONNECTED = ("run", "connected")
"""Where it is noted which clients have held a connection."""
HOOKED = ("run", "hooked")
"""Where it is noted which clients have run a hook."""
MOST_OF_A_NAME = 500
"""Characters of a client's name for a session."""
_WRAPPERS = frozenset(
    {"ash", "bash", "busybox", "dash", "env", "fish", "nice", "rbank", "sh", "timeout", "uv", "uvx", "zsh"}
)
"""What stands between a client and what it starts: shells and launchers."""
_REAPERS = frozenset({"init", "launchd", "systemd"})
"""Programs that take over a process whose parent has ended; a person's terminals descend from them, too."""
_FARTHEST = 12
_FILES = "sqlite:///"
_BANKS = "banks"
_MOST_BELOW = 3
"""The most folders from the place of a bank up to its data directory: that of all banks, a tenant's, a file."""
_INTERPRETERS = frozenset({"bun", "deno", "node", "nodejs", "python", "python3"})
_AGENTS = frozenset(
    {
        "aider",
        "amp",
        "auggie",
        "claude",
        "codex",
        "copilot",
        "crush",
        "cursor-agent",
        "droid",
        "gemini",
        "goose",
        "opencode",
        "qwen",
    }
)
"""The programs of clients that let an agent run commands; editors, in which people type as well, are none of them."""


def client_process(pid: int | None = None) -> Process:
    """Return the client that a process runs under: the nearest of its ancestors that is neither a shell nor a launcher.

    Args:
        pid: The process that started the asker; None for the parent of this one.
    """
    nearest = os.getppid() if pid is None else pid
    current = nearest
    for _ in range(_FARTHEST):
        found = status_of(current)
        if found is None:
            break
        if found.name not in _WRAPPERS:
            return Process(current, found.started)
        if found.parent <= 1:
            break
        current = found.parent
    return process_of(nearest)


class HandOver(NamedTuple):
    """Hold who hands a transcript over, as it was when that began.

    Attributes:
        client: The process of the client that writes it.
        above: What the hook descends from, the nearest first.
    """

    client: Process
    above: Sequence[tuple[Process, ProcessStatus]]


def handing_over(pid: int | None = None) -> HandOver:
    """Return who hands over what a process keeps: the client that it runs under. No file is read.

    Args:
        pid: The process that started the asker; None for the parent of this one.
    """
    nearest = os.getppid() if pid is None else pid
    return HandOver(client_process(nearest), ancestors(nearest))


def principal_of(
    home: Path, pid: int | None = None, *, url: str | None = None, note: bool = True, source: HandOver | None = None
) -> str:
    """Return who speaks from a process: its client, as one name for everything that runs under it (DESIGN D16).

    The client is the farthest ancestor that has started a server or a hook of ours before, or that is an agent's
    program; else the nearest that is neither a shell nor a launcher. So a server or a command that an agent starts by
    itself speaks as the agent's client does. A process that has left its family is a client of its own: that stays
    open, for the system tells no more.

    Args:
        home: The data directory.
        pid: The process that started the asker; None for the parent of this one.
        url: Of the bank; None for the data directory's own.
        note: Whether the client is known from now on.
        source: Who was asked about before; None to ask now.
    """
    client, above = source or handing_over(pid)
    folders = [place.joinpath(*FOLDER) for place in (home, *_around(url))]
    for process, status in above:
        if any((folder / _file(process)).exists() for folder in folders) or _is_agent(process, status.name):
            client = process
    if note:
        for place in homes_of(home, url):
            with suppress(OSError):
                _note(place, client)
    text = f"{boot()} {client.pid} {client.started}"
    return f"client-{hashlib.sha256(text.encode()).hexdigest()[:24]}"


def is_agents(url: str | None = None) -> bool:
    """Return whether this process was started by an agent: its client says so, or is one of its ancestors.

    A client is known by its program, or because it has held a connection to a server of this data directory, or of the
    one that the bank lies in.

    Args:
        url: Of the bank; None for the data directory's own.
    """
    from reasoningbank.settings import run_by_agent  # a hook notes its client without the settings

    if run_by_agent():
        return True
    noted = _noted(url, CONNECTED)
    return any(
        _file(process) in noted or _is_agent(process, status.name) for process, status in ancestors(os.getppid())
    )


def is_under_hooks(url: str | None = None) -> bool:
    """Return whether a client that runs hooks of this data directory, or of the bank's, is an ancestor of this process.

    Args:
        url: Of the bank; None for the data directory's own.
    """
    noted = _noted(url, HOOKED)
    return bool(noted) and any(_file(process) in noted for process, _ in ancestors(os.getppid()))


def _noted(url: str | None, place: tuple[str, ...]) -> set[str]:
    """Return the clients that are noted in the data directory, and in the one that the bank of a URL lies in."""
    from reasoningbank.settings import data_directory

    folders = (home.joinpath(*place) for home in (data_directory(), *_around(url)))
    return {path.name for folder in folders if is_private(folder) for path in folder.iterdir()}


def homes_of(home: Path, url: str | None) -> tuple[Path, ...]:
    """Return where a client is noted: in its data directory, and in the one that the bank lies in.

    A client names its data directory itself. A person who works with the same bank looks in another one.

    Args:
        home: The data directory.
        url: Of the bank; None for the data directory's own.
    """
    others = (place for place in _around(url) if is_private(place))
    known = (place for place in others if (place / _BANKS).is_dir() or (place / FOLDER[0]).is_dir())
    return tuple(dict.fromkeys((home, *known)))


def _around(url: str | None) -> tuple[Path, ...]:
    """Return the place of a bank in files and the folders above it, one of which may be a data directory."""
    if not url or not url.startswith(_FILES):
        return ()
    from urllib.parse import unquote

    try:
        bank = Path(unquote(url.removeprefix(_FILES).partition("?")[0])).expanduser().resolve()
    except (OSError, RuntimeError, ValueError):  # no path: whoever opens the bank says so
        return ()
    return (bank, *bank.parents[:_MOST_BELOW])


def speak_as_client(home: Path, *, by_agent: bool | None, url: str | None = None) -> None:
    """Let all that this process does count as done by the client that it runs under, when an agent runs it.

    Args:
        home: The data directory.
        url: Of the bank; None for the data directory's own.
        by_agent: Whether an agent runs it; None finds out.
    """
    if by_agent or (by_agent is None and is_agents(url)):
        from reasoningbank.memories.standing import AGENT, Transport, speak_in_this_process

        speak_in_this_process(Transport(principal_of(home, url=url), session_of(home, client_process()), AGENT))


class Connection:
    """Notes that the client which started a server holds a connection to it, and makes its data directory for that.

    Without it a command that the client runs first would make the directory itself, and look like a person's. Nothing
    is noted of a server that a person has started in a terminal: what is above that terminal is no client.

    Args:
        home: The data directory.
        pid: The process that started the server.
        url: Of the bank; None for the data directory's own.
        place: The folder below the data directory in which it is noted.
    """

    def __init__(self, home: Path, pid: int, url: str | None = None, place: tuple[str, ...] = CONNECTED) -> None:
        self._home = home
        self._url = url
        self._client = _holder(pid)
        self._place = place

    def note(self) -> None:
        """Note it, unless that is done; what is left of clients that ended is removed."""
        if self._client is None:
            return
        with suppress(OSError):
            self._home.mkdir(mode=0o700, parents=True, exist_ok=True)
            for home in homes_of(self._home, self._url):
                folder = home.joinpath(*self._place)
                private_folder(folder.parent)
                private_folder(folder)
                for other in folder.iterdir():
                    if not _lives(other.name):
                        other.unlink(missing_ok=True)
                os.close(open_private(folder / _file(self._client), os.O_WRONLY | os.O_CREAT))
            self._client = None


def _holder(pid: int) -> Process | None:
    """Return the nearest of these ancestors that is no shell and no launcher; None where a person's shell is nearer.

    None too where the client has ended, and what is left of it has another parent.
    """
    for process, status in ancestors(pid)[:_FARTHEST]:
        if status.name in _REAPERS:
            return None
        if status.name not in _WRAPPERS:
            return process
        if status.terminal:
            return None
    return None


def _is_agent(process: Process, name: str) -> bool:
    if name in _AGENTS:
        return True
    if name.rstrip("0123456789.") not in _INTERPRETERS and name != "MainThread":
        return False
    words = [word for word in words_of(process.pid)[1:] if not word.startswith("-")]
    return bool(words) and Path(words[0]).stem in _AGENTS


def _note(home: Path, client: Process) -> None:
    """Note that a process is a client, as a file of its own that is empty until a hook names its session."""
    folder = home.joinpath(*FOLDER)
    if not home.is_dir() or (folder / _file(client)).exists():
        return
    private_folder(folder.parent)
    private_folder(folder)
    os.close(open_private(folder / _file(client), os.O_WRONLY | os.O_CREAT))


def note_session(home: Path, session: str, client: Process) -> None:
    """Note the session that a client is in; what is left of clients that ended is removed.

    Nothing is noted where there is no data directory yet, nor a session that another client is in (``holds``). A name
    that every operation would refuse is not noted, and the one before it is removed: it is another session's.

    Raises:
        InvalidInput: When the name looks like a prompt injection.
        OSError: When the directory cannot be used, or others can enter it.
    """
    name = session[:MOST_OF_A_NAME]
    if not name or not home.is_dir():
        return
    folder = home.joinpath(*FOLDER)
    place = folder / _file(client)
    with suppress(OSError, ValueError):
        if is_private(folder) and place.read_text("utf-8") == name:
            return
    private_folder(folder.parent)
    private_folder(folder)
    if not holds(home, name, client):
        return
    try:
        _check(name)
    except InvalidInput:
        place.unlink(missing_ok=True)
        raise
    for other in folder.iterdir():
        if not _lives(other.name):
            other.unlink(missing_ok=True)
    draft = folder / f"{place.name}.{os.getpid()}"
    descriptor = open_private(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as file:
        file.write(name)
    draft.replace(place)


def holds(home: Path, session: str, client: Process, source: HandOver | None = None) -> bool:
    """Return whether a client may be in a session: no other client that runs is in it.

    Whoever runs a hook names the session, so a client could name another's and speak in it.
    """
    folder, name = home.joinpath(*FOLDER), session[:MOST_OF_A_NAME]
    if not name or not is_private(folder):
        return True
    above = ancestors(client.pid) if source is None else source.above
    family = {process.pid for process, _ in above}
    for other in folder.iterdir():
        number = other.name.partition("-")[0]
        if other.name == _file(client) or "." in other.name or not number.isdecimal() or not _lives(other.name):
            continue
        with suppress(OSError, ValueError):
            if other.read_text("utf-8") == name and int(number) not in family:
                return client.pid in {process.pid for process, _ in ancestors(int(number))}
    return True


def _check(name: str) -> None:
    """Check a name as every operation does; what does that is read only for a name that can say a sentence.

    Raises:
        InvalidInput: When it looks like a prompt injection.
    """
    from reasoningbank.safety.unicode import speaks

    if speaks(name):
        from reasoningbank.safety.checks import session_name

        session_name(name)


def session_of(home: Path, client: Process) -> str:
    """Return the session that a client is in; empty when its hooks have noted none."""
    folder = home.joinpath(*FOLDER)
    try:
        return (folder / _file(client)).read_text("utf-8")[:MOST_OF_A_NAME] if is_private(folder) else ""
    except (OSError, ValueError):
        return ""


def _file(client: Process) -> str:
    return f"{client.pid}-{client.started}"


def _lives(name: str) -> bool:
    """Return whether the process of a file, or the one that is writing it, still runs."""
    number, _, rest = name.partition("-")
    started, _, writer = rest.partition(".")
    if not number.isdecimal():
        return False
    if writer:
        return writer.isdecimal() and is_running(int(writer))
    return lives(Process(int(number), started))
