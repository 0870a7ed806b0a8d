"""A change of state as a sentence for a memory's history."""

from __future__ import annotations

from reasoningbank.domain.changes import (
    CONSOLIDATED,
    EDITED,
    PARTED,
    QUARANTINED,
    RELEASED,
    SURFACED,
    UNDONE,
    StateChange,
)


def told(change: StateChange) -> str:
    """What happened, why, and who did it."""
    why = f": {change.reason.rstrip('.')}" if change.reason else ""
    by = f", by {change.by}" if change.by else ""
    return f"{_event(change)}{by}{why}."


def _event(change: StateChange) -> str:
    place = change.reference or "its quarantine"
    if change.kind == QUARANTINED:
        made = f", made of {', '.join(change.because)}" if change.because else ""
        word = "Held also in quarantine" if change.before == change.after else f"From {change.before} into quarantine"
        return f"{word} {place}{made}"
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
