"""The durable queue: jobs lie in the bank itself, are held by a lease, and end in the transaction of their effect."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import cast

from reasoningbank.errors import InvalidInput
from reasoningbank.storage.connection import RowSource, Writer
from reasoningbank.storage.rows import (
    Mapped,
    Row,
    checksum,
    decoding,
    from_microseconds,
    proven,
    to_microseconds,
    upsert,
)
from reasoningbank.storage.unit import Unit
from reasoningbank.types.moment import LATEST
from reasoningbank.types.records import Job

FIRST_TABLES = """
CREATE TABLE jobs (
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    due INTEGER NOT NULL,
    payload TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (kind, key)
);
CREATE INDEX jobs_by_due ON jobs (due);
"""
"""The queue before jobs had leases and could die."""

TABLES = """
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
);
"""

JOB_COLUMNS = "kind, key, due, payload, attempts, lease, until, error, died"

JOBS = Mapped(Job, "kind, key, due, payload, attempts, lease, error", ascii=True)

_COUNT = JOB_COLUMNS.count(",") + 1

_SELECT = f"SELECT {JOB_COLUMNS}, checksum FROM jobs"  # noqa: S608 - constant columns

# An expression in place of the column: jobs that are due are found by their time, not by their kind.
_FREE = "died IS NULL AND due <= ? AND (kind || '') IN (SELECT value FROM texts_in(?)) AND (lease = '' OR until <= ?)"


_INSERT = f"INSERT INTO jobs ({JOB_COLUMNS}, checksum) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608 - constant

_WRITE = upsert("jobs", f"{JOB_COLUMNS}, checksum", "kind, key")

MAX_ERROR = 2_000
"""Characters of a job's error that are kept."""


