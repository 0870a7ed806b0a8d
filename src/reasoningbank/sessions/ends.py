"""Tell how a session ended as far as it is known now, and who says so: a person, its evidence, a model, or its agent.

A person stands above all: by a verdict on a trajectory or by a report about its session. Then comes the judgement of
the trajectory, and where that says nothing, what the agent has reported of its session.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from reasoningbank.storage.store import StoreReader, Transaction
from reasoningbank.types.moment import LATEST
from reasoningbank.types.records import TrajectoryEntry
from reasoningbank.types.session import (
    AGENT,
    CREDIT,
    SUMMARY_SOURCE,
    USER,
    Evidence,
    Judgement,
    SaidBy,
    SessionEnd,
    Verdict,
)
from reasoningbank.types.uplift import Exposure

EVIDENCE = "evidence"
"""The judge of a session when its own evidence decides."""
_PROBABILITY = {"success": 1.0, "failure": 0.0}
_SAYS: dict[str, SaidBy] = {USER: "person", EVIDENCE: "evidence", AGENT: "session"}


def personal(verdict: Verdict, words: str, at: datetime) -> Judgement:
    """Return the judgement that a person's word is; one who does not know it speaks neither for nor against."""
    said = (Evidence(kind="user_verdict", positive=verdict == "success", detail=words),)
    return Judgement(
        verdict=verdict,
        probability=_PROBABILITY.get(verdict, 0.5),
        rationale=words,
        judge=USER,
        evidence=() if verdict == "unknown" else said,
        at=at,
    )


def end_of(entry: TrajectoryEntry, exposure: Exposure | None) -> tuple[Verdict, SaidBy]:
    """Return how a trajectory's session ended and who says so.

    Args:
        entry: The trajectory with its latest judgement.
        exposure: What its session was shown, and what was reported of it; None when it met nothing.
    """
    known = entry.judgement
    reported: Verdict | None = None
    if exposure is not None and exposure.succeeded is not None:
        reported = _said(exposure.succeeded)
    if known is not None and known.judge == USER:
        return known.verdict, "person"
    if reported is not None and exposure is not None and exposure.said_by == "human":
        return reported, "person"
    if known is not None and known.verdict != "unknown":
        return known.verdict, _SAYS.get(known.judge, "model")
    return (reported, "session") if reported is not None else ("unknown", "")


def with_end(entry: TrajectoryEntry, exposure: Exposure | None) -> TrajectoryEntry:
    """Return the entry with how it ended and who says so."""
    verdict, said_by = end_of(entry, exposure)
    return replace(entry, verdict=verdict, said_by=said_by)


def end_of_session(reader: StoreReader, session: str, *, now: datetime) -> SessionEnd:
    """Return how a session counts for what it was shown.

    A person's latest word counts, else the judgement of its longest trajectory that has ended, else what its agent has
    reported. What only the agent says is said by the ``session``: nobody has observed it.
    """
    ongoing = _ongoing(reader, now)
    entries = [
        entry
        for entry in reader.sessions.trajectories(limit=0, session=session)
        if entry.judgement is not None and entry.source != SUMMARY_SOURCE
    ]
    exposure = reader.deliveries.exposure(session) if session else None
    reported = None if exposure is None else exposure.succeeded
    decided = reported is not None or any(
        judgement.verdict in _PROBABILITY for entry in entries for judgement in reader.sessions.judgements(entry.id)
    )
    said = [entry.judgement for entry in entries if entry.judgement is not None and entry.judgement.judge == USER]
    if said:
        return SessionEnd(verdict=max(said, key=lambda each: each.at).verdict, rater="human", decided=decided)
    if exposure is not None and reported is not None and exposure.said_by == "human":
        return SessionEnd(verdict=_said(reported), rater="human", decided=decided)
    ended = [entry for entry in entries if entry.id not in ongoing]
    longest = max(ended, key=lambda entry: (entry.steps, entry.at), default=None)
    if longest is not None and longest.judgement is not None and longest.judgement.verdict != "unknown":
        observed = longest.judgement.judge != AGENT
        return SessionEnd(verdict=longest.judgement.verdict, rater="agent" if observed else "session", decided=decided)
    return SessionEnd(verdict="unknown" if reported is None else _said(reported), rater="session", decided=decided)


def _ongoing(reader: StoreReader, now: datetime) -> set[str]:
    """Return the trajectories whose session may still go on: their credit waits for quiet."""
    waiting = reader.jobs.waiting(due=LATEST)
    return {job.key for job in waiting if job.kind == CREDIT and job.due > now and not job.attempts}


def _said(succeeded: bool) -> Verdict:
    return "success" if succeeded else "failure"


def said_of(reader: StoreReader, session: str) -> Verdict | None:
    """Return what a person has reported of a session that met memories; None when nothing."""
    exposure = reader.deliveries.exposure(session) if session else None
    if exposure is None or exposure.succeeded is None or exposure.said_by != "human":
        return None
    return _said(exposure.succeeded)


def replace_report(transaction: Transaction, session: str) -> None:
    """Forget what a person has reported of a session: the person's verdict on its trajectory takes its place."""
    exposure = transaction.deliveries.exposure(session) if session else None
    if exposure is not None and exposure.said_by == "human":
        transaction.deliveries.expose(replace(exposure, succeeded=None, said_by=None))
