"""What words are worth in one bank, learned from its own memories."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy
import pytest
from numpy.typing import NDArray

from promises import promise
from reasoningbank.errors import ModelMismatch
from reasoningbank.memories.admission import index
from reasoningbank.search.recall import Question, recall
from reasoningbank.search.word_weights import LEAST_PROBED, MARKS, WEIGHTS, Scratch, deriving, due, learn, refresh
from reasoningbank.storage import open_storage
from reasoningbank.storage.store import Store
from reasoningbank.testing import HashingEmbedder
from reasoningbank.types.memory import Memory
from reasoningbank.types.ports import Embedder
from reasoningbank.types.recall import Filter
from reasoningbank.types.records import WordsWorth
from reasoningbank.types.scope import Scope

COUNT = 40


class Told:
    """Knows which memory a sentence of :func:`misleading` is about, which its words do not say."""

    name = "told"
    model_id = "told-minilm/64"
    dimension = 64

    def embed_queries(self, texts: Sequence[str]) -> NDArray[numpy.float32]:
        """Unit vectors: 0.2 between different memories, 1 for the same."""
        rows = numpy.full((len(texts), self.dimension), 0.0, dtype=numpy.float32)
        rows[:, 0] = 0.2**0.5
        for row, text in zip(rows, texts, strict=True):
            number, letter = re.findall(r"w(\d+)q([ac])", text)[0]
            row[1 + (int(number) + (letter == "c")) % COUNT] = 0.8**0.5
        return rows

    def embed_documents(self, texts: Sequence[str]) -> NDArray[numpy.float32]:
        """The same as for queries."""
        return self.embed_queries(texts)


def misleading() -> list[Memory]:
    """Memories whose one sentence has the words of the next memory's other sentence."""
    contents = [
        f"w{n}qa w{n}qb w{n}qc. w{before}qc w{before}qb w{before}qa."
        for n, before in ((n, (n - 1) % COUNT) for n in range(COUNT))
    ]
    return [
        Memory(id=f"m{n}", project="p", title=f"t{n}", content=text, outcome="success")
        for n, text in enumerate(contents)
    ]


def telling(count: int = COUNT) -> list[Memory]:
    """Memories whose description shares words with their own content alone."""
    return [
        Memory(
            id=f"m{n}",
            project="p",
            title=f"t{n}",
            description=f"when qa{n} meets qb{n} at noon",
            content=f"first turn qa{n} off, then see that qb{n} is dry",
            outcome="success",
        )
        for n in range(count)
    ]


@contextmanager
def bank(home: Path, memories: Sequence[Memory], embedder: Embedder) -> Iterator[tuple[Store, Scratch]]:
    """A bank with these memories, and a source of empty ones."""
    storage, numbers = open_storage(None, home=home), itertools.count()

    @contextmanager
    def scratch() -> Iterator[Store]:
        empty = storage.open(Scope(tenant="t", project=f"scratch {next(numbers)}"))
        try:
            yield empty
        finally:
            empty.close()

    store = storage.open(Scope(tenant="t", project="p"))
    try:
        with store.transaction() as transaction:
            for memory, indexed in zip(memories, index(memories, embedder), strict=True):
                transaction.memories.insert(memory, indexed)
        yield store, scratch
    finally:
        store.close()


@promise("fusion:words-worth")
def test_words_that_mislead_among_the_banks_own_memories_are_worth_less(tmp_path: Path) -> None:
    embedder = Told()
    with bank(tmp_path, misleading(), embedder) as (store, scratch):
        derive = deriving(store, embedder)
        factor = learn(store, ask=embedder.embed_queries, derive=derive, scratch=scratch)
        assert factor in WEIGHTS
        assert factor < 1.0
        assert learn(store, ask=embedder.embed_queries, derive=derive, scratch=scratch) == factor


@promise("fusion:words-worth")
def test_without_evidence_words_stay_what_they_are(tmp_path: Path) -> None:
    embedder = HashingEmbedder(dimension=64)
    for number, memories in enumerate((telling(), telling(LEAST_PROBED - 1), misleading()[:3], [])):
        with bank(tmp_path / str(number), memories, embedder) as (store, scratch):
            derive = deriving(store, embedder)
            assert learn(store, ask=embedder.embed_queries, derive=derive, scratch=scratch) == 1.0


@promise("fusion:words-worth")
def test_a_search_heeds_what_the_bank_has_learned_with_its_model(tmp_path: Path) -> None:
    embedder = Told()
    with bank(tmp_path, misleading(), embedder) as (store, scratch):
        question = Question(text="w7qa w7qb w7qc", condition=Filter(), limit=1, min_confidence=0.0, unproven=0)

        def first() -> str:
            return recall(store, embedder, question, random.Random(1))[0][0].memory.id

        with store.transaction() as transaction:
            transaction.memories.update(
                replace(store.memories.get("m7"), content="nothing of it"),
                replace(index([store.memories.get("m7")], embedder)[0], text="nothing of it"),
            )
        assert first() == "m8"
        assert due(store)
        worth = refresh(store, embedder, scratch)
        assert store.words_worth == worth
        assert worth.factor < 1.0
        assert first() == "m7"
        with store.transaction() as transaction:
            transaction.set_words_worth(replace(worth, model_id="another"))
        assert first() == "m8"


@promise("fusion:words-worth")
def test_a_bank_learns_again_when_it_has_grown_by_half_or_has_other_vectors(tmp_path: Path) -> None:
    embedder = HashingEmbedder(dimension=64)
    with bank(tmp_path, telling(45), embedder) as (store, scratch):
        assert due(store)
        refresh(store, embedder, scratch)
        for known, expected in (
            (WordsWorth(model_id=embedder.model_id, memories=45), False),
            (WordsWorth(model_id=embedder.model_id, memories=31), False),
            (WordsWorth(model_id=embedder.model_id, memories=30), True),
            (WordsWorth(model_id="another", memories=45), True),
        ):
            with store.transaction() as transaction:
                transaction.set_words_worth(known)
            assert due(store) is expected
        with pytest.raises(ModelMismatch):
            refresh(store, HashingEmbedder(dimension=32), scratch)
    with bank(tmp_path / "small", telling(LEAST_PROBED - 1), embedder) as (store, _):
        assert not due(store)


@promise("fusion:words-worth")
@pytest.mark.parametrize("mark", MARKS)
def test_a_bank_learns_again_when_it_has_passed_a_mark(mark: int, tmp_path: Path) -> None:
    embedder = HashingEmbedder(dimension=8)
    for held, expected in ((mark, True), (mark - 1, False)):
        with bank(tmp_path / str(held), telling(held), embedder) as (store, _):
            with store.transaction() as transaction:
                transaction.set_words_worth(WordsWorth(model_id=embedder.model_id, memories=mark - 2))
            assert due(store) is expected


@promise("fusion:words-worth")
def test_only_what_was_cut_is_embedded_again(tmp_path: Path) -> None:
    embedder = HashingEmbedder(dimension=64)
    memories = telling(4)
    with bank(tmp_path, memories, embedder) as (store, _):
        cut = [memories[0], replace(memories[1], description=""), memories[2]]
        derived, expected = deriving(store, embedder)(cut), index(cut, embedder)
        for one, other in zip(derived, expected, strict=True):
            assert (one.text, one.model_id, set(one.vectors)) == (other.text, other.model_id, set(other.vectors))
            assert all(numpy.allclose(one.vectors[leg], other.vectors[leg], atol=1e-6) for leg in one.vectors)
