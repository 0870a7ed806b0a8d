"""Take the votes of sessions in quarantine out of what counts, and let them count again on release (DESIGN D5, D16).

A vote that stops to count leaves the evidence, and the confidence is what follows from the rest. What was taken out is
in the log of state changes, so that a release puts it back as it was. A person's words are never taken out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, cast

from reasoningbank.memories.evidence import added, bounded, from_text, is_copy, less, proven, to_text, unproven_again
from reasoningbank.memories.states import existing, sources_of
from reasoningbank.storage.store import StoreReader, Transaction
from reasoningbank.types.memory import HEARD, SILENCED, Cause, Memory, SilencedVote, StateChange, change_of
from reasoningbank.types.records import Given
from reasoningbank.types.signal import Signal, SignalAggregate, SignalType, Witness

if TYPE_CHECKING:
    from reasoningbank.types.belief import Belief


_UNKNOWN = "1970-01-01T00:00:00+00:00"
"""The time of a vote that was rolled up."""


def silence(transaction: Transaction, sessions: Collection[str], cause: Cause, *, beside: str = "") -> int:
    """Take what agents said in these sessions out of what counts; return how many votes.

    What they say from then on is not stored (``voices.is_silenced``), until the quarantine is released.

    Args:
        transaction: Where it is written.
        sessions: The sessions, as they are named there.
        cause: Who, when and why; its reference is the quarantine.
        beside: A memory of the quarantine, in whose log it stands when nothing was said yet; empty when there is none.
    """
    signals, rolled = transaction.evidence.said_in(sessions)
    votes: dict[str, list[SilencedVote]] = defaultdict(list)
    inherited = {(name, given) for name, given in rolled if _is_inherited(transaction, name, given)}
    for signal in signals:
        if signal.rater != "human":
            once = transaction.evidence.remove_signal(signal)
            votes[signal.memory_id].append(_of_signal(signal, once=once))
    for memory_id, given in rolled:
        if given.rater != "human" and transaction.evidence.take_back(memory_id, given):
            votes[memory_id].append(_of_given(given, copied=(memory_id, given) in inherited))
    for memory_id, taken in votes.items():
        memory = transaction.memories.get(memory_id)
        belief = memory.belief
        for vote in taken:
            belief = belief.without_evidence(positive=vote.positive, weight=vote.weight)
        _store(transaction, memory, belief, replace(cause, kind=SILENCED, votes=tuple(taken)), taken, -1)
    if beside and not votes and not silenced(transaction, cause.reference):
        memory = transaction.memories.get(beside)
        transaction.memories.note(change_of(memory, memory, replace(cause, kind=SILENCED)))
    return sum(map(len, votes.values()))


def hear(transaction: Transaction, cause: Cause) -> int:
    """Let what a quarantine has silenced count again; return how many votes."""
    heard = 0
    for change in silenced(transaction, cause.reference):
        memory = existing(transaction, change.memory_id)
        if memory is None:
            continue
        if not change.votes:
            transaction.memories.note(change_of(memory, memory, replace(cause, kind=HEARD)))
            continue
        belief, given = memory.belief, list[SilencedVote]()
        for vote in change.votes:
            if vote.once and transaction.evidence.given(memory.id, cast("SignalType", vote.type), vote.session):
                continue  # the session has said something else meanwhile
            _give_back(transaction, memory.id, memory.project, vote)
            belief = belief.with_evidence(positive=vote.positive, weight=vote.weight)
            given.append(vote)
        _store(transaction, memory, belief, replace(cause, kind=HEARD), given, 1)
        heard += len(given)
    return heard


def silenced(reader: StoreReader, reference: str) -> list[StateChange]:
    """Return what a quarantine has silenced and nobody has released, as the log says."""
    found: list[StateChange] = []
    for change in reader.memories.changes(reference=reference):
        if change.kind == SILENCED:
            found.append(change)
        elif change.kind == HEARD:
            found = [each for each in found if each.memory_id != change.memory_id]
    return found


def _store(
    transaction: Transaction, memory: Memory, belief: Belief, cause: Cause, votes: Iterable[SilencedVote], sign: int
) -> None:
    """Store a memory with another evidence; a consolidated one knows what of it is its sources'."""
    provenance = dict(memory.provenance)
    if "evidence" in provenance:
        united = from_text(provenance["evidence"], memory.id, memory.project)
        for vote in votes:
            if vote.copied:
                one = SignalAggregate(memory_id=memory.id, project=memory.project, positive=0, negative=0)
                one = one.add(_signal_of(memory.id, memory.project, vote))
                united = added(united, one) if sign > 0 else less(united, one)
        provenance["evidence"] = to_text(united)
    left = proven(bounded(transaction, replace(memory, belief=belief, provenance=provenance)))
    left = unproven_again(transaction, left)
    transaction.memories.update_state(left, cause=cause)
    if left.state == memory.state:
        transaction.memories.note(change_of(left, left, cause))


def _is_inherited(transaction: Transaction, memory_id: str, given: Given) -> bool:
    """Return whether a rolled-up vote on a consolidated memory is one of its sources'."""
    sources = sources_of(transaction.memories.get(memory_id))
    return any(transaction.evidence.given(name, given.type, given.session) for name in sources)


def _of_signal(signal: Signal, *, once: bool) -> SilencedVote:
    return SilencedVote(
        id=signal.id,
        type=signal.type,
        positive=signal.positive,
        session=signal.session,
        rater=signal.rater,
        at=signal.at.isoformat(),
        weight=signal.weight or 0,
        once=once,
        copied=is_copy(signal),
    )


def _of_given(given: Given, *, copied: bool) -> SilencedVote:
    return SilencedVote(
        id="",
        type=given.type,
        positive=given.positive,
        session=given.session,
        rater=given.rater,
        at="",
        weight=given.weight or 0,
        once=True,
        copied=copied,
    )


def _give_back(transaction: Transaction, memory_id: str, project: str, vote: SilencedVote) -> None:
    signal = _signal_of(memory_id, project, vote)
    if not vote.at:
        given = Given(
            type=signal.type, session=vote.session, positive=vote.positive, weight=vote.weight, rater=signal.rater
        )
        transaction.evidence.add_rolled(memory_id, given)
        return
    transaction.evidence.add_signal(signal, once=vote.once)


def _signal_of(memory_id: str, project: str, vote: SilencedVote) -> Signal:
    return Signal(
        id=vote.id,
        memory_id=memory_id,
        project=project,
        type=cast("SignalType", vote.type),
        positive=vote.positive,
        session=vote.session,
        rater=cast("Witness", vote.rater),
        at=datetime.fromisoformat(vote.at or _UNKNOWN),
        weight=vote.weight,
    )
