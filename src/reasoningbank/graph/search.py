"""Search in the contextual graph and among lessons: seeds of a walk, and scores of several legs."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from reasoningbank.memories.links import checked_nodes
from reasoningbank.memories.words import STOP_WORDS, query_terms, query_words
from reasoningbank.safety.graph_text import reveal
from reasoningbank.search.query import search_limit, usable_query
from reasoningbank.storage.store import Store
from reasoningbank.types.graph import Edge, Node
from reasoningbank.types.graph_search import (
    BM25_LEG,
    CONTEXT_LEG,
    LESSON_LEG,
    TEXT_LEG,
    EdgeHit,
    Fusion,
    GraphFilter,
    GraphKind,
    LessonWeights,
    NodeHit,
)
from reasoningbank.types.memory import MAX_TITLE, Memory
from reasoningbank.types.ports import Embedder
from reasoningbank.types.recall import CONTENT_LEG, DESCRIPTION_LEG, LEXICAL_LEG, Filter, Hit
from reasoningbank.types.records import Candidates, LessonMatches, LessonTexts, Scored
from reasoningbank.types.standing import SESSION

if TYPE_CHECKING:
    from reasoningbank.search.cascade import Found
    from reasoningbank.search.fusion import Blended
    from reasoningbank.search.recall import Question

_Part = TypeVar("_Part", Node, Edge)
_LEGS: Mapping[str, str] = {LESSON_LEG: CONTENT_LEG, CONTEXT_LEG: DESCRIPTION_LEG}
"""The dense legs of a lesson and what they are called of a memory."""
_SHORT_TITLE = 120
_AS_WELL = 0.8
"""Share of the best score from which an item answers as well and has a place beside one source's claims."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonQuestion:
    """Hold what is looked for among the lessons.

    Attributes:
        text: The query, cleaned.
        limit: Most lessons.
        weights: Of the legs ``lesson``, ``context`` and ``bm25``; a leg of weight 0 is not searched.
        condition: What a lesson must be.
        linked_to: Only lessons linked with any of these nodes; None for all.
        fusion: How the legs are put together.
        min_score: At least this score; None leaves out only what no word and no cosine above the background speaks for.
    """

    text: str
    limit: int
    weights: Mapping[str, float]
    condition: Filter
    linked_to: tuple[str, ...] | None = None
    fusion: Fusion = "weighted"
    min_score: float | None = None


class FoundLessons(NamedTuple):
    """Hold the lessons for a question, each in its place, as they are stored, and one sentence about them."""

    hits: Sequence[Hit]
    message: str


def find_lessons(store: Store, embedder: Embedder, question: LessonQuestion) -> FoundLessons:
    """Return the lessons for a question in the order in which they are shown; none when nothing speaks for any.

    The rule of places is that of every search (``search/placement.py``). Whether a lesson answers the question says the
    relevance of a search by memory, because the scores of a search by lesson depend on its weights.

    Raises:
        ModelMismatch: When the bank was built with another embedder.
    """
    from reasoningbank.search.placement import FIRST, is_crowded

    terms = content_terms(question.text)
    if not terms:
        return FoundLessons((), "The query has only words that every text has; nothing was searched.")
    if question.limit == 0:
        return FoundLessons((), "No lesson was asked for.")
    matches = _matches(store, embedder, question, terms)
    known: dict[str, Memory] = {}

    def hits_of(found: Sequence[Blended]) -> list[Hit]:
        if unknown := [each.id for each in found if each.id not in known]:
            known.update(store.memories.many(unknown))
        return [Hit(memory=known[each.id], relevance=each.score, legs=each.legs) for each in found if each.id in known]

    found, message = _above_in(matches, embedder, question)
    hits = hits_of(found[: max(question.limit, FIRST)])
    if is_crowded(hits):
        matches = matches.whole()
        hits = hits_of(_above_in(matches, embedder, question)[0])
    if not any(hit.standing == "claim" for hit in hits):
        return FoundLessons(hits[: question.limit], message)
    return FoundLessons(_placed(hits, matches, embedder, question), message)


