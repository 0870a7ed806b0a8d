"""The schema as an ordered list of small migrations; ``user_version`` counts how many a file has had.

A path is one text of labels, each followed by a NUL: then a document lies below a path exactly when its text begins
with that of the path, and one index serves both. A document is a JSON text beside the columns that it is looked up by.

A node's or an edge's key is never given out twice. An *item* is either: a node's key, or an edge's key above 2**40.
What follows from a row is stored where a query needs it: an event's window in microseconds, the tags once more as an
index, the analysed words for the text indexes. ``change`` is the number of the last transaction that changed the words;
a vector has one of its own, for it may come later. Items that were deleted (``gone``), or whose text was replaced,
leave their number behind, so that other processes forget their vectors.

Where in a memory's words those of its description stand is told by two columns of the memory.

The log begins when a bank gets this schema. A bank that has memories by then did things that nobody wrote down, so it
notes since when its log says everything. Of an erased memory two times are kept and nothing else.

A trajectory is two rows, so that a list of trajectories does not read what happened in them: its head, which can be
marked as distilled, and its body, compressed and never changed. Origins, refusals and judgements are JSON texts beside
the columns that they are looked up by; every row carries a checksum of all of it. An origin names its trajectory as a
text, for it outlives the trajectory.

The times of rolled-up signals are gone. When the newest of them was given decides how many months a memory has not been
used, so an aggregate keeps that; one that an earlier version made says nothing, and then ``SignalAggregate.active_at``
takes the latest time that is possible.

What a session met are rows of their own, so that an erased memory takes them along.

A migration is never edited once released: a change is a new function at the end.

``counters`` gives the number of the last transaction that changed memories and the last key given out; neither is ever
used twice. A memory's row names the transactions that made it (``born``), that last changed it (``change``) and that
last changed its derived parts (``indexed``). The id of a vector is its memory's key and leg in one number
(``rows.vector_id``).

Every page that a transaction touches is written twice and forced to the disk once, and a new memory touches one page of
every table and index that it is put into. So there is no index that a query does not need, and nothing is stored that
follows from something else: keys are given out in the order of changes, so only rows that were changed after they were
made are indexed by change; both counters follow from the rows, above a floor that is raised when no row says so; the
text index keeps no copy of the texts, which are columns of the memories. The columns that every memory's filter needs
come before the long ones, so that they are read without the overflow pages.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import cast

import apsw

from reasoningbank.errors import StoreCorrupt, StoreTooNew, StoreUnavailable
from reasoningbank.storage.rows import Row, checksum

DOCUMENT_TABLES = """
CREATE TABLE documents (
    number INTEGER PRIMARY KEY,
    collection TEXT NOT NULL,
    path TEXT NOT NULL,
    key TEXT NOT NULL,
    body TEXT NOT NULL,
    checksum BLOB NOT NULL,
    UNIQUE (collection, path, key)
) STRICT;

CREATE TABLE document_vectors (
    document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
    position INTEGER NOT NULL,
    vector BLOB NOT NULL,
    checksum BLOB NOT NULL,
    PRIMARY KEY (document, position)
) STRICT;
"""


def document_schema(connection: apsw.Connection) -> None:
    """Add documents and their vectors."""
    connection.execute(DOCUMENT_TABLES)


GRAPH_TABLES = """
CREATE TABLE graph_nodes (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    label TEXT NOT NULL,
    conv_id TEXT NOT NULL,
    ingestion_time INTEGER NOT NULL,
    update_time INTEGER NOT NULL,
    tags TEXT NOT NULL,
    fields TEXT NOT NULL,
    text TEXT NOT NULL,
    checksum BLOB NOT NULL,
    starts INTEGER,
    ends INTEGER,
    change INTEGER NOT NULL,
    words TEXT NOT NULL
) STRICT;
CREATE INDEX graph_nodes_by_conversation ON graph_nodes (conv_id, ingestion_time) WHERE conv_id <> '';
CREATE INDEX graph_nodes_by_change ON graph_nodes (change);
CREATE INDEX graph_nodes_by_start ON graph_nodes (starts, ends) WHERE starts IS NOT NULL;

