"""The SQL of a search, for SQLite: what it reads before its memories, in the order in which it is run.

A search reads in one transaction: the state of the bank with all that has changed since the last search, the first time
with all that no sidecar holds (``LOOK_SQL``), and where the words of the query occur (``POSTINGS_SQL``). The memories
that it delivers are read by ``MemoryTables.many`` and counted by ``update_states`` (``memory_tables.py``); the delivery
is logged by ``DeliveryTables`` (``delivery_tables.py``).
"""

from __future__ import annotations

from reasoningbank.storage.evidence_tables import RATED_COLUMNS
from reasoningbank.storage.memory_tables import CONSOLIDATED_SQL, MEMORY_WIDTH
from reasoningbank.storage.rows import LAST, WEIGHT_COLUMNS
from reasoningbank.types.recall import VECTOR_LEGS

_KNOWN = (
    "CASE WHEN {0} < 0 THEN -1 ELSE (SELECT coalesce(max(key), -1) FROM "
    "(SELECT key FROM memories WHERE born <= {0} ORDER BY key DESC LIMIT 1) AS made) END"
)
"""The last key of a memory that was made up to a change: one look at every memory that was made since."""


def _changed_since(change: str, columns: str, joined: str) -> str:
    """Return a query for the memories ``m`` that were changed or made after a change of ``since``.

    All of them after a change below 0.

    Keys are given out in the order of changes, so the new ones are those after the last that was there; the others
    are in the index of rows that were changed after they were made. What was made up to a change is told by the row
    itself: compared with the last key of then, SQLite would look that up for every row that has changed.

    Args:
        change: The column of ``since`` that holds the change; another one holds the last key that was there.
        columns: What is read; the rows ascend by the first column, which must ascend with the key.
        joined: Joins of what hangs on the memories.
    """
    return (
        f"SELECT {columns} FROM since CROSS JOIN memories AS m INDEXED BY memories_by_change {joined} "  # noqa: S608
        f"WHERE m.change <> m.born AND m.change > since.{change} AND m.born <= since.{change} "
        f"UNION ALL SELECT {columns} FROM since CROSS JOIN memories AS m {joined} "
        f"WHERE m.key > since.{change}_key ORDER BY 1"
    )


_FACTS = (
    "SELECT NULL, name, value, {0} FROM counters "
    "UNION ALL SELECT NULL, 'standing', user_version, {2}, {1} FROM pragma_user_version "
    "LEFT JOIN weight_history ON number = (SELECT max(number) FROM weight_history) "
    "UNION ALL SELECT NULL, name, value, {0} FROM meta "
    "UNION ALL SELECT NULL, NULL, key, {0} FROM deletions WHERE change > (SELECT change FROM known)"
)
_COUNT_OF_WEIGHTS = WEIGHT_COLUMNS.count(",") + 1
_LEGS = tuple(range(len(VECTOR_LEGS)))
_COLUMNS = (
    f"m.key, m.outcome, m.state, m.category, m.confidence, m.created_at, m.tags, {CONSOLIDATED_SQL}, m.indexed, "
    "m.context_start, m.context_words, m.id"
)
_WIDTH = _COLUMNS.count(",") + 2 - CONSOLIDATED_SQL.count(",")


def _nulls(used: int) -> str:
    """Return what fills a row of which so many columns are used."""
    return ", ".join(["NULL"] * (_WIDTH - used))


CHANGED_COLUMNS_SQL = _changed_since(
    "change",
    f"{_COLUMNS}, d.sz",
    "LEFT JOIN memory_text_docsize AS d ON d.id = m.key AND m.indexed > since.change",
)
CHANGED_VECTORS_SQL = _changed_since(
    "least",
    f"m.key, NULL, v.id, v.vector, v.checksum, {_nulls(5)}",
    "CROSS JOIN vectors AS v ON m.indexed > since.least AND v.id BETWEEN ?2 * m.key AND ?2 * m.key + ?3 "
    f"AND m.indexed > CASE v.id - ?2 * m.key {' '.join(f'WHEN {leg} THEN leg{leg}' for leg in _LEGS)} END",
)


def since_sql(held: str, facts: str) -> str:
    """Return the tables up to ``since``, whose one row says up to which changes the bank is known (see LOOK_SQL).

    Args:
        held: The table ``w`` of the elements of the list ?5, in the column ``value``.
        facts: The table ``f`` of what such an element says of ``meta``, in the columns ``key`` and ``value``.
    """
    starts = {leg: f"coalesce((SELECT max(h.change) FROM held AS h WHERE leg = {leg}), k.change)" for leg in _LEGS}  # noqa: S608
    # With MATERIALIZED SQLite would prepare the statement anew each time, which takes a millisecond.
    return f"""
WITH known AS (
    SELECT CASE WHEN ?1 BETWEEN 0 AND (SELECT value FROM counters WHERE name = 'change')
        AND (SELECT value FROM meta WHERE name = 'bank') || ' '
        || coalesce((SELECT value FROM meta WHERE name = 'space'), '') = ?4 THEN ?1 ELSE -1 END AS change
), held AS (
    SELECT CAST(w.value ->> 0 AS INTEGER) AS leg, CAST(w.value ->> 1 AS INTEGER) AS change FROM {held}
    WHERE NOT EXISTS (
        SELECT 1 FROM {facts} WHERE coalesce((SELECT value FROM meta WHERE name = f.key), '') <> f.value
    )
), legs AS (
    SELECT change, {", ".join(f"{each} AS leg{leg}" for leg, each in starts.items())} FROM known AS k
), leasts AS (
    SELECT *, CASE ?3 {" ".join(f"WHEN {last} THEN least({_upto(last)})" for last in _LEGS[1:])} END AS least FROM legs
), since AS (
    SELECT *, {_KNOWN.format("l.change")} AS change_key, {_KNOWN.format("l.least")} AS least_key FROM leasts AS l
)
"""  # noqa: S608 - constant columns


