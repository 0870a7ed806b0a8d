"""How well search finds: every leg and fusion on every labelled set, then the relevance floor (DESIGN D13).

``python -m evaluation.retrieval`` prints, for one half of each set's queries, nDCG@10 and recall@10 with
95 % bootstrap intervals, and the paired difference between our fusion and the better leg. The tuned fixed weight is the
best one on the other half of the other sets. Banks, text index and vectors are the real ones. Each bank first learns
from its own documents what words are worth in it (``search/word_weights.py``); "as is" is our fusion without that.

What is held out and what is not: our constants were fitted on the half that is not reported, but the form of the
fusion, and the rounding of its constants, were chosen with both halves in sight, and the floor was fitted on the sets
that its table shows. So the numbers are an upper estimate for sets never seen; docs/decisions/0004 has the
leave-one-set-out figures. ``--untuned FOLDER`` measures sets that no constant was chosen with, and nothing else.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy

from evaluation import agent_queries, growth
from evaluation.banks import Banks, Vectors
from evaluation.fits import Shown, of_set, of_small, report_fits
from evaluation.floor import FLOORS, Outcome, measure, strange
from evaluation.left_out import Trial, report_left_out, tried
from evaluation.measures import Numbers, interval, mean, ndcg, recall
from evaluation.rankings import FIXED, LEGS, LIMIT, PLAIN, fusions, search, shipped
from evaluation.sets import LabelledSet, half, labelled_sets
from evaluation.small_banks import answers, report_small
from evaluation.untuned_sets import untuned_sets
from reasoningbank.embedding import open_embedder

TUNING, REPORTED = 0, 1
STRANGERS = 60
"""How many questions without an answer each set is asked, about."""
MEASURES: Mapping[str, Callable[[Sequence[str], frozenset[str]], float]] = {"nDCG@10": ndcg, "recall@10": recall}

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """All rankings of one set, judged.

    Attributes:
        name: The set.
        words_worth: What the bank has learned that words are worth in it.
        shown: How many of ten memories an answer holds, with the floor as a sieve and as shipped.
        halves: For every query, which half it is in.
        values: Per measure and ranking one number per query.
        trial: Every query with every choice of the constants, and questions without an answer.
        fits: What is shown, where it is known what has to do with the query.
    """

    name: str
    words_worth: float
    shown: Mapping[str, Numbers]
    halves: tuple[int, ...]
    values: Mapping[str, Mapping[str, Numbers]]
    trial: Trial
    fits: tuple[Shown, ...]

    def of(self, measure_name: str, ranking: str, which: int = REPORTED) -> Numbers:
        """The numbers of one half."""
        chosen: Numbers = self.values[measure_name][ranking][numpy.array(self.halves) == which]
        return chosen


def judge(labelled: LabelledSet, holder: Banks, vectors: Vectors, strangers: Sequence[str] = ()) -> Result:
    """Runs every query of the set against a bank of its documents, through every leg, fusion and choice of constants.

    The strangers are questions without an answer in it.
    """
    asked = vectors.queries([query.text for query in labelled.queries] + list(strangers))
    model, size = vectors.embedder.model_id, len(labelled.documents)
    fits: list[Shown] = []
    answerable = []
    with holder.holding(labelled.documents) as store:
        words_worth = holder.words_worth(store)
        table = {**LEGS, **PLAIN, **fusions(model, words_worth)}
        if not any(document.description for document in labelled.documents):
            del table["description"]
        values: dict[str, dict[str, list[float]]] = {name: {each: [] for each in table} for name in MEASURES}
        shown: dict[str, list[int]] = {"sieve": [], "shipped": []}
        for query in labelled.queries:
            found = search(store, query.text, asked[query.text], query.itself)
            for name, rank in table.items():
                ranking = rank(found)
                for measured, value in MEASURES.items():
                    values[measured][name].append(value(ranking, query.relevant))
                if name in shown:
                    shown[name].append(min(len(ranking), LIMIT))
            answerable.append(tried(found, model, words_worth, size, query.relevant))
            fits += of_set(labelled, query, shipped(found, model, words_worth))
        unanswerable = [
            tried(search(store, text, asked[text]), model, words_worth, size, frozenset()) for text in strangers
        ]
    legs = {name: numpy.column_stack([numpy.array(values[measured][name]) for measured in MEASURES]) for name in PLAIN}
    return Result(
        name=labelled.name,
        words_worth=words_worth,
        shown={name: numpy.array(counts, dtype=numpy.float64) for name, counts in shown.items()},
        halves=tuple(half(query.text) for query in labelled.queries),
        values={m: {name: numpy.array(numbers) for name, numbers in each.items()} for m, each in values.items()},
        trial=Trial(name=labelled.name, memories=size, answerable=answerable, strange=unanswerable, legs=legs),
        fits=tuple(fits),
    )


def better_leg(result: Result, measured: str) -> str:
    """The leg with the larger mean on the reported half."""
    return max(
        (name for name in LEGS if name in result.values[measured]), key=lambda leg: mean(result.of(measured, leg))
    )


def tuned_share(results: Iterable[Result], measured: str, without: str) -> str:
    """The fixed weight that is best on the tuning halves of the sets other than ``without``."""
    others = [result for result in results if result.name != without]
    names = [f"fixed {share}" for share in FIXED]
    return max(names, key=lambda name: mean([mean(each.of(measured, name, TUNING)) for each in others]))


def report(results: Sequence[Result], say: Say) -> None:
    """Prints the tables of legs and fusions."""
    for measured in MEASURES:
        say(
            f"\n{measured} on the half that the constants were not fitted on, 95 % intervals"
            " (the form was chosen with that half in sight)"
        )
        say(
            f"{'set':22}{'queries':>8}  "
            + "  ".join(f"{name:^18}" for name in _COLUMNS)
            + f"  {'ours - better leg':^24}"
        )
        gaps, over = [], []
        for result in results:
            cells = [_cell(result, measured, name, results) for name in _COLUMNS]
            leg = better_leg(result, measured)
            gap = result.of(measured, "ours") - result.of(measured, leg)
            low, high = interval(gap)
            gaps.append(mean(gap))
            if high < 0:
                over.append(result.name)
            verdict = "below" if high < 0 else "above" if low > 0 else ""
            say(
                f"{result.name:22}{len(gap):8}  "
                + "  ".join(f"{cell:^18}" for cell in cells)
                + f"  {mean(gap):+.3f} [{low:+.3f} {high:+.3f}] {verdict} ({leg}) words x {result.words_worth:g}"
            )
        say(f"mean of ours - better leg: {mean(gaps):+.4f}; certainly below it on: {', '.join(over) or 'none'}")
        for name in ("RRF 60", "fixed 0.7", "z-score", "as is", "sieve", "shipped"):
            values = [
                mean(each.of(measured, name)) - mean(each.of(measured, better_leg(each, measured))) for each in results
            ]
            say(f"  the same for {name:12}: mean {mean(values):+.4f}, worst {min(values, default=0.0):+.3f}")


_COLUMNS = (
    "BM25",
    "content",
    "description",
    "RRF 60",
    "fixed 0.7",
    "fixed, tuned",
    "z-score",
    "as is",
    "ours",
    "shipped",
)


def report_plain(results: Sequence[Result], say: Say) -> None:
    """Prints what an agent sees beside the better plain leg, over all queries, with paired intervals."""
    for measured in MEASURES:
        say(f"\n{measured} of what an agent sees, all queries; legs as anybody would build them (function words kept)")
        say(f"{'set':22}{'queries':>8}  plain BM25  plain dense  sieve  shipped  shipped - better leg    - sieve")
        gaps, changes, over = [], [], []
        for result in results:
            values = result.values[measured]
            leg = max(PLAIN, key=lambda name: mean(values[name]))
            gap, change = values["shipped"] - values[leg], values["shipped"] - values["sieve"]
            gaps.append(mean(gap))
            changes.append(mean(change))
            if interval(gap)[1] < 0:
                over.append(result.name)
            say(
                f"{result.name:22}{len(gap):8}  {mean(values['plain BM25']):10.3f}  {mean(values['plain dense']):11.3f}"
                f"  {mean(values['sieve']):5.3f}  {mean(values['shipped']):7.3f}"
                f"  {_with_interval(gap)}  {_with_interval(change)}"
            )
        say(
            f"mean of shipped - better plain leg: {mean(gaps):+.4f}; certainly below it on: {', '.join(over) or 'none'}"
        )
        say(f"mean of shipped - sieve: {mean(changes):+.4f}")
    counts = {name: [mean(result.shown[name]) for result in results] for name in ("sieve", "shipped")}
    say(f"memories shown of ten: sieve {mean(counts['sieve']):.1f}, shipped {mean(counts['shipped']):.1f}")


def _with_interval(values: Numbers) -> str:
    low, high = interval(values)
    return f"{mean(values):+.3f} [{low:+.3f} {high:+.3f}]"


def _cell(result: Result, measured: str, name: str, results: Sequence[Result]) -> str:
    if name == "fixed, tuned":
        name = tuned_share(results, measured, result.name)
    if name not in result.values[measured]:
        return "-"
    values = result.of(measured, name)
    low, high = interval(values)
    return f"{mean(values):.3f} [{low:.3f} {high:.3f}]"


def report_floor(outcomes: Sequence[Outcome], say: Say) -> None:
    """Prints what related queries keep and how many unrelated ones find nothing, per floor, bank size and set."""
    say("\nFloor: relevant hits of the first five that related queries keep / unrelated queries that find nothing")
    say("(fitted on these sets; in the task sets a task is related to whatever was learned from it, alike or not)")
    say(f"{'':22}" + "".join(f"{f'floor {floor}':>16}" for floor in FLOORS))
    groups: dict[str, list[Outcome]] = {
        "all": list(outcomes),
        "without the task sets": [each for each in outcomes if not each.bank.endswith(" task")],
    }
    for outcome in outcomes:
        groups.setdefault(f"banks of {outcome.size}" if outcome.size else "whole sets", []).append(outcome)
    for outcome in outcomes:
        groups.setdefault(outcome.bank, []).append(outcome)
    for name, group in groups.items():
        say(f"{name:22}" + "".join(f"{_floor_cell(group, place):>16}" for place in range(len(FLOORS))))
    for place, floor in enumerate(FLOORS):
        kept = [each.kept[place] for each in outcomes if each.kept]
        silent = [float(each.silent[place]) for each in outcomes if each.silent]
        (low, high), (least, most) = interval(kept), interval(silent)
        say(
            f"floor {floor}: keeps {mean(kept):.3f} [{low:.3f} {high:.3f}] of {len(kept)}, "
            f"silent {mean(silent):.3f} [{least:.3f} {most:.3f}] of {len(silent)}"
        )


def _floor_cell(group: Sequence[Outcome], place: int) -> str:
    kept = mean([each.kept[place] for each in group if each.kept])
    silent = mean([float(each.silent[place]) for each in group if each.silent])
    return f"{kept:.3f} / {silent:.3f}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the evaluation; returns 0."""
    parser = argparse.ArgumentParser(prog="evaluation.retrieval", description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder of the labelled data")
    parser.add_argument("--embedder", default="local", help="name of the embedder")
    parser.add_argument("--sets", nargs="*", default=(), help="only sets whose name holds one of these")
    parser.add_argument("--untuned", type=Path, help="measure the untuned sets alone; folder of copied repositories")
    options = parser.parse_args(arguments)
    found = labelled_sets(options.data) if options.untuned is None else untuned_sets(options.untuned, _print)
    sets = [each for each in found if not options.sets or _named(each, options.sets)]
    if options.untuned is None and not options.data.is_dir():
        _print(f"{options.data} is not here: only the sets made from the standard library are measured (see --data).")
    with tempfile.TemporaryDirectory(prefix="reasoningbank-evaluation-") as folder:
        vectors = Vectors(open_embedder(options.embedder, cache=Path(folder) / "models"))
        _print(f"embedder {vectors.embedder.name} ({vectors.embedder.model_id})")
        holder = Banks(Path(folder) / "banks", vectors)
        results = []
        for labelled in sets:
            _note(f"{labelled.name}: {len(labelled.documents)} documents, {len(labelled.queries)} queries")
            strangers = strange(labelled, sets, STRANGERS, random.Random(0))
            results.append(judge(labelled, holder, vectors, strangers))
        if options.untuned is None:
            report(results, _print)
        report_plain(results, _print)
        report_left_out([result.trial for result in results], _print)
        if options.untuned is not None:
            return 0
        _note("small banks")
        small = [] if options.sets else list(answers(options.data, holder, vectors))
        if small:
            report_small(small, _print)
        report_fits(
            [*(one for result in results for one in result.fits), *(one for each in small for one in of_small(each))],
            _print,
        )
        _note("what agents send")
        agent_queries.report(list(agent_queries.measure(sets, holder, vectors)), _print)
        contexts = [] if options.sets else list(agent_queries.measure_contexts(options.data, holder, vectors))
        if contexts:
            agent_queries.report_contexts(contexts, _print)
        _note("what words are worth in growing banks")
        growth.report(list(growth.measure(sets, holder, vectors)), _print)
        _note("the floor")
        report_floor(list(measure(sets, holder, vectors)), _print)
    return 0


def _named(labelled: LabelledSet, names: Sequence[str]) -> bool:
    return any(name in labelled.name for name in names)


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _note(line: str) -> None:
    sys.stderr.write(line + "\n")


if __name__ == "__main__":
    sys.exit(main())
