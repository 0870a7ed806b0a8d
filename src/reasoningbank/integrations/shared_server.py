"""Joining the one server that a user's windows, hooks and commands share, and starting it when there is none: light.

The server listens on a socket in a directory that only its user can enter. The name of the socket holds the version and
the settings, so that an updated program, or one with other settings, has a server of its own beside the old one.

Who needs a server and finds none takes the lock, makes the socket and starts the process, which inherits both: a
connection waits in the socket's queue until the server is ready, two are never started, and a killed server leaves no
lock, because the system lets go of it.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import socket
import struct
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields, replace
from pathlib import Path
from typing import NamedTuple

from reasoningbank.errors import ConfigurationError, StoreError
from reasoningbank.lock_file import is_handed_on, passing_lock
from reasoningbank.processes import Process, is_private, process_of
from reasoningbank.settings import Settings, absolute_url, child_environment, matching_environment, own_run
from reasoningbank.system import user_id
from reasoningbank.types.scope import Membership, Scope

LONGEST_PATH = 100
"""Bytes of a socket's path that every system takes."""
CONNECT_SECONDS = 2.0
JOIN_SECONDS = 5.0
"""How long two that start a server at the same time may wait for each other."""
MAX_ANSWER = 8_000_000
"""Bytes of the longest answer to a question."""
WAITING = 128
"""How many connections may wait for a server that is starting."""
_PROGRAM = "import os; os.fork() and os._exit(0); os.setsid(); from reasoningbank.mcp.shared import main; main()"
"""The server leaves the family of who starts it before anything else: clients end all that their servers started."""
_RETRY_SECONDS = 0.02
_LOG_SECONDS = 7 * 86_400.0
"""How long the log of a server that has ended is kept when there are words in it."""
_SUFFIXES = frozenset({".sock", ".lock", ".log"})
_OF_THE_CALL = frozenset({"tenant", "project", "profile", "team", "org", "url", "shared", "run_directory"})
"""Settings that come with each connection, or that say nothing about what a server does."""
_LOCAL = getattr(socket, "AF_UNIX", -1)
"""The family of sockets that are files, -1 where the system has none."""
_PROVIDERS = ("OPENAI_", "ANTHROPIC_", "GOOGLE_", "GEMINI_")


class Place(NamedTuple):
    """Where the server of one version and one set of settings is.

    Attributes:
        folder: The directory that only its user can enter.
        name: The version and the settings, as a hash.
        directory: The working directory of the server.
    """

    folder: Path
    name: str
    directory: str

    @property
    def socket(self) -> Path:
        """Where it listens."""
        return self.folder / f"{self.name}.sock"

    @property
    def lock(self) -> Path:
        """What it holds as long as it lives."""
        return self.folder / f"{self.name}.lock"

    @property
    def log(self) -> Path:
        """Where its warnings go."""
        return self.folder / f"{self.name}.log"


def place_of(settings: Settings, url: str | None = None) -> Place | None:
    """Return where the server for these settings is; None where there can be none, or none is wanted.

    None is wanted inside of a client that we run as a language model: a server that is started there would do no
    background work for the user's windows.

    Args:
        settings: The configuration.
        url: Where banks live, when a command says so.
    """
    banks = url or settings.url
    wanted = settings.shared and not banks.startswith("memory:") and not own_run()
    if not wanted or not _can_be():
        return None
    folder = Path(settings.run_directory) if settings.run_directory else _usual_folder()
    try:
        directory = str(Path.cwd()) if _is_relative(settings) else "/"
        place = Place(folder, _fingerprint(settings, directory), directory)
        if not folder.is_absolute() or len(os.fsencode(place.socket)) > LONGEST_PATH:
            return None
        return place if _is_usable(folder) else None
    except OSError:
        return None


def _can_be() -> bool:
    """Return whether this system has what a shared server needs."""
    has_processes = hasattr(os, "fork") and hasattr(os, "posix_spawn")
    return hasattr(socket, "AF_UNIX") and has_processes and user_id() is not None and is_handed_on()


def of_the_server(settings: Settings) -> Settings:
    """Return the settings without what comes with each connection."""
    return replace(settings, tenant="", project="", profile="", team="", org="", url="")


def _is_usable(folder: Path) -> bool:
    """Return whether sockets can be there, and only this user's; a directory that does not exist yet can be made."""
    if not os.path.lexists(folder):
        return os.access(folder.parent, os.W_OK | os.X_OK)
    return is_private(folder) and os.access(folder, os.W_OK | os.X_OK)


def peer_is_own(connection: socket.socket) -> bool:
    """Return whether the other side runs as this user; where the system cannot say, the directory's mode decides."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return True
    size = struct.calcsize("3i")
    _, user, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, option, size))
    return bool(user == user_id())


def peer_of(connection: socket.socket) -> int | None:
    """Return the process on the other side of a connection; None where the system cannot say."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return None
    size = struct.calcsize("3i")
    process, _, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, option, size))
    return int(process) or None


