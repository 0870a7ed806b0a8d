"""Checking a bank file: what is stored, what is derived from it and what must follow from each other."""

from __future__ import annotations

import json
from typing import cast

import apsw

from reasoningbank.errors import BankError
from reasoningbank.storage.bank_file import Medium
from reasoningbank.storage.connection import BUSY_MILLISECONDS
from reasoningbank.storage.failures import decoding
from reasoningbank.storage.graph_check import GRAPH_CHECKS
from reasoningbank.storage.learning_check import LEARNING_CHECKS
from reasoningbank.storage.queue import QueueReads
from reasoningbank.storage.reads import Reads, Source
from reasoningbank.storage.rows import LEGS_PER_KEY, checksum
from reasoningbank.storage.schema import MIGRATIONS
from reasoningbank.storage.writes import ERASURE
from reasoningbank.types.memory import STATES
from reasoningbank.types.recall import Filter
from reasoningbank.types.records import StoreReport
from reasoningbank.types.signal import replay

ALL_STATES = Filter(states=STATES)
LOG_LIMIT = 16 * 2**20
"""Bytes of write-ahead log from which on it is emptied after a write."""
TIDY_ROWS = 64
"""So many rows are written before the size of the log is looked at again."""
REWRITE_LIMIT = 16 * 2**20
"""Bytes of a bank up to which it is rewritten after every deletion: a quarter of a second."""
LOG_MILLISECONDS = 250
REWRITE_MILLISECONDS = 2_000
_BATCH = 500


_UNINDEXED = (
    f"SELECT id FROM memories WHERE {LEGS_PER_KEY} * key NOT IN (SELECT id FROM vectors) "  # noqa: S608 - a constant
    "OR key NOT IN (SELECT id FROM memory_text_docsize)"
)


def report(medium: Medium, source: Source, store: QueueReads) -> StoreReport:
    """Read the whole bank and list every defect it finds."""
    problems = [*_structure(source), *_contents(source, store)]
    return StoreReport(
        engine=f"SQLite {apsw.sqlite_lib_version()} through apsw {apsw.apsw_version()}, {medium.safety}",
        location=medium.location,
        schema=len(MIGRATIONS),
        sizes=medium.sizes,
        problems=tuple(problems),
    )


def _structure(source: Source) -> list[str]:
    problems: list[str] = []
    checks = (
        ("PRAGMA integrity_check", "the file's structure is damaged: {}"),
        ("PRAGMA foreign_key_check", "a row refers to a memory, a trajectory or a trace that is gone: {}"),
    )
    for statement, message in checks:
        try:
            rows = source.run(statement)
        except BankError as error:
            problems.append(message.format(error))
            continue
        problems += [message.format(row[0]) for row in rows if row[0] != "ok"]
    try:
        source.run("INSERT INTO memory_text (memory_text, rank) VALUES ('integrity-check', 1)")
    except BankError as error:
        problems.append(f"the text index is damaged: {error}")
    return problems


def _contents(source: Source, store: QueueReads) -> list[str]:
    problems: list[str] = []
    for part in (_unerased, _torn, _vectors, _memories, *LEARNING_CHECKS, *GRAPH_CHECKS):
        try:
            with decoding("the bank"):
                problems += part(source, store)
        except BankError as error:
            problems.append(str(error))
    return problems


def _unerased(source: Source, _store: Reads) -> list[str]:
    pending = source.run("SELECT 1 FROM meta WHERE name = ?", (ERASURE,))
    return ["deleted memories may have left traces in unused space of the file"] if pending else []


def _torn(source: Source, _store: Reads) -> list[str]:
    """Return rows that belong together and are not all there."""
    return [
        message.format(row[0])
        for statement, message in (
            (_UNINDEXED, "memory {!r} has no text index or no vector"),
            (
                "SELECT id FROM memory_text_docsize WHERE id NOT IN (SELECT key FROM memories)",
                "the text index holds row {!r}, whose memory is gone",
            ),
            (
                f"SELECT id FROM vectors WHERE id / {LEGS_PER_KEY} NOT IN (SELECT key FROM memories)",  # noqa: S608
                "vector number {!r} belongs to no memory",
            ),
        )
        for row in source.run(statement)
    ]


def _vectors(source: Source, _store: Reads) -> list[str]:
    problems: list[str] = []
    statement = "SELECT id, vector, checksum FROM vectors WHERE id > ? ORDER BY id LIMIT ?"
    last = -1
    while rows := source.run(statement, (last, _BATCH)):
        for name, vector, stored in rows:
            if checksum((name, vector)) != stored:
                problems.append(f"vector number {name!r} does not hold what was written to it")
        last = cast(int, rows[-1][0])
    return problems


def _memories(source: Source, store: Reads) -> list[str]:
    """Replay every memory's evidence: the stored belief must equal the log, and the filter columns the memory."""
    problems: list[str] = []
    offset = 0
    while batch := store.page(ALL_STATES, limit=_BATCH, offset=offset):
        columns = source.run(
            "SELECT id, confidence, fingerprint FROM memories WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps([memory.id for memory in batch]),),
        )
        derived = {row[0]: row[1:] for row in columns}
        for memory in batch:
            replayed = replay(
                memory.belief.initial, store.aggregate(memory.id), store.signals(memory.id), store.weights()
            )
            if (replayed.positive, replayed.negative) != (memory.belief.positive, memory.belief.negative):
                problems.append(f"the confidence of memory {memory.id} does not follow from its evidence")
            if derived.get(memory.id) != (memory.confidence, memory.fingerprint):
                problems.append(f"the filter columns of memory {memory.id} are not what they are derived from")
            store.revisions(memory.id)
        offset += len(batch)
    return problems


def rewrite(connection: apsw.Connection) -> None:
    """Rewrite the file without what was deleted, and empties the write-ahead log into it.

    Secure deletion alone leaves copies behind: a row that was moved when a page was split stays in the unused space of
    the page it came from (measured: up to six copies of a deleted word in a file of 300 memories).
    """
    connection.set_busy_timeout(REWRITE_MILLISECONDS)
    try:
        connection.execute("VACUUM")
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    finally:
        connection.set_busy_timeout(BUSY_MILLISECONDS)
    connection.execute("DELETE FROM meta WHERE name = ?", (ERASURE,))


def empty_log(connection: apsw.Connection) -> bool:
    """Start the write-ahead log over; False when readers are in the way for longer than a moment."""
    connection.set_busy_timeout(LOG_MILLISECONDS)
    try:
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    except apsw.BusyError:
        return False
    finally:
        connection.set_busy_timeout(BUSY_MILLISECONDS)
    return True
