"""Does a fit mean something: of the memories that are called strong, fair or weak, how many have to do with the query.

Only labels that name everything that is relevant can say it: those of the small banks, whose questions and memories
were read together, of sentences with one intent, of tasks of one template and of chats about one task. In the other
sets most of what is relevant is not labelled; there a sample was read by hand without its relevance in sight
(``fits_labels.json``: set, hash of the query, memory, grade; 1: has to do with the query).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from evaluation.learning_estimates import share
from evaluation.measures import mean
from evaluation.rankings import LIMIT
from evaluation.sets import LabelledSet, Query
from evaluation.small_banks import Answer
from reasoningbank.search.fusion import Fused

LABELS = Path(__file__).with_name("fits_labels.json")
COMPLETE = ("webarena", "banking77", "airline")
"""Sets whose labels name everything that is relevant."""
READ = "read by hand"
FITS = ("strong", "fair", "weak")
THRESHOLDS, GAPS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0), (3.0, 4.0, 6.0)
"""What is tried for a strong fit: least log odds above those of chance, most that they may lack of the best hit's."""
BINS = ((0.02, 0.2), (0.2, 0.5), (0.5, 0.9), (0.9, 0.98), (0.98, 0.999), (0.999, 1.1))
WANTED = 0.9
"""So many of the strong ones are to have to do with the query."""
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One memory of an answer.

    Attributes:
        source: The set or pool.
        fit: The word that is shown.
        relevance: The number.
        evidence: Log odds of its relevance less the logarithm of the number of memories, 3 to 200.
        gap: What its log odds lack of the best hit's.
        related: Whether it has to do with the query.
    """

    source: str
    fit: str
    relevance: float
    evidence: float
    gap: float
    related: bool


def of_set(labelled: LabelledSet, query: Query, hits: Sequence[Fused]) -> Iterator[Shown]:
    """Yield what is shown for a query of a set: with its label, or with a grade given by hand."""
    grades = _grades().get((labelled.name, digest(query.text)), {})
    for hit in hits[:LIMIT]:
        if labelled.name in COMPLETE:
            yield _shown(labelled.name, hit, hits[0], len(labelled.documents), hit.id in query.relevant)
        if hit.id in grades:
            yield _shown(READ, hit, hits[0], len(labelled.documents), grades[hit.id])


def of_small(answer: Answer) -> Iterator[Shown]:
    """Yield what is shown in a small bank."""
    for hit in answer.hits:
        source = f"small {answer.triple.pool}"
        yield _shown(source, hit, answer.hits[0], len(answer.triple.bank), answer.related(hit))


def digest(text: str) -> str:
    """Return what a label names a query by."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


@cache
def _grades() -> Mapping[tuple[str, str], Mapping[str, bool]]:
    grades: dict[tuple[str, str], dict[str, bool]] = {}
    for name, query, memory, grade in json.loads(LABELS.read_text(encoding="utf-8"))["labels"]:
        grades.setdefault((name, query), {})[memory] = bool(grade)
    return grades


def _shown(source: str, hit: Fused, first: Fused, memories: int, related: bool) -> Shown:
    odds = _odds(hit.relevance)
    return Shown(
        source=source,
        fit=hit.fit,
        relevance=hit.relevance,
        evidence=odds - math.log(min(200, max(3, memories))),
        gap=_odds(first.relevance) - odds,
        related=related,
    )


def _odds(relevance: float) -> float:
    return math.log((relevance + 1e-15) / (1.0 - relevance + 1e-15))


def report_fits(shown: Sequence[Shown], say: Say) -> None:
    """Print how many of each fit have to do with the query, and a strong fit chosen without the source."""
    say("\nFit: share of the memories shown that have to do with the query, 95 % intervals (Wilson)")
    say(f"{'source':20}" + "".join(f"{fit:^32}" for fit in FITS) + "strong, chosen without it")
    groups: dict[str, list[Shown]] = {}
    for each in shown:
        groups.setdefault(each.source, []).append(each)
    small = [each for each in shown if each.source.startswith("small")]
    for name in sorted(groups):
        mine = groups[name]
        cells = "".join(f"{_cell([each for each in mine if each.fit == fit]):^32}" for fit in FITS)
        say(f"{name:20}{cells}{'' if name == READ else _left_out(name, groups)}")
    say(
        f"{'all small banks':20}" + "".join(f"{_cell([each for each in small if each.fit == fit]):^32}" for fit in FITS)
    )
    say("\nThe same by the number, which saturates in large banks")
    large = [each for each in shown if each.source in COMPLETE]
    for low, high in BINS:
        few, many = (_cell([each for each in mine if low <= each.relevance < high]) for mine in (small, large))
        say(f"  {low:g} to {min(high, 1.0):g}: small banks {few}, sets with complete labels {many}")


def _left_out(name: str, groups: Mapping[str, Sequence[Shown]]) -> str:
    """Return the share with the widest strong fit that holds on the mean of the others."""
    others = [group for source, group in groups.items() if source not in {name, READ}]

    def taken(group: Sequence[Shown], threshold: float, gap: float) -> list[Shown]:
        return [each for each in group if each.evidence >= threshold and each.gap <= gap]

    def kept(threshold: float, gap: float) -> int:
        return sum(len(taken(group, threshold, gap)) for group in others)

    def holds(threshold: float, gap: float) -> bool:
        found = [taken(group, threshold, gap) for group in others]
        shares = [mean([float(each.related) for each in group]) for group in found if group]
        return bool(shares) and mean(shares) >= WANTED

    fitting = [(threshold, gap) for threshold in THRESHOLDS for gap in GAPS if holds(threshold, gap)]
    if not fitting:
        return "no choice holds"
    best = max(fitting, key=lambda each: kept(*each))
    return f"{_cell(taken(groups[name], *best))} (evidence {best[0]:g}, gap {best[1]:g})"


def _cell(mine: Sequence[Shown]) -> str:
    """Return the share that has to do with the query, with its interval and the number of memories."""
    estimate = share(sum(each.related for each in mine), len(mine))
    if not mine:
        return "-"
    return f"{estimate.value:.2f} [{estimate.low:.2f} {estimate.high:.2f}] of {estimate.count}"
