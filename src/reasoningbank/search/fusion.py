"""Fusion of the legs of a search, and the relevance floor (DESIGN D13, docs/decisions/0004).

Analysis gives an identifier's parts and then the whole (``memories/words.py``); the index stems both. A stem may end
earlier in the whole than in the part (``header`` but ``mischead``), and a part that is a stop word is not among the
terms (``with_traceback`` gives ``traceback withtraceback``). Both are allowed for.

The seed's store brings a cosine ``s`` to ``(1 + s) / 2`` and a BM25 score ``x`` to ``(2 / pi) * arctan(x)``, multiplies
each by its leg's weight and adds them up; a leg that did not find something gives it 0 (spec/memoria_haios, section 2).
Here the sum is divided by the sum of the weights, so that a score lies in [0, 1] and a least score means the same
whatever the weights add up to. Reciprocal rank fusion (Cormack et al., 2009) adds ``weight / (60 + rank)``, divided by
what a first rank in every leg gives.

The legs have scales of their own, so each is first brought to one that means the same in every bank:

* ``x``, the dense evidence: ``(cosine - background) / (1 - background)``, the larger of the content's and the
  description's. The background is what two unrelated texts have in that vector space (:class:`Calibration`).
* ``e``, the lexical evidence in nats: BM25 times ``known' / known``. ``known`` sums FTS5's idf over the query's terms
  that the bank holds, ``known'`` sums ``log(1 + (N + 20) / (n + 0.5))`` over them. In a bank of thousands the factor is
  near 1; in a bank of three, where FTS5's idf is zero or worse, it keeps a word from being worth nothing.
* ``u``, the coverage: ``min(e, known') / all'``, the share of the query's rare-term mass that the memory covers;
  ``all'`` counts the terms too that no memory holds.

**Order.** ``x + weight * l ** 1.5`` with ``l = (e - e50) / (e1 - e50)``, at least 0: how far the memory stands out from
the lexical background (``e1``: best hit, ``e50``: fiftieth). The weight is the query's, at most 4:
``0.9 * N / (N + 20) * u1 * (e1 - e10) / 7.4 * (1 - x10) * exp(2 i)``. So words count when the best hit covers the
query's rare words (``u1``), when it stands out from the tenth, when the dense leg has not found ten close matches
already (``x10``), and when the query names things: ``i`` is the share of its rare-term mass in identifiers. Among few
memories nearly every word is rare and there is no tenth to stand out from, so words count less: ``N`` is the number of
memories. What a bank has learned that words are worth in it (``word_weights.py``) multiplies the weight.

**Neighbours.** The five best then speak for what says nearly the same as they do: a memory gains a tenth of the mean of
``max(0, x' - 0.7) / 0.3`` over them, ``x'`` being their dense evidence for each other. Where lessons are unlike each
other nothing changes; where many say one thing in other words, they come together.

**Floor.** ``relevance = sigmoid(19 x + 5.7 u log(1 + T) - 0.87 log N - 4.25)`` for ``T`` terms and ``N`` memories, at
least 3: the more memories, the more of them are close by chance. When the best memory does not reach the floor nothing
is found: :data:`FLOOR`, and less for a question that somebody asks of a small bank (:func:`asked_floor`). One of few
memories that hold most of the query's rare-term mass passes whatever its cosine: ``ECONNRESET`` finds its only
mention. Such a memory has a relevance of at least .5, and more where the mass is above 3.5 nats: in a bank of forty
every word is rare, and the only memory that holds ``works`` does not answer "that works". A memory is shown
at least as relevant as those that it outranks.

**Fit.** The number saturates: in a large bank ten memories may be at .99, and two of them right. So a hit has a word
too. With ``z`` the log odds of its relevance less ``log N`` (``N`` at most 200 here), and ``g`` what its log odds lack
of the best hit's, it is strong where ``z >= 1`` and ``g <= 4``, fair where ``z >= -2`` and ``g <= 6``, else weak.
``make eval-retrieval`` shows how many of each have to do with the query.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reasoningbank.errors import InvalidInput
from reasoningbank.memories.words import STOP_WORDS
from reasoningbank.types.graph_search import FUSIONS, Fusion
from reasoningbank.types.ports import Vector
from reasoningbank.types.recall import CONTENT_LEG, DENSE_LEGS, DESCRIPTION_LEG, LEXICAL_LEG, Fit, Leg
from reasoningbank.types.records import LexicalMatches, Scored

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    _Numbers = NDArray[numpy.float64]

_LEAST_PART = 3
_LEAST_END = 2
_STEMMED = 4
"""The stem of a whole may lack so many letters of its last part."""
_STOP_STEMS = frozenset(word[:length] for word in STOP_WORDS for length in range(max(2, len(word) - 2), len(word) + 1))


def identifier_places(terms: Sequence[str]) -> set[int]:
    """Return places of the terms that are a whole identifier, or the parts of it right before."""
    places: set[int] = set()
    for place, whole in enumerate(terms):
        first = place
        while first > 0 and _holds(whole, terms[first - 1]):
            first -= 1
        parts = terms[first:place]
        several = len(parts) >= 2 and len(whole) >= len(parts[-1]) + len(parts[-2]) - _STEMMED
        if several or (parts and _is_stop_word_and(parts[-1], whole)):
            places.update(range(first, place + 1))
    return places


def _holds(whole: str, part: str) -> bool:
    """Return whether the part stands in the whole, or the whole ends with the beginning of it."""
    return part[: max(1, len(part) - 1)] in whole or _common_end(whole, part) >= _LEAST_END


def _common_end(whole: str, part: str) -> int:
    """Return the length of the longest beginning of the part that the whole ends with."""
    return next((length for length in range(len(part), 0, -1) if whole.endswith(part[:length])), 0)


def _is_stop_word_and(part: str, whole: str) -> bool:
    """Return whether the whole is the part with a stop word before or after it."""
    if len(part) < _LEAST_PART or len(whole) <= len(part):
        return False
    if whole.startswith(part):
        return whole[len(part) :] in _STOP_STEMS
    end = _common_end(whole, part)
    return end >= _LEAST_END and whole[:-end] in _STOP_STEMS


RANK_CONSTANT = 60
"""k of reciprocal rank fusion."""
CANDIDATES_PER_HIT = 5
"""So many candidates of each leg are looked at for every hit that is asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Blended:
    """What the fusion makes of one item: its score from 0 to 1, and rank and own score in each leg that found it."""

    id: str
    score: float
    legs: Mapping[str, Leg]