def join(place: Place, *, start: bool) -> socket.socket | None:
    """Return a connection to the server; None when there is none and none is to be started.

    Args:
        place: Where it is.
        start: Whether it is started when it does not run.

    Raises:
        OSError: When there can be no connection.
    """
    deadline = time.monotonic() + JOIN_SECONDS
    while True:
        connection = _connected(place)
        if connection is not None:
            return connection
        if not start:
            sweep(place.folder)
            return None
        if not _started(place):
            if time.monotonic() > deadline:
                raise TimeoutError(f"the server at {place.socket} neither answers nor ends")
            time.sleep(_RETRY_SECONDS)


def listens(place: Place) -> bool:
    """Return whether the server runs and takes connections; nothing is started."""
    try:
        connection = join(place, start=False)
    except OSError:
        return False
    if connection is None:
        return False
    connection.close()
    return True


def locked(path: Path) -> int | None:
    """Return a descriptor that holds the lock until it is closed in any way; None when another process has it."""
    lock = passing_lock(path)
    return None if lock is None else lock.descriptor


def sweep(folder: Path) -> None:
    """Remove what servers that were killed have left behind, and our own directory when nothing else is there.

    A directory that a person has named stays: it may be wanted for something else.
    A log with words in it stays for a week, because it may say why. Whoever starts a server makes the directory again.
    """
    with suppress(OSError):
        for name in {path.stem for path in folder.iterdir() if path.suffix in _SUFFIXES}:
            place = Place(folder, name, "")
            descriptor = locked(place.lock)
            if descriptor is not None:
                clear(place)
                os.close(descriptor)
        if folder == _usual_folder():
            folder.rmdir()


def clear(place: Place) -> None:
    """Remove the files of a server; only who holds its lock may."""
    place.socket.unlink(missing_ok=True)
    with suppress(FileNotFoundError):
        known = place.log.stat()
        if known.st_size == 0 or time.time() - known.st_mtime > _LOG_SECONDS:
            place.log.unlink()
    place.lock.unlink(missing_ok=True)


def _usual_folder() -> Path:
    """Return the user's directory for what lives as long as the machine runs; the same for every program of the user.

    Not that of a variable: some clients start their servers with few of them.
    """
    user = user_id()
    own = Path(f"/run/user/{user}")
    if is_private(own) and os.access(own, os.W_OK):
        return own / "reasoningbank"
    return Path(f"/tmp/reasoningbank-{user}")  # noqa: S108 - made with mode 0700, and refused when it is another's


def _fingerprint(settings: Settings, directory: str) -> str:
    """Return a name that is equal for programs that one server can answer: version, place of the code, settings."""
    import reasoningbank

    code = Path(reasoningbank.__file__)
    plain = [(each.name, str(getattr(settings, each.name))) for each in fields(settings)]
    told = [
        reasoningbank.__version__,
        str(code),
        code.stat().st_mtime_ns,
        sys.executable,
        directory,
        [each for each in plain if each[0] not in _OF_THE_CALL],
        sorted(matching_environment(_PROVIDERS).items()) if settings.llm else [],
    ]
    return hashlib.sha256(json.dumps(told).encode("utf-8", "surrogatepass")).hexdigest()[:24]


def _is_relative(settings: Settings) -> bool:
    """Return whether a setting of the server names a path that means something else in every working directory."""
    kind, _, folder = settings.embedder.partition(":")
    paths = (settings.repository, folder if kind == "onnx" else "")
    return any(path and not path.startswith(("/", "~")) for path in paths)


def _connected(place: Place) -> socket.socket | None:
    connection = socket.socket(_LOCAL, socket.SOCK_STREAM)
    try:
        connection.settimeout(CONNECT_SECONDS)
        connection.connect(os.fspath(place.socket))
        if not peer_is_own(connection):
            raise PermissionError(errno.EPERM, "the server there is another user's")
    except (FileNotFoundError, ConnectionRefusedError):
        connection.close()
        return None
    except OSError:
        connection.close()
        raise
    return connection


def _started(place: Place) -> bool:
    """Start the server unless another one lives or is being started."""
    with suppress(FileExistsError):
        place.folder.mkdir(mode=0o700)
    if not is_private(place.folder):
        raise PermissionError(errno.EPERM, "others can enter the directory", os.fspath(place.folder))
    try:
        lock = locked(place.lock)
    except FileNotFoundError:  # who ended the last server has removed the directory meanwhile
        return False
    if lock is None:
        return False
    try:
        place.socket.unlink(missing_ok=True)
        with socket.socket(_LOCAL, socket.SOCK_STREAM) as listener:
            listener.bind(os.fspath(place.socket))
            place.socket.chmod(0o600)
            listener.listen(WAITING)
            _spawn(place, lock, listener.fileno())
    finally:
        os.close(lock)
    return True


