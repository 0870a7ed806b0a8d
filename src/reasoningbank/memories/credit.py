"""Settle what a session was shown, once it is known how it ended (DESIGN D5).

Success speaks for what the session was shown for its task, failure against it, anything else says nothing. What it was
shown before there was a task, at the start of a session, is credited only by a report about the session itself. A later
verdict replaces the earlier one. A session that did not fail has also used what fitted its questions.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from reasoningbank.errors import MemoryNotFound
from reasoningbank.memories.evidence import settle_outcome, settle_usage
from reasoningbank.memories.exposure import decide_served
from reasoningbank.storage.store import StoreReader, Transaction
from reasoningbank.types.memory import OutcomeReport
from reasoningbank.types.session import Verdict
from reasoningbank.types.signal import Rater

FITTED = 0.5
"""The least relevance of a hit that counts as used."""
_DID_NOT_FAIL = frozenset({"success", "partial"})


def shown(reader: StoreReader, session: str, *, for_task: bool = False) -> dict[str, float]:
    """Return the ids of what a session was shown, in that order, each with the best relevance that it had.

    Args:
        reader: The bank.
        session: The session.
        for_task: Whether what was shown without any task, which has no relevance, is left out.
    """
    found: dict[str, float] = {}
    for log in reversed(reader.deliveries.recalls(limit=0, session=session)):
        for entry in log.entries:
            if entry.relevance or not for_task:
                found[entry.memory_id] = max(found.get(entry.memory_id, 0.0), entry.relevance)
    for trace in reader.sessions.traces(session=session):
        for memory_id in trace.results:
            found.setdefault(memory_id, 0.0)
    return found


def settle(
    transaction: Transaction,
    session: str,
    verdict: Verdict,
    *,
    rater: Rater,
    at: datetime,
    shared_by: int,
    for_task: bool = False,
) -> Sequence[OutcomeReport]:
    """Credit what a session was shown with how it ended; return what became of each memory.

    Args:
        transaction: Where it is written.
        session: As it is named where the memories are.
        verdict: How it ended.
        rater: ``human`` when a person says so.
        at: When.
        shared_by: How many memories share the weight of the outcome.
        for_task: Whether only what was shown for a task is credited.
    """
    reports = []
    for memory_id, relevance in shown(transaction, session, for_task=for_task).items():
        try:
            report = settle_outcome(
                transaction,
                memory_id,
                verdict=verdict,
                session=session,
                rater=rater,
                at=at,
                shared_by=shared_by,
            )
        except MemoryNotFound:
            continue
        known = transaction.evidence.given(memory_id, "outcome", session)
        failed = known is not None and not known.positive
        used = relevance >= FITTED and not failed and (known is not None or verdict in _DID_NOT_FAIL)
        settle_usage(transaction, memory_id, used=used, session=session, at=at)
        if report.recorded and verdict in {"success", "failure"}:
            decide_served(transaction, memory_id, session=session, succeeded=verdict == "success", at=at)
        reports.append(report)
    return reports