CREATE TABLE graph_edges (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    source INTEGER NOT NULL REFERENCES graph_nodes ON DELETE CASCADE,
    target INTEGER NOT NULL REFERENCES graph_nodes ON DELETE CASCADE,
    weight REAL NOT NULL,
    created_time INTEGER NOT NULL,
    tags TEXT NOT NULL,
    text TEXT NOT NULL,
    checksum BLOB NOT NULL,
    change INTEGER NOT NULL,
    words TEXT NOT NULL
) STRICT;
CREATE INDEX graph_edges_by_source ON graph_edges (source);
CREATE INDEX graph_edges_by_target ON graph_edges (target);
CREATE INDEX graph_edges_by_change ON graph_edges (change);

CREATE TABLE graph_tags (tag TEXT NOT NULL, item INTEGER NOT NULL, PRIMARY KEY (tag, item)) STRICT, WITHOUT ROWID;

CREATE TABLE graph_pointers (
    node INTEGER NOT NULL REFERENCES graph_nodes ON DELETE CASCADE,
    memory INTEGER NOT NULL REFERENCES memories ON DELETE CASCADE,
    checksum BLOB NOT NULL,
    PRIMARY KEY (node, memory)
) STRICT, WITHOUT ROWID;
CREATE INDEX graph_pointers_by_memory ON graph_pointers (memory);

CREATE TABLE graph_vectors (
    item INTEGER PRIMARY KEY,
    vector BLOB NOT NULL,
    checksum BLOB NOT NULL,
    change INTEGER NOT NULL
) STRICT;
CREATE INDEX graph_vectors_by_change ON graph_vectors (change);

CREATE TABLE graph_deletions (item INTEGER PRIMARY KEY, change INTEGER NOT NULL, gone INTEGER NOT NULL) STRICT;
CREATE INDEX graph_deletions_by_change ON graph_deletions (change);

CREATE VIRTUAL TABLE graph_node_text USING fts5 (
    words, content = 'graph_nodes', content_rowid = 'key', tokenize = 'porter unicode61 remove_diacritics 2'
);
CREATE VIRTUAL TABLE graph_edge_text USING fts5 (
    words, content = 'graph_edges', content_rowid = 'key', tokenize = 'porter unicode61 remove_diacritics 2'
);
INSERT INTO graph_node_text (graph_node_text, rank) VALUES ('secure-delete', 1), ('pgsz', 1950);
INSERT INTO graph_edge_text (graph_edge_text, rank) VALUES ('secure-delete', 1), ('pgsz', 1950);

ALTER TABLE memories ADD COLUMN context_start INTEGER NOT NULL DEFAULT 0;
ALTER TABLE memories ADD COLUMN context_words INTEGER NOT NULL DEFAULT 0;
"""


def graph_schema(connection: apsw.Connection) -> None:
    """Add nodes, edges, their links to memories; the words of a memory's description can be told from its other words.

    A memory that was stored before is found by the words of its description when it is indexed anew.
    """
    connection.execute(GRAPH_TABLES)


CHANGES_SINCE = "changes since"
"""The entry of ``meta`` with the microseconds since when the log is complete; none when it always was."""
QUARANTINE_TABLES = """
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
    """Add state changes and erasures with their times."""
    connection.execute(QUARANTINE_TABLES)
    if connection.execute("SELECT 1 FROM memories UNION ALL SELECT 1 FROM deletions LIMIT 1").get is not None:
        connection.execute(
            "INSERT INTO meta VALUES (?, CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER))",
            (CHANGES_SINCE,),
        )


SESSION_TABLES = """
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
    """Add trajectories, judgements, origins, refusals and traces; jobs get leases and can die, and none is lost."""
    connection.execute(SESSION_TABLES)
    rows = connection.execute("SELECT kind, key, due, payload, attempts FROM jobs_without_leases").fetchall()
    for row in rows:
        job: Row = (*cast(Row, row), "", 0, "", None)
        connection.execute(
            f"INSERT INTO jobs ({JOB_COLUMNS}, checksum) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608 - constant
            (*job, checksum(job)),
        )
    connection.execute("DROP TABLE jobs_without_leases")
    connection.execute("CREATE INDEX jobs_by_due ON jobs (due) WHERE died IS NULL")


_COLUMNS = (
    "stability_positive INTEGER NOT NULL DEFAULT 0",
    "stability_negative INTEGER NOT NULL DEFAULT 0",
    "disuse_negative INTEGER NOT NULL DEFAULT 0",
    "last_activity INTEGER",
    "last_disuse INTEGER",
)


def lifecycle_schema(connection: apsw.Connection) -> None:
    """Count of stability and disuse, and the times of the newest rolled-up evidence."""
    for column in _COLUMNS:
        connection.execute(f"ALTER TABLE aggregates ADD COLUMN {column}")


UPLIFT_TABLES = """
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
    """Add exposures and what they met."""
    connection.execute(UPLIFT_TABLES)


