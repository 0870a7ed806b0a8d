"""The confidence evaluator of seed 001: one place that takes every kind of signal about a memory."""

from __future__ import annotations

from reasoningbank.bank import Bank
from reasoningbank.types.lifecycle import DecayReport, StabilityReport
from reasoningbank.types.memory import OutcomeReport, Rating
from reasoningbank.types.signal import Rater


class ConfidenceEvaluator:
    """Updates the confidence of memories from signals. Thread-safe; the bank stays the caller's.

    A memory may be in any project of the bank's tenant; ``decay_all`` is about the bank's own project.

    Args:
        bank: Where the memories are.
        session: What signals count for; None takes the bank's session for ratings and stability, and none for usage.
        rater: Who gives the signals: a person's ratings all count, an agent's once per memory and session.
    """

    def __init__(self, bank: Bank, *, session: str | None = None, rater: Rater = "human") -> None:
        self._bank = bank
        self._session = session
        self._rater: Rater = rater

    def on_feedback(self, memory_id: str, helpful: bool) -> Rating:
        """Return somebody rated the memory; raises MemoryNotFound."""
        return self._bank.feedback(memory_id, helpful=helpful, session=self._session, rater=self._rater)

    def on_usage(self, memory_id: str, task_succeeded: bool) -> OutcomeReport:
        """Return a task that used the memory has ended; with a session it counts once for it. Raises MemoryNotFound."""
        return self._bank.outcome(memory_id, succeeded=task_succeeded, session=self._session, rater=self._rater)

    def on_code_stability(self, memory_id: str, reverted: bool, commit: str = "") -> StabilityReport:
        """Return code that the memory led to was reverted, or has stood for seven days; raises MemoryNotFound.

        It counts once per memory and commit, and without a commit once per memory and session.
        """
        return self._bank.curation.report_stability(
            memory_id, reverted=reverted, commit=commit, session=self._session, rater=self._rater
        )

    def decay_all(self) -> DecayReport:
        """Lower the confidence of what was not used for a full month; to be called at any interval."""
        return self._bank.curation.decay()
