"""The success criteria SC-001 to SC-006 of seed 000, counted from what a bank has logged.

Everything is read from the project's bank: what was delivered, rated, captured and learned. A criterion with fewer
cases than it needs has no value.
"""

from __future__ import annotations

import math
import time
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import groupby
from operator import itemgetter

from reasoningbank.curation.uplift import Z95, Ended, ended_of, score_interval
from reasoningbank.sessions.ends import end_of
from reasoningbank.storage.rows import from_microseconds
from reasoningbank.storage.store import Store, StoreReader
from reasoningbank.types.belief import Belief
from reasoningbank.types.metrics import (
    LEAST_RATINGS,
    LEAST_SAMPLE,
    NOT_ENOUGH,
    CalibrationBin,
    CalibrationReport,
    Metric,
    Metrics,
)
from reasoningbank.types.quantity import counted
from reasoningbank.types.records import TrajectoryEntry, WeightChange
from reasoningbank.types.signal import RECENT_DAYS, SIGNAL_TYPES, ProjectWeights
from reasoningbank.types.uplift import Exposure

HIGH_CONFIDENCE = 0.8
"""Above it a memory should be rated helpful in more than three of four cases (SC-006)."""
BINS = 10
"""Bins of the reliability diagram, of equal width."""
SETTLED_DAYS = 7
"""The days over which learned weights should be stable (SC-005)."""
_LATEST_DELIVERIES = 1_000
_RESAMPLES = 1_000
_MOST_DRAWN = 2_000
"""Most cases that are drawn one by one for an interval; of more the sums that they come to are drawn."""
_DEAR, _PARTS = 0.1, 20
"""Seconds of processor time from which counting is dear, and one part in how many of a processor it takes then."""
_KEPT_FOR = timedelta(minutes=1)
"""So long numbers of a bank that was not written stand: the last days that they are of have hardly moved."""