def normalised_cosine(score: float) -> float:
    """Return a cosine as a number from 0 to 1: ``(1 + s) / 2``."""
    return (1.0 + max(-1.0, min(1.0, score))) / 2.0


def normalised_bm25(score: float) -> float:
    """Return a BM25 score as a number from 0 to 1: ``(2 / pi) * arctan(x)``."""
    return 2.0 / math.pi * math.atan(max(0.0, score))


def check_weights(weights: Mapping[str, float]) -> Mapping[str, float]:
    """Return the weights of the legs when they can be used.

    Raises:
        InvalidInput: When one is not a number from 0 to 1, or all are 0.
    """
    for name, weight in weights.items():
        if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0.0 <= weight <= 1.0:
            raise InvalidInput(f"{name}_weight: must be a number from 0 to 1, not {weight!r}")
    if not any(weights.values()):
        raise InvalidInput("all weights are 0, so nothing would be searched", hint="Give one leg a weight above 0.")
    return weights


def check_fusion(fusion: str) -> Fusion:
    """Return the name of a fusion; raise InvalidInput for any other."""
    for known in FUSIONS:
        if fusion == known:
            return known
    raise InvalidInput(f"fusion must be one of {', '.join(FUSIONS)}, not {str(fusion)[:80]!r}")


def check_least(min_score: float | None) -> float | None:
    """Return the least score; raise InvalidInput when it is not a number from 0 to 1."""
    if min_score is not None and (isinstance(min_score, bool) or not 0.0 <= min_score <= 1.0):
        raise InvalidInput(f"min_score is a number from 0 to 1, not {min_score!r}")
    return min_score


def blend(
    legs: Mapping[str, Sequence[Scored]],
    weights: Mapping[str, float],
    *,
    lexical: Collection[str],
    fusion: Fusion = "weighted",
) -> list[Blended]:
    """Return all that any leg found, best first; of equals the smaller id comes first.

    Args:
        legs: What each leg found, best first, on its own scale.
        weights: Of each leg; a leg of weight 0 is left out.
        lexical: Legs whose scores are BM25; those of the others are cosines.
        fusion: Adds normalised scores, or ranks.
    """
    used = {name: found for name, found in legs.items() if weights[name] > 0.0}
    places = {
        name: {hit.id: Leg(rank=rank, score=hit.score) for rank, hit in enumerate(found, start=1)}
        for name, found in used.items()
    }
    whole = sum(weights[name] for name in used)
    blended = []
    for item in dict.fromkeys(hit.id for found in used.values() for hit in found):
        standing = {name: found[item] for name, found in places.items() if item in found}
        total = sum(weights[name] * _worth(leg, fusion, name in lexical) for name, leg in standing.items())
        blended.append(Blended(id=item, score=total / whole, legs=standing))
    return sorted(blended, key=lambda each: (-each.score, each.id))


