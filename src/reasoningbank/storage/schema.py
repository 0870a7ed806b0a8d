"""The schema as an ordered list of small migrations; a bank counts how many it has had.

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
from datetime import UTC, datetime

from reasoningbank.storage import (
    delivery_tables,
    document_tables,
    evidence_tables,
    graph_tables,
    job_tables,
    memory_tables,
    session_tables,
)
from reasoningbank.storage.connection import Writer
from reasoningbank.storage.rows import to_microseconds

TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);

CREATE TABLE floors (name TEXT PRIMARY KEY, value INTEGER NOT NULL);
"""

COUNTERS = """
CREATE VIEW counters (name, value) AS
SELECT 'change', greatest(
    (SELECT value FROM floors WHERE name = 'change'),
    coalesce((SELECT born FROM memories ORDER BY key DESC LIMIT 1), 0),
    coalesce((SELECT max(change) FROM memories WHERE change <> born), 0),
    coalesce((SELECT max(change) FROM deletions), 0)
)
UNION ALL
SELECT 'key', greatest(
    (SELECT value FROM floors WHERE name = 'key'),
    coalesce((SELECT max(key) FROM memories), 0),
    coalesce((SELECT max(key) FROM deletions), 0)
);
"""


def first_schema(writer: Writer) -> None:
    """Add memories, what is derived from them, their evidence and what was delivered."""
    writer.run(TABLES)
    writer.run(memory_tables.TABLES)
    writer.index_text("memories", "text")
    writer.run(COUNTERS)
    for tables in (evidence_tables.TABLES, delivery_tables.TABLES, job_tables.FIRST_TABLES):
        writer.run(tables)
    begin_bank(writer)


def begin_bank(writer: Writer) -> None:
    """Give a bank without any row its floors and its identifier."""
    writer.run("INSERT INTO floors VALUES ('change', 0), ('key', 0)")
    writer.run("INSERT INTO meta VALUES ('bank', ?)", (str(uuid.uuid4()),))


def learning_schema(writer: Writer) -> None:
    """Add trajectories, judgements, origins, refusals and traces; jobs get leases and can die, and none is lost."""
    writer.run(session_tables.TABLES)
    job_tables.give_leases(writer)


def guarding_schema(writer: Writer) -> None:
    """Add state changes and erasures with their times."""
    writer.run(memory_tables.CHANGE_TABLES)
    if writer.run("SELECT 1 FROM memories UNION ALL SELECT 1 FROM deletions LIMIT 1"):
        now = str(to_microseconds(datetime.now(UTC)))
        writer.run("INSERT INTO meta VALUES (?, ?)", (memory_tables.CHANGES_SINCE, now))


def uplift_schema(writer: Writer) -> None:
    """Add exposures and what they met."""
    writer.run(delivery_tables.EXPOSURE_TABLES)


def document_schema(writer: Writer) -> None:
    """Add documents and their vectors."""
    writer.run(document_tables.TABLES)


def lifecycle_schema(writer: Writer) -> None:
    """Count stability and disuse, and keep the times of the newest rolled-up evidence."""
    writer.run(evidence_tables.TIME_COLUMNS)


def graph_schema(writer: Writer) -> None:
    """Add nodes, edges, their links to memories; the words of a memory's description can be told from its other words.

    A memory that was stored before is found by the words of its description when it is indexed anew.
    """
    writer.run(graph_tables.TABLES)
    for table in graph_tables.TABLE.values():
        writer.index_text(table, "words")
    writer.run(memory_tables.CONTEXT_COLUMNS)


def settlement_schema(writer: Writer) -> None:
    """Keep what every signal that counts once has said, so that a later verdict can replace it after a roll-up.

    What an earlier version has rolled up says nothing there, and stays.
    """
    writer.run(evidence_tables.SETTLEMENT_COLUMNS)
    writer.run(session_tables.SESSION_INDEX)


def principal_schema(writer: Writer) -> None:
    """Note who speaks under session names that callers give."""
    writer.run(evidence_tables.PRINCIPAL_TABLE)


def provenance_schema(writer: Writer) -> None:
    """Note of nodes and edges how they came into the bank, and of which sessions and transports a text was held."""
    graph_tables.add_provenance(writer)
    writer.run(evidence_tables.TAINT_TABLE)


MIGRATIONS: list[Callable[[Writer], None]] = [
    first_schema,
    learning_schema,
    guarding_schema,
    uplift_schema,
    document_schema,
    lifecycle_schema,
    graph_schema,
    settlement_schema,
    principal_schema,
    provenance_schema,
]
