"""What agents send: questions with instructions, traces, files or a chat around them, in other languages, in few words.

Every question is asked as it is and wrapped, of the same bank, through the code that a search runs: the text is taken
apart, the bank says which passage is asked, and the passage is searched for. Half of the first wrappings was held out
while the rule was chosen; see ``agent_wrappings.py``. Unrelated questions are wrapped too: they have to find nothing.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy
from numpy.typing import NDArray

from evaluation.agent_contexts import FORMS, LENGTHS, Form
from evaluation.agent_translations import REWORDED, Reworded, key
from evaluation.agent_wrappings import WRAPPINGS
from evaluation.banks import Banks, Vectors
from evaluation.floor import strange
from evaluation.measures import interval, mean, recall
from evaluation.rankings import ours, search
from evaluation.sets import LabelledSet, Query, half, sample
from evaluation.small_banks import pooled
from reasoningbank.search.fusion import FLOOR
from reasoningbank.search.query import checked_question
from reasoningbank.search.recall import heard
from reasoningbank.storage.store import Store

QUESTIONS, STRANGERS = 12, 8
"""Questions of a set that are wrapped, and unrelated ones."""
CONTEXT_QUESTIONS, CONTEXT_STRANGERS = 4, 2
"""The same of each pool of the small banks, for every form of context at every length."""
BARE = "bare"
LANGUAGES: Mapping[str, Callable[[Reworded], str]] = {
    "German": lambda words: words.german,
    "French": lambda words: words.french,
    "Chinese": lambda words: words.chinese,
    "three words": lambda words: words.short,
}

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One question, asked in one way.

    Attributes:
        bank: The set.
        way: How it was asked.
        hit: Whether what is found first is relevant; of an unrelated question whether nothing is found.
        recall: The share of the relevant among the first ten.
        related: Whether the bank has an answer.
    """

    bank: str
    way: str
    hit: float
    recall: float = 0.0
    related: bool = True


class _Cached:
    """Embeds questions once; the embedder of the evaluation as the product sees it."""

    dimension = 384

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors
        self.name = vectors.embedder.name
        self.model_id = vectors.embedder.model_id

    def embed_queries(self, texts: Sequence[str]) -> NDArray[numpy.float32]:
        known = self._vectors.queries(texts)
        return numpy.array([known[text] for text in texts], dtype=numpy.float32)

    def embed_documents(self, texts: Sequence[str]) -> NDArray[numpy.float32]:
        known = self._vectors.documents(texts)
        return numpy.array([known[text] for text in texts], dtype=numpy.float32)


def found(store: Store, vectors: Vectors, text: str, itself: str = "") -> list[str]:
    """Return what an agent sees who sends this text."""
    embedder = _Cached(vectors)
    question = heard(store, embedder, checked_question(text))
    vector = embedder.embed_queries([question.text])[0]
    return ours(search(store, question.text, vector, itself), embedder.model_id, FLOOR)


def measure(sets: Sequence[LabelledSet], banks: Banks, vectors: Vectors, seed: int = 5) -> Iterator[Asked]:
    """Ask questions of every set as they are and in every other way."""
    chance = random.Random(seed)
    for labelled in sets:
        strangers = strange(labelled, sets, 2 * STRANGERS, chance)[:STRANGERS]
        with banks.holding(labelled.documents) as store:
            for query in sample(labelled.queries, QUESTIONS):
                yield _asked(store, vectors, labelled, query, query.text, BARE)
                for each in WRAPPINGS:
                    yield _asked(store, vectors, labelled, query, each.around(query.text), each.name)
            for stranger in strangers:
                for name, text in [(BARE, stranger), *((each.name, each.around(stranger)) for each in WRAPPINGS)]:
                    silent = not found(store, vectors, text)
                    yield Asked(bank=labelled.name, way=name, hit=float(silent), related=False)
            known = REWORDED.get(labelled.name, {})
            for query in labelled.queries:
                words = known.get(key(query.text))
                if words is not None:
                    yield _asked(store, vectors, labelled, query, query.text, "English")
                    for name, of in LANGUAGES.items():
                        yield _asked(store, vectors, labelled, query, of(words), name)


def measure_contexts(data: Path, banks: Banks, vectors: Vectors, which: int = 1) -> Iterator[Asked]:
    """Ask questions of the small banks' pools as they are and in every form at every length, and unrelated ones.

    Only the half of the questions is asked that the rule was not fitted on.
    """
    for pool in pooled(data):
        related = [each for each in pool.queries if each.relevant and half(each.text) == which][:CONTEXT_QUESTIONS]
        others = [each for each in pool.queries if not each.relevant and half(each.text) == which][:CONTEXT_STRANGERS]
        with banks.holding(pool.documents) as store:
            for query in (*related, *others):
                ways = [(BARE, query.text)]
                ways += [
                    (context_name(form, words), form.around(query.text, words)) for form in FORMS for words in LENGTHS
                ]
                for way, text in ways:
                    if query.relevant:
                        yield _asked(store, vectors, pool, query, text, way)
                    else:
                        silent = not found(store, vectors, text)
                        yield Asked(bank=pool.name, way=way, hit=float(silent), related=False)


