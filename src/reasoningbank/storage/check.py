"""Checking a bank file: what is stored, what is derived from it and what must follow from each other."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import apsw

from reasoningbank.errors import BankError
from reasoningbank.storage.bank_file import Medium
from reasoningbank.storage.connection import BUSY_MILLISECONDS
from reasoningbank.storage.failures import decoding
from reasoningbank.storage.schema import MIGRATIONS
from reasoningbank.storage.unit import ERASURE, RowSource
from reasoningbank.types.memory import STATES
from reasoningbank.types.recall import Filter
from reasoningbank.types.records import StoreReport
from reasoningbank.types.signal import replay

if TYPE_CHECKING:
    from reasoningbank.storage.store import StoreReader

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


def report(medium: Medium, source: RowSource, store: StoreReader) -> StoreReport:
    """Read the whole bank and list every defect it finds."""
    problems = [*_structure(source), *_contents(source, store)]
    return StoreReport(
        engine=f"SQLite {apsw.sqlite_lib_version()} through apsw {apsw.apsw_version()}, {medium.safety}",
        location=medium.location,
        schema=len(MIGRATIONS),
        sizes=medium.sizes,
        problems=tuple(problems),
    )


def _structure(source: RowSource) -> list[str]:
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


def _contents(source: RowSource, store: StoreReader) -> list[str]:
    problems: list[str] = []
    parts: tuple[Callable[[], list[str]], ...] = (
        partial(_unerased, source),
        store.memories.problems,
        partial(_beliefs, store),
        store.sessions.problems,
        partial(_lessons, store),
        store.documents.problems,
        store.jobs.problems,
        store.graph.problems,
    )
    for part in parts:
        try:
            with decoding("the bank"):
                problems += part()
        except BankError as error:
            problems.append(str(error))
    return problems


def _unerased(source: RowSource) -> list[str]:
    pending = source.run("SELECT 1 FROM meta WHERE name = ?", (ERASURE,))
    return ["deleted memories may have left traces in unused space of the file"] if pending else []


def _lessons(store: StoreReader) -> list[str]:
    """Read what has no derived parts; a row that is damaged raises StoreCorrupt."""
    store.sessions.origins()
    store.sessions.refusals()
    store.sessions.traces()
    store.deliveries.exposures()
    return []


def _beliefs(store: StoreReader) -> list[str]:
    """Replay every memory's evidence: the stored belief must equal the log, and the filter columns the memory."""
    problems: list[str] = []
    offset = 0
    while batch := store.memories.page(ALL_STATES, limit=_BATCH, offset=offset):
        for memory in batch:
            evidence = store.evidence
            replayed = replay(
                memory.belief.initial, evidence.aggregate(memory.id), evidence.signals(memory.id), evidence.weights()
            )
            if (replayed.positive, replayed.negative) != (memory.belief.positive, memory.belief.negative):
                problems.append(f"the confidence of memory {memory.id} does not follow from its evidence")
            store.memories.revisions(memory.id)
        problems += store.memories.column_problems(
            {memory.id: (memory.confidence, memory.fingerprint) for memory in batch}
        )
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
