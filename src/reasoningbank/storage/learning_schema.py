"""The second migration: what sessions and searches teach, and jobs that can be held.

A trajectory is two rows, so that a list of trajectories does not read what happened in them: its head, which can be
marked as distilled, and its body, compressed and never changed. Origins, refusals and judgements are JSON texts beside
the columns that they are looked up by; every row carries a checksum of all of it. An origin names its trajectory as a
text, for it outlives the trajectory.
"""

from __future__ import annotations

from typing import cast

import apsw

from reasoningbank.storage.rows import Row, checksum

TABLES = """
CREATE TABLE trajectories (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    key TEXT UNIQUE,
    digest TEXT NOT NULL UNIQUE,
    session TEXT NOT NULL,
    source TEXT NOT NULL,
    steps INTEGER NOT NULL,
    at INTEGER NOT NULL,
    distilled INTEGER,
    task TEXT NOT NULL,
    checksum BLOB NOT NULL
) STRICT;

CREATE TABLE trajectory_bodies (
    number INTEGER PRIMARY KEY REFERENCES trajectories ON DELETE CASCADE,
    body BLOB NOT NULL,
    checksum BLOB NOT NULL
) STRICT;

CREATE TABLE judgements (
    number INTEGER PRIMARY KEY,
    trajectory INTEGER NOT NULL REFERENCES trajectories ON DELETE CASCADE,
    verdict TEXT NOT NULL,
    body TEXT NOT NULL,
    checksum BLOB NOT NULL
) STRICT;
CREATE INDEX judgements_by_trajectory ON judgements (trajectory);

CREATE TABLE origins (
    number INTEGER PRIMARY KEY,
    memory INTEGER NOT NULL REFERENCES memories ON DELETE CASCADE,
    trajectory TEXT NOT NULL,
    body TEXT NOT NULL,
    checksum BLOB NOT NULL,
    UNIQUE (memory, trajectory)
) STRICT;
CREATE INDEX origins_by_trajectory ON origins (trajectory);

CREATE TABLE refusals (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    trajectory TEXT NOT NULL,
    body TEXT NOT NULL,
    checksum BLOB NOT NULL
) STRICT;
CREATE INDEX refusals_by_trajectory ON refusals (trajectory);

CREATE TABLE traces (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    session TEXT NOT NULL,
    body TEXT NOT NULL,
    checksum BLOB NOT NULL
) STRICT;

CREATE TABLE trace_vectors (
    number INTEGER PRIMARY KEY REFERENCES traces ON DELETE CASCADE,
    vector BLOB NOT NULL,
    checksum BLOB NOT NULL,
    replaced INTEGER
) STRICT;
CREATE INDEX trace_vectors_by_replacement ON trace_vectors (replaced) WHERE replaced IS NOT NULL;

ALTER TABLE jobs RENAME TO jobs_without_leases;
CREATE TABLE jobs (
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    due INTEGER NOT NULL,
    payload TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    lease TEXT NOT NULL,
    until INTEGER NOT NULL,
    error TEXT NOT NULL,
    died INTEGER,
    checksum BLOB NOT NULL,
    PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;
"""
JOB_COLUMNS = "kind, key, due, payload, attempts, lease, until, error, died"


def learning_schema(connection: apsw.Connection) -> None:
    """Trajectories, judgements, origins, refusals and traces; jobs get leases and can die, and none is lost."""
    connection.execute(TABLES)
    rows = connection.execute("SELECT kind, key, due, payload, attempts FROM jobs_without_leases").fetchall()
    for row in rows:
        job: Row = (*cast(Row, row), "", 0, "", None)
        connection.execute(
            f"INSERT INTO jobs ({JOB_COLUMNS}, checksum) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608 - constant
            (*job, checksum(job)),
        )
    connection.execute("DROP TABLE jobs_without_leases")
    connection.execute("CREATE INDEX jobs_by_due ON jobs (due) WHERE died IS NULL")
