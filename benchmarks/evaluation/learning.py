"""How well sessions become lessons: judging, distilling, naming the mistake, recall by task, parsing (issue 3).

``python -m evaluation.learning`` prints tables with 95 % intervals, or the same as JSON. Nothing of a
label reaches what is measured; a part whose data is absent says so. The language model is the configured one
(``REASONINGBANK_LLM``, ``REASONINGBANK_LLM_URL``); without one the parts that need none are measured, and the tables
say what was not. Everything is written to a temporary folder.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from evaluation.learning_blame import naming
from evaluation.learning_distilling import distilling
from evaluation.learning_judging import judging
from evaluation.learning_parsing import parsing
from evaluation.learning_recall import recalling
from evaluation.learning_sources import Setup
from evaluation.learning_tables import Table, fields_of, text_of
from reasoningbank.embedding import open_embedder
from reasoningbank.llm import open_model
from reasoningbank.settings import load_settings
from reasoningbank.types.ports import Completion, LanguageModel, Prompt

PARTS: Mapping[str, Callable[[Setup], Iterator[Table]]] = {
    "parsing": parsing,
    "judging": judging,
    "distilling": distilling,
    "naming": naming,
    "recall": recalling,
}
"""All parts by name, in the order they are run."""


class Remembering:
    """A language model that is asked the same question at temperature 0 only once, as the parts share their sessions.

    Args:
        model: Who is asked.
    """

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self._lock = threading.Lock()
        self._known: dict[Prompt, Completion] = {}

    @property
    def name(self) -> str:
        """The name of the model that is asked."""
        return self._model.name

    def complete(self, prompt: Prompt, schema: Mapping[str, object], *, temperature: float = 0.0) -> Completion:
        """The answer, or the one that was given before to the same prompt; what the model raises is not remembered."""
        with self._lock:
            known = self._known.get(prompt) if temperature == 0.0 else None
        if known is not None:
            return known
        answer = self._model.complete(prompt, schema, temperature=temperature)
        if temperature == 0.0:
            with self._lock:
                self._known[prompt] = answer
        return answer


def tables(setup: Setup, parts: Sequence[str] = tuple(PARTS)) -> Iterator[Table]:
    """The tables of the parts."""
    for name in parts:
        _note(f"{name} ...")
        yield from PARTS[name](setup)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the evaluation; returns 0."""
    parser = argparse.ArgumentParser(prog="evaluation.learning", description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder of the data")
    parser.add_argument("--embedder", default="local", help="name of the embedder")
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS), help="only these parts")
    parser.add_argument(
        "--sample", type=int, default=0, metavar="N", help="ask the model about N sessions of a set; 0: all"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    options = parser.parse_args(arguments)
    settings = load_settings()
    model = open_model(
        settings.llm,
        home=settings.home,
        url=settings.llm_url,
        key=settings.llm_key,
        timeout=settings.llm_timeout,
        daily_tokens=settings.llm_daily_tokens,
        output_tokens=settings.llm_output_tokens,
        paid_calls=settings.paid_calls,
    )
    say: Callable[[str], None] = _note if options.json else _print
    if not options.data.is_dir():
        say(f"{options.data} is not here: every part is skipped (see --data).")
    began, found = time.monotonic(), []
    with tempfile.TemporaryDirectory(prefix="reasoningbank-evaluation-") as folder:
        embedder = open_embedder(options.embedder, cache=Path(folder) / "models")
        setup = Setup(
            data=options.data,
            scratch=Path(folder),
            embedder=embedder,
            model=None if model is None else Remembering(model),
            sample=max(0, options.sample),
            votes=settings.llm_votes,
        )
        say(f"embedder {embedder.name} ({embedder.model_id}); language model {model.name if model else 'none'}")
        for table in tables(setup, options.parts):
            found.append(table)
            say(f"\n{text_of(table)}")
    seconds = time.monotonic() - began
    if options.json:
        head = {"embedder": embedder.name, "model": model.name if model else None, "sample": setup.sample}
        _print(
            json.dumps(
                {**head, "seconds": round(seconds, 1), "tables": [fields_of(table) for table in found]}, indent=1
            )
        )
    else:
        say(f"\n{seconds:.0f} s")
    return 0


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _note(line: str) -> None:
    sys.stderr.write(line + "\n")


if __name__ == "__main__":
    sys.exit(main())
