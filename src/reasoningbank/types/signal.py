"""Evidence about a memory, and how a project learns which kinds of evidence to trust (seed 000 FR-005a to FR-005c)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Literal

from reasoningbank.errors import EmptyMemoryId, EmptyProjectId, InvalidInput
from reasoningbank.types.belief import Belief, to_units
from reasoningbank.types.memory import new_id

SignalType = Literal["explicit", "usage", "outcome", "stability", "disuse"]
Rater = Literal["human", "agent"]
Witness = Literal["human", "agent", "imported", "session"]
"""Who gave a signal.

What a file says a person said is ``imported``: nobody here heard it. An outcome that only follows from what an agent
has said of its whole session is of the ``session``: it counts as the agent's, and confirms nothing (DESIGN D16).
"""
AGENTS: frozenset[Witness] = frozenset({"agent", "session"})
"""Who is an agent of those."""

SIGNAL_TYPES: tuple[SignalType, ...] = ("explicit", "usage", "outcome")
"""The types whose weights a project learns (seed 000 FR-005a)."""
LIFECYCLE_TYPES: tuple[SignalType, ...] = ("stability", "disuse")
"""The types that bring their own weight: how code that a lesson is tied to fared, and a month without use."""
EVIDENCE_TYPES = SIGNAL_TYPES + LIFECYCLE_TYPES
"""Every type of evidence there is."""
COUNTERS = (
    *(f"{kind}_{side}" for kind in SIGNAL_TYPES for side in ("positive", "negative")),
    "stability_positive",
    "stability_negative",
    "disuse_negative",
)
"""The names of an aggregate's counts; a month without use never speaks for a memory."""
RECENT_DAYS = 30
"""Signals younger than this are kept one by one; older ones become counts (seed 000 FR-005c)."""
LEARNING_WINDOW_HOURS = 24
"""Only predictions this young are credited or debited by a rating (spec/contextd 1.1)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """One piece of evidence.

    Attributes:
        id: Unique identifier of the signal.
        memory_id: The memory it speaks about.
        project: The project it was given in.
        type: explicit (a rating), usage (delivered by a search), outcome (how the task ended), stability (code that it
            is tied to stood or was reverted) or disuse (a month in which nothing of this happened).
        positive: True when it speaks for the memory.
        session: The session it came from, empty when unknown; the commit of a stability signal.
        rater: Who gave it.
        at: When it was given, timezone-aware.
        weight: Its weight in billionths, frozen when it was stored; None means "at the current weights".
    """

    memory_id: str
    project: str
    type: SignalType
    positive: bool
    session: str = ""
    rater: Witness = "agent"
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    weight: int | None = None
    id: str = field(default_factory=new_id)

    def __post_init__(self) -> None:
        if not self.memory_id:
            raise EmptyMemoryId("memory ID cannot be empty")
        if not self.project:
            raise EmptyProjectId("project ID cannot be empty")
        if self.type not in EVIDENCE_TYPES:
            raise InvalidInput(f"signal type must be one of {', '.join(EVIDENCE_TYPES)}, not {self.type!r}")
        if self.type in LIFECYCLE_TYPES and self.weight is None:
            raise InvalidInput(f"a {self.type} signal brings its own weight")
        if self.type == "disuse" and self.positive:
            raise InvalidInput("a month without use never speaks for a memory")
        if self.at.tzinfo is None:
            raise InvalidInput("times must carry a time zone")


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalAggregate:
    """Counts of signals older than thirty days, with the evidence they carried.

    Attributes:
        positive: Sum of the frozen weights of the positive signals in billionths; None when the signals had none, and
            the counts are to be weighed at the current weights.
        negative: The same for the negative signals.
        last_rollup: When signals were last moved here.
        last_activity: The time of the newest signal here that is not disuse; None when there is none, or when it was
            moved here by a version that did not keep it.
        last_disuse: The time of the newest disuse signal here.
    """

    memory_id: str
    project: str
    explicit_positive: int = 0
    explicit_negative: int = 0
    usage_positive: int = 0
    usage_negative: int = 0
    outcome_positive: int = 0
    outcome_negative: int = 0
    stability_positive: int = 0
    stability_negative: int = 0
    disuse_negative: int = 0
    positive: int | None = None
    negative: int | None = None
    last_rollup: datetime | None = None
    last_activity: datetime | None = None
    last_disuse: datetime | None = None

    @property
    def active_at(self) -> datetime | None:
        """When the newest evidence here that is not disuse was given, or the latest time it can have been.

        Evidence that an earlier version rolled up was at least thirty days old by then.
        """
        if self.last_activity is not None or self.last_rollup is None or self.last_disuse is not None:
            return self.last_activity
        return self.last_rollup - timedelta(days=RECENT_DAYS)

    def count(self, signal_type: SignalType, *, positive: bool) -> int:
        """Return how many signals of one type and polarity were added."""
        name = _counter(signal_type, positive=positive)
        return int(getattr(self, name)) if name in COUNTERS else 0

    def add(self, signal: Signal) -> SignalAggregate:
        """Return the aggregate with one more signal counted and its frozen weight, when it has one, summed."""
        counts: dict[str, int] = {
            _counter(signal.type, positive=signal.positive): self.count(signal.type, positive=signal.positive) + 1
        }
        counted: SignalAggregate = replace(self, **counts)  # type: ignore[arg-type]  # the keys are the counters alone
        if signal.type == "disuse":
            counted = replace(counted, last_disuse=later(self.last_disuse, signal.at))
        else:
            counted = replace(counted, last_activity=later(self.last_activity, signal.at))
        if signal.weight is None:
            return counted
        return replace(
            counted,
            positive=(self.positive or 0) + (signal.weight if signal.positive else 0),
            negative=(self.negative or 0) + (0 if signal.positive else signal.weight),
        )


def later(first: datetime | None, second: datetime | None) -> datetime | None:
    """Return the later of two times; the other one when one is not known."""
    if first is None or second is None:
        return first or second
    return max(first, second)


def _counter(signal_type: SignalType, *, positive: bool) -> str:
    return f"{signal_type}_{'positive' if positive else 'negative'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectWeights:
    """How well each type of signal has predicted ratings in one project: a Beta posterior per type.

    Priors: explicit 7:3, usage 5:5, outcome 5:5 (seed 000 FR-005a).
    """

    project: str
    explicit_alpha: float = 7.0
    explicit_beta: float = 3.0
    usage_alpha: float = 5.0
    usage_beta: float = 5.0
    outcome_alpha: float = 5.0
    outcome_beta: float = 5.0

    def weight_for(self, signal_type: SignalType) -> float:
        """Return the normalised weight of a type: its posterior mean over the sum of all three (spec/contextd 1.4).

        A type that brings its own weight has none here: 0.
        """
        if signal_type not in SIGNAL_TYPES:
            return 0.0
        means = {name: self._mean(name) for name in SIGNAL_TYPES}
        total = sum(means.values())
        return means[signal_type] / total if total > 0.0 else 1.0 / len(SIGNAL_TYPES)

    def _mean(self, signal_type: SignalType) -> float:
        alpha: float = getattr(self, f"{signal_type}_alpha")
        beta: float = getattr(self, f"{signal_type}_beta")
        return alpha / (alpha + beta) if alpha + beta > 0.0 else 0.0

    def learn_from_feedback(self, helpful: bool, predictions: Iterable[Signal]) -> ProjectWeights:
        """Credit each type that predicted the rating and debits each that predicted the opposite (DESIGN D5).

        A positive usage or outcome signal predicted "helpful", a negative one "unhelpful". A type counts once for each
        polarity it holds, however many signals it has. Explicit weights never change, and stability and disuse predict
        nothing.
        """
        present = {(signal.type, signal.positive) for signal in predictions if signal.type in {"usage", "outcome"}}
        learned = self
        for signal_type, predicted in sorted(present):
            side = "alpha" if predicted == helpful else "beta"
            name = f"{signal_type}_{side}"
            learned = replace(learned, **{name: getattr(learned, name) + 1.0})
        return learned


def compute_confidence(
    prior: float, aggregate: SignalAggregate, recent: Iterable[Signal], weights: ProjectWeights
) -> float:
    """Return the confidence of hybrid evidence: counts of old signals and single recent ones (seed 004).

    alpha = 2c + weight of what speaks for it, beta = 2(1-c) + weight of what speaks against; the score is
    alpha / (alpha + beta). With ``prior`` 0.5 and unweighted signals this is ``ComputeConfidenceFromHybrid`` and
    reproduces the golden values of spec/contextd 1.4.
    """
    return replay(prior, aggregate, recent, weights).score


def replay(prior: float, aggregate: SignalAggregate, recent: Iterable[Signal], weights: ProjectWeights) -> Belief:
    """Return the belief that follows from a prior confidence and all of a memory's evidence, in any order."""
    belief = Belief.starting_at(prior)
    positive, negative = belief.positive, belief.negative
    if aggregate.positive is not None or aggregate.negative is not None:
        positive += aggregate.positive or 0
        negative += aggregate.negative or 0
    else:
        for signal_type in SIGNAL_TYPES:
            weight = to_units(weights.weight_for(signal_type))
            positive += weight * aggregate.count(signal_type, positive=True)
            negative += weight * aggregate.count(signal_type, positive=False)
    for signal in recent:
        weight = to_units(weights.weight_for(signal.type)) if signal.weight is None else signal.weight
        if signal.positive:
            positive += weight
        else:
            negative += weight
    return replace(belief, positive=positive, negative=negative)


__all__ = [
    "AGENTS",
    "COUNTERS",
    "EVIDENCE_TYPES",
    "LEARNING_WINDOW_HOURS",
    "LIFECYCLE_TYPES",
    "RECENT_DAYS",
    "SIGNAL_TYPES",
    "ProjectWeights",
    "Rater",
    "Signal",
    "SignalAggregate",
    "SignalType",
    "Witness",
    "compute_confidence",
    "later",
    "replay",
]
