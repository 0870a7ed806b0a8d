"""The job that keeps an index of vectors beside a bank equal to it, and the comparison that a person asks for."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from reasoningbank.errors import BankError, ConfigurationError, StoreBusy
from reasoningbank.jobs.worker import Handler, Worker
from reasoningbank.storage.index_port import INDEX, INDEX_KEY, IndexKeeper
from reasoningbank.types.moment import LATEST
from reasoningbank.types.records import IndexReport, Job

if TYPE_CHECKING:
    from reasoningbank.context import Context

_DUE = datetime(1970, 1, 1, tzinfo=UTC)
_PATIENCE, _POLL = 30.0, 0.1
"""Seconds that a comparison waits for a worker that is at the index, and between two looks."""


class IndexUpkeep:
    """Brings the index of vectors beside a bank up to date, when there is one."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def handlers(self) -> Mapping[str, Handler]:
        """Return what does the job; nothing without an index."""
        index = self._context.store().index
        return {} if index is None else {INDEX: _Followed(index)}

    def queue_due(self) -> None:
        """Queue the job when the index answers and lacks something, as when somebody has deleted it."""
        index = self._context.store().index
        if index is not None and index.behind():
            self._queue()

    def reconcile(self) -> IndexReport:
        """Compare every memory with the index, as the only one who writes to it meanwhile.

        Raises:
            ConfigurationError: When no index is configured.
            StoreUnavailable: When the index does not answer.
            StoreBusy: When a worker does not let go of it.
        """
        store, clock = self._context.store(), self._context.clock
        if store.index is None:
            raise ConfigurationError(
                "no index of vectors is configured beside the bank",
                hint="Set REASONINGBANK_VECTORS, or add ?vectors=... to the URL of the banks.",
            )
        compared = _Compared(store.index.reconcile)
        worker = Worker(store, {INDEX: compared}, clock)
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            self._queue()
            worker.step()
            if compared.error is not None:
                raise compared.error
            if compared.report is not None:
                return compared.report
            time.sleep(_POLL)
        raise StoreBusy("another process is writing to the index of vectors", hint="Try again in a moment.")

    def _queue(self) -> None:
        """Make the job claimable now: one that waits for its next attempt need not, and a dead one is taken up."""
        with self._context.store().transaction() as transaction:
            jobs = transaction.jobs
            waiting = [job for job in jobs.waiting(due=_DUE) if job.kind == INDEX]
            if waiting:
                return
            later = [job for job in jobs.waiting(due=LATEST) if job.kind == INDEX and not job.lease]
            for job in later:
                jobs.finish(job)
            if not jobs.enqueue(Job(kind=INDEX, key=INDEX_KEY, due=_DUE)):
                jobs.revive(INDEX, INDEX_KEY, due=_DUE)


class _Followed:
    """The handler of the job."""

    def __init__(self, index: IndexKeeper) -> None:
        self._index = index

    def __call__(self, job: Job) -> None:  # noqa: ARG002 - there is one per bank
        self._index.follow()


class _Compared:
    """The handler of one comparison; it keeps what came of it for whoever asked."""

    def __init__(self, reconcile: Callable[[], IndexReport]) -> None:
        self._reconcile = reconcile
        self.report: IndexReport | None = None
        self.error: BankError | None = None

    def __call__(self, job: Job) -> None:  # noqa: ARG002 - there is one per bank
        try:
            self.report = self._reconcile()
        except BankError as error:
            self.error = error
            raise
