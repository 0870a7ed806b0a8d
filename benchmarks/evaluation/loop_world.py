"""Tasks whose families each have one strategy that works, hidden from the agent, and which changes on the way."""

from __future__ import annotations

import csv
import hashlib
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from reasoningbank.errors import InvalidInput

STRATEGIES = (
    "escalate to a specialist",
    "answer from the help centre",
    "open a ticket with the card network",
    "ask for identity documents",
    "refund at once",
    "lock the account",
    "call the customer back",
    "send a replacement",
)
"""What the agent can do; the first k of them are used."""
FILES = ("train.csv", "test.csv")

Sentences = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One task of the agent's life.

    Attributes:
        text: What it is told.
        family: What it is not told: tasks of one family are solved by one strategy.
        works: That strategy, at this time.
        changed: Whether it comes after the change.
        place: The how-manyth of its family it is, from 0, before the change and after it by itself.
    """

    text: str
    family: str
    works: str
    changed: bool
    place: int


def banking(folder: Path, *, half: int | None = None) -> Sentences:
    """The sentences of banking77 by intent, each once, in the order of the files.

    Args:
        folder: The folder with its two files.
        half: Only the intents of one half, 0 or 1, as their names' hashes fall: what is tried out while building uses
            one half, what is reported the other. None for all.

    Raises:
        InvalidInput: When the files are not there.
    """
    if not all((folder / name).is_file() for name in FILES):
        raise InvalidInput(f"banking77 is not in {folder}", hint="Pass the folder of its train.csv and test.csv.")
    found: dict[str, dict[str, None]] = {}
    for name in FILES:
        with (folder / name).open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                if half in {None, _half(row["category"])}:
                    found.setdefault(row["category"], {})[row["text"].strip()] = None
    return {family: tuple(texts) for family, texts in found.items()}


def planned(
    sentences: Sentences, *, families: int, tasks: int, after: int, strategies: int, seed: int
) -> tuple[Task, ...]:
    """The tasks of one life: families, sentences, hidden strategies and the order are drawn by the seed.

    After ``tasks`` tasks every family's strategy becomes another one. No sentence comes twice.

    Args:
        sentences: By family.
        families: How many are drawn, of those with enough sentences.
        tasks: Tasks before the change, spread evenly over the families.
        after: Tasks after it.
        strategies: How many strategies there are to choose from, at least 2.
        seed: What is drawn.

    Raises:
        InvalidInput: When there are not enough families or strategies.
    """
    chance = random.Random(seed)
    each = -(-tasks // families) - (-after // families)
    enough = sorted(family for family, texts in sentences.items() if len(texts) >= each)
    if len(enough) < families:
        raise InvalidInput(f"{len(enough)} families have {each} sentences, not {families}", hint="Ask for fewer tasks.")
    if not 2 <= strategies <= len(STRATEGIES):
        raise InvalidInput(f"there are 2 to {len(STRATEGIES)} strategies, not {strategies}")
    repertoire = STRATEGIES[:strategies]
    chosen = chance.sample(enough, families)
    texts = {family: iter(chance.sample(sentences[family], len(sentences[family]))) for family in chosen}
    works = {family: chance.choice(repertoire) for family in chosen}
    life: list[Task] = []
    for changed, count in ((False, tasks), (True, after)):
        if changed:
            works = {family: chance.choice([one for one in repertoire if one != works[family]]) for family in chosen}
        order = [chosen[number % families] for number in range(count)]
        chance.shuffle(order)
        places = dict.fromkeys(chosen, 0)
        for family in order:
            life.append(
                Task(
                    text=next(texts[family]),
                    family=family,
                    works=works[family],
                    changed=changed,
                    place=places[family],
                )
            )
            places[family] += 1
    return tuple(life)


def _half(family: str) -> int:
    return hashlib.sha256(family.encode()).digest()[-1] % 2
