"""Do the background work of a bank."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from reasoningbank.jobs.worker import LEASE, LOOK_EVERY, Handler, JobSource, Worker, WorkReport
from reasoningbank.storage.store import Store
from reasoningbank.types.records import Job
from reasoningbank.types.scope import Scope

if TYPE_CHECKING:
    from reasoningbank.context import Context

WEIGH = "weigh_words"
"""The kind of job that learns what words are worth in the bank."""


class Jobs:
    """Do the background work of a bank; any number of workers may share one bank."""

    def __init__(self, context: Context, sources: Sequence[JobSource]) -> None:
        self._context = context
        self._sources = sources
        self._weigh_after: datetime | None = None

    def work(self, *, limit: int = 0, lease: timedelta = LEASE) -> WorkReport:
        """Do the jobs that are due now; sessions that wait are queued before.

        Args:
            limit: At most so many; 0 means all.
            lease: How long a job stays with this worker when it no longer answers.
        """
        self._queue_due()
        return self._worker(lease).drain(limit=limit)

    def work_until(self, stop: threading.Event, *, poll: float = 1.0, lease: timedelta = LEASE) -> WorkReport:
        """Do jobs as they become due until ``stop`` is set; the job in hand is finished first."""
        self._queue_due()
        return self._worker(lease).run(stop, poll=poll)

    def dead(self) -> tuple[Job, ...]:
        """Return jobs that failed for good, with their errors; a verdict or ``distill`` takes them up again."""
        return tuple(self._context.store().jobs.dead_jobs())

    def _handlers(self) -> dict[str, Handler]:
        """Return what this bank's worker can do; without a language model it leaves some kinds to others."""
        handlers: dict[str, Handler] = {WEIGH: self._weigh_job}
        for source in self._sources:
            handlers.update(source.handlers())
        return handlers

    def _worker(self, lease: timedelta) -> Worker:
        return Worker(
            self._context.store(), self._handlers(), self._context.clock, lease=lease, chance=self._context.chance
        )

    def _queue_weighing(self) -> None:
        """Queue learning what words are worth, when the bank is new to it or has grown by half."""
        from reasoningbank.search.word_weights import due

        now = self._context.clock.now()
        if self._weigh_after is not None and now < self._weigh_after:
            return
        self._weigh_after = now + LOOK_EVERY
        store = self._context.store()
        if store.model_id == self._context.embedder.model_id and due(store):
            with store.transaction() as transaction:
                transaction.jobs.enqueue(Job(kind=WEIGH, key="words", due=now))

    def _queue_due(self) -> None:
        self._queue_weighing()
        for source in self._sources:
            source.queue_due()

    def _weigh_job(self, job: Job) -> None:  # noqa: ARG002 - there is one per bank
        """Learn what words are worth in this bank, unless another worker just has."""
        from reasoningbank.search.word_weights import due, refresh

        store = self._context.store()
        if due(store):
            refresh(store, self._context.embedder, self._scratch)

    @contextmanager
    def _scratch(self) -> Iterator[Store]:
        """Give an empty bank in a private directory that is gone after the block."""
        from reasoningbank.storage import open_storage

        with tempfile.TemporaryDirectory(prefix="rbank-") as folder:
            store = open_storage(None, home=Path(folder)).open(Scope(tenant="scratch", project="scratch"))
            try:
                yield store
            finally:
                store.close()
