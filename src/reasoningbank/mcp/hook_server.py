"""Where hooks ask: a socket of the stdio server, whose model is loaded already.

Of several servers with one data directory the one that holds the lock listens; when it ends, however it ends, another
one takes over. Nothing that goes wrong here reaches the server's client.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from reasoningbank.errors import BankError
from reasoningbank.integrations.hook_actions import shown
from reasoningbank.integrations.hook_client import (
    FOLDER,
    LOCK,
    Request,
    decoded,
    fingerprint,
    place_of,
    private,
    received,
)
from reasoningbank.integrations.hooks import event_of

if TYPE_CHECKING:
    from reasoningbank.mcp.banks import Banks
    from reasoningbank.mcp.calls import Caller
    from reasoningbank.settings import Settings

TAKE_OVER_SECONDS = 5.0
"""How often a server that does not listen looks whether it can."""
READ_SECONDS = 1.0
"""How long a hook may take to say what it wants."""
MAX_REQUEST = 100_000
_POLL_SECONDS = 0.5
_WAITING = 16

_log = logging.getLogger(__name__)


class HookServer:
    """One thread that answers hooks of the server's own user, tenant and settings until it is stopped.

    Args:
        banks: The server's banks.
        caller: Whose server it is.
        settings: The server's settings.
        url: Where its banks live, when the command says so.
    """

    def __init__(self, banks: Banks, caller: Caller, settings: Settings, *, url: str | None = None) -> None:
        self._banks = banks
        self._caller = caller
        self._settings = fingerprint(settings, url, caller.membership)
        self._home, self._url = settings.home, url or settings.url or None
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to listen as soon as no other server does; a second time does nothing."""
        path = place_of(self._home)
        with self._lock:
            if path is None or self._thread is not None or self._stopped.is_set():
                return
            self._thread = threading.Thread(target=self._run, args=(path,), name="reasoningbank-hooks", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Listen no more."""
        with self._lock:
            self._stopped.set()
        if self._thread is not None:
            self._thread.join(2 * _POLL_SECONDS)

    def _run(self, path: Path) -> None:
        while not self._stopped.is_set():
            try:
                self._listen(path)
            except OSError as error:
                _log.warning("hooks cannot ask this server: %s", error.strerror)
                return
            self._stopped.wait(TAKE_OVER_SECONDS)

    def _listen(self, path: Path) -> None:
        """Answer while this server holds the lock; return at once when another one does."""
        import fcntl

        if not self._home.is_dir():
            return
        folder = self._home / FOLDER
        folder.mkdir(mode=0o700, exist_ok=True)
        if not private(folder):
            raise PermissionError(0, f"others can enter {folder}")
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return
            path.unlink(missing_ok=True)
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
                listener.bind(os.fspath(path))
                path.chmod(0o600)
                listener.listen(_WAITING)
                listener.settimeout(_POLL_SECONDS)
                self._answer_all(listener)
                path.unlink(missing_ok=True)
        finally:
            os.close(descriptor)

    def _answer_all(self, listener: socket.socket) -> None:
        while not self._stopped.is_set():
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                continue
            with connection, suppress(OSError, ValueError, BankError, RecursionError):
                request = decoded(received(connection, time.monotonic() + READ_SECONDS, MAX_REQUEST))
                connection.settimeout(READ_SECONDS)
                connection.sendall(json.dumps({"text": self._answer(request)}).encode("ascii"))

    def _answer(self, request: Request) -> str | None:
        """Return the text to show; None when this server is not the one to ask."""
        from reasoningbank.integrations.hook_actions import has_any
        from reasoningbank.mcp.banks import belonging

        scope, event = request.scope, event_of(request.event)
        if event is None or scope.tenant != self._caller.tenant or request.settings != self._settings:
            return None
        try:
            if not has_any(scope, self._caller.membership, url=self._url, home=self._home):
                return ""
            with belonging(self._caller.membership), self._banks.use(scope.tenant, scope.project) as bank:
                return shown(bank, event, request.task, request.session)
        except BankError as error:
            _log.warning("a hook was not answered: %s", error.advice)
            return None
        except Exception:  # noqa: BLE001 - one defect must not leave the hooks of the whole session alone
            _log.exception("a hook was not answered")
            return None