def _placed(hits: Sequence[Hit], matches: LessonMatches, embedder: Embedder, question: LessonQuestion) -> list[Hit]:
    """Return lessons in their places, by what a search by memory makes of the cosines and the words."""
    from reasoningbank.search.fusion import asked_floor
    from reasoningbank.search.placement import placed
    from reasoningbank.search.recall import rank

    judged = Candidates(
        dense={leg: {each.id: each.score for each in found} for leg, found in matches.dense.items()},
        lexical=matches.lexical,
    )
    fused = {each.id: each for each in rank(judged, embedder.model_id, floor=0.0)}
    scored = {hit.id: hit for hit in hits}
    answers = [
        replace(hit, relevance=fused[hit.id].relevance, fit=fused[hit.id].fit)
        if hit.id in fused
        else replace(hit, relevance=0.0, fit="weak")
        for hit in hits
    ]
    floor = asked_floor(judged.lexical.documents)
    order = placed(answers, matches.vectors, embedder.model_id, question.limit, question=question.text, floor=floor)
    return [scored[hit.id] for hit in order]


def together(lists: Sequence[Sequence[Hit]], limit: int) -> list[Hit]:
    """Return lists of lessons in their places as one list, a lesson once, with room for other sources in it.

    Args:
        lists: Each best first.
        limit: Most of them.
    """
    from reasoningbank.search.placement import FIRST, shared

    best: dict[str, Hit] = {}
    for hit in heapq.merge(*lists, key=lambda each: -each.relevance):
        best.setdefault(hit.id, hit)
    return shared(list(best.values()), whole=limit > FIRST)[:limit]


def by_lesson(
    store: Store,
    embedder: Embedder,
    question: Question,
    *,
    linked_to: Iterable[str] | None = None,
    weights: LessonWeights,
) -> Found:
    """Return the memories for a question by what they say and when they apply, those below its confidence apart.

    The score is the seed's: cosines as ``(1 + s) / 2``, BM25 as ``2 / pi * arctan(x)``, times the weights, divided by
    their sum; what one leg alone has found can be in the answer.

    Raises:
        InvalidInput: When a weight, the fusion or a node's id is not usable, or all weights are 0.
        ModelMismatch: When the bank was built with another embedder.
    """
    from reasoningbank.memories.admission import has_space
    from reasoningbank.search.cascade import Found
    from reasoningbank.search.fusion import check_fusion, check_least, check_weights
    from reasoningbank.search.placement import FIRST, shared
    from reasoningbank.search.recall import revealed

    legs = {
        LESSON_LEG: weights.lesson_weight,
        CONTEXT_LEG: weights.context_weight,
        BM25_LEG: weights.bm25_weight,
    }
    asked = LessonQuestion(
        text=question.text,
        limit=question.limit,
        weights=check_weights(legs),
        condition=question.condition,
        linked_to=None if linked_to is None else checked_nodes(linked_to),
        fusion=check_fusion(weights.fusion),
        min_score=check_least(weights.min_score),
    )
    has_space(store, embedder)
    found = find_lessons(store, embedder, asked)
    hits = [revealed(hit) for hit in found.hits]
    proven = [hit for hit in hits if hit.confidence >= question.min_confidence]
    unproven = [replace(hit, unproven=True) for hit in hits if hit.confidence < question.min_confidence]
    return Found(tuple(shared(proven)), tuple(shared(unproven, before=proven[:FIRST])), message=found.message)


def above(
    found: Sequence[Blended], least: float | None, *, model_id: str, lexical: str, noun: str
) -> tuple[list[Blended], str]:
    """Return what is relevant of what was found, and a sentence that says why nothing is when nothing is.

    Args:
        found: Best first.
        least: The least score; None asks for a matching word, or a cosine above that of unrelated texts.
        model_id: The vector space.
        lexical: The leg of words.
        noun: What it is.
    """
    from reasoningbank.search.fusion import calibration_of

    if not found:
        return [], f"Nothing relevant is known: no leg found any {noun}."
    if least is not None:
        kept = [each for each in found if each.score >= least]
        best = found[0].score
        return kept, "" if kept else f"Nothing is above the threshold {least:g}; the best {noun} scored {best:.3f}."
    background = calibration_of(model_id).background
    kept = [
        each
        for each in found
        if lexical in each.legs or any(leg.score > background for name, leg in each.legs.items() if name != lexical)
    ]
    return kept, "" if kept else f"Nothing relevant is known: no {noun} is closer than unrelated texts are."


