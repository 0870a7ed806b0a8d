"""Putting a reviewed text into a wider scope, and taking it out again; both sides keep their links.

Two banks cannot be written in one transaction. The wider bank is written first, the memory with its links to all
sources at once; then each source's bank gets its link back. Who is stopped in between leaves a promoted memory whose
sources do not name it yet: promoting the same sources again adds the missing links and makes no second memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from reasoningbank.domain.belief import Belief
from reasoningbank.domain.changes import Cause
from reasoningbank.domain.consolidation import CONTRADICTS
from reasoningbank.domain.memory import Memory
from reasoningbank.domain.recall import Filter
from reasoningbank.domain.sharing import (
    PROMOTED,
    PROMOTED_FROM,
    PROMOTED_TO,
    GeneralText,
    Promotion,
    PromotionCandidate,
    PromotionSource,
    Reference,
)
from reasoningbank.engine.sharing.candidates import known_as
from reasoningbank.engine.tokens import count_tokens
from reasoningbank.errors import InvalidInput, StoreBusy
from reasoningbank.memories.admission import admit, prepare
from reasoningbank.ports import Embedder, Link, Store, StoreReader

REVIEWER = "reviewer"
"""The entry of a promoted memory's provenance that names who approved it."""
DEMOTED = "demoted"
_RECALLABLE = Filter().states


def promoted_as(wider: Store, sources: Sequence[PromotionSource]) -> Memory | None:
    """The wider scope's memory that was promoted from all of these sources.

    Raises:
        InvalidInput: When some of them are behind a memory that others are not behind.
    """
    found: dict[str, set[str]] = {}
    for source in sources:
        reference = str(source.reference)
        for link in wider.links(reference):
            if link.kind == PROMOTED_FROM:
                found.setdefault(link.source, set()).add(reference)
    living = [memory for memory in wider.many(list(found)).values() if memory.state in _RECALLABLE]
    whole = [memory for memory in living if len(found[memory.id]) == len(sources)]
    if living and not whole:
        raise InvalidInput(
            f"{living[0].id} was promoted from some of these memories already",
            hint="Promote the others by themselves, or demote that one first.",
        )
    return whole[0] if whole else None


def put(
    wider: Store,
    embedder: Embedder,
    candidate: PromotionCandidate,
    text: GeneralText,
    *,
    reviewer: str,
    at: datetime,
) -> Memory:
    """Stores the memory in the wider scope with its links to the sources; the sources' banks are not written here.

    Raises:
        InvalidInput: When the wider scope knows nearly the same already.
        ModelMismatch: When the wider scope was built with another embedder.
    """
    provenance = {
        "source": PROMOTED,
        REVIEWER: reviewer,
        "written_by": text.source,
        "model": text.model,
        "prompt": text.prompt,
        "promoted_of": str(len(candidate.sources)),
    }
    memory = Memory(
        project=wider.scope.project,
        title=text.title,
        description=text.description,
        content=text.content,
        outcome=candidate.outcome,
        tags=text.tags,
        category=text.category,
        belief=Belief.starting_at(candidate.confidence),
        tokens=count_tokens(f"{text.title}\n{text.description}\n{text.content}"),
        provenance={name: value for name, value in provenance.items() if value},
        created_at=at,
        updated_at=at,
    )
    known = [source.memory for source in candidate.sources]
    (ready,) = prepare([memory], embedder, origin="promotion", known=known)
    vector = ready.indexed.vectors["content"]
    if wider.model_id is not None:
        same = known_as(wider, vector, memory.outcome, embedder.model_id)
        if same:
            raise InvalidInput(
                f"the {wider.scope.shown} knows nearly the same as {same}",
                hint="Edit that one with `rbank update`, or demote it first.",
            )
    with wider.transaction() as transaction:
        memory = admit(transaction, ready, at=at)
        for source in candidate.sources:
            transaction.link(Link(source=memory.id, target=str(source.reference), kind=PROMOTED_FROM))
        for opposite in candidate.conflicts:
            pair = (memory.id, opposite) if memory.outcome == "success" else (opposite, memory.id)
            transaction.link(Link(source=pair[0], target=pair[1], kind=CONTRADICTS))
    return memory


def check_unchanged(source: PromotionSource, store: StoreReader) -> Memory:
    """The source as it is now; its evidence may have grown, its text may not have changed.

    Raises:
        StoreBusy: When it was changed or set aside since it was proposed.
    """
    current = store.get(source.reference.id)
    if current.fingerprint != source.memory.fingerprint or current.state not in _RECALLABLE:
        raise StoreBusy(
            f"memory {source.reference.id} was changed since it was proposed", hint="Look at the proposal again."
        )
    return current


def link_back(store: Store, source: Reference, promoted: Reference) -> None:
    """Has a source name what was made of it; a second time changes nothing."""
    with store.transaction() as transaction:
        transaction.link(Link(source=source.id, target=str(promoted), kind=PROMOTED_TO))


def take_out(wider: Store, memory_id: str, *, by: str, reason: str, at: datetime) -> Memory:
    """Archives a promoted memory; its text, evidence and links stay, and so do its sources.

    Raises:
        InvalidInput: When it was not promoted, or cannot be recalled any more.
    """
    with wider.transaction() as transaction:
        memory = transaction.get(memory_id)
        if not sources_of(transaction, memory_id):
            raise InvalidInput(f"memory {memory_id} was not promoted", hint="Archive it with `rbank update`.")
        if memory.state not in _RECALLABLE:
            raise InvalidInput(f"memory {memory_id} is {memory.state} already")
        changed = replace(memory, state="archived", version=memory.version + 1, updated_at=at)
        cause = Cause(at=at, kind=DEMOTED, reference=memory_id, reason=reason, by=by)
        transaction.update_state(changed, revision=True, cause=cause)
    return changed


def sources_of(reader: StoreReader, memory_id: str) -> tuple[Reference, ...]:
    """What a memory was promoted from; empty for any other memory."""
    return tuple(
        Reference.parse(link.target)
        for link in reader.links(memory_id)
        if link.kind == PROMOTED_FROM and link.source == memory_id
    )


def described(
    memory: Memory, wider: Store, sources: Sequence[Reference], states: Mapping[Reference, str], *, created: bool
) -> Promotion:
    """A promoted memory and how its sources are.

    Args:
        memory: The memory.
        wider: Where it stands.
        sources: What it was made of.
        states: The state of each source that exists.
        created: Whether it was made just now.
    """
    return Promotion(
        memory=memory,
        level=wider.scope.level,
        name=wider.scope.project,
        sources=tuple(sources),
        reviewer=memory.provenance.get(REVIEWER, ""),
        doubtful=tuple(source for source in sources if states.get(source) == "quarantined"),
        gone=tuple(source for source in sources if states.get(source) in {None, "archived"}),
        created=created,
    )
