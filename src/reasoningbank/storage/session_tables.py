"""What happened in sessions, what was taught by it, and how searches were run."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import cast

from reasoningbank.storage.connection import RowSource, damaged_vectors
from reasoningbank.storage.memory_tables import MEMORIES, memory_from
from reasoningbank.storage.rows import (
    ALL_ROWS,
    Mapped,
    Row,
    Value,
    checksum,
    decoding,
    missing,
    owned,
    packed,
    proven,
    read_record,
    to_microseconds,
    unpacked,
    upsert,
)
from reasoningbank.storage.unit import Unit
from reasoningbank.types.experience import COMPARED_TRACES, Trace
from reasoningbank.types.memory import Memory
from reasoningbank.types.ports import Vector
from reasoningbank.types.records import TrajectoryEntry
from reasoningbank.types.session import Judgement, Origin, Refusal, Trajectory, Verdict

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
);

CREATE TABLE trajectory_bodies (
    number INTEGER PRIMARY KEY REFERENCES trajectories ON DELETE CASCADE,
    body BLOB NOT NULL,
    checksum BLOB NOT NULL
);

CREATE TABLE judgements (
    number INTEGER PRIMARY KEY,
    trajectory INTEGER NOT NULL REFERENCES trajectories ON DELETE CASCADE,
    verdict TEXT NOT NULL,
    body TEXT NOT NULL,
    checksum BLOB NOT NULL
);
CREATE INDEX judgements_by_trajectory ON judgements (trajectory);

CREATE TABLE origins (
    number INTEGER PRIMARY KEY,
    memory INTEGER NOT NULL REFERENCES memories ON DELETE CASCADE,
    trajectory TEXT NOT NULL,
    body TEXT NOT NULL,
    checksum BLOB NOT NULL,
    UNIQUE (memory, trajectory)
);
CREATE INDEX origins_by_trajectory ON origins (trajectory);

CREATE TABLE refusals (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    trajectory TEXT NOT NULL,
    body TEXT NOT NULL,
    checksum BLOB NOT NULL
);
CREATE INDEX refusals_by_trajectory ON refusals (trajectory);

CREATE TABLE traces (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    session TEXT NOT NULL,
    body TEXT NOT NULL,
    checksum BLOB NOT NULL
);

CREATE TABLE trace_vectors (
    number INTEGER PRIMARY KEY REFERENCES traces ON DELETE CASCADE,
    vector BLOB NOT NULL,
    checksum BLOB NOT NULL,
    replaced INTEGER
);
CREATE INDEX trace_vectors_by_replacement ON trace_vectors (replaced) WHERE replaced IS NOT NULL;
"""

SESSION_INDEX = "CREATE INDEX trajectories_by_session ON trajectories (session)"

HEAD_COLUMNS = "number, id, key, digest, session, source, steps, at, distilled, task"

HEAD_COUNT = HEAD_COLUMNS.count(",") + 1

ENTRIES = Mapped(TrajectoryEntry, "id, session, source, steps, at, distilled, task", typed=True)

_HEADS = ", ".join(f"t.{name}" for name in HEAD_COLUMNS.split(", "))

_ENTRIES = f"""
SELECT {_HEADS}, t.checksum, j.number, j.trajectory, j.verdict, j.body, j.checksum
FROM trajectories AS t
LEFT JOIN judgements AS j ON j.number = (SELECT max(number) FROM judgements WHERE trajectory = t.number)
"""  # noqa: S608 - constant columns

_HEAD_PLACES = ", ".join("?" * (HEAD_COUNT + 1))

_TAUGHT = ", ".join(f"m.{name}" for name in (*MEMORIES.columns.split(", "), "checksum"))

_DISTILLED = HEAD_COLUMNS.split(", ").index("distilled")

_BATCH = 200

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
        "AS newest WHERE number NOT IN (SELECT number FROM trace_vectors)",
        "trace {!r} has no vector",
    ),
)


