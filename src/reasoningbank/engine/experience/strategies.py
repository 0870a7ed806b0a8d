"""The strategies that similar searches taught, each once, and only those that were not found useless."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from reasoningbank.domain.experience import RelevantStrategy, Trace
from reasoningbank.engine.fusion import calibration_of
from reasoningbank.engine.hygiene import reveal
from reasoningbank.ports import Store, Vector

MOST_STRATEGIES = 3
NEIGHBOURS = 200
"""So many of the nearest searches are looked at: those that taught something must not be hidden behind repetitions."""
LEAST_NEARNESS = 0.5
"""A search counts as similar from here: the cosine above the background of unrelated texts, as a share of what is left.

For a model without a background that is a cosine of 0.5; the original had 0.8 and then 0.6 on another model.
"""
LEAST_CONFIDENCE = 0.5
"""A strategy begins at 0.6; below this it is not shown any more."""
NOISE = 2
"""Nor is one that so many more ratings call unhelpful than helpful, however often it was shown meanwhile (row H13)."""


def similar_traces(store: Store, vector: Vector, model_id: str) -> tuple[tuple[Trace, float], ...]:
    """The similar searches among the nearest ones, nearest first, each with its cosine."""
    background = calibration_of(model_id).background
    least = background + LEAST_NEARNESS * (1.0 - background)
    return tuple((trace, cosine) for trace, cosine in store.similar_traces(vector, limit=NEIGHBOURS) if cosine >= least)


def relevant(store: Store, similar: Sequence[tuple[Trace, float]]) -> tuple[RelevantStrategy, ...]:
    """The distinct strategies that similar searches taught, at most three, the same text only once and no noise.

    Their order is that of nearness times confidence, so that a strategy that was found helpful stands before one that
    was not.
    """
    nearest: dict[str, float] = {}
    supported: dict[str, int] = {}
    for trace, cosine in similar:
        for memory_id in dict.fromkeys(trace.strategies):
            nearest.setdefault(memory_id, cosine)
            supported[memory_id] = supported.get(memory_id, 0) + 1
    memories = store.many(list(nearest))
    shown: dict[bytes, RelevantStrategy] = {}
    for memory_id, cosine in nearest.items():
        memory = memories.get(memory_id)
        if memory is None or memory.state not in {"active", "candidate"} or memory.confidence < LEAST_CONFIDENCE:
            continue
        safe = reveal(memory)
        shown.setdefault(
            memory.fingerprint,
            RelevantStrategy(
                id=memory_id,
                title=safe.title,
                description=safe.description,
                content=safe.content,
                confidence=memory.confidence,
                similarity=cosine,
                supported=supported[memory_id],
            ),
        )
    best = sorted(shown.values(), key=lambda one: -one.similarity * one.confidence)
    return tuple(islice((one for one in best if not _is_noise(store, one.id)), MOST_STRATEGIES))


def _is_noise(store: Store, memory_id: str) -> bool:
    """Whether people and agents have found it unhelpful more often than helpful, by ``NOISE`` at least."""
    rated = store.aggregate(memory_id)
    balance = rated.count("explicit", positive=False) - rated.count("explicit", positive=True)
    for signal in store.signals(memory_id):
        if signal.type == "explicit":
            balance += -1 if signal.positive else 1
    return balance >= NOISE
