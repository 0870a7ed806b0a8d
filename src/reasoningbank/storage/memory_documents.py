"""Documents of a bank in memory."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

import numpy

from reasoningbank.domain.document import Document
from reasoningbank.errors import InvalidInput, ModelMismatch
from reasoningbank.ports import Vector
from reasoningbank.storage.documents import owned_document
from reasoningbank.storage.memory_contents import MemoryReads
from reasoningbank.storage.vectors import unit_vector


class MemoryDocumentReads(MemoryReads, ABC):
    """The StoreReader port's reads of documents."""

    def document(self, collection: str, path: Sequence[str], key: str) -> Document | None:
        return self.contents.documents.get((collection, _checked(path), key))

    def documents(self, collection: str | None = None, path: Sequence[str] = ()) -> Sequence[Document]:
        prefix = _checked(path)
        return [
            document
            for document in self.contents.documents.values()
            if collection in {None, document.collection} and document.path[: len(prefix)] == prefix
        ]

    def compared_documents(
        self, collection: str, path: Sequence[str], vector: Vector
    ) -> Sequence[tuple[Document, float | None]]:
        query = unit_vector(vector).astype(numpy.float64)
        found: list[tuple[Document, float | None]] = []
        for document in self.documents(collection, path):
            rows = self.contents.document_vectors.get(document.place, ())
            if any(len(row) != len(query) for row in rows):
                raise ModelMismatch(f"the bank's vectors have {len(rows[0])} dimensions, the query's {len(query)}")
            cosines = [max(-1.0, min(1.0, float(row.astype(numpy.float64) @ query))) for row in rows]
            found.append((document, max(cosines, default=None)))
        return found


class MemoryDocumentWrites(MemoryDocumentReads, ABC):
    """The Transaction port's writes of documents."""

    def put_document(self, document: Document, vectors: Sequence[Vector] = (), model_id: str = "") -> None:
        contents = self.contents
        kept, _ = owned_document(document, vectors)
        _checked(kept.path)
        rows = tuple(unit_vector(vector) for vector in vectors)
        if rows and not model_id:
            raise InvalidInput("a vector needs the name of its model")
        if len({len(row) for row in rows}) > 1:
            raise ModelMismatch("the vectors of one document have different dimensions")
        for row in rows:
            contents.check_space(model_id, len(row))
            row.flags.writeable = False
        if rows and not contents.has_vectors:
            contents.model = (model_id, len(rows[0]))
        contents.documents[kept.place] = kept
        contents.document_vectors.pop(kept.place, None)
        if rows:
            contents.document_vectors[kept.place] = rows

    def delete_document(self, collection: str, path: Sequence[str], key: str) -> bool:
        place = (collection, _checked(path), key)
        self.contents.document_vectors.pop(place, None)
        return self.contents.documents.pop(place, None) is not None


def _checked(path: Sequence[str]) -> tuple[str, ...]:
    if any("\x00" in label for label in path):
        raise InvalidInput("a label must not hold a NUL character")
    return tuple(path)
