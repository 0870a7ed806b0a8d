"""Check a bank in SQLite: the structure of its file, its indexes, and every row."""

from __future__ import annotations

from reasoningbank.errors import BankError
from reasoningbank.storage.connection import RowSource
from reasoningbank.storage.sqlite_connection import TEXT_INDEXES
from reasoningbank.storage.store import StoreReader
from reasoningbank.storage.unit import ERASURE, Unit


def problems_of(source: RowSource, project: str) -> list[str]:
    """Read a whole bank and return every defect."""
    store = StoreReader(source, Unit.outside(project))
    return [*_structure(source), *_unerased(source), *store.problems()]


def _structure(source: RowSource) -> list[str]:
    problems: list[str] = []
    checks = (
        ("PRAGMA integrity_check", "the file's structure is damaged: {}"),
        ("PRAGMA foreign_key_check", "a row refers to a memory, a trajectory or a trace that is gone: {}"),
    )
    for statement, message in checks:
        try:
            rows = source.run(statement)
        except BankError as error:
            problems.append(message.format(error))
            continue
        problems += [message.format(row[0]) for row in rows if row[0] != "ok"]
    for table, index in TEXT_INDEXES.items():
        for part in (_missing_words, _whole_words):
            try:
                problems += part(source, table, index.table)
            except BankError as error:
                problems.append(f"the text index of {table} is damaged: {error}")
    return problems


def _missing_words(source: RowSource, table: str, index: str) -> list[str]:
    """Return what an index lacks of its table, and what it has beside it."""
    missing = source.run(f"SELECT id FROM {table} WHERE key NOT IN (SELECT id FROM {index}_docsize)")  # noqa: S608
    beside = source.run(f"SELECT id FROM {index}_docsize WHERE id NOT IN (SELECT key FROM {table})")  # noqa: S608
    return [
        *(f"{row[0]!r} of {table} has no text index" for row in missing),
        *(f"the text index of {table} holds row {row[0]!r}, which is gone" for row in beside),
    ]


def _whole_words(source: RowSource, _: str, index: str) -> list[str]:
    """Compare an index with the words of its table; raise StoreCorrupt when they are not the same."""
    source.run(f"INSERT INTO {index} ({index}, rank) VALUES ('integrity-check', 1)")  # noqa: S608 - constant names
    return []


def _unerased(source: RowSource) -> list[str]:
    pending = source.run("SELECT 1 FROM meta WHERE name = ?", (ERASURE,))
    return ["deleted memories may have left traces in unused space of the file"] if pending else []
