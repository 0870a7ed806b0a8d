"""Promote a reviewed lesson into a team or an org, and take it back.

The prior's mean is that of the sources' beliefs taken together: what each was believed at first, with the prior's
strength of two, and every independent signal since (ratings, outcomes, code that stood or was reverted). A delivery is
no independent evidence and a month without use is none against, so both are left out; a signal that several sources
have by the same id counts once. Counts that were rolled up no longer name their signals: of their sums, the part is
taken that independent types have in them at the project's weights.

Only the mean is carried over. The strength of every prior is two, so that what happens in the wider scope soon decides;
no session and no signal of a project is copied.

A memory takes part when it may be recalled, is believed enough, was not promoted to this scope before, and nothing in
the wider scope says the same already. Its neighbours are asked for in each other bank's index, so the work is one index
search per memory and other bank. What comes together is closest first and every pair of it is above the threshold; of
each scope there is one memory in it, the closest.

Two banks cannot be written in one transaction. The wider bank is written first, the memory with its links to all
sources at once; then each source's bank gets its link back. Who is stopped in between leaves a promoted memory whose
sources do not name it yet: promoting the same sources again adds the missing links and makes no second memory.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import combinations
from typing import Literal

from reasoningbank.errors import InvalidInput, StoreBusy
from reasoningbank.llm.token_count import count_tokens
from reasoningbank.memories.admission import admit, prepare
from reasoningbank.memories.similarity import cosine_similarity, least_cosine
from reasoningbank.safety.stored_text import reveal
from reasoningbank.sharing.privacy import Private
from reasoningbank.storage.store import Store, StoreReader
from reasoningbank.types.belief import PRIOR_STRENGTH, UNIT, Belief
from reasoningbank.types.consolidation import CONTRADICTS
from reasoningbank.types.memory import STATES, Cause, Memory, Outcome
from reasoningbank.types.ports import Embedder, Vector
from reasoningbank.types.promotion import (
    CONFLICT_COSINE,
    LEAST_SCOPES,
    PROMOTED,
    PROMOTED_FROM,
    PROMOTED_TO,
    PROMOTION_CONFIDENCE,
    PROMOTION_COSINE,
    GeneralText,
    Promotion,
    PromotionCandidate,
    PromotionSource,
    Reference,
)
from reasoningbank.types.promotion import Reference as Named
from reasoningbank.types.recall import CONTENT_LEG, Filter
from reasoningbank.types.records import Link
from reasoningbank.types.scope import Membership, Scope
from reasoningbank.types.signal import COUNTERS, SIGNAL_TYPES, ProjectWeights, SignalAggregate, SignalType
from reasoningbank.types.standing import INHERITED, VOUCHED, least_of

INDEPENDENT: tuple[SignalType, ...] = ("explicit", "outcome", "stability")
"""The types of evidence that somebody or something outside of the memory has given."""


def pooled_confidence(sources: Sequence[tuple[StoreReader, Memory]]) -> float:
    """Return the confidence that a memory made of these sources begins with, from 0 to 1.

    Args:
        sources: Each with the bank that it lies in; at least one.
    """
    positive = negative = 0
    counted: set[str] = set()
    for reader, memory in sources:
        positive += memory.belief.prior
        negative += PRIOR_STRENGTH * UNIT - memory.belief.prior
        for signal in reader.evidence.signals(memory.id):
            if signal.type in INDEPENDENT and signal.id not in counted:
                counted.add(signal.id)
                positive += (signal.weight or 0) if signal.positive else 0
                negative += 0 if signal.positive else (signal.weight or 0)
        aggregate = reader.evidence.aggregate(memory.id)
        weights = reader.evidence.weights()
        positive += independent_part(aggregate, weights, "positive")
        negative += independent_part(aggregate, weights, "negative")
    return positive / (positive + negative)


def independent_part(aggregate: SignalAggregate, weights: ProjectWeights, side: Literal["positive", "negative"]) -> int:
    """Return the part of a rolled-up sum, in billionths, that independent evidence has in it."""
    total: int = getattr(aggregate, side) or 0
    shares: dict[str, float] = {
        name.rpartition("_")[0]: getattr(aggregate, name) * _weight(name.rpartition("_")[0], weights)
        for name in COUNTERS
        if name.endswith(f"_{side}")
    }
    everything = sum(shares.values())
    if not everything:
        return 0
    independent = sum(shares.get(kind, 0.0) for kind in INDEPENDENT)
    return round(total * independent / everything)


def _weight(kind: str, weights: ProjectWeights) -> float:
    """Return what one rolled-up signal of a type stands for.

    Of types that bring their own weight the least is assumed.
    """
    learned: dict[str, float] = {name: weights.weight_for(name) for name in SIGNAL_TYPES}
    return learned.get(kind, min(learned.values()))


NEIGHBOURS = 3
"""So many of the closest memories of another scope are looked at for each memory."""
_BATCH = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarMemories:
    """Memories of distinct scopes that say nearly the same.

    Attributes:
        members: Each with the place of its bank in the list that was searched, in the order of the banks.
        similarity: The least cosine of its pairs.
    """

    members: tuple[tuple[int, Memory], ...]
    similarity: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pair:
    score: float
    first: tuple[int, str]
    second: tuple[int, str]


def find_groups(banks: Sequence[Store], wider: Store | None, model_id: str) -> list[SimilarMemories]:
    """Return what at least two of the banks have learned, the closest first.

    Args:
        banks: Of distinct scopes, all of one vector space.
        wider: The bank of the team or org above them; None when it has none yet.
        model_id: The vector space.
    """
    if len(banks) < LEAST_SCOPES:
        return []
    bar = least_cosine(PROMOTION_COSINE, model_id)
    known = promoted_before(wider) if wider is not None else frozenset[str]()
    memories: dict[tuple[int, str], Memory] = {}
    vectors: dict[tuple[int, str], Vector] = {}
    for place, store in enumerate(banks):
        for memory, vector in _eligible(store, wider, known, bar):
            memories[place, memory.id] = memory
            vectors[place, memory.id] = vector
    pairs = sorted(_pairs(banks, memories, vectors, bar), key=lambda pair: (-pair.score, pair.first[1], pair.second[1]))
    return _grouped(pairs, memories, vectors, bar)


def promoted_before(wider: Store) -> frozenset[str]:
    """Return references, as text, to everything that a wider scope has or had a promoted memory of."""
    found: set[str] = set()
    offset = 0
    while batch := wider.memories.page(Filter(states=STATES), limit=_BATCH, offset=offset):
        for memory in batch:
            found |= {link.target for link in wider.memories.links(memory.id) if link.kind == PROMOTED_FROM}
        offset += len(batch)
    return frozenset(found)


def known_as(wider: Store, vector: Vector, outcome: Outcome, model_id: str, cosine: float = PROMOTION_COSINE) -> str:
    """Return the id of the wider scope's memory of this outcome that says nearly this; empty when there is none."""
    near = wider.search.nearest(CONTENT_LEG, vector, Filter(outcome=outcome), 1)
    return near[0].id if near and near[0].score > least_cosine(cosine, model_id) else ""


