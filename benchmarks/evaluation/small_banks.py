"""Banks of 3 to 50 memories, every user's first week: is the right memory found, and is nothing else called a fit.

``small_banks.json`` holds questions as a developer or an agent words them, each with the memories that answer it
(``right``) and those that have to do with it (``also``). Every question was written before a ranking was looked at. The
memories of one pool are in the file; those of the others are named by file and entry in the data folder, and no text of
them is copied. A question is put to two banks of its pool, one of 3 to 10 memories and one of up to 50. One that has an
answer is put once more to a bank without it and without what has to do with it; one that has none, to another pool too,
unless the question is ``near`` that.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluation.banks import Banks, Vectors
from evaluation.measures import interval, mean
from evaluation.rankings import LIMIT, search, shipped
from evaluation.sets import Document, LabelledSet, Query, half
from reasoningbank.search.fusion import Fused

_CONDITION = re.compile(r"((?:For|When|Before|After|If) [^:,]+)[:,] ")
QUESTIONS = Path(__file__).with_name("small_banks.json")
EARLY = 3
"""The right memory is to be among so many."""
SIZES = ((3, 10), (11, 50))
"""Memories of the two banks that a question is put to, at least and at most."""
Say = Callable[[str], None]
ANSWERED, REMOVED, UNANSWERED, FOREIGN = "answered", "answer removed", "unanswered", "another pool"
KINDS = (ANSWERED, UNANSWERED, FOREIGN, REMOVED)
"""What is asked: see the module's docstring."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Triple:
    """A bank, a question, and what is right.

    Attributes:
        text: The question.
        pool: The pool of the bank.
        kind: One of :data:`KINDS`.
        half: 1: held out, was not looked at when anything was chosen.
        bank: The memories.
        right: Keys of the memories that answer the question; empty when none does.
        also: Keys of those that have to do with it.
    """

    text: str
    pool: str
    kind: str
    half: int
    bank: tuple[Document, ...]
    right: frozenset[str]
    also: frozenset[str]


def triples(data: Path, seed: int = 0) -> Iterator[Triple]:
    """Yield every triple of the pools that are here, the same ones every time."""
    written = json.loads(QUESTIONS.read_text(encoding="utf-8"))
    pools = {name: found for name, entry in written["pools"].items() if (found := _pool(data, entry))}
    for number, question in enumerate(written["questions"]):
        if question["pool"] in pools:
            yield from _of(question, pools, random.Random(seed * 100_003 + number))


def pooled(data: Path) -> Iterator[LabelledSet]:
    """Yield every pool that is here as a whole, with its questions; one without relevant memories has no answer."""
    written = json.loads(QUESTIONS.read_text(encoding="utf-8"))
    for name, entry in written["pools"].items():
        if documents := _pool(data, entry):
            asked = [each for each in written["questions"] if each["pool"] == name]
            queries = tuple(Query(text=each["text"], relevant=frozenset(each["right"])) for each in asked)
            yield LabelledSet(name=name, domain=name, documents=documents, queries=queries)


def _of(
    question: Mapping[str, Any], pools: Mapping[str, tuple[Document, ...]], chance: random.Random
) -> Iterator[Triple]:
    text, pool = question["text"], question["pool"]
    right, also = frozenset(question["right"]), frozenset(question["also"])

    def triple(kind: str, name: str, wanted: Sequence[str], size: int, without: frozenset[str]) -> Triple:
        rest = [each.key for each in pools[name] if each.key not in without and each.key not in wanted]
        keys = {*wanted, *chance.sample(rest, min(len(rest), size - len(wanted)))}
        return Triple(
            text=text,
            pool=name,
            kind=kind,
            half=half(text),
            bank=tuple(each for each in pools[name] if each.key in keys),
            right=right & keys,
            also=also & keys,
        )

    for least, most in SIZES:
        size = chance.randint(least, most)
        if right:
            yield triple(ANSWERED, pool, chance.sample(sorted(right), chance.randint(1, len(right))), size, frozenset())
        else:
            yield triple(UNANSWERED, pool, (), size, frozenset())
            others = [name for name in pools if name != pool and name not in question.get("near", ())]
            if others:
                yield triple(FOREIGN, chance.choice(others), (), size, frozenset())
    if right:
        yield triple(REMOVED, pool, (), chance.randint(SIZES[0][0], SIZES[1][1]), right | also)


def _pool(data: Path, entry: Mapping[str, Any]) -> tuple[Document, ...]:
    """Return the memories of a pool; none when its file is not here."""
    if "memories" in entry:
        return tuple(
            Document(key=each["key"], content=f"{each['title']}\n\n{each['content']}", description=each["description"])
            for each in entry["memories"]
        )
    path = data / entry["file"]
    if not path.exists():
        return ()
    read = _READERS[path.suffix]
    found = read(path.read_text(encoding="utf-8"))
    return tuple(
        Document(key=str(number), content=found[number].content, description=found[number].description)
        for number in entry["entries"]
    )


