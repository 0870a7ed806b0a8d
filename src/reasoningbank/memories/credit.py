"""Settle what a session was shown, once it is known how it ended (DESIGN D5).

Success speaks for what the session was shown and that fitted its task, failure against it, anything else says nothing.
What did not fit a question, or was shown before there was a task, is credited only by a report about the session
itself. A later verdict replaces the earlier one. A session that did not fail has also used what fitted its questions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from reasoningbank.errors import MemoryNotFound
from reasoningbank.memories.evidence import settle_outcome, settle_usage
from reasoningbank.memories.exposure import decide_served
from reasoningbank.storage.store import StoreReader, Transaction
from reasoningbank.types.memory import OutcomeReport
from reasoningbank.types.recall import FITTING
from reasoningbank.types.session import Verdict
from reasoningbank.types.signal import Rater

_DID_NOT_FAIL = frozenset({"success", "partial"})


def shown(reader: StoreReader, session: str, *, for_task: bool = False) -> dict[str, float]:
    """Return the ids of what a session was shown, in that order, each with the best relevance that it had.

    Args:
        reader: The bank.
        session: The session.
        for_task: Leave out what fitted no question, unless an outcome of this session is counted for it.
    """
    found: dict[str, float] = {}
    for log in reversed(reader.deliveries.recalls(limit=0, session=session)):
        for entry in log.entries:
            found[entry.memory_id] = max(found.get(entry.memory_id, 0.0), entry.relevance)
    for trace in reader.sessions.traces(session=session):
        for memory_id in trace.results:
            found.setdefault(memory_id, 0.0)
    if not for_task:
        return found
    return {
        memory_id: relevance
        for memory_id, relevance in found.items()
        if relevance >= FITTING or _is_counted(reader, memory_id, session, asked=relevance > 0)
    }


def _is_counted(reader: StoreReader, memory_id: str, session: str, *, asked: bool) -> bool:
    """Return whether an outcome of the session is counted that a verdict on it replaces.

    Of what was shown without a question only a person's is: an agent's is about that memory, not about the session.
    """
    known = reader.evidence.given(memory_id, "outcome", session)
    return known is not None and (asked or known.rater == "human")


def settle(
    transaction: Transaction,
    session: str,
    verdict: Verdict,
    *,
    rater: Rater,
    at: datetime,
    shared_by: int,
    for_task: bool = False,
    withdraw: bool = True,
) -> Sequence[OutcomeReport]:
    """Credit what a session was shown with how it ended; return what became of each memory.

    Args:
        transaction: Where it is written.
        session: As it is named where the memories are.
        verdict: How it ended.
        rater: ``human`` when a person says so.
        at: When.
        shared_by: How many memories share the weight of the outcome.
        for_task: Credit only what fitted a task.
        withdraw: Take back what was counted for the session when the verdict says nothing. That is so when an
            earlier verdict was counted; else what was counted is the word of who used the memory, and stands.
    """
    says = verdict in {"success", "failure"}
    reports = []
    for memory_id, relevance in shown(transaction, session, for_task=for_task).items():
        report = None
        try:
            if says or withdraw:
                report = settle_outcome(
                    transaction,
                    memory_id,
                    verdict=verdict,
                    session=session,
                    rater=rater,
                    at=at,
                    shared_by=shared_by,
                )
                if report.recorded and says:
                    decide_served(transaction, memory_id, session=session, succeeded=verdict == "success", at=at)
            else:
                transaction.memories.get(memory_id)
        except MemoryNotFound:
            continue
        known = transaction.evidence.given(memory_id, "outcome", session)
        failed = known is not None and not known.positive
        used = relevance >= FITTING and not failed and (known is not None or verdict in _DID_NOT_FAIL)
        settle_usage(transaction, memory_id, used=used, session=session, at=at)
        if report is not None:
            reports.append(_with_usage(report, transaction.memories.get(memory_id).confidence))
    return reports


def _with_usage(report: OutcomeReport, confidence: float) -> OutcomeReport:
    """Return the report with the confidence that the memory has once its use in the session is settled, too."""
    if confidence == report.new_confidence:
        return report
    said = f"{report.message} With its use in the session settled, it is {confidence:.3f}."
    return replace(report, new_confidence=confidence, message=said)
