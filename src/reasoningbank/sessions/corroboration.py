"""A session that teaches what is known already: a further origin of it, and evidence when it came to it by itself."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from reasoningbank.memories.evidence import report_outcome
from reasoningbank.memories.standing import recorder_of, speaker
from reasoningbank.memories.states import sources_of
from reasoningbank.storage.store import Transaction
from reasoningbank.types.memory import Memory
from reasoningbank.types.session import Origin, Trajectory


def corroborate(
    transaction: Transaction, twin: Memory, origin: Origin, trajectory: Trajectory, *, counts: bool, at: datetime
) -> bool:
    """Note that a trajectory taught a known memory too; return whether that is new.

    It is one outcome for the memory when it counts and its session is independent: another one than those that taught
    the memory, which was shown neither the memory nor one of its sources. What an agent tells of the sessions that
    taught what it has recorded itself is its own voice, once.

    Args:
        transaction: Where it is written.
        twin: The known memory.
        origin: What the trajectory is to it.
        trajectory: The trajectory.
        counts: Whether the session proves what it teaches, and has not read it somewhere.
        at: When.
    """
    origins = transaction.sessions.origins(memory_id=twin.id)
    if any(known.trajectory == trajectory.id for known in origins):
        return False
    transaction.sessions.add_origin(replace(origin, memory_id=twin.id, kind="corroborated"))
    taught = {known.session for known in origins} | {twin.provenance.get("session", "")}
    known = [twin.id, *sources_of(twin)]
    shown = {session for each in transaction.evidence.voices(known).values() for session in each.shown}
    unseen = origin.session not in shown and not set(known) & set(trajectory.memories)
    if counts and unseen and origin.session and origin.session not in taught:
        told = speaker() != "" and speaker() == recorder_of(transaction, twin)
        session = speaker() if told else origin.session
        report_outcome(transaction, twin.id, succeeded=True, session=session, rater="agent", at=at)
    return True
