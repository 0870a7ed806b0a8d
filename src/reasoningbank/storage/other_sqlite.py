"""Read tables of SQLite files that other products wrote; nothing is changed in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import apsw

from reasoningbank.errors import InvalidInput

MOST_ROWS = 1_000_000


def table_rows(path: Path, table: str, columns: Sequence[str]) -> list[Mapping[str, object]] | None:
    """Return the rows of a table, in the order of its first column; None when the file has no such table.

    Columns that the table does not have are left out, for products add some and drop others.

    Args:
        path: The file; it may be in use.
        table: The table's name, a constant of ours.
        columns: The columns' names, constants of ours, the first one being there always.

    Raises:
        InvalidInput: When it is no SQLite file or cannot be read.
    """
    try:
        connection = apsw.Connection(
            f"file:{_quoted(path)}?mode=ro", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        )
    except apsw.Error as error:
        raise InvalidInput(f"{path.name[:80]} cannot be opened: {error}") from error
    try:
        connection.pragma("trusted_schema", False)
        connection.set_busy_timeout(2_000)
        there = {str(row[1]) for row in connection.execute(f"PRAGMA table_info({table})")}
        if not there:
            return None
        kept = [name for name in columns if name in there]
        found = connection.execute(
            f"SELECT {', '.join(kept)} FROM {table} ORDER BY {kept[0]} LIMIT ?",  # noqa: S608 - constants of ours
            (MOST_ROWS,),
        )
        return [dict(zip(kept, row, strict=True)) for row in found]
    except apsw.Error as error:
        raise InvalidInput(f"{path.name[:80]} cannot be read: {error}", hint="Name a file of that product.") from error
    finally:
        connection.close()


def _quoted(path: Path) -> str:
    from urllib.parse import quote

    return quote(str(path.resolve()))
