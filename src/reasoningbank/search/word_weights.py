"""What words are worth in one bank, learned from its own memories (docs/decisions/0004).

The fusion weighs words by the query; how much that weight is worth differs between banks, and no feature of one query
tells by how much. But a bank can try: a part of a memory is taken out of it and asked as a query, and what is left of
the memory has to be found among all others. The part is the description, or where too few memories have one a
sentence of the content, up to three per memory. It is taken out of text and vectors alike, in a scratch bank, so that
neither leg has seen it.

The answer is the largest of :data:`WEIGHTS`, so the nearest to 1, that finds the memories as well as the best one does,
within two standard errors of the difference over the memories. So nothing changes without evidence, and never are words
worth more than the fusion gives them: no bank was found where that was shown to help.

This embeds up to 900 short texts and as many memories: work for a quiet moment, never for a search.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

import numpy
from numpy.typing import NDArray

from reasoningbank.memories.admission import check_space, fill, index, lexical_text
from reasoningbank.memories.words import query_terms
from reasoningbank.search.recall import Wanted, gather, rank
from reasoningbank.storage.store import Store
from reasoningbank.types.memory import Memory
from reasoningbank.types.ports import Embedder, Vector
from reasoningbank.types.recall import DENSE_LEGS, Filter
from reasoningbank.types.records import Indexed, WordsWorth

WEIGHTS = (1.0, 0.5, 0.25, 0.125)
"""What the fusion's weight of words may be multiplied by, nearest to 1 first."""
LEAST_PROBED = 30
"""With fewer memories that can be probed a bank has no say: 1."""
MARKS = (50, 200, 1_000)
"""Having so many memories is a reason to learn again."""
MOST_PROBED = 300
MOST_MEMORIES = 5_000
"""A larger bank is represented by so many of its memories, always the same ones."""
SENTENCES = 3
"""So many sentences are asked of one memory, each by itself."""
_STANDARD_ERRORS = 2.0
_DEPTH = 10
_LEAST_TERMS = 3
_BATCH = 32
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[\u3002\uff01\uff1f])|\n+")

Derive = Callable[[Sequence[Memory]], Sequence[Indexed]]
Ask = Callable[[Sequence[str]], Sequence[Vector] | NDArray[numpy.float32]]
Scratch = Callable[[], AbstractContextManager[Store]]
_Probes = Mapping[str, tuple[str, Memory]]


def due(store: Store) -> bool:
    """Return whether it is time to learn: never yet with these vectors, or grown by half or past a mark since."""
    known, memories = store.words_worth, store.memories.count(Filter())
    if store.model_id is None or memories < LEAST_PROBED:
        return False
    passed = any(known.memories < mark <= memories for mark in MARKS)
    return known.model_id != store.model_id or passed or 2 * memories >= 3 * known.memories


def refresh(store: Store, embedder: Embedder, scratch: Scratch) -> WordsWorth:
    """Learn what words are worth in the bank and keep it there; searches heed it from then on.

    Args:
        store: The bank.
        embedder: The one that its vectors come from.
        scratch: Opens an empty bank that its owner throws away.

    Raises:
        ModelMismatch: When the bank's vectors come from another model than the embedder.
    """
    check_space(store, embedder)
    memories = store.memories.count(Filter())
    factor = learn(store, ask=embedder.embed_queries, derive=deriving(store, embedder), scratch=scratch)
    worth = WordsWorth(factor=factor, model_id=embedder.model_id, memories=memories)
    with store.transaction() as transaction:
        transaction.set_words_worth(worth)
    return worth


def learn(store: Store, *, ask: Ask, derive: Derive, scratch: Scratch) -> float:
    """Return the factor of this bank, one of :data:`WEIGHTS`; 1 as long as too little is known.

    The same memories give the same answer.

    Args:
        store: The bank; it is only read.
        ask: The vectors of queries.
        derive: What is stored with memories, of which some have lost a part (:func:`deriving`).
        scratch: Opens an empty bank that its owner throws away.
    """
    model = store.model_id
    if model is None:
        return WEIGHTS[0]
    memories = sorted(store.memories.page(Filter(), limit=0, offset=0), key=lambda memory: _hash(memory.id))[
        :MOST_MEMORIES
    ]
    values: dict[str, list[list[float]]] = defaultdict(list)
    for probes in _rounds(memories):
        bank = [probes[memory.id][1] if memory.id in probes else memory for memory in memories]
        vectors = _asked([text for text, _ in probes.values()], ask)
        with scratch() as copy:
            _fill(copy, bank, derive)
            for one, (text, _) in probes.items():
                candidates = gather(copy, vectors[text], text, [Wanted(Filter(), _DEPTH)])[0]
                orders = ([each.id for each in rank(candidates, model, 0.0, weight)] for weight in WEIGHTS)
                values[one].append([_gain(order, one) for order in orders])
    if len(values) < LEAST_PROBED:
        return WEIGHTS[0]
    return _settled(numpy.array([numpy.mean(rows, axis=0) for rows in values.values()]))


