"""A memory's life as a list of events, each with the confidence that followed."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from reasoningbank.storage.store import Store
from reasoningbank.types.belief import Belief
from reasoningbank.types.memory import (
    CONSOLIDATED,
    EDITED,
    HEARD,
    IMPORTED,
    PARTED,
    QUARANTINED,
    RELEASED,
    SILENCED,
    SURFACED,
    UNDONE,
    Event,
    Memory,
    StateChange,
)
from reasoningbank.types.signal import EVIDENCE_TYPES, RECENT_DAYS, SIGNAL_TYPES, Signal, SignalAggregate, Witness

_WITNESSES: dict[Witness, str] = {"session": "an agent's word on its whole session"}
"""Who gave a signal, in more words than its name."""


def told(change: StateChange) -> str:
    """Return what happened, why, and who did it."""
    why = f": {change.reason.rstrip('.')}" if change.reason else ""
    by = f", by {change.by}" if change.by else ""
    return f"{_event(change)}{by}{why}."


def _event(change: StateChange) -> str:
    place = change.reference or "its quarantine"
    if change.kind == QUARANTINED:
        made = f", made of {', '.join(change.because)}" if change.because else ""
        word = "Held also in quarantine" if change.before == change.after else f"From {change.before} into quarantine"
        return f"{word} {place}{made}"
    if change.kind == SILENCED:
        if not change.votes:
            return f"What the agents' sessions of a quarantine say stopped to count: {place}"
        return f"What its agents' sessions said {len(change.votes)} times stopped to count: {place}"
    if change.kind == HEARD:
        return f"What was said there counts again: {place} was released"
    if change.kind == RELEASED and change.before == change.after:
        return f"Let go by {place}"
    if change.kind == RELEASED:
        return f"Released from {place}, {change.after} again"
    sentences = {
        SURFACED: f"{change.after.capitalize()} again while {change.merged_before} is in quarantine",
        CONSOLIDATED: f"Consolidated into {change.merged_after}, archived",
        UNDONE: f"Consolidation {change.reference} undone, {change.after}",
        PARTED: f"Consolidation {change.reference} does not come back",
        EDITED: f"State set from {change.before} to {change.after}",
    }
    return sentences.get(change.kind, f"{change.kind.capitalize()}, from {change.before} to {change.after}")


def history(store: Store, memory_id: str) -> tuple[Event, ...]:
    """Return everything that happened to a memory, oldest first; rolled-up evidence is one event.

    That it came with an import is not an event of its own: its history is the one that it came with.

    Raises:
        MemoryNotFound: When the memory does not exist in this scope.
    """
    memory = store.memories.get(memory_id)
    belief = Belief.starting_at(memory.belief.initial)
    events = [
        Event(at=memory.created_at, kind="recorded", detail="Recorded.", confidence=belief.score),
    ]
    aggregate = store.evidence.aggregate(memory_id)
    if aggregate.last_rollup is not None:
        belief = replace(belief, positive=aggregate.positive or 0, negative=aggregate.negative or 0)
        events.append(_rolled_up(aggregate, belief))
    for signal in store.evidence.signals(memory_id):
        belief = belief.with_evidence(positive=signal.positive, weight=signal.weight or 0)
        events.append(_signalled(signal, belief))
    for revision in [*store.memories.revisions(memory_id), memory][1:]:
        events.append(_edited(revision, events))
    for change in store.memories.changes(memory_id=memory_id):
        if change.kind != IMPORTED:
            events.append(_changed(change, events))
    return tuple(sorted(events, key=_order))


def _order(event: Event) -> datetime:
    """Return rolled-up evidence stands where it was given: before the signals that are kept one by one."""
    return event.at - timedelta(days=RECENT_DAYS) if event.kind == "rolled_up" else event.at


def _rolled_up(aggregate: SignalAggregate, belief: Belief) -> Event:
    parts = [
        f"{aggregate.count(signal_type, positive=True)} for and "
        f"{aggregate.count(signal_type, positive=False)} against from {signal_type}"
        for signal_type in EVIDENCE_TYPES
        if signal_type in SIGNAL_TYPES or any(aggregate.count(signal_type, positive=side) for side in (True, False))
    ]
    assert aggregate.last_rollup is not None
    detail = f"Signals older than thirty days rolled up: {'; '.join(parts)}."
    return Event(at=aggregate.last_rollup, kind="rolled_up", detail=detail, confidence=belief.score)


def _signalled(signal: Signal, belief: Belief) -> Event:
    weight = f"weight {(signal.weight or 0) / 1e9:.3f}"
    side = "for" if signal.positive else "against"
    detail = (
        f"{signal.type.capitalize()} evidence {side} it, {weight}, by {_WITNESSES.get(signal.rater, signal.rater)}."
    )
    if signal.type == "disuse":
        detail = f"A full month without use: evidence against it, {weight}."
    elif signal.type == "stability":
        fate = "has stood for seven days" if signal.positive else "was reverted"
        detail = f"The code it is tied to {fate}: evidence {side} it, {weight}."
    return Event(at=signal.at, kind=signal.type, detail=detail, confidence=belief.score, session=signal.session)


def _edited(revision: Memory, events: list[Event]) -> Event:
    return Event(
        at=revision.updated_at,
        kind="edited",
        detail=f"Edited: now version {revision.version}, titled {revision.title!r}.",
        confidence=_confidence_at(revision.updated_at, events),
    )


def _changed(change: StateChange, events: list[Event]) -> Event:
    return Event(at=change.at, kind="state", detail=told(change), confidence=_confidence_at(change.at, events))


def _confidence_at(moment: datetime, events: list[Event]) -> float:
    """Return the confidence that evidence had led to by then; that of the beginning when there was none."""
    before = [event for event in events if event.kind not in {"edited", "state"} and _order(event) <= moment]
    return before[-1].confidence if before else events[0].confidence
