"""What a table runs its statements with: where rows come from, and the connection that holds the write lock."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol, cast

from reasoningbank.storage.rows import Row, Value, checksum

MAX_VALUES = 16_384
"""Most values that one statement is given at once; SQLite takes 32,766 and PostgreSQL 65,535."""
_VECTORS_READ = 500
_ROW_OF_VALUES = re.compile(r"\bVALUES (\(\?(?:, \?)*\))")


def statements_of(sql: str, rows: Sequence[Row]) -> Sequence[tuple[str, list[Value]]] | None:
    """Return what does the same as one statement with each of several rows of values.

    A statement with a list of ``VALUES`` gets as many rows as it may have at once; None for any other, and for one row.
    """
    if len(rows) < 2:
        return None
    place = _ROW_OF_VALUES.search(sql)
    if place is None:
        return None
    found: list[tuple[str, list[Value]]] = []
    size = max(1, MAX_VALUES // len(rows[0]))
    for start in range(0, len(rows), size):
        part = rows[start : start + size]
        places = ", ".join([place.group(1)] * len(part))
        statement = sql[: place.start(1)] + places + sql[place.end(1) :]
        found.append((statement, [each for row in part for each in row]))
    return found


class RowSource(Protocol):
    """Where the rows come from."""

    @property
    def project(self) -> str:
        """The project of every memory."""

    def run(self, sql: str, values: Sequence[Value] = ()) -> Sequence[Row]:
        """Return all rows of one statement."""

    def run_each(self, sql: str, rows: Sequence[Row]) -> Sequence[Row]:
        """Run one statement with each of these rows of values; return all that it gives."""


class Writer(RowSource, Protocol):
    """The connection that holds a bank's write lock."""

    @property
    def schema_sql(self) -> str:
        """An expression that is how many migrations the bank has had."""

    @property
    def state(self) -> int:
        """A number that changes when another connection has written."""

    @property
    def in_transaction(self) -> bool:
        """Return whether a transaction is open: an engine may have ended it after a failure."""

    def begin(self) -> None:
        """Begin a transaction that writes."""

    def claim(self, sql: str, values: Sequence[Value]) -> Sequence[Row]:
        """Return the rows of a SELECT that no other transaction has claimed; until this one ends they are its own."""

    def index_text(self, table: str, column: str) -> None:
        """Make the index of the words in a table's column, of which there is one for a table."""

    def index_words(self, table: str, first: int, last: int) -> None:
        """Put the words of the rows whose keys are from the first to the last into the table's index."""

    def forget_words(self, table: str, key: int) -> None:
        """Take the words of a row out of the table's index; called before they change and before the row goes."""


def damaged_vectors(source: RowSource, table: str, key: str, name: str) -> list[str]:
    """Return a defect for each vector of a table whose row is not what was written.

    Args:
        source: Where the rows come from.
        table: A table with a column of vectors and one of their checksums.
        key: Its column of whole numbers from zero.
        name: The words that a vector is named with, before its key.
    """
    problems: list[str] = []
    statement = f"SELECT {key}, vector, checksum FROM {table} WHERE {key} > ? ORDER BY {key} LIMIT ?"  # noqa: S608
    last = -1
    while rows := source.run(statement, (last, _VECTORS_READ)):
        problems += [
            f"{name} {row[0]!r} does not hold what was written to it" for row in rows if checksum(row[:2]) != row[2]
        ]
        last = cast(int, rows[-1][0])
    return problems
