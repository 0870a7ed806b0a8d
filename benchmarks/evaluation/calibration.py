"""Live a year in a bank where it is known how often each memory truly helps, and measure SC-005 and SC-006.

``python -m evaluation.calibration`` below ``benchmarks``. Every session goes the whole way: a search delivers a memory,
the session ends as the memory's true rate has it, its end is credited, and now and then a person rates the memory.
Nothing is set but those true rates: two memories of three help often (Beta(18, 2)), the third seldom (Beta(3, 7)),
whatever confidence they began with. In the second kind of year two of ten raters always say the opposite of the truth.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from reasoningbank import Bank, Settings
from reasoningbank.curation.metrics import calibrated, weight_spread
from reasoningbank.testing import FrozenClock, HashingEmbedder
from reasoningbank.types.metrics import LEAST_RATINGS, CalibrationReport
from reasoningbank.types.records import WeightChange
from reasoningbank.web.pictures import reliability, weights_over_time

MEMORIES = 60
WEEKS = 52
SESSIONS_A_WEEK = 90
RATED = 0.26
"""The share of sessions that somebody rates: what the health report of a comparable system shows (spec/contextd 5)."""
RATERS = 10
SEEDS = (1, 2, 3)


@dataclass(frozen=True)
class Year:
    """Hold what a year has shown.

    Attributes:
        uses: The confidence of a memory when a session was shown it, and whether it truly helped; of the whole year.
        settled: The same of its last quarter.
        ratings: How many there were.
        spreads: The spread of the weights over the last seven days, at the end of each week from the 50th rating on.
        history: Every change of the weights.
        ended: When the year ended.
    """

    uses: list[tuple[float, bool]]
    settled: list[tuple[float, bool]]
    ratings: int
    spreads: list[float]
    history: Sequence[WeightChange]
    ended: datetime


def lived(home: Path, *, seed: int, liars: int, weeks: int = WEEKS, sessions: int = SESSIONS_A_WEEK) -> Year:
    """Return what a year has shown.

    Args:
        home: A data directory.
        seed: Chooses true rates, sessions and raters.
        liars: How many of the ten raters say the opposite of the truth.
        weeks: How long it is.
        sessions: Sessions a week.
    """
    chance, clock = random.Random(seed), FrozenClock()
    uses: list[tuple[float, bool]] = []
    settled: list[tuple[float, bool]] = []
    spreads: list[float] = []
    ratings = 0
    with Bank.open(
        "memory://",
        tenant="acme",
        project="year",
        embedder=HashingEmbedder(2048),
        settings=Settings(home=home),
        clock=clock,
        chance=random.Random(seed),
        by_agent=False,
    ) as bank:
        rates: dict[str, float] = {}
        for number in range(MEMORIES):
            memory = bank.record(
                title=f"Case{number}",
                content=f"word{number}a word{number}b word{number}c",
                outcome="success",
                confidence=0.8 if number % 2 else 0.6,
            )
            rates[memory.id] = chance.betavariate(18, 2) if number % 3 else chance.betavariate(3, 7)
        names = [*rates]
        for week in range(weeks):
            for number in range(sessions):
                clock.advance(timedelta(days=7) / sessions)
                place, session = chance.randrange(MEMORIES), f"w{week}-{number}"
                recall = bank.search(
                    f"word{place}a word{place}b word{place}c", limit=1, min_confidence=0.0, session=session
                )
                hit = recall.delivered[0]
                assert hit.id == names[place], "the search delivers the memory of its words"
                helped = chance.random() < rates[hit.id]
                uses.append((hit.confidence, helped))
                if week >= weeks - weeks // 4:
                    settled.append((hit.confidence, helped))
                bank.sessions.outcome(session, helped)
                if chance.random() < RATED:
                    lies = chance.randrange(RATERS) < liars
                    bank.feedback(hit.id, helpful=helped != lies, session=session, rater="human")
                    ratings += 1
            bank.admin.roll_up()
            if ratings >= LEAST_RATINGS:
                spreads.append(weight_spread(bank.admin.weights(), clock.now()))
        return Year(uses, settled, ratings, spreads, bank.admin.weights(), clock.now())


def described(name: str, year: Year) -> str:
    """Return what a year has shown, in a few lines."""
    lines = [f"{name}: {len(year.uses):,} uses, {year.ratings:,} ratings"]
    for what, cases in (("whole year", year.uses), ("last quarter", year.settled)):
        lines.append(f"  {what:13} {_shown(calibrated(cases))}")
    worst = max(year.spreads, default=0.0)
    steady = sum(each < 0.1 for each in year.spreads)
    lines.append(
        f"  weights       vary by {year.spreads[-1] if year.spreads else 0.0:.1%} in the last week, {worst:.1%} in the "
        f"worst; below 10 % in {steady} of {len(year.spreads)} weeks after the 50th rating"
    )
    return "\n".join(lines)


def _shown(found: CalibrationReport) -> str:
    assert found.ece is not None
    assert found.ece_interval is not None
    low, high = found.ece_interval
    above = found.metric
    rate = "too few" if above.value is None or above.interval is None else f"{above.value:.1%}"
    return (
        f"ECE {found.ece:.3f} ({low:.3f} to {high:.3f}), Brier {found.brier:.3f}; above 0.8 {rate} helped, of "
        f"{above.sample:,}"
    )


def main() -> None:
    """Live the years, print what they show, and draw them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pictures", type=Path, default=Path("build"))
    folder: Path = parser.parse_args().pictures
    folder.mkdir(parents=True, exist_ok=True)
    curves: list[tuple[str, CalibrationReport]] = []
    for liars, name in ((0, "honest raters"), (2, "two of ten raters lie")):
        years = []
        for seed in SEEDS:
            with tempfile.TemporaryDirectory() as home:
                years.append(lived(Path(home), seed=seed, liars=liars))
            print(described(f"{name}, year {seed}", years[-1]), flush=True)
        together = calibrated([case for year in years for case in year.uses])
        print(f"{name}, all years: {_shown(together)}\n", flush=True)
        curves.append((name, together))
        if not liars:
            picture = weights_over_time(years[0].history, years[0].ended)
            (folder / "eval-calibration-weights.svg").write_text(picture, encoding="utf-8")
    (folder / "eval-calibration.svg").write_text(reliability(curves), encoding="utf-8")
    print(f"Pictures: {folder / 'eval-calibration.svg'} and {folder / 'eval-calibration-weights.svg'}")


if __name__ == "__main__":
    main()
