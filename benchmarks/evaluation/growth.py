"""What a bank learns that words are worth in it, when it has 50, 200 and 1,000 memories, and whether that helps.

The banks are drawn from each set: what answers some of its questions, filled up by chance. A bank learns from its own
documents; the questions only measure. Sets whose documents are one sentence each give nothing to learn from.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from evaluation.banks import Banks, Vectors
from evaluation.measures import interval, mean, ndcg
from evaluation.rankings import ours, search
from evaluation.sets import Document, LabelledSet
from reasoningbank.search.fusion import FLOOR
from reasoningbank.search.word_weights import MARKS

DRAWS = 2
"""Banks of one size that are drawn from a set."""
_QUESTIONS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """One bank that has learned.

    Attributes:
        bank: The set.
        size: Its memories.
        factor: What words are worth in it.
        changes: nDCG@10 with that factor less without, of every question that it answers.
    """

    bank: str
    size: int
    factor: float
    changes: tuple[float, ...]


def measure(sets: Sequence[LabelledSet], banks: Banks, vectors: Vectors, draws: int = DRAWS) -> Iterator[Learned]:
    """Let banks of every size learn, and ask them with and without what they have learned."""
    for labelled in sets:
        for size in MARKS:
            for draw in range(draws if size < len(labelled.documents) else 0):
                yield _one(labelled, size, random.Random(f"{labelled.name} {size} {draw}"), banks, vectors)


def _one(labelled: LabelledSet, size: int, chance: random.Random, banks: Banks, vectors: Vectors) -> Learned:
    documents = _drawn(labelled, size, chance)
    held = {each.key for each in documents}
    model = vectors.embedder.model_id
    with banks.holding(documents) as store:
        factor = banks.words_worth(store)
        changes = []
        asked = [] if factor == 1.0 else [each for each in labelled.queries if each.relevant & held]
        known = vectors.queries([each.text for each in asked])
        for query in asked:
            found = search(store, query.text, known[query.text], query.itself)
            relevant = query.relevant & held
            plain, learned = ours(found, model, FLOOR), ours(found, model, FLOOR, factor)
            changes.append(ndcg(learned, relevant) - ndcg(plain, relevant))
    return Learned(bank=labelled.name, size=size, factor=factor, changes=tuple(changes))


def _drawn(labelled: LabelledSet, size: int, chance: random.Random) -> tuple[Document, ...]:
    """Return a bank that answers some questions with half of its memories at most."""
    wanted: dict[str, None] = {}
    for query in chance.sample(labelled.queries, min(len(labelled.queries), _QUESTIONS)):
        if len(wanted) < size // 2:
            wanted.update(dict.fromkeys(chance.sample(sorted(query.relevant), min(2, len(query.relevant)))))
    keys = list(wanted)[: size // 2]
    rest = [each.key for each in labelled.documents if each.key not in wanted]
    chosen = {*keys, *chance.sample(rest, min(len(rest), size - len(keys)))}
    return tuple(each for each in labelled.documents if each.key in chosen)


def report(outcomes: Sequence[Learned], say: Callable[[str], None]) -> None:
    """Print by set and size what was learned, and what it changes."""
    say("\nWhat words are worth in banks of 50, 200 and 1,000: learned factor, change of nDCG@10 (factor 1: none)")
    for each in outcomes:
        if each.factor == 1.0:
            continue
        low, high = interval(each.changes)
        say(
            f"  {each.bank:24}{each.size:6}  x {each.factor:<6g}{mean(each.changes):+.3f} [{low:+.3f} {high:+.3f}]"
            f" on {len(each.changes)} questions"
        )
    for size in MARKS:
        banks = [each for each in outcomes if each.size == size]
        changed = [each for each in banks if each.factor != 1.0]
        gains = [mean(each.changes) if each.factor != 1.0 else 0.0 for each in banks]
        say(f"  banks of {size}: {len(changed)} of {len(banks)} learned another weight; mean change {mean(gains):+.4f}")
