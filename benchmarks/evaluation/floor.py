"""Does the relevance floor hold: related queries keep their hits, unrelated ones find nothing."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from evaluation.banks import Banks, Vectors
from evaluation.rankings import ours, search
from evaluation.sets import Document, LabelledSet, Query
from reasoningbank.search.fusion import FLOOR

FLOORS = (0.02, 0.05, 0.1, FLOOR, 0.35, 0.5)
"""The floors of the table."""
TOP = 5
SIZES: tuple[tuple[int, int, int], ...] = ((3, 20, 1), (20, 6, 5), (200, 2, 30), (0, 1, 100))
"""Size of the bank (0: all documents), how many banks of it, queries of each."""
OVERLAPPING = (
    frozenset({"agent logs", "code"}),
    frozenset({"agent logs", "web tasks"}),
    frozenset({"airline", "web tasks"}),
)
"""Domains that talk about the same things: their queries are not called unrelated to each other's banks."""
EVERYDAY = (
    "how long to boil an egg",
    "best hiking trails in the alps",
    "sourdough starter smells like acetone",
    "symptoms of vitamin d deficiency",
    "What is the difference between mitosis and meiosis?",
    "How do I prune roses in winter so that they bloom again in June?",
    "tomato blight treatment",
    "Explain the causes of the first world war in simple terms for a twelve year old pupil",
    "guitar chord progression jazz",
    "asdf qwer zxcv",
    "blorptastic frimble",
    "Write a wedding speech for my sister who marries a marine biologist; mention our grandmother's garden.",
    "knitting pattern for baby socks",
    "why is the sky blue",
    "football offside rule",
    "capital of mongolia",
    "dog will not stop barking at the mailman",
    "chess opening sicilian defence",
)
"""Queries of our own that have to do with none of the sets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One query against one bank, at every floor of :data:`FLOORS`.

    Attributes:
        bank: Name of the set that the bank was taken from.
        size: Memories in the bank; 0 for the whole set.
        kept: Related: share of the relevant among the first five without a floor that are still there.
        silent: Unrelated: whether nothing was found.
    """

    bank: str
    size: int
    kept: tuple[float, ...] = ()
    silent: tuple[bool, ...] = ()


def measure(sets: Sequence[LabelledSet], banks: Banks, vectors: Vectors, seed: int = 0) -> Iterator[Outcome]:
    """Related and unrelated queries against banks of four sizes out of every set."""
    chance = random.Random(seed)
    for labelled in sets:
        for size, repetitions, count in SIZES:
            if size < len(labelled.documents):
                for _ in range(repetitions):
                    yield from _one(labelled, sets, size, count, banks, vectors, chance)


def _one(
    labelled: LabelledSet,
    sets: Sequence[LabelledSet],
    size: int,
    count: int,
    banks: Banks,
    vectors: Vectors,
    chance: random.Random,
) -> Iterator[Outcome]:
    questions = chance.sample(labelled.queries, min(count, len(labelled.queries)))
    strangers = strange(labelled, sets, count, chance)
    asked = vectors.queries([question.text for question in questions] + strangers)
    model = vectors.embedder.model_id
    with banks.holding(_part(labelled, questions, size, chance)) as store:
        for question in questions:
            found = search(store, question.text, asked[question.text], question.itself)
            expected = [one for one in ours(found, model, 0.0)[:TOP] if one in question.relevant]
            if expected:
                kept = tuple(len(set(expected) & set(ours(found, model, each))) / len(expected) for each in FLOORS)
                yield Outcome(bank=labelled.name, size=size, kept=kept)
        for text in strangers:
            found = search(store, text, asked[text])
            yield Outcome(bank=labelled.name, size=size, silent=tuple(not ours(found, model, each) for each in FLOORS))


def strange(labelled: LabelledSet, sets: Sequence[LabelledSet], count: int, chance: random.Random) -> list[str]:
    """Queries that have nothing to do with the set: everyday ones, and those of other domains."""
    texts = chance.sample(EVERYDAY, min(max(1, count // 3), len(EVERYDAY)))
    for other in sets:
        if other.domain != labelled.domain and frozenset({other.domain, labelled.domain}) not in OVERLAPPING:
            texts += [query.text for query in chance.sample(other.queries, min(max(1, count // 8), len(other.queries)))]
    return texts


def _part(labelled: LabelledSet, questions: Sequence[Query], size: int, chance: random.Random) -> tuple[Document, ...]:
    """A bank of the size that holds something for every question, filled up by chance."""
    if size == 0:
        return labelled.documents
    wanted: dict[str, None] = {}
    for question in questions:
        wanted.update(dict.fromkeys(chance.sample(sorted(question.relevant), min(2, len(question.relevant)))))
    keys = list(wanted)[:size]
    asked = {question.itself for question in questions}
    rest = [each.key for each in labelled.documents if each.key not in wanted and each.key not in asked]
    chosen = {*keys, *chance.sample(rest, min(len(rest), size - len(keys)))}
    return tuple(each for each in labelled.documents if each.key in chosen)