APPLICATION_ID = 0x52424E4B
"""Marks the file as a bank ("RBNK")."""
MIGRATIONS: list[Callable[[apsw.Connection], None]] = []
migration = MIGRATIONS.append

TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE floors (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO floors VALUES ('change', 0), ('key', 0);

CREATE TABLE memories (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    outcome TEXT NOT NULL,
    category TEXT NOT NULL,
    state TEXT NOT NULL,
    tags TEXT NOT NULL,
    prior INTEGER NOT NULL,
    positive INTEGER NOT NULL,
    negative INTEGER NOT NULL,
    confidence REAL NOT NULL,
    usage_count INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    consolidation_id TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    last_used INTEGER,
    version INTEGER NOT NULL,
    fingerprint BLOB NOT NULL,
    checksum BLOB NOT NULL,
    born INTEGER NOT NULL,
    change INTEGER NOT NULL,
    indexed INTEGER NOT NULL,
    title TEXT NOT NULL,
    description TEXT NOT NULL,
    content TEXT NOT NULL,
    provenance TEXT NOT NULL,
    text TEXT NOT NULL
) STRICT;
CREATE INDEX memories_by_change ON memories (change) WHERE change <> born;
CREATE INDEX memories_by_fingerprint ON memories (fingerprint);

CREATE VIRTUAL TABLE memory_text USING fts5 (
    text, content = 'memories', content_rowid = 'key', tokenize = 'porter unicode61 remove_diacritics 2'
);
INSERT INTO memory_text (memory_text, rank) VALUES ('secure-delete', 1), ('pgsz', 1950);

CREATE TABLE vectors (id INTEGER PRIMARY KEY, vector BLOB NOT NULL, checksum BLOB NOT NULL) STRICT;

CREATE TABLE deletions (key INTEGER PRIMARY KEY, change INTEGER NOT NULL) STRICT;
CREATE INDEX deletions_by_change ON deletions (change);

CREATE VIEW counters (name, value) AS
SELECT 'change', max(
    (SELECT value FROM floors WHERE name = 'change'),
    coalesce((SELECT born FROM memories ORDER BY key DESC LIMIT 1), 0),
    coalesce((SELECT max(change) FROM memories WHERE change <> born), 0),
    coalesce((SELECT max(change) FROM deletions), 0)
)
UNION ALL
SELECT 'key', max(
    (SELECT value FROM floors WHERE name = 'key'),
    coalesce((SELECT max(key) FROM memories), 0),
    coalesce((SELECT max(key) FROM deletions), 0)
);

CREATE TABLE revisions (
    key INTEGER NOT NULL REFERENCES memories ON DELETE CASCADE,
    version INTEGER NOT NULL,
    memory TEXT NOT NULL,
    checksum BLOB NOT NULL,
    PRIMARY KEY (key, version)
) STRICT, WITHOUT ROWID;

CREATE TABLE signals (
    id TEXT PRIMARY KEY,
    key INTEGER NOT NULL REFERENCES memories ON DELETE CASCADE,
    type TEXT NOT NULL,
    positive INTEGER NOT NULL,
    session TEXT NOT NULL,
    rater TEXT NOT NULL,
    at INTEGER NOT NULL,
    weight INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX signals_by_memory ON signals (key, at);
CREATE INDEX signals_by_age ON signals (at);

CREATE TABLE counted (
    key INTEGER NOT NULL REFERENCES memories ON DELETE CASCADE,
    type TEXT NOT NULL,
    session TEXT NOT NULL,
    PRIMARY KEY (key, type, session)
) STRICT, WITHOUT ROWID;

CREATE TABLE aggregates (
    key INTEGER PRIMARY KEY REFERENCES memories ON DELETE CASCADE,
    explicit_positive INTEGER NOT NULL,
    explicit_negative INTEGER NOT NULL,
    usage_positive INTEGER NOT NULL,
    usage_negative INTEGER NOT NULL,
    outcome_positive INTEGER NOT NULL,
    outcome_negative INTEGER NOT NULL,
    positive INTEGER NOT NULL,
    negative INTEGER NOT NULL,
    last_rollup INTEGER NOT NULL
) STRICT;

CREATE TABLE weight_history (
    number INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    signal_id TEXT NOT NULL,
    explicit_alpha REAL NOT NULL,
    explicit_beta REAL NOT NULL,
    usage_alpha REAL NOT NULL,
    usage_beta REAL NOT NULL,
    outcome_alpha REAL NOT NULL,
    outcome_beta REAL NOT NULL
) STRICT;

CREATE TABLE recalls (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    at INTEGER NOT NULL,
    query TEXT NOT NULL,
    session TEXT NOT NULL,
    embedder TEXT NOT NULL,
    tokens INTEGER NOT NULL
) STRICT;

CREATE TABLE recall_items (
    recall INTEGER NOT NULL REFERENCES recalls ON DELETE CASCADE,
    position INTEGER NOT NULL,
    key INTEGER NOT NULL REFERENCES memories ON DELETE CASCADE,
    unproven INTEGER NOT NULL,
    relevance REAL NOT NULL,
    legs TEXT NOT NULL,
    PRIMARY KEY (recall, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX recall_items_by_memory ON recall_items (key);

CREATE TABLE links (
    source TEXT NOT NULL,
    target TEXT NOT NULL,
    kind TEXT NOT NULL,
    PRIMARY KEY (source, target, kind)
) STRICT, WITHOUT ROWID;
CREATE INDEX links_by_target ON links (target);

CREATE TABLE jobs (
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    due INTEGER NOT NULL,
    payload TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX jobs_by_due ON jobs (due);
"""


@migration
def first_schema(connection: apsw.Connection) -> None:
    """Add memories, what is derived from them, their evidence and what was delivered."""
    connection.execute(TABLES)
    connection.execute("INSERT INTO meta VALUES ('bank', ?)", (str(uuid.uuid4()),))
    if connection.reserve_bytes("main", -1):
        connection.execute("INSERT INTO meta VALUES ('checksums', 'page')")
    connection.pragma("application_id", APPLICATION_ID)


migration(learning_schema)
migration(guarding_schema)
migration(uplift_schema)
migration(document_schema)
migration(lifecycle_schema)
migration(graph_schema)


def schema_version(connection: apsw.Connection) -> int:
    """Return how many migrations the file has had."""
    return int(str(connection.pragma("user_version")))


def check_readable(connection: apsw.Connection, name: str) -> int:
    """Refuse a file that this version must not touch; return how many migrations it has had.

    Raises:
        StoreTooNew: When a newer version has written it.
        StoreUnavailable: When it is a database of another program.
        StoreCorrupt: When its header says that its pages have no checksums, and it was made with them.
    """
    version = schema_version(connection)
    if version == 0 and connection.execute("SELECT count(*) FROM sqlite_schema").get == 0:
        return 0
    if connection.pragma("application_id") != APPLICATION_ID:
        raise StoreUnavailable(
            f"{name} is a database of another program", hint="Name a file that does not exist yet, or a bank's file."
        )
    if version > len(MIGRATIONS):
        raise StoreTooNew(f"{name} has schema {version}; this version knows schemas up to {len(MIGRATIONS)}")
    if (
        connection.reserve_bytes("main", -1) == 0
        and connection.execute("SELECT value FROM meta WHERE name = 'checksums'").get is not None
    ):
        raise StoreCorrupt(f"the header of {name} has lost its page checksums")
    return version


def migrate(connection: apsw.Connection) -> None:
    """Apply what is missing, each migration and its number in one transaction."""
    for number in range(schema_version(connection), len(MIGRATIONS)):
        connection.execute("BEGIN IMMEDIATE")
        try:
            MIGRATIONS[number](connection)
            connection.pragma("user_version", number + 1)
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")
