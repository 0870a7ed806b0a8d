"""How ratings, deliveries and outcomes become belief, each counted once (DESIGN D4, D5)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from reasoningbank.domain.answers import OutcomeReport, Rating
from reasoningbank.domain.belief import to_units
from reasoningbank.domain.memory import Memory
from reasoningbank.domain.signal import LEARNING_WINDOW_HOURS, RECENT_DAYS, ProjectWeights, Rater, Signal, SignalType
from reasoningbank.engine.independence import granted
from reasoningbank.ports import Transaction, WeightChange


def rate(
    transaction: Transaction, memory_id: str, *, helpful: bool, session: str, rater: Rater, at: datetime
) -> Rating:
    """Stores an explicit rating, lets the project learn from it, and moves the belief.

    A human's ratings all count; an agent's count once per memory and session. The weight is the project's weight
    before it learns from this rating.
    """
    memory = transaction.get(memory_id)
    weights = transaction.weights()
    signal = granted(transaction, memory, _signal(memory, "explicit", helpful, session, rater, at, weights))
    predictions = _uncredited_predictions(transaction, memory_id, at)
    if not transaction.add_signal(signal, once=rater == "agent"):
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
        transaction.set_weights(WeightChange(at=at, weights=learned, signal_id=signal.id))
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
    """Stores how a task ended that used the memory: once per memory and session; without a session every time.

    Args:
        transaction: Where it is written.
        memory_id: The memory.
        succeeded: How the task ended.
        session: The task.
        rater: Who says so.
        at: When.
        shared_by: How many memories share the weight of the outcome in equal parts.
    """
    memory = transaction.get(memory_id)
    signal = _signal(memory, "outcome", succeeded, session, rater, at, transaction.weights())
    signal = granted(transaction, memory, replace(signal, weight=(signal.weight or 0) // shared_by))
    if not transaction.add_signal(signal, once=bool(session)):
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
    """Counts a delivery for each memory, and a usage signal where this session has given none.

    That it was delivered again says less every time: the signal of a memory's n-th delivery has the n-th part of the
    project's weight. With whole weights a memory that is found often would be beyond doubt whatever came of it
    (docs/decisions/0014).
    """
    weights = transaction.weights()
    for memory_id in memory_ids:
        memory = transaction.get(memory_id)
        signal = _signal(memory, "usage", True, session, "agent", at, weights)
        signal = granted(transaction, memory, replace(signal, weight=(signal.weight or 0) // (memory.usage_count + 1)))
        counted = transaction.add_signal(signal, once=True)
        belief = memory.belief.with_evidence(positive=True, weight=signal.weight or 0) if counted else memory.belief
        transaction.update_state(replace(memory, belief=belief, usage_count=memory.usage_count + 1, last_used=at))


def roll_up(transaction: Transaction, at: datetime) -> int:
    """Moves signals older than thirty days into counts; no score changes (seed 000 FR-005c)."""
    return transaction.roll_up(at - timedelta(days=RECENT_DAYS), at)


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
    """Usage and outcome signals of the last day that no earlier rating has credited or debited."""
    recent = transaction.signals(memory_id, since=at - timedelta(hours=LEARNING_WINDOW_HOURS))
    predictions: list[Signal] = []
    for signal in recent:
        if signal.type == "explicit":
            predictions.clear()
        elif signal.type in {"usage", "outcome"}:
            predictions.append(signal)
    return predictions


def _believe(transaction: Transaction, memory: Memory, signal: Signal) -> Memory:
    belief = memory.belief.with_evidence(positive=signal.positive, weight=signal.weight or 0)
    believed = replace(memory, belief=belief)
    transaction.update_state(believed)
    return believed


def _movement(before: Memory, after: Memory, signal: Signal) -> str:
    weight = (signal.weight or 0) / 1e9
    direction = "rose" if after.confidence > before.confidence else "fell"
    if after.confidence == before.confidence:
        direction = "stayed"
    return (
        f"confidence {direction} from {before.confidence:.3f} to {after.confidence:.3f} "
        f"({signal.type} evidence of weight {weight:.3f})"
    )
