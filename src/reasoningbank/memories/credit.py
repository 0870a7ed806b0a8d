"""Settle what a session was shown, once it is known how it ended (DESIGN D5).

Success speaks for what fitted a question of the session, failure against it, anything else says nothing. That holds
whoever says how the session ended and in whatever order: the end that counts decides alone. What fitted no question, or
was shown before there was a task, is credited by nobody's word about the session; a report about that memory is
another matter. A session that did not fail has also used what fitted its questions.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

from reasoningbank.errors import MemoryNotFound
from reasoningbank.memories.evidence import settle_outcome, settle_usage
from reasoningbank.memories.exposure import decide_served
from reasoningbank.storage.store import StoreReader, Transaction
from reasoningbank.types.memory import OutcomeReport
from reasoningbank.types.recall import FITTING, SessionCredit
from reasoningbank.types.session import SessionEnd

_DID_NOT_FAIL = frozenset({"success", "partial"})


def shown(reader: StoreReader, session: str) -> Mapping[str, float]:
    """Return the ids of what a session was shown, in that order, each with the best relevance that it had."""
    return reader.deliveries.exposure_and_shown(session)[1]


def fitting(shown: Mapping[str, float]) -> list[str]:
    """Return the ids of what fitted a question of the session, of all that it was shown."""
    return [memory_id for memory_id, relevance in shown.items() if relevance >= FITTING]


def settle(
    transaction: Transaction,
    session: str,
    end: SessionEnd,
    *,
    own: Mapping[str, bool],
    at: datetime,
    shared_by: int,
    unmet: Collection[str] = (),
) -> Sequence[OutcomeReport]:
    """Credit what fitted a session's questions with how it ended; return what became of each memory.

    Args:
        transaction: Where it is written.
        session: As it is named where the memories are.
        end: How it ended, as far as that is known.
        own: What the session has reported about single memories: it counts where the end says nothing.
        at: When.
        shared_by: How many memories share the weight of the outcome.
        unmet: What the session was shown and had no occasion to use: for it, it is not known how the session ended.
    """
    reports = []
    for memory_id in fitting(shown(transaction, session)):
        said = replace(end, verdict="unknown", decided=True) if memory_id in unmet else end
        try:
            report = _settled(transaction, memory_id, session, said, own.get(memory_id), at=at, shared_by=shared_by)
        except MemoryNotFound:
            continue
        known = transaction.evidence.given(memory_id, "outcome", session)
        failed = known is not None and not known.positive
        settle_usage(transaction, memory_id, used=said.verdict in _DID_NOT_FAIL and not failed, session=session, at=at)
        if report is not None:
            reports.append(_with_usage(report, transaction.memories.get(memory_id).confidence))
    return reports


def _settled(
    transaction: Transaction,
    memory_id: str,
    session: str,
    end: SessionEnd,
    own: bool | None,
    *,
    at: datetime,
    shared_by: int,
) -> OutcomeReport | None:
    """Credit one memory with what counts for it: the session's end, else what was reported about the memory itself."""
    says = end.verdict in {"success", "failure"}
    if not says and own is None and not end.decided:
        transaction.memories.get(memory_id)
        return None
    verdict, rater = end.verdict, end.rater
    credit = partial(settle_outcome, transaction, memory_id, session=session, at=at)
    if not says and own is not None:
        if rater == "human":  # an earlier verdict of this person goes, and the agent's word about the memory is back
            known = transaction.evidence.given(memory_id, "outcome", session)
            if known is not None and known.rater == "human":
                credit(verdict=verdict, rater=rater)
        verdict, rater, shared_by = "success" if own else "failure", "agent", 1
    elif rater == "session" and own == (verdict == "success"):
        rater = "agent"  # the agent has said so of this memory, too
    report = credit(verdict=verdict, rater=rater, shared_by=shared_by)
    if report.recorded and says:
        decide_served(transaction, memory_id, session=session, succeeded=verdict == "success", at=at)
    return report


def credit_of(reader: StoreReader, memory_id: str, session: str) -> SessionCredit | None:
    """Return what a session's end counts for a memory now; None when it counts nothing.

    Args:
        reader: Where the memory is.
        memory_id: The memory.
        session: As it is named where the memory is.
    """
    given = reader.evidence.given(memory_id, "outcome", session)
    if given is None:
        return None
    memory = reader.memories.get(memory_id)
    belief = memory.belief.without_evidence(positive=given.positive, weight=given.weight or 0)
    used = reader.evidence.given(memory_id, "usage", session)
    if used is not None:
        belief = belief.without_evidence(positive=used.positive, weight=used.weight or 0)
    return SessionCredit(
        memory_id=memory_id,
        succeeded=given.positive,
        previous_confidence=replace(memory, belief=belief).confidence,
        new_confidence=memory.confidence,
    )


def _with_usage(report: OutcomeReport, confidence: float) -> OutcomeReport:
    """Return the report with the confidence that the memory has once its use in the session is settled, too."""
    if confidence == report.new_confidence:
        return report
    said = f"{report.message} With its use in the session settled, it is {confidence:.3f}."
    return replace(report, new_confidence=confidence, message=said)