def _spawn(place: Place, lock: int, listener: int) -> None:
    """Run the server with the lock and the socket."""
    if sys.platform != "win32":
        words = [sys.executable, "-P", "-c", _PROGRAM, str(lock), str(listener), place.directory, place.name]
        log = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, os.fspath(place.log), log, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ]
        os.set_inheritable(lock, True)
        os.set_inheritable(listener, True)
        pid = os.posix_spawn(sys.executable, words, child_environment({}, without=("GIT_",)), file_actions=actions)
        os.waitpid(pid, 0)


class Greeting(NamedTuple):
    """What a connection begins with: who speaks, and what for.

    Attributes:
        kind: ``mcp`` for a client's protocol, ``hook`` or ``command`` for one question and one answer.
        tenant: The owner of everything it sees.
        project: The project of calls that name none; empty for that of the directory.
        directory: The working directory of the speaker.
        profile: Which tools there are.
        team: The team of the projects; empty for none.
        org: Their org; empty for none.
        url: Where banks live, in words that mean the same in every working directory; empty for the configured place.
        parent: The process that started the speaker.
        body: The question.
    """

    kind: str
    tenant: str
    project: str = ""
    directory: str = ""
    profile: str = ""
    team: str = ""
    org: str = ""
    url: str = ""
    parent: Process = Process(0, "")
    body: dict[str, object] = {}  # noqa: RUF012 - the default of a tuple; nothing changes it

    def encoded(self) -> bytes:
        """Return the greeting as one line."""
        return json.dumps({**self._asdict(), "parent": list(self.parent)}).encode("ascii") + b"\n"


def question(
    kind: str, scope: Scope, membership: Membership, url: str, body: Mapping[str, object], *, directory: str = ""
) -> Greeting:
    """Return a greeting that asks one question about a bank.

    Raises:
        ConfigurationError: When the URL names no store that exists.
    """
    return Greeting(
        kind=kind,
        tenant=scope.tenant,
        project=scope.project,
        directory=directory,
        team=membership.team,
        org=membership.org,
        url=absolute_url(url) if url else "",
        parent=process_of(os.getppid()),
        body=dict(body),
    )


class Unanswered(OSError):
    """The server was asked and did not answer: what it was to do may have been done."""


def undone(why: str) -> StoreError:
    """Return the error of a write of which nobody knows whether it was done: repeated it could be done twice."""
    return StoreError(
        f"{why}, and it is not known whether this was done", hint="Look with `rbank list`, then do it again if need be."
    )


def ask(settings: Settings, greeting: Greeting, *, start: bool, seconds: float) -> dict[str, object] | None:
    """Return what the shared server answers; None when there is none, or none that could be asked.

    Args:
        settings: The configuration.
        greeting: The question.
        start: Whether a server is started when none runs.
        seconds: How long to wait in all.

    Raises:
        Unanswered: When it was asked and did not answer.
    """
    place = place_of(settings, greeting.url)
    if place is None:
        return None
    deadline = time.monotonic() + seconds
    try:
        connection = join(place, start=start)
    except OSError:
        return None
    if connection is None:
        return None
    try:
        with connection:
            connection.settimeout(seconds)
            connection.sendall(greeting.encoded())
            answer = json.loads(_received(connection, deadline))
    except (OSError, ValueError, RecursionError) as error:
        raise Unanswered(str(error)) from error
    if not isinstance(answer, dict):
        raise Unanswered("the answer is not a JSON object")
    return answer


def _received(connection: socket.socket, deadline: float) -> bytes:
    """Return what the other side says until it ends.

    Raises:
        TimeoutError: When it does not end before the deadline, a moment of ``time.monotonic``.
        ValueError: When it says too much.
    """
    found = bytearray()
    while len(found) <= MAX_ANSWER:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("the other side took too long")
        connection.settimeout(left)
        part = connection.recv(65_536)
        if not part:
            return bytes(found)
        found += part
    raise ValueError("the other side sent too much")


def greeting_of(line: bytes) -> Greeting:
    """Return the inverse of ``Greeting.encoded``.

    Raises:
        ConfigurationError: When it is not a greeting.
    """
    wrong = ConfigurationError("the connection did not begin with a greeting", hint="Update the program that asks.")
    try:
        found = json.loads(line)
        parent, body = found.pop("parent"), found.pop("body")
        greeting = Greeting(**found, parent=Process(*parent), body=body)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise wrong from error
    texts = (*greeting[:8], greeting.parent.started)
    if not all(isinstance(text, str) for text in texts) or not isinstance(greeting.parent.pid, int):
        raise wrong
    if not isinstance(greeting.body, dict):
        raise wrong
    return greeting
