"""Tell what a session says again that it was shown: an echo is not a second witness (DESIGN D5, D16).

What a session records after it, or another session of its transport, was shown nearly the same, or the same with less
beside it, stays a candidate, has nothing counted for it by agents, and goes into quarantine with the memory that it
repeats. What says the same in other words is not told: at the cosine that finds 10 of 24 such texts, 27 of 200 lessons
of other people would be called an echo of one of their five nearest.
"""

from __future__ import annotations

from dataclasses import replace

from reasoningbank.memories.admission import Ready, lowered
from reasoningbank.memories.similarity import is_near, is_retold
from reasoningbank.memories.states import hold, holding
from reasoningbank.storage.store import Store, Transaction
from reasoningbank.types.memory import QUARANTINED, Cause, Memory
from reasoningbank.types.recall import CONTENT_LEG, Filter
from reasoningbank.types.records import Link
from reasoningbank.types.standing import ECHO_OF

_NEIGHBOURS = 64
"""So many of the closest memories are looked at: a lesson with another text beside it is not the very closest."""
_COMPARED = Filter(states=("active", "candidate", "quarantined"))


def as_echo(store: Store, ready: Ready, session: str, transport: str) -> Ready:
    """Return what a session records; as an echo when it was shown nearly the same before.

    Args:
        store: The bank.
        ready: What is recorded.
        session: Where.
        transport: Who speaks there; empty when the session stands for itself.
    """
    original = _original(store, ready, {session, transport} - {""})
    if original is None:
        return ready
    memory = replace(
        lowered(ready.memory),
        state="candidate" if ready.memory.state == "active" else ready.memory.state,
        provenance={**ready.memory.provenance, ECHO_OF: original.provenance.get(ECHO_OF, original.id)},
    )
    return replace(ready, memory=memory, judged=None if ready.judged is None else memory)


def note_echo(transaction: Transaction, memory: Memory) -> Memory:
    """Link a stored echo with what it repeats, and hold it with that; return it as it is then."""
    if ECHO_OF not in memory.provenance:
        return memory
    for known in transaction.memories.many([memory.provenance[ECHO_OF]]).values():
        transaction.memories.link(Link(source=memory.id, target=known.id, kind=ECHO_OF))
        held = holding(transaction.memories.changes(memory_id=known.id)) if known.state == "quarantined" else {}
        for reference, entry in held.items():
            cause = Cause(
                at=entry.at,
                kind=QUARANTINED,
                reference=reference,
                reason=entry.reason,
                by=entry.by,
                because=(known.id,),
            )
            hold(transaction, transaction.memories.get(memory.id), cause)
    return transaction.memories.get(memory.id)


def _original(store: Store, ready: Ready, speakers: set[str]) -> Memory | None:
    """Return the closest memory that this says again and that was shown to one of these before."""
    memory, indexed = ready.memory, ready.indexed
    near = store.search.nearest(CONTENT_LEG, indexed.vectors[CONTENT_LEG], _COMPARED, _NEIGHBOURS)
    scores = {each.id: each.score for each in near}
    known = store.memories.many(list(scores), texts=[memory.fingerprint])
    alike = [
        each
        for each in known.values()
        if each.state != "archived"
        and (is_near(memory, each, scores.get(each.id, 0.0), indexed.model_id) or is_retold(memory, each))
    ]
    if not alike:
        return None
    voices = store.evidence.voices([each.id for each in alike])
    heard = [
        each
        for each in alike
        if any(name in speakers or voices[each.id].principal(name) in speakers for name in voices[each.id].shown)
    ]
    return max(heard, key=lambda each: scores.get(each.id, 1.0), default=None)
