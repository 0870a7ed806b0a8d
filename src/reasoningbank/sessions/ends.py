"""How a session ended as far as it is known now, and who says so: a person, its evidence, a model, or its agent.

A person stands above all: by a verdict on a trajectory or by a report about its session. Then comes the judgement of
the trajectory, and where that says nothing, what the agent has reported of its session.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from reasoningbank.storage.store import StoreReader, Transaction
from reasoningbank.types.records import TrajectoryEntry
from reasoningbank.types.session import AGENT, SUMMARY_SOURCE, USER, Evidence, Judgement, SaidBy, Verdict
from reasoningbank.types.signal import Rater
from reasoningbank.types.uplift import Exposure

EVIDENCE = "evidence"
"""Who judges a session when its own evidence decides."""
_PROBABILITY = {"success": 1.0, "failure": 0.0}
_SAYS: dict[str, SaidBy] = {USER: "person", EVIDENCE: "evidence", AGENT: "session"}


def personal(verdict: Verdict, words: str, at: datetime) -> Judgement:
    """Return the judgement that a person's word is."""
    said = Evidence(kind="user_verdict", positive=verdict == "success", detail=words)
    probability = _PROBABILITY.get(verdict, 0.5)
    return Judgement(verdict=verdict, probability=probability, rationale=words, judge=USER, evidence=(said,), at=at)


def end_of(entry: TrajectoryEntry, exposure: Exposure | None) -> tuple[Verdict, SaidBy]:
    """Return how a trajectory's session ended and who says so.

    Args:
        entry: The trajectory with its latest judgement.
        exposure: What its session was shown, and what was reported of it; None when it met nothing.
    """
    known = entry.judgement
    reported: Verdict | None = None
    if exposure is not None and exposure.succeeded is not None:
        reported = "success" if exposure.succeeded else "failure"
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


def end_of_session(reader: StoreReader, session: str) -> tuple[Verdict, Rater, bool]:
    """Return how a session counts for what it was shown, who says so, and whether it was ever judged either way.

    A person's latest word counts, else the judgement of the longest trajectory.
    """
    entries = [
        entry
        for entry in reader.sessions.trajectories(limit=0, session=session)
        if entry.judgement is not None and entry.source != SUMMARY_SOURCE
    ]
    decided = any(
        judgement.verdict in _PROBABILITY for entry in entries for judgement in reader.sessions.judgements(entry.id)
    )
    said = [entry.judgement for entry in entries if entry.judgement is not None and entry.judgement.judge == USER]
    if said:
        return max(said, key=lambda each: each.at).verdict, "human", decided
    reported = said_of(reader, session)
    if reported is not None:
        return reported, "human", decided
    longest = max(entries, key=lambda entry: entry.steps, default=None)
    verdict = "unknown" if longest is None or longest.judgement is None else longest.judgement.verdict
    return verdict, "agent", decided


def said_of(reader: StoreReader, session: str) -> Verdict | None:
    """Return what a person has reported of a session that met memories; None when nothing."""
    exposure = reader.deliveries.exposure(session) if session else None
    if exposure is None or exposure.succeeded is None or exposure.said_by != "human":
        return None
    return "success" if exposure.succeeded else "failure"


def replace_report(transaction: Transaction, session: str) -> None:
    """Forget what a person has reported of a session: the person's verdict on its trajectory takes its place."""
    exposure = transaction.deliveries.exposure(session) if session else None
    if exposure is not None and exposure.said_by == "human":
        transaction.deliveries.expose(replace(exposure, succeeded=None, said_by=None))
