"""The SQL of the tables is what SQLite and PostgreSQL both run, but for the spellings that are listed here."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from promises import promise
from reasoningbank import storage

FOLDER = Path(storage.__file__).parent
FILES = sorted([*FOLDER.glob("*_tables.py"), FOLDER / "unit.py"])
ONLY_SQLITE = re.compile(
    r"INSERT OR|\biif\(|\?\d|PRAGMA|LIMIT -1|IS NOT \?|\bWHERE 1 |\bGLOB\b|group_concat|last_insert_rowid",
    re.IGNORECASE,
)
SPELLINGS = (
    "(SELECT value FROM json_each(?))",
    "INDEXED BY jobs_by_due",
    "memory_text",
    "graph_node_text",
    "graph_edge_text",
    "sqlite_sequence",
)
"""What another engine says in another way: a list of values, a hint, the text indexes, the last key given out."""


def statements(file: Path) -> list[str]:
    """Returns every text of a file that looks like a part of a statement, without its spellings."""
    found = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
            if re.search(r"\b(SELECT|INSERT|UPDATE|DELETE|WHERE|LIMIT|sum\(|CASE)\b", text):
                for spelling in SPELLINGS:
                    text = text.replace(spelling, "")
                found.append(text)
    return found


@promise(
    "storage:portable-sql",
    "The statements of the tables use no spelling that only SQLite knows, but for a list of named exceptions.",
    source="DESIGN D18",
)
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_no_statement_of_the_tables_is_for_sqlite_alone(file: Path) -> None:
    texts = statements(file)
    assert texts
    assert [text for text in texts if ONLY_SQLITE.search(text)] == []
    assert "import apsw" not in file.read_text(encoding="utf-8")


@promise("storage:portable-sql")
def test_a_statement_for_sqlite_alone_is_seen() -> None:
    seen = ["INSERT OR REPLACE INTO a VALUES (?)", "SELECT iif(a, 1, 2)", "SELECT a WHERE b = ?1", "SELECT a LIMIT -1"]
    assert all(ONLY_SQLITE.search(text) for text in seen)
