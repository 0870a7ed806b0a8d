"""Evidence belongs to a version of a text: what an agent makes of it beyond recognition is a memory of its own.

A change that says nearly the same changes the memory, whose evidence still speaks for it. Any other change by an agent,
and every change by an agent of what stands higher than a claim or of what another client was shown, becomes a memory of
its own: a claim without evidence, linked with what it was made of. One changed word may turn a text round, and what
others did with the text that they were shown says nothing of it. So does what a file says that nobody stands by. The
earlier text stays what it is, with its evidence, when it stands higher than a claim, or when an agent rewrites what
another client recorded; else it is archived, where a person finds it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from reasoningbank.memories.admission import (
    RULES,
    EnteredBy,
    Ready,
    admit,
    content_text,
    entered,
    held,
    same_words,
)
from reasoningbank.memories.similarity import cosine_similarity, is_near
from reasoningbank.memories.standing import PRINCIPAL, speaker, spoken_through, voices_of
from reasoningbank.storage.store import StoreReader, Transaction
from reasoningbank.types.belief import DISTILLED_CONFIDENCE, Belief
from reasoningbank.types.memory import SUPERSEDED, Cause, Memory, new_id
from reasoningbank.types.ports import Embedder
from reasoningbank.types.recall import CONTENT_LEG
from reasoningbank.types.records import Link
from reasoningbank.types.standing import ENTRIES, SESSION, SOURCE, TRAJECTORY

if TYPE_CHECKING:
    from reasoningbank.context import Context

VERSION_OF = "version_of"
"""The entry, and the kind of link, that names the memory whose text an agent has changed."""
_OF_THE_WRITER = ENTRIES | {SOURCE, SESSION, PRINCIPAL, TRAJECTORY}
"""Entries that say who wrote the earlier text: what another writes is not theirs, and is not held with theirs."""


def apart(
    changes: Sequence[tuple[Memory, Ready]],
    embedder: Embedder,
    *,
    origin: EnteredBy,
    said: Mapping[str, str],
    reader: StoreReader | None = None,
) -> list[Ready | None]:
    """Return for each change of an agent the memory of its own that it becomes; None for one that changes the memory.

    Args:
        changes: Memories as they are, each with the change as ``prepare_edits`` made it ready.
        embedder: Makes the vectors that tell what is nearly the same.
        origin: Through what it comes: an agent, or a file that an agent writes.
        said: The entries of the provenance that say who says it.
        reader: The bank, where it counts whom the memory was shown to; None where it does not.
    """
    return [
        _made(old, ready, origin, said)
        if reader is not None and not same_words(old, ready.memory) and _is_known_to_others(reader, old, said)
        else _apart(old, ready, embedder, origin, said)
        for old, ready in changes
    ]


def by_agent(old: Memory, ready: Ready, context: Context) -> Ready | None:
    """Return the memory of its own that a change of the agent who speaks becomes; None when it changes the memory.

    Args:
        old: The memory as it is.
        ready: The change.
        context: The bank.
    """
    spoken = speaker()
    said = {SOURCE: spoken_through(), SESSION: context.session} | ({PRINCIPAL: spoken} if spoken else {})
    (own,) = apart([(old, ready)], context.embedder, origin="agent", said=said, reader=context.store())
    return own


def _is_known_to_others(reader: StoreReader, memory: Memory, said: Mapping[str, str]) -> bool:
    """Return whether another client than the one that speaks was shown a memory."""
    known = voices_of(reader, [memory], said.get(SESSION, ""))[memory.id]
    own = {speaker(), known.principal(said.get(SESSION, ""))}
    return bool({known.principal(session) for session in known.shown} - own)


def unspaced(old: Memory, new: Memory) -> Memory:
    """Return what an agent makes of a memory, with the old words where it has only set them apart in another way.

    Only what stands higher than a claim keeps them: no second memory is made that says the same.
    """
    if old.standing == "claim" or _letters(old) != _letters(new):
        return new
    return replace(new, title=old.title, description=old.description, content=old.content, tokens=old.tokens)


def _letters(memory: Memory) -> list[str]:
    return ["".join(text.split()) for text in (memory.title, memory.description, memory.content)]


def put_apart(
    transaction: Transaction,
    old: Memory,
    ready: Ready,
    *,
    at: datetime,
    by: str,
    writer: str = "An agent",
    stays: bool = False,
) -> Memory:
    """Store the memory that a change has become, and archive the earlier text when it was the writer's own claim.

    Args:
        transaction: Where it is stored.
        old: The memory as it is now, with the provenance that it is to have.
        ready: From ``apart``.
        at: When.
        by: Who changes it.
        writer: Who has written it, for the log.
        stays: Whether the earlier text stays also as a claim, because it is not the writer's to take away.
    """
    memory = admit(transaction, ready, at=at)
    transaction.memories.link(Link(source=memory.id, target=old.id, kind=VERSION_OF))
    if old.standing == "claim" and memory.state != "quarantined" and not stays:
        cause = Cause(at=at, kind=SUPERSEDED, reason=f"{writer} wrote memory {memory.id} in its place.", by=by)
        transaction.memories.update_state(replace(old, state="archived"), cause=cause)
    elif old != transaction.memories.get(old.id):
        transaction.memories.update_state(old)
    return memory


def _apart(old: Memory, ready: Ready, embedder: Embedder, origin: EnteredBy, said: Mapping[str, str]) -> Ready | None:
    new = ready.memory
    if same_words(old, new):
        return None
    if old.standing == "claim":
        (vector,) = embedder.embed_documents([content_text(old)])
        cosine = cosine_similarity(ready.indexed.vectors[CONTENT_LEG], vector)
        if is_near(new, old, cosine, embedder.model_id):
            return None
    return _made(old, ready, origin, said)


def _made(old: Memory, ready: Ready, origin: EnteredBy, said: Mapping[str, str]) -> Ready:
    """Return the memory of its own that a change becomes."""
    new = ready.memory
    kept = {key: text for key, text in new.provenance.items() if key not in _OF_THE_WRITER}
    made = entered(
        replace(
            new,
            id=new_id(),
            version=1,
            state="candidate" if origin == "import" else "active",
            belief=Belief.starting_at(DISTILLED_CONFIDENCE if origin == "import" else RULES[origin].confidence),
            usage_count=0,
            last_used=None,
            consolidation_id=None,
            created_at=new.updated_at,
            provenance={**kept, **said, VERSION_OF: old.id},
        ),
        origin,
    )
    made = held(made)
    return replace(ready, memory=made, origin=origin, passed=False, judged=made)
