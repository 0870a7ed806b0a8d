"""Asking a running server what to show, so that a hook need not load a model: light, and never waiting for long.

The server listens on a socket in a directory of the data directory that only its user can enter; a hook asks it only
when both run as that user, with the same settings and of the same version. Whatever is not so, or goes wrong, is
answered by None: then the hook does the work itself. Where the system has no such sockets (Windows) it always does.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import stat
import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from reasoningbank.settings import Settings
from reasoningbank.types.scope import Membership, Scope

FOLDER, SOCKET, LOCK = "run", "hooks.sock", "hooks.lock"
"""The directory below the data directory, and in it the socket and the lock that says who listens."""
LONGEST_PATH = 100
"""Bytes of a socket's path that every system takes."""
CONNECT_SECONDS = 0.25
ANSWER_SECONDS = 3.0
"""How long a hook waits in all; what is left of the client's timeout is enough to do the work itself."""
MAX_ANSWER = 1_000_000


class Request(NamedTuple):
    """What a hook asks for.

    Attributes:
        event: The event.
        task: What to look for; None for whatever is proven.
        session: The client's name for the session.
        scope: The bank.
        settings: The fingerprint of the asker's settings.
    """

    event: str
    task: str | None
    session: str
    scope: Scope
    settings: str


def fingerprint(settings: Settings, url: str | None, membership: Membership) -> str:
    """Return a key that is equal for programs that answer alike: version and settings, without scope and tools."""
    from reasoningbank import __version__

    plain = replace(
        settings, tenant="", project="", profile="", url=url or settings.url, team=membership.team, org=membership.org
    )
    return hashlib.sha256(f"{__version__}\n{plain!r}".encode("utf-8", "surrogatepass")).hexdigest()


def place_of(home: Path) -> Path | None:
    """Return the socket of a data directory; None where there can be none."""
    path = home / FOLDER / SOCKET
    usable = hasattr(socket, "AF_UNIX") and hasattr(os, "geteuid") and len(os.fsencode(path)) <= LONGEST_PATH
    return path if usable else None


def private(path: Path) -> bool:
    """Return whether nobody but this user can have put something there, or can enter."""
    found = path.lstat()
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077


def ask(home: Path, request: Request) -> str | None:
    """Return the text to show, as a running server has it; None when there is no server that will say."""
    path = place_of(home)
    if path is None:
        return None
    deadline = time.monotonic() + ANSWER_SECONDS
    try:
        if not private(path.parent):
            return None
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(CONNECT_SECONDS)
            connection.connect(os.fspath(path))
            connection.settimeout(ANSWER_SECONDS)
            connection.sendall(encoded(request))
            connection.shutdown(socket.SHUT_WR)
            return _text(received(connection, deadline, MAX_ANSWER))
    except (OSError, ValueError, RecursionError):
        return None


def received(connection: socket.socket, deadline: float, most: int) -> bytes:
    """Return what the other side says until it ends.

    Raises:
        TimeoutError: When it does not end before the deadline, a moment of ``time.monotonic``.
        ValueError: When it says more than that many bytes.
    """
    found = bytearray()
    while len(found) <= most:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("the other side takes too long")
        connection.settimeout(left)
        part = connection.recv(65_536)
        if not part:
            return bytes(found)
        found += part
    raise ValueError("the other side says too much")


def encoded(request: Request) -> bytes:
    """Return the request as it is sent."""
    fields = request._asdict() | {"scope": [request.scope.tenant, request.scope.project]}
    return json.dumps(fields).encode("ascii")


def decoded(raw: bytes) -> Request:
    """Return the inverse of encoded.

    Raises:
        ValueError: When it is not a request.
    """
    fields = json.loads(raw)
    if not isinstance(fields, dict):
        raise ValueError("no request")
    event, task, session, scope, settings = (fields.get(name) for name in Request._fields)
    if not isinstance(event, str) or not isinstance(session, str) or not isinstance(settings, str):
        raise ValueError("no request")
    if not isinstance(scope, list) or not (task is None or isinstance(task, str)):
        raise ValueError("no request")
    tenant, project = (str(name) for name in scope)
    return Request(event, task, session, Scope(tenant=tenant, project=project), settings)


def _text(raw: bytes) -> str | None:
    answer = json.loads(raw)
    text = answer.get("text") if isinstance(answer, dict) else None
    return text if isinstance(text, str) else None