def _eligible(store: Store, wider: Store | None, known: frozenset[str], bar: float) -> Iterator[tuple[Memory, Vector]]:
    condition = Filter(min_confidence=PROMOTION_CONFIDENCE)
    offset = 0
    while batch := store.memories.page(condition, limit=_BATCH, offset=offset):
        offset += len(batch)
        fresh = [memory for memory in batch if str(Named.to(store.scope, memory.id)) not in known]
        vectors = store.search.vectors(CONTENT_LEG, [memory.id for memory in fresh])
        for memory in fresh:
            vector = vectors.get(memory.id)
            if vector is None:
                continue
            above = (
                wider.search.nearest(CONTENT_LEG, vector, Filter(outcome=memory.outcome), 1)
                if wider is not None
                else ()
            )
            if not above or above[0].score <= bar:
                yield memory, vector


def _pairs(
    banks: Sequence[Store],
    memories: Mapping[tuple[int, str], Memory],
    vectors: Mapping[tuple[int, str], Vector],
    bar: float,
) -> Iterator[_Pair]:
    for (place, memory_id), memory in memories.items():
        condition = Filter(outcome=memory.outcome, min_confidence=PROMOTION_CONFIDENCE)
        for other in range(place + 1, len(banks)):
            for near in banks[other].search.nearest(CONTENT_LEG, vectors[place, memory_id], condition, NEIGHBOURS):
                if near.score > bar and (other, near.id) in memories:
                    yield _Pair(score=near.score, first=(place, memory_id), second=(other, near.id))


def _grouped(
    pairs: Sequence[_Pair],
    memories: Mapping[tuple[int, str], Memory],
    vectors: Mapping[tuple[int, str], Vector],
    bar: float,
) -> list[SimilarMemories]:
    """Complete linkage over the pairs, closest first, with one memory of each scope."""
    group_of: dict[tuple[int, str], int] = {}
    groups: defaultdict[int, list[tuple[int, str]]] = defaultdict(list)
    for number, pair in enumerate(pairs):
        joined = [
            *groups.get(group_of.get(pair.first, -1), [pair.first]),
            *groups.get(group_of.get(pair.second, -1), [pair.second]),
        ]
        first, second = group_of.get(pair.first), group_of.get(pair.second)
        if first is not None and first == second:
            continue
        distinct = len({place for place, _ in joined}) == len(joined)
        if not distinct or any(_cosine(vectors, one, two) <= bar for one, two in combinations(joined, 2)):
            continue
        for old in (first, second):
            if old is not None:
                groups.pop(old, None)
        groups[number] = sorted(joined)
        group_of |= dict.fromkeys(joined, number)
    found = [
        SimilarMemories(
            members=tuple((place, memories[place, memory_id]) for place, memory_id in members),
            similarity=min(_cosine(vectors, one, two) for one, two in combinations(members, 2)),
        )
        for members in groups.values()
    ]
    return sorted(found, key=lambda group: (-len(group.members), -group.similarity, group.members[0][1].id))


