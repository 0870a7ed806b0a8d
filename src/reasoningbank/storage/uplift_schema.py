"""The migration behind the hold-out: what each session was shown or kept from, and how it ended.

What a session met are rows of their own, so that an erased memory takes them along.
"""

from __future__ import annotations

import apsw

TABLES = """
CREATE TABLE exposures (
    number INTEGER PRIMARY KEY,
    session TEXT NOT NULL UNIQUE,
    body TEXT NOT NULL,
    checksum BLOB NOT NULL
) STRICT;

CREATE TABLE exposure_items (
    exposure INTEGER NOT NULL REFERENCES exposures ON DELETE CASCADE,
    key INTEGER NOT NULL REFERENCES memories ON DELETE CASCADE,
    position INTEGER NOT NULL,
    how TEXT NOT NULL,
    succeeded INTEGER,
    checksum BLOB NOT NULL,
    PRIMARY KEY (exposure, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX exposure_items_by_memory ON exposure_items (key);
"""


def uplift_schema(connection: apsw.Connection) -> None:
    """Exposures and what they met."""
    connection.execute(TABLES)
