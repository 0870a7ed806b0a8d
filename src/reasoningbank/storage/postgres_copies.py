"""Backups of banks in PostgreSQL: bank files of SQLite, made and read row by row.

The tables of both engines are the same (DESIGN D18), so a backup of one engine is one for the other: a team may carry a
bank from a file into a database, and back.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, cast

from reasoningbank.storage.connection import RowSource
from reasoningbank.storage.sqlite import SqliteDatabase
from reasoningbank.storage.sqlite_connection import TEXT_INDEXES, ConnectionSource, open_connection
from reasoningbank.storage.sqlite_file import KEPT_RESTORES, SUFFIX, BankFile, opened_copy, restore
from reasoningbank.storage.unit import Unit
from reasoningbank.types.scope import Scope

if TYPE_CHECKING:
    from reasoningbank.storage.postgres_connection import PostgresSource

_TABLES = (
    "SELECT t.name, c.name FROM pragma_table_list AS t JOIN sqlite_schema AS s ON s.name = t.name, "
    "pragma_table_info(t.name) AS c WHERE t.type = 'table' AND t.schema = 'main' AND t.name NOT LIKE 'sqlite_%' "
    "ORDER BY s.rowid, c.cid"
)
"""The columns of all tables but those of the text index, in an order in which each refers to earlier ones only."""
_LAST_KEYS = "SELECT name, value FROM numbers WHERE name IN ('graph_nodes', 'graph_edges')"
_OWN_FACT = "checksums"
"""What a file says in ``meta`` of its own pages."""
_AT_ONCE = 500
_REPLACED = ".before-restore-"


class BankCopies:
    """The copies of one bank on this machine: automatic backups, and what restores have replaced.

    Args:
        place: How their names begin.
    """

    def __init__(self, place: Path) -> None:
        self._place = place

    def keep(self, backup: Callable[[Path], None]) -> None:
        """Keep what a restore replaces; of several the newest few.

        Args:
            backup: Writes the bank into a file.
        """
        self._place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
        backup(self._place.with_name(f"{self._place.name}{_REPLACED}{stamp}"))
        for old in self._found(f"{_REPLACED}*")[:-KEPT_RESTORES]:
            old.unlink(missing_ok=True)

    def erase(self, erasures: Sequence[tuple[str, str]]) -> None:
        """Delete in them what was deleted in the bank; in backups only what a person has erased."""
        if not erasures:
            return
        from reasoningbank.storage.copies import SESSION_KINDS, erase_in

        paths = self._found(f"{_REPLACED}*")
        if any(kind in SESSION_KINDS for kind, _ in erasures):
            paths += self._found(f".*{SUFFIX}")
        for path in paths:
            erase_in(path, erasures, opened_copy)

    def _found(self, end: str) -> list[Path]:
        found = self._place.parent.glob(f"{escape(self._place.name)}{end}")
        return sorted(path for path in found if path.is_file() and not path.is_symlink())


def write_backup(source: PostgresSource, scope: Scope, target: Path) -> None:
    """Write all rows of a bank into a file, which replaces what was there.

    Args:
        source: A transaction that sees one state of the bank.
        scope: Whose bank it is.
        target: The file.

    Raises:
        StoreUnavailable: When the file cannot be written.
    """
    with tempfile.TemporaryDirectory(prefix="reasoningbank-backup-") as folder:
        database = SqliteDatabase(BankFile(Path(folder) / "bank.db"), scope)
        try:
            with database.writing() as unit:
                tables = copied_tables(database)
                for table in reversed(tables):
                    unit.run(f"DELETE FROM {table}{_but_own(table)}")  # noqa: S608 - names of our tables
                for table, columns in tables.items():
                    _pour(source, unit, table, columns)
                _index_words(unit, source)
                for name, value in source.run(_LAST_KEYS):
                    unit.run("DELETE FROM sqlite_sequence WHERE name = ?", (name,))
                    unit.run("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", (name, value))
            database.backup(target)
        finally:
            database.close()


@contextmanager
def restored_rows(scope: Scope, source: Path) -> Iterator[ConnectionSource]:
    """Give the rows of a backup as a bank of this version, whose identifier is a new one.

    Raises:
        StoreUnavailable: When there is no backup.
        StoreCorrupt: When it is damaged.
        StoreTooNew: When a newer version has written it.
        ScopeViolation: When it is a backup of another scope.
    """
    with tempfile.TemporaryDirectory(prefix="reasoningbank-restore-") as folder:
        file = Path(folder) / "bank.db"
        restore(scope, source, file)
        with closing(open_connection(file)) as connection:
            yield ConnectionSource(file, scope.project, connection, None)


def read_backup(backup: ConnectionSource, unit: Unit) -> None:
    """Replace all rows of a bank by those of a backup; what is derived from others is made anew.

    Args:
        backup: Its rows.
        unit: The transaction, which holds the bank's lock.
    """
    [(change,)] = unit.run("SELECT value FROM counters WHERE name = 'change'")
    tables = copied_tables(backup)
    for index in TEXT_INDEXES.values():
        unit.run(f"DELETE FROM {index.table}_words")  # noqa: S608 - a constant name
    for table in (*reversed(tables), "numbers"):
        unit.run(f"DELETE FROM {table}")  # noqa: S608 - names of our tables
    for table, columns in tables.items():
        _pour(backup, unit, table, columns)
    _index_words(unit, unit)
    last = {str(name): int(cast(int, value)) for name, value in backup.run("SELECT name, seq FROM sqlite_sequence")}
    for table, columns in tables.items():
        if columns[0] == "number" or table in last:
            [(most,)] = unit.run(f"SELECT coalesce(max({columns[0]}), 0) FROM {table}")  # noqa: S608 - our names
            given = max(int(cast(int, most)), last.get(table, 0))
            unit.run("INSERT INTO numbers (name, value) VALUES (?, ?)", (table, given))
    newer = int(cast(int, change)) + 1
    unit.run("UPDATE floors SET value = ? WHERE name = 'change' AND value < ?", (newer, newer))


def copied_tables(source: RowSource) -> dict[str, Sequence[str]]:
    """Return the columns of every table of a bank file."""
    found: dict[str, list[str]] = {}
    for table, column in source.run(_TABLES):
        found.setdefault(str(table), []).append(str(column))
    shadows = tuple(f"{index.table}_" for index in TEXT_INDEXES.values())
    return {table: columns for table, columns in found.items() if not table.startswith(shadows)}


def _but_own(table: str) -> str:
    return f" WHERE name <> '{_OWN_FACT}'" if table == "meta" else ""


def _pour(source: PostgresSource | ConnectionSource, unit: Unit, table: str, columns: Sequence[str]) -> None:
    """Copy the rows of one table."""
    listed, places = ", ".join(columns), ", ".join("?" * len(columns))
    for rows in source.parts(f"SELECT {listed} FROM {table}{_but_own(table)}"):  # noqa: S608 - names of our tables
        unit.run_each(f"INSERT INTO {table} ({listed}) VALUES ({places})", rows)  # noqa: S608 - names of our tables


def _index_words(unit: Unit, source: RowSource | Unit) -> None:
    """Index the words of all rows anew."""
    for table in TEXT_INDEXES:
        found = [cast(int, row[0]) for row in source.run(f"SELECT key FROM {table} ORDER BY key")]  # noqa: S608 - constant
        for start in range(0, len(found), _AT_ONCE):
            part = found[start : start + _AT_ONCE]
            unit.index_words(table, part[0], part[-1])
