"""The memories behind a promotion: which they are, how far they are believed together, and what is private of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from reasoningbank.domain.memory import Memory, Outcome
from reasoningbank.domain.recall import CONTENT_LEG, Filter
from reasoningbank.domain.scope import Membership, Scope
from reasoningbank.domain.sharing import CONFLICT_COSINE, PromotionCandidate, PromotionSource, Reference
from reasoningbank.engine.hygiene import reveal
from reasoningbank.engine.sharing.candidates import known_as
from reasoningbank.engine.sharing.private import Private
from reasoningbank.engine.sharing.promoting import sources_of
from reasoningbank.engine.sharing.trust import pooled_confidence
from reasoningbank.engine.similarity import cosine_similarity
from reasoningbank.errors import InvalidInput
from reasoningbank.ports import Store

_OPPOSITE: Mapping[Outcome, Outcome] = {"success": "failure", "failure": "success"}
_RECALLABLE = Filter().states


def candidate_of(
    target: Scope,
    members: Sequence[tuple[Store, str]],
    wider: Store | None,
    model_id: str,
    similarity: float | None,
) -> PromotionCandidate:
    """The candidate that these memories make, without a text.

    Args:
        target: Where it would go.
        members: Each memory's bank and id.
        wider: The bank of the target; None when it has none yet.
        model_id: The vector space.
        similarity: The least cosine of the memories; None to have it computed.

    Raises:
        InvalidInput: When they are of two outcomes, or one cannot be recalled.
    """
    held = [(store, store.get(memory_id)) for store, memory_id in members]
    if len({memory.outcome for _, memory in held}) > 1:
        raise InvalidInput("memories of opposite outcome are never promoted together")
    for _, memory in held:
        if memory.state not in _RECALLABLE:
            raise InvalidInput(f"memory {memory.id} is {memory.state} and cannot be promoted")
    vectors = [vector for store, memory in held if (vector := store.vector(CONTENT_LEG, memory.id)) is not None]
    if similarity is None:
        similarity = min((cosine_similarity(one, two) for one, two in combinations(vectors, 2)), default=1.0)
    opposite = _OPPOSITE[held[0][1].outcome]
    conflicts: list[str] = []
    if wider is not None and wider.model_id == model_id:
        conflicts = [known_as(wider, vector, opposite, model_id, CONFLICT_COSINE) for vector in vectors]
    return PromotionCandidate(
        level=target.level,
        name=target.project,
        sources=tuple(_source(store.scope, memory) for store, memory in held),
        similarity=similarity,
        confidence=pooled_confidence(held),
        conflicts=tuple(dict.fromkeys(one for one in conflicts if one)),
    )


def private_of(
    candidate: PromotionCandidate,
    banks: Mapping[Scope, Store],
    memberships: Mapping[str, Membership],
    *,
    people: Iterable[str],
    ordinary: Iterable[str],
) -> Private:
    """The names that no text of the candidate may hold.

    These are the names of the sources' projects, or of their teams and all of the teams' projects, and of what the
    sources themselves were promoted from.

    Args:
        candidate: What is to be promoted.
        banks: The sources' banks, by scope.
        memberships: By project.
        people: Names of users that are known.
        ordinary: Words that a person vouches for.
    """
    names: list[str] = []
    texts: list[str] = []
    for source in candidate.sources:
        names.append(source.reference.name)
        texts += (source.memory.title, source.memory.description, source.memory.content)
        store = next((bank for scope, bank in banks.items() if Reference.to(scope, "") == _place(source)), None)
        if store is not None:
            names += [below.name for below in sources_of(store, source.reference.id)]
        if source.reference.level == "team":
            names += [project for project, known in memberships.items() if known.team == source.reference.name]
    return Private.of(dict.fromkeys(names), texts, people=people, ordinary=ordinary)


def _place(source: PromotionSource) -> Reference:
    return Reference(level=source.reference.level, name=source.reference.name, id="")


def _source(scope: Scope, memory: Memory) -> PromotionSource:
    return PromotionSource(reference=Reference.to(scope, memory.id), memory=reveal(memory))
