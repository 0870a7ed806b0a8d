"""The migration behind documents: what frameworks keep in a bank, and the vectors their searches compare with.

A path is one text of labels, each followed by a NUL: then a document lies below a path exactly when its text begins
with that of the path, and one index serves both. A document is a JSON text beside the columns that it is looked up by.
"""

from __future__ import annotations

import apsw

TABLES = """
CREATE TABLE documents (
    number INTEGER PRIMARY KEY,
    collection TEXT NOT NULL,
    path TEXT NOT NULL,
    key TEXT NOT NULL,
    body TEXT NOT NULL,
    checksum BLOB NOT NULL,
    UNIQUE (collection, path, key)
) STRICT;

CREATE TABLE document_vectors (
    document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
    position INTEGER NOT NULL,
    vector BLOB NOT NULL,
    checksum BLOB NOT NULL,
    PRIMARY KEY (document, position)
) STRICT;
"""


def document_schema(connection: apsw.Connection) -> None:
    """Documents and their vectors."""
    connection.execute(TABLES)
