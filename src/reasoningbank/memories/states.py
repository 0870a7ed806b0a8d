"""Quarantine of single memories inside a transaction, and the state that a memory has without it.

Quarantine, release and what became visible by them say nothing about the memory itself, so they are passed over; what
remains is what people, consolidations and age have made of it. A consolidation that was undone counts as if it had
never been, whatever the quarantine was meanwhile.

The log of state changes is the register of quarantines. An entry ``quarantined`` with a reference holds the memory in
that quarantine, an entry ``released`` with the same reference lets it go; a memory stays in quarantine as long as any
quarantine holds it. A state that was set by hand holds it too, in a quarantine without a name.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from reasoningbank.errors import MemoryNotFound, MemoryQuarantined
from reasoningbank.safety.checks import brought_line
from reasoningbank.storage.store import StoreReader, Transaction
from reasoningbank.types.memory import (
    CONSOLIDATED,
    PARTED,
    QUARANTINED,
    RELEASED,
    SURFACED,
    UNDONE,
    Cause,
    Memory,
    State,
    StateChange,
    change_of,
    new_id,
)
from reasoningbank.types.standing import ECHO_OF

WITHHELD = "[withheld: in quarantine; a person reads it with `rbank quarantines`]"
"""What an agent gets instead of a text in quarantine."""
HELD = "held"
"""The entry of a memory's provenance that says why it was quarantined when it came."""
_APART = frozenset({QUARANTINED, RELEASED, SURFACED})


class Placement(NamedTuple):
    """A state, and the memory that this one went into."""

    state: State
    merged: str | None


def placement_of(memory: Memory) -> Placement:
    """Return what the memory is now."""
    return Placement(memory.state, memory.consolidation_id)


def without_quarantine(memory: Memory, changes: Sequence[StateChange]) -> Placement:
    """Return what the memory would be now if nothing had ever been in quarantine.

    Args:
        memory: As it is.
        changes: Every change of its state, in the order they were written.
    """
    current = placement_of(memory)
    if changes:
        first = changes[0]
        current = Placement(first.after if first.before is None else first.before, first.merged_before)
    before_merge: dict[str, Placement] = {}
    for change in changes:
        if change.kind in _APART:
            if current.state == "quarantined" and change.before is not None and change.before != "quarantined":
                current = Placement(change.before, change.merged_before)
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
            current = before_merge.get(change.reference, Placement("candidate", None))
        elif change.after != "quarantined":
            current = Placement(change.after, change.merged_after)
        elif change.merged_before != change.merged_after:
            current = Placement(current.state, change.merged_after)
    if current.state == "quarantined":
        return Placement("candidate", current.merged)
    return current


def set_aside(transaction: Transaction, memory_ids: Iterable[str], *, reason: str, at: datetime) -> tuple[str, ...]:
    """Put memories into a quarantine of their own, without anything that was made of them but their echoes.

    Args:
        transaction: Where it is written.
        memory_ids: The memories; those in quarantine already stay as they are.
        reason: Why, one line for a person.
        at: When.

    Returns:
        The ids of those that were not in quarantine, in the order given. ``release`` gives each its state back.

    Raises:
        MemoryNotFound: When there is no such memory.
    """
    cause = Cause(at=at, kind=QUARANTINED, reference=new_id(), reason=reason)
    changed: list[str] = []
    for memory_id in dict.fromkeys(memory_ids):
        memory = transaction.memories.get(memory_id)
        if memory.state != "quarantined":
            hold(transaction, memory, cause)
            changed.append(memory_id)
            for echo in echoes_of(transaction, memory_id):
                hold(transaction, echo, replace(cause, because=(memory_id,)))
    return tuple(changed)


def echoes_of(reader: StoreReader, memory_id: str) -> list[Memory]:
    """Return what sessions have recorded that were shown a memory and said nearly the same."""
    links = reader.memories.links(memory_id)
    names = [link.source for link in links if link.kind == ECHO_OF and link.target == memory_id]
    return list(reader.memories.many(names).values()) if names else []


def hold(transaction: Transaction, memory: Memory, cause: Cause) -> bool:
    """Hold a memory in the quarantine that the cause names; False when that holds it already for the same reasons."""
    held = holding(transaction.memories.changes(memory_id=memory.id)).get(cause.reference)
    if held is not None and held.because == cause.because:
        return False
    if memory.state == "quarantined":
        transaction.memories.note(change_of(memory, memory, cause))
    else:
        transaction.memories.update_state(replace(memory, state="quarantined"), cause=cause)
    return True


def holding(changes: Sequence[StateChange]) -> dict[str, StateChange]:
    """Return the quarantines that hold a memory now, oldest first, each with the entry that says why.

    Args:
        changes: Every change of that memory, in the order they were written.
    """
    held: dict[str, StateChange] = {}
    for change in changes:
        if change.kind == RELEASED:
            held.pop(change.reference, None)
        elif change.kind == QUARANTINED or (change.after == "quarantined" != change.before):
            held[change.reference if change.kind == QUARANTINED else ""] = change
    return held


def refuse_quarantined(reader: StoreReader, memory: Memory, therefore: str) -> None:
    """Refuse what an agent wants of a memory in quarantine; any other memory passes.

    Args:
        reader: The bank that holds it.
        memory: The memory.
        therefore: What does not happen, for the message.

    Raises:
        MemoryQuarantined: When it is in quarantine; the message says why and quotes nothing of its text.
    """
    if memory.state == "quarantined":
        hint = (
            f"A person reads it with `rbank get {memory.id}`, releases it with `rbank release --memory {memory.id}`, "
            f"erases it with `rbank delete {memory.id}`."
        )
        raise MemoryQuarantined(
            f"memory {memory.id[:80]!r} is in quarantine ({_why_quarantined(reader, memory)}): {therefore}", hint=hint
        )


def unquoted_reason(memory: Memory, change: StateChange) -> str:
    """Return the reason of a quarantine for an agent: of a finding of the gate without the words that it quotes."""
    found = memory.provenance.get(HELD, "")
    reason = change.reason.partition(":")[0] if found and found in change.reason else change.reason
    return brought_line(reason)


def _why_quarantined(reader: StoreReader, memory: Memory) -> str:
    """Return why a memory is in quarantine, without the words that a finding of the gate quotes."""
    if finding := brought_line(memory.provenance.get(HELD, "").partition(":")[0]):
        return f"its text {finding}"
    held = holding(reader.memories.changes(memory_id=memory.id)).values()
    reasons = filter(None, (unquoted_reason(memory, change).rstrip(".") for change in held))
    return "; ".join(dict.fromkeys(reasons)) or "a person knows why"


def existing(reader: StoreReader, memory_id: str) -> Memory | None:
    """Return the memory; None when there is none."""
    try:
        return reader.memories.get(memory_id)
    except MemoryNotFound:
        return None


def sources_of(memory: Memory) -> dict[str, State]:
    """Return the ids of a consolidated memory's sources and what state each was in; empty for any other memory."""
    found: Mapping[str, State] = json.loads(memory.provenance.get("sources", "{}"))
    return dict(found)
