"""Documents in SQLite and in a naive model, through the same random operations."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import numpy
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule, run_state_machine_as_test

from promises import promise
from reasoningbank.errors import BankError
from reasoningbank.storage.store import Store, Transaction
from reasoningbank.types.document import Document
from storage.contract.base import EVERYTHING, MODEL, START, indexed, lesson, vector
from storage.two_stores import TwoStores

LABELS = st.sampled_from(["a", "ab", "", "ü", "%", "a_"])
PATHS = st.lists(LABELS, max_size=2).map(tuple)
KEYS = st.sampled_from(["k", "K", "k/1"])
COLLECTIONS = st.sampled_from(["files", "langgraph"])
VALUES = st.sampled_from(['{"a":1}', "{}", '{"ü":"\\u0000"}', "[1]", "nonsense"])
DIRECTIONS = st.lists(st.sampled_from([-1.0, 0.0, 1.0, 2.0]), min_size=3, max_size=4).filter(any)
MODELS = st.sampled_from([MODEL, MODEL, MODEL, "another/4"])


class DocumentLockstep(TwoStores):
    """Whatever is put, deleted, looked up and compared: both stores say the same."""

    @rule(
        collection=COLLECTIONS,
        path=PATHS,
        key=KEYS,
        value=VALUES,
        directions=st.lists(DIRECTIONS, max_size=2),
        model=MODELS,
        day=st.integers(0, 9),
        interrupted=st.booleans(),
    )
    def put(
        self,
        collection: str,
        path: tuple[str, ...],
        key: str,
        value: str,
        directions: list[list[float]],
        model: str,
        day: int,
        interrupted: bool,
    ) -> None:
        document = Document(
            collection=collection,
            path=path,
            key=key,
            value=value,
            texts=tuple(f"text {number}" for number in range(len(directions))),
            created_at=START,
            updated_at=START + timedelta(days=day),
        )
        rows = [vector(*numbers) for numbers in directions]
        self.write(
            lambda transaction: transaction.documents.put_document(document, rows, model), interrupted=interrupted
        )

    @rule(collection=COLLECTIONS, path=PATHS, key=KEYS, interrupted=st.booleans())
    def delete(self, collection: str, path: tuple[str, ...], key: str, interrupted: bool) -> None:
        self.write(
            lambda transaction: transaction.documents.delete_document(collection, path, key), interrupted=interrupted
        )

    @rule(number=st.integers(0, 3))
    def remember(self, number: int) -> None:
        self.write(lambda transaction: transaction.memories.insert(lesson(f"m{number}"), indexed("word")))

    @rule()
    def forget_vectors(self) -> None:
        def emptied(transaction: Transaction) -> None:
            transaction.forget_vectors()
            for document in transaction.documents.below():
                if document.texts:
                    transaction.documents.put_document(document, [vector(0, 0, 1, 0)] * len(document.texts), MODEL)
            for number in range(4):
                if f"m{number}" in {memory.id for memory in transaction.memories.page(EVERYTHING, limit=0, offset=0)}:
                    transaction.memories.update(lesson(f"m{number}"), indexed("word"))

        self.write(emptied)

    @rule(collection=COLLECTIONS, path=PATHS, query=DIRECTIONS)
    def compare(self, collection: str, path: tuple[str, ...], query: list[float]) -> None:
        def compared(store: Store) -> object:
            found = store.documents.compared_documents(collection, path, numpy.array(query, dtype=numpy.float32))
            return [(document, None if cosine is None else round(cosine, 5)) for document, cosine in found]

        self.same(compared)

    @rule(collection=st.none() | COLLECTIONS, path=PATHS)
    def listed(self, collection: str | None, path: tuple[str, ...]) -> None:
        self.same(lambda store: list(store.documents.below(collection, path)))

    @invariant()
    def equal(self) -> None:
        self.same(lambda store: list(store.documents.below()))

    @rule()
    def checked(self) -> None:
        self.same(lambda store: store.check().problems)

    def same(self, read: Callable[[Store], object]) -> None:
        """Asks both stores, and the second handle on the file."""
        outcomes = []
        for store in (self.model.as_store, self.subject, self.watcher):
            try:
                outcomes.append(read(store))
            except BankError as error:
                outcomes.append(type(error))
        assert outcomes[0] == outcomes[1] == outcomes[2]


@promise(
    "document:lock-step",
    "SQLite and a naive model keep documents alike under random operations.",
    source="DESIGN section 5",
)
@pytest.mark.timeout(7_200)
def test_sqlite_and_the_naive_model_keep_documents_alike(torture: bool) -> None:
    chosen = settings(max_examples=400 if torture else 15, stateful_step_count=50 if torture else 20)
    run_state_machine_as_test(DocumentLockstep, settings=chosen)
