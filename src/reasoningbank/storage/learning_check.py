"""Checking what a bank file holds of sessions and searches: every row is whole, and nothing hangs on what is gone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import cast

from reasoningbank.storage.documents import document_problems
from reasoningbank.storage.queue import QueueReads
from reasoningbank.storage.reads import Source
from reasoningbank.storage.rows import checksum
from reasoningbank.types.experience import COMPARED_TRACES

_BATCH = 200
_LAST_DAY = datetime(9999, 12, 30, tzinfo=UTC)
_TORN = (
    (
        "SELECT id FROM trajectories WHERE number NOT IN (SELECT number FROM trajectory_bodies)",
        "trajectory {!r} has lost its steps",
    ),
    (
        "SELECT number FROM trajectory_bodies WHERE number NOT IN (SELECT number FROM trajectories)",
        "the steps of trajectory number {!r} belong to no trajectory",
    ),
    (
        "SELECT number FROM judgements WHERE trajectory NOT IN (SELECT number FROM trajectories)",
        "judgement number {!r} judges a trajectory that is gone",
    ),
    (
        "SELECT number FROM origins WHERE memory NOT IN (SELECT key FROM memories)",
        "origin number {!r} names a memory that is gone",
    ),
    (
        "SELECT number FROM trace_vectors WHERE number NOT IN (SELECT number FROM traces)",
        "the vector of trace number {!r} belongs to no trace",
    ),
    (
        f"SELECT id FROM (SELECT number, id FROM traces ORDER BY number DESC LIMIT {COMPARED_TRACES}) "  # noqa: S608
        "WHERE number NOT IN (SELECT number FROM trace_vectors)",
        "trace {!r} has no vector",
    ),
)


def _orphans(source: Source, _store: QueueReads) -> list[str]:
    return [message.format(row[0]) for statement, message in _TORN for row in source.run(statement)]


def _trajectories(_source: Source, store: QueueReads) -> list[str]:
    problems: list[str] = []
    offset = 0
    while batch := store.trajectories(limit=_BATCH, offset=offset):
        for entry in batch:
            trajectory = store.trajectory(entry.id)
            shown = (trajectory.task, trajectory.session, trajectory.source, len(trajectory.steps))
            if shown != (entry.task, entry.session, entry.source, entry.steps):
                problems.append(f"trajectory {entry.id!r} is listed as another one")
            if store.captured(trajectory.digest) is None:
                problems.append(f"trajectory {entry.id!r} would be captured a second time")
            store.judgements(entry.id)
        offset += len(batch)
    return problems


def _lessons(_source: Source, store: QueueReads) -> list[str]:
    store.origins()
    store.refusals()
    store.traces()
    store.exposures()
    store.jobs(due=_LAST_DAY)
    store.dead_jobs()
    return []


def _trace_vectors(source: Source, _store: QueueReads) -> list[str]:
    problems: list[str] = []
    statement = "SELECT number, vector, checksum FROM trace_vectors WHERE number > ? ORDER BY number LIMIT ?"
    last = -1
    while rows := source.run(statement, (last, _BATCH)):
        for number, vector, stored in rows:
            if checksum((number, vector)) != stored:
                problems.append(f"the vector of trace number {number!r} does not hold what was written to it")
        last = cast(int, rows[-1][0])
    return problems


def _documents(_source: Source, store: QueueReads) -> list[str]:
    return list(document_problems(store))


LEARNING_CHECKS: tuple[Callable[[Source, QueueReads], list[str]], ...] = (
    _orphans,
    _trajectories,
    _lessons,
    _trace_vectors,
    _documents,
)
"""Each lists the defects that it finds; a row that is damaged raises StoreCorrupt."""