def _worth(leg: Leg, fusion: Fusion, lexical: bool) -> float:
    if fusion == "rrf":
        return (RANK_CONSTANT + 1) / (RANK_CONSTANT + leg.rank)
    return normalised_bm25(leg.score) if lexical else normalised_cosine(leg.score)


FLOOR = 0.2
"""The relevance that the most relevant memory must reach; otherwise nothing is found."""
SMALL_FLOOR = 0.05
"""The floor of a question that somebody asks of a bank of at most 50 memories."""
_FLOOR_PER_MEMORY = 0.001
TAIL = 0.02
"""The least relevance of a memory that is shown when the floor is reached."""

_SCALE, _MARGIN_UNIT, _IDENTIFIERS, _MOST, _SHARPNESS = 0.9, 7.4, 2.0, 4.0, 1.5
_TENTH, _BACKGROUND = 10, 50
_COSINE, _TERMS, _MEMORIES, _INTERCEPT = 19.0, 5.7, -0.87, -4.25
_EXACT, _EXACT_SLOPE, _EXACT_TIE = 0.6, 20.0, 0.1
_STRONG, _STRONG_GAP, _FAIR, _FAIR_GAP = 1.0, 4.0, -2.0, 6.0
_SUREST = 1e-15
_RARE, _RARE_SLOPE = 3.5, 2.0
_FEW, _FEW_SHARE, _MEMORIES_PER_MENTION = 5, 0.02, 50
_SPEAKERS, _SAME, _VOICE = 5, 0.7, 0.1
_PRIOR_MEMORIES = 20
_LEAST_MEMORIES, _MOST_MEMORIES = 3, 200
_LEAST_IDF = 1e-6
_ABSENT = -math.inf
"""The score in a leg of what the leg does not know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What the cosines of one family of embedding models mean.

    Attributes:
        family: Part of the model ids that it holds for, lower case.
        background: The cosine of texts that have nothing to do with each other.
    """

    family: str
    background: float


CALIBRATIONS = (
    Calibration(family="int8+all-minilm", background=0.275),
    Calibration(family="granite", background=0.5),
    Calibration(family="minilm", background=0.05),
)
"""The families that were measured; both models together come first, because their id holds the names of both."""
UNKNOWN = Calibration(family="", background=0.0)
"""For any other model: a background of zero lets too much through rather than hiding what is relevant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fused:
    """One memory above the floor: relevance as a number and a word, and rank and score in every leg that knows it."""

    id: str
    relevance: float
    fit: Fit
    legs: Mapping[str, Leg]


@dataclass(frozen=True, slots=True)
class _Words:
    """The lexical leg on the scale of the module's docstring; evidence and coverage of its hits in their order.

    Attributes:
        ordered: The evidence, largest first.
        covered: The coverage, smallest first.
        mass: The rare-term mass of the query.
    """

    ids: Sequence[str]
    evidence: _Numbers
    coverage: _Numbers
    ordered: Sequence[float]
    covered: _Numbers
    terms: int
    memories: int
    identifiers: float
    mass: float

    def at(self, rank: int) -> float:
        """Return the evidence of the hit at a rank from 1; zero when there are fewer."""
        return self.ordered[rank - 1] if len(self.ordered) >= rank else 0.0


def calibration_of(model_id: str) -> Calibration:
    """Return the calibration of the model's family; :data:`UNKNOWN` for models that were not measured."""
    name = model_id.casefold()
    return next((known for known in CALIBRATIONS if known.family in name), UNKNOWN)


def asked_floor(memories: int) -> float:
    """Return the floor of a question that somebody asks: 0.05 for at most 50 memories, 0.2 from 200 on.

    In a small bank most of what is missed is hidden by the floor, and who asks can judge a weak hit.
    """
    return min(FLOOR, max(SMALL_FLOOR, _FLOOR_PER_MEMORY * memories))


