"""Learn how what a source records turns out, and weigh that among claims in ranking (DESIGN D16).

A source is a surface, such as ``mcp`` or ``rest``, and below that who speaks there. Of ``n`` outcomes that count for
what a source recorded ``s`` were successes. Few outcomes say little, so each rate is the mean of a Beta posterior whose
prior is the next wider group with the strength of ten outcomes: ``rate = (s + 10 wider) / (n + 10)``, from the bank
(Beta(1, 1): ``(s + 1) / (n + 2)``) to the surface to who speaks. Ten, because with five outcomes all bad a source keeps
two thirds of the rate of its group, and with fifty its own outcomes decide.

A claim's odds of being relevant are multiplied by ``1.1 ** d``. ``d`` is how far its source's rate lies from the
bank's, as a part of the way to 1 above it and to 0 below it, so it lies between -1 and 1. That orders claims that
answer about as well, and no others: hits that fit differ by odds of up to 50, and with 1.5 two extreme sources changed
nine of ten orders without a better answer. It is applied to order claims among themselves in the search of one bank. It
is in no confidence, and what a person or two principals stand by keeps its place.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence

from reasoningbank.memories.standing import recorded_by
from reasoningbank.storage.store import Transaction
from reasoningbank.types.recall import Hit
from reasoningbank.types.records import SourceOutcomes
from reasoningbank.types.standing import SOURCE

STRENGTH = 10.0
"""Outcomes that the prior of a source is worth."""
MOST = 1.1
"""The most, and its inverse the least, that the odds of a claim are multiplied by."""
KEPT = 500
"""So many sources are kept, those with the most outcomes."""
_SURE = 1.0 - 1e-12
_EVERYTHING = "all"


def learn_sources(transaction: Transaction) -> None:
    """Count anew how what each source recorded has turned out, and keep it where searches read it."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for provenance, good, bad in transaction.evidence.outcomes():
        for name in (_EVERYTHING, *_names(provenance)):
            counts[name][0] += good
            counts[name][1] += bad
    kept = sorted(counts.items(), key=lambda item: (item[0] != _EVERYTHING, -sum(item[1]), item[0]))[:KEPT]
    transaction.set_source_outcomes({name: (good, bad) for name, (good, bad) in kept})


def factor_of(provenance: Mapping[str, str], known: SourceOutcomes) -> float:
    """Return what the odds of a claim are multiplied by; 1 where nothing is known.

    Args:
        provenance: The claim's.
        known: What was counted for each source: successes and failures.
    """
    good, bad = known.get(_EVERYTHING, (0, 0))
    usual = rate = (good + 1.0) / (good + bad + 2.0)
    for name in _names(provenance):
        good, bad = known.get(name, (0, 0))
        rate = (good + STRENGTH * rate) / (good + bad + STRENGTH)
    away = (rate - usual) / ((1.0 - usual) if rate > usual else usual)
    return float(MOST**away)


def by_trust(hits: Sequence[Hit], known: SourceOutcomes) -> list[Hit]:
    """Return the hits with the claims among them in the order of their odds times their sources' factors.

    Each place that a claim had is a claim's again; everything else keeps its place. Where all claims have the same
    factor nothing changes.

    Args:
        hits: Best first.
        known: What was counted for each source.
    """
    claims = [hit for hit in hits if hit.standing == "claim"] if known else []
    factors = {hit.id: factor_of(hit.memory.provenance, known) for hit in claims}
    if len(set(factors.values())) < 2:
        return list(hits)
    ordered = iter(sorted(claims, key=lambda hit: -_odds(hit.relevance) * factors[hit.id]))
    return [next(ordered) if hit.id in factors else hit for hit in hits]


def _names(provenance: Mapping[str, str]) -> tuple[str, str]:
    """Return the names under which a surface and who speaks there are counted; no session's name is in them."""
    surface = provenance.get(SOURCE, "")
    spoken = recorded_by(provenance)
    digest = hashlib.sha256(f"{surface}\x00{spoken}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"surface {surface}", f"speaker {digest}"


def _odds(share: float) -> float:
    share = min(share, _SURE)
    return share / (1.0 - share)
