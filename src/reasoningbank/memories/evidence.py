"""How ratings, deliveries and outcomes become evidence, each counted once (DESIGN D4, D5).

A candidate below the threshold of the proven list is believed by one voice more for each independent session that spoke
for it with a rating or an outcome. A session is independent when the bank showed it the memory, or when it taught the
same lesson by itself, and when it is not the session the memory was learned from. Everything else that agents say for
it, deliveries and the votes of sessions that never saw it included, is one voice together: so one session, under
whatever names and however often it votes, never makes a candidate proven. What a person says, what speaks against a
memory, and what is said of a memory that is proven or that somebody recorded counts as it is.

A signal of a source is copied to the consolidated memory with its frozen weight and time; the source keeps its own, so
that an undo finds it as it was. Two sources that one search delivered in one session got a usage signal each: that was
one delivery, so of each session only the oldest signal of a type and direction is copied, as long as it is one of those
that count once (usage; stability; outcomes that name a session; ratings of agents). Rolled-up counts no longer name
their sessions and are added up.

The consolidated memory then has exactly the confidence of the formula: its prior is chosen so that prior and evidence
give it. Where no prior can, because the evidence is too strong for it, the evidence decides and the confidence is the
nearest that the evidence allows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from reasoningbank.storage.store import StoreReader, Transaction
from reasoningbank.types.belief import MIN_CONFIDENCE, PRIOR_STRENGTH, UNIT, Belief, to_units
from reasoningbank.types.consolidation import consolidated_confidence
from reasoningbank.types.memory import PROVEN, Cause, Memory, OutcomeReport, Rating
from reasoningbank.types.records import WeightChange
from reasoningbank.types.session import Origin
from reasoningbank.types.signal import (
    COUNTERS,
    LEARNING_WINDOW_HOURS,
    RECENT_DAYS,
    SIGNAL_TYPES,
    ProjectWeights,
    Rater,
    Signal,
    SignalAggregate,
    SignalType,
    later,
)


def granted(transaction: Transaction, weights: ProjectWeights, votes: Sequence[tuple[Memory, Signal]]) -> list[Signal]:
    """Return each signal with as much of its weight as still counts; nothing changes for one that is not limited.

    Args:
        transaction: Where they are written.
        weights: The project's.
        votes: Memories, each with a signal for it or against it; no memory twice.
    """
    limited = [memory.id for memory, signal in votes if _is_limited(memory, signal)]
    if not limited:
        return [signal for _, signal in votes]
    voices = transaction.evidence.voices(limited)
    voice = max(to_units(weights.weight_for(kind)) for kind in SIGNAL_TYPES)
    counted = []
    for memory, signal in votes:
        if memory.id not in voices:
            counted.append(signal)
            continue
        signals, origins = voices[memory.id]
        given = [each for each in signals if each.positive and each.rater == "agent" and each.type in SIGNAL_TYPES]
        room = voice * max(1, len(_independent(memory, [*given, signal], origins)))
        room -= sum(each.weight or 0 for each in given)
        counted.append(replace(signal, weight=min(signal.weight or 0, max(0, room))))
    return counted


def _is_limited(memory: Memory, signal: Signal) -> bool:
    """Return whether an agent speaks for a candidate that is not proven."""
    if not signal.positive or signal.rater != "agent" or signal.type not in SIGNAL_TYPES:
        return False
    return memory.state == "candidate" and memory.confidence < MIN_CONFIDENCE


def _independent(memory: Memory, given: Sequence[Signal], origins: Sequence[Origin]) -> set[str]:
    """Return the sessions that spoke for the memory, other than by being shown it, and know it independently."""
    spoke = {each.session for each in given if each.type != "usage" and each.session}
    shown = {each.session for each in given if each.type == "usage"}
    again = {origin.session for origin in origins if origin.kind == "corroborated"}
    taught = {origin.session for origin in origins if origin.kind == "distilled"}
    return (spoke & (shown | again)) - taught - {memory.provenance.get("session", "")}


_KEPT = (*COUNTERS[:6], "positive", "negative", *COUNTERS[6:])
"""The order of the numbers in a memory's provenance: what an earlier version wrote is the beginning of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Union:
    """The evidence of several memories.

    Attributes:
        signals: Copies for the consolidated memory, oldest first.
        aggregate: The rolled-up counts of all sources; None when nothing was rolled up.
        total: All of it as counts: what ``undo`` subtracts to find what came since.
    """

    signals: tuple[Signal, ...]
    aggregate: SignalAggregate | None
    total: SignalAggregate


def unite(reader: StoreReader, sources: Sequence[Memory], memory_id: str) -> Union:
    """Return the evidence of all sources, for a memory with this id."""
    project = sources[0].project
    signals = sorted(
        (signal for source in sources for signal in reader.evidence.signals(source.id)),
        key=lambda each: (each.at, each.id),
    )
    once: set[tuple[str, str, bool]] = set()
    kept: list[Signal] = []
    for signal in signals:
        place = (signal.type, signal.session, signal.positive)
        if counts_once(signal):
            if place in once:
                continue
            once.add(place)
        kept.append(replace(signal, id=copy_of(signal, memory_id), memory_id=memory_id))
    total = SignalAggregate(memory_id=memory_id, project=project, positive=0, negative=0)
    for source in sources:
        total = added(total, reader.evidence.aggregate(source.id))
    aggregate = total if total.last_rollup is not None else None
    for signal in kept:
        total = total.add(signal)
    return Union(signals=tuple(kept), aggregate=aggregate, total=total)


