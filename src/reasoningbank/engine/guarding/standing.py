"""What a memory would be if nothing were in quarantine, read from the log of its states.

Quarantine, release and what became visible by them say nothing about the memory itself, so they are passed over; what
remains is what people, consolidations and age have made of it. A consolidation that was undone counts as if it had
never been, whatever the quarantine was meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from reasoningbank.domain.changes import CONSOLIDATED, PARTED, QUARANTINED, RELEASED, SURFACED, UNDONE, StateChange
from reasoningbank.domain.memory import Memory, State

_APART = frozenset({QUARANTINED, RELEASED, SURFACED})


class Standing(NamedTuple):
    """A state, and the memory that this one went into."""

    state: State
    merged: str | None


def standing_of(memory: Memory) -> Standing:
    """What the memory is now."""
    return Standing(memory.state, memory.consolidation_id)


def without_quarantine(memory: Memory, changes: Sequence[StateChange]) -> Standing:
    """What the memory would be now if nothing had ever been in quarantine.

    Args:
        memory: As it is.
        changes: Every change of its state, in the order they were written.
    """
    current = standing_of(memory)
    if changes:
        first = changes[0]
        current = Standing(first.after if first.before is None else first.before, first.merged_before)
    before_merge: dict[str, Standing] = {}
    for change in changes:
        if change.kind in _APART:
            if current.state == "quarantined" and change.before is not None and change.before != "quarantined":
                current = Standing(change.before, change.merged_before)
            continue
        if change.kind == PARTED:
            back = before_merge.get(change.reference, current)
            before_merge = {
                name: back if before.merged == change.reference else before for name, before in before_merge.items()
            }
            current = back if current.merged == change.reference else current
            continue
        if change.kind == CONSOLIDATED and change.merged_after is not None:
            before_merge[change.merged_after] = current
        inside = current.state == "archived" and current.merged is not None
        if change.kind == UNDONE and inside and current.merged == change.reference:
            current = before_merge.get(change.reference, Standing("candidate", None))
        elif change.after != "quarantined":
            current = Standing(change.after, change.merged_after)
        elif change.merged_before != change.merged_after:
            current = Standing(current.state, change.merged_after)
    if current.state == "quarantined":
        return Standing("candidate", current.merged)
    return current
