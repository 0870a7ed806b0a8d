"""How much energy an edge passes on: the formula of seed 003's system, and ours."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from datetime import datetime
from functools import lru_cache

MISSING_WEIGHT = 0.01
"""What an edge without a weight counts in the system of seed 003."""
_TAGS = 16_384
_AGELESS = 0.5
"""The share of the energy that age does not take."""


def tag_similarity(edge_tags: Collection[str], query_tags: Collection[str], *, floor: float = 0.15) -> float:
    """How far an edge's tags are those of the question, as seed 003's system has it; tags are compared exactly.

    1.0 without query tags; the floor for an edge without tags; else ``floor + (1 - floor) * |E & Q| / |E | Q|``.
    It is never above 1, so tags can only take energy away.
    """
    if not query_tags:
        return 1.0
    edge, query = set(edge_tags), set(query_tags)
    if not edge:
        return floor
    return floor + (1.0 - floor) * len(edge & query) / len(edge | query)


def transfer_energy(
    activation: float,
    weight: float | None,
    degree: int,
    edge_tags: Collection[str],
    query_tags: Collection[str],
    *,
    floor: float = 0.15,
) -> float:
    """The energy that reaches the other end of an edge, as seed 003's system has it.

    ``activation * weight / sqrt(degree) * tag_similarity``

    Args:
        activation: The energy of the node it leaves.
        weight: The edge's weight; None counts 0.01.
        degree: How many edges touch the node it leaves, in both directions.
        edge_tags: The tags of the edge.
        query_tags: The tags of the question.
        floor: What an edge without any matching tag keeps.
    """
    strength = MISSING_WEIGHT if weight is None else weight
    return activation * strength / math.sqrt(degree) * tag_similarity(edge_tags, query_tags, floor=floor)


@lru_cache(maxsize=_TAGS)
def plain_tag(tag: str) -> str:
    """The tag as the default preset compares it: case, and what stands between its words, make no difference."""
    return " ".join(tag.casefold().replace("_", " ").replace("-", " ").split())


def tag_match(matches: int) -> float:
    """How well tags meet those of the question, from 0 to below 1, by how many of them do.

    No match is 0, one is 0.5, two are 0.75: each further match halves what is missing, and none takes anything away.
    """
    return 1.0 - math.pow(0.5, matches)


def passing_share(degree: int, match: float, gain: float) -> float:
    """Which share of its energy, times the weight, a node passes over one edge in the default preset.

    ``min(1, (1 + gain * match) / sqrt(degree))``

    Without a match it is what seed 003's formula passes without query tags. A match gives back what the fan-out of the
    node takes, never more: no node gets more than its neighbour has.
    """
    return min(1.0, (1.0 + gain * match) / math.sqrt(degree))


def freshness(changed: datetime, moment: datetime, half_life_days: float) -> float:
    """What age leaves of a node's energy, from 0.5 to 1: of the half that age can take, half goes every half-life."""
    days = max(0.0, (moment - changed).total_seconds() / 86_400.0)
    return _AGELESS + (1.0 - _AGELESS) * math.pow(0.5, days / half_life_days)


def together(energies: Iterable[float]) -> float:
    """What energies from several sides amount to: ``1 - (1 - e1)(1 - e2)...``; more than each, never above 1.

    The energies are taken in ascending order, so that the same ones always give the same number.
    """
    return 1.0 - math.prod(1.0 - min(1.0, energy) for energy in sorted(energies))
