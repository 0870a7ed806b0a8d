"""The rows of a bank file, the pages on which each of them lies, and what a repair must have saved of them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import apsw

from reasoningbank.storage.sqlite_connection import checksum_vfs
from reasoningbank.storage.sqlite_salvage import SALVAGED

DERIVED = {
    "memories": {
        "confidence",
        "fingerprint",
        "text",
        "context_start",
        "context_words",
        "born",
        "change",
        "indexed",
        "key",
    },
    "graph_nodes": {"key", "change", "words"},
    "graph_edges": {"key", "change", "words", "source", "target"},
}
"""Columns that follow from the others and are made anew."""

Row = tuple[object, ...]
Rows = Mapping[str, set[Row]]


def stored_rows(path: Path) -> Rows:
    """All rows of the tables that are saved, without the columns that follow from others."""
    found = {}
    with closing(apsw.Connection(str(path), vfs=checksum_vfs())) as connection:
        for table in SALVAGED[1:]:
            names = [str(row[1]) for row in connection.execute(f"PRAGMA table_info({table})")]
            kept = ", ".join(name for name in names if name not in DERIVED.get(table, ()))
            found[table] = set(connection.execute(f"SELECT {kept} FROM {table}"))
    return found


def memory_keys(path: Path) -> set[Row]:
    """The number under which every memory's evidence is kept."""
    with closing(apsw.Connection(str(path), vfs=checksum_vfs())) as connection:
        return set(connection.execute("SELECT key, id FROM memories"))


def row_pages(path: Path) -> Mapping[str, Mapping[Row, frozenset[int]]]:
    """On which pages each row of a table that is ordered by number lies, as SQLite itself tells it."""
    found: dict[str, dict[Row, frozenset[int]]] = {}
    with closing(apsw.Connection(str(path), vfs=checksum_vfs())) as connection:
        for table in SALVAGED[1:]:
            sql = str(connection.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (table,)).get)
            names = [str(row[1]) for row in connection.execute(f"PRAGMA table_info({table})")]
            kept = ", ".join(name for name in names if name not in DERIVED.get(table, ()))
            stat = list(connection.execute("SELECT path, pageno, ncell, pagetype FROM dbstat WHERE name = ?", (table,)))
            if "WITHOUT ROWID" in sql:
                everything = frozenset(int(str(row[1])) for row in stat)
                found[table] = dict.fromkeys(connection.execute(f"SELECT {kept} FROM {table}"), everything)
                continue
            rows = iter(list(connection.execute(f"SELECT {kept} FROM {table} ORDER BY rowid")))
            found[table] = {}
            for place, page, cells, kind in sorted(stat, key=lambda row: str(row[0])):
                if kind != "leaf":
                    continue
                for cell in range(int(str(cells))):
                    further = {int(str(row[1])) for row in stat if str(row[0]).startswith(f"{place}{cell:03x}+")}
                    found[table][next(rows)] = frozenset({int(str(page)), *further})
            assert next(rows, None) is None
    return found


def check_saved(
    saved: Rows,
    before: Rows,
    places: Mapping[str, Mapping[Row, frozenset[int]]],
    changed: set[int],
    memories: set[object],
) -> None:
    """Nothing is invented or altered, and what lies on whole pages is there, with all that it belongs to."""
    for table in SALVAGED[1:]:
        assert saved[table] <= before[table], f"{table}: {saved[table] - before[table]}"
    for table in ("memories", "traces", "erasures", "weight_history", "refusals", "recalls", "documents", "jobs"):
        whole = {row for row, pages in places[table].items() if not pages & changed}
        assert whole <= saved[table], f"{table}: {whole - saved[table]}"
    for table in ("revisions", "aggregates", "signals"):
        owner = 1 if table == "signals" else 0
        whole = {row for row, pages in places[table].items() if not pages & changed and row[owner] in memories}
        assert whole <= saved[table], f"{table}: {whole - saved[table]}"
    bodies = {row[0]: pages for row, pages in places["trajectory_bodies"].items()}
    for row, pages in places["trajectories"].items():
        if not (pages | bodies[row[0]]) & changed:
            assert row in saved["trajectories"]
