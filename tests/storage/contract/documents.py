"""Documents: what frameworks keep beside the memories."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from promises import promise
from reasoningbank.errors import InvalidInput, ModelMismatch
from reasoningbank.types.document import Document
from storage.contract.base import (
    EAST,
    EVERYTHING,
    MODEL,
    NORTH,
    SCOPE,
    START,
    UP,
    Conformance,
    fill,
    lesson,
    refuses,
    vector,
)


class DocumentConformance(Conformance):
    """What a store owes to the frameworks that keep documents in it."""

    @promise(
        "document:kept",
        "A document comes back from its place and from every path above it, after reopening and restoring too; "
        "collections do not see each other.",
        source="issue 4 (LangGraph); DESIGN D1",
    )
    def test_a_document_comes_back_from_its_place_and_from_above(self) -> None:
        """Collections are apart, paths are whole labels, and a replaced document keeps its turn."""
        places = [("a", ("x",), "1"), ("a", ("x", "y"), "1"), ("a", ("xy",), "1"), ("b", ("x",), "1"), ("a", (), "1")]
        storage = self.storage()
        store = storage.open(SCOPE)
        with store.transaction() as transaction:
            for collection, path, key in places:
                transaction.documents.put_document(document(collection, path, key))
            assert transaction.documents.document("a", ("x",), "1") == document("a", ("x",), "1")
        changed = document("a", ("x",), "1", value='{"changed":"ü\\u0000"}', updated_at=START + timedelta(days=1))
        with store.transaction() as transaction:
            transaction.documents.put_document(changed)
        assert store.documents.document("a", ("x",), "1") == changed
        assert store.documents.document("a", ("y",), "1") is None
        assert [each.place for each in store.documents.below()] == places
        assert [each.place for each in store.documents.below("a", ("x",))] == places[:2]
        assert [each.place for each in store.documents.below("a")] == [place for place in places if place[0] == "a"]
        assert list(store.memories.page(EVERYTHING, limit=0, offset=0)) == []
        with store.transaction() as transaction:
            assert transaction.documents.delete_document("a", ("x",), "1")
            assert not transaction.documents.delete_document("a", ("x",), "1")
            transaction.documents.put_document(changed)
        assert store.check().problems == ()
        if self.durable:
            store.close()
            store = self.reopened(storage).open(SCOPE)
        assert [each.place for each in store.documents.below("a", ("x",))] == [places[1], places[0]]
        with self.directory() as folder:
            store.backup(folder / "copy")
            with store.transaction() as transaction:
                transaction.documents.delete_document("a", ("xy",), "1")
            store.close()
            again = self.reopened(storage)
            again.restore(SCOPE, folder / "copy")
            store = again.open(SCOPE)
        assert len(store.documents.below()) == len(places)
        store.close()

    @promise(
        "document:compared",
        "Documents are compared with a query by the best cosine of their texts, in the bank's one vector space.",
        source="issue 4 (LangGraph); DESIGN D11",
    )
    def test_documents_are_compared_by_the_best_of_their_texts(self) -> None:
        """Whole texts have vectors, in the bank's one space; those without a text have no score."""
        two = document("a", ("x",), "two", texts=("east", "north"))
        one = document("a", ("x", "y"), "one", texts=("up",))
        with self.fresh() as store:
            with store.transaction() as transaction:
                transaction.documents.put_document(two, [vector(*EAST), vector(0, 5, 0, 0)], MODEL)
                transaction.documents.put_document(one, [vector(*UP)], MODEL)
                transaction.documents.put_document(document("a", ("x",), "none"))
                transaction.documents.put_document(document("b", ("x",), "other", texts=("t",)), [vector(*EAST)], MODEL)
            found = store.documents.compared_documents("a", ("x",), vector(*NORTH))
            assert [(each.key, score) for each, score in found] == [("two", 1.0), ("one", 0.0), ("none", None)]
            assert [each.key for each, _ in store.documents.compared_documents("a", ("x", "y"), vector(*UP))] == ["one"]
            with refuses(ModelMismatch):
                store.documents.compared_documents("a", (), vector(1, 0, 0))
            with refuses(ModelMismatch), store.transaction() as transaction:
                transaction.documents.put_document(one, [vector(*UP)], "another/4")
            with refuses(ModelMismatch), store.transaction() as transaction:
                transaction.documents.put_document(one, [vector(1, 0, 0)], MODEL)
            for vectors in ([], [vector(*UP), vector(*UP)]):
                with refuses(InvalidInput), store.transaction() as transaction:
                    transaction.documents.put_document(one, vectors, MODEL)
            fill(store, [lesson("m1")])
            assert store.model_id == MODEL
            with store.transaction() as transaction:
                transaction.documents.put_document(replace(two, texts=("up",)), [vector(*UP)], MODEL)
                transaction.documents.delete_document("a", ("x", "y"), "one")
            assert [score for _, score in store.documents.compared_documents("a", (), vector(*UP))] == [1.0, None]
            assert store.check().problems == ()

    @promise(
        "document:refused",
        "What cannot be kept faithfully as a document is refused, and nothing of its transaction stays.",
        source="issue 4 (LangGraph)",
    )
    def test_what_cannot_be_kept_faithfully_is_refused(self) -> None:
        """And nothing of its transaction stays."""
        with self.fresh() as store:
            for value in ("", "[1]", "{", '{"a":NaN', '{"\ud800":1}', '"text"'):
                with refuses(InvalidInput), store.transaction() as transaction:
                    transaction.documents.put_document(document("a", (), "kept"))
                    transaction.documents.put_document(document("a", (), "refused", value=value))
            with refuses(InvalidInput), store.transaction() as transaction:
                transaction.documents.put_document(document("a", ("x\x00",), "k"))
            with refuses(InvalidInput):
                document(" ", (), "k")
            assert list(store.documents.below()) == []


def document(collection: str, path: tuple[str, ...], key: str, **changes: object) -> Document:
    """A document at this place."""
    plain = Document(collection=collection, path=path, key=key, value='{"n":1}', created_at=START, updated_at=START)
    changed: Document = replace(plain, **changes)  # type: ignore[arg-type]  # names of fields
    return changed
