"""The part of a bank that does its background work: capturing, distilling, extracting, and weighing words."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

from reasoningbank.errors import Undecided, UnreadableTranscript
from reasoningbank.jobs.worker import LEASE, Handler, Worker, WorkReport
from reasoningbank.search.ingest import CAPTURE
from reasoningbank.sessions.sessions import DISTILL, Learning
from reasoningbank.storage.store import Store
from reasoningbank.types.records import Job
from reasoningbank.types.scope import Scope

WEIGH = "weigh_words"
"""The kind of job that learns what words are worth in the bank."""

LOOK_EVERY = timedelta(hours=1)


class Working(Learning):
    """Does the jobs that lie in the bank; any number of workers may share one bank."""

    _queued = False
    _weigh_after: datetime | None = None

    def work(self, *, limit: int = 0, lease: timedelta = LEASE) -> WorkReport:
        """Do the jobs that are due now; trajectories that wait are queued before.

        Args:
            limit: At most so many; 0 means all.
            lease: How long a job stays with this worker when it no longer answers.
        """
        self._queue_waiting()
        self._queue_weighing()
        self._queue_daily()
        return self._worker(lease).drain(limit=limit)

    def work_until(self, stop: threading.Event, *, poll: float = 1.0, lease: timedelta = LEASE) -> WorkReport:
        """Do jobs as they become due until ``stop`` is set; the job in hand is finished first."""
        self._queue_waiting()
        self._queue_weighing()
        self._queue_daily()
        return self._worker(lease).run(stop, poll=poll)

    def dead_jobs(self) -> tuple[Job, ...]:
        """Return jobs that failed for good, with their errors; a verdict or ``distill`` takes them up again."""
        return tuple(self._open_store().dead_jobs())

    def _handlers(self) -> dict[str, Handler]:
        """Return what this bank's worker can do: without a language model it leaves the trajectories alone."""
        from reasoningbank.search.experience import EXTRACT

        learning = {} if self._model is None else {DISTILL: self._distill_job, EXTRACT: self._extract_job}
        return {CAPTURE: self._capture_job, WEIGH: self._weigh_job, **learning}

    def _capture_job(self, job: Job) -> None:
        """Capture a queued file; one that holds no session is given up at once."""
        try:
            self.capture(job.payload["path"], format=job.payload.get("format", "auto"))
        except UnreadableTranscript as error:
            raise Undecided(error.message, hint=error.hint) from error

    def _distill_job(self, job: Job) -> None:
        """Distill the trajectory, unless a worker that was killed right after it has done so already."""
        begun = self._clock.now()
        entry = self._open_store().entry(job.key)
        judged = entry.judgement
        if entry.distilled is None or (judged is not None and judged.at > entry.distilled):
            self._distilled(job.key, again=False, begun=begun)

    def _worker(self, lease: timedelta) -> Worker:
        return Worker(self._open_store(), self._handlers(), self._clock, lease=lease, chance=self._chance)

    def _queue_waiting(self) -> None:
        """Give every trajectory that waits a job, once; what is stored later brings its own."""
        if self._model is None or self._queued:
            return
        now = self._clock.now()
        store = self._open_store()
        waiting = store.trajectories(limit=0, pending=True)
        if waiting:
            with store.transaction() as transaction:
                for entry in waiting:
                    transaction.enqueue(Job(kind=DISTILL, key=entry.id, due=now))
        self._queued = True

    def _queue_weighing(self) -> None:
        """Queue learning what words are worth, when the bank is new to it or has grown by half."""
        from reasoningbank.search.word_weights import due

        now = self._clock.now()
        if self._weigh_after is not None and now < self._weigh_after:
            return
        self._weigh_after = now + LOOK_EVERY
        store = self._open_store()
        if store.model_id == self._embedder.model_id and due(store):
            with store.transaction() as transaction:
                transaction.enqueue(Job(kind=WEIGH, key="words", due=now))

    def _queue_daily(self) -> None:
        """Queue what is to be done once a day; each part of the bank that has such work adds its own."""

    def _weigh_job(self, job: Job) -> None:  # noqa: ARG002 - there is one per bank
        """Learn what words are worth in this bank, unless another worker just has."""
        from reasoningbank.search.word_weights import due, refresh

        store = self._open_store()
        if due(store):
            refresh(store, self._embedder, self._scratch)

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
