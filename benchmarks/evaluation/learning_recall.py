"""Recall by the task that was worked on, by the memories themselves, and by words alone.

What is found are experiences: tasks with everything that was learned from them. A ranking of memories is read as the
ranking of the experiences that they belong to.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing

from evaluation.learning_estimates import average
from evaluation.learning_experiences import TaskSet, flights, reme, webarena
from evaluation.learning_sources import AIRLINE, Setup
from evaluation.learning_tables import Cell, Table, absent
from evaluation.measures import ndcg
from evaluation.measures import recall as recalled
from evaluation.rankings import ranked
from reasoningbank.memories.admission import TASK, index
from reasoningbank.safety.stored_text import safe_line
from reasoningbank.search.fusion import FLOOR
from reasoningbank.search.recall import Question, Wanted, gather, recall
from reasoningbank.search.similar_tasks import experiences
from reasoningbank.storage import open_storage
from reasoningbank.storage.store import Store
from reasoningbank.types.memory import Memory
from reasoningbank.types.ports import Vector
from reasoningbank.types.recall import LEXICAL_LEG, Filter
from reasoningbank.types.scope import Scope

DEPTHS = (1, 2, 3)
_LIMIT, _BATCH = 40, 64
_TITLE = "Recall of experiences: by task, by memory, by words"
_NOTES = (
    "by task = search(by='experience'), by memory = search(by='memory', min_confidence=0), both with the floor;",
    "recall@k is of at most k, so at k = 1 it equals nDCG@1. Bootstrap intervals over groups of like queries.",
)


def recalling(setup: Setup) -> Iterator[Table]:
    """One table over all sets."""
    sets = [*webarena(setup), *reme(setup), *flights(setup)]
    if not sets:
        yield absent("recall", _TITLE, "webarena_intents", "reme", AIRLINE)
        return
    rows = [row for number, each in enumerate(sets) for row in measured(setup, each, number)]
    yield Table(name="recall", title=_TITLE, rows=tuple(rows), notes=(*_NOTES, *_MEANING), counted=False)


_MEANING = (
    "webarena: the lesson is only the intent again, so both see the same words; relevant = same template, itself out.",
    "reme same words: the query is the very task of the items, so by task is given the answer; rephrased: asked with",
    "the set's own generalised query, which was written together with the item and shares its words. Items of bfcl",
    "name no task and are left out.",
    "airline: lessons by template (task, tools, last answer; outcome by label); relevant = other trials of the task.",
)


def measured(setup: Setup, tasks: TaskSet, number: int = 0) -> list[dict[str, Cell]]:
    """The rows of one set: every mode, then by task less by memory."""
    rankings: dict[str, list[list[str]]] = {}
    with closing(_filled(setup, tasks, f"recall-{number}")) as store:
        owners = {one.id: one.provenance["trajectory"] for one in store.memories.page(Filter(), limit=0, offset=0)}
        texts = [safe_line(ask.text) for ask in tasks.asks]
        vectors = _embedded(setup, texts)
        for mode, find in MODES.items():
            rankings[mode] = [
                [key for key in find(setup, store, owners, text, vector) if key != ask.itself]
                for ask, text, vector in zip(tasks.asks, texts, vectors, strict=True)
            ]
    groups = [ask.group for ask in tasks.asks]
    rows: list[dict[str, Cell]] = []
    values: dict[tuple[str, str], list[float]] = {}
    for mode, found in rankings.items():
        row: dict[str, Cell] = {"set": tasks.name, "queries": len(tasks.asks), "mode": mode}
        for name, measure in (("recall", recalled), ("nDCG", ndcg)):
            for depth in DEPTHS:
                numbers = [
                    measure(ranking, ask.relevant, depth) for ranking, ask in zip(found, tasks.asks, strict=True)
                ]
                values[mode, f"{name}@{depth}"] = numbers
                row[f"{name}@{depth}"] = average(numbers, groups)
        row["finds nothing"] = sum(not ranking for ranking in found)
        rows.append(row)
    gap: dict[str, Cell] = {"set": tasks.name, "queries": len(tasks.asks), "mode": "by task - by memory"}
    for column in (column for mode, column in values if mode == "by task"):
        pairs = zip(values["by task", column], values["by memory", column], strict=True)
        gap[column] = average([first - second for first, second in pairs], groups)
    return [*rows, gap]


def _by_task(floor: float) -> Callable[[Setup, Store, Mapping[str, str], str, Vector], list[str]]:
    def find(setup: Setup, store: Store, owners: Mapping[str, str], text: str, vector: Vector) -> list[str]:
        del text
        model_id = setup.embedder.model_id
        hits = experiences(store, vector, Filter(), count=max(DEPTHS) + 1, model_id=model_id, floor=floor)
        return list(dict.fromkeys(owners[hit.id] for hit in hits))

    return find


def _by_memory(setup: Setup, store: Store, owners: Mapping[str, str], text: str, vector: Vector) -> list[str]:
    question = Question(text=text, condition=Filter(), limit=_LIMIT, min_confidence=0.0, unproven=0)
    hits, *_ = recall(store, setup.embedder, question, random.Random(1), vector=vector)
    found = (one for hit in hits for one in (hit.id, *hit.duplicates))
    return list(dict.fromkeys(owners[one] for one in found))


def _by_words(setup: Setup, store: Store, owners: Mapping[str, str], text: str, vector: Vector) -> list[str]:
    del setup
    candidates = gather(store, vector, text, [Wanted(Filter(), _LIMIT)])[0]
    scores = {hit.id: hit.score for hit in candidates.lexical.hits}
    return list(dict.fromkeys(owners[one] for one in ranked(scores)))


MODES: Mapping[str, Callable[[Setup, Store, Mapping[str, str], str, Vector], list[str]]] = {
    "by task": _by_task(FLOOR),
    "by task, no floor": _by_task(0.0),
    "by memory": _by_memory,
    LEXICAL_LEG: _by_words,
}
"""How experiences are found."""


def _filled(setup: Setup, tasks: TaskSet, project: str) -> Store:
    """A bank that holds the items of all experiences, as distilling stores them."""
    store = open_storage(None, home=setup.scratch / "recall").open(Scope(tenant="evaluation", project=project))
    memories = [
        Memory(
            project=project,
            title=item.title,
            description=item.description,
            content=item.content,
            outcome=item.outcome,
            provenance={"source": "distilled", "trajectory": each.key, TASK: each.task},
        )
        for each in tasks.experiences
        for item in each.items
    ]
    with store.transaction() as transaction:
        for start in range(0, len(memories), _BATCH):
            batch = memories[start : start + _BATCH]
            for memory, indexed in zip(batch, index(batch, setup.embedder), strict=True):
                transaction.memories.insert(memory, indexed)
    return store


def _embedded(setup: Setup, texts: Sequence[str]) -> list[Vector]:
    return [
        vector
        for start in range(0, len(texts), _BATCH)
        for vector in setup.embedder.embed_queries(texts[start : start + _BATCH])
    ]
