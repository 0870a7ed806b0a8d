"""The SQL of a search, for SQLite: what it reads before its memories, in the order in which it is run.

A search reads in one transaction: the state of the bank with what has changed since the last search (``COLUMNS_SQL``
the first time, then ``CHANGES_SQL``), lengths and vectors that no sidecar holds, and where the words of the query occur
(``POSTINGS_SQL``). The memories that it delivers are read by ``MemoryTables.many`` and counted by ``update_states``
(``memory_tables.py``); the delivery is logged by ``DeliveryTables`` (``delivery_tables.py``).
"""

from __future__ import annotations

from reasoningbank.storage.evidence_tables import RATED_COLUMNS
from reasoningbank.storage.memory_tables import CONSOLIDATED_SQL, MEMORY_WIDTH
from reasoningbank.storage.rows import LAST, WEIGHT_COLUMNS

_KNOWN = (
    "(SELECT coalesce(max(key), -1) FROM "
    "(SELECT key FROM memories WHERE {0} >= 0 AND born <= {0} ORDER BY key DESC LIMIT 1))"
)
"""The last key of a memory that was made up to a change: one look at every memory that was made since."""


def changed_since(columns: str, joined: str = "", *, change: str = "?1", derived: bool = False) -> str:
    """Return a query for the memories ``m`` that were changed or made after a change.

    All of them after a change below 0.

    Keys are given out in the order of changes, so the new ones are those after the last that was there; the others
    are in the index of rows that were changed after they were made.

    Args:
        columns: What is read; the rows ascend by the first column, which must ascend with the key.
        joined: Joins of what hangs on the memories.
        change: The parameter that holds the change.
        derived: Only memories whose derived parts were changed or made.
    """
    known = _KNOWN.format(change)
    condition = f"m.change <> m.born AND m.change > {change} AND m.key <= {known}"
    if derived:
        condition += f" AND m.indexed > {change}"
    return (
        f"SELECT {columns} FROM memories AS m INDEXED BY memories_by_change {joined} WHERE {condition} "  # noqa: S608
        f"UNION ALL SELECT {columns} FROM memories AS m {joined} WHERE m.key > {known} ORDER BY 1"
    )


_FACTS = (
    "SELECT NULL, name, value, {0} FROM counters "
    "UNION ALL SELECT NULL, 'standing', user_version, {2}, {1} FROM pragma_user_version "
    "LEFT JOIN weight_history ON number = (SELECT max(number) FROM weight_history) "
    "UNION ALL SELECT NULL, name, value, {0} FROM meta "
    "UNION ALL SELECT NULL, NULL, key, {0} FROM deletions WHERE change > ?1"
)
_COUNT_OF_WEIGHTS = WEIGHT_COLUMNS.count(",") + 1


def _state_and(width: int, changed: str) -> str:
    """Return the query for what the bank says of itself, then for what has changed, then LAST, in rows of that width.

    The parts have no common order, so SQLite gives one after another, and makes none before it is asked for its rows:
    who sees at the first row that nothing has changed reads no further.
    """
    rest, after_weights = (", ".join(["NULL"] * (width - used)) for used in (3, 3 + _COUNT_OF_WEIGHTS))
    facts = _FACTS.format(rest, after_weights, WEIGHT_COLUMNS)
    last = f"SELECT {LAST}, NULL, NULL, {rest}"
    return f"{facts} UNION ALL SELECT * FROM ({changed}) UNION ALL {last}"  # noqa: S608 - constant columns


_COLUMNS = (
    f"m.key, m.outcome, m.state, m.category, m.confidence, m.created_at, m.tags, {CONSOLIDATED_SQL}, m.indexed, "
    "m.context_start, m.context_words, m.id"
)
COUNT_OF_COLUMNS = 12
COLUMNS_SQL = _state_and(COUNT_OF_COLUMNS, changed_since(_COLUMNS))
"""Facts of the bank about itself, in rows without a key, then the columns of what has changed since, then LAST."""
CHANGES_SQL = _state_and(
    COUNT_OF_COLUMNS + 4,
    changed_since(
        f"{_COLUMNS}, d.sz, v.id, v.vector, v.checksum",
        "LEFT JOIN memory_text_docsize AS d ON d.id = m.key AND m.indexed > ?1 "
        "LEFT JOIN vectors AS v ON m.indexed > ?1 AND v.id BETWEEN ?2 * m.key + ?3 AND ?2 * m.key + ?4",
    ),
)
"""The same, with the lengths and the vectors that have changed: a row for each of a memory's vectors."""

