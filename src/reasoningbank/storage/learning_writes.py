"""Everything that can be written of sessions and searches, inside one transaction."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import cast

from reasoningbank.storage.learning_reads import HEAD_COLUMNS, HEAD_COUNT, LearningReads
from reasoningbank.storage.learning_rows import missing, owned, packed, proven
from reasoningbank.storage.rows import Row, checksum, to_microseconds
from reasoningbank.storage.write_part import WritePart
from reasoningbank.types.experience import Trace
from reasoningbank.types.ports import Vector
from reasoningbank.types.session import Judgement, Origin, Refusal, Trajectory

_HEAD_PLACES = ", ".join("?" * (HEAD_COUNT + 1))
_DISTILLED = HEAD_COLUMNS.split(", ").index("distilled")


class LearningWrites(LearningReads, WritePart):
    """The writes of the Transaction port that concern trajectories, what they taught, and traces."""

    erased: bool

    def keep(self, trajectory: Trajectory, *, key: str = "") -> bool:
        kept, text = owned(trajectory)
        digest = kept.digest
        if self._source.run("SELECT 1 FROM trajectories WHERE key = ? OR digest = ?", (key or None, digest)):
            return False
        with self._whole():
            number = self._next_number("trajectories")
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
            self._note_change()
        return True

    def erase_trajectory(self, trajectory_id: str) -> None:
        number = self._number("trajectory", trajectory_id)
        with self._whole():
            self._source.run("DELETE FROM refusals WHERE trajectory = ?", (trajectory_id,))
            self._source.run("DELETE FROM trajectories WHERE number = ?", (number,))
            self._note_erasure()
            self._note_change()
        self.erased = True

    def judge(self, trajectory_id: str, judgement: Judgement) -> None:
        _, text = owned(judgement)
        trajectory = self._number("trajectory", trajectory_id)
        with self._whole():
            row: Row = (self._next_number("judgements"), trajectory, judgement.verdict, text)
            self._source.run("INSERT INTO judgements VALUES (?, ?, ?, ?, ?)", (*row, checksum(row)))
            self._note_change()

    def mark_distilled(self, trajectory_id: str, at: datetime | None) -> None:
        moment = None if at is None else to_microseconds(at)
        rows = self._source.run(
            f"SELECT {HEAD_COLUMNS}, checksum FROM trajectories WHERE id = ?",  # noqa: S608 - constant columns
            (trajectory_id,),
        )
        if not rows:
            raise missing("trajectory", trajectory_id, self._source.project)
        head = list(proven(f"trajectory {trajectory_id[:80]!r}", rows[0][:HEAD_COUNT], rows[0][HEAD_COUNT]))
        head[_DISTILLED] = moment
        with self._whole():
            self._source.run(
                "UPDATE trajectories SET distilled = ?, checksum = ? WHERE number = ?",
                (moment, checksum(tuple(head)), head[0]),
            )
            self._note_change()

    def add_origin(self, origin: Origin) -> bool:
        kept, text = owned(origin)
        memory = self._key(kept.memory_id)
        place = (memory, kept.trajectory)
        if self._source.run("SELECT 1 FROM origins WHERE memory = ? AND trajectory = ?", place):
            return False
        with self._whole():
            row: Row = (self._next_number("origins"), *place, text)
            self._source.run("INSERT INTO origins VALUES (?, ?, ?, ?, ?)", (*row, checksum(row)))
            self._note_change()
        return True

    def refuse(self, refusal: Refusal) -> None:
        kept, text = owned(refusal)
        with self._whole():
            row: Row = (self._next_number("refusals"), kept.id, kept.trajectory, text)
            self._source.run("INSERT INTO refusals VALUES (?, ?, ?, ?, ?)", (*row, checksum(row)))
            self._note_change()

    def keep_trace(self, trace: Trace, vector: Vector, model_id: str) -> None:
        kept, text = owned(trace)
        with self._whole():
            raw = self._vector(vector, model_id)
            number = self._next_number("traces")
            row: Row = (number, kept.id, kept.session, text)
            self._source.run("INSERT INTO traces VALUES (?, ?, ?, ?, ?)", (*row, checksum(row)))
            self._source.run("INSERT INTO trace_vectors VALUES (?, ?, ?, NULL)", (number, raw, checksum((number, raw))))
            self._note_change()

    def update_trace(self, trace: Trace, vector: Vector | None = None, model_id: str = "") -> None:
        number = self._number("trace", trace.id)
        kept, text = owned(with_end_of(self.trace(trace.id), trace))
        with self._whole():
            row: Row = (number, kept.id, kept.session, text)
            self._source.run("UPDATE traces SET body = ?, checksum = ? WHERE number = ?", (text, checksum(row), number))
            change = self._note_change()
            if vector is not None:
                raw = self._vector(vector, model_id)
                self._source.run(
                    "INSERT OR REPLACE INTO trace_vectors VALUES (?, ?, ?, ?)",
                    (number, raw, checksum((number, raw)), change),
                )

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
