"""Run every evaluation, one after the other, and write one page with what each printed and drew.

``python -m evaluation.all --page build/eval.html`` below ``benchmarks``. An evaluation that fails is shown as failed,
with what it said, and the others run all the same; then the exit status is 1.
"""

from __future__ import annotations

import argparse
import html
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Evaluation:
    """One evaluation.

    Attributes:
        name: Its name, as in ``make eval-NAME``.
        module: Its module.
        says: What it measures.
        arguments: What it is given; ``{folder}`` is where pictures go.
        pictures: The pictures that it draws there.
    """

    name: str
    module: str
    says: str
    arguments: tuple[str, ...] = ()
    pictures: tuple[str, ...] = ()


EVALUATIONS = (
    Evaluation("retrieval", "evaluation.retrieval", "How well search finds: all legs and fusions."),
    Evaluation("delivery", "evaluation.delivery", "Whether an unproven lesson arrives where it is needed."),
    Evaluation("learning", "evaluation.learning", "How well sessions become lessons."),
    Evaluation("credit", "evaluation.credit", "What sessions do to the memory that they were shown."),
    Evaluation("votes", "evaluation.votes", "What one client can say under many names."),
    Evaluation(
        "loop",
        "evaluation.loop",
        "An agent that learns over MCP: its curve.",
        ("--picture", "{folder}/eval-loop.svg"),
        ("eval-loop.svg",),
    ),
    Evaluation("attack", "evaluation.attacks.suite", "The poisoning suite, with the defences off and on."),
    Evaluation("consolidation", "evaluation.consolidation", "Clusters of two real sets against pairs read by hand."),
    Evaluation(
        "calibration",
        "evaluation.calibration",
        "Whether confidence is what truly helped, on simulated years with honest and with lying raters.",
        ("--pictures", "{folder}"),
        ("eval-calibration.svg", "eval-calibration-weights.svg"),
    ),
    Evaluation(
        "worth", "evaluation.worth", "What the validator keeps of recorded items, against grades given by hand."
    ),
    Evaluation("recipes", "evaluation.recipes", "Recipes of real sessions against grades given by hand."),
)
_HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>ReasoningBank: evaluations</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
pre { background: #f4f4f4; padding: 1rem; overflow-x: auto; font-size: 13px; }
svg { max-width: 30rem; height: auto; }
.failed { color: #a40000; }
@media (prefers-color-scheme: dark) { body { background: #16181b; color: #e6e6e6; } pre { background: #23262a; } }
</style></head><body><h1>ReasoningBank: evaluations</h1>
"""


def section(evaluation: Evaluation, folder: Path) -> tuple[str, bool]:
    """Return what the page says of an evaluation, and whether it went well."""
    arguments = [each.format(folder=folder) for each in evaluation.arguments]
    started = time.monotonic()
    ran = subprocess.run(
        [sys.executable, "-m", evaluation.module, *arguments],
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(HERE)},
        capture_output=True,
        text=True,
        check=False,
    )
    took = time.monotonic() - started
    said = ran.stdout if ran.returncode == 0 else f"{ran.stdout}\n{ran.stderr[-4_000:]}"
    state = "" if ran.returncode == 0 else f' <strong class="failed">failed with status {ran.returncode}</strong>'
    parts = [
        f'<h2 id="{evaluation.name}">{evaluation.name}</h2>',
        f"<p>{html.escape(evaluation.says)} It took {took:.0f} s.{state}</p>",
        f"<pre>{html.escape(said.strip())}</pre>",
    ]
    pictures = [folder / name for name in evaluation.pictures]
    parts += [each.read_text(encoding="utf-8") for each in pictures if ran.returncode == 0 and each.is_file()]
    print(f"{evaluation.name}: {'done' if not state else 'failed'} in {took:.0f} s", flush=True)
    return "\n".join(parts), not state


def main(words: Sequence[str] | None = None) -> int:
    """Run them, write the page, and return the exit status."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--page", type=Path, default=Path("build/eval.html"))
    parser.add_argument("--only", nargs="*", default=[each.name for each in EVALUATIONS], metavar="NAME")
    given = parser.parse_args(words)
    page: Path = given.page.resolve()
    page.parent.mkdir(parents=True, exist_ok=True)
    sections = [section(each, page.parent) for each in EVALUATIONS if each.name in given.only]
    links = " · ".join(f'<a href="#{each.name}">{each.name}</a>' for each in EVALUATIONS if each.name in given.only)
    page.write_text(
        "\n".join([_HEAD, f"<p>{links}</p>", *(text for text, _ in sections), "</body></html>", ""]), encoding="utf-8"
    )
    print(f"{page} written")
    return 0 if all(well for _, well in sections) else 1


if __name__ == "__main__":
    sys.exit(main())
