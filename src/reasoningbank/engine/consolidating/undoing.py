"""The way back: the sources as they were, and what was learned since on the memories that it speaks of.

Undoing erases the consolidated memory with its links and the copies of its sources' evidence, and gives each source its
state back. Nothing else of a source was ever changed, so when nothing happened since, the bank's export is what it was,
byte for byte.

Evidence that came since speaks of the text that was shown. It goes whole to the source whose text that was, when the
memory held it word for word; a model's text stands for all its sources alike, so every signal is divided equally among
them, the first ones taking the billionths that are left over. Either way the weights that move add up to exactly those
that came. So do rolled-up counts, whose numbers go to the first source. What was reported about an archived source
itself has stayed with it all along. Deliveries that came since are added to the usage count of the kept source, or of
the first one; sessions that corroborated the memory become origins of those that inherit.

A consolidated memory that was edited since is a memory of its own: it is archived with all its evidence, and nothing
moves. One that went into a further consolidation can only be undone after that one, one in quarantine after its
release.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from reasoningbank.domain.belief import Belief
from reasoningbank.domain.changes import UNDONE, Cause
from reasoningbank.domain.consolidation import UndoReport, is_consolidated
from reasoningbank.domain.identity import new_id
from reasoningbank.domain.learning import Origin
from reasoningbank.domain.memory import Memory
from reasoningbank.domain.signal import COUNTERS, Signal, SignalAggregate
from reasoningbank.engine.consolidating.union import (
    added,
    counts_once,
    from_text,
    is_copy,
    is_nothing,
    less,
)
from reasoningbank.engine.consolidating.writing import sources_of
from reasoningbank.errors import InvalidInput, MemoryNotFound
from reasoningbank.ports import Transaction


def take_apart(transaction: Transaction, consolidation_id: str, *, at: datetime) -> UndoReport:
    """Undoes a consolidation inside a transaction, at a time that the log of states names.

    Raises:
        MemoryNotFound: When there is no such memory.
        InvalidInput: When it was not made by a consolidation, was undone before, went into a further one, or is in
            quarantine.
    """
    memory = transaction.get(consolidation_id)
    states = sources_of(memory)
    if not is_consolidated(memory) or not states:
        raise InvalidInput(
            f"memory {consolidation_id[:80]!r} was not made by a consolidation",
            hint="Name a memory that `rbank consolidate` created.",
        )
    if memory.consolidation_id is not None:
        raise InvalidInput(
            f"memory {consolidation_id[:80]!r} went into {memory.consolidation_id}",
            hint=f"Undo {memory.consolidation_id} first.",
        )
    if memory.state == "quarantined":
        raise InvalidInput(
            f"memory {consolidation_id[:80]!r} is in quarantine",
            hint="Release it first; its sources that nothing is wrong with are visible meanwhile.",
        )
    cause = Cause(at=at, kind=UNDONE, reference=memory.id)
    sources = [
        source for name in states if (source := _existing(transaction, name)) and source.consolidation_id == memory.id
    ]
    if not sources:
        raise InvalidInput(
            f"no source of memory {consolidation_id[:80]!r} is left to be restored", hint="It was undone before."
        )
    restored = [
        replace(source, state=states[source.id] if source.state == "archived" else source.state, consolidation_id=None)
        for source in sources
    ]
    if memory.version > 1:
        for source in restored:
            transaction.update_state(source, cause=cause)
        transaction.update_state(replace(memory, state="archived"), cause=cause)
        return UndoReport(consolidation_id=memory.id, restored=tuple(each.id for each in restored), kept=True)
    moved = _moved(transaction, memory, restored)
    moved.origins = _taught_since(transaction, memory, restored)
    transaction.delete(memory.id, at=at)
    for source in moved.sources:
        transaction.update_state(source, cause=cause)
    for signal in moved.signals:
        if not (counts_once(signal) and transaction.add_signal(signal, once=True)):
            transaction.add_signal(signal)
    for aggregate in moved.aggregates:
        transaction.set_aggregate(aggregate)
    for origin in moved.origins:
        transaction.add_origin(origin)
    return UndoReport(
        consolidation_id=memory.id, restored=tuple(each.id for each in restored), moved_signals=moved.count
    )


class _Moved:
    """The sources with what came since, and the evidence that goes to them."""

    def __init__(self, sources: Sequence[Memory]) -> None:
        self.sources = list(sources)
        self.signals: list[Signal] = []
        self.aggregates: list[SignalAggregate] = []
        self.origins: list[Origin] = []
        self.count = 0


def _moved(transaction: Transaction, memory: Memory, sources: Sequence[Memory]) -> _Moved:
    moved = _Moved(sources)
    heirs = _heirs(memory, sources)
    signals = transaction.signals(memory.id)
    fresh = [signal for signal in signals if not is_copy(signal)]
    for signal in fresh:
        _share(moved, signal, heirs)
    rolled = less(transaction.aggregate(memory.id), from_text(memory.provenance["evidence"], memory.id, memory.project))
    for signal in signals:
        if is_copy(signal):
            rolled = rolled.add(signal)
    moved.count = len(fresh)
    if not is_nothing(rolled):
        _give(moved, rolled, transaction.aggregate(sources[heirs[0]].id), heirs[0])
        moved.count += sum(int(getattr(rolled, name)) for name in COUNTERS)
    _count_deliveries(moved, memory, heirs[0])
    return moved


def _heirs(memory: Memory, sources: Sequence[Memory]) -> list[int]:
    """The source whose text the memory had word for word, else all of them."""
    kept = memory.provenance.get("verbatim", "")
    return [number for number, source in enumerate(sources) if source.id == kept] or list(range(len(sources)))


def _taught_since(transaction: Transaction, memory: Memory, sources: Sequence[Memory]) -> list[Origin]:
    """The sessions that said the same since, as origins of the heirs: none of them can corroborate a second time."""
    known = set(sources_of(memory))
    known |= {origin.trajectory for name in known for origin in transaction.origins(memory_id=name)}
    fresh = [origin for origin in transaction.origins(memory_id=memory.id) if origin.trajectory not in known]
    heirs = [sources[number].id for number in _heirs(memory, sources)]
    return [replace(origin, memory_id=heir) for origin in fresh for heir in heirs]


def _share(moved: _Moved, signal: Signal, heirs: Sequence[int]) -> None:
    """Divides a signal's weight among the heirs, to the last billionth; a part of nothing is left out."""
    whole, rest = divmod(signal.weight or 0, len(heirs))
    for place, number in enumerate(heirs):
        weight = whole + (1 if place < rest else 0)
        source = moved.sources[number]
        name = signal.id if place == 0 else new_id()
        moved.signals.append(replace(signal, id=name, memory_id=source.id, weight=weight))
        belief = source.belief.with_evidence(positive=signal.positive, weight=weight)
        moved.sources[number] = replace(source, belief=belief)


def _give(moved: _Moved, rolled: SignalAggregate, own: SignalAggregate, heir: int) -> None:
    source = moved.sources[heir]
    moved.aggregates.append(added(own, rolled))
    belief = Belief(
        prior=source.belief.prior,
        positive=source.belief.positive + (rolled.positive or 0),
        negative=source.belief.negative + (rolled.negative or 0),
    )
    moved.sources[heir] = replace(source, belief=belief)


def _count_deliveries(moved: _Moved, memory: Memory, heir: int) -> None:
    since = memory.usage_count - int(memory.provenance.get("used", "0"))
    if since > 0:
        source = moved.sources[heir]
        used = max((each for each in (source.last_used, memory.last_used) if each is not None), default=None)
        moved.sources[heir] = replace(source, usage_count=source.usage_count + since, last_used=used)


def _existing(transaction: Transaction, memory_id: str) -> Memory | None:
    try:
        return transaction.get(memory_id)
    except MemoryNotFound:
        return None