VECTORS_SQL = changed_since(
    "v.id, v.vector, v.checksum", "CROSS JOIN vectors AS v ON v.id = ?1 * m.key + ?2", change="?3", derived=True
)
DERIVED_SQL = changed_since(
    "m.key, d.sz, v.id, v.vector, v.checksum",
    "CROSS JOIN memory_text_docsize AS d ON d.id = m.key "
    "LEFT JOIN vectors AS v ON v.id BETWEEN ?1 * m.key + ?2 AND ?1 * m.key + ?3",
    change="?4",
    derived=True,
)
NAMED_VECTORS_SQL = (
    "SELECT v.id, v.vector, v.checksum FROM memories AS m JOIN vectors AS v ON v.id = ?1 * m.key + ?2 "
    "WHERE m.indexed <= ?3 AND m.key IN (SELECT value FROM json_each(?4)) ORDER BY m.key"
)
BOTH_VECTORS_SQL = changed_since(
    "v.id, v.vector, v.checksum",
    "CROSS JOIN vectors AS v ON v.id BETWEEN ?1 * m.key + ?2 AND ?1 * m.key + ?3",
    change="?4",
    derived=True,
)
LENGTHS_AND_VECTORS_SQL = f"SELECT NULL, id, sz FROM memory_text_docsize UNION ALL {BOTH_VECTORS_SQL}"  # noqa: S608
"""All lengths, in rows without a vector's number, then the vectors that have changed."""

ALL_LENGTHS_SQL = "SELECT id, sz FROM memory_text_docsize"
LENGTHS_SQL = changed_since("d.id, d.sz", "CROSS JOIN memory_text_docsize AS d ON d.id = m.key", derived=True)

POSTINGS_SQL = """
WITH words AS MATERIALIZED (
    SELECT w.key AS place, w.value ->> 0 AS term,
        coalesce(w.value ->> 1, (SELECT v.doc FROM temp.{0} AS v WHERE v.term = w.value ->> 0), 0) AS documents
    FROM json_each(?1) AS w
), spent AS MATERIALIZED (
    SELECT place, term, documents,
        sum(documents) OVER (ORDER BY place >= ?3, documents, place ROWS UNBOUNDED PRECEDING) AS postings
    FROM words
)
SELECT term, documents, CASE
    WHEN documents > 0 AND (postings <= ?2 OR postings = documents) AND (place < ?3 OR documents <= ?4)
    THEN (SELECT {2} FROM temp.{1} AS o WHERE o.term = spent.term)
END
FROM spent ORDER BY place
"""
"""Every term of a query with how many texts hold it; the occurrences of the rarest ones within the budget.

A term comes with the number of texts where it is known. The terms from place ?3 on are function words: they are read
from what the others leave of the budget, and not when more than ?4 texts hold them.
"""
KEYS, PLACES = "group_concat(o.doc)", "group_concat(o.doc) || ';' || group_concat(o.offset)"
"""The columns that are read of the occurrences: the keys of the texts, or the places in them too."""

KEYS_SQL = "SELECT key FROM memories WHERE id IN (SELECT value FROM json_each(?))"

TRACE_VECTORS_SQL = (
    "SELECT name, value, NULL FROM meta WHERE name IN ('bank', 'space', 'dimension') UNION ALL "
    "SELECT 'replaced', max(replaced), NULL FROM trace_vectors WHERE replaced IS NOT NULL UNION ALL "
    "SELECT * FROM (SELECT number, vector, checksum FROM trace_vectors WHERE number > ? ORDER BY number DESC LIMIT ?)"
)
"""Facts that tell whether the vectors that are known still hold, by name, then the newest vectors by number."""
_TRACE = "number, id, session, body, checksum"
TRACE_WIDTH = _TRACE.count(",") + 1
TRACES_SQL = f"""
WITH chosen AS MATERIALIZED (SELECT {_TRACE} FROM traces WHERE number IN (SELECT value FROM json_each(?)))
SELECT {_TRACE}{", NULL" * (MEMORY_WIDTH + 1)} FROM chosen
UNION ALL SELECT {"NULL, " * TRACE_WIDTH}{RATED_COLUMNS}
FROM memories WHERE id IN (SELECT s.value FROM chosen, json_each(chosen.body, '$.strategies') AS s)
"""  # noqa: S608 - constant columns
"""Traces, and in rows without a number the strategies that they taught with the ratings of these."""
