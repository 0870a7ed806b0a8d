"""The migration of the contextual graph: nodes, edges, their words and vectors, and their links to memories.

A node's or an edge's key is never given out twice. An *item* is either: a node's key, or an edge's key above 2**40.
What follows from a row is stored where a query needs it: an event's window in microseconds, the tags once more as an
index, the analysed words for the text indexes. ``change`` is the number of the last transaction that changed the words;
a vector has one of its own, for it may come later. Items that were deleted (``gone``), or whose text was replaced,
leave their number behind, so that other processes forget their vectors.

Where in a memory's words those of its description stand is told by two columns of the memory.
"""

from __future__ import annotations

import apsw

TABLES = """
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
    """Nodes, edges, their links to memories; the words of a memory's description can be told from its other words.

    A memory that was stored before is found by the words of its description when it is indexed anew.
    """
    connection.execute(TABLES)
