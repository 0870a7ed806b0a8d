"""What the fusion learned from banks of many like memories, and from identifiers after stemming."""

from __future__ import annotations

from promised.promise import Promise

FUSION_DETAILS: tuple[Promise, ...] = (
    Promise(
        "fusion:neighbours",
        "DESIGN D13, issue 1",
        "The five best memories of a search speak for those that say nearly the same; where memories are unlike each other, the order stays.",
    ),
    Promise(
        "fusion:identifiers",
        "DESIGN D13, issue 1",
        "A query's identifiers are told from their stemmed parts, stop words inside them included.",
    ),
)