class SessionTables:
    """Trajectories, judgements, origins, refusals and traces.

    Args:
        source: Where the rows come from.
        unit: The transaction that writes; outside of one every write is refused.
    """

    def __init__(self, source: RowSource, unit: Unit) -> None:
        self._source = source
        self._unit = unit

    def trajectory(self, trajectory_id: str) -> Trajectory:
        """Return the trajectory as it was captured; raises TrajectoryNotFound."""
        name = f"trajectory {trajectory_id[:80]!r}"
        rows = self._source.run(
            "SELECT t.number, t.id, b.body, b.checksum FROM trajectories AS t "
            "LEFT JOIN trajectory_bodies AS b ON b.number = t.number WHERE t.id = ?",
            (trajectory_id,),
        )
        if not rows:
            raise missing("trajectory", trajectory_id, self._source.project)
        row = proven(name, rows[0][:3], rows[0][3])
        return read_record(Trajectory, unpacked(row[2], name), name)

    def entry(self, trajectory_id: str) -> TrajectoryEntry:
        """Return the trajectory as a list shows it; raises TrajectoryNotFound."""
        rows = self._source.run(f"{_ENTRIES} WHERE t.id = ?", (trajectory_id,))
        if not rows:
            raise missing("trajectory", trajectory_id, self._source.project)
        return _entry(rows[0])

    def trajectories(
        self,
        *,
        limit: int,
        offset: int = 0,
        verdict: Verdict | None = None,
        pending: bool | None = None,
        session: str | None = None,
    ) -> Sequence[TrajectoryEntry]:
        """Return trajectories in the order they were stored; limit 0 means all.

        Args:
            limit: At most so many.
            offset: So many are passed over.
            verdict: Only those whose latest judgement says so; ``unknown`` includes those never judged.
            pending: Only those that wait to be distilled, or only those that do not.
            session: Only those of this session.
        """
        conditions, values = ["1 = 1"], list[Value]()
        if verdict is not None:
            conditions.append("coalesce(j.verdict, 'unknown') = ?")
            values.append(verdict)
        if pending is not None:
            conditions.append("t.distilled IS NULL" if pending else "t.distilled IS NOT NULL")
        if session is not None:
            conditions.append("t.session = ?")
            values.append(session)
        where = " AND ".join(conditions)
        rows = self._source.run(
            f"{_ENTRIES} WHERE {where} ORDER BY t.number LIMIT ? OFFSET ?", (*values, limit or ALL_ROWS, offset)
        )
        return [_entry(row) for row in rows]

    def captured(self, key: str) -> str | None:
        """Return the id of the trajectory that was kept under this idempotency key or digest."""
        rows = self._source.run(
            f"SELECT {HEAD_COLUMNS}, checksum FROM trajectories WHERE key = ? OR digest = ? "  # noqa: S608 - constant
            "ORDER BY CASE WHEN key = ? THEN 0 ELSE 1 END LIMIT 1",
            (key, key, key),
        )
        return cast(str, _head(rows[0])[1]) if rows else None

    def judgements(self, trajectory_id: str) -> Sequence[Judgement]:
        """Return every judgement of the trajectory, oldest first; raises TrajectoryNotFound."""
        rows = self._source.run(
            "SELECT j.number, j.trajectory, j.verdict, j.body, j.checksum FROM trajectories AS t "
            "LEFT JOIN judgements AS j ON j.trajectory = t.number WHERE t.id = ? ORDER BY j.number",
            (trajectory_id,),
        )
        if not rows:
            raise missing("trajectory", trajectory_id, self._source.project)
        return [_judgement(row) for row in rows if row[0] is not None]

    def origins(self, *, memory_id: str | None = None, trajectory: str | None = None) -> Sequence[Origin]:
        """Return which trajectories taught which memories, oldest first, of one memory or of one trajectory."""
        conditions, values = ["1 = 1"], list[Value]()
        if memory_id is not None:
            conditions.append("o.memory = (SELECT key FROM memories WHERE id = ?)")
            values.append(memory_id)
        if trajectory is not None:
            conditions.append("o.trajectory = ?")
            values.append(trajectory)
        rows = self._source.run(
            "SELECT o.number, o.memory, o.trajectory, o.body, o.checksum FROM origins AS o "  # noqa: S608 - constant
            f"WHERE {' AND '.join(conditions)} ORDER BY o.number",
            values,
        )
        return [read_record(Origin, proven("an origin", row[:4], row[4])[3], "an origin") for row in rows]

    def origins_of(self, memory_ids: Collection[str]) -> Mapping[str, Sequence[Origin]]:
        """Return which trajectories taught those of these memories that one has taught, oldest first."""
        found: dict[str, list[Origin]] = {}
        rows = self._source.run(
            "SELECT m.id, o.number, o.memory, o.trajectory, o.body, o.checksum FROM memories AS m "
            "JOIN origins AS o ON o.memory = m.key WHERE m.id IN (SELECT value FROM texts_in(?)) ORDER BY o.number",
            (json.dumps(list(memory_ids)),),
        )
        for name, *row in rows:
            origin = read_record(Origin, proven("an origin", tuple(row[:4]), row[4])[3], "an origin")
            found.setdefault(cast(str, name), []).append(origin)
        return found

    def taught(self, trajectories: Collection[str]) -> Mapping[str, Sequence[Memory]]:
        """Return the memories that each of these trajectories taught, in the order of learning."""
        found: dict[str, list[Memory]] = {one: [] for one in trajectories}
        rows = self._source.run(
            f"SELECT o.number, o.memory, o.trajectory, o.body, o.checksum, {_TAUGHT} "  # noqa: S608 - constant columns
            "FROM origins AS o JOIN memories AS m ON m.key = o.memory "
            "WHERE o.trajectory IN (SELECT value FROM texts_in(?)) ORDER BY o.number",
            (json.dumps(list(trajectories)),),
        )
        for row in rows:
            found[cast(str, proven("an origin", row[:4], row[4])[2])].append(
                memory_from(self._source.project, row[5:-1], row[-1])
            )
        return found

    def refusals(self, *, trajectory: str | None = None, limit: int = 0) -> Sequence[Refusal]:
        """Return items that were not stored, newest first; limit 0 means all."""
        where, values = ("", ()) if trajectory is None else ("WHERE trajectory = ?", (trajectory,))
        rows = self._source.run(
            f"SELECT number, id, trajectory, body, checksum FROM refusals {where} "  # noqa: S608 - constant clauses
            "ORDER BY number DESC LIMIT ?",
            (*values, limit or ALL_ROWS),
        )
        return [read_record(Refusal, proven("a refusal", row[:4], row[4])[3], "a refusal") for row in rows]

    def trace(self, trace_id: str) -> Trace:
        """Return one search as it was run; raises TrajectoryNotFound."""
        rows = self._source.run("SELECT number, id, session, body, checksum FROM traces WHERE id = ?", (trace_id,))
        if not rows:
            raise missing("trace", trace_id, self._source.project)
        return read_trace(rows[0])

    def traces(self, *, session: str | None = None, limit: int = 0) -> Sequence[Trace]:
        """Search as they were run, newest first; limit 0 means all."""
        where, values = ("", ()) if session is None else ("WHERE session = ?", (session,))
        rows = self._source.run(
            f"SELECT number, id, session, body, checksum FROM traces {where} "  # noqa: S608 - constant clauses
            "ORDER BY number DESC LIMIT ?",
            (*values, limit or ALL_ROWS),
        )
        return [read_trace(row) for row in rows]

    def keep(self, trajectory: Trajectory, *, key: str = "") -> bool:
        """Store a trajectory; False when one of its key or digest is there: then nothing changes."""
        kept, text = owned(trajectory)
        digest = kept.digest
        if self._source.run("SELECT 1 FROM trajectories WHERE key = ? OR digest = ?", (key or None, digest)):
            return False
        with self._unit.whole():
            number = self._unit.next_number("trajectories")
            at = to_microseconds(kept.created_at)
            steps = len(kept.steps)
            head: Row = (number, kept.id, key or None, digest, kept.session, kept.source, steps, at, None, kept.task)
            self._source.run(
                f"INSERT INTO trajectories ({HEAD_COLUMNS}, checksum) VALUES ({_HEAD_PLACES})",  # noqa: S608 - constant
                (*head, checksum(head)),
            )
            body = packed(text)
            self._source.run(
                "INSERT INTO trajectory_bodies VALUES (?, ?, ?)", (number, body, checksum((number, kept.id, body)))
            )
            self._unit.note_change()
        return True

    def supersede(self, trajectory_id: str, trajectory: Trajectory) -> None:
        """Replace what happened in a trajectory by a longer capture of it, which waits to be distilled.

        Its id, key and judgements stay. Raises TrajectoryNotFound.
        """
        rows = self._source.run(
            f"SELECT {HEAD_COLUMNS}, checksum FROM trajectories WHERE id = ?",  # noqa: S608 - constant columns
            (trajectory_id,),
        )
        if not rows:
            raise missing("trajectory", trajectory_id, self._source.project)
        number, _, key, *_ = _head(rows[0])
        kept, text = owned(replace(trajectory, id=trajectory_id))
        at = to_microseconds(kept.created_at)
        head: Row = (
            number,
            kept.id,
            key,
            kept.digest,
            kept.session,
            kept.source,
            len(kept.steps),
            at,
            None,
            kept.task,
        )
        body = packed(text)
        with self._unit.whole():
            self._source.run("DELETE FROM trajectory_bodies WHERE number = ?", (number,))
            self._source.run(
                "UPDATE trajectories SET digest = ?, session = ?, source = ?, steps = ?, at = ?, distilled = ?, "
                "task = ?, checksum = ? WHERE number = ?",
                (*head[3:], checksum(head), number),
            )
            self._source.run(
                "INSERT INTO trajectory_bodies VALUES (?, ?, ?)", (number, body, checksum((number, kept.id, body)))
            )
            self._unit.note_change()

    def erase_trajectory(self, trajectory_id: str) -> None:
        """Erase a trajectory, its judgements and refusals, and what the graph holds of it; memories stay.

        Raises:
            TrajectoryNotFound: When there is none.
        """
        from reasoningbank.storage.erasure import erase_conversations

        number = self._number("trajectory", trajectory_id)
        with self._unit.whole():
            erase_conversations(self._source, self._unit, [trajectory_id])
            self._source.run("DELETE FROM refusals WHERE trajectory = ?", (trajectory_id,))
            self._source.run("DELETE FROM trajectories WHERE number = ?", (number,))
            self._unit.note_erasure()
            self._unit.note_erased("trajectory", trajectory_id)
            self._unit.note_change()

    def judge(self, trajectory_id: str, judgement: Judgement) -> None:
        """Add a judgement; earlier ones stay. Raises TrajectoryNotFound."""
        _, text = owned(judgement)
        trajectory = self._number("trajectory", trajectory_id)
        with self._unit.whole():
            row: Row = (self._unit.next_number("judgements"), trajectory, judgement.verdict, text)
            self._source.run("INSERT INTO judgements VALUES (?, ?, ?, ?, ?)", (*row, checksum(row)))
            self._unit.note_change()

    def mark_distilled(self, trajectory_id: str, at: datetime | None) -> None:
        """Note when a trajectory was distilled; None makes it wait again. Raises TrajectoryNotFound."""
        moment = None if at is None else to_microseconds(at)
        rows = self._source.run(
            f"SELECT {HEAD_COLUMNS}, checksum FROM trajectories WHERE id = ?",  # noqa: S608 - constant columns
            (trajectory_id,),
        )
        if not rows:
            raise missing("trajectory", trajectory_id, self._source.project)
        head = list(proven(f"trajectory {trajectory_id[:80]!r}", rows[0][:HEAD_COUNT], rows[0][HEAD_COUNT]))
        head[_DISTILLED] = moment
        with self._unit.whole():
            self._source.run(
                "UPDATE trajectories SET distilled = ?, checksum = ? WHERE number = ?",
                (moment, checksum(tuple(head)), head[0]),
            )
            self._unit.note_change()

    def add_origin(self, origin: Origin) -> bool:
        """Note that a trajectory taught a memory; False when that is noted already."""
        kept, text = owned(origin)
        memory = self._unit.key(kept.memory_id)
        place = (memory, kept.trajectory)
        if self._source.run("SELECT 1 FROM origins WHERE memory = ? AND trajectory = ?", place):
            return False
        with self._unit.whole():
            row: Row = (self._unit.next_number("origins"), *place, text)
            self._source.run("INSERT INTO origins VALUES (?, ?, ?, ?, ?)", (*row, checksum(row)))
            self._unit.note_change()
        return True

    def refuse(self, refusal: Refusal) -> None:
        """Keep an item that was not stored."""
        kept, text = owned(refusal)
        with self._unit.whole():
            row: Row = (self._unit.next_number("refusals"), kept.id, kept.trajectory, text)
            self._source.run("INSERT INTO refusals VALUES (?, ?, ?, ?, ?)", (*row, checksum(row)))
            self._unit.note_change()

    def keep_trace(self, trace: Trace, vector: Vector, model_id: str) -> None:
        """Store a search as it was run with its query's vector; raise ModelMismatch like ``insert``."""
        kept, text = owned(trace)
        with self._unit.whole():
            raw = self._unit.vector(vector, model_id)
            number = self._unit.next_number("traces")
            row: Row = (number, kept.id, kept.session, text)
            self._source.run("INSERT INTO traces VALUES (?, ?, ?, ?, ?)", (*row, checksum(row)))
            self._source.run("INSERT INTO trace_vectors VALUES (?, ?, ?, NULL)", (number, raw, checksum((number, raw))))
            self._unit.note_trace()

    def update_trace(self, trace: Trace, vector: Vector | None = None, model_id: str = "") -> None:
        """Replace a trace's outcome, state and strategies, and with a vector that too; raise TrajectoryNotFound."""
        number = self._number("trace", trace.id)
        kept, text = owned(with_end_of(self.trace(trace.id), trace))
        with self._unit.whole():
            row: Row = (number, kept.id, kept.session, text)
            self._source.run("UPDATE traces SET body = ?, checksum = ? WHERE number = ?", (text, checksum(row), number))
            change = self._unit.note_change()
            if vector is not None:
                raw = self._unit.vector(vector, model_id)
                self._source.run(
                    upsert("trace_vectors", "number, vector, checksum, replaced", "number"),
                    (number, raw, checksum((number, raw)), change),
                )

    def problems(self) -> list[str]:
        """Return every defect; a row that is damaged raises StoreCorrupt."""
        found = [message.format(row[0]) for statement, message in _TORN for row in self._source.run(statement)]
        return [
            *found,
            *self._trajectory_problems(),
            *damaged_vectors(self._source, "trace_vectors", "number", "the vector of trace number"),
        ]

    def _trajectory_problems(self) -> list[str]:
        problems: list[str] = []
        offset = 0
        while batch := self.trajectories(limit=_BATCH, offset=offset):
            for entry in batch:
                trajectory = self.trajectory(entry.id)
                shown = (trajectory.task, trajectory.session, trajectory.source, len(trajectory.steps))
                if shown != (entry.task, entry.session, entry.source, entry.steps):
                    problems.append(f"trajectory {entry.id!r} is listed as another one")
                if self.captured(trajectory.digest) is None:
                    problems.append(f"trajectory {entry.id!r} would be captured a second time")
                self.judgements(entry.id)
            offset += len(batch)
        return problems

    def _number(self, kind: str, name: str) -> int:
        table = {"trajectory": "trajectories", "trace": "traces"}[kind]
        rows = self._source.run(f"SELECT number FROM {table} WHERE id = ?", (name,))  # noqa: S608 - constant tables
        if not rows:
            raise missing(kind, name, self._source.project)
        return cast(int, rows[0][0])


def with_end_of(trace: Trace, other: Trace) -> Trace:
    """Return the trace with what may change of it: how it ended, and what was made of that."""
    return replace(
        trace,
        outcome=other.outcome,
        failure_reason=other.failure_reason,
        state=other.state,
        strategies=other.strategies,
    )


def read_trace(row: Row) -> Trace:
    """Return the trace of a row (number, id, session, body, checksum)."""
    name = f"trace {str(row[1])[:80]!r}"
    return read_record(Trace, proven(name, row[:4], row[4])[3], name)


def _head(row: Row) -> Row:
    return proven(f"trajectory {str(row[1])[:80]!r}", row[:HEAD_COUNT], row[HEAD_COUNT])


def _judgement(row: Row) -> Judgement:
    return read_record(Judgement, proven("a judgement", row[:4], row[4])[3], "a judgement")


def _entry(row: Row) -> TrajectoryEntry:
    head, judged = _head(row), row[HEAD_COUNT + 1 :]
    with decoding(f"trajectory {str(head[1])[:80]!r}"):
        judgement = None if judged[0] is None else _judgement(judged)
        return ENTRIES.record((head[1], *head[4:]), judgement=judgement)
