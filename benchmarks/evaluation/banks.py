"""Real banks for the evaluations: the embedded store, filled with documents of a set."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy
from numpy.typing import NDArray

from evaluation.sets import Document
from reasoningbank.memories.words import analyse
from reasoningbank.search.word_weights import learn
from reasoningbank.storage import open_storage
from reasoningbank.storage.store import Store
from reasoningbank.types.memory import Memory
from reasoningbank.types.ports import Embedder, Vector
from reasoningbank.types.recall import CONTENT_LEG, DESCRIPTION_LEG
from reasoningbank.types.records import Indexed
from reasoningbank.types.scope import Scope

_BATCH = 32


class Vectors:
    """Embeds every text once."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self._documents: dict[str, Vector] = {}
        self._queries: dict[str, Vector] = {}

    def documents(self, texts: Sequence[str]) -> Mapping[str, Vector]:
        """The vectors of texts to be found."""
        _complete(self._documents, texts, self.embedder.embed_documents)
        return self._documents

    def queries(self, texts: Sequence[str]) -> Mapping[str, Vector]:
        """The vectors of questions."""
        _complete(self._queries, texts, self.embedder.embed_queries)
        return self._queries


def _complete(
    known: dict[str, Vector], texts: Sequence[str], embed: Callable[[Sequence[str]], NDArray[numpy.float32]]
) -> None:
    missing = sorted({text for text in texts if text not in known}, key=lambda text: (len(text), text))
    for start in range(0, len(missing), _BATCH):
        batch = missing[start : start + _BATCH]
        known.update(zip(batch, embed(batch), strict=True))


class Banks:
    """Opens banks that hold documents, below a folder that its owner removes."""

    def __init__(self, home: Path, vectors: Vectors) -> None:
        self._storage = open_storage(None, home=home)
        self._vectors = vectors
        self._numbers = itertools.count()

    @contextmanager
    def holding(self, documents: Sequence[Document]) -> Iterator[Store]:
        """A bank with these documents: content and description as they are, their key as id."""
        with self._empty() as store:
            memories = [
                Memory(
                    id=document.key,
                    project=store.scope.project,
                    title=document.key,
                    description=document.description,
                    content=document.content,
                    outcome="success",
                )
                for document in documents
            ]
            with store.transaction() as transaction:
                for memory, indexed in zip(memories, self._derive(memories), strict=True):
                    transaction.memories.insert(memory, indexed)
            yield store

    def words_worth(self, store: Store) -> float:
        """What words are worth in the bank, learned as a bank learns it: from its documents, never from the queries."""

        def ask(texts: Sequence[str]) -> list[Vector]:
            vectors = self._vectors.queries(texts)
            return [vectors[text] for text in texts]

        return learn(store, ask=ask, derive=self._derive, scratch=self._empty)

    @contextmanager
    def _empty(self) -> Iterator[Store]:
        store = self._storage.open(Scope(tenant="evaluation", project=f"set-{next(self._numbers)}"))
        try:
            yield store
        finally:
            store.close()

    def _derive(self, memories: Sequence[Memory]) -> list[Indexed]:
        """The words and vectors of content and description; the title is only a key."""
        vectors = self._vectors.documents(
            [text for each in memories for text in (each.content, each.description) if text]
        )
        return [
            Indexed(
                text=analyse(f"{memory.description}\n{memory.content}"),
                model_id=self._vectors.embedder.model_id,
                vectors={CONTENT_LEG: vectors[memory.content]}
                | ({DESCRIPTION_LEG: vectors[memory.description]} if memory.description else {}),
            )
            for memory in memories
        ]
