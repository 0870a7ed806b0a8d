"""Documents and their vectors."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import cast

from reasoningbank.errors import BankError, InvalidInput, ModelMismatch, StoreCorrupt
from reasoningbank.storage.connection import RowSource
from reasoningbank.storage.rows import Row, Value, checksum, decoding, from_json, proven, to_json
from reasoningbank.storage.unit import Unit
from reasoningbank.types.document import Document
from reasoningbank.types.ports import Vector

TABLES = """
CREATE TABLE documents (
    number INTEGER PRIMARY KEY,
    collection TEXT NOT NULL,
    path TEXT NOT NULL,
    key TEXT NOT NULL,
    body TEXT NOT NULL,
    checksum BLOB NOT NULL,
    UNIQUE (collection, path, key)
);

CREATE TABLE document_vectors (
    document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
    position INTEGER NOT NULL,
    vector BLOB NOT NULL,
    checksum BLOB NOT NULL,
    PRIMARY KEY (document, position)
);
"""

_COLUMNS = "number, collection, path, key, body"

_BATCH = 200


class DocumentTables:
    """Documents, each at a place in a collection.

    Args:
        source: Where the rows come from.
        unit: The transaction that writes; outside of one every write is refused.
    """

    def __init__(self, source: RowSource, unit: Unit) -> None:
        self._source = source
        self._unit = unit

    def document(self, collection: str, path: Sequence[str], key: str) -> Document | None:
        """Return the document at a place."""
        rows = self._source.run(
            f"SELECT {_COLUMNS}, checksum FROM documents WHERE collection = ? AND path = ? AND key = ?",  # noqa: S608
            (collection, _joined(path), key),
        )
        return _document(rows[0]) if rows else None

    def below(self, collection: str | None = None, path: Sequence[str] = ()) -> Sequence[Document]:
        """Return documents below a path, in the order in which they were first stored.

        Of every collection or of one.
        """
        where, values = _where(collection, path)
        rows = self._source.run(
            f"SELECT {_COLUMNS}, checksum FROM documents WHERE {where} ORDER BY number",  # noqa: S608 - constant clauses
            values,
        )
        return [_document(row) for row in rows]

    def compared_documents(
        self, collection: str, path: Sequence[str], vector: Vector
    ) -> Sequence[tuple[Document, float | None]]:
        """Return the same with the largest cosine that a vector of each has with this one.

        None when it has no vector.
        """
        from reasoningbank.storage.vector_file import unit_vector

        query = unit_vector(vector)
        where, values = _where(collection, path)
        columns = ", ".join(f"d.{name}" for name in _COLUMNS.split(", "))
        rows = self._source.run(
            f"SELECT {columns}, d.checksum, v.position, v.vector, v.checksum FROM documents AS d "  # noqa: S608
            f"LEFT JOIN document_vectors AS v ON v.document = d.number WHERE {where} ORDER BY d.number, v.position",
            values,
        )
        found: list[tuple[Document, float | None]] = []
        last = None
        for row in rows:
            if row[0] != last:
                found.append((_document(row[:6]), None))
                last = row[0]
            if row[7] is not None:
                document, best = found[-1]
                cosine = _cosine((row[0], row[6], row[7]), row[8], query)
                found[-1] = (document, cosine if best is None else max(best, cosine))
        return found

    def put_document(self, document: Document, vectors: Sequence[Vector] = (), model_id: str = "") -> None:
        """Store a document, in the place of the one that is there, with one vector for each of its texts."""
        from reasoningbank.storage.vector_file import unit_vector

        kept, text = owned_document(document, vectors)
        if len({len(unit_vector(vector)) for vector in vectors}) > 1:
            raise ModelMismatch("the vectors of one document have different dimensions")
        place = (kept.collection, _joined(kept.path), kept.key)
        with self._unit.whole():
            raw = [self._unit.vector(vector, model_id) for vector in vectors]
            rows = self._source.run("SELECT number FROM documents WHERE collection = ? AND path = ? AND key = ?", place)
            number = rows[0][0] if rows else self._unit.next_number("documents")
            row: Row = (number, *place, text)
            if rows:
                self._source.run("DELETE FROM document_vectors WHERE document = ?", (number,))
                self._source.run(
                    "UPDATE documents SET body = ?, checksum = ? WHERE number = ?", (text, checksum(row), number)
                )
            else:
                self._source.run("INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?)", (*row, checksum(row)))
            for position, content in enumerate(raw):
                one: Row = (number, position, content)
                self._source.run("INSERT INTO document_vectors VALUES (?, ?, ?, ?)", (*one, checksum(one)))
            self._unit.note_change()

    def delete_document(self, collection: str, path: Sequence[str], key: str) -> bool:
        """Erase a document; False when there is none."""
        place = (collection, _joined(path), key)
        rows = self._source.run("SELECT number FROM documents WHERE collection = ? AND path = ? AND key = ?", place)
        if not rows:
            return False
        with self._unit.whole():
            self._source.run("DELETE FROM documents WHERE number = ?", rows[0])
            self._unit.note_erasure()
            self._unit.note_erased("document", "\0".join([collection, *path, key]))
            self._unit.note_change()
        return True

    def problems(self) -> list[str]:
        """Return the documents that lack a vector; a damaged row raises StoreCorrupt."""
        counts = Counter[Value]()
        last: Row = (-1, -1)
        statement = (
            "SELECT document, position, vector, checksum FROM document_vectors WHERE (document, position) > (?, ?) "
            "ORDER BY document, position LIMIT ?"
        )
        while rows := self._source.run(statement, (*last, _BATCH)):
            counts.update(proven("a document's vector", row[:3], row[3])[0] for row in rows)
            last = rows[-1][:2]
        numbers = self._source.run("SELECT number FROM documents ORDER BY number")
        return [
            f"document {document.key[:80]!r} has {len(document.texts)} texts and {counts[number]} vectors"
            for (number,), document in zip(numbers, self.below(), strict=True)
            if counts[number] != len(document.texts)
        ]


def owned_document(document: Document, vectors: Sequence[Vector]) -> tuple[Document, str]:
    """Return the document as it will be read back, and the text it is read back from.

    Raises:
        InvalidInput: When its value is not a JSON object, a text is not Unicode, or a text has no vector.
    """
    if len(vectors) != len(document.texts):
        raise InvalidInput(f"a document with {len(document.texts)} texts has as many vectors, not {len(vectors)}")
    try:
        if not isinstance(json.loads(document.value), dict):
            raise InvalidInput("the value of a document must be a JSON object")
        body = to_json(document)
        copy = from_json(Document, body)
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        text.encode("utf-8")
    except BankError:
        raise
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidInput(f"the document cannot be stored: {error}") from error
    return copy, text


def _joined(path: Sequence[str]) -> str:
    if any("\x00" in label for label in path):
        raise InvalidInput("a label must not hold a NUL character")
    return "".join(f"{label}\x00" for label in path)


def _where(collection: str | None, path: Sequence[str]) -> tuple[str, list[Value]]:
    clauses, values = ["1 = 1"], list[Value]()
    if collection is not None:
        clauses.append("collection = ?")
        values.append(collection)
    if path:
        prefix = _joined(path)
        clauses.append("path >= ? AND path < ?")
        values += [prefix, f"{prefix[:-1]}\x01"]
    return " AND ".join(clauses), values


def _document(row: Row) -> Document:
    name = f"document {str(row[3])[:80]!r}"
    content = proven(name, row[:5], row[5])
    with decoding(name):
        fields = json.loads(cast(str, content[4]))
        return Document(
            collection=fields["collection"],
            path=tuple(fields["path"]),
            key=fields["key"],
            value=fields["value"],
            texts=tuple(fields["texts"]),
            created_at=datetime.fromisoformat(fields["created_at"]),
            updated_at=datetime.fromisoformat(fields["updated_at"]),
        )


def _cosine(row: Row, stored: Value, query: Vector) -> float:
    import numpy

    proven("a document's vector", row, stored)
    with decoding("a document's vector"):
        kept = numpy.frombuffer(cast(bytes, row[2]), dtype=numpy.float32)
    if len(kept) != len(query):
        raise ModelMismatch(f"the bank's vectors have {len(kept)} dimensions, the query's {len(query)}")
    product = float(kept.astype(numpy.float64) @ query.astype(numpy.float64))
    if not numpy.isfinite(product):
        raise StoreCorrupt("a document's vector does not hold what was written to it")
    return max(-1.0, min(1.0, product))
