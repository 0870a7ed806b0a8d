"""The SQL of the tables is what SQLite and PostgreSQL both run; what engines spell otherwise is behind their seam."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import apsw
import pytest

from promises import promise
from reasoningbank import storage
from reasoningbank.storage.schema import MIGRATIONS
from reasoningbank.storage.sqlite_connection import ConnectionSource, spelled

FOLDER = Path(storage.__file__).parent
FILES = sorted(
    [
        *FOLDER.glob("*_tables.py"),
        *(FOLDER / f"{name}.py" for name in ("rows", "schema", "store", "store_search", "unit")),
    ]
)
FORBIDDEN = {
    r"INSERT OR|REPLACE INTO": "ON CONFLICT says the same",
    r"\biif\(": "CASE says the same",
    r"\binstr\(|\bGLOB\b|\bgroup_concat\b|\bprintf\(": "SQLite's name of a function",
    r"\bjson_": "both engines read JSON, each in its own words: texts_in and numbers_in",
    r"\bmax\([^()]*(\([^()]*\)[^()]*)*,|\bmin\([^()]*,": "PostgreSQL's max has one argument: greatest",
    r"\?\d": "places of values have no numbers",
    r"\bPRAGMA\b|\bVACUUM\b|\bsqlite_|\bATTACH\b": "says something to SQLite, not to the bank",
    r"\bINDEXED BY\b": "a hint that SQLite alone takes",
    r"\bLIMIT -1\b": "no limit is ALL_ROWS",
    r"\bIS NOT \?|\bIS \?": "PostgreSQL compares values with IS for NULL and truth alone",
    r"\b(WHERE|AND) [01]\b(?! =)": "a number is not a condition",
    r"\bSTRICT\b|\bROWID\b|\bAUTOINCREMENT\b": "how SQLite keeps a table is its engine's",
    r"\bfts5\b|_docsize\b|\bMATCH\b|\bmemory_text\b|graph_(node|edge)_text\b": "the text index is the engine's",
    r"\bBEGIN\b": "how a transaction begins is the engine's",
    r"\bjulianday\b|\bstrftime\b|\blast_insert_rowid\b|\bchanges\(\)": "SQLite's name of a function",
    r"\b(INT|BIGINT|DOUBLE|VARCHAR|DATETIME|BOOLEAN|BYTEA|SERIAL)\b": "the types are INTEGER, REAL, TEXT and BLOB",
}
"""What no statement of the tables has, and why."""
STATEMENT = re.compile(
    r"\b(SELECT|INSERT|UPDATE|DELETE|WHERE|LIMIT|CREATE|ALTER|CASE|BEGIN|COMMIT|PRAGMA)\b|\w\(\?|sum\("
)


def statements(file: Path) -> list[str]:
    """Returns every text of a file, but for its docstrings, that looks like a part of a statement."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    texts = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in said)
    return [node.value for node in texts if isinstance(node.value, str) and STATEMENT.search(node.value)]


def faults(text: str) -> list[str]:
    """Returns why a text is not what both engines run."""
    return [reason for spelling, reason in FORBIDDEN.items() if re.search(spelling, text)]


@promise(
    "storage:portable-sql",
    "The statements of the tables and of their schema use no spelling that only one database engine knows.",
    source="DESIGN D18",
)
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_no_statement_of_the_tables_is_for_sqlite_alone(file: Path) -> None:
    assert statements(file) or file.name == "rows.py"
    assert [(text, reasons) for text in statements(file) if (reasons := faults(text))] == []
    source = file.read_text(encoding="utf-8")
    assert not re.search(r"import apsw|import sqlite|storage\.sqlite|storage import sqlite", source)


@promise("storage:portable-sql")
@pytest.mark.parametrize(
    "text",
    [
        "INSERT OR REPLACE INTO a VALUES (?)",
        "SELECT iif(a, 1, 2)",
        "SELECT a WHERE b = ?1",
        "SELECT a LIMIT -1",
        "SELECT instr(a, b)",
        "SELECT value FROM json_each(?)",
        "SELECT max(a, coalesce(b, 0)) FROM c",
        "SELECT max(coalesce(b, 0), a) FROM c",
        "SELECT seq FROM sqlite_sequence",
        "SELECT a FROM b INDEXED BY c",
        "SELECT a FROM b WHERE 1 AND 0",
        "CREATE TABLE a (b INTEGER) STRICT;",
        "DELETE FROM memory_text WHERE rowid = ?",
        "BEGIN IMMEDIATE",
    ],
)
def test_a_statement_for_one_engine_alone_is_seen(text: str) -> None:
    assert STATEMENT.search(text)
    assert faults(text)


@promise("storage:portable-sql")
def test_the_words_of_the_seam_are_not_taken_for_one_engine_s() -> None:
    for text in (
        "SELECT value FROM texts_in(?)",
        "SELECT greatest(a, b)",
        "SELECT max(coalesce(a)) FROM b",
        "SELECT a FROM b WHERE 1 = 1",
    ):
        assert faults(text) == []


@promise("storage:portable-sql")
def test_sqlite_keeps_the_tables_strictly_and_by_their_keys() -> None:
    connection = apsw.Connection(":memory:")
    for migration in MIGRATIONS:
        migration(ConnectionSource(Path("bank.db"), "p", connection, None))
    tables = list(connection.execute("SELECT name, ncol, wr, strict FROM pragma_table_list WHERE type = 'table'"))
    ours = {name: (rowless, strict) for name, _, rowless, strict in tables if not str(name).startswith("sqlite_")}
    assert {strict for _, strict in ours.values()} == {1}
    assert {name for name, (rowless, _) in ours.items() if rowless} == {
        "counted",
        "principals",
        "exposure_items",
        "floors",
        "graph_pointers",
        "graph_tags",
        "jobs",
        "links",
        "meta",
        "recall_items",
        "revisions",
        "signals",
        "taints",
    }
    assert spelled("SELECT greatest(a, b) FROM texts_in(?)") == "SELECT max(a, b) FROM json_each(?)"