class JobTables:
    """Jobs that wait, are held or are dead.

    Args:
        source: Where the rows come from.
        unit: The transaction that writes; outside of one every write is refused.
    """

    def __init__(self, source: RowSource, unit: Unit) -> None:
        self._source = source
        self._unit = unit

    def waiting(self, *, due: datetime) -> Sequence[Job]:
        """Return jobs due at that time, oldest first, claimed ones included."""
        rows = self._source.run(
            f"{_SELECT} WHERE died IS NULL AND due <= ? ORDER BY due, kind, key", (to_microseconds(due),)
        )
        return [_job(row) for row in rows]

    def claimable(self, kinds: Sequence[str], *, at: datetime) -> bool:
        """Return whether ``claim`` would hand out a job of these kinds: to be asked often, for it takes no lock."""
        rows = self._source.run(
            f"SELECT 1 FROM jobs WHERE {_FREE} LIMIT 1",  # noqa: S608 - constant clauses
            (to_microseconds(at), json.dumps(list(kinds)), to_microseconds(at)),
        )
        return bool(rows)

    def next_due(self, kinds: Sequence[str]) -> datetime | None:
        """Return when the next job of these kinds can be claimed; None when none waits."""
        rows = self._source.run(
            "SELECT min(CASE WHEN lease = '' THEN due ELSE greatest(due, until) END) FROM jobs "
            "WHERE died IS NULL AND kind IN (SELECT value FROM texts_in(?))",
            (json.dumps(list(kinds)),),
        )
        return None if rows[0][0] is None else from_microseconds(cast(int, rows[0][0]))

    def dead_jobs(self) -> Sequence[Job]:
        """Return jobs that failed too often, oldest first."""
        rows = self._source.run(f"{_SELECT} WHERE died IS NOT NULL ORDER BY died, kind, key")
        return [_job(row) for row in rows]

    def enqueue(self, job: Job) -> bool:
        """Store a job; False when one of its kind and key is waiting, running or dead already."""
        check_kind(job)
        if self._source.run("SELECT 1 FROM jobs WHERE kind = ? AND key = ?", (job.kind, job.key)):
            return False
        self._write(replace(job, lease=""))
        return True

    def claim(
        self, kinds: Sequence[str], *, lease: str, at: datetime, until: datetime, key: str | None = None
    ) -> Job | None:
        """Hand out the job of these kinds that has been due longest and that no one holds at that time.

        One whose worker died comes after those that nobody has begun: it may have killed its worker, and must not keep
        the others waiting when it does so again. The job's attempts are one more, its lease is the caller's, and nobody
        else gets it before ``until``. With ``key`` only the job of that key is handed out.
        """
        check_lease(lease, at, until)
        now = to_microseconds(at)
        own, named = ("", ()) if key is None else (" AND key = ?", (key,))
        rows = self._unit.claim(
            f"{_SELECT} WHERE {_FREE}{own} ORDER BY lease <> '', due, kind, key LIMIT 1",
            (now, json.dumps(list(kinds)), now, *named),
        )
        if not rows:
            return None
        found = _job(rows[0])
        claimed = replace(found, lease=lease, attempts=found.attempts + 1)
        self._write(claimed, until=to_microseconds(until))
        return claimed

    def extend(self, job: Job, until: datetime) -> bool:
        """Hold a claimed job longer; False when the lease was lost to another worker."""
        limit = to_microseconds(until)
        held = self._held(job)
        if held is not None:
            self._write(held, until=limit)
        return held is not None

    def finish(self, job: Job) -> bool:
        """Remove a job that was done; False, and nothing changes, when it has a lease and that was lost."""
        if job.lease and self._held(job) is None:
            return False
        with self._unit.whole():
            self._source.run("DELETE FROM jobs WHERE kind = ? AND key = ?", (job.kind, job.key))
            self._unit.note_change()
        return True

    def put_back(self, job: Job, *, due: datetime, error: str) -> bool:
        """Give a claimed job back for a later attempt; False when the lease was lost.

        It keeps the attempts that the caller's job names, so that a wait which was no attempt need not count as one.
        """
        to_microseconds(due)
        check_kind(job)
        held = self._held(job)
        if held is not None:
            self._write(replace(held, lease="", due=due, attempts=job.attempts, error=error_text(error)))
        return held is not None

    def bury(self, job: Job, *, at: datetime, error: str) -> bool:
        """Move a claimed job to the dead ones, where a person can see it; False when the lease was lost."""
        died = to_microseconds(at)
        held = self._held(job)
        if held is not None:
            self._write(replace(held, lease="", error=error_text(error)), died=died)
        return held is not None

    def revive(self, kind: str, key: str, *, due: datetime) -> bool:
        """Make a dead job wait again with no attempts; False when there is none."""
        to_microseconds(due)
        rows = self._source.run(f"{_SELECT} WHERE kind = ? AND key = ? AND died IS NOT NULL", (kind, key))
        if not rows:
            return False
        self._write(replace(_job(rows[0]), due=due, attempts=0))
        return True

    def problems(self) -> list[str]:
        """Return nothing: a row that is damaged raises StoreCorrupt."""
        self.waiting(due=LATEST)
        self.dead_jobs()
        return []

    def _held(self, job: Job) -> Job | None:
        """Return the job as it is stored, when the caller's lease is still the one that holds it."""
        if not job.lease:
            return None
        rows = self._source.run(
            f"{_SELECT} WHERE kind = ? AND key = ? AND lease = ? AND died IS NULL", (job.kind, job.key, job.lease)
        )
        return _job(rows[0]) if rows else None

    def _write(self, job: Job, *, until: int = 0, died: int | None = None) -> None:
        *held, error = JOBS.row(job)
        row: Row = (*held, until, error, died)
        with self._unit.whole():
            self._source.run(_WRITE, (*row, checksum(row)))
            self._unit.note_change()


def error_text(error: str) -> str:
    """Return a job's error as it is kept: never longer than MAX_ERROR, and always a text that can be stored."""
    return error[:MAX_ERROR].encode("utf-8", "replace").decode("utf-8")


def give_leases(writer: Writer) -> None:
    """Give jobs leases, and let them die; none of those that wait is lost."""
    writer.run(TABLES)
    for row in writer.run("SELECT kind, key, due, payload, attempts FROM jobs_without_leases"):
        job: Row = (*row, "", 0, "", None)
        writer.run(_INSERT, (*job, checksum(job)))
    writer.run("DROP TABLE jobs_without_leases")
    writer.run("CREATE INDEX jobs_by_due ON jobs (due) WHERE died IS NULL")


def check_kind(job: Job) -> None:
    """Refuse a job that says nothing."""
    if not job.kind.strip():
        raise InvalidInput("a job needs its kind")
    if job.attempts < 0:
        raise InvalidInput(f"a job cannot have been claimed {job.attempts} times")


def check_lease(lease: str, at: datetime, until: datetime) -> None:
    """Refuse a claim that would hold nothing."""
    if not lease:
        raise InvalidInput("a claim needs a lease to be known by", hint="Use a new id for every claim.")
    if to_microseconds(until) <= to_microseconds(at):
        raise InvalidInput("a claim must last for some time")


def _job(row: Row) -> Job:
    name = f"job {str(row[0])[:40]!r} {str(row[1])[:80]!r}"
    *held, _, error, _ = proven(name, row[:_COUNT], row[_COUNT])
    with decoding(name):
        return JOBS.record((*held, error))
