"""Search: three legs in one scope, fused, cut at the relevance floor, proven apart from unproven (DESIGN D6, D13)."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, replace

from reasoningbank.domain.recall import CONTENT_LEG, DENSE_LEGS, DESCRIPTION_LEG, Filter, Hit
from reasoningbank.engine.analysis import query_terms
from reasoningbank.engine.fusion import Fused, fuse
from reasoningbank.engine.hygiene import reveal
from reasoningbank.errors import ModelMismatch
from reasoningbank.ports import Embedder, LexicalMatches, Store, Vector

LEAST_DENSE, LEAST_LEXICAL = 30, 50
"""Each leg brings at least so many memories before fusion, which measures the lexical best against the fiftieth."""
CANDIDATES_PER_HIT = 6
"""For longer answers each leg brings so many times the limit."""
_SPARE = 5
_LEAST = 1e-6
UNPROVEN_POOL = 5
"""How many of the most relevant unproven memories take part in the draw."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One search as it is run.

    Attributes:
        text: The query, clean and without secrets.
        condition: What a memory must be; its confidence bounds are set here.
        limit: Most proven memories.
        min_confidence: What proven means for this search.
        unproven: Most unproven memories.
    """

    text: str
    condition: Filter
    limit: int
    min_confidence: float
    unproven: int


def recall(
    store: Store, embedder: Embedder, question: Question, chance: random.Random
) -> tuple[tuple[Hit, ...], tuple[Hit, ...]]:
    """Finds the proven hits, best first, and draws the unproven ones.

    Raises:
        ModelMismatch: When the bank's vectors come from another model than the embedder.
    """
    stored = store.model_id
    if stored is None:
        return (), ()
    if stored != embedder.model_id:
        raise ModelMismatch(f"the bank's vectors come from {stored}, the embedder is {embedder.model_id}")
    with ThreadPoolExecutor(max_workers=1) as beside:
        search = _Search(store, embedder, question.text, beside)
        proven = search.hits(replace(question.condition, min_confidence=question.min_confidence), question.limit)
        unproven: list[Hit] = []
        if question.unproven > 0 and question.min_confidence > 0.0:
            below = replace(question.condition, below_confidence=question.min_confidence)
            shown = {hit.memory.fingerprint for hit in proven}
            pool = [hit for hit in search.hits(below, UNPROVEN_POOL) if hit.memory.fingerprint not in shown]
            unproven = draw(pool, question.unproven, chance)
    return tuple(map(_revealed, proven)), tuple(map(_revealed, unproven))


def _revealed(hit: Hit) -> Hit:
    """The hit as it may leave: its texts checked for secrets once more."""
    return replace(hit, memory=reveal(hit.memory))


def draw(pool: Sequence[Hit], count: int, chance: random.Random) -> list[Hit]:
    """Thompson sampling: each hit draws a plausible usefulness from its posterior; the best times relevance win."""
    promise = {hit.id: hit.relevance * _sample(hit, chance) for hit in pool}
    chosen = sorted(pool, key=lambda hit: -promise[hit.id])[:count]
    return sorted((replace(hit, unproven=True) for hit in chosen), key=lambda hit: -hit.relevance)


def _sample(hit: Hit, chance: random.Random) -> float:
    belief = hit.memory.belief
    return chance.betavariate(max(belief.alpha, _LEAST), max(belief.beta, _LEAST))


class _Search:
    """One query against one store; its vector and terms are made once, words are ranked beside vectors."""

    def __init__(self, store: Store, embedder: Embedder, text: str, beside: Executor) -> None:
        self._beside = beside
        self._store = store
        self._embedder = embedder
        self._vector: Vector = embedder.embed_queries([text])[0]
        self._terms = " ".join(query_terms(text))

    def hits(self, condition: Filter, limit: int) -> list[Hit]:
        """The best memories that meet the condition, the same text only once."""
        if limit <= 0:
            return []
        wanted = CANDIDATES_PER_HIT * limit
        words = self._beside.submit(self._store.matching, self._terms, condition, max(LEAST_LEXICAL, wanted))
        legs = {leg: self._nearest(leg, condition, max(LEAST_DENSE, wanted)) for leg in DENSE_LEGS}
        lexical = words.result()
        if not legs[CONTENT_LEG]:
            return []
        self._complete(legs, lexical)
        fused = fuse(legs[CONTENT_LEG], legs[DESCRIPTION_LEG], lexical, model_id=self._embedder.model_id)
        return self._collapsed(fused, limit)

    def _nearest(self, leg: str, condition: Filter, limit: int) -> dict[str, float]:
        found = self._store.nearest(leg, self._vector, condition, limit)
        return {hit.id: hit.score for hit in found}

    def _complete(self, legs: Mapping[str, dict[str, float]], lexical: LexicalMatches) -> None:
        """Looks up the cosines of candidates that only another leg has found."""
        candidates = {hit.id for hit in lexical.hits}.union(*legs.values())
        for leg, scores in legs.items():
            missing = sorted(candidates - scores.keys())
            if missing:
                scores.update(self._store.similarities(leg, self._vector, missing))

    def _collapsed(self, fused: Sequence[Fused], limit: int) -> list[Hit]:
        """The first hits whose texts differ by more than case, space and punctuation; the rest are named in them."""
        hits: dict[bytes, Hit] = {}
        size = limit + _SPARE
        for start in range(0, len(fused), size):
            batch = fused[start : start + size]
            memories = self._store.many([one.id for one in batch])
            for one in batch:
                if one.id in memories:
                    _collapse(hits, Hit(memory=memories[one.id], relevance=one.relevance, legs=one.legs))
            if len(hits) >= limit:
                break
        return list(hits.values())[:limit]


def _collapse(hits: dict[bytes, Hit], hit: Hit) -> None:
    """Adds a hit, or names it in the better one with the same text; of equals the more believed one is shown."""
    fingerprint = hit.memory.fingerprint
    first = hits.get(fingerprint)
    if first is None:
        hits[fingerprint] = hit
        return
    shown, hidden = (hit, first) if hit.confidence > first.confidence else (first, hit)
    hits[fingerprint] = replace(
        shown,
        relevance=max(first.relevance, hit.relevance),
        duplicates=tuple(sorted({*first.duplicates, *hit.duplicates, hidden.id})),
    )
