"""What the validator keeps of recorded memory items, against grades given by hand before its rules were written.

``python -m evaluation.worth`` reads the items from the data folder by their ids; the grades are in
``worth_labels.json``. The rules were tuned on one half of the items, chosen by hash, and are reported on the other too;
who wrote them had read both halves to grade them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluation.learning_estimates import share
from evaluation.learning_tables import Cell, Table, absent, text_of
from reasoningbank.sessions import validation
from reasoningbank.types.session import Item, Step, Trajectory

LABELS = Path(__file__).with_name("worth_labels.json")
_TITLE = "Worth: what the validator keeps of recorded items; useful is what a person kept"
_BULLET = re.compile(r"\[(?P<id>[a-z]+-\d+)\] (?P<text>.+)")
_LEADING = re.compile(r"(?P<when>(?:For|When|Before|After|If|Avoid)[^:,]{8,160})[:,] (?P<what>.*)")
_SESSION = Trajectory(task="The task that it came from is not recorded.", steps=(Step(action="work"),))
NEW = frozenset({"retold", "no_action"})
"""The reasons that were added after grading; without them is the validator of before."""


@dataclass(frozen=True, slots=True)
class Graded:
    """One item and its grade: useful, useless or wrong."""

    key: str
    item: Item
    grade: str

    @property
    def tuned(self) -> bool:
        """Whether the rules were tuned with it."""
        return hashlib.blake2b(self.key.encode(), digest_size=2).digest()[0] % 2 == 0


def graded(data: Path) -> Iterator[Graded]:
    """The graded items that are in the data folder."""
    labels: Mapping[str, Mapping[str, str]] = json.loads(LABELS.read_text(encoding="utf-8"))["items"]
    for source, grades in labels.items():
        for key, item in _items(data, source):
            if key in grades:
                yield Graded(key, item, grades[key])


def _items(data: Path, source: str) -> Iterator[tuple[str, Item]]:
    if source == "ace_playbooks":
        for path in sorted((data / source).glob("*.txt")):
            for found in _BULLET.finditer(path.read_text(encoding="utf-8")):
                led = _LEADING.match(found["text"])
                when, what = (led["when"], led["what"]) if led else ("", found["text"])
                yield found["id"], Item(title="Bullet", description=when, content=what, outcome="success", steps=(0,))
        return
    path = data / f"{source}.jsonl"
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
        row = json.loads(line)
        item = Item(title="Item", description=row["when_to_use"], content=row["content"], outcome="success", steps=(0,))
        yield row["memory_id"], item


def row(name: str, found: Sequence[Graded], kept: Sequence[bool]) -> dict[str, Cell]:
    """Precision and recall of what was kept, with Wilson intervals."""
    useful = [each.grade == "useful" for each in found]
    hits = sum(keep and good for keep, good in zip(kept, useful, strict=True))
    wrong = [keep for keep, each in zip(kept, found, strict=True) if each.grade == "wrong"]
    return {
        "validator": name,
        "items": len(found),
        "kept": share(sum(kept), len(kept)),
        "precision": share(hits, sum(kept)),
        "recall": share(hits, sum(useful)),
        "wrong ones kept": share(sum(wrong), len(wrong)),
    }


def worth(data: Path) -> Table:
    """The table before and after, on all items and on those that no rule was tuned with."""
    found = [*graded(data)]
    if not found:
        return absent("worth", _TITLE, "reme", "ace_playbooks")
    reasons = [_reason(each.item) for each in found]
    rows = []
    for part, chosen in (("all", [True] * len(found)), ("not tuned with", [not each.tuned for each in found])):
        some = [each for each, yes in zip(found, chosen, strict=True) if yes]
        why = [reason for reason, yes in zip(reasons, chosen, strict=True) if yes]
        rows.append(row(f"before, {part}", some, [reason in NEW or not reason for reason in why]))
        rows.append(row(f"after, {part}", some, [not reason for reason in why]))
    notes = ("One person graded. Items without a trigger of their own are cut at their first colon or comma.",)
    return Table(name="worth", title=_TITLE, rows=tuple(rows), notes=notes)


def _reason(item: Item) -> str:
    _, refused = validation.examine([item], _SESSION, "success", model="recorded")
    return refused[0].reason if refused else ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the table; returns 0."""
    parser = argparse.ArgumentParser(prog="evaluation.worth", description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder of the data")
    sys.stdout.write(text_of(worth(parser.parse_args(arguments).data)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
