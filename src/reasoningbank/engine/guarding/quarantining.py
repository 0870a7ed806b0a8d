"""Into quarantine and out of it, inside one transaction of one bank.

A memory's state follows from two things: what the log says of it without any quarantine (module ``standing``), and what
holds it now. So a release computes the state again instead of copying an old one back: whatever happened meanwhile,
evidence, edits, an undo, has its place in it, and when nothing happened the memory is what it was.

A source that was archived because it went into a consolidation is visible again while that consolidation is in a
quarantine that reaches further than single memories; it is then in no consolidation, so that everything may be done
with it. When the consolidation is released it takes its sources back. One whose sources went elsewhere meanwhile stays
archived, because its evidence would count twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from reasoningbank.domain.changes import PARTED, RELEASED, SURFACED, Cause, StateChange, change_of
from reasoningbank.domain.memory import Memory
from reasoningbank.domain.quarantine import SPREADING
from reasoningbank.domain.recall import Filter
from reasoningbank.engine.consolidating.writing import sources_of
from reasoningbank.engine.guarding.setting_aside import existing, hold, holding
from reasoningbank.engine.guarding.standing import Standing, standing_of, without_quarantine
from reasoningbank.ports import StoreReader, Transaction

ARCHIVED = "archived"
"""The kind of change by which a consolidation stays archived that cannot come back."""
_VISIBLE = Filter().states


@dataclass(slots=True)
class Settled:
    """What a change of a quarantine did to a bank."""

    changed: list[str] = field(default_factory=list)
    surfaced: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)
    kept: list[tuple[str, str]] = field(default_factory=list)


def isolate(transaction: Transaction, members: Mapping[str, Sequence[str]], cause: Cause) -> Settled:
    """Holds memories in the quarantine that the cause names; a second time changes nothing.

    Args:
        transaction: Where it is written.
        members: Ids of the bank's memories, each with the memories it was made of that are in quarantine.
        cause: Who, when and why; its reference is the quarantine's id.

    Members that are gone are passed over.
    """
    done = Settled()
    for memory_id, because in members.items():
        memory = existing(transaction, memory_id)
        if memory is not None and hold(transaction, memory, replace(cause, because=tuple(sorted(because)))):
            done.changed.append(memory_id)
    if cause.reference.startswith(SPREADING):
        for source in _sources(transaction, members):
            if source.id not in members:
                _settle(transaction, source, replace(cause, kind=SURFACED), done)
    return done


def let_go(transaction: Transaction, memory_ids: Iterable[str], cause: Cause) -> Settled:
    """Ends the hold of the quarantine that the cause names on these memories, and gives each the state it is due.

    Args:
        transaction: Where it is written.
        memory_ids: Memories of the bank; those that the quarantine does not hold are passed over.
        cause: Who, when and why; its reference is the quarantine's id, empty for a state that was set by hand.
    """
    done = Settled()
    let: list[Memory] = []
    for memory_id in dict.fromkeys(memory_ids):
        memory = existing(transaction, memory_id)
        if memory is not None and cause.reference in holding(transaction.changes(memory_id=memory_id)):
            transaction.note(change_of(memory, memory, cause))
            let.append(memory)
    affected = {memory.id: memory for memory in (*let, *_sources(transaction, [memory.id for memory in let]))}
    for memory in sorted(affected.values(), key=lambda each: _depth(transaction, each)):
        _settle(transaction, transaction.get(memory.id), replace(cause, kind=RELEASED), done)
    return done


def due(reader: StoreReader, memory: Memory) -> Standing:
    """What the memory's state is to be now, with every quarantine and consolidation as it is."""
    changes = reader.changes(memory_id=memory.id)
    if holding(changes):
        return Standing("quarantined", memory.consolidation_id)
    natural = without_quarantine(memory, changes)
    if natural.merged is None:
        return natural
    into = existing(reader, natural.merged)
    if into is None:
        return _left_alone(natural, changes)
    if natural.state == "archived" and _is_out(reader, into):
        return Standing(sources_of(into).get(memory.id, "candidate"), None)
    return natural


def _settle(transaction: Transaction, memory: Memory, cause: Cause, done: Settled) -> None:
    """Gives a memory the state it is due, and notes what that was."""
    wanted = due(transaction, memory)
    if wanted == standing_of(memory):
        if wanted.state == "quarantined" and cause.kind == RELEASED:
            done.kept.append((memory.id, "another quarantine holds it"))
        return
    if memory.state == "quarantined" and wanted.state in _VISIBLE and (gone := _taken(transaction, memory)):
        _retire(transaction, memory, gone, cause, done)
        return
    shown = memory.state == "archived" and wanted.state in _VISIBLE
    kind = SURFACED if shown else RELEASED
    transaction.update_state(
        replace(memory, state=wanted.state, consolidation_id=wanted.merged), cause=replace(cause, kind=kind)
    )
    if shown:
        done.surfaced.append(memory.id)
    elif memory.state == "quarantined":
        done.changed.append(memory.id)
    else:
        done.hidden.append(memory.id)


def _retire(transaction: Transaction, memory: Memory, gone: Memory, cause: Cause, done: Settled) -> None:
    """Archives a consolidation that cannot come back, and lets its sources be what they are without it."""
    reason = f"its source {gone.id} went into {gone.consolidation_id} meanwhile"
    transaction.update_state(replace(memory, state="archived"), cause=replace(cause, kind=ARCHIVED, reason=reason))
    done.kept.append((memory.id, reason))
    for name in sources_of(memory):
        source = existing(transaction, name)
        if source is not None:
            transaction.note(change_of(source, source, replace(cause, kind=PARTED, reference=memory.id)))


def _taken(reader: StoreReader, memory: Memory) -> Memory | None:
    """A source of a consolidation that went into another one meanwhile."""
    for name in sources_of(memory):
        source = existing(reader, name)
        if source is not None and source.consolidation_id not in {None, memory.id}:
            return source
    return None


def _is_out(reader: StoreReader, into: Memory) -> bool:
    """Whether a consolidation would be visible, were it or what it went into not in a quarantine that spreads."""
    if into.state != "quarantined":
        return False
    changes = reader.changes(memory_id=into.id)
    if not any(name.startswith(SPREADING) for name in holding(changes)):
        return False
    natural = without_quarantine(into, changes)
    if natural.state in _VISIBLE:
        return True
    further = None if natural.merged is None else existing(reader, natural.merged)
    return further is not None and _is_out(reader, further)


def _left_alone(natural: Standing, changes: Sequence[StateChange]) -> Standing:
    """The state of a source whose consolidation was erased: as visible as it was when that happened."""
    for change in reversed(changes):
        if change.kind == SURFACED and change.merged_before == natural.merged:
            return Standing(change.after, None)
    return natural


def _sources(reader: StoreReader, memory_ids: Iterable[str]) -> list[Memory]:
    """The sources of those of these memories that are consolidations, the outermost consolidation's first."""
    found: dict[str, Memory] = {}
    for memory_id in memory_ids:
        memory = existing(reader, memory_id)
        for name in sources_of(memory) if memory is not None else ():
            source = existing(reader, name)
            if source is not None:
                found[name] = source
    return sorted(found.values(), key=lambda each: _depth(reader, each))


def _depth(reader: StoreReader, memory: Memory) -> int:
    """How many consolidations the memory lies in."""
    depth, passed = 0, {memory.id}
    current: Memory | None = memory
    while current is not None:
        into = without_quarantine(current, reader.changes(memory_id=current.id)).merged
        if into is None or into in passed:
            return depth
        passed.add(into)
        depth, current = depth + 1, existing(reader, into)
    return depth
