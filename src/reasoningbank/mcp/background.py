"""What a server does beside answering: background work, and loading the model once a client is there."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from reasoningbank.errors import BankError, StoreClosed

if TYPE_CHECKING:
    from reasoningbank.mcp.banks import Banks
    from reasoningbank.mcp.calls import Caller
    from reasoningbank.mcp.tools import Tools

POLL_SECONDS = 5.0
JOBS_AT_ONCE = 4
"""After so many jobs of one bank the next bank has its turn."""
LEAVE_SECONDS = 1.0

_log = logging.getLogger(__name__)


class Background:
    """One thread that does the due jobs of every open bank until it is stopped.

    A job that is under way when the server stops keeps its lease and is taken up again by the next worker.
    """

    def __init__(self, banks: Banks, *, poll: float = POLL_SECONDS) -> None:
        self._banks = banks
        self._poll = poll
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="reasoningbank-worker", daemon=True)

    def start(self) -> None:
        """Begin to work."""
        self._thread.start()

    @property
    def busy(self) -> bool:
        """Whether the thread has not come to its end."""
        return self._thread.is_alive()

    def stop(self) -> None:
        """Take no further job."""
        self._stopped.set()
        self._thread.join(LEAVE_SECONDS)

    def _run(self) -> None:
        while not self._stopped.wait(self._poll):
            for tenant, project in self._banks.opened():
                if self._stopped.is_set():
                    return
                try:
                    with self._banks.use(tenant, project) as bank:
                        report = bank.jobs.work(limit=JOBS_AT_ONCE)
                except StoreClosed:
                    return
                except BankError as error:
                    _log.warning("background work waits: %s", error.advice)
                else:
                    for message in report.messages:
                        _log.warning("%s", message)


class WarmUp:
    """Opens the server's bank and loads its embedder on a thread of its own, at most once."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def start(self, caller: Caller) -> None:
        """Start at the first call; does nothing afterwards."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._tools.warm, args=(caller,), name="reasoningbank-warm-up", daemon=True
                )
                self._thread.start()

    @property
    def busy(self) -> bool:
        """Whether it still runs."""
        return self._thread is not None and self._thread.is_alive()
