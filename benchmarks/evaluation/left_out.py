"""The constants that decide what an agent sees, chosen without the source that they are then measured on.

For every source of sets (all of reme, all of the standard library ...) the weight of words, the weight of function
words, the floor and the tail are chosen on the other sources, and its own sets are measured with them. Beside that
stand the shipped constants, what was shipped before (a list of stop words, and a floor that judged every memory by
itself), and the legs as anybody would build them. Questions of other sets and everyday ones have no answer in a bank:
showing something for them is a false hit.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy

from evaluation.measures import Numbers, interval, mean, ndcg, recall
from evaluation.rankings import LIMIT, Found, best_of, ours
from reasoningbank.search.fusion import FLOOR, TAIL, asked_floor

Say = Callable[[str], None]


class Constants(NamedTuple):
    """One choice.

    Attributes:
        words: What the weight of words is multiplied by.
        function: What function words count, of a whole word.
        floor: The relevance that the best memory must reach.
        tail: The least relevance of the others.
    """

    words: float
    function: float
    floor: float
    tail: float


SHIPPED = Constants(words=1.0, function=0.5, floor=FLOOR, tail=TAIL)
WORDS, FUNCTION, FLOORS, TAILS = (0.5, 1.0, 2.0), (0.0, 0.5, 1.0), (0.1, 0.2, 0.35), (0.005, 0.02, 0.05, 0.2)
GRID = tuple(Constants(*each) for each in itertools.product(WORDS, FUNCTION, FLOORS, TAILS))
"""What is tried."""
FALSE_HIT, SHOWN = 0.1, 0.002
"""What a false hit and a memory that is shown cost, where finding everything is worth 1."""
NAMES = ("before", "now", "left out")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """One question with every choice of the weights and the tail; the floor is applied afterwards.

    Attributes:
        best: The relevance of the best memory.
        measured: By words, function and tail: nDCG@10, recall@10 and how many are shown; without an answer zeros.
        before: What was shipped before: nDCG@10, recall@10, how many are shown.
    """

    best: float
    measured: Mapping[tuple[float, float, float], tuple[float, float, int]]
    before: tuple[float, float, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """All questions of one set.

    Attributes:
        name: The set.
        memories: Of its bank.
        answerable: Questions with an answer.
        strange: Questions without.
        legs: nDCG@10 and recall@10 of each plain leg, a row for each answerable question.
    """

    name: str
    memories: int
    answerable: Sequence[Tried]
    strange: Sequence[Tried]
    legs: Mapping[str, Numbers]

    @property
    def source(self) -> str:
        """What is left out together."""
        return self.name.split()[0]


def tried(found: Found, model_id: str, words_worth: float, memories: int, relevant: frozenset[str]) -> Tried:
    """Run one question with every choice; one without an answer has nothing relevant."""
    kept = {tail: set(ours(found, model_id, tail, words_worth, tail)) for tail in TAILS}
    measured = {}
    for function in FUNCTION:
        changed = with_function_words(found, function / SHIPPED.function)
        for words in WORDS:
            order = ours(changed, model_id, 0.0, words_worth * words)
            for tail in TAILS:
                measured[words, function, tail] = _measured([one for one in order if one in kept[tail]], relevant)
    before = ours(
        with_function_words(found, 0.0), model_id, FLOOR, words_worth * (memories + _LESSENED) / max(1, memories), FLOOR
    )
    return Tried(best=best_of(found, model_id), measured=measured, before=_measured(before, relevant))


_LESSENED = 20
"""Before, the weight of words was not lessened where memories are few."""


def with_function_words(found: Found, factor: float) -> Found:
    """Return what was found with function words worth so many times as much."""
    lexical = found.candidates.lexical
    added = lexical.function_words
    hits = [replace(hit, score=hit.score + (factor - 1.0) * added.get(hit.id, 0.0)) for hit in lexical.hits]
    changed = replace(
        lexical,
        hits=tuple(sorted(hits, key=lambda hit: (-hit.score, hit.id))),
        function_words={one: factor * value for one, value in added.items()},
    )
    return replace(found, candidates=replace(found.candidates, lexical=changed))


def _measured(ids: Sequence[str], relevant: frozenset[str]) -> tuple[float, float, int]:
    shown = min(len(ids), LIMIT)
    return (ndcg(ids, relevant), recall(ids, relevant), shown) if relevant else (0.0, 0.0, shown)


class Seen(NamedTuple):
    """What one choice shows on one set: a number for each answerable question, then for each without an answer."""

    ndcg: Numbers
    recall: Numbers
    shown: Numbers
    silent: Numbers
    false_hits: Numbers


def seen(trial: Trial, constants: Constants | None) -> Seen:
    """Return what a choice shows on a set; None for what was shipped before.

    In a small bank the floor is lower by as much as that of a search is.
    """
    lower = asked_floor(trial.memories) / FLOOR

    def one(each: Tried) -> tuple[float, float, int]:
        if constants is None:
            return each.before
        return each.measured[constants[:2] + constants[3:]] if each.best >= constants.floor * lower else (0.0, 0.0, 0)

    rows = numpy.array([one(each) for each in trial.answerable], dtype=numpy.float64).reshape(-1, 3)
    strange = numpy.array([one(each)[2] > 0 for each in trial.strange], dtype=numpy.float64)
    return Seen(rows[:, 0], rows[:, 1], rows[:, 2], (rows[:, 2] == 0).astype(numpy.float64), strange)


def worth(trial: Trial, constants: Constants) -> float:
    """Return what a choice is worth on a set."""
    found = seen(trial, constants)
    gained = (mean(found.ndcg) + mean(found.recall)) / 2
    return gained - SHOWN * mean(found.shown) - (FALSE_HIT * mean(found.false_hits) if trial.strange else 0.0)


def chosen_without(source: str, trials: Sequence[Trial]) -> Constants:
    """Return the best choice on the other sources, each source counting once; the shipped one where there is none."""
    others: dict[str, list[Trial]] = {}
    for trial in trials:
        if trial.source != source:
            others.setdefault(trial.source, []).append(trial)
    if not others:
        return SHIPPED
    return max(
        GRID, key=lambda each: mean([mean([worth(trial, each) for trial in group]) for group in others.values()])
    )


def report_left_out(trials: Sequence[Trial], say: Say) -> None:
    """Print the choices, and what they show beside the plain legs, with paired intervals."""
    if not trials:
        return
    choices = {source: chosen_without(source, trials) for source in dict.fromkeys(trial.source for trial in trials)}
    say("\nConstants chosen without a source, on all others (worth = (nDCG@10 + recall@10) / 2")
    say(f"less {FALSE_HIT} for a false hit and {SHOWN} for each memory shown); shipped: {_said(SHIPPED)}")
    for source, choice in choices.items():
        say(f"  without {source:12} {_said(choice)}{'  (as shipped)' if choice == SHIPPED else ''}")
    shown = {
        trial.name: (seen(trial, None), seen(trial, SHIPPED), seen(trial, choices[trial.source])) for trial in trials
    }
    for place, name in ((0, "nDCG@10"), (1, "recall@10")):
        say(f"\n{name} of what an agent sees, all queries; better leg: plain BM25 or the larger cosine")
        say(
            f"{'set':24}{'queries':>8}  {'leg':>11}  before    now  left out  {'now - before':^22}  "
            f"{'now - better leg':^22}  {'left out - better leg':^22}"
        )
        gaps: dict[str, list[float]] = {"now - before": [], "now - better leg": [], "left out - better leg": []}
        below: dict[str, list[str]] = {each: [] for each in gaps}
        for trial in trials:
            before, now, other = (each[place] for each in shown[trial.name])
            leg = max(trial.legs, key=lambda each: mean(trial.legs[each][:, place]))
            plain = trial.legs[leg][:, place]
            differences = dict(zip(gaps, (now - before, now - plain, other - plain), strict=True))
            for each, values in differences.items():
                gaps[each].append(mean(values))
                if interval(values)[1] < 0:
                    below[each].append(trial.name)
            say(
                f"{trial.name:24}{len(now):8}  {leg.removeprefix('plain '):>5} {mean(plain):.3f}  {mean(before):.3f}  "
                f"{mean(now):.3f}     {mean(other):.3f}  "
                + "  ".join(f"{_with_interval(values):^22}" for values in differences.values())
            )
        for each, found in gaps.items():
            say(f"mean of {each}: {mean(found):+.4f}; certainly below 0 on: {', '.join(below[each]) or 'none'}")
    say("\nShare of answerable questions that find nothing, of others that find something (false hits), memories shown")
    say(f"{'set':24}" + "".join(f"{f'{what}, {name}':>24}" for what in ("silent", "false") for name in NAMES))
    for trial in trials:
        cells = [_plain(getattr(each, what)) for what in ("silent", "false_hits") for each in shown[trial.name]]
        counts = "  ".join(f"{mean(each.shown):.1f}" for each in shown[trial.name])
        say(f"{trial.name:24}" + "".join(f"{cell:>24}" for cell in cells) + f"   shown {counts}")
    for place, name in enumerate(NAMES):
        mine = [each[place] for each in shown.values()]
        silent, false = numpy.concatenate([each.silent for each in mine]), [each.false_hits for each in mine]
        say(
            f"{name}: silent {_plain(silent)}, false hits {_plain(numpy.concatenate(false))}, "
            f"shown {mean([mean(each.shown) for each in mine]):.1f} of ten"
        )


def _said(constants: Constants) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in constants._asdict().items())


def _with_interval(values: Numbers) -> str:
    low, high = interval(values)
    return f"{mean(values):+.3f} [{low:+.3f} {high:+.3f}]"


def _plain(values: Numbers) -> str:
    low, high = interval(values)
    return f"{mean(values):.3f} [{low:.3f} {high:.3f}]"
