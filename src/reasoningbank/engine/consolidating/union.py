"""The evidence of several memories as one: the union of their signals, each counted once (DESIGN D4, D5).

A signal of a source is copied to the consolidated memory with its frozen weight and time; the source keeps its own, so
that an undo finds it as it was. Two sources that one search delivered in one session got a usage signal each: that was
one delivery, so of each session only the oldest signal of a type and direction is copied, as long as it is one of those
that count once (usage; stability; outcomes that name a session; ratings of agents). Rolled-up counts no longer name
their sessions and are added up.

The consolidated memory then has exactly the confidence of the formula: its prior is chosen so that prior and evidence
give it. Where no prior can, because the evidence is too strong for it, the evidence decides and the confidence is the
nearest that the evidence allows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from reasoningbank.domain.belief import PRIOR_STRENGTH, UNIT, Belief
from reasoningbank.domain.consolidation import consolidated_confidence
from reasoningbank.domain.memory import Memory
from reasoningbank.domain.signal import COUNTERS, Signal, SignalAggregate, later
from reasoningbank.ports import StoreReader

_KEPT = (*COUNTERS[:6], "positive", "negative", *COUNTERS[6:])
"""The order of the numbers in a memory's provenance: what an earlier version wrote is the beginning of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Union:
    """The evidence of several memories.

    Attributes:
        signals: Copies for the consolidated memory, oldest first.
        aggregate: The rolled-up counts of all sources; None when nothing was rolled up.
        total: All of it as counts: what ``undo`` subtracts to find what came since.
    """

    signals: tuple[Signal, ...]
    aggregate: SignalAggregate | None
    total: SignalAggregate


def unite(reader: StoreReader, sources: Sequence[Memory], memory_id: str) -> Union:
    """The evidence of all sources, for a memory with this id."""
    project = sources[0].project
    signals = sorted(
        (signal for source in sources for signal in reader.signals(source.id)), key=lambda each: (each.at, each.id)
    )
    once: set[tuple[str, str, bool]] = set()
    kept: list[Signal] = []
    for signal in signals:
        place = (signal.type, signal.session, signal.positive)
        if counts_once(signal):
            if place in once:
                continue
            once.add(place)
        kept.append(replace(signal, id=copy_of(signal, memory_id), memory_id=memory_id))
    total = SignalAggregate(memory_id=memory_id, project=project, positive=0, negative=0)
    for source in sources:
        total = added(total, reader.aggregate(source.id))
    aggregate = total if total.last_rollup is not None else None
    for signal in kept:
        total = total.add(signal)
    return Union(signals=tuple(kept), aggregate=aggregate, total=total)


def counts_once(signal: Signal) -> bool:
    """Whether a second signal of its type and session is not counted (DESIGN D5).

    A commit counts once, whichever source was tied to it; a month without use is each source's own.
    """
    if signal.type in {"usage", "stability"}:
        return True
    if signal.type == "disuse":
        return False
    return bool(signal.session) if signal.type == "outcome" else signal.rater == "agent"


def copy_of(signal: Signal, memory_id: str) -> str:
    """The id of the copy that a memory has of a signal."""
    return f"{memory_id}/{hashlib.blake2b(signal.id.encode(), digest_size=12).hexdigest()}"


def is_copy(signal: Signal) -> bool:
    """Whether a consolidated memory has the signal from one of its sources; all others came since."""
    return signal.id.startswith(f"{signal.memory_id}/")


def believed(sources: Sequence[Memory], total: SignalAggregate) -> Belief:
    """The belief whose evidence is the union and whose score is the formula's, or the nearest that there is."""
    wanted = consolidated_confidence([each.confidence for each in sources], [each.usage_count for each in sources])
    positive, negative = total.positive or 0, total.negative or 0
    prior = round(wanted * (PRIOR_STRENGTH * UNIT + positive + negative)) - positive
    return Belief(prior=min(PRIOR_STRENGTH * UNIT, max(0, prior)), positive=positive, negative=negative)


def added(first: SignalAggregate, second: SignalAggregate) -> SignalAggregate:
    """Both counts together, with the later roll-up."""
    return _combined(first, second, 1)


def less(first: SignalAggregate, second: SignalAggregate) -> SignalAggregate:
    """The first counts without the second."""
    return _combined(first, second, -1)


def is_nothing(aggregate: SignalAggregate) -> bool:
    """Whether it counts nothing."""
    return not any(getattr(aggregate, name) for name in (*COUNTERS, "positive", "negative"))


def to_text(aggregate: SignalAggregate) -> str:
    """Counts and sums as they are kept in a memory's provenance."""
    return json.dumps([getattr(aggregate, name) for name in _KEPT])


def from_text(text: str, memory_id: str, project: str) -> SignalAggregate:
    """The inverse of ``to_text``."""
    numbers = dict(zip(_KEPT, json.loads(text), strict=False))
    return SignalAggregate(memory_id=memory_id, project=project, **numbers)


def _combined(first: SignalAggregate, second: SignalAggregate, sign: int) -> SignalAggregate:
    counts = {
        name: (getattr(first, name) or 0) + sign * (getattr(second, name) or 0)
        for name in (*COUNTERS, "positive", "negative")
    }
    combined: SignalAggregate = replace(first, **counts)  # type: ignore[arg-type]  # the keys are the counters alone
    return replace(
        combined,
        last_rollup=later(first.last_rollup, second.last_rollup),
        last_activity=later(first.active_at, second.active_at),
        last_disuse=later(first.last_disuse, second.last_disuse),
    )
