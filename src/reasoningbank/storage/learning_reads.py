"""Everything that can be read of sessions and searches from one bank file."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import cast

from reasoningbank.storage.failures import decoding
from reasoningbank.storage.learning_rows import missing, proven, read_record, unpacked
from reasoningbank.storage.reads import SIGNAL_COLUMNS
from reasoningbank.storage.rows import Row, Value, from_microseconds, signal_from
from reasoningbank.storage.state_changes import ChangeReads
from reasoningbank.types.experience import Trace
from reasoningbank.types.records import TrajectoryEntry, Voices
from reasoningbank.types.session import Judgement, Origin, Refusal, Trajectory, Verdict

HEAD_COLUMNS = "number, id, key, digest, session, source, steps, at, distilled, task"
HEAD_COUNT = HEAD_COLUMNS.count(",") + 1
_HEADS = ", ".join(f"t.{name}" for name in HEAD_COLUMNS.split(", "))
_ENTRIES = f"""
SELECT {_HEADS}, t.checksum, j.number, j.trajectory, j.verdict, j.body, j.checksum
FROM trajectories AS t
LEFT JOIN judgements AS j ON j.number = (SELECT max(number) FROM judgements WHERE trajectory = t.number)
"""  # noqa: S608 - constant columns


_VOICES = f"""
SELECT {SIGNAL_COLUMNS} FROM memories AS m JOIN signals AS s ON s.key = m.key
WHERE m.id IN (SELECT value FROM json_each(?1))
UNION ALL
SELECT NULL, m.id, o.number, o.memory, o.trajectory, o.body, o.checksum, NULL
FROM memories AS m JOIN origins AS o ON o.memory = m.key WHERE m.id IN (SELECT value FROM json_each(?1))
"""  # noqa: S608 - constant columns


class LearningReads(ChangeReads):
    """The reads of the Store port that concern trajectories, what they taught, and traces."""

    def trajectory(self, trajectory_id: str) -> Trajectory:
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
        rows = self._source.run(f"{_ENTRIES} WHERE t.id = ?", (trajectory_id,))
        if not rows:
            raise missing("trajectory", trajectory_id, self._source.project)
        return _entry(rows[0])

    def trajectories(
        self, *, limit: int, offset: int = 0, verdict: Verdict | None = None, pending: bool | None = None
    ) -> Sequence[TrajectoryEntry]:
        conditions, values = ["1"], list[Value]()
        if verdict is not None:
            conditions.append("coalesce(j.verdict, 'unknown') = ?")
            values.append(verdict)
        if pending is not None:
            conditions.append("t.distilled IS NULL" if pending else "t.distilled IS NOT NULL")
        where = " AND ".join(conditions)
        rows = self._source.run(
            f"{_ENTRIES} WHERE {where} ORDER BY t.number LIMIT ? OFFSET ?", (*values, limit or -1, offset)
        )
        return [_entry(row) for row in rows]

    def captured(self, key: str) -> str | None:
        rows = self._source.run(
            f"SELECT {HEAD_COLUMNS}, checksum FROM trajectories WHERE key = ?1 OR digest = ?1 "  # noqa: S608 - constant
            "ORDER BY key IS NOT ?1 LIMIT 1",
            (key,),
        )
        return cast(str, _head(rows[0])[1]) if rows else None

    def judgements(self, trajectory_id: str) -> Sequence[Judgement]:
        rows = self._source.run(
            "SELECT j.number, j.trajectory, j.verdict, j.body, j.checksum FROM trajectories AS t "
            "LEFT JOIN judgements AS j ON j.trajectory = t.number WHERE t.id = ? ORDER BY j.number",
            (trajectory_id,),
        )
        if not rows:
            raise missing("trajectory", trajectory_id, self._source.project)
        return [_judgement(row) for row in rows if row[0] is not None]

    def origins(self, *, memory_id: str | None = None, trajectory: str | None = None) -> Sequence[Origin]:
        conditions, values = ["1"], list[Value]()
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

    def voices(self, memory_ids: Collection[str]) -> Mapping[str, Voices]:
        found = {memory_id: Voices([], []) for memory_id in memory_ids}
        for row in self._source.run(_VOICES, (json.dumps(list(memory_ids)),)):
            if row[0] is None:
                origin = read_record(Origin, proven("an origin", row[2:6], row[6])[3], "an origin")
                found[cast(str, row[1])].origins.append(origin)
            else:
                found[cast(str, row[1])].signals.append(signal_from(self._source.project, row))
        return found

    def refusals(self, *, trajectory: str | None = None, limit: int = 0) -> Sequence[Refusal]:
        where, values = ("", ()) if trajectory is None else ("WHERE trajectory = ?", (trajectory,))
        rows = self._source.run(
            f"SELECT number, id, trajectory, body, checksum FROM refusals {where} "  # noqa: S608 - constant clauses
            "ORDER BY number DESC LIMIT ?",
            (*values, limit or -1),
        )
        return [read_record(Refusal, proven("a refusal", row[:4], row[4])[3], "a refusal") for row in rows]

    def trace(self, trace_id: str) -> Trace:
        rows = self._source.run("SELECT number, id, session, body, checksum FROM traces WHERE id = ?", (trace_id,))
        if not rows:
            raise missing("trace", trace_id, self._source.project)
        return read_trace(rows[0])

    def traces(self, *, session: str | None = None, limit: int = 0) -> Sequence[Trace]:
        where, values = ("", ()) if session is None else ("WHERE session = ?", (session,))
        rows = self._source.run(
            f"SELECT number, id, session, body, checksum FROM traces {where} "  # noqa: S608 - constant clauses
            "ORDER BY number DESC LIMIT ?",
            (*values, limit or -1),
        )
        return [read_trace(row) for row in rows]


def read_trace(row: Row) -> Trace:
    """Return the trace of a row (number, id, session, body, checksum)."""
    name = f"trace {str(row[1])[:80]!r}"
    return read_record(Trace, proven(name, row[:4], row[4])[3], name)


def _head(row: Row) -> Row:
    return proven(f"trajectory {str(row[1])[:80]!r}", row[:HEAD_COUNT], row[HEAD_COUNT])


def _judgement(row: Row) -> Judgement:
    return read_record(Judgement, proven("a judgement", row[:4], row[4])[3], "a judgement")


def _entry(row: Row) -> TrajectoryEntry:
    _, identifier, _, _, session, source, steps, at, distilled, task = _head(row)
    judged = row[HEAD_COUNT + 1 :]
    with decoding(f"trajectory {str(identifier)[:80]!r}"):
        return TrajectoryEntry(
            id=cast(str, identifier),
            task=cast(str, task),
            session=cast(str, session),
            source=cast(str, source),
            steps=cast(int, steps),
            at=from_microseconds(cast(int, at)),
            judgement=None if judged[0] is None else _judgement(judged),
            distilled=None if distilled is None else from_microseconds(cast(int, distilled)),
        )
