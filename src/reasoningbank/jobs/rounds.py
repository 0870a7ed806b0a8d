"""Background work of every bank of a user: rounds that look into a bank only when there may be something to do.

A round asks of each bank's files whether they were written since the last look. Only then, or when something that waits
there has become due, the bank is opened and its worker does what is due: an idle process opens nothing and loads no
model. Banks that another process has just made are found by the next round.

Several processes may make rounds: each job is claimed with a lease, and the daily upkeep is one job of the bank.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Hashable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TypeAlias

from reasoningbank.context import SystemClock
from reasoningbank.errors import BankError, StoreBusy, StoreClosed
from reasoningbank.jobs.worker import LOOK_EVERY, WorkReport
from reasoningbank.storage.store import Storage
from reasoningbank.types.ports import Clock
from reasoningbank.types.scope import Membership, Scope

if TYPE_CHECKING:
    from reasoningbank.bank import Bank

JOBS_AT_ONCE = 4
"""After so many jobs of one bank the next bank has its turn."""
BANKS_AT_ONCE = 8
"""So many banks are opened in a round at most, so that a start with many banks is not a burst."""
_BUSY = timedelta(seconds=10)
"""How long a bank is left alone that another process keeps busy."""

Use: TypeAlias = "Callable[[Scope, Membership], AbstractContextManager[Bank]]"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Seen:
    """Hold what the last look at a bank saw: its files from outside, and when there is something to do."""

    mark: Hashable
    due: datetime


class Rounds:
    """Does the due work of every bank of some tenants, one bank after the other.

    Args:
        storage: Where the banks live.
        tenants: Whose banks; asked at each round.
        use: Opens a bank for a block, a project's as a member of its team and org, or gives one that is open.
        project: Only this project; None for all, and for the teams and orgs.
        clock: The time.
    """

    def __init__(
        self,
        storage: Storage,
        tenants: Callable[[], Iterable[str]],
        use: Use,
        *,
        project: str | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._storage = storage
        self._tenants = tenants
        self._use = use
        self._project = project
        self._clock = clock or SystemClock()
        self._seen: dict[Scope, _Seen] = {}
        self._left = False

    def make(self, stop: threading.Event) -> WorkReport:
        """Look at every bank once and do what is due, until told to stop; a job in hand is finished first.

        Raises:
            StoreClosed: When the banks are being closed.
        """
        report, looks, self._left = WorkReport(), 0, False
        for tenant in dict.fromkeys(self._tenants()):
            for scope, mark in self._storage.marks(tenant).items():
                if self._project is not None and (scope.level, scope.project) != ("project", self._project):
                    continue
                seen = self._seen.get(scope)
                if seen is not None and seen.mark == mark and self._clock.now() < seen.due:
                    continue
                if stop.is_set() or looks >= BANKS_AT_ONCE:
                    self._left = True
                    return report
                looks += 1
                report += self._look(scope, mark)
        return report

    def run(self, stop: threading.Event, *, poll: float) -> WorkReport:
        """Make rounds until told to stop; what could not be done is said in the log and not kept for the report."""
        report = WorkReport()
        while not stop.is_set():
            done = self.make(stop)
            for message in done.messages:
                _log.warning("%s", message)
            report += replace(done, messages=())
            if not done.done and not self._left:
                stop.wait(poll)
        return report

    def finish(self, stop: threading.Event) -> WorkReport:
        """Make rounds until nothing is due in any bank, or until told to stop."""
        report = WorkReport()
        while not stop.is_set():
            done = self.make(stop)
            report += done
            if not done.done + done.postponed + done.buried and not self._left:
                return report
        return report

    def _look(self, scope: Scope, mark: Hashable) -> WorkReport:
        """Do what is due in one bank, and keep when there is more."""
        now = self._clock.now()
        try:
            with self._use(scope, self._membership(scope)) as bank:
                report = bank.jobs.work(limit=JOBS_AT_ONCE)
                due = bank.jobs.next_due()
        except StoreClosed:
            raise
        except StoreBusy:
            self._seen[scope] = _Seen(mark, now + _BUSY)
            return WorkReport()
        except BankError as error:
            self._seen[scope] = _Seen(mark, now + LOOK_EVERY)
            return WorkReport(messages=(f"background work in {scope.shown} waits: {error.advice}",))
        # The look itself may have written: then the mark is another one, and the next round looks once more.
        latest = now + LOOK_EVERY
        self._seen[scope] = _Seen(mark, latest if due is None else min(due, latest))
        return report

    def _membership(self, scope: Scope) -> Membership:
        """Return which team and org the bank was last opened with."""
        store = self._storage.open(scope)
        try:
            return store.membership
        finally:
            store.close()