def context_name(form: Form, words: int) -> str:
    """Return how a form at a length is called."""
    return f"{form.place}: {form.name}, {words:,} words"


def report_contexts(outcomes: Sequence[Asked], say: Say) -> None:
    """Print what is found of questions with every form of context beside the bare ones."""
    ways: dict[str, list[Asked]] = defaultdict(list)
    for each in outcomes:
        ways[each.way].append(each)
    bare = [each for each in ways[BARE] if each.related]
    say(f"\nForms of context: {len(bare)} questions; * was held out while the constants were chosen")
    say(f"{'':38}{'hit@1':>7}{'- bare':>24}  {'recall@10':>9}{'- bare':>24}  unrelated that find nothing")
    say(f"  {BARE:36}{_row(bare, bare)}  {_silent(ways[BARE])}")
    groups = {
        f"{'*' if held else ' '} {place}, {words:,} words": [
            context_name(form, words) for form in FORMS if (form.place, form.held_out) == (place, held)
        ]
        for held in (True, False)
        for place in ("before", "behind", "around")
        for words in LENGTHS
    }
    groups |= {
        f"{'*' if form.held_out else ' '} {form.place}: {form.name}": [context_name(form, words) for words in LENGTHS]
        for form in FORMS
    }
    for name, members in groups.items():
        rows = [each for way in members for each in ways[way]]
        related = [each for each in rows if each.related]
        say(f"{name:38}{_row(related, bare * len(members))}  {_silent(rows)}")


def _asked(store: Store, vectors: Vectors, labelled: LabelledSet, query: Query, text: str, way: str) -> Asked:
    ranking = found(store, vectors, text, query.itself)
    return Asked(
        bank=labelled.name,
        way=way,
        hit=float(bool(ranking) and ranking[0] in query.relevant),
        recall=recall(ranking, query.relevant),
    )


def report(outcomes: Sequence[Asked], say: Say) -> None:
    """Print what is found of wrapped questions beside the bare ones, and of reworded ones beside the English ones."""
    ways: dict[str, list[Asked]] = defaultdict(list)
    for each in outcomes:
        ways[each.way].append(each)
    bare = [each for each in ways[BARE] if each.related]
    say(f"\nWhat agents send: {len(bare)} questions, bare and wrapped; * was held out while the rule was chosen")
    say(f"{'':38}{'hit@1':>7}{'- bare':>24}  {'recall@10':>9}{'- bare':>24}  unrelated that find nothing")
    for name in (BARE, *(each.name for each in WRAPPINGS)):
        mark = "*" if any(each.name == name and each.held_out for each in WRAPPINGS) else " "
        say(f"{mark} {name:36}{_row([each for each in ways[name] if each.related], bare)}  {_silent(ways[name])}")
    say("\nThe same by set, all wrappings together")
    for bank in dict.fromkeys(each.bank for each in bare):
        own = [each for each in bare if each.bank == bank]
        wrapped = [[each for each in ways[w.name] if each.related and each.bank == bank] for w in WRAPPINGS]
        hits = [mean([rows[place].hit for rows in wrapped]) for place in range(len(own))]
        recalls = [mean([rows[place].recall for rows in wrapped]) for place in range(len(own))]
        say(
            f"  {bank:36}hit@1 {mean([each.hit for each in own]):.3f}, wrapped {mean(hits):.3f};"
            f" recall@10 {mean([each.recall for each in own]):.3f}, wrapped {mean(recalls):.3f}"
        )
    english = ways["English"]
    say(f"\n{len(english)} questions to English memories in other words")
    for place in ("", *dict.fromkeys(each.bank for each in english)):
        base = [each for each in english if place in {"", each.bank}]
        for name in ("English", *LANGUAGES):
            rows = [each for each in ways[name] if place in {"", each.bank}]
            say(f"  {place or 'all':24}{name:12}{_row(rows, base)}")


def _row(rows: Sequence[Asked], base: Sequence[Asked]) -> str:
    cells = []
    for of in (_hit, _recall):
        values = numpy.array([of(each) for each in rows], dtype=numpy.float64)
        gap = values - numpy.array([of(each) for each in base], dtype=numpy.float64)
        low, high = interval(gap)
        cells.append(f"{mean(values):7.3f}{f'{mean(gap):+.3f} [{low:+.3f} {high:+.3f}]':>24}")
    return "  ".join(cells)


def _hit(each: Asked) -> float:
    return each.hit


def _recall(each: Asked) -> float:
    return each.recall


def _silent(rows: Sequence[Asked]) -> str:
    values = [each.hit for each in rows if not each.related]
    low, high = interval(values)
    return f"{mean(values):.3f} [{low:.3f} {high:.3f}]"
