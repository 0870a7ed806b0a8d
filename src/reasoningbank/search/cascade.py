"""One search over a project, its team and its org, and the log of what each of them delivered.

Every scope is searched by itself, with its own floor and its own proven threshold, for the same vector of the query.
Relevance is then multiplied by the scope's weight (1.0, 0.9, 0.8), and the lists become one. What a wider scope says
gives way when a more specific one

* holds the same text: what was seen nearest to the work decides how far it is believed, and a quarantine there counts;
* holds what it was promoted from, and that was found too or is in quarantine;
* says the opposite of nearly the same (cosine above 0.9 on the scale of all-MiniLM) and is believed more than not.

A claim hides nothing that stands higher: then both are shown.

A wider scope that cannot be searched, because it is damaged, busy or of another embedder, is left out and named: it
never takes the project's own answer away.

A team's or org's log learns that one of its memories was shown, in which session by a name that says nothing, and how
well it fitted; never the query, nor the project's name.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from reasoningbank.errors import InvalidInput, MemoryNotFound, ModelMismatch, StoreError
from reasoningbank.memories.admission import has_space
from reasoningbank.memories.credit import credit_of, fitting, settle, shown
from reasoningbank.memories.evidence import count_delivery
from reasoningbank.memories.similarity import least_cosine
from reasoningbank.memories.standing import project_side, said_in
from reasoningbank.search.placement import FIRST, is_crowded, placed, shared
from reasoningbank.search.proven import proven, rank_key
from reasoningbank.search.recall import UNPROVEN_POOL, Question, find, offered, revealed, unlike
from reasoningbank.storage.store import Store
from reasoningbank.types.consolidation import is_consolidated
from reasoningbank.types.memory import Memory, Outcome, OutcomeReport, State
from reasoningbank.types.ports import Embedder, Vector
from reasoningbank.types.promotion import CONFLICT_COSINE, PROMOTED_FROM, Reference
from reasoningbank.types.recall import CONTENT_LEG, Filter, Hit, Recall, SessionCredit
from reasoningbank.types.scope import LEVELS, SCOPE_WEIGHTS, Level, Scope, session_in
from reasoningbank.types.session import SessionEnd

SPARE = 5
"""So many more memories are looked at in a wider scope, for those that give way."""
LEAST_BELIEF = 0.5
"""What contradicts a wider scope has to be believed at least so much."""
_RECALLABLE: tuple[State, ...] = Filter().states
_DECIDING: tuple[State, ...] = (*_RECALLABLE, "quarantined")
_OPPOSITE: Mapping[Outcome, Outcome] = {"success": "failure", "failure": "success"}

Key = tuple[Level, str]


class Found(NamedTuple):
    """What a search found.

    Attributes:
        proven: The proven hits, best first.
        drawn: The unproven ones that go with them.
        warnings: What was left out, and why.
        message: Why nothing was found, where the search knows it.
        vectors: Of titles and contents, as far as the search has read them.
    """

    proven: tuple[Hit, ...]
    drawn: tuple[Hit, ...]
    warnings: tuple[str, ...] = ()
    message: str = ""
    vectors: Mapping[Key, Vector] = {}


def cascade(
    stores: Sequence[Store],
    embedder: Embedder,
    question: Question,
    chance: random.Random,
    *,
    vector: Vector | None = None,
) -> Found:
    """Search several scopes as one; the query is embedded once.

    Args:
        stores: The most specific first; the first is the caller's own.
        embedder: Makes the query's vector.
        question: What is wanted; its limits hold for the answer as a whole.
        chance: Decides the draw of the unproven.
        vector: The query's vector, when it was made already.

    Raises:
        ModelMismatch: When the caller's own bank was built with another embedder.
        StoreError: When the caller's own bank cannot be read.
    """
    own, *wider = stores
    usable = [own] if has_space(own, embedder) else []
    warnings: list[str] = []
    for store in wider:
        try:
            if has_space(store, embedder):
                usable.append(store)
        except (ModelMismatch, StoreError) as error:
            warnings.append(left_out(store, error))
    if not usable:
        return Found((), (), tuple(warnings))
    if vector is None:
        vector = embedder.embed_queries([question.text])[0]
    above: list[Hit] = []
    pool: list[Hit] = []
    searched: list[Store] = []
    vectors: dict[Key, Vector] = {}
    for store in usable:
        asked = question if store is own else replace(question, limit=question.limit and question.limit + SPARE)
        try:
            found, below, held, said = find(store, embedder.model_id, asked, vector)
        except (ModelMismatch, StoreError) as error:
            if store is own:
                raise
            warnings.append(left_out(store, error))
            continue
        searched.append(store)
        warnings += [warning for warning in said if warning not in warnings]
        above += map(weighted, found)
        pool += map(weighted, below)
        vectors |= {(store.scope.level, hit.id): held[hit.id] for hit in (*found, *below) if hit.id in held}
    judge = Precedence(searched, embedder.model_id, vectors)
    judge.look_up([*above, *pool])
    found_keys = {(hit.scope, hit.id) for hit in (*above, *pool)}
    ordered = sorted(above, key=_rank)
    if len(searched) > 1:
        known = {memory_id: each for (_, memory_id), each in vectors.items()}
        ordered = placed(ordered, known, embedder.model_id, max(len(ordered), FIRST + 1), question=question.text)
    first = judge.settled(ordered, question.limit, found_keys)
    if len(searched) > 1 and is_crowded(first):
        others = judge.settled(ordered, len(ordered), found_keys)
        first = shared(others, whole=question.limit > FIRST)[: question.limit]
    second = judge.settled(sorted(unlike(pool, first), key=_rank), UNPROVEN_POOL, found_keys)
    drawn = offered(first, second, question.unproven, chance)
    return Found(
        tuple(map(revealed, judge.marked(first))),
        tuple(map(revealed, judge.marked(drawn))),
        (*warnings, *judge.unseen([*first, *drawn])),
        vectors=vectors,
    )


def best_known(stores: Sequence[Store], model_id: str, condition: Filter, limit: int) -> Found:
    """Return the best proven memories of several scopes when no task is known, by ``rank_key`` and scope weight.

    Args:
        stores: The most specific first.
        model_id: The vector space of the embedder; a wider scope of another one is left out.
        condition: What a memory must be.
        limit: Most of them.
    """
    hits: list[Hit] = []
    usable: list[Store] = []
    warnings: list[str] = []
    for store in stores:
        try:
            if usable and store.model_id not in {None, model_id}:
                raise ModelMismatch(f"its vectors come from {store.model_id}, not from {model_id}")
            hits += proven(store, condition)
            usable.append(store)
        except (ModelMismatch, StoreError) as error:
            if not usable:
                raise
            warnings.append(left_out(store, error))
    judge = Precedence(usable, model_id, {})
    ordered = sorted(hits, key=lambda hit: rank_key(hit.memory, SCOPE_WEIGHTS[hit.scope]))
    kept = judge.settled(ordered, limit, {(hit.scope, hit.id) for hit in hits})
    return Found(tuple(judge.marked(kept)), (), (*warnings, *judge.unseen(kept)), vectors=judge.vectors)


def weighted(hit: Hit) -> Hit:
    """Return the hit with its relevance times the weight of its scope."""
    return replace(hit, relevance=hit.relevance * SCOPE_WEIGHTS[hit.scope])


def left_out(store: Store, error: ModelMismatch | StoreError) -> str:
    """Return why a scope was not searched."""
    return f"The {store.scope.shown} was not searched: {error} {error.hint}"


class _Rivals(NamedTuple):
    """What a more specific scope holds against a hit.

    Attributes:
        same: The best memory of the same text that still decides.
        sources: What the hit was promoted from.
    """

    same: Memory | None
    sources: tuple[Memory, ...]


class Precedence:
    """Which hits of wider scopes give way to what more specific scopes hold.

    Args:
        stores: What was searched, the most specific first.
        model_id: The vector space of all of them.
        vectors: Those of titles and contents that are known already.
    """

    def __init__(self, stores: Sequence[Store], model_id: str, vectors: Mapping[Key, Vector]) -> None:
        self._stores = {store.scope.level: store for store in stores}
        self._bar = least_cosine(CONFLICT_COSINE, model_id)
        self._same: defaultdict[Key, list[str]] = defaultdict(list)
        self._opposed: defaultdict[Key, list[str]] = defaultdict(list)
        self._levels: dict[str, Level] = {}
        self._vectors = dict(vectors)
        self._sources: defaultdict[Key, list[Reference]] = defaultdict(list)
        self._rivals: defaultdict[Key, dict[Level, _Rivals]] = defaultdict(dict)
        self._opposites: defaultdict[Key, dict[Level, str]] = defaultdict(dict)
        self._compared: set[Key] = set()

    @property
    def vectors(self) -> Mapping[Key, Vector]:
        """Those of titles and contents that are known by now."""
        return self._vectors

    def settled(self, hits: Sequence[Hit], limit: int, found: Set[Key]) -> list[Hit]:
        """Return the first hits that nothing more specific outdoes.

        Args:
            hits: Of all scopes, best first.
            limit: Most of them.
            found: Scope and id of everything the search has found, proven or not.
        """
        kept: list[Hit] = []
        start, end = 0, 2 * (limit + SPARE)
        while len(kept) < limit and start < len(hits):
            self.look_up(hits[start:end])
            while len(kept) < limit and start < min(end, len(hits)):
                part = hits[start : min(end, start + limit - len(kept))]
                self._oppose(part)
                kept += (hit for hit in part if not self._gives_way(hit, found))
                start += len(part)
            end *= 4
        return kept

    def look_up(self, hits: Sequence[Hit]) -> None:
        """Read what decides whether these hits give way, in a few statements of each scope."""
        own = next(iter(self._stores))
        fresh = [hit for hit in hits if hit.scope != own and (hit.scope, hit.id) not in self._rivals]
        for level, store in self._stores.items():
            if asked := [hit for hit in fresh if hit.scope == level]:
                self._describe(asked, store)
        for level, store in self._stores.items():
            if wider := [hit for hit in fresh if LEVELS.index(hit.scope) > LEVELS.index(level)]:
                self._compare(wider, level, store)

    def marked(self, hits: Sequence[Hit]) -> list[Hit]:
        """Return the hits, each naming what gave way to it."""
        return [
            replace(
                hit,
                duplicates=tuple(sorted({*hit.duplicates, *self._same[hit.scope, hit.id]})),
                conflicts=tuple(sorted({*hit.conflicts, *self._opposed[hit.scope, hit.id]})),
            )
            for hit in hits
        ]

    def unseen(self, shown: Sequence[Hit]) -> list[str]:
        """Return one sentence for everything that gave way to what says the opposite and is not shown itself."""
        seen = {(hit.scope, hit.id) for hit in shown}
        return [
            f"Memory {loser} of the {self._levels[loser]} was left out: {winner} of this {level} says the opposite."
            for (level, winner), losers in self._opposed.items()
            if (level, winner) not in seen
            for loser in dict.fromkeys(losers)
        ]

    def _describe(self, hits: Sequence[Hit], store: Store) -> None:
        """Read the vectors of hits of one scope, and what they were promoted from."""
        level, ids = store.scope.level, [hit.id for hit in hits]
        if missing := [one for one in ids if (level, one) not in self._vectors]:
            found = store.search.vectors(CONTENT_LEG, missing)
            self._vectors |= {(level, memory_id): vector for memory_id, vector in found.items()}
        for link in store.memories.links_from(ids):
            source = _reference(link.target) if link.kind == PROMOTED_FROM else None
            if source is not None:
                self._sources[level, link.source].append(source)

    def _compare(self, hits: Sequence[Hit], level: Level, store: Store) -> None:
        """Read what a more specific scope holds against these hits."""
        place = (level, store.scope.project)
        sources = {
            hit.id: [one.id for one in self._sources[hit.scope, hit.id] if (one.level, one.name) == place]
            for hit in hits
        }
        named = {one for ids in sources.values() for one in ids}
        texts = [hit.memory.fingerprint for hit in hits]
        known = store.memories.many(named, texts=set(texts))
        twins: defaultdict[tuple[bytes, Outcome], list[Memory]] = defaultdict(list)
        for memory in known.values():
            if memory.state in _DECIDING:
                twins[memory.fingerprint, memory.outcome].append(memory)
        for hit, text in zip(hits, texts, strict=True):
            same = twins[text, hit.outcome]
            self._rivals[hit.scope, hit.id][level] = _Rivals(
                same=max(same, key=lambda one: (one.state in _RECALLABLE, one.confidence), default=None),
                sources=tuple(known[one] for one in sources[hit.id] if one in known),
            )

    def _oppose(self, hits: Sequence[Hit]) -> None:
        """Find what says the opposite of nearly the same as these hits of wider scopes, and read it."""
        fresh = [
            hit
            for hit in hits
            if (key := (hit.scope, hit.id)) in self._vectors and key in self._rivals and key not in self._compared
        ]
        for level, store in self._stores.items():
            rivals = [hit for hit in fresh if (found := self._rivals[hit.scope, hit.id].get(level)) and not found.same]
            for key, opposite in self._contradicting(rivals, store).items():
                self._opposites[key][level] = opposite
        self._compared |= {(hit.scope, hit.id) for hit in fresh}

    def _contradicting(self, hits: Sequence[Hit], store: Store) -> Mapping[Key, str]:
        """Return for each of these hits the id of what says the opposite of nearly the same in a scope, if any."""
        queries = [
            (
                self._vectors[hit.scope, hit.id],
                Filter(outcome=_OPPOSITE[hit.outcome], min_confidence=LEAST_BELIEF),
            )
            for hit in hits
        ]
        found = store.search.nearest_each(CONTENT_LEG, queries)
        near = {
            (hit.scope, hit.id): (hit.memory, one.id)
            for hit, one in zip(hits, found, strict=True)
            if one is not None and one.score > self._bar
        }
        known = store.memories.many({name for _, name in near.values()}) if near else {}
        return {
            key: name for key, (memory, name) in near.items() if name in known and not _is_above(memory, known[name])
        }

    def _gives_way(self, hit: Hit, found: Set[Key]) -> bool:
        return any(
            self._outdone(hit, level, rivals, found)
            for level, rivals in self._rivals.get((hit.scope, hit.id), {}).items()
        )

    def _outdone(self, hit: Hit, level: Level, rivals: _Rivals, found: Set[Key]) -> bool:
        source = next((one for one in rivals.sources if one.state == "quarantined" or (level, one.id) in found), None)
        same = rivals.same or source
        if same is not None and (same.state == "quarantined" or not _is_above(hit.memory, same)):
            self._same[level, same.id].append(hit.id)
            return True
        opposite = self._opposites[hit.scope, hit.id].get(level)
        if opposite is None:
            return False
        self._opposed[level, opposite].append(hit.id)
        self._levels[hit.id] = hit.scope
        return True


def _is_above(memory: Memory, other: Memory) -> bool:
    """Return whether the other one is a claim and the memory is more."""
    return other.standing == "claim" != memory.standing


def _rank(hit: Hit) -> tuple[float, int, bool]:
    return -hit.relevance, LEVELS.index(hit.scope), not is_consolidated(hit.memory)


def _reference(text: str) -> Reference | None:
    """Return the reference, or None for a link that another program wrote."""
    try:
        return Reference.parse(text)
    except InvalidInput:
        return None


def of_level(answer: Recall, level: Level) -> Recall:
    """Return the answer with the hits of one scope alone; its tokens stay those of all it delivered."""
    if all(hit.scope == level for hit in answer.delivered):
        return answer
    return replace(
        answer,
        memories=tuple(hit for hit in answer.memories if hit.scope == level),
        unproven=tuple(hit for hit in answer.unproven if hit.scope == level),
    )


def shown_in(store: Store, session: str, origin: Scope) -> Mapping[str, float]:
    """Return ids of what a wider scope has shown a session of the project, in that order, with their best relevance."""
    return shown(store, session_in(store.scope, session, origin))


def credit(
    store: Store,
    session: str,
    origin: Scope,
    end: SessionEnd,
    *,
    own: Mapping[str, bool],
    at: datetime,
    shared_by: int,
    unmet: Collection[str] = (),
) -> Sequence[OutcomeReport]:
    """Report in a wider scope how a session ended for what it has shown it, all of it or nothing.

    Args:
        store: The team's or the org's.
        session: As the project names it.
        origin: The project.
        end: How the session ended.
        own: What the session has reported about single memories.
        at: When.
        shared_by: How many memories of all scopes share the weight of the outcome.
        unmet: The recipes whose error the session did not meet.
    """
    place = session_in(store.scope, session, origin)
    with store.transaction() as transaction:
        said_in(transaction, place, project=project_side(origin))
        return settle(transaction, place, end, own=own, at=at, shared_by=shared_by, unmet=unmet)


def credits_in(store: Store, session: str, origin: Scope) -> Sequence[SessionCredit]:
    """Return what the session's end counts now for what a wider scope has shown it and fitted."""
    place = session_in(store.scope, session, origin)
    known = (credit_of(store, each, place) for each in store.memories.many(fitting(shown(store, place))))
    return [each for each in known if each is not None]


def log_wider(stores: Sequence[Store], answer: Recall, origin: Scope, *, usage: bool) -> tuple[str, ...]:
    """Log and count what each wider scope has delivered; return what could not be logged.

    Args:
        stores: The team's and the org's.
        answer: The whole answer.
        origin: The project that asked.
        usage: Whether the delivery is counted.
    """
    warnings: list[str] = []
    for store in stores:
        part = of_level(answer, store.scope.level)
        if not part.delivered:
            continue
        session = session_in(store.scope, answer.session, origin)
        tokens = sum(hit.memory.tokens for hit in part.delivered)
        logged = replace(part, query="", session=session, tokens=tokens, message="", warnings=())
        try:
            with store.transaction() as transaction, transaction.whole():
                memories = transaction.memories.many([hit.id for hit in part.delivered])
                if usage:
                    count_delivery(transaction, memories.values(), at=answer.at)
                transaction.deliveries.log_recall(logged)
        except (StoreError, MemoryNotFound) as error:
            warnings.append(f"The delivery of the {store.scope.shown} was not logged: {error} {error.hint}")
    return tuple(warnings)