def fuse(
    content: Mapping[str, float],
    description: Mapping[str, float],
    lexical: LexicalMatches,
    *,
    model_id: str,
    floor: float = FLOOR,
    tail: float = TAIL,
    words_worth: float = 1.0,
    vectors: Mapping[str, Vector] | None = None,
) -> tuple[Fused, ...]:
    """Return the relevant candidates, best first; none when no candidate reaches the floor.

    Of equals the smaller id comes first.

    Args:
        content: Cosine of every candidate with the query in the leg of title and content.
        description: The same for the description, of those candidates that have one.
        lexical: The lexical leg; its terms and number of memories say what a match is worth.
        model_id: The vector space of the cosines.
        floor: The relevance that the most relevant candidate must reach; 0 keeps every candidate.
        tail: The least relevance of the others.
        words_worth: What the weight of words is multiplied by in this bank (``search/word_weights.py``).
        vectors: The unit vectors of the candidates in the leg of title and content; without them no memory speaks for
            another.
    """
    import numpy

    background = calibration_of(model_id).background
    words = _words(lexical)
    ids = sorted({*content, *description, *words.ids})
    if not ids:
        return ()
    places = dict(zip(ids, range(len(ids)), strict=True))
    found = [places[one] for one in words.ids]
    legs = {
        CONTENT_LEG: _column(content, ids),
        DESCRIPTION_LEG: _column(description, ids),
        LEXICAL_LEG: _column({hit.id: hit.score for hit in lexical.hits}, ids),
    }
    cosine = numpy.maximum(*(numpy.where(legs[leg] == _ABSENT, -1.0, legs[leg]) for leg in DENSE_LEGS))
    nearness = (cosine - background) / (1.0 - background)
    evidence, coverage = _placed(words.evidence, found, len(ids)), _placed(words.coverage, found, len(ids))
    base = words.at(_BACKGROUND)
    span = max(words.at(1) - base, 0.05 * words.at(1), _LEAST_IDF)
    prominence = numpy.maximum(0.0, (evidence - base) / span) ** _SHARPNESS
    scores = nearness + words_worth * _weight(words, nearness) * prominence
    if vectors:
        scores += _VOICE * _voices(ids, scores, vectors, background)
    order = _best_first(scores)
    relevance = _relevance(nearness, coverage, words)[order]
    if relevance.max() < floor:
        return ()
    kept = relevance >= min(tail, floor)
    best = order[kept]
    shown = numpy.maximum.accumulate(relevance[kept][::-1])[::-1].tolist()
    standing = [_standings(leg, best) for leg in legs.values()]
    return tuple(
        Fused(
            id=ids[place],
            relevance=value,
            fit=fit,
            legs={name: leg for name, leg in zip(legs, standings, strict=True) if leg is not None},
        )
        for place, value, fit, *standings in zip(
            best.tolist(), shown, _fits(shown, words.memories), *standing, strict=True
        )
    )


def _column(values: Mapping[str, float], ids: Sequence[str]) -> _Numbers:
    import numpy

    return numpy.array([values.get(one, _ABSENT) for one in ids])


def _placed(values: _Numbers, places: Sequence[int], size: int) -> _Numbers:
    """Return so many numbers: the values at their places, and zeros."""
    import numpy

    column: _Numbers = numpy.zeros(size)
    column[places] = values
    return column


def _best_first(scores: _Numbers) -> NDArray[numpy.intp]:
    """Return the places of the scores, the largest first; of equals the smaller id comes first, as ids are sorted."""
    order: NDArray[numpy.intp] = (-scores).argsort(kind="stable")
    return order


def _standings(column: _Numbers, places: NDArray[numpy.intp]) -> list[Leg | None]:
    """Return for each of these places where it stands in a leg; None where the leg does not know it."""
    import numpy

    ranks = numpy.empty(len(column), dtype=numpy.intp)
    ranks[_best_first(column)] = numpy.arange(1, len(column) + 1)
    return [
        None if score == _ABSENT else Leg(rank=rank, score=score)
        for rank, score in zip(ranks[places].tolist(), column[places].tolist(), strict=True)
    ]


