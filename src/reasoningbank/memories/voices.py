"""How much of what an agent says of a memory counts: one voice for each principal (DESIGN D5, D16).

A voice is the weight of one rating. A principal that knows a memory independently has one for it and one against it,
however many sessions it names and whatever they say: ratings and outcomes of its sessions are one voice together, and
all its uses are one use.
All other principals, those that never were shown the memory and the one that it comes from included, share one voice
for it and one against it. What a person says is not limited.

A memory that a person vouches for, or that is confirmed, is held at the threshold of the proven list against one
principal. Take away everything that agents say against it, and everything that those who speak against it have said for
it. When the rest is proven, then what is said against it weighs at most so much that the rest stays proven. The rule
looks at no order, it lowers no signal below zero, so a word against never raises, and what is granted is stored with
the signal, so that the confidence follows from the log. Two independent principals, or a person, are not held back. In
a team or an org all agents of one project count as one there. The rule holds after each change of the evidence: when
praise is taken back, or the second of two voices is silenced, what is left of one weighs less (``evidence.bounded``).

To keep the score as it is and the memory in the list would have been the other way; then a list of memories of at least
0.7 would hold some that have less (docs/decisions/0023).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reasoningbank.errors import PolicyError
from reasoningbank.memories.standing import (
    independent,
    is_program_of_an_agent,
    name_of,
    side_of,
    speaker,
    speaking_session,
)
from reasoningbank.storage.store import StoreReader
from reasoningbank.types.belief import MIN_CONFIDENCE, Belief
from reasoningbank.types.consolidation import is_consolidated
from reasoningbank.types.memory import HEARD, SILENCED, Memory
from reasoningbank.types.quarantine import QuarantineSelection
from reasoningbank.types.records import Given, Idle, Voices
from reasoningbank.types.signal import AGENTS, SIGNAL_TYPES, Signal
from reasoningbank.types.standing import standing_in

_ENOUGH = 2
"""Independent principals that take a memory out of the proven list together."""
_HELD = frozenset({"vouched", "confirmed"})


def is_limited(signal: Signal | Given) -> bool:
    """Return whether an agent says so."""
    return signal.rater in AGENTS and signal.type in SIGNAL_TYPES


def room_for(memory: Memory, signal: Signal, known: Voices, voice: int) -> int:
    """Return the most that a signal of an agent may weigh, in billionths.

    Args:
        memory: What it speaks of.
        signal: What is said.
        known: What was said before, and by whom.
        voice: What a voice weighs, in billionths.
    """
    given: list[Signal | Given] = [*known.signals, *known.rolled]
    said = [each for each in given if is_limited(each)]
    same = [each for each in said if each.positive == signal.positive]
    free = independent(memory, [*same, signal], known)
    speaker = known.principal(signal.session)
    if signal.type == "usage":
        room = 0 if _has_used(memory, signal, same, known) else voice
    elif speaker in free:
        room = voice - _weight(each for each in same if known.principal(each.session) == speaker)
    else:
        room = voice - _weight(each for each in same if known.principal(each.session) not in free)
    if signal.positive and memory.state == "candidate" and memory.confidence < MIN_CONFIDENCE:
        room = min(room, voice * max(1, len(free)) - sum(each.weight or 0 for each in same))
    if not signal.positive:
        room = min(room, _room_against(memory, signal, said, known, room))
    return max(0, room)


def is_held(memory: Memory | Idle) -> bool:
    """Return whether one principal alone does not take the memory out of the proven list."""
    return standing_in(memory.provenance) in _HELD


def is_silenced(reader: StoreReader, session: str) -> bool:
    """Return whether a person's quarantine of a session, or of its client, keeps what it says from counting now.

    What is in such a quarantine is in the log of state changes under a name that follows from what it selects. One that
    selects by more than session and client names what had been said until then alone.

    Args:
        reader: Where it is said.
        session: As it is named there.
    """
    principal = name_of(reader.evidence.principal_of(session)) or session
    selections = (
        QuarantineSelection(session=session),
        QuarantineSelection(principal=principal),
        QuarantineSelection(session=session, principal=principal),
    )
    for name in (each.quarantine_id(cascade=cascade) for each in selections for cascade in (True, False)):
        silent: set[str] = set()
        for change in reader.memories.changes(reference=name):
            if change.kind == SILENCED:
                silent.add(change.memory_id)
            elif change.kind == HEARD:
                silent.discard(change.memory_id)
        if silent:
            return True
    return False


def refuse_held(memories: Iterable[Memory], therefore: str, command: str) -> None:
    """Refuse that an agent takes away what a person stands by or what is confirmed; anything else passes.

    Args:
        memories: What would be taken away.
        therefore: What does not happen, for the message.
        command: What a person runs instead; ``ID`` in it is the memory's.

    Raises:
        PolicyError: When one of them stands higher than a claim or a recipe.
    """
    if kept := [memory for memory in memories if is_held(memory)]:
        why = "a person stands by it" if kept[0].standing == "vouched" else "it is confirmed"
        raise _refusal(kept, why, therefore, command)


def spoken_by(reader: StoreReader, principal: str) -> set[str]:
    """Return the sessions that a principal has named in a bank; of a team or an org in any project."""
    return {name for name, known in reader.evidence.principals().items() if name_of(known) == principal}


def of_others(reader: StoreReader, memories: Iterable[Memory]) -> list[Memory]:
    """Return those of the memories that another client recorded than the one that speaks now; none for a person.

    A merge is never one client's own.
    """
    if not speaker():
        return []
    selection = QuarantineSelection(principal=speaker())
    sessions = spoken_by(reader, speaker()) | ({speaking_session()} - {""})

    def is_own(memory: Memory) -> bool:
        return not is_consolidated(memory) and selection.covers(
            memory, reader.sessions.origins(memory_id=memory.id), sessions
        )

    return [memory for memory in memories if not is_own(memory)]


def refuse_taking(reader: StoreReader, memories: Iterable[Memory], therefore: str, command: str) -> None:
    """Refuse that an agent takes away what is not its own to take; anything else passes.

    That is what a person stands by or what is confirmed, and for an agent's program what another client recorded. A
    tool or a route that takes memories away is only where a person has let a client use it.

    Args:
        reader: Where the memories are.
        memories: What would be taken away.
        therefore: What does not happen, for the message.
        command: What a person runs instead; ``ID`` in it is the memory's.

    Raises:
        PolicyError: When one of them is such.
    """
    taken = list(memories)
    refuse_held(taken, therefore, command)
    if is_program_of_an_agent() and (others := of_others(reader, taken)):
        raise _refusal(others, "another client recorded it", therefore, command)


def _refusal(memories: Sequence[Memory], why: str, therefore: str, command: str) -> PolicyError:
    first = memories[0]
    more = f" (and {len(memories) - 1} more like it)" if len(memories) > 1 else ""
    return PolicyError(
        f"memory {first.id[:80]!r}{more} is not an agent's to take away: {why}. {therefore}",
        hint=f"A person does it with `{command.replace('ID', first.id)}`. Where it misled you, rate it as unhelpful.",
    )


def _room_against(memory: Memory, signal: Signal, said: Sequence[Signal | Given], known: Voices, otherwise: int) -> int:
    """Return the most that may be said against a memory that is held; for any other memory what else holds."""
    against: list[Signal | Given] = [each for each in said if not each.positive]
    most = _most_against(memory, [*against, signal], said, known)
    return otherwise if most is None else most - _total(against)


def excess(memory: Memory, known: Voices) -> int:
    """Return by how much, in billionths, agents say more against a memory than one principal alone may (0: no more).

    What was granted to them was measured by what spoke for it then, and by who else spoke against it. Both may be gone.

    Args:
        memory: What they speak of, with the evidence and the standing that it has now.
        known: What is said of it now, and by whom.
    """
    given: list[Signal | Given] = [*known.signals, *known.rolled]
    said = [each for each in given if is_limited(each)]
    against = [each for each in said if not each.positive and each.weight]
    most = _most_against(memory, against, said, known) if against else None
    return 0 if most is None else max(0, _total(against) - most)


def _most_against(
    memory: Memory, against: Sequence[Signal | Given], said: Sequence[Signal | Given], known: Voices
) -> int | None:
    """Return what all that agents say against a memory may weigh together; None when that is not bounded."""
    if not is_held(memory):
        return None
    sides = {side_of(each) for each in independent(memory, against, known)}
    if len(sides) >= _ENOUGH:
        return None
    speakers = {known.principal(each.session) for each in against}
    belief = memory.belief
    taken = _total(each for each in said if not each.positive)
    spoken = _total(each for each in said if each.positive and known.principal(each.session) in speakers)
    rest = Belief(
        prior=belief.prior, positive=max(0, belief.positive - spoken), negative=max(0, belief.negative - taken)
    )
    return None if rest.score < MIN_CONFIDENCE else rest.room_against(MIN_CONFIDENCE)


def _total(signals: Iterable[Signal | Given]) -> int:
    return sum(each.weight or 0 for each in signals)


def _has_used(memory: Memory, signal: Signal, said: Sequence[Signal | Given], known: Voices) -> bool:
    """Return whether who speaks, or one that shares its voice, has used the memory before in a way that counts."""
    uses = [each for each in said if each.type == "usage" and each.weight]
    heard = independent(memory, [*uses, signal], known, uses=True)
    speaker = known.principal(signal.session)
    spoke = {known.principal(each.session) for each in uses}
    return speaker in spoke if speaker in heard else bool(spoke - heard)


def _weight(signals: Iterable[Signal | Given]) -> int:
    """Return what signals weigh together; uses are counted apart."""
    return sum(each.weight or 0 for each in signals if each.type != "usage")