def deriving(store: Store, embedder: Embedder) -> Derive:
    """Derive as ``index`` does, but takes the vectors of memories that the store holds unchanged from it."""

    def derive(memories: Sequence[Memory]) -> Sequence[Indexed]:
        stored = store.memories.many([memory.id for memory in memories])
        changed = [memory for memory in memories if stored.get(memory.id) != memory]
        fresh = dict(zip([memory.id for memory in changed], index(changed, embedder), strict=True)) if changed else {}
        return [fresh.get(memory.id) or _stored(store, memory, embedder.model_id) for memory in memories]

    return derive


def _stored(store: Store, memory: Memory, model_id: str) -> Indexed:
    vectors = {leg: vector for leg in DENSE_LEGS if (vector := store.search.vector(leg, memory.id)) is not None}
    return Indexed(text=lexical_text(memory), model_id=model_id, vectors=vectors)


def _rounds(memories: Sequence[Memory]) -> list[_Probes]:
    """Return by memory what is asked and what is left of it: one round of descriptions, or several of sentences."""
    described = [memory for memory in memories if len(query_terms(memory.description)) >= _LEAST_TERMS]
    if len(described) >= LEAST_PROBED:
        rest = {memory.id: (memory.description, replace(memory, description="")) for memory in described[:MOST_PROBED]}
        return [rest]
    cut = [cuts for memory in memories if (cuts := _cuts(memory))][:MOST_PROBED]
    return [{each[turn][1].id: each[turn] for each in cut if turn < len(each)} for turn in range(SENTENCES)]


def _cuts(memory: Memory) -> list[tuple[str, Memory]]:
    """Return sentences of the content, chosen by hash, each with the memory that lacks it and still says something."""
    parts = [part for part in _SENTENCE.split(memory.content) if part.strip()]
    places = [place for place, part in enumerate(parts) if len(query_terms(part)) >= _LEAST_TERMS]
    cuts = []
    for place in sorted(places, key=lambda place: _hash(f"{place} {parts[place]}"))[:SENTENCES]:
        rest = "\n".join(parts[:place] + parts[place + 1 :])
        if len(query_terms(rest)) >= _LEAST_TERMS:
            cuts.append((parts[place].strip(), replace(memory, content=rest)))
    return cuts


def _asked(texts: Sequence[str], ask: Ask) -> dict[str, Vector]:
    distinct = sorted(set(texts), key=lambda text: (len(text), text))
    vectors: dict[str, Vector] = {}
    for start in range(0, len(distinct), _BATCH):
        batch = distinct[start : start + _BATCH]
        vectors |= zip(batch, ask(batch), strict=True)
    return vectors


def _fill(copy: Store, memories: Sequence[Memory], derive: Derive) -> None:
    ordered = sorted(memories, key=lambda memory: len(memory.content))
    with copy.transaction() as transaction:
        for start in range(0, len(ordered), _BATCH):
            batch = ordered[start : start + _BATCH]
            for memory, indexed in zip(batch, derive(batch), strict=True):
                fill(transaction, replace(memory, project=copy.scope.project), indexed)


def _gain(order: Sequence[str], wanted: str) -> float:
    """Return nDCG@10 of the only one that is relevant: ``1 / log2(rank + 1)``."""
    return 1 / math.log2(order.index(wanted) + 2) if wanted in order[:_DEPTH] else 0.0


def _settled(gains: NDArray[numpy.float64]) -> float:
    """Return the nearest to 1 that is as good as the best; ``gains``: a row per memory, a column per weight."""
    best = int(gains.mean(axis=0).argmax())
    for place in range(best):
        gap = gains[:, best] - gains[:, place]
        if gap.mean() <= _STANDARD_ERRORS * gap.std() / math.sqrt(len(gap)):
            return WEIGHTS[place]
    return WEIGHTS[best]


def _hash(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