def _cosine(vectors: Mapping[tuple[int, str], Vector], one: tuple[int, str], two: tuple[int, str]) -> float:
    return cosine_similarity(vectors[one], vectors[two])


REVIEWER = "reviewer"
"""The entry of a promoted memory's provenance that names who approved it."""
DEMOTED = "demoted"
_RECALLABLE = Filter().states


def promoted_as(wider: Store, sources: Sequence[PromotionSource]) -> Memory | None:
    """Return the wider scope's memory that was promoted from all of these sources.

    Raises:
        InvalidInput: When some of them are behind a memory that others are not behind.
    """
    found: dict[str, set[str]] = {}
    for source in sources:
        reference = str(source.reference)
        for link in wider.memories.links(reference):
            if link.kind == PROMOTED_FROM:
                found.setdefault(link.source, set()).add(reference)
    living = [memory for memory in wider.memories.many(list(found)).values() if memory.state in _RECALLABLE]
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
    """Store the memory in the wider scope with its links to the sources; the sources' banks are not written here.

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
        VOUCHED: f"promoted by {reviewer}" if reviewer else "",
        INHERITED: least_of(source.memory.standing for source in candidate.sources),
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
            transaction.memories.link(Link(source=memory.id, target=str(source.reference), kind=PROMOTED_FROM))
        for opposite in candidate.conflicts:
            pair = (memory.id, opposite) if memory.outcome == "success" else (opposite, memory.id)
            transaction.memories.link(Link(source=pair[0], target=pair[1], kind=CONTRADICTS))
    return memory


def check_unchanged(source: PromotionSource, store: StoreReader) -> Memory:
    """Return the source as it is now; its evidence may have grown, its text may not have changed.

    Raises:
        StoreBusy: When it was changed or set aside since it was proposed.
    """
    current = store.memories.get(source.reference.id)
    if current.fingerprint != source.memory.fingerprint or current.state not in _RECALLABLE:
        raise StoreBusy(
            f"memory {source.reference.id} was changed since it was proposed", hint="Look at the proposal again."
        )
    return current


def link_back(store: Store, source: Reference, promoted: Reference) -> None:
    """Let a source name what was made of it; a second time changes nothing."""
    with store.transaction() as transaction:
        transaction.memories.link(Link(source=source.id, target=str(promoted), kind=PROMOTED_TO))


def take_out(wider: Store, memory_id: str, *, by: str, reason: str, at: datetime) -> Memory:
    """Archive a promoted memory; its text, evidence and links stay, and so do its sources.

    Raises:
        InvalidInput: When it was not promoted, or cannot be recalled any more.
    """
    with wider.transaction() as transaction:
        memory = transaction.memories.get(memory_id)
        if not sources_of(transaction, memory_id):
            raise InvalidInput(f"memory {memory_id} was not promoted", hint="Archive it with `rbank update`.")
        if memory.state not in _RECALLABLE:
            raise InvalidInput(f"memory {memory_id} is {memory.state} already")
        changed = replace(memory, state="archived", version=memory.version + 1, updated_at=at)
        cause = Cause(at=at, kind=DEMOTED, reference=memory_id, reason=reason, by=by)
        transaction.memories.update_state(changed, revision=True, cause=cause)
    return changed


def sources_of(reader: StoreReader, memory_id: str) -> tuple[Reference, ...]:
    """Return what a memory was promoted from; empty for any other memory."""
    return tuple(
        Reference.parse(link.target)
        for link in reader.memories.links(memory_id)
        if link.kind == PROMOTED_FROM and link.source == memory_id
    )


def described(
    memory: Memory, wider: Store, sources: Sequence[Reference], states: Mapping[Reference, str], *, created: bool
) -> Promotion:
    """Return a promoted memory and how its sources are.

    Args:
        memory: The memory.
        wider: Where it stands.
        sources: What it was made of.
        states: The state of each source that exists.
        created: True when it was made just now.
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


_OPPOSITE: Mapping[Outcome, Outcome] = {"success": "failure", "failure": "success"}


def candidate_of(
    target: Scope,
    members: Sequence[tuple[Store, str]],
    wider: Store | None,
    model_id: str,
    similarity: float | None,
) -> PromotionCandidate:
    """Return the candidate that these memories make, without a text.

    Args:
        target: Where it would go.
        members: Each memory's bank and id.
        wider: The bank of the target; None when it has none yet.
        model_id: The vector space.
        similarity: The least cosine of the memories; None to have it computed.

    Raises:
        InvalidInput: When they are of two outcomes, or one cannot be recalled.
    """
    held = [(store, store.memories.get(memory_id)) for store, memory_id in members]
    if len({memory.outcome for _, memory in held}) > 1:
        raise InvalidInput("memories of opposite outcome are never promoted together")
    for _, memory in held:
        if memory.state not in _RECALLABLE:
            raise InvalidInput(f"memory {memory.id} is {memory.state} and cannot be promoted")
    vectors = [vector for store, memory in held if (vector := store.search.vector(CONTENT_LEG, memory.id)) is not None]
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
    """Return the names that no text of the candidate may hold.

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
