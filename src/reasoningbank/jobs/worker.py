"""Durable background work: the worker of the queue.

A job is claimed with a lease that a heartbeat extends as long as it runs. A worker that is killed loses its lease when
it runs out, and the next worker takes the job; a handler writes everything it does in one transaction and finds out
there that it was done already. A job that keeps failing is buried with its error, where a person can see it.
"""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Protocol

from reasoningbank.errors import BankError, BudgetExhausted, NotFound, StoreBusy, StoreClosed, StoreFull, Undecided
from reasoningbank.storage.store import Store
from reasoningbank.types.memory import new_id
from reasoningbank.types.ports import Clock
from reasoningbank.types.records import Job, Run

if TYPE_CHECKING:
    pass

LEASE = timedelta(minutes=2)
"""How long a job belongs to a worker that no longer answers."""
MAX_ATTEMPTS = 6
"""A job that was claimed so often without an end is buried."""
FIRST_PAUSE = timedelta(minutes=1)
LONGEST_PAUSE = timedelta(hours=6)
_GROWTH = 4
_JITTER = 0.2
_MAX_WORDS, _MOST_READ = 1_000, 20_000

SOON = timedelta(days=3_650)
"""What is due later is a note that somebody keeps in the queue, and no work."""
LOOK_EVERY = timedelta(hours=1)
"""How long a bank waits before it looks again whether daily work is due."""
Handler = Callable[[Job], None]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkReport:
    """Hold what a worker did.

    Attributes:
        done: Jobs that were finished.
        postponed: Jobs that failed and wait for a further attempt.
        buried: Jobs that failed for good.
        messages: One sentence per job that was not finished.
    """

    done: int = 0
    postponed: int = 0
    buried: int = 0
    messages: tuple[str, ...] = ()

    def __add__(self, other: WorkReport) -> WorkReport:
        return WorkReport(
            done=self.done + other.done,
            postponed=self.postponed + other.postponed,
            buried=self.buried + other.buried,
            messages=self.messages + other.messages,
        )


class JobSource(Protocol):
    """Has background work."""

    def handlers(self) -> Mapping[str, Handler]:
        """Return the function that does each kind of job."""


