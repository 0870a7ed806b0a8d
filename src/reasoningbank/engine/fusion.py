"""Fusion of the three legs and the relevance floor (DESIGN D13). First version: constants are being measured."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from reasoningbank.domain.recall import CONTENT_LEG, DESCRIPTION_LEG, LEXICAL_LEG, Leg
from reasoningbank.ports import LexicalMatches


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What the cosines of one model family mean."""

    floor: float
    slope: float


MINILM = Calibration(floor=0.32, slope=12.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fused:
    """One memory that passed the floor: relevance from 0 to 1, and where it stood in every leg that found it."""

    id: str
    relevance: float
    legs: Mapping[str, Leg]


def fuse(
    content: Mapping[str, float], description: Mapping[str, float], lexical: LexicalMatches, *, model_id: str
) -> tuple[Fused, ...]:
    """The candidates above the relevance floor, best first."""
    calibration = calibration_for(model_id)
    words = {hit.id: hit.score for hit in lexical.hits}
    scores = sorted(words.values(), reverse=True)
    best = scores[0] if scores else 0.0
    contrast = (1 - _at(scores, 10) / best) * (1 - _at(scores, 50) / best) if best > 0 else 0.0
    legs = {CONTENT_LEG: _ranked(content), DESCRIPTION_LEG: _ranked(description), LEXICAL_LEG: _ranked(words)}
    fused = []
    for one in sorted({*content, *description, *words}):
        cosine = max(content.get(one, -1.0), description.get(one, -1.0))
        word = words.get(one, 0.0) / best if best > 0 else 0.0
        score = cosine + 0.5 * contrast * word * min(1.0, 0.3 + 0.7 * _coverage(lexical, best))
        if score >= calibration.floor:
            relevance = 1 / (1 + math.exp(-calibration.slope * (score - calibration.floor - 0.15)))
            fused.append(
                Fused(id=one, relevance=relevance, legs={name: leg[one] for name, leg in legs.items() if one in leg})
            )
    return tuple(sorted(fused, key=lambda item: (-item.relevance, item.id)))


def calibration_for(model_id: str) -> Calibration:
    """The constants of a model family."""
    del model_id
    return MINILM


def _coverage(lexical: LexicalMatches, best: float) -> float:
    total = sum(math.log(1 + (lexical.documents + 0.5) / (term.documents + 0.5)) for term in lexical.terms)
    return min(1.0, best / total) if total > 0 else 0.0


def _at(scores: list[float], rank: int) -> float:
    return scores[rank - 1] if len(scores) >= rank else 0.0


def _ranked(scores: Mapping[str, float]) -> dict[str, Leg]:
    ordered = sorted(scores.items(), key=lambda item: (-item[1], item[0]))
    return {one: Leg(rank=rank, score=score) for rank, (one, score) in enumerate(ordered, start=1)}
