"""How good recipes are: what is made of real sessions without a model, and what a reader thought of it.

``python -m evaluation.recipes`` counts the recipes of every set and, where ``recipes_labels.json`` has a grade, how
many are right and useful. ``--print`` shows each with its session, to be read by hand. ``--also FOLDER`` adds recorded
runs that are not in the data folder: the labels grade runs of mini-swe-agent and SWE-agent on SWE-bench that their
users have published. A label is the id of a recipe with a grade; nothing of a session is in it. The id names the
folder, the file and the recipe's key, so a label holds as long as the recipe does.

A folder of recorded runs may say itself what ought to be found: ``labels.json`` in it names under ``sessions`` for each
file a list of what a careful engineer would keep, written before the product ran: ``kind``, two patterns, ``error``
for the title or the failing line and ``change`` for what follows, and ``optional`` where either is right. A list may be
empty. Then precision is the share of written recipes that were expected, and recall the share of those that were
expected, and not optional, that were written. Facts need two sessions and are left out.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluation.learning_estimates import share
from evaluation.learning_tables import Cell, Table, text_of
from reasoningbank.errors import BankError
from reasoningbank.sessions.readers import Skipped, read
from reasoningbank.sessions.recipes import Recipe, recipes_of

EXPECTED = "labels.json"
"""The file of a folder that says what ought to be found in its sessions."""
LABELS = Path(__file__).with_name("recipes_labels.json")
SETS = ("claude_code", "swe_agent", "who_and_when", "tau_bench_airline")
"""Sets of the data folder whose files hold steps; reflexion_alfworld holds reflections and no steps."""
_TITLE = "Recipes: what real sessions show by themselves, and how much of it a reader found right and useful"
_NOTES = (
    "graded = read by hand; right and useful = what it says happened in the session, its change took the error away as",
    "far as the session shows, and it would help whoever meets the error again. The intervals are Wilson's. Recipes of",
    "several runs of one task are alike, so those intervals are too narrow: distinct counts each signature once, which",
    "is right when all of its graded recipes are. Precision and recall are of folders that say what ought to be found.",
)


@dataclass(frozen=True, slots=True)
class Found:
    """A recipe with where it comes from."""

    group: str
    file: str
    recipe: Recipe

    @property
    def id(self) -> str:
        """What a label names it by."""
        words = f"{self.group}\n{self.file}\n{self.recipe.key}"
        return hashlib.blake2b(words.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


@dataclass(frozen=True, slots=True)
class Expected:
    """A recipe that a careful engineer would keep.

    Attributes:
        kind: ``fix`` or ``dead-end``.
        error: A pattern of the title or the failing line.
        change: A pattern of what comes after it.
        optional: Whether it may as well be left out.
    """

    kind: str
    error: str
    change: str
    optional: bool = False

    def fits(self, recipe: Recipe) -> bool:
        """Whether the recipe is this one."""
        failing, _, rest = recipe.content.partition("\n")
        named = re.search(self.error, f"{recipe.title}\n{failing}") is not None
        return self.kind == recipe.kind and named and re.search(self.change, rest) is not None


def expected_in(folder: Path) -> dict[str, list[Expected]]:
    """What ought to be found in each session of a folder; nothing where it does not say so."""
    path = folder / EXPECTED
    if not path.is_file():
        return {}
    sessions = json.loads(path.read_text(encoding="utf-8"))["sessions"]
    return {name: [Expected(**each) for each in wanted if each["kind"] != "fact"] for name, wanted in sessions.items()}


def expected_of(found: Mapping[str, Sequence[Found]], expected: Mapping[str, Sequence[Expected]]) -> dict[str, Cell]:
    """Precision and recall of the sessions whose folder says what ought to be found."""
    written = right = wanted = met = 0
    for name, wishes in expected.items():
        left = [*wishes]
        for each in found.get(name, ()):
            written += 1
            match = next((wish for wish in left if wish.fits(each.recipe)), None)
            if match is not None:
                right += 1
                left.remove(match)
        wanted += sum(not wish.optional for wish in wishes)
        met += sum(not wish.optional for wish in wishes) - sum(not wish.optional for wish in left)
    return {"precision": share(right, written), "recall": share(met, wanted)}


def found_in(folder: Path) -> Iterator[tuple[Path, list[Found]]]:
    """Yield each session of a folder with its recipes; a file that holds none is passed over."""
    files = (path for path in folder.iterdir() if path.is_file() and path.name != EXPECTED)
    for path in sorted(files) if folder.is_dir() else ():
        try:
            for trajectory in read(path):
                if not isinstance(trajectory, Skipped):
                    yield path, [Found(folder.name, path.name, recipe) for recipe in recipes_of(trajectory)]
        except BankError:
            continue


def row_of(name: str, sessions: Sequence[Sequence[Found]], labels: Mapping[str, int]) -> dict[str, Cell]:
    """The row of one set."""
    recipes = [found for session in sessions for found in session]
    graded = [(found, labels[found.id] == 1) for found in recipes if found.id in labels]
    by_key: dict[str, bool] = {}
    for found, right in graded:
        by_key[found.recipe.key] = by_key.get(found.recipe.key, True) and right
    return {
        "set": name,
        "sessions": len(sessions),
        "with a recipe": sum(bool(session) for session in sessions),
        "fixes": sum(found.recipe.kind == "fix" for found in recipes),
        "dead ends": sum(found.recipe.kind == "dead-end" for found in recipes),
        "signatures": len({found.recipe.key for found in recipes}),
        "right and useful of graded": share(sum(right for _, right in graded), len(graded)),
        "distinct": share(sum(by_key.values()), len(by_key)),
    }


def table_of(folders: Sequence[Path], labels: Mapping[str, int], *, printing: bool) -> Table:
    """The table of all sets, and all of them together."""
    rows: list[dict[str, Cell]] = []
    everything: list[list[Found]] = []
    for folder in folders:
        sessions = []
        by_file: dict[str, list[Found]] = {}
        for path, found in found_in(folder):
            sessions.append(found)
            by_file.setdefault(path.name, []).extend(found)
            for each in found if printing else ():
                shown = each.recipe
                print(f"== {each.id} {folder.name}/{path.name} steps {shown.steps} label {labels.get(each.id, '-')}")
                print(f"{shown.kind}: {shown.title}\n{shown.description}\n{shown.content}\n")
        rows.append(row_of(folder.name, sessions, labels) | expected_of(by_file, expected_in(folder)))
        everything += sessions
    rows.append(row_of("all", everything, labels) | expected_of({}, {}))
    return Table(name="recipes", title=_TITLE, rows=tuple(rows), notes=_NOTES)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the evaluation; returns 0."""
    parser = argparse.ArgumentParser(prog="evaluation.recipes", description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder of the data")
    parser.add_argument("--also", type=Path, nargs="*", default=[], help="further folders of recorded runs")
    parser.add_argument("--print", action="store_true", dest="printing", help="show every recipe with its session")
    options = parser.parse_args(arguments)
    if not options.data.is_dir() and not options.also:
        print(f"{options.data} is not here: nothing was measured (see --data).")
        return 0
    labels = json.loads(LABELS.read_text(encoding="utf-8"))["labels"] if LABELS.is_file() else {}
    folders = [*(options.data / name for name in SETS), *options.also]
    print(text_of(table_of([folder for folder in folders if folder.is_dir()], labels, printing=options.printing)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