class Worker:
    """Does the due jobs of one store; any number of workers may share it, in this process and in others.

    Args:
        store: Where the jobs lie.
        handlers: What to do for each kind; jobs of other kinds are left alone.
        clock: The time.
        lease: How long a claim lasts without a heartbeat.
        chance: Source of the pauses' jitter.
    """

    def __init__(
        self,
        store: Store,
        handlers: Mapping[str, Handler],
        clock: Clock,
        *,
        lease: timedelta = LEASE,
        chance: random.Random | None = None,
    ) -> None:
        self._store = store
        self._handlers = handlers
        self._clock = clock
        self._lease = lease
        self._chance = chance or random.Random()  # noqa: S311 - jitter, not secrecy

    def drain(self, *, limit: int = 0) -> WorkReport:
        """Do the jobs that are due now, at most ``limit`` of them (0: all)."""
        report = WorkReport()
        done = 0
        while limit == 0 or done < limit:
            one = self.step()
            if one is None:
                break
            report += one
            done += 1
        return report

    def run(self, stop: threading.Event, *, poll: float = 1.0) -> WorkReport:
        """Do jobs as they become due, until told to stop; a job in hand is finished first.

        A busy bank or a full disk is waited for: what was in hand is taken up again when its lease has run out. What
        could not be done is said in the log at once and not kept for the report: this may run for months.
        """
        report = WorkReport()
        while not stop.is_set():
            try:
                one = self.step()
            except (StoreBusy, StoreFull):
                one = None
            if one is None:
                stop.wait(poll)
            else:
                for message in one.messages:
                    _log.warning("%s", message)
                report += replace(one, messages=())
        return report

    def step(self) -> WorkReport | None:
        """Do the job that has been due longest; None when none is."""
        job = self._claimed()
        if job is None:
            return None
        if job.attempts > MAX_ATTEMPTS:
            return self._buried(job, f"it was begun {job.attempts - 1} times and never ended")
        try:
            with self._heartbeat(job):
                self._handled(job)
        except NotFound:
            return self._finished(job)
        except Undecided as error:
            return self._buried(job, _safe(error.message))
        except BankError as error:
            return self._failed(job, error)
        return self._finished(job)

    def _handled(self, job: Job) -> None:
        """Run the handler; whatever it raises is an error of this one job, never the end of the worker."""
        try:
            self._handlers[job.kind](job)
        except BankError:
            raise
        except Exception as error:
            raise BankError(
                f"the job ended with {type(error).__name__}: {error}"[:_MOST_READ],
                hint="Look at what was used for it, for example the language model.",
            ) from error

    def _claimed(self) -> Job | None:
        now = self._clock.now()
        if not self._store.jobs.claimable(tuple(self._handlers), at=now):
            return None
        with self._store.transaction() as transaction:
            return transaction.jobs.claim(tuple(self._handlers), lease=new_id(), at=now, until=now + self._lease)

    def _finished(self, job: Job) -> WorkReport:
        with self._store.transaction() as transaction:
            held = transaction.jobs.finish(job)
            if held:
                transaction.note_run(Run(kind=job.kind, at=self._clock.now()))
        if not held:
            # Nothing is missing: another worker has done it since, or it was queued anew and is due again.
            _log.info("%s %s is held by another worker or was queued anew", job.kind, job.key)
            return WorkReport()
        return WorkReport(done=1)

    def _failed(self, job: Job, error: BankError) -> WorkReport:
        said = _safe(error.message)
        if job.attempts >= MAX_ATTEMPTS and not isinstance(error, BudgetExhausted):
            return self._buried(job, said)
        due = self._next_attempt(job, error)
        if isinstance(error, BudgetExhausted):
            job = replace(job, attempts=job.attempts - 1)
        with self._store.transaction() as transaction:
            transaction.jobs.put_back(job, due=due, error=said)
        message = f"{job.kind} {job.key} waits until {due:%Y-%m-%d %H:%M} UTC: {said}"
        return WorkReport(postponed=1, messages=(message,))

    def _buried(self, job: Job, error: str) -> WorkReport:
        with self._store.transaction() as transaction:
            transaction.jobs.bury(job, at=self._clock.now(), error=error)
        return WorkReport(buried=1, messages=(f"{job.kind} {job.key} was given up: {error}",))

    def _next_attempt(self, job: Job, error: BankError) -> datetime:
        """Return when to try again: after one minute, four, sixteen; after a spent budget the next day, not counted."""
        now = self._clock.now()
        if isinstance(error, BudgetExhausted):
            return now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
        pause = min(FIRST_PAUSE * float(_GROWTH ** (job.attempts - 1)), LONGEST_PAUSE)
        return now + pause * self._chance.uniform(1 - _JITTER, 1 + _JITTER)

    @contextmanager
    def _heartbeat(self, job: Job) -> Iterator[None]:
        """Extend the lease from a thread of its own while the block runs."""
        ended = threading.Event()

        def beat() -> None:
            while not ended.wait(self._lease.total_seconds() / 3):
                try:
                    with self._store.transaction() as transaction:
                        if not transaction.jobs.extend(job, self._clock.now() + self._lease):
                            return
                except (StoreBusy, StoreFull):
                    continue
                except StoreClosed:
                    return

        thread = threading.Thread(target=beat, name="reasoningbank-heartbeat", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()


def _safe(words: str) -> str:
    """Return what may be kept and shown of an error: it may repeat what was sent."""
    from reasoningbank.safety.stored_text import safe_line

    return safe_line(words[:_MOST_READ])[:_MAX_WORDS]