def content_terms(text: str) -> str:
    """Return the words of a query that say something; empty when it has none."""
    return " ".join(term for term in query_terms(text) if term not in STOP_WORDS)


def title_of(key_lesson: str) -> str:
    """Return a title for a lesson that has none: its first sentence, or as much of it as fits into a line."""
    line = " ".join(key_lesson.split())
    sentence = next((line[: place + 1] for place, sign in enumerate(line) if sign in ".!?;" and place > 20), line)
    if len(sentence) <= _SHORT_TITLE:
        return sentence[:MAX_TITLE]
    return sentence[:_SHORT_TITLE].rsplit(" ", 1)[0] + "…"


def _matches(store: Store, embedder: Embedder, question: LessonQuestion, terms: str) -> LessonMatches:
    """Return what all legs find, those without weight too: they judge what answers.

    They bring so many at once that other sources are among them where the claims of one have taken the first.
    """
    from reasoningbank.memories.admission import check_model
    from reasoningbank.search.fusion import CANDIDATES_PER_HIT
    from reasoningbank.search.recall import FLOODED

    words = query_words(question.text)
    most = question.limit * CANDIDATES_PER_HIT
    found = store.search.lessons(
        embedder.embed_queries([question.text])[0],
        LessonTexts(
            context=terms if question.weights[BM25_LEG] > 0.0 else "",
            words=" ".join(words.content),
            function_words=" ".join(words.function),
        ),
        question.condition,
        max(most, FLOODED),
        None if question.linked_to is None else store.graph.linked_row_ids(question.linked_to),
        first=most,
    )
    check_model(found.model_id, embedder.model_id)
    return found


def _above_in(matches: LessonMatches, embedder: Embedder, question: LessonQuestion) -> tuple[list[Blended], str]:
    """Return what is relevant of what the legs with a weight have found, and why nothing is when nothing is."""
    from reasoningbank.search.fusion import blend

    legs = {name: matches.dense[leg] for name, leg in _LEGS.items() if question.weights[name] > 0.0}
    if question.weights[BM25_LEG] > 0.0:
        legs[BM25_LEG] = matches.words
    found = blend(legs, question.weights, lexical=(BM25_LEG,), fusion=question.fusion)
    return above(found, question.min_score, model_id=embedder.model_id, lexical=BM25_LEG, noun="lesson")


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphQuestion:
    """Hold what is looked for in the graph.

    Attributes:
        text: The query, cleaned.
        limit: Most nodes or edges.
        bm25_weight, dense_weight: Of the words and of the meaning; a leg of weight 0 is not searched.
        condition: What a node or an edge must be.
        fusion: How the legs are put together.
        min_score: At least this score; None leaves out only what no word and no cosine above the background speaks for.
    """

    text: str
    limit: int
    condition: GraphFilter
    bm25_weight: float = 0.5
    dense_weight: float = 0.5
    fusion: Fusion = "weighted"
    min_score: float | None = None


def asked(
    query: str,
    limit: int,
    condition: GraphFilter | None,
    bm25_weight: float,
    dense_weight: float,
    *,
    fusion: str,
    min_score: float | None,
) -> GraphQuestion:
    """Return a checked question to the graph.

    Raises:
        EmptyQuery, NegativeLimit, InvalidInput: When an argument is not usable.
    """
    from reasoningbank.search.fusion import check_fusion, check_least, check_weights

    check_weights({"bm25": bm25_weight, "dense": dense_weight})
    return GraphQuestion(
        text=usable_query(query),
        limit=search_limit(limit),
        bm25_weight=bm25_weight,
        dense_weight=dense_weight,
        condition=condition or GraphFilter(),
        fusion=check_fusion(fusion),
        min_score=check_least(min_score),
    )


