"""How a memory ages: months without use, commits that stand or are reverted, and when it is set aside.

The rules and their reasons are in docs/decisions/0011-lifecycle.md.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Annotated, Literal

from reasoningbank.types.annotation import check_fields
from reasoningbank.types.argument import Between, PositiveShare, Share
from reasoningbank.types.belief import PRIOR_STRENGTH, UNIT, Belief

MONTH = timedelta(days=30)
"""A full month without activity (seed 001: "per month")."""
DECAY_STEP = 0.05
"""How far the confidence falls for each (seed 001)."""
DECAY_FLOOR = 0.5
"""The share of the initial confidence that disuse leaves."""
LOWEST_FLOOR = 0.01
"""Disuse leaves at least this: no finite evidence leads to zero."""
PRUNE_BELOW = 0.3
"""Memories below this confidence are archived once they are unused (spec/contextd 5)."""
PRUNE_AFTER_DAYS = 90
STABLE_AFTER = timedelta(days=7)
"""A commit that was not reverted for so long has stood (seed 001)."""
STABILITY_SHARE = Fraction(2, 3)
"""The weight of a commit's fate as a share of an explicit rating's: +0.2 and +0.3 in seed 001."""
COMMIT_KEY = 7
"""Digits of a commit's name that identify it for one memory: git's own least abbreviation."""

Fate = Literal["stood", "reverted", "waiting", "unknown"]
"""stood: in the history for seven days and not reverted; waiting: not yet for so long; unknown: not in the history."""

_PERSONS = ("api", "cli")
_REST = Fraction(1, 100_000_000)
"""A score that is above the floor by less is at the floor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecayRules:
    """How unused memories lose confidence.

    Attributes:
        step: The fall for each full month without activity, 0 to 1; 0 switches it off.
        floor: The share of the initial confidence that is never gone below, above 0 to 1.
        recorded: Let memories that a person recorded lose confidence too.

    Raises:
        InvalidInput: When a number is out of its range.
    """

    step: Annotated[float, Between(0.0, below=1.0)] = DECAY_STEP
    floor: PositiveShare = DECAY_FLOOR
    recorded: bool = False

    def __post_init__(self) -> None:
        check_fields(self)

    def gentler(self, other: DecayRules) -> DecayRules:
        """Return of each number the one under which less is lost."""
        return DecayRules(
            step=min(self.step, other.step),
            floor=max(self.floor, other.floor),
            recorded=self.recorded and other.recorded,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneRules:
    """Which memories are archived.

    Attributes:
        below: Only those of a lower confidence, 0 to 1.
        after_days: Only those without any activity for so many days, at least 1.

    Raises:
        InvalidInput: When a number is out of its range.
    """

    below: Share = PRUNE_BELOW
    after_days: Annotated[int, Between(1, 36_500)] = PRUNE_AFTER_DAYS

    def __post_init__(self) -> None:
        check_fields(self)

    def gentler(self, other: PruneRules) -> PruneRules:
        """Return of each number the one under which less is archived."""
        return PruneRules(below=min(self.below, other.below), after_days=max(self.after_days, other.after_days))


@dataclass(frozen=True, slots=True, kw_only=True)
class Decayed:
    """Hold what disuse did to one memory.

    Attributes:
        months: For how many months it lost confidence in this run.
        unused_since: When it was last used, rated, reported on, changed or made.
    """

    memory_id: str
    months: int
    unused_since: datetime
    previous_confidence: float
    new_confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DecayReport:
    """Hold what a run of decay did, or would do.

    Attributes:
        decayed: The memories that lost confidence, in the order they were stored.
        examined: How many recallable memories had no activity for a month.
        recorded: How many of these a person recorded, which were left alone.
        dry_run: True when nothing was written.
    """

    decayed: tuple[Decayed, ...] = ()
    examined: int = 0
    recorded: int = 0
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """A memory that was archived because it is neither believed nor used."""

    memory_id: str
    confidence: float
    unused_since: datetime
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneReport:
    """Hold what a run of pruning archived, or would archive."""

    pruned: tuple[Pruned, ...] = ()
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StabilityReport:
    """Hold what the fate of a commit did to one memory.

    Attributes:
        commit: The commit, as it was named; empty when none was.
        counted: False when this was counted before.
        message: The same in words.
    """

    memory_id: str
    reverted: bool
    commit: str
    previous_confidence: float
    new_confidence: float
    counted: bool
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StabilityCheck:
    """Hold what a look at the repository found.

    Attributes:
        reports: The commits that have stood or were reverted and were not counted before; in a dry run all of them.
        commits: How many commits the bank's memories are tied to.
        waiting: How many of them are younger than seven days.
        unknown: How many are not in the history of the repository's current branch.
        dry_run: True when nothing was written.
    """

    reports: tuple[StabilityReport, ...] = ()
    commits: int = 0
    waiting: int = 0
    unknown: int = 0
    dry_run: bool = False


def by_person(provenance: Mapping[str, str]) -> bool:
    """Return whether a person recorded the memory, not an agent's tool or a session.

    What was distilled, summed up, ingested, consolidated, or recorded over MCP was not.
    """
    return provenance.get("source", "") in _PERSONS


def floor_of(started: Fraction, share: float) -> Fraction:
    """Return the confidence that disuse never goes below, from the initial one."""
    return max(_exact(share) * started, _exact(LOWEST_FLOOR))


def disuse_weight(belief: Belief, step: float, floor: Fraction) -> int:
    """Return the weight in billionths of the disuse signal that lowers the score by a step, or to the floor.

    0 for none.

    alpha / (alpha + beta + w) = target, so w = alpha / target - alpha - beta, rounded down: the new score is never
    below the target and less than a billionth above it. What the rounding of many months leaves above the floor is no
    reason for a further signal.
    """
    alpha = belief.prior + belief.positive
    total = PRIOR_STRENGTH * UNIT + belief.positive + belief.negative
    score = Fraction(alpha, total)
    if score - floor < _REST:
        return 0
    return math.floor(alpha / max(score - _exact(step), floor)) - total


def months_between(rested: datetime, now: datetime) -> tuple[datetime, ...]:
    """Return the ends of the full months between two times, oldest first."""
    count = max(0, (now - rested) // MONTH)
    return tuple(rested + number * MONTH for number in range(1, count + 1))


def commit_key(commit: str) -> str:
    """Return what identifies a commit among those of one memory, however far its name is cut."""
    return commit.strip().lower()[:COMMIT_KEY]


@functools.cache
def _exact(number: float) -> Fraction:
    """Return the number as it is written, not as it is stored."""
    return Fraction(str(number))
