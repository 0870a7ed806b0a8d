"""The migration behind decay and code stability: rolled-up counts of both, and when a memory was last alive.

The times of rolled-up signals are gone. When the newest of them was given decides how many months a memory has not been
used, so an aggregate keeps that; one that an earlier version made says nothing, and then ``SignalAggregate.active_at``
takes the latest time that is possible.
"""

from __future__ import annotations

import apsw

_COLUMNS = (
    "stability_positive INTEGER NOT NULL DEFAULT 0",
    "stability_negative INTEGER NOT NULL DEFAULT 0",
    "disuse_negative INTEGER NOT NULL DEFAULT 0",
    "last_activity INTEGER",
    "last_disuse INTEGER",
)


def lifecycle_schema(connection: apsw.Connection) -> None:
    """Counts of stability and disuse, and the times of the newest rolled-up evidence."""
    for column in _COLUMNS:
        connection.execute(f"ALTER TABLE aggregates ADD COLUMN {column}")