HELPFUL_RATE = Metric(
    id="SC-001",
    name="helpful rate",
    definition=(
        f"Share of the ratings of the last {RECENT_DAYS} days that call a memory helpful, of memories that a session "
        "had been shown before they were rated."
    ),
    target="more than 80 %",
)
DELIVERY_TOKENS = Metric(
    id="SC-002",
    name="tokens per injection",
    definition=(
        f"Mean tokens of a delivery that brought at least one memory, by a briefing, a hook or a search; the newest "
        f"{_LATEST_DELIVERIES:,} of the last {RECENT_DAYS} days."
    ),
    target="fewer than 500 tokens",
)
LEARNING_RATE = Metric(
    id="SC-003",
    name="sessions that yield",
    definition="Share of the captured sessions that succeeded which taught a memory or confirmed one.",
    target="more than 30 %",
)
FEWER_MISTAKES = Metric(
    id="SC-004",
    name="fewer mistakes",
    definition=(
        "How much less often sessions fail that were shown an anti-pattern than sessions that were held out from one "
        "(setting holdout): 1 - failure rate with / failure rate without. The sample is the smaller of the two sides."
    ),
    target="more than 20 % fewer",
)
WEIGHT_SPREAD = Metric(
    id="SC-005",
    name="weight spread",
    definition=(
        f"Standard deviation of each learned weight over the last {SETTLED_DAYS} days, as a share of its mean; the "
        "largest of the three. The sample is all ratings of the project."
    ),
    target=f"less than 10 % after {LEAST_RATINGS} ratings",
    needed=LEAST_RATINGS,
)
CALIBRATION = Metric(
    id="SC-006",
    name="helpful above 0.8",
    definition=(
        f"Share of the ratings of the last {RECENT_DAYS} days that call a memory helpful, of memories whose confidence "
        f"was above {HIGH_CONFIDENCE} when they were rated."
    ),
    target="more than 75 %",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rated:
    """One rating, with what the bank believed before it.

    Attributes:
        memory_id: The memory.
        at: When it was rated.
        confidence: Its confidence just before.
        helpful: What was said.
    """

    memory_id: str
    at: datetime
    confidence: float
    helpful: bool


class Criteria:
    """The success criteria of one open bank: counted again only when it was written, or a minute has gone by.

    What a large bank is written to meanwhile is counted later: its counting takes at most one part in so many of a
    processor. Thread-safe.

    Args:
        dear: Seconds of processor time from which counting is dear; below it what was written is counted at once.
    """

    def __init__(self, dear: float = _DEAR) -> None:
        self._dear = dear
        self._known: tuple[Hashable, Metrics] | None = None
        self._rests = timedelta(0)

    def measured(self, store: Store, now: datetime) -> Metrics:
        """Return the success criteria as the bank is now.

        Args:
            store: The bank.
            now: The time that the last days end at.
        """
        # Asked before the bank is read: what is written meanwhile is counted the next time, never missed.
        mark, known = store.mark, self._known
        if known is not None:
            rests = _KEPT_FOR if known[0] == mark else self._rests
            if timedelta(0) <= now - known[1].at < rests:
                return known[1]
        began = time.thread_time()
        found = measured(store, now)
        took = time.thread_time() - began
        self._rests = min(_KEPT_FOR, timedelta(seconds=_PARTS * took)) if took >= self._dear else timedelta(0)
        self._known = (mark, found)
        return found


def measured(reader: StoreReader, now: datetime) -> Metrics:
    """Return the success criteria of a bank.

    Args:
        reader: The bank.
        now: The time that the last days end at.
    """
    ratings, in_all = rated(reader, now)
    met, kept = reader.deliveries.exposures(), reader.sessions.trajectories(limit=0)
    return Metrics(
        at=now,
        helpful_rate=_share(HELPFUL_RATE, *_tally(one.helpful for one in _shown_before(met, ratings)), above=0.8),
        delivery_tokens=_delivery_tokens(reader, now),
        learning_rate=_learning_rate(reader, met, kept),
        fewer_mistakes=_fewer_mistakes(reader, ended_of(met, kept)),
        weight_spread=_weight_spread(reader, in_all, now),
        calibration=calibrated([(one.confidence, one.helpful) for one in ratings]),
    )


def rated(reader: StoreReader, now: datetime) -> tuple[Sequence[Rated], int]:
    """Return the ratings that are kept one by one, in no order, and how many there were in all.

    What a consolidated memory has of its sources is theirs. Ratings older than thirty days are counts: what was
    believed before each of them is not known any more.
    """
    memories = {each.id: each for each in reader.evidence.rated()}
    since = now - timedelta(days=RECENT_DAYS)
    found: list[Rated] = []
    in_all = sum(each.rolled for each in memories.values() if not each.consolidated)
    for memory_id, said in groupby(reader.evidence.said_of_rated(), key=itemgetter(0)):
        if memory_id not in memories:  # it was rated for the first time between the two looks
            continue
        _, prior, positive, negative, *_ = memories[memory_id]
        for _, rates, helpful, moment, weight in said:
            if rates:
                in_all += 1
                if (at := from_microseconds(moment)) > since:
                    score = Belief(prior=prior, positive=positive, negative=negative).score
                    found.append(Rated(memory_id=memory_id, at=at, confidence=score, helpful=helpful == 1))
            if helpful:
                positive += weight
            else:
                negative += weight
    return found, in_all


def _shown_before(exposures: Sequence[Exposure], ratings: Sequence[Rated]) -> Sequence[Rated]:
    """Return the ratings of memories that a session had met before, by being shown them or by asking."""
    first: dict[str, datetime] = {}
    for exposure in exposures:
        for one in exposure.shown:
            if one.how != "withheld":
                first[one.memory_id] = min(first.get(one.memory_id, exposure.at), exposure.at)
    return [one for one in ratings if one.memory_id in first and first[one.memory_id] <= one.at]


def _tally(answers: Iterable[object]) -> tuple[int, int]:
    """Return how many answers are true, and how many there are."""
    found = [bool(each) for each in answers]
    return sum(found), len(found)


def _share(metric: Metric, good: int, sample: int, *, above: float) -> Metric:
    """Return a criterion that is a share, with its score interval."""
    if sample < metric.needed:
        return _missing(metric, sample)
    rate = good / sample
    return replace(
        metric,
        value=rate,
        interval=score_interval(rate, sample),
        sample=sample,
        met=rate > above,
        message=f"{good} of {sample:,} ({rate:.1%}); wanted: {metric.target}.",
    )


def _missing(metric: Metric, sample: int, why: str = "") -> Metric:
    said = f"{NOT_ENOUGH}: {sample:,} of the {metric.needed} that are needed"
    return replace(metric, sample=sample, message=f"{said}. {why}" if why else f"{said}.")


def _delivery_tokens(reader: StoreReader, now: datetime) -> Metric:
    since = now - timedelta(days=RECENT_DAYS)
    tokens = [
        log.tokens for log in reader.deliveries.recalls(limit=_LATEST_DELIVERIES) if log.entries and log.at > since
    ]
    if len(tokens) < DELIVERY_TOKENS.needed:
        return _missing(DELIVERY_TOKENS, len(tokens))
    mean = sum(tokens) / len(tokens)
    spread = math.sqrt(sum((each - mean) ** 2 for each in tokens) / (len(tokens) - 1))
    error = Z95 * spread / math.sqrt(len(tokens))
    return replace(
        DELIVERY_TOKENS,
        value=mean,
        interval=(max(0.0, mean - error), mean + error),
        sample=len(tokens),
        met=mean < 500,
        message=f"{mean:.0f} tokens on average; wanted: {DELIVERY_TOKENS.target}.",
    )


def _learning_rate(
    reader: StoreReader, exposures: Sequence[Exposure], trajectories: Sequence[TrajectoryEntry]
) -> Metric:
    met = {each.session: each for each in exposures}
    good = [each.id for each in trajectories if end_of(each, met.get(each.session))[0] == "success"]
    taught = reader.sessions.taught(good)
    return _share(LEARNING_RATE, *_tally(taught[each] for each in good), above=0.3)


def _fewer_mistakes(reader: StoreReader, sessions: Sequence[Ended]) -> Metric:
    """Return how many failures anti-patterns spare, by comparing sessions that were shown some with held-out ones."""
    met = {one.memory_id for session in sessions for one in session.exposure.shown}
    warnings = {each.id for each in reader.memories.many([*met]).values() if each.outcome == "failure"}
    sides: Mapping[bool, list[bool]] = {True: [], False: []}
    for session in sessions:
        hows = {one.how for one in session.exposure.shown if one.memory_id in warnings}
        if hows and session.comparable is not None and session.exposure.eligible and session.exposure.share > 0:
            sides[not session.exposure.held_out].append(not session.comparable)
    (failed, shown), (failed_without, without) = _tally(sides[True]), _tally(sides[False])
    sample = min(shown, without)
    if sample < FEWER_MISTAKES.needed or not failed_without:
        why = f"{counted(shown, 'session')} with a known end were shown an anti-pattern, {without:,} were held out."
        return _missing(FEWER_MISTAKES, sample, why if shown and without else f"{why} The setting holdout draws them.")
    fewer = 1 - (failed / shown) / (failed_without / without)
    # Katz' interval of a ratio of two rates on the scale of logarithms, half a case added so that none may fail.
    ratio = math.log((failed + 0.5) / (shown + 0.5)) - math.log((failed_without + 0.5) / (without + 0.5))
    variance = 1 / (failed + 0.5) - 1 / (shown + 0.5) + 1 / (failed_without + 0.5) - 1 / (without + 0.5)
    error = Z95 * math.sqrt(max(0.0, variance))
    return replace(
        FEWER_MISTAKES,
        value=fewer,
        interval=(1 - math.exp(ratio + error), 1 - math.exp(ratio - error)),
        sample=sample,
        met=fewer > 0.2,
        message=(
            f"{failed} of {shown:,} sessions failed with anti-patterns, {failed_without} of {without:,} without: "
            f"{fewer:.1%} fewer; wanted: {FEWER_MISTAKES.target}."
        ),
    )


def _weight_spread(reader: StoreReader, ratings: int, now: datetime) -> Metric:
    if ratings < WEIGHT_SPREAD.needed:
        return _missing(WEIGHT_SPREAD, ratings)
    spread = weight_spread(reader.evidence.weight_history(since=now - timedelta(days=SETTLED_DAYS)), now)
    return replace(
        WEIGHT_SPREAD,
        value=spread,
        sample=ratings,
        met=spread < 0.1,
        message=f"The weights vary by {spread:.1%} at most; wanted: {WEIGHT_SPREAD.target}.",
    )


def weight_spread(history: Sequence[WeightChange], now: datetime) -> float:
    """Return by how much the least steady weight has varied over the last seven days, as a share of its mean.

    Each value counts as long as it held.

    Args:
        history: Every change, oldest first.
        now: When the seven days end.
    """
    since = now - timedelta(days=SETTLED_DAYS)
    before = [change for change in history if change.at <= since]
    start = before[-1].weights if before else ProjectWeights(project=history[0].weights.project if history else "none")
    later = sorted((change for change in history if since < change.at <= now), key=lambda change: change.at)
    changes = [(since, start), *((change.at, change.weights) for change in later)]
    ends = [at for at, _ in changes[1:]] + [now]
    lasted = [(end - at).total_seconds() for (at, _), end in zip(changes, ends, strict=True)]
    whole, largest = sum(lasted), 0.0
    each_type = zip(*([weights.weight_for(name) for name in SIGNAL_TYPES] for _, weights in changes), strict=True)
    for values in each_type:
        mean = sum(value * time for value, time in zip(values, lasted, strict=True)) / whole
        variance = sum((value - mean) ** 2 * time for value, time in zip(values, lasted, strict=True)) / whole
        largest = max(largest, math.sqrt(variance) / mean)
    return largest


def calibrated(cases: Sequence[tuple[float, bool]]) -> CalibrationReport:
    """Return how well confidence foretells what is said of a memory.

    Args:
        cases: The confidence before each rating, and whether it was helpful.
    """
    metric = _share(
        CALIBRATION, *_tally(helpful for confidence, helpful in cases if confidence > HIGH_CONFIDENCE), above=0.75
    )
    if len(cases) < LEAST_SAMPLE:
        return CalibrationReport(metric=metric, cases=len(cases))
    groups: dict[int, list[tuple[float, bool]]] = {}
    for confidence, helpful in cases:
        groups.setdefault(min(int(confidence * BINS), BINS - 1), []).append((confidence, helpful))
    bins = tuple(_bin(place, groups[place]) for place in sorted(groups))
    return CalibrationReport(
        metric=metric,
        cases=len(cases),
        brier=sum((confidence - helpful) ** 2 for confidence, helpful in cases) / len(cases),
        ece=sum(each.cases * abs(each.confidence - each.helpful) for each in bins) / len(cases),
        ece_interval=_resampled_error(cases),
        bins=bins,
    )


def _bin(place: int, cases: Sequence[tuple[float, bool]]) -> CalibrationBin:
    return CalibrationBin(
        low=place / BINS,
        high=(place + 1) / BINS,
        cases=len(cases),
        confidence=sum(confidence for confidence, _ in cases) / len(cases),
        helpful=sum(helpful for _, helpful in cases) / len(cases),
    )


def _resampled_error(cases: Sequence[tuple[float, bool]]) -> tuple[float, float]:
    """Return the 95 % interval of the calibration error: percentiles of 1,000 resamples, the same ones every time.

    The sums of the bins of so many cases are as good as normally distributed: then they are drawn, and not the cases.
    """
    import numpy

    gaps = numpy.asarray([confidence - helpful for confidence, helpful in cases])
    places = numpy.asarray([min(int(confidence * BINS), BINS - 1) for confidence, _ in cases])
    random = numpy.random.default_rng(1)
    if len(gaps) > _MOST_DRAWN:
        sums = numpy.bincount(places, weights=gaps, minlength=BINS)
        squares = numpy.bincount(places, weights=gaps * gaps, minlength=BINS)
        spread = numpy.diag(squares) - numpy.outer(sums, sums) / len(gaps)
        drawn = random.multivariate_normal(sums, spread, _RESAMPLES)
    else:
        chosen = [random.integers(0, len(gaps), len(gaps)) for _ in range(_RESAMPLES)]
        drawn = numpy.stack([numpy.bincount(places[each], weights=gaps[each], minlength=BINS) for each in chosen])
    low, high = numpy.percentile(numpy.abs(drawn).sum(axis=1) / len(gaps), [2.5, 97.5])
    return float(low), float(high)
