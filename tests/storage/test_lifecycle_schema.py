"""The migration keeps what was rolled up before it."""

from __future__ import annotations

from pathlib import Path

import apsw

from promises import promise
from reasoningbank.storage.schema import MIGRATIONS, lifecycle_schema
from reasoningbank.storage.sqlite_connection import ConnectionSource


@promise("storage:idle")
def test_rolled_up_counts_of_an_earlier_schema_stay_and_say_nothing_of_times() -> None:
    connection = apsw.Connection(":memory:")
    writer = ConnectionSource(Path("bank.db"), "p", connection, None)
    place = MIGRATIONS.index(lifecycle_schema)
    for migration in MIGRATIONS[:place]:
        migration(writer)
    connection.execute("INSERT INTO aggregates VALUES (1, 1, 2, 3, 4, 5, 6, 7, 8, 9)")
    for migration in MIGRATIONS[place:]:
        migration(writer)
    assert list(connection.execute("SELECT * FROM aggregates")) == [(1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0, 0, None, None)]
