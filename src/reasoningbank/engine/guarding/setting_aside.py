"""Quarantine of single memories inside a transaction, and what holds a memory in quarantine.

The log of state changes is the register of quarantines. An entry ``quarantined`` with a reference holds the memory in
that quarantine, an entry ``released`` with the same reference lets it go; a memory stays in quarantine as long as any
quarantine holds it. A state that was set by hand holds it too, in a quarantine without a name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from reasoningbank.domain.changes import QUARANTINED, RELEASED, Cause, StateChange, change_of
from reasoningbank.domain.identity import new_id
from reasoningbank.domain.memory import Memory
from reasoningbank.errors import MemoryNotFound
from reasoningbank.ports import StoreReader, Transaction


def set_aside(transaction: Transaction, memory_ids: Iterable[str], *, reason: str, at: datetime) -> tuple[str, ...]:
    """Puts memories into a quarantine of their own, without anything that was made of them.

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
        memory = transaction.get(memory_id)
        if memory.state != "quarantined":
            hold(transaction, memory, cause)
            changed.append(memory_id)
    return tuple(changed)


def hold(transaction: Transaction, memory: Memory, cause: Cause) -> bool:
    """Holds a memory in the quarantine that the cause names; False when that holds it already for the same reasons."""
    held = holding(transaction.changes(memory_id=memory.id)).get(cause.reference)
    if held is not None and held.because == cause.because:
        return False
    if memory.state == "quarantined":
        transaction.note(change_of(memory, memory, cause))
    else:
        transaction.update_state(replace(memory, state="quarantined"), cause=cause)
    return True


def holding(changes: Sequence[StateChange]) -> dict[str, StateChange]:
    """The quarantines that hold a memory now, oldest first, each with the entry that says why.

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


def existing(reader: StoreReader, memory_id: str) -> Memory | None:
    """The memory; None when there is none."""
    try:
        return reader.get(memory_id)
    except MemoryNotFound:
        return None
