"""Everything that can be read from one bank file, inside a transaction or outside."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Protocol, cast

from reasoningbank.errors import MemoryNotFound
from reasoningbank.storage.failures import decoding
from reasoningbank.storage.idleness import idle
from reasoningbank.storage.rows import (
    COLUMN_COUNT,
    MEMORY_COLUMNS,
    Row,
    Value,
    condition_sql,
    from_microseconds,
    legs_from_json,
    memory_from,
    signal_from,
    to_microseconds,
    weights_from,
)
from reasoningbank.types.memory import Memory
from reasoningbank.types.recall import Filter
from reasoningbank.types.records import Idle, Link, RecallEntry, RecallLog, WeightChange
from reasoningbank.types.signal import COUNTERS, ProjectWeights, Signal, SignalAggregate, SignalType

WEIGHT_COLUMNS = "explicit_alpha, explicit_beta, usage_alpha, usage_beta, outcome_alpha, outcome_beta"
COUNT_COLUMNS = ", ".join(COUNTERS)
AGGREGATE_COLUMNS = f"{COUNT_COLUMNS}, positive, negative, last_rollup, last_activity, last_disuse"
SIGNAL_COLUMNS = "s.id, m.id, s.type, s.positive, s.session, s.rater, s.at, s.weight"


class Source(Protocol):
    """Where the rows come from."""

    @property
    def project(self) -> str:
        """The project of every memory."""

    def run(self, sql: str, values: Sequence[Value] = ()) -> Sequence[Row]:
        """Return all rows of one statement."""

    def run_each(self, sql: str, rows: Sequence[Row]) -> Sequence[Row]:
        """Run one statement with each of these rows of values; return all that it gives."""


class Reads:
    """The reading half of the Store port over a source of rows."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def get(self, memory_id: str) -> Memory:
        found = self.many([memory_id])
        if memory_id not in found:
            raise MemoryNotFound(f"no memory {memory_id[:80]!r} in project {self._source.project[:80]!r}")
        return found[memory_id]

    def many(self, memory_ids: Sequence[str]) -> Mapping[str, Memory]:
        return {memory.id: memory for _, memory in self._found(memory_ids)}

    def _found(self, memory_ids: Sequence[str]) -> list[tuple[int, Memory]]:
        """Return the memories of these ids that exist, each with its key."""
        rows = self._source.run(
            f"SELECT {MEMORY_COLUMNS}, checksum, key FROM memories "  # noqa: S608 - constant columns
            "WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(memory_ids)),),
        )
        return [(cast(int, row[-1]), self._memory(row)) for row in rows]

    def page(self, condition: Filter, *, limit: int, offset: int) -> Sequence[Memory]:
        where, values = condition_sql(condition)
        rows = self._source.run(
            f"SELECT {MEMORY_COLUMNS}, checksum FROM memories AS m "  # noqa: S608 - constant clauses
            f"WHERE {where} ORDER BY m.key LIMIT ? OFFSET ?",
            (*values, limit or -1, offset),
        )
        return [self._memory(row) for row in rows]

    def count(self, condition: Filter) -> int:
        where, values = condition_sql(condition)
        rows = self._source.run(f"SELECT count(*) FROM memories AS m WHERE {where}", values)  # noqa: S608 - constant
        return cast(int, rows[0][0])

    def same_text(self, fingerprint: bytes) -> Sequence[str]:
        rows = self._source.run("SELECT id FROM memories WHERE fingerprint = ? ORDER BY key", (fingerprint,))
        return [cast(str, row[0]) for row in rows]

    def signals(self, memory_id: str, *, since: datetime | None = None) -> Sequence[Signal]:
        after = -(2**62) if since is None else to_microseconds(since)
        rows = self._source.run(
            f"SELECT {SIGNAL_COLUMNS} FROM signals AS s JOIN memories AS m ON m.key = s.key "  # noqa: S608 - constant
            "WHERE m.id = ? AND s.at > ? ORDER BY s.at, s.id",
            (memory_id, after),
        )
        return [signal_from(self._source.project, row) for row in rows]

    def counted(self, memory_id: str, kind: SignalType, session: str) -> bool:
        rows = self._source.run(
            "SELECT 1 FROM counted WHERE key = (SELECT key FROM memories WHERE id = ?) AND type = ? AND session = ?",
            (memory_id, kind, session),
        )
        return bool(rows)

    def aggregate(self, memory_id: str) -> SignalAggregate:
        rows = self._source.run(
            f"SELECT {AGGREGATE_COLUMNS} FROM aggregates "  # noqa: S608 - constant columns
            "WHERE key = (SELECT key FROM memories WHERE id = ?)",
            (memory_id,),
        )
        empty = SignalAggregate(memory_id=memory_id, project=self._source.project, positive=0, negative=0)
        if not rows:
            return empty
        with decoding("the rolled-up evidence of a memory"):
            *numbers, rolled, active, disused = rows[0]
            names = (*COUNTERS, "positive", "negative")
            counts = {name: int(cast(int, number)) for name, number in zip(names, numbers, strict=True)}
            filled: SignalAggregate = replace(empty, **counts)  # type: ignore[arg-type]  # counters and sums alone
            return replace(
                filled,
                last_rollup=from_microseconds(cast(int, rolled)),
                last_activity=None if active is None else from_microseconds(cast(int, active)),
                last_disuse=None if disused is None else from_microseconds(cast(int, disused)),
            )

    def idle(self, before: datetime, *, below: float | None = None, after: str = "", limit: int = 0) -> Sequence[Idle]:
        return idle(self._source.run, before, below=below, after=after, limit=limit)

    def weights(self) -> ProjectWeights:
        rows = self._source.run(
            f"SELECT {WEIGHT_COLUMNS} FROM weight_history ORDER BY number DESC LIMIT 1"  # noqa: S608 - constant columns
        )
        if not rows:
            return ProjectWeights(project=self._source.project)
        return weights_from(self._source.project, rows[0])

    def weight_history(self) -> Sequence[WeightChange]:
        rows = self._source.run(
            f"SELECT at, signal_id, {WEIGHT_COLUMNS} FROM weight_history ORDER BY number"  # noqa: S608 - constant
        )
        with decoding("the history of the weights"):
            return [
                WeightChange(
                    at=from_microseconds(cast(int, row[0])),
                    signal_id=cast(str, row[1]),
                    weights=weights_from(self._source.project, row[2:]),
                )
                for row in rows
            ]

    def revisions(self, memory_id: str) -> Sequence[Memory]:
        rows = self._source.run(
            "SELECT r.memory, r.checksum FROM revisions AS r JOIN memories AS m ON m.key = r.key "
            "WHERE m.id = ? ORDER BY r.version",
            (memory_id,),
        )
        return [self._revision(row) for row in rows]

    def links(self, memory_id: str) -> Sequence[Link]:
        rows = self._source.run(
            "SELECT source, target, kind FROM links WHERE source = ?1 OR target = ?1 ORDER BY source, target, kind",
            (memory_id,),
        )
        return [Link(source=cast(str, row[0]), target=cast(str, row[1]), kind=cast(str, row[2])) for row in rows]

    def recalls(self, *, limit: int, session: str | None = None) -> Sequence[RecallLog]:
        heads = self._source.run(
            "SELECT number, id, at, query, session, embedder, tokens FROM recalls "
            "WHERE ?1 IS NULL OR session = ?1 ORDER BY number DESC LIMIT ?2",
            (session, limit or -1),
        )
        return [self._recall(row) for row in heads]

    def _revision(self, row: Row) -> Memory:
        with decoding("an earlier version"):
            values: Row = tuple(json.loads(cast(str, row[0])))
        return memory_from(self._source.project, values, row[1])

    def _recall(self, row: Row) -> RecallLog:
        number, identifier, at, query, session, embedder, tokens = row
        items = self._source.run(
            "SELECT i.position, m.id, i.unproven, i.relevance, i.legs FROM recall_items AS i "
            "JOIN memories AS m ON m.key = i.key WHERE i.recall = ? ORDER BY i.position",
            (number,),
        )
        with decoding("a logged recall"):
            return RecallLog(
                id=cast(str, identifier),
                at=from_microseconds(cast(int, at)),
                query=cast(str, query),
                session=cast(str, session),
                embedder=cast(str, embedder),
                tokens=cast(int, tokens),
                entries=tuple(
                    RecallEntry(
                        rank=cast(int, item[0]),
                        memory_id=cast(str, item[1]),
                        unproven=bool(item[2]),
                        relevance=cast(float, item[3]),
                        legs=legs_from_json(cast(str, item[4])),
                    )
                    for item in items
                ),
            )

    def _memory(self, row: Row) -> Memory:
        return memory_from(self._source.project, row[:COLUMN_COUNT], row[COLUMN_COUNT])
