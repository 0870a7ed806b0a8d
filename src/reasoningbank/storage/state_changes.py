"""The log of state changes in a bank file: read with everything else, written with the change itself."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import cast

from reasoningbank.storage.failures import decoding
from reasoningbank.storage.learning_rows import owned, proven, read_record
from reasoningbank.storage.reads import Reads
from reasoningbank.storage.rows import Row, Value, checksum, from_microseconds, to_microseconds
from reasoningbank.storage.schema import CHANGES_SINCE
from reasoningbank.storage.write_part import WritePart
from reasoningbank.types.memory import Erasure, StateChange


class ChangeReads(Reads):
    """The reads of the Store port that concern state changes."""

    def changes(
        self, *, memory_id: str | None = None, reference: str | None = None, since: datetime | None = None
    ) -> Sequence[StateChange]:
        conditions, values = ["1"], list[Value]()
        if memory_id is not None:
            conditions.append("memory = (SELECT key FROM memories WHERE id = ?)")
            values.append(memory_id)
        if reference is not None:
            conditions.append("reference = ?")
            values.append(reference)
        if since is not None:
            conditions.append("at > ?")
            values.append(to_microseconds(since))
        rows = self._source.run(
            "SELECT number, memory, at, reference, body, checksum FROM state_changes "  # noqa: S608 - constant clauses
            f"WHERE {' AND '.join(conditions)} ORDER BY number",
            values,
        )
        return [_change(row) for row in rows]

    def erasures(self, *, since: datetime) -> Sequence[Erasure]:
        rows = self._source.run(
            "SELECT number, created_at, at, checksum FROM erasures WHERE at > ? ORDER BY number",
            (to_microseconds(since),),
        )
        return [_erasure(proven("an erasure", row[:3], row[3])) for row in rows]

    def changes_since(self) -> datetime | None:
        rows = self._source.run("SELECT value FROM meta WHERE name = ?", (CHANGES_SINCE,))
        if not rows:
            return None
        with decoding("the beginning of the log of state changes"):
            return from_microseconds(int(cast(str, rows[0][0])))


class ChangeWrites(ChangeReads, WritePart):
    """The writes of the Transaction port that concern state changes."""

    def note(self, change: StateChange) -> None:
        key = self._key(change.memory_id)
        with self._whole():
            self._log(key, change)
            self._note_change()

    def _log(self, key: int, change: StateChange) -> None:
        kept, text = owned(change)
        row: Row = (self._next_number("state_changes"), key, to_microseconds(kept.at), kept.reference, text)
        self._source.run("INSERT INTO state_changes VALUES (?, ?, ?, ?, ?, ?)", (*row, checksum(row)))

    def _note_erased(self, key: int, at: datetime | None) -> None:
        moment = to_microseconds(at or datetime.now(UTC))
        made = self._source.run("SELECT created_at FROM memories WHERE key = ?", (key,))[0][0]
        row: Row = (self._next_number("erasures"), made, moment)
        self._source.run("INSERT INTO erasures VALUES (?, ?, ?, ?)", (*row, checksum(row)))


def _change(row: Row) -> StateChange:
    name = "a state change"
    return read_record(StateChange, proven(name, row[:5], row[5])[4], name)


def _erasure(row: Row) -> Erasure:
    _, created_at, at = row
    with decoding("an erasure"):
        return Erasure(created_at=from_microseconds(cast(int, created_at)), at=from_microseconds(cast(int, at)))
