"""Consolidation by the clock: a thread that runs it for a tenant's projects at an interval (seed 004)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable
from datetime import timedelta
from typing import TYPE_CHECKING

from reasoningbank.errors import BankError, InvalidInput
from reasoningbank.types.consolidation import ConsolidationOptions, ConsolidationResult

if TYPE_CHECKING:
    from reasoningbank.bank import Bank

INTERVAL = timedelta(hours=24)
_log = logging.getLogger(__name__)


class ConsolidationScheduler:
    """Consolidates in the background until it is stopped; the first run comes after one interval. Thread-safe.

    A run that fails is logged and kept as ``last_error``; the next one comes all the same. The bank stays the caller's:
    stop the scheduler before it is closed.

    Args:
        bank: Whose tenant's projects are consolidated.
        interval: Time between two runs.
        projects: Names of projects; None for all that the tenant has when a run begins.
        options: How each run goes.

    Raises:
        InvalidInput: When the interval is not positive.
    """

    def __init__(
        self,
        bank: Bank,
        *,
        interval: timedelta = INTERVAL,
        projects: Iterable[str] | None = None,
        options: ConsolidationOptions | None = None,
    ) -> None:
        if interval <= timedelta(0):
            raise InvalidInput(f"the interval between runs must be positive, not {interval}")
        self._bank = bank
        self._interval = interval
        self._projects = None if projects is None else tuple(projects)
        self._options = options
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self.runs = 0
        """How many runs have ended, failed ones included."""
        self.last_result: ConsolidationResult | None = None
        """What the last run that did not fail has done."""
        self.last_error: BankError | None = None
        """Why the last run failed; None when it did not."""

    @property
    def running(self) -> bool:
        """Return whether it was started and not stopped since."""
        return self._thread is not None

    def start(self) -> None:
        """Begin; raise InvalidInput when it runs already."""
        with self._lock:
            if self._thread is not None:
                raise InvalidInput("the scheduler runs already", hint="Stop it before it is started again.")
            self._stop = threading.Event()
            self._thread = threading.Thread(
                target=self._run, args=(self._stop,), name="reasoningbank-consolidation", daemon=True
            )
            self._thread.start()

    def stop(self) -> None:
        """End and waits until a run that is under way has ended; a second time does nothing."""
        with self._lock:
            if self._thread is None:
                return
            self._stop.set()
            self._thread.join()
            self._thread = None

    def _run(self, stop: threading.Event) -> None:
        while not stop.wait(self._interval.total_seconds()):
            if self._projects == ():
                continue
            try:
                self.last_result = self._bank.curation.consolidate_all(self._projects, self._options)
                self.last_error = None
            except BankError as error:
                self.last_error = error
                _log.warning("consolidation failed: %s %s", error, error.hint)
            self.runs += 1
