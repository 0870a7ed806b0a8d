"""How much agents may say for a memory that has to prove itself (DESIGN D10: promotion needs independent evidence).

A candidate below the threshold of the proven list is believed by one voice more for each independent session that spoke
for it with a rating or an outcome. A session is independent when the bank showed it the memory, or when it taught the
same lesson by itself, and when it is not the session the memory was learned from. Everything else that agents say for
it, deliveries and the votes of sessions that never saw it included, is one voice together: so one session, under
whatever names and however often it votes, never makes a candidate proven. What a person says, what speaks against a
memory, and what is said of a memory that is proven or that somebody recorded counts as it is.
"""

from __future__ import annotations

from dataclasses import replace

from reasoningbank.domain.belief import MIN_CONFIDENCE, to_units
from reasoningbank.domain.memory import Memory
from reasoningbank.domain.signal import SIGNAL_TYPES, Signal
from reasoningbank.ports import Transaction


def granted(transaction: Transaction, memory: Memory, signal: Signal) -> Signal:
    """The signal with as much of its weight as still counts; nothing changes for one that is not limited."""
    if not signal.positive or signal.rater != "agent" or signal.type not in SIGNAL_TYPES:
        return signal
    if memory.state != "candidate" or memory.confidence >= MIN_CONFIDENCE:
        return signal
    given = [
        each
        for each in transaction.signals(memory.id)
        if each.positive and each.rater == "agent" and each.type in SIGNAL_TYPES
    ]
    weights = transaction.weights()
    voice = max(to_units(weights.weight_for(kind)) for kind in SIGNAL_TYPES)
    room = voice * max(1, len(_independent(transaction, memory, [*given, signal])))
    room -= sum(each.weight or 0 for each in given)
    return replace(signal, weight=min(signal.weight or 0, max(0, room)))


def _independent(transaction: Transaction, memory: Memory, given: list[Signal]) -> set[str]:
    """The sessions that spoke for the memory, other than by being shown it, and know it independently."""
    spoke = {each.session for each in given if each.type != "usage" and each.session}
    shown = {each.session for each in given if each.type == "usage"}
    origins = transaction.origins(memory_id=memory.id)
    again = {origin.session for origin in origins if origin.kind == "corroborated"}
    taught = {origin.session for origin in origins if origin.kind == "distilled"}
    return (spoke & (shown | again)) - taught - {memory.provenance.get("session", "")}
