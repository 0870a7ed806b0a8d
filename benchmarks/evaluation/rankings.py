"""What is compared: every leg by itself, the fusions that others use, and ours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy

from reasoningbank.memories.words import query_words
from reasoningbank.search.fusion import FLOOR, TAIL, Fused
from reasoningbank.search.recall import Wanted, gather, rank, weakly_ranked
from reasoningbank.storage.store import Store
from reasoningbank.types.ports import Vector
from reasoningbank.types.recall import CONTENT_LEG, DESCRIPTION_LEG, Filter
from reasoningbank.types.records import Candidates

LIMIT = 10
"""The rankings are those of an answer of so many memories."""
RECIPROCAL_RANK, DEPTH = 60, 100
Scores = Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What the three legs bring for one query; every candidate has its cosines.

    Attributes:
        candidates: What a search fuses.
        plain_words: The ranking of plain BM25, to which every word of the query counts in full.
    """

    candidates: Candidates
    plain_words: Sequence[str] = ()

    @property
    def content(self) -> Scores:
        """Cosines with titles and contents."""
        return self.candidates.dense[CONTENT_LEG]

    @property
    def description(self) -> Scores:
        """Cosines with descriptions."""
        return self.candidates.dense[DESCRIPTION_LEG]

    @property
    def words(self) -> Scores:
        """BM25 of the hits."""
        return {hit.id: hit.score for hit in self.candidates.lexical.hits}

    @property
    def nearness(self) -> Scores:
        """The larger cosine of every candidate."""
        both = {*self.content, *self.description}
        return {one: max(self.content.get(one, -1.0), self.description.get(one, -1.0)) for one in both}


def search(store: Store, text: str, vector: Vector, itself: str = "") -> Found:
    """Asks the three legs as a search does, by its own code; ``itself`` is taken out of what they bring."""
    candidates = gather(store, vector, text, [Wanted(Filter(), LIMIT)])[0]
    words = query_words(text)
    plain = store.search.matching(" ".join(words.content + words.function), Filter(), LIMIT + 1)
    return Found(
        plain_words=[hit.id for hit in plain.hits if hit.id != itself],
        candidates=Candidates(
            dense={
                leg: {one: score for one, score in scores.items() if one != itself}
                for leg, scores in candidates.dense.items()
            },
            lexical=replace(candidates.lexical, hits=tuple(hit for hit in candidates.lexical.hits if hit.id != itself)),
            vectors=candidates.vectors,
        ),
    )


def ranked(scores: Scores) -> list[str]:
    """The ids by descending score, of equals the smaller id first."""
    return sorted(scores, key=lambda one: (-scores[one], one))


def reciprocal_rank(found: Found) -> Scores:
    """Reciprocal rank fusion: sum of ``1 / (60 + rank)`` over the first hundred of each leg (Cormack et al., 2009)."""
    total: dict[str, float] = {}
    for leg in (found.content, found.description, found.words):
        for place, one in enumerate(ranked(leg)[:DEPTH], start=1):
            total[one] = total.get(one, 0.0) + 1 / (RECIPROCAL_RANK + place)
    return total


def weighted(share: float) -> Callable[[Found], Scores]:
    """``share`` times the min-max cosine plus the rest times BM25 by its maximum."""

    def scores(found: Found) -> Scores:
        near, words = found.nearness, found.words
        low, high = min(near.values(), default=0.0), max(near.values(), default=0.0)
        best = max(words.values(), default=0.0)
        return {
            one: share * ((value - low) / (high - low) if high > low else 0.0)
            + (1 - share) * (words.get(one, 0.0) / best if best > 0 else 0.0)
            for one, value in near.items()
        }

    return scores


def standardised(found: Found) -> Scores:
    """Sum of the z-scores of cosine and BM25 among the candidates."""
    near = found.nearness
    ids = list(near)
    words = found.words
    total = _standard([near[one] for one in ids]) + _standard([words.get(one, 0.0) for one in ids])
    return dict(zip(ids, total.tolist(), strict=True))


def _standard(values: Iterable[float]) -> numpy.ndarray[tuple[int], numpy.dtype[numpy.float64]]:
    numbers = numpy.array(list(values), dtype=numpy.float64)
    return (numbers - numbers.mean()) / (numbers.std() + 1e-9) if numbers.size else numbers


LEGS: Mapping[str, Callable[[Found], list[str]]] = {
    "BM25": lambda found: ranked(found.words),
    "content": lambda found: ranked(found.content),
    "description": lambda found: ranked(found.description),
}
"""The single legs of the product."""
PLAIN: Mapping[str, Callable[[Found], list[str]]] = {
    "plain BM25": lambda found: list(found.plain_words),
    "plain dense": lambda found: ranked(found.nearness),
}
"""The legs as anybody would build them: BM25 over all words of the query, and the larger cosine."""
FIXED: tuple[float, ...] = (0.3, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Dense shares of the fixed weights."""


def fusions(model_id: str, words_worth: float = 1.0) -> Mapping[str, Callable[[Found], list[str]]]:
    """All fusions by name.

    "shipped" is what an agent sees, "sieve" what it saw while the floor judged every memory by itself, "as is" does
    without what the bank has learned.
    """
    table: dict[str, Callable[[Found], list[str]]] = {
        "RRF 60": lambda found: ranked(reciprocal_rank(found)),
        "z-score": lambda found: ranked(standardised(found)),
    }
    for share in FIXED:
        table[f"fixed {share}"] = _by(weighted(share))
    table["as is"] = lambda found: ours(found, model_id, 0.0)
    table["ours"] = lambda found: ours(found, model_id, 0.0, words_worth)
    table["sieve"] = lambda found: ours(found, model_id, FLOOR, words_worth, FLOOR)
    table["shipped"] = lambda found: [one.id for one in shipped(found, model_id, words_worth)]
    return table


def shipped(found: Found, model_id: str, words_worth: float = 1.0) -> tuple[Fused, ...]:
    """What a search shows to who asks."""
    candidates = found.candidates
    return rank(candidates, model_id, words_worth=words_worth) or weakly_ranked(candidates, model_id, words_worth)


def ours(found: Found, model_id: str, floor: float, words_worth: float = 1.0, tail: float = TAIL) -> list[str]:
    """The ids that our fusion lets through, best first."""
    return [one.id for one in rank(found.candidates, model_id, floor, words_worth, tail)]


def best_of(found: Found, model_id: str) -> float:
    """The relevance of the best memory; 0 when there is none."""
    return max((one.relevance for one in rank(found.candidates, model_id, 0.0)), default=0.0)


def _by(scores: Callable[[Found], Scores]) -> Callable[[Found], list[str]]:
    return lambda found: ranked(scores(found))
