"""The schema as an ordered list of small migrations; ``user_version`` counts how many a file has had.

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

import apsw

from reasoningbank.errors import StoreCorrupt, StoreTooNew, StoreUnavailable
from reasoningbank.storage.document_schema import document_schema
from reasoningbank.storage.graph_schema import graph_schema
from reasoningbank.storage.guarding_schema import guarding_schema
from reasoningbank.storage.learning_schema import learning_schema
from reasoningbank.storage.lifecycle_schema import lifecycle_schema
from reasoningbank.storage.uplift_schema import uplift_schema

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
    """Memories, what is derived from them, their evidence and what was delivered."""
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
    """How many migrations the file has had."""
    return int(str(connection.pragma("user_version")))


def check_readable(connection: apsw.Connection, name: str) -> int:
    """Refuses a file that this version must not touch; returns how many migrations it has had.

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
    """Applies what is missing, each migration and its number in one transaction."""
    for number in range(schema_version(connection), len(MIGRATIONS)):
        connection.execute("BEGIN IMMEDIATE")
        try:
            MIGRATIONS[number](connection)
            connection.pragma("user_version", number + 1)
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")