def counts_once(signal: Signal) -> bool:
    """Return whether a second signal of its type and session is not counted (DESIGN D5).

    A commit counts once, whichever source was tied to it; a month without use is each source's own.
    """
    if signal.type in {"usage", "stability"}:
        return True
    if signal.type == "disuse":
        return False
    return bool(signal.session) if signal.type == "outcome" else signal.rater == "agent"


def copy_of(signal: Signal, memory_id: str) -> str:
    """Return the id of the copy that a memory has of a signal."""
    return f"{memory_id}/{hashlib.blake2b(signal.id.encode(), digest_size=12).hexdigest()}"


def is_copy(signal: Signal) -> bool:
    """Return whether a consolidated memory has the signal from one of its sources; all others came since."""
    return signal.id.startswith(f"{signal.memory_id}/")


def believed(sources: Sequence[Memory], total: SignalAggregate) -> Belief:
    """Return the belief whose evidence is the union and whose score is the formula's, or the nearest that there is."""
    wanted = consolidated_confidence([each.confidence for each in sources], [each.usage_count for each in sources])
    positive, negative = total.positive or 0, total.negative or 0
    prior = round(wanted * (PRIOR_STRENGTH * UNIT + positive + negative)) - positive
    return Belief(prior=min(PRIOR_STRENGTH * UNIT, max(0, prior)), positive=positive, negative=negative)


def added(first: SignalAggregate, second: SignalAggregate) -> SignalAggregate:
    """Return both counts together, with the later roll-up."""
    return _combined(first, second, 1)


def less(first: SignalAggregate, second: SignalAggregate) -> SignalAggregate:
    """Return the first counts without the second."""
    return _combined(first, second, -1)


def is_nothing(aggregate: SignalAggregate) -> bool:
    """Return whether it counts nothing."""
    return not any(getattr(aggregate, name) for name in (*COUNTERS, "positive", "negative"))


def to_text(aggregate: SignalAggregate) -> str:
    """Count and sums as they are kept in a memory's provenance."""
    return json.dumps([getattr(aggregate, name) for name in _KEPT])


def from_text(text: str, memory_id: str, project: str) -> SignalAggregate:
    """Return the inverse of ``to_text``."""
    numbers = dict(zip(_KEPT, json.loads(text), strict=False))
    return SignalAggregate(memory_id=memory_id, project=project, **numbers)


def _combined(first: SignalAggregate, second: SignalAggregate, sign: int) -> SignalAggregate:
    counts = {
        name: (getattr(first, name) or 0) + sign * (getattr(second, name) or 0)
        for name in (*COUNTERS, "positive", "negative")
    }
    combined: SignalAggregate = replace(first, **counts)  # type: ignore[arg-type]  # the keys are the counters alone
    return replace(
        combined,
        last_rollup=later(first.last_rollup, second.last_rollup),
        last_activity=later(first.active_at, second.active_at),
        last_disuse=later(first.last_disuse, second.last_disuse),
    )


def rate(
    transaction: Transaction, memory_id: str, *, helpful: bool, session: str, rater: Rater, at: datetime
) -> Rating:
    """Store an explicit rating, lets the project learn from it, and move the belief.

    A human's ratings all count; an agent's count once per memory and session. The weight is the project's weight
    before it learns from this rating.
    """
    memory = transaction.memories.get(memory_id)
    weights = transaction.evidence.weights()
    signal = _signal(memory, "explicit", helpful, session, rater, at, weights)
    (signal,) = granted(transaction, weights, [(memory, signal)])
    predictions = _uncredited_predictions(transaction, memory_id, at)
    if not transaction.evidence.add_signal(signal, once=rater == "agent"):
        return Rating(
            memory_id=memory_id,
            helpful=helpful,
            previous_confidence=memory.confidence,
            new_confidence=memory.confidence,
            counted=False,
            message=f"Not counted: session {session!r} has rated this memory before.",
        )
    learned = weights.learn_from_feedback(helpful, predictions)
    if learned != weights:
        transaction.evidence.set_weights(WeightChange(at=at, weights=learned, signal_id=signal.id))
    believed = _believe(transaction, memory, signal)
    word = "helpful" if helpful else "unhelpful"
    return Rating(
        memory_id=memory_id,
        helpful=helpful,
        previous_confidence=memory.confidence,
        new_confidence=believed.confidence,
        counted=True,
        message=f"Rated {word}: {_movement(memory, believed, signal)}.",
    )


