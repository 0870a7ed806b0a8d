"""How far a promoted memory is believed when it begins: what its sources have seen, each piece of evidence once.

The prior's mean is that of the sources' beliefs taken together: what each was believed at first, with the prior's
strength of two, and every independent signal since (ratings, outcomes, code that stood or was reverted). A delivery is
no independent evidence and a month without use is none against, so both are left out; a signal that several sources
have by the same id counts once. Counts that were rolled up no longer name their signals: of their sums, the part is
taken that independent types have in them at the project's weights.

Only the mean is carried over. The strength of every prior is two, so that what happens in the wider scope soon decides;
no session and no signal of a project is copied.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from reasoningbank.domain.belief import PRIOR_STRENGTH, UNIT
from reasoningbank.domain.memory import Memory
from reasoningbank.domain.signal import COUNTERS, SIGNAL_TYPES, ProjectWeights, SignalAggregate, SignalType
from reasoningbank.ports import StoreReader

INDEPENDENT: tuple[SignalType, ...] = ("explicit", "outcome", "stability")
"""The types of evidence that somebody or something outside of the memory has given."""


def pooled_confidence(sources: Sequence[tuple[StoreReader, Memory]]) -> float:
    """The confidence that a memory made of these sources begins with, from 0 to 1.

    Args:
        sources: Each with the bank that it lies in; at least one.
    """
    positive = negative = 0
    counted: set[str] = set()
    for reader, memory in sources:
        positive += memory.belief.prior
        negative += PRIOR_STRENGTH * UNIT - memory.belief.prior
        for signal in reader.signals(memory.id):
            if signal.type in INDEPENDENT and signal.id not in counted:
                counted.add(signal.id)
                positive += (signal.weight or 0) if signal.positive else 0
                negative += 0 if signal.positive else (signal.weight or 0)
        aggregate = reader.aggregate(memory.id)
        weights = reader.weights()
        positive += independent_part(aggregate, weights, "positive")
        negative += independent_part(aggregate, weights, "negative")
    return positive / (positive + negative)


def independent_part(aggregate: SignalAggregate, weights: ProjectWeights, side: Literal["positive", "negative"]) -> int:
    """The part of a rolled-up sum, in billionths, that independent evidence has in it."""
    total: int = getattr(aggregate, side) or 0
    shares: dict[str, float] = {
        name.rpartition("_")[0]: getattr(aggregate, name) * _weight(name.rpartition("_")[0], weights)
        for name in COUNTERS
        if name.endswith(f"_{side}")
    }
    everything = sum(shares.values())
    if not everything:
        return 0
    independent = sum(shares.get(kind, 0.0) for kind in INDEPENDENT)
    return round(total * independent / everything)


def _weight(kind: str, weights: ProjectWeights) -> float:
    """What one rolled-up signal of a type stands for; of types that bring their own weight the least is assumed."""
    learned: dict[str, float] = {name: weights.weight_for(name) for name in SIGNAL_TYPES}
    return learned.get(kind, min(learned.values()))
