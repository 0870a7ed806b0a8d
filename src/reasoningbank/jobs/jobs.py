"""The durable jobs of a bank: do them, look at them, and put dead ones back."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from reasoningbank.context import ROLL_UP
from reasoningbank.jobs.index import IndexUpkeep
from reasoningbank.jobs.worker import LEASE, SOON, Handler, JobSource, Worker, WorkReport
from reasoningbank.types.argument import Limit
from reasoningbank.types.records import IndexReport, Job, Run
from reasoningbank.types.resource import checked

if TYPE_CHECKING:
    from reasoningbank.context import Context


@checked
class Jobs:
    """Do the background work of a bank; any number of workers may share one bank."""

    def __init__(self, context: Context, sources: Sequence[JobSource], due: Sequence[Callable[[], None]] = ()) -> None:
        self._context = context
        self._sources = sources
        self._due = due

    def work(self, *, limit: Limit = 0, lease: timedelta = LEASE) -> WorkReport:
        """Do the jobs that are due now; sessions that wait are queued before.

        Args:
            limit: At most so many; 0 means all.
            lease: How long a job stays with this worker when it no longer answers.

        Raises:
            NegativeLimit: When the limit is negative.
        """
        self._queue_due()
        return self._worker(lease).drain(limit=limit)

    def work_until(self, stop: threading.Event, *, poll: float = 1.0, lease: timedelta = LEASE) -> WorkReport:
        """Do jobs as they become due until ``stop`` is set; the job in hand is finished first."""
        self._queue_due()
        return self._worker(lease).run(stop, poll=poll)

    def runs(self) -> tuple[Run, ...]:
        """Return when each kind of background work was last done in this bank, by whichever process, by kind."""
        return tuple(self._context.store().runs)

    def waiting(self) -> tuple[Job, ...]:
        """Return the jobs that wait for their time or for a worker, also those that only some workers can do."""
        soon = self._context.clock.now() + SOON
        return tuple(self._context.store().jobs.waiting(due=soon))

    def next_due(self) -> datetime | None:
        """Return when this bank's worker has something to do next; None when nothing waits for it."""
        return self._context.store().jobs.next_due([*self._handlers(), ROLL_UP])

    def due(self) -> bool:
        """Return whether this bank's worker would find a job to do now; asking takes no lock."""
        return self._context.store().jobs.claimable(tuple(self._handlers()), at=self._context.clock.now())

    def dead(self) -> tuple[Job, ...]:
        """Return jobs that failed for good, with their errors; a verdict or ``distill`` takes them up again."""
        return tuple(self._context.store().jobs.dead_jobs())

    def reconcile_vectors(self) -> IndexReport:
        """Compare every memory with the index of vectors beside the bank, and make the index equal to the bank.

        Searches go on meanwhile. It is needed when somebody else has changed the index; what the bank itself writes
        reaches it by the background work.

        Raises:
            ConfigurationError: When no index is configured.
            StoreUnavailable: When it does not answer.
        """
        return IndexUpkeep(self._context).reconcile()

    def _handlers(self) -> dict[str, Handler]:
        """Return what this bank's worker can do; without a language model it leaves some kinds to others."""
        handlers: dict[str, Handler] = {}
        for source in self._sources:
            handlers.update(source.handlers())
        return handlers

    def _worker(self, lease: timedelta) -> Worker:
        return Worker(
            self._context.store(), self._handlers(), self._context.clock, lease=lease, chance=self._context.chance
        )

    def _queue_due(self) -> None:
        for queue in self._due:
            queue()