def report_outcome(
    transaction: Transaction,
    memory_id: str,
    *,
    succeeded: bool,
    session: str,
    rater: Rater,
    at: datetime,
    shared_by: int = 1,
) -> OutcomeReport:
    """Store how a task ended that used the memory: once per memory and session; without a session every time.

    Args:
        transaction: Where it is written.
        memory_id: The memory.
        succeeded: How the task ended.
        session: The task.
        rater: Who says so.
        at: When.
        shared_by: How many memories share the weight of the outcome in equal parts.
    """
    memory = transaction.memories.get(memory_id)
    weights = transaction.evidence.weights()
    signal = _signal(memory, "outcome", succeeded, session, rater, at, weights)
    signal = replace(signal, weight=(signal.weight or 0) // shared_by)
    (signal,) = granted(transaction, weights, [(memory, signal)])
    if not transaction.evidence.add_signal(signal, once=bool(session)):
        return OutcomeReport(
            memory_id=memory_id,
            succeeded=succeeded,
            recorded=False,
            previous_confidence=memory.confidence,
            new_confidence=memory.confidence,
            message=f"Not recorded: session {session!r} has reported an outcome for this memory before.",
        )
    believed = _believe(transaction, memory, signal)
    word = "success" if succeeded else "failure"
    return OutcomeReport(
        memory_id=memory_id,
        succeeded=succeeded,
        recorded=True,
        previous_confidence=memory.confidence,
        new_confidence=believed.confidence,
        message=f"Task {word} recorded: {_movement(memory, believed, signal)}.",
    )


def count_delivery(transaction: Transaction, memory_ids: Iterable[str], *, session: str, at: datetime) -> None:
    """Count a delivery for each memory, and a usage signal where this session has given none.

    That it was delivered again says less every time: the signal of a memory's n-th delivery has the n-th part of the
    project's weight. With whole weights a memory that is found often would be beyond doubt whatever came of it
    (docs/decisions/0014).
    """
    delivered = list(dict.fromkeys(memory_ids))
    if not delivered:
        return
    memories = transaction.memories.many(delivered)
    fresh = transaction.evidence.count_once(delivered, "usage", session)
    signals: dict[str, Signal] = {}
    if fresh:
        weights = transaction.evidence.weights()
        used = [(memories[memory_id], _usage(memories[memory_id], session, at, weights)) for memory_id in fresh]
        signals = {signal.memory_id: signal for signal in granted(transaction, weights, used)}
        transaction.evidence.add_signals([*signals.values()])
    changes = []
    for memory_id in delivered:
        memory, signal = memories[memory_id], signals.get(memory_id)
        belief = memory.belief
        if signal is not None:
            belief = belief.with_evidence(positive=True, weight=signal.weight or 0)
        changes.append((memory, replace(memory, belief=belief, usage_count=memory.usage_count + 1, last_used=at)))
    transaction.memories.update_states(changes)


def roll_up(transaction: Transaction, at: datetime) -> int:
    """Move signals older than thirty days into counts; no score changes (seed 000 FR-005c)."""
    return transaction.evidence.roll_up(at - timedelta(days=RECENT_DAYS), at)


def _usage(memory: Memory, session: str, at: datetime, weights: ProjectWeights) -> Signal:
    """Return the signal of a memory's next delivery."""
    signal = _signal(memory, "usage", True, session, "agent", at, weights)
    return replace(signal, weight=(signal.weight or 0) // (memory.usage_count + 1))


def _signal(
    memory: Memory,
    signal_type: SignalType,
    positive: bool,
    session: str,
    rater: Rater,
    at: datetime,
    weights: ProjectWeights,
) -> Signal:
    return Signal(
        memory_id=memory.id,
        project=memory.project,
        type=signal_type,
        positive=positive,
        session=session,
        rater=rater,
        at=at,
        weight=to_units(weights.weight_for(signal_type)),
    )


def _uncredited_predictions(transaction: Transaction, memory_id: str, at: datetime) -> list[Signal]:
    """Return usage and outcome signals of the last day that no earlier rating has credited or debited."""
    recent = transaction.evidence.signals(memory_id, since=at - timedelta(hours=LEARNING_WINDOW_HOURS))
    predictions: list[Signal] = []
    for signal in recent:
        if signal.type == "explicit":
            predictions.clear()
        elif signal.type in {"usage", "outcome"}:
            predictions.append(signal)
    return predictions


def _believe(transaction: Transaction, memory: Memory, signal: Signal) -> Memory:
    belief = memory.belief.with_evidence(positive=signal.positive, weight=signal.weight or 0)
    believed = proven(replace(memory, belief=belief))
    transaction.memories.update_state(believed, cause=Cause(at=signal.at, kind=PROVEN))
    return believed


def proven(memory: Memory) -> Memory:
    """Return the memory as it is with its evidence: a candidate that has reached the threshold is active."""
    if memory.state == "candidate" and memory.confidence >= MIN_CONFIDENCE:
        return replace(memory, state="active")
    return memory


def _movement(before: Memory, after: Memory, signal: Signal) -> str:
    weight = (signal.weight or 0) / 1e9
    direction = "rose" if after.confidence > before.confidence else "fell"
    if after.confidence == before.confidence:
        direction = "stayed"
    return (
        f"confidence {direction} from {before.confidence:.3f} to {after.confidence:.3f} "
        f"({signal.type} evidence of weight {weight:.3f})"
    )