def _upto(last: int) -> str:
    """Return the columns of the changes of the legs up to that one."""
    return ", ".join(f"leg{leg}" for leg in _LEGS if leg <= last)


def _look() -> str:
    """Return the query for what the bank says of itself, then columns, then vectors that have changed, then LAST.

    The parts have no common order, so SQLite gives one after another, and makes none before it is asked for its rows:
    who sees at the first row that nothing has changed reads no further.
    """
    return f"""{since_sql("json_each(?5) AS w", "json_each(w.value, '$[2]') AS f")}
{_FACTS.format(_nulls(3), _nulls(3 + _COUNT_OF_WEIGHTS), WEIGHT_COLUMNS)}
UNION ALL SELECT * FROM ({CHANGED_COLUMNS_SQL})
UNION ALL SELECT * FROM ({CHANGED_VECTORS_SQL})
UNION ALL SELECT {LAST}, NULL, NULL, {_nulls(3)}
"""  # noqa: S608 - constant columns


LOOK_SQL = _look()
"""All that a search needs of what the bank is now, or of what has changed in it.

Rows without a key hold facts of the bank about itself. Then come the columns of the memories that were changed or made
after ?1, with the length of a text that was changed; then, in rows with a key and no outcome, vectors of the legs up to
the ?3rd, of which ?2 have numbers; then LAST. All memories are new where ?1 is below 0, and where the bank is not ?4
any more or has seen fewer changes. So are all vectors then, but of a leg that is held up to a change: ?5 lists the leg
and the change with what ``meta`` says as long as that is so.
"""

NAMED_VECTORS_SQL = (
    "SELECT v.id, v.vector, v.checksum FROM memories AS m JOIN vectors AS v ON v.id = ?1 * m.key + ?2 "
    "WHERE m.indexed <= ?3 AND m.key IN (SELECT value FROM numbers_in(?4)) ORDER BY m.key"
)
CHANGED_KEYS_SQL = (
    "SELECT key FROM (SELECT key FROM memories WHERE change <> born AND change > ?1 "  # noqa: S608 - a constant
    f"UNION ALL SELECT key FROM memories WHERE key > {_KNOWN.format('?1')}) AS changed LIMIT ?2"
)
"""The keys of at most ?2 memories that were changed or made after the change ?1; some twice."""
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

KEYS_SQL = "SELECT key FROM memories WHERE id IN (SELECT value FROM texts_in(?))"

_TRACE_STATE = (
    "(SELECT value FROM meta WHERE name = 'bank') "
    "|| ' ' || coalesce((SELECT value FROM meta WHERE name = 'space'), '') "
    "|| ' ' || coalesce((SELECT CAST(max(replaced) AS TEXT) FROM trace_vectors WHERE replaced IS NOT NULL), '')"
)
TRACE_PARTS = (
    f"SELECT 'state', {_TRACE_STATE}, NULL",
    "SELECT name, value, NULL FROM meta WHERE name = 'dimension'",
    "SELECT number, vector, checksum FROM trace_vectors "  # noqa: S608 - constant
    f"WHERE number > CASE WHEN {_TRACE_STATE} = ?1 THEN ?2 ELSE -1 END ORDER BY number DESC LIMIT ?3",
)
TRACE_VECTORS_SQL = " UNION ALL ".join((*TRACE_PARTS[:-1], f"SELECT * FROM ({TRACE_PARTS[-1]})"))  # noqa: S608 - constant
"""The state of the traces' vectors and their dimension, by name, then the newest vectors by number.

They are those after the ?2nd where the state is still ?1, which tells whether the vectors that are known hold.
"""
_TRACE = "number, id, session, body, checksum"
TRACE_WIDTH = _TRACE.count(",") + 1
TRACES_SQL = f"""
WITH chosen AS MATERIALIZED (SELECT {_TRACE} FROM traces WHERE number IN (SELECT value FROM numbers_in(?)))
SELECT {_TRACE}{", NULL" * (MEMORY_WIDTH + 1)} FROM chosen
UNION ALL SELECT {"NULL, " * TRACE_WIDTH}{RATED_COLUMNS}
FROM memories WHERE id IN (SELECT s.value FROM chosen, json_each(chosen.body, '$.strategies') AS s)
"""  # noqa: S608 - constant columns
"""Traces, and in rows without a number the strategies that they taught with the ratings of these."""
