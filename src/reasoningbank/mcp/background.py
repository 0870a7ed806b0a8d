"""What a server does beside answering: its background work."""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from reasoningbank.errors import BankError, StoreClosed
from reasoningbank.types.scope import Membership, Scope

if TYPE_CHECKING:
    from reasoningbank.bank import Bank
    from reasoningbank.mcp.banks import Banks

POLL_SECONDS = 5.0
LEAVE_SECONDS = 1.0

_log = logging.getLogger(__name__)


class Background:
    """One thread that does the due jobs of every bank of the tenants until it is stopped, open banks or not.

    A job that is under way when the server stops keeps its lease and is taken up again by the next worker.

    Args:
        banks: The server's banks.
        tenants: Whose banks are looked after besides those that are open; more may be added at any time.
        poll: Seconds between two rounds.
    """

    def __init__(self, banks: Banks, tenants: Collection[str] = (), *, poll: float = POLL_SECONDS) -> None:
        self._banks = banks
        self._tenants = tenants
        self._poll = poll
        self._stopped = threading.Event()
        self._working = False
        self._thread = threading.Thread(target=self._run, name="reasoningbank-worker", daemon=True)

    def start(self) -> None:
        """Begin to work."""
        self._thread.start()

    @property
    def busy(self) -> bool:
        """Return whether the thread has not come to its end."""
        return self._thread.is_alive()

    @property
    def working(self) -> bool:
        """Return whether a bank is being looked after right now: a job may be in hand."""
        return self._working

    def stop(self) -> None:
        """Take no further job."""
        self._stopped.set()
        self._thread.join(LEAVE_SECONDS)

    def _run(self) -> None:
        if self._stopped.wait(self._poll):
            return
        from reasoningbank.jobs.rounds import Rounds

        try:
            Rounds(self._banks.storage(), self._whose, self._visit).run(self._stopped, poll=self._poll)
        except StoreClosed:
            return
        except BankError as error:
            _log.warning("background work ended: %s", error.advice)

    @contextmanager
    def _visit(self, scope: Scope, membership: Membership) -> Iterator[Bank]:
        self._working = True
        try:
            with self._banks.visit(scope, membership) as bank:
                yield bank
        finally:
            self._working = False

    def _whose(self) -> Iterator[str]:
        yield from tuple(self._tenants)
        yield from (tenant for tenant, _ in self._banks.opened())
