"""Measure what memory is worth, and hold back what does harm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from reasoningbank.errors import StoreBusy, StoreFull, StoreUnavailable
from reasoningbank.jobs.worker import Handler
from reasoningbank.storage.store import Store, StoreReader
from reasoningbank.telemetry import observed
from reasoningbank.types.memory import RELEASED
from reasoningbank.types.records import Job
from reasoningbank.types.uplift import Harm, UpliftReport

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reasoningbank.context import Context
    from reasoningbank.curation.uplift import Ended

HARM = "harm"
"""The kind of job that looks for memories that do harm."""
HARM_EVERY = timedelta(hours=24)


class Uplift:
    """Measure what memory is worth, and hold back what does harm."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def report(self) -> UpliftReport:
        """Return how sessions end with memories and without, what that costs, and which memories do harm.

        Compared are sessions by how they were drawn (setting ``holdout``), whatever they did afterwards. Harmful
        memories are set aside at once, as the worker does every day; when the bank cannot be written the report says
        so. Nothing is invented: without enough sessions the uplift is None and the interval (-1, 1).

        Raises:
            StoreError: When the bank cannot be read.
        """
        from reasoningbank.curation.uplift import ended, reported

        with observed("report_uplift", store=self._context.place):
            store = self._context.store()
            sessions = ended(store)
            harms = self._harms(store, sessions)
            try:
                return reported(sessions, self._set_aside(store, harms))
            except (StoreFull, StoreBusy, StoreUnavailable) as error:
                report = reported(sessions, harms)
                said = f"Harmful memories could not be set aside: {error.advice}"
                return replace(report, message=f"{report.message} {said}")

    def queue_due(self) -> None:
        """Queue the daily look for harmful memories when sessions were shown any."""
        store, now = self._context.store(), self._context.clock.now()
        if (
            not any(job.kind == HARM for job in store.jobs.waiting(due=now + 2 * HARM_EVERY))
            and store.deliveries.exposures()
        ):
            with store.transaction() as transaction:
                transaction.jobs.enqueue(_look(now + HARM_EVERY))

    def handlers(self) -> Mapping[str, Handler]:
        """Return what does each kind of job of this resource."""
        return {HARM: self._harm_job}

    def _harm_job(self, job: Job) -> None:
        """Set aside what does harm; the next look comes a day later."""
        from reasoningbank.curation.uplift import ended

        store = self._context.store()
        self._set_aside(store, self._harms(store, ended(store)))
        with store.transaction() as transaction:
            transaction.jobs.enqueue(_look(max(job.due, self._context.clock.now()) + HARM_EVERY))

    @staticmethod
    def _harms(store: Store, sessions: Sequence[Ended]) -> tuple[Harm, ...]:
        from reasoningbank.curation.uplift import harmful

        return harmful(sessions, store.memories.many, lambda memory_id: _released(store, memory_id))

    def _set_aside(self, store: Store, harms: Sequence[Harm]) -> tuple[Harm, ...]:
        from reasoningbank.curation.uplift import noted, reason
        from reasoningbank.memories.states import set_aside

        new = [harm for harm in harms if not harm.set_aside]
        if not new:
            return tuple(harms)
        with store.transaction() as transaction:
            for harm in new:
                set_aside(transaction, [harm.memory_id], reason=reason(harm), at=self._context.clock.now())
        return noted(harms, [harm.memory_id for harm in new])


def _look(due: datetime) -> Job:
    """Return the look for harm of one day: its key is the day, so that there is one."""
    return Job(kind=HARM, key=f"{due:%Y-%m-%d}", due=due)


def _released(reader: StoreReader, memory_id: str) -> datetime | None:
    """Return when the memory was last released by a person."""
    return max(
        (change.at for change in reader.memories.changes(memory_id=memory_id) if change.kind == RELEASED), default=None
    )
