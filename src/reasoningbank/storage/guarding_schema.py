"""The migration behind ``as_of`` and quarantine: every change of a memory's state with its time and its reason.

The log begins when a bank gets this schema. A bank that has memories by then did things that nobody wrote down, so it
notes since when its log says everything. Of an erased memory two times are kept and nothing else.
"""

from __future__ import annotations

import apsw

CHANGES_SINCE = "changes since"
"""The entry of ``meta`` with the microseconds since when the log is complete; none when it always was."""
TABLES = """
CREATE TABLE state_changes (
    number INTEGER PRIMARY KEY,
    memory INTEGER NOT NULL REFERENCES memories ON DELETE CASCADE,
    at INTEGER NOT NULL,
    reference TEXT NOT NULL,
    body TEXT NOT NULL,
    checksum BLOB NOT NULL
) STRICT;
CREATE INDEX state_changes_by_memory ON state_changes (memory);
CREATE INDEX state_changes_by_reference ON state_changes (reference) WHERE reference <> '';

CREATE TABLE erasures (
    number INTEGER PRIMARY KEY,
    created_at INTEGER NOT NULL,
    at INTEGER NOT NULL,
    checksum BLOB NOT NULL
) STRICT;
"""


def guarding_schema(connection: apsw.Connection) -> None:
    """State changes and erasures with their times."""
    connection.execute(TABLES)
    if connection.execute("SELECT 1 FROM memories UNION ALL SELECT 1 FROM deletions LIMIT 1").get is not None:
        connection.execute(
            "INSERT INTO meta VALUES (?, CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER))",
            (CHANGES_SINCE,),
        )
