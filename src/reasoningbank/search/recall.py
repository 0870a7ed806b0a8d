"""Search: three legs in one scope, fused, cut at the relevance floor, proven apart from unproven (DESIGN D6, D13)."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, Protocol

from reasoningbank.memories.admission import check_model, has_space
from reasoningbank.memories.source_trust import by_trust
from reasoningbank.memories.words import query_words
from reasoningbank.safety.stored_text import reveal
from reasoningbank.search.fusion import FLOOR, TAIL, Fused, asked_floor, fuse
from reasoningbank.search.passages import Passage, asked
from reasoningbank.search.placement import FIRST, behind, disputed, is_crowded, placed, shared, source_of
from reasoningbank.storage.store import Store
from reasoningbank.types.belief import EXPLICIT_RECORD_CONFIDENCE
from reasoningbank.types.consolidation import is_consolidated
from reasoningbank.types.memory import Memory, Outcome
from reasoningbank.types.ports import Embedder, Vector
from reasoningbank.types.recall import CONTENT_LEG, DENSE_LEGS, DESCRIPTION_LEG, FITTING, LEGS, LEXICAL_LEG, Filter, Hit
from reasoningbank.types.records import Candidates, Pool
from reasoningbank.types.scope import Level, Scope
from reasoningbank.types.standing import rank_of

LEAST_DENSE, LEAST_LEXICAL = 30, 50
"""Each leg brings at least so many memories before fusion, which measures the lexical best against the fiftieth."""
CANDIDATES_PER_HIT = 6
"""For longer answers each leg brings so many times the limit."""
_SPARE = 5
_LEAST = 1e-6
FLOODED = 1_000
"""Where the claims of one source have taken the candidates, each leg brings so many, so that others are among them."""
UNPROVEN_POOL = 5
"""How many of the most relevant unproven memories take part in the draw."""
UNPROVEN_BEST = 3
"""How many unproven memories are shown where nothing proven answers (DESIGN D6)."""
UNPROVEN_DRAWN = 1
"""How many are drawn beside proven ones that answer."""
SURE = 0.999
"""Relevance above this is not told apart when unproven memories are chosen: the rest is what is known of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One search as it is run.

    Attributes:
        text: The query, clean and without secrets.
        condition: What a memory must be; its confidence bounds are set here.
        limit: Most proven memories.
        min_confidence: What proven means for this search.
        unproven: Most unproven memories; None for what suits the proven ones, see ``offered``.
        legs: The legs that propose memories; the others only rank what these have proposed.
        tail: The least relevance of a proven memory when the best one reaches the floor.
        weak: Whether somebody asks, who can judge a weak hit: a small bank that knows nothing better shows it.
        passages: Of a long query, what may be asked; the text is the first of them.
    """

    text: str
    condition: Filter
    limit: int
    min_confidence: float
    unproven: int | None
    legs: tuple[str, ...] = LEGS
    tail: float = TAIL
    weak: bool = False
    passages: tuple[Passage, ...] = ()


class ScopeMemories(Protocol):
    """The memories of a bank."""

    def many(self, memory_ids: Collection[str], /) -> Mapping[str, Memory]:
        """Return the memories of these ids that exist."""


class Proposed(Protocol):
    """The searches of a bank."""

    def candidates(
        self, vector: Vector, text: str, pools: Sequence[Pool], function_words: str = ""
    ) -> Sequence[Candidates]:
        """Return all that a fused search needs, pool by pool."""


class Searched(Protocol):
    """What a search asks of a bank: of a store, or of a bank as it was (``curation/snapshot.py``)."""

    @property
    def scope(self) -> Scope:
        """Whose memories they are."""

    @property
    def memories(self) -> ScopeMemories:
        """Its memories."""

    @property
    def search(self) -> Proposed:
        """Its searches."""


class Findings(NamedTuple):
    """What a search found in one bank, as it is stored.

    Attributes:
        proven: Best first.
        pool: The unproven hits that may be drawn from.
        vectors: Of titles and contents, by id: those of all hits that have one.
        warnings: What went wrong with the search, although it was made.
    """

    proven: list[Hit]
    pool: list[Hit]
    vectors: Mapping[str, Vector]
    warnings: tuple[str, ...] = ()


class Wanted(NamedTuple):
    """A list of memories that meet a condition: how many it holds at most, and its least relevance."""

    condition: Filter
    limit: int
    tail: float = FLOOR


def recall(
    store: Store, embedder: Embedder, question: Question, chance: random.Random, *, vector: Vector | None = None
) -> tuple[tuple[Hit, ...], tuple[Hit, ...], Mapping[str, Vector], tuple[str, ...]]:
    """Find the proven hits, best first, and choose the unproven ones; with the vectors of both, and warnings.

    Args:
        store: Where to look.
        embedder: Makes the query's vector.
        question: What is wanted.
        chance: Decides the draw.
        vector: The query's vector, when it was made already.

    Raises:
        ModelMismatch: When the bank's vectors come from another model than the embedder.
    """
    if not has_space(store, embedder):
        return (), (), {}, ()
    if vector is None:
        vector = embedder.embed_queries([question.text])[0]
    proven, pool, vectors, warnings = find(store, embedder.model_id, question, vector)
    chosen = offered(proven, pool, question.unproven, chance)
    return tuple(map(revealed, proven)), tuple(map(revealed, chosen)), vectors, warnings


def heard(store: Searched, embedder: Embedder, question: Question) -> Question:
    """Return the question with the passage of a long query that is asked (``search/passages.py``).

    Args:
        store: Where to look; its vectors are of this embedder.
        embedder: Makes the passages' vectors.
        question: What is wanted.
    """
    if not question.passages:
        return question
    vectors = embedder.embed_queries([each.text for each in question.passages])
    wanted = [Wanted(question.condition, 1)]
    found = []
    for passage, vector in zip(question.passages, vectors, strict=True):
        (candidates,) = gather(store, vector, passage.text, wanted)
        ranked = rank(candidates, embedder.model_id, floor=0.0)
        found.append((passage, ranked[0].relevance if ranked else 0.0))
    return replace(question, text=question.passages[asked(found)].text, passages=())


def find(store: Searched, model_id: str, question: Question, vector: Vector) -> Findings:
    """Return the proven hits, best first, and the unproven ones that may be chosen from, as they are stored.

    Args:
        store: Where to look; its vectors are of this model.
        model_id: The vector space.
        question: What is wanted.
        vector: The query's vector.

    Raises:
        ModelMismatch: When the bank's vectors come from another model.
    """
    proven_only = replace(question.condition, min_confidence=question.min_confidence)
    wanted = [Wanted(proven_only, question.limit, question.tail)]
    if question.unproven != 0 and question.min_confidence > 0.0:
        below = replace(question.condition, below_confidence=question.min_confidence)
        wanted.append(Wanted(below, UNPROVEN_POOL))
    known: dict[str, Memory] = {}
    found, lists = _looked(store, model_id, question, vector, wanted, known)
    if any(map(_is_flooded, lists)):
        found, lists = _looked(store, model_id, question, vector, wanted, known, least=FLOODED)
    lists = [by_trust(hits, candidates.sources) for candidates, hits in zip(found, lists, strict=True)]
    vectors = {
        hit.id: candidates.vectors[hit.id]
        for candidates, hits in zip(found, lists, strict=True)
        for hit in hits
        if hit.id in candidates.vectors
    }
    proven, *others = [
        placed(hits, vectors, model_id, each.limit, question=question.text, floor=_floor(candidates, question))
        for hits, each, candidates in zip(lists, wanted, found, strict=True)
    ]
    if question.min_confidence > EXPLICIT_RECORD_CONFIDENCE:
        proven = [hit for hit in proven if hit.confidence >= question.min_confidence]
    marked = disputed([*proven, *(hit for hits in others for hit in hits)], vectors, model_id)
    warnings = dict.fromkeys(warning for candidates in found for warning in candidates.warnings)
    return Findings(marked[: len(proven)], marked[len(proven) :], vectors, tuple(warnings))


def _looked(
    store: Searched,
    model_id: str,
    question: Question,
    vector: Vector,
    wanted: Sequence[Wanted],
    known: dict[str, Memory],
    *,
    least: int = 0,
) -> tuple[Sequence[Candidates], list[list[Hit]]]:
    """Return what each list is made of, and its hits, best first; each leg brings at least so many candidates.

    The memories that are read are kept beside those that an earlier look has read.
    """
    found = gather(store, vector, question.text, wanted, question.legs, least=least)
    for candidates in found:
        check_model(candidates.model_id, model_id)
    ranked = [
        rank(candidates, model_id, words_worth=_factor(candidates, model_id), tail=each.tail)
        for candidates, each in zip(found, wanted, strict=True)
    ]
    if question.weak and not any(ranked):
        ranked = [weakly_ranked(candidates, model_id, _factor(candidates, model_id)) for candidates in found]
    ranking = _Ranking(store, [(fused, _batch(each.limit)) for fused, each in zip(ranked, wanted, strict=True)], known)
    level = store.scope.level
    return found, [_collapsed(ranking, fused, each.limit, level) for fused, each in zip(ranked, wanted, strict=True)]


def _floor(candidates: Candidates, question: Question) -> float:
    """Return the relevance at which the best memory is found: less where somebody asks a small bank."""
    return asked_floor(candidates.lexical.documents) if question.weak else FLOOR


def _is_flooded(hits: Sequence[Hit]) -> bool:
    """Return whether the claims of one source took so many candidates that others may not have become one."""
    return len(hits) >= LEAST_DENSE // 2 and is_crowded(hits) and len(set(map(_source, hits))) == 1


def _source(hit: Hit) -> str:
    return source_of(hit.memory)


def unlike(pool: Sequence[Hit], shown: Sequence[Hit]) -> list[Hit]:
    """Return the hits whose text is not that of a hit that is shown already."""
    if not pool:
        return []
    texts = {hit.memory.fingerprint for hit in shown}
    return [hit for hit in pool if hit.memory.fingerprint not in texts]


def gather(
    store: Searched, vector: Vector, text: str, wanted: Sequence[Wanted], legs: Sequence[str] = LEGS, *, least: int = 0
) -> Sequence[Candidates]:
    """Return what the three legs bring for each list that is wanted; the evaluation measures the same.

    The legs of a question are lexical or dense: one that names either dense leg lets both propose.
    """
    dense, lexical = any(leg in legs for leg in DENSE_LEGS), LEXICAL_LEG in legs
    pools = [
        Pool(
            condition=each.condition,
            dense=max(LEAST_DENSE, least, CANDIDATES_PER_HIT * each.limit) if dense else 0,
            lexical=max(LEAST_LEXICAL, least, CANDIDATES_PER_HIT * each.limit) if lexical else 0,
        )
        for each in wanted
    ]
    words = query_words(text)
    return store.search.candidates(vector, " ".join(words.content), pools, " ".join(words.function))


def rank(
    candidates: Candidates, model_id: str, floor: float = FLOOR, words_worth: float = 1.0, tail: float = TAIL
) -> tuple[Fused, ...]:
    """Return the relevant candidates, best first; none when no memory of the pool has a vector."""
    content, description = candidates.dense[CONTENT_LEG], candidates.dense[DESCRIPTION_LEG]
    if not content:
        return ()
    return fuse(
        content,
        description,
        candidates.lexical,
        model_id=model_id,
        floor=floor,
        tail=tail,
        words_worth=words_worth,
        vectors=candidates.vectors,
    )


def weakly_ranked(candidates: Candidates, model_id: str, words_worth: float = 1.0) -> tuple[Fused, ...]:
    """Return what a small bank shows to who asks when nothing reaches the floor; nothing of a large one."""
    least = asked_floor(candidates.lexical.documents)
    return rank(candidates, model_id, least, words_worth) if least < FLOOR else ()


def revealed(hit: Hit) -> Hit:
    """Return the hit as it may leave: its texts checked for secrets once more."""
    memory = reveal(hit.memory)
    return hit if memory is hit.memory else replace(hit, memory=memory)


def answers(proven: Sequence[Hit]) -> bool:
    """Return whether one of the proven hits fits the question."""
    return any(hit.relevance >= FITTING for hit in proven)


def outranked(proven: Sequence[Hit], unproven: Sequence[Hit]) -> bool:
    """Return whether the best unproven hit is more relevant than every proven one."""
    return max((hit.relevance for hit in unproven), default=0.0) > max((hit.relevance for hit in proven), default=0.0)


def offered(proven: Sequence[Hit], pool: Sequence[Hit], count: int | None, chance: random.Random) -> list[Hit]:
    """Return the unproven hits that are shown beside the proven ones, most relevant first.

    A claim comes after what stands higher and answers as well, as it does among proven ones.

    Where no proven hit answers, the best-ranked ones are; beside an answer the best-ranked one when it is more relevant
    than every proven hit, else one that is drawn. Of one source's claims those that the proven hits hold count too.

    Args:
        proven: What is shown anyway.
        pool: The unproven hits to choose from, best first.
        count: Most of them; None for three where nothing proven answers and one beside an answer.
        chance: Decides the draw.
    """
    fresh = unlike(pool, proven)
    answered = answers(proven)
    most = (UNPROVEN_DRAWN if answered else UNPROVEN_BEST) if count is None else count
    if answered and not outranked(proven, fresh):
        ranked = drawn(fresh, chance)
    else:
        ranked = sorted(fresh, key=lambda hit: -_odds(hit) * hit.confidence)
    first = proven if len(proven) < FIRST else ()
    room = partial(shared, places=min(most, FIRST - len(first)), whole=False, before=first, others=pool)
    return room(_marked(room(ranked)[:most]))


def drawn(pool: Sequence[Hit], chance: random.Random) -> list[Hit]:
    """Return the hits as Thompson sampling orders them: each draws a plausible usefulness from its posterior.

    The best times the odds of being relevant win: near 1, where all good hits lie, odds tell them apart.
    """
    promise = {hit.id: _odds(hit) * _sample(hit, chance) for hit in pool}
    return sorted(pool, key=lambda hit: -promise[hit.id])


def _marked(chosen: Sequence[Hit]) -> list[Hit]:
    return behind(sorted((replace(hit, unproven=True) for hit in chosen), key=lambda hit: -hit.relevance))


def _odds(hit: Hit) -> float:
    relevance = min(hit.relevance, SURE)
    return relevance / (1.0 - relevance)


def _sample(hit: Hit, chance: random.Random) -> float:
    belief = hit.memory.belief
    return chance.betavariate(max(belief.alpha, _LEAST), max(belief.beta, _LEAST))


def _factor(candidates: Candidates, model_id: str) -> float:
    """Return what the weight of words is multiplied by: 1 when it was learned in another vector space."""
    worth = candidates.words_worth
    return worth.factor if worth.model_id == model_id else 1.0


def _batch(limit: int) -> int:
    """Return how many memories are read at once for a list; none for an empty one."""
    return limit + _SPARE if limit > 0 else 0


class _Ranking:
    """The memories of ranked lists, read in two statements at most: the first of each list, then all others.

    A second look, which is for those that come later in the lists, reads all that it does not know in one.

    Args:
        store: Where they are.
        lists: Each with the size of its batches; nothing is read of a list that none is wanted of.
        known: The memories that an earlier look has read.
    """

    def __init__(self, store: Searched, lists: Sequence[tuple[Sequence[Fused], int]], known: dict[str, Memory]) -> None:
        self._store, self._known = store, known
        first = {one.id for fused, size in lists for one in fused[:size]}
        self._rest = {one.id for fused, size in lists if size for one in fused[size:]} - known.keys()
        if known:
            first, self._rest = first | self._rest, set()
        if unknown := first - known.keys():
            known.update(store.memories.many(unknown))

    def of(self, batch: Sequence[Fused]) -> Mapping[str, Memory]:
        """Return the memories of a batch of a list, among others."""
        if any(one.id in self._rest for one in batch):
            self._known.update(self._store.memories.many(self._rest))
            self._rest = set()
        return self._known


def _collapsed(ranking: _Ranking, fused: Sequence[Fused], limit: int, level: Level) -> list[Hit]:
    """Return the first hits whose texts differ by more than case, space and punctuation; the rest are named in them.

    Of equally relevant ones a memory that stands for several comes first, by what it is and not by what it says. Where
    one source crowds the first places, all hits are returned, so that other sources can be placed there; and five for a
    shorter list, so that what stands higher than a claim is not cut off before it is placed.
    """
    hits: dict[tuple[bytes, Outcome], Hit] = {}
    size = _batch(limit)
    for start in range(0, len(fused), size) if size else ():
        batch = fused[start : start + size]
        memories = ranking.of(batch)
        for one in batch:
            if one.id in memories:
                memory = memories[one.id]
                _collapse(hits, Hit(memory=memory, relevance=one.relevance, fit=one.fit, legs=one.legs, scope=level))
        if len(hits) >= limit and not is_crowded(best := _sorted(hits.values())):
            return best[: max(limit, FIRST)]
    return _sorted(hits.values())


def _sorted(hits: Iterable[Hit]) -> list[Hit]:
    return sorted(hits, key=lambda hit: (-hit.relevance, not is_consolidated(hit.memory)))


def _weight(hit: Hit) -> tuple[int, float]:
    return rank_of(hit.standing), hit.confidence


def _collapse(hits: dict[tuple[bytes, Outcome], Hit], hit: Hit) -> None:
    """Add a hit, or name it in the one that says the same and stands higher, or as high and is believed more.

    Who says of the same text that it failed says the opposite, and is shown beside it.
    """
    said = hit.memory.fingerprint, hit.memory.outcome
    first = hits.get(said)
    if first is None:
        hits[said] = hit
        return
    shown, hidden = (hit, first) if _weight(hit) > _weight(first) else (first, hit)
    hits[said] = replace(
        shown,
        relevance=max(first.relevance, hit.relevance),
        fit=first.fit,
        duplicates=tuple(sorted({*first.duplicates, *hit.duplicates, hidden.id})),
    )
