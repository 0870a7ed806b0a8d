"""Find the ids that begin with a text: one range of an index for each kind of thing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from reasoningbank.storage.connection import RowSource
from reasoningbank.types.graph_search import DELETED_PARTS
from reasoningbank.types.identifier import Identified, IdKind

_AFTER_ALL = "\U0010ffff"
"""The last character that there is; ids are compared by code point."""
_RANGE = "{0} >= ? AND {0} < ?"
_ID = _RANGE.format("id")
_SESSION = _RANGE.format("session")

_TABLES: Mapping[IdKind, str] = {
    "memory": f"SELECT id, title, state FROM memories WHERE {_ID}",  # noqa: S608 - constant clauses, as below
    "trajectory": f"SELECT id, task, '' FROM trajectories WHERE {_ID}",  # noqa: S608
    "session": (
        f"SELECT session, max(task), '' FROM (SELECT session, task FROM trajectories WHERE {_SESSION} "  # noqa: S608
        f"UNION ALL SELECT session, '' AS task FROM exposures WHERE {_SESSION}) AS named GROUP BY session"
    ),
    "trace": f"SELECT id, session, '' FROM traces WHERE {_ID}",  # noqa: S608
    "node": f"SELECT id, text, '' FROM graph_nodes WHERE {_ID}",  # noqa: S608
    "deleted part": (
        "SELECT DISTINCT path, '', '' FROM documents "  # noqa: S608
        f"WHERE collection = '{DELETED_PARTS}' AND {_RANGE.format('path')}"
    ),
    "edge": f"SELECT id, text, '' FROM graph_edges WHERE {_ID}",  # noqa: S608
}


def ids_beginning(source: RowSource, kind: IdKind, beginning: str, limit: int) -> Sequence[Identified]:
    """Return what has an id that begins so, in the order of the ids; the id itself comes first.

    Args:
        source: The rows of one bank.
        kind: What the ids name; a kind that has a table.
        beginning: The text.
        limit: At most so many.
    """
    sql = _TABLES["memory" if kind == "own memory" else kind]
    bounds = (beginning, beginning + _AFTER_ALL) * (sql.count("?") // 2)
    rows = source.run(f"{sql} ORDER BY 1 LIMIT ?", (*bounds, limit))
    return [
        Identified(
            id=cast(str, row[0]).removesuffix("\0"),
            title=" ".join(cast(str, row[1]).split()),
            held=row[2] == "quarantined",
        )
        for row in rows
    ]
