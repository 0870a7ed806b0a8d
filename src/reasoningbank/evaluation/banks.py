"""Real banks for the evaluations: the embedded store, filled with documents of a set."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy
from numpy.typing import NDArray

from reasoningbank.domain.memory import Memory
from reasoningbank.domain.recall import CONTENT_LEG, DESCRIPTION_LEG
from reasoningbank.domain.scope import Scope
from reasoningbank.engine.analysis import analyse
from reasoningbank.evaluation.sets import Document
from reasoningbank.ports import Embedder, Indexed, Store, Vector
from reasoningbank.storage import open_storage

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
        texts = [text for each in documents for text in (each.content, each.description) if text]
        vectors = self._vectors.documents(texts)
        project = f"set-{next(self._numbers)}"
        store = self._storage.open(Scope(tenant="evaluation", project=project))
        try:
            with store.transaction() as transaction:
                for document in documents:
                    legs = {CONTENT_LEG: vectors[document.content]}
                    if document.description:
                        legs[DESCRIPTION_LEG] = vectors[document.description]
                    transaction.insert(
                        Memory(
                            id=document.key,
                            project=project,
                            title=document.key,
                            description=document.description,
                            content=document.content,
                            outcome="success",
                        ),
                        Indexed(
                            text=analyse(f"{document.description}\n{document.content}"),
                            model_id=self._vectors.embedder.model_id,
                            vectors=legs,
                        ),
                    )
            yield store
        finally:
            store.close()
