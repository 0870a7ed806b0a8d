"""How well sessions become lessons: judging, distilling, naming the mistake, recall by task, parsing (issue 3).

``python -m evaluation.learning`` prints tables with 95 % intervals, or the same as JSON. Nothing of a
label reaches what is measured; a part whose data is absent says so. The language model is the configured one
(``REASONINGBANK_LLM``, ``REASONINGBANK_LLM_URL``); without one the parts that need none are measured, and the tables
say what was not. With one, the run says first what it will cost, shows how far it is, and writes each answer into a
journal: started again with the same journal, it goes on where it was. Everything else is in a temporary folder.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from evaluation.journal import Journal, estimate
from evaluation.learning_blame import naming
from evaluation.learning_conventions import conventions
from evaluation.learning_distilling import distilling
from evaluation.learning_judging import judging
from evaluation.learning_parsing import parsing
from evaluation.learning_recall import recalling
from evaluation.learning_sources import Setup
from evaluation.learning_tables import Table, fields_of, text_of
from evaluation.learning_writing import writing
from reasoningbank.embedding import open_embedder
from reasoningbank.errors import BankError
from reasoningbank.llm import open_model
from reasoningbank.settings import load_settings

PARTS: Mapping[str, Callable[[Setup], Iterator[Table]]] = {
    "parsing": parsing,
    "judging": judging,
    "distilling": distilling,
    "naming": naming,
    "recall": recalling,
    "writing": writing,
    "conventions": conventions,
}
"""All parts by name, in the order they are run."""
EXPECTED: Mapping[str, tuple[int, int, int]] = {
    "judging": (1, 100, 5_500),
    "distilling": (2, 170, 7_000),
    "naming": (1, 63, 7_000),
    "writing": (1, 24, 14_000),
    "conventions": (14, 14, 300),
}
"""For each part that asks a model: calls for each session or code base, how many there are, and tokens of one call."""


def tables(setup: Setup, parts: Sequence[str] = tuple(PARTS)) -> Iterator[Table]:
    """The tables of the parts."""
    for name in parts:
        _note(f"{name} ...")
        if isinstance(setup.model, Journal):
            setup.model.begin(name)
        yield from PARTS[name](setup)
        if isinstance(setup.model, Journal) and name in EXPECTED:
            setup.model.finish()


_BROKEN_OFF = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the evaluation; returns 0, 1 when the configured model does not answer, 130 when broken off."""
    parser = argparse.ArgumentParser(prog="evaluation.learning", description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder of the data")
    parser.add_argument("--embedder", default="local", help="name of the embedder")
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS), help="only these parts")
    parser.add_argument(
        "--sample", type=int, default=0, metavar="N", help="ask the model about N sessions of a set; 0: all"
    )
    parser.add_argument(
        "--journal",
        type=Path,
        default=Path("build/eval-learning.jsonl"),
        help="file of the model's answers; a run that was broken off goes on from it",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    options = parser.parse_args(arguments)
    settings = load_settings()
    opened = open_model(
        settings.llm,
        home=settings.home,
        url=settings.llm_url,
        key=settings.llm_key,
        timeout=settings.llm_timeout,
        daily_tokens=settings.llm_daily_tokens,
        output_tokens=settings.llm_output_tokens,
        context=settings.llm_context,
        paid_calls=settings.paid_calls,
    )
    say: Callable[[str], None] = _note if options.json else _print
    if not options.data.is_dir():
        say(f"{options.data} is not here: every part is skipped (see --data).")
    model = None
    if opened is not None:
        sample = max(0, options.sample)
        model = Journal(opened, options.journal, expected=_cost(options.parts, sample)[0], sample=sample)
        calls, tokens = _cost(options.parts, sample, model)
        known = _cost(options.parts, sample)[0] - calls
        try:
            cost = estimate(opened, calls, tokens) if calls else "nothing is left to ask"
        except BankError as error:
            _note(error.advice)
            return 1
        say(f"estimate: {cost}; {known:,} calls are answered already; answers go into {options.journal}")
    began, found = time.monotonic(), []
    with tempfile.TemporaryDirectory(prefix="reasoningbank-evaluation-") as folder:
        embedder = open_embedder(options.embedder, cache=Path(folder) / "models")
        setup = Setup(
            data=options.data,
            scratch=Path(folder),
            embedder=embedder,
            model=model,
            sample=max(0, options.sample),
            votes=settings.llm_votes,
        )
        say(f"embedder {embedder.name} ({embedder.model_id}); language model {model.name if model else 'none'}")
        try:
            for table in tables(setup, options.parts):
                found.append(table)
                say(f"\n{text_of(table)}")
        except KeyboardInterrupt:
            kept = f" Started again with {options.journal}, it goes on where it was." if model else ""
            _note(f"\nBroken off.{kept}")
            return _BROKEN_OFF
    seconds = time.monotonic() - began
    if options.json:
        head = {"embedder": embedder.name, "model": model.name if model else None, "sample": setup.sample}
        _print(
            json.dumps(
                {**head, "seconds": round(seconds, 1), "tables": [fields_of(table) for table in found]}, indent=1
            )
        )
    else:
        asked = model.calls - model.resumed if model else 0
        used = f"; {asked:,} questions asked, {model.resumed:,} answered by what the journal holds" if model else ""
        say(f"\n{seconds:.0f} s{used}")
    return 0


def _cost(parts: Sequence[str], sample: int, journal: Journal | None = None) -> tuple[int, int]:
    """About how many calls and tokens the parts take with this sample, without what the journal holds."""
    calls = tokens = 0
    for part in parts:
        each, most, size = EXPECTED.get(part, (0, 0, 0))
        count = each * (min(sample, most) if sample else most)
        count = journal.left(part, count) if journal is not None else count
        calls, tokens = calls + count, tokens + count * size
    return calls, tokens


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _note(line: str) -> None:
    sys.stderr.write(line + "\n")


if __name__ == "__main__":
    sys.exit(main())
