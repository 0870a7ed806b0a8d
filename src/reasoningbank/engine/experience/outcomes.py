"""How a task ended, written into the searches that served it; only that makes them worth learning from (row H10)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from reasoningbank.domain.experience import Trace
from reasoningbank.domain.trajectory import Verdict
from reasoningbank.ports import Job, Transaction

EXTRACT = "extract_strategy"
"""The kind of job that extracts a strategy from the trace that is its key."""
_LATEST = 20


def decide(transaction: Transaction, trace: Trace, outcome: Verdict, *, reason: str, at: datetime) -> Trace:
    """Sets a trace's outcome and has its strategy extracted, once for each outcome.

    Another outcome takes back what the trace taught: it no longer counts for that strategy, and is extracted from
    again. The memory itself stays, with the evidence it has.
    """
    decided = replace(trace, outcome=outcome, failure_reason="" if outcome == "success" else reason)
    job = Job(kind=EXTRACT, key=trace.id, due=at)
    if outcome != trace.outcome:
        decided = replace(decided, state="waiting", strategies=())
        transaction.finish(job)
    transaction.update_trace(decided)
    if decided.state == "waiting" and outcome != "unknown":
        transaction.enqueue(job)
    return decided


def decide_served(transaction: Transaction, memory_id: str, *, session: str, succeeded: bool, at: datetime) -> int:
    """Sets the outcome of this session's searches that delivered the memory; returns how many there were."""
    if not session:
        return 0
    served = [trace for trace in transaction.traces(session=session, limit=_LATEST) if memory_id in trace.results]
    for trace in served:
        reason = "" if succeeded else "The task that used what was found has failed."
        decide(transaction, trace, "success" if succeeded else "failure", reason=reason, at=at)
    return len(served)