def _lines(text: str) -> Mapping[int, Document]:
    """Return the lines of a playbook by number, without the mark before each.

    What a line says of when it applies ("For tasks of this kind: ...") is the description, as in a recorded memory.
    """
    return {number: _line(number, line) for number, line in enumerate(text.splitlines(), start=1)}


def _line(number: int, line: str) -> Document:
    content = line.partition("] ")[2] or line
    condition = _CONDITION.match(content)
    return Document(key=str(number), content=content, description=condition.group(1) if condition else "")


def _values(text: str) -> Mapping[int, Document]:
    """Return the values of a JSON object by place."""
    return {number: Document(key=str(number), content=value) for number, value in enumerate(json.loads(text).values())}


def _rows(text: str) -> Mapping[int, Document]:
    """Return memories, one a line, by place."""
    rows = [json.loads(line) for line in text.splitlines() if line.strip()]
    return {
        number: Document(key=str(number), content=row["content"], description=row["when_to_use"])
        for number, row in enumerate(rows)
    }


_READERS: Mapping[str, Callable[[str], Mapping[int, Document]]] = {
    ".txt": _lines,
    ".json": _values,
    ".jsonl": _rows,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a search in a small bank shows.

    Attributes:
        triple: What was asked.
        hits: What is shown, best first.
    """

    triple: Triple
    hits: tuple[Fused, ...]

    @property
    def early(self) -> bool:
        """Whether a right memory is among the first three."""
        return any(hit.id in self.triple.right for hit in self.hits[:EARLY])

    @property
    def first(self) -> bool:
        """Whether the first memory is right."""
        return any(hit.id in self.triple.right for hit in self.hits[:1])

    @property
    def wrongly_strong(self) -> bool:
        """Whether a memory that has nothing to do with the question is called a strong fit."""
        return any(hit.fit == "strong" and not self.related(hit) for hit in self.hits)

    def related(self, hit: Fused) -> bool:
        """Whether a memory has to do with the question."""
        return hit.id in self.triple.right | self.triple.also


def answers(data: Path, banks: Banks, vectors: Vectors) -> Iterator[Answer]:
    """Put every question to its banks."""
    asked = list(triples(data))
    known = vectors.queries([triple.text for triple in asked])
    for triple in asked:
        with banks.holding(triple.bank) as store:
            found = search(store, triple.text, known[triple.text])
            yield Answer(triple=triple, hits=shipped(found, vectors.embedder.model_id)[:LIMIT])


def report_small(answered: Sequence[Answer], say: Say) -> None:
    """Print what is found in small banks, by half, kind of question, size and pool, with intervals over questions."""
    say(f"\nBanks of 3 to 50 memories: {len(answered)} triples; 95 % intervals by resampling questions")
    for which, name in ((1, "held out"), (0, "looked at")):
        mine = [each for each in answered if each.triple.half == which]
        columns = ("first", f"first {EARLY}", "silent", "wrongly strong")
        say(f"{name:34}{'triples':>8}  " + "  ".join(f"{column:^20}" for column in columns) + "  shown")
        groups: dict[str, list[Answer]] = {}
        for each in mine:
            triple = each.triple
            size = "up to 10" if len(triple.bank) <= SIZES[0][1] else "more"
            for group in (triple.kind, f"{triple.kind}, {size}", f"{triple.kind}, {triple.pool}"):
                groups.setdefault(group, []).append(each)
        for group in sorted(groups, key=lambda each: (KINDS.index(each.partition(", ")[0]), each)):
            say(f"{group:34}{_row(groups[group])}")


def _row(mine: Sequence[Answer]) -> str:
    right = mine[0].triple.kind == ANSWERED
    cells = [
        _share(mine, lambda each: each.first) if right else "-",
        _share(mine, lambda each: each.early) if right else "-",
        _share(mine, lambda each: not each.hits),
        _share(mine, lambda each: each.wrongly_strong),
    ]
    shown = mean([len(each.hits) for each in mine])
    return f"{len(mine):8}  " + "  ".join(f"{cell:^20}" for cell in cells) + f"  {shown:.1f}"


def _share(mine: Sequence[Answer], holds: Callable[[Answer], bool]) -> str:
    """Return the share of answers, with the interval over questions: the banks of one question are alike."""
    by_question: dict[str, list[float]] = {}
    for each in mine:
        by_question.setdefault(each.triple.text, []).append(float(holds(each)))
    low, high = interval([mean(values) for values in by_question.values()])
    return f"{mean([float(holds(each)) for each in mine]):.3f} [{low:.3f} {high:.3f}]"