def _words(lexical: LexicalMatches) -> _Words:
    import numpy

    memories = max(lexical.documents, *(term.documents for term in lexical.terms), 0) if lexical.terms else 0
    mass = [_idf(term.documents, memories) for term in lexical.terms]
    present = [term.documents for term in lexical.terms if term.documents > 0]
    known = sum(max(_LEAST_IDF, math.log((memories - n + 0.5) / (n + 0.5))) for n in present)
    smoothed = sum(_idf(n, memories) for n in present)
    hits = lexical.hits
    if known <= 0.0 or not hits:
        none: _Numbers = numpy.empty(0)
        return _Words((), none, none, (), none, len(lexical.terms), lexical.documents, 0.0, 0.0)
    ids = [hit.id for hit in hits]
    added = numpy.array([lexical.function_words.get(one, 0.0) for one in ids])
    content = (numpy.array([hit.score for hit in hits]) - added) * smoothed / known
    evidence = content + added
    everything = sum(mass)
    coverage = numpy.minimum(content, smoothed) / everything
    named = sum(mass[place] for place in identifier_places([term.text for term in lexical.terms])) / everything
    return _Words(
        ids=ids,
        evidence=evidence,
        coverage=coverage,
        ordered=numpy.sort(evidence)[::-1].tolist(),
        covered=numpy.sort(coverage),
        terms=len(lexical.terms),
        memories=lexical.documents,
        identifiers=named,
        mass=everything,
    )


def _voices(ids: Sequence[str], scores: _Numbers, vectors: Mapping[str, Vector], background: float) -> _Numbers:
    """Return how much the best candidates speak for each candidate, from 0 to 1."""
    import numpy

    nothing = numpy.zeros_like(next(iter(vectors.values())))
    rows = numpy.concatenate([vectors.get(one, nothing) for one in ids]).reshape(len(ids), len(nothing))
    best = _best_first(scores)[:_SPEAKERS]
    alike = (rows @ rows[best].T - background) / (1.0 - background)
    voices: _Numbers = numpy.maximum(0.0, (alike - _SAME) / (1.0 - _SAME)).mean(axis=1, dtype=numpy.float64)
    return voices


def _idf(documents: int, memories: int) -> float:
    return math.log(1.0 + (memories + _PRIOR_MEMORIES) / (documents + 0.5))


def _weight(words: _Words, nearness: _Numbers) -> float:
    """Return how much the best lexical hit of this query is worth on the scale of the dense evidence."""
    import numpy

    if not words.ids:
        return 0.0
    tenth = min(_TENTH, len(nearness)) - 1
    room = min(1.0, max(0.0, 1.0 - float(-numpy.partition(-nearness, tenth)[tenth])))
    margin = (words.at(1) - words.at(_TENTH)) / _MARGIN_UNIT
    coverage = float(words.covered[-1])
    known = words.memories / (words.memories + _PRIOR_MEMORIES)
    return min(_MOST, _SCALE * known * coverage * margin * room * math.exp(_IDENTIFIERS * words.identifiers))


def _relevance(nearness: _Numbers, coverage: _Numbers, words: _Words) -> _Numbers:
    import numpy

    evidence = _COSINE * nearness + _TERMS * coverage * math.log1p(words.terms)
    evidence += _MEMORIES * math.log(max(_LEAST_MEMORIES, words.memories)) + _INTERCEPT
    as_good = len(words.covered) - numpy.searchsorted(words.covered, coverage - _EXACT_TIE)
    few = max(1.0, min(_FEW, words.memories / _MEMORIES_PER_MENTION), _FEW_SHARE * words.memories)
    exact = (coverage >= _EXACT) & (as_good <= few)
    rare = numpy.maximum(0.0, _RARE_SLOPE * (coverage * words.mass - _RARE))
    named = numpy.minimum(_EXACT_SLOPE * (coverage - _EXACT), rare)
    evidence = numpy.where(exact, numpy.maximum(evidence, named), evidence)
    chance: _Numbers = 1.0 / (1.0 + numpy.exp(-numpy.clip(evidence, -40.0, 40.0)))
    return chance


def _fits(shown: Sequence[float], memories: int) -> list[Fit]:
    """Return a word for each relevance, of which the first is the largest."""
    odds = [math.log((value + _SUREST) / (1.0 - value + _SUREST)) for value in shown]
    chance = math.log(min(_MOST_MEMORIES, max(_LEAST_MEMORIES, memories)))
    return [_fit(one - chance, odds[0] - one) for one in odds]


def _fit(evidence: float, gap: float) -> Fit:
    if evidence >= _STRONG and gap <= _STRONG_GAP:
        return "strong"
    return "fair" if evidence >= _FAIR and gap <= _FAIR_GAP else "weak"
