"""The bank's text indexes, and the views of their terms that a connection has."""

from __future__ import annotations

from dataclasses import dataclass

import apsw


@dataclass(frozen=True, slots=True, kw_only=True)
class TextIndex:
    """One of the bank's text indexes, and what its two views are called on a connection.

    Attributes:
        table: The FTS5 table.
        vocabulary: Its terms with their document frequencies.
        occurrences: Its terms' occurrences.
    """

    table: str
    vocabulary: str
    occurrences: str


MEMORY_TEXT = TextIndex(table="memory_text", vocabulary="vocabulary", occurrences="occurrences")


def prepare_vocabulary(connection: apsw.Connection, index: TextIndex = MEMORY_TEXT) -> None:
    """Give the connection views of the index: its terms with their document frequencies, and their occurrences."""
    for name, kind in ((index.vocabulary, "row"), (index.occurrences, "instance")):
        connection.execute(
            f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.{name} USING fts5vocab (main, {index.table}, {kind})"
        )