def find_nodes(store: Store, embedder: Embedder, question: GraphQuestion) -> tuple[tuple[NodeHit, ...], str]:
    """Return the nodes for a question, best first, and a sentence when there are none.

    Raises:
        ModelMismatch: When the bank was built with another embedder.
    """
    found, message = _find(store, embedder, question, "node")
    hits = _first(found, lambda names: reveal(store.graph.nodes(names).values()), question.limit)
    return tuple(NodeHit(node=node, score=each.score, legs=each.legs) for each, node in hits), message


def find_edges(store: Store, embedder: Embedder, question: GraphQuestion) -> tuple[tuple[EdgeHit, ...], str]:
    """Return the same for edges."""
    found, message = _find(store, embedder, question, "edge")
    hits = _first(found, lambda names: reveal(store.graph.edges(names).values()), question.limit)
    return tuple(EdgeHit(edge=edge, score=each.score, legs=each.legs) for each, edge in hits), message


def _first(
    found: Sequence[Blended], read: Callable[[Sequence[str]], Iterable[_Part]], limit: int
) -> list[tuple[Blended, _Part]]:
    """Return the best of what was found, with room among the first five for what other sources say.

    Args:
        found: Best first.
        read: Reads nodes or edges by their ids.
        limit: Most of them. More are read only where the claims of one source fill the first places.
    """
    from reasoningbank.search.placement import FIRST, MOST_OF_A_SOURCE

    def known(best: Sequence[Blended]) -> list[tuple[Blended, _Part]]:
        parts = {part.id: part for part in read([each.id for each in best])}
        return [(each, parts[each.id]) for each in best if each.id in parts]

    hits = known(found[:limit])
    sources = Counter(part.provenance.get(SESSION, "") for _, part in hits[:FIRST] if part.standing == "claim")
    if not sources or max(sources.values()) <= MOST_OF_A_SOURCE:
        return hits
    hits = known(found)
    return [hits[place] for place in places_of([(each.score, part) for each, part in hits], whole=limit > FIRST)][
        :limit
    ]


def places_of(found: Sequence[tuple[float, Node | Edge]], *, whole: bool) -> list[int]:
    """Return the order of nodes or edges in which one source leaves room for what others say as well.

    Args:
        found: Each with its score, best first.
        whole: Whether there is room behind the first places; else what one source has too many of is left out.
    """
    from reasoningbank.search.placement import Voice, in_places

    least = _AS_WELL * max((score for score, _ in found), default=0.0)
    voices = [
        Voice(part.provenance.get(SESSION, ""), part.standing == "claim", score >= least) for score, part in found
    ]
    return in_places(voices, whole=whole)


def _find(store: Store, embedder: Embedder, question: GraphQuestion, kind: GraphKind) -> tuple[list[Blended], str]:
    from reasoningbank.search.fusion import CANDIDATES_PER_HIT, blend

    terms = content_terms(question.text)
    if not terms:
        return [], "The query has only words that every text has; nothing was searched."
    if question.limit == 0:
        return [], f"No {kind} was asked for."
    most = question.limit * CANDIDATES_PER_HIT
    legs: dict[str, Sequence[Scored]] = {}
    if question.dense_weight > 0.0:
        vector = embedder.embed_queries([question.text])[0]
        legs[TEXT_LEG] = store.search.graph_nearest(kind, vector, question.condition, most)
    if question.bm25_weight > 0.0:
        legs[LEXICAL_LEG] = store.search.graph_matching(kind, terms, question.condition, most).hits
    weights = {TEXT_LEG: question.dense_weight, LEXICAL_LEG: question.bm25_weight}
    found = blend(legs, weights, lexical=(LEXICAL_LEG,), fusion=question.fusion)
    kept, message = above(found, question.min_score, model_id=embedder.model_id, lexical=LEXICAL_LEG, noun=kind)
    return kept, message
