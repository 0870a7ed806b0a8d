"""The fusion of seed 003: scores of several legs on one scale, added with the weights of the call; and rank fusion.

The seed's store brings a cosine ``s`` to ``(1 + s) / 2`` and a BM25 score ``x`` to ``(2 / pi) * arctan(x)``, multiplies
each by its leg's weight and adds them up; a leg that did not find something gives it 0 (spec/memoria_haios, section 2).
Here the sum is divided by the sum of the weights, so that a score lies in [0, 1] and a least score means the same
whatever the weights add up to. Reciprocal rank fusion (Cormack et al., 2009) adds ``weight / (60 + rank)``, divided by
what a first rank in every leg gives.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from reasoningbank.domain.graph_search import FUSIONS, Fusion
from reasoningbank.domain.recall import Leg
from reasoningbank.errors import InvalidInput
from reasoningbank.ports import Scored

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
    """A cosine as a number from 0 to 1: ``(1 + s) / 2``."""
    return (1.0 + max(-1.0, min(1.0, score))) / 2.0


def normalised_bm25(score: float) -> float:
    """A BM25 score as a number from 0 to 1: ``(2 / pi) * arctan(x)``."""
    return 2.0 / math.pi * math.atan(max(0.0, score))


def check_weights(weights: Mapping[str, float]) -> Mapping[str, float]:
    """Returns the weights of the legs when they can be used.

    Raises:
        InvalidInput: When one is not a number from 0 to 1, or all are 0.
    """
    for name, weight in weights.items():
        if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0.0 <= weight <= 1.0:
            raise InvalidInput(f"the weight of {name} is a number from 0 to 1, not {weight!r}")
    if not any(weights.values()):
        raise InvalidInput("all weights are 0, so nothing would be searched", hint="Give one leg a weight above 0.")
    return weights


def check_fusion(fusion: str) -> Fusion:
    """Returns the name of a fusion; raises InvalidInput for any other."""
    for known in FUSIONS:
        if fusion == known:
            return known
    raise InvalidInput(f"fusion is one of {', '.join(FUSIONS)}, not {str(fusion)[:80]!r}")


def check_least(min_score: float | None) -> float | None:
    """Returns the least score; raises InvalidInput when it is not a number from 0 to 1."""
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
    """All that any leg found, best first; of equals the smaller id comes first.

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
