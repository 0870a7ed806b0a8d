"""Everything that can be written to one bank file, all of it inside one transaction."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple
from datetime import datetime
from typing import cast

import numpy

from reasoningbank.domain.memory import Memory
from reasoningbank.domain.recall import DENSE_LEGS, Recall
from reasoningbank.domain.signal import Signal, SignalAggregate
from reasoningbank.errors import (
    BankError,
    InvalidInput,
    MemoryNotFound,
    ModelMismatch,
    ScopeViolation,
    StoreClosed,
    StoreError,
)
from reasoningbank.ports import Indexed, Job, Link, WeightChange
from reasoningbank.storage.reads import COUNT_COLUMNS, WEIGHT_COLUMNS, Reads, Source
from reasoningbank.storage.rows import (
    LEGS_PER_KEY,
    MEMORY_COLUMNS,
    TAGS_COLUMN,
    Row,
    Value,
    checksum,
    legs_to_json,
    memory_row,
    to_microseconds,
    vector_id,
)

ERASURE = "erasure"
"""Name in the bank's ``meta`` table as long as deleted memories may have left traces in its files."""
_WRITTEN = f"{MEMORY_COLUMNS}, confidence, fingerprint, checksum, change"
_PLACES = ", ".join("?" * (_WRITTEN.count(",") + 1))
_INSERT = f"INSERT INTO memories ({_WRITTEN}, key, indexed) VALUES ({_PLACES}, ?, ?)"  # noqa: S608 - constant columns
_UPDATE = f"UPDATE memories SET ({_WRITTEN}) = ({_PLACES}) WHERE key = ?"  # noqa: S608 - constant columns
_ROLL_UP = f"""
INSERT INTO aggregates (key, {COUNT_COLUMNS}, positive, negative, last_rollup)
SELECT key,
    sum(type = 'explicit' AND positive), sum(type = 'explicit' AND NOT positive),
    sum(type = 'usage' AND positive), sum(type = 'usage' AND NOT positive),
    sum(type = 'outcome' AND positive), sum(type = 'outcome' AND NOT positive),
    sum(iif(positive, weight, 0)), sum(iif(positive, 0, weight)), ?2
FROM signals WHERE at < ?1 GROUP BY key
ON CONFLICT (key) DO UPDATE SET
    explicit_positive = explicit_positive + excluded.explicit_positive,
    explicit_negative = explicit_negative + excluded.explicit_negative,
    usage_positive = usage_positive + excluded.usage_positive,
    usage_negative = usage_negative + excluded.usage_negative,
    outcome_positive = outcome_positive + excluded.outcome_positive,
    outcome_negative = outcome_negative + excluded.outcome_negative,
    positive = positive + excluded.positive,
    negative = negative + excluded.negative,
    last_rollup = excluded.last_rollup
"""  # noqa: S608 - constant columns


class _Ended:
    """The source of a transaction that is over."""

    def __init__(self, project: str) -> None:
        self.project = project

    def run(self, sql: str, values: Sequence[Value] = ()) -> Sequence[Row]:  # noqa: ARG002 - as the port has it
        raise StoreClosed("the transaction has ended", hint="Write inside the block of store.transaction().")


class Writes(Reads):
    """The Transaction port over the connection that holds the bank's write lock.

    A write that is refused changes nothing, also when the caller catches the error and goes on.
    """

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.change = 0
        self._space: dict[str, str] | None = None
        self._broken: BankError | None = None
        self.deleted: list[int] = []

    def end(self) -> None:
        """Makes every further call fail: outside its block a write would not be protected by the lock."""
        self._source = _Ended(self._source.project)

    def check_whole(self) -> None:
        """Refuses to be committed when a write failed half-way."""
        if self._broken is not None:
            raise StoreError(
                f"a write of this transaction failed half-way, so nothing of it was stored: {self._broken}",
                hint=self._broken.hint,
            ) from self._broken

    def insert(self, memory: Memory, indexed: Indexed) -> None:
        with self._whole():
            vectors = self._checked(memory, indexed)
            key = self._next_key()
            self._source.run(_INSERT, (*self._values(memory), key, self.change))
            self._write_tags(key, memory)
            self._write_derived(key, indexed, vectors)

    def update(self, memory: Memory, indexed: Indexed | None = None, *, revision: bool = False) -> None:
        with self._whole():
            key = self._key(memory.id)
            vectors = self._checked(memory, indexed)
            old = memory_row(self.get(memory.id))
            if revision:
                self._source.run(
                    "INSERT INTO revisions VALUES (?, ?, ?, ?)",
                    (key, old[-1], json.dumps(old, ensure_ascii=False), checksum(old)),
                )
            values = self._values(memory)
            if old[TAGS_COLUMN] != values[TAGS_COLUMN]:
                self._remove_tags(key)
                self._write_tags(key, memory)
            self._source.run(_UPDATE, (*values, key))
            if indexed is not None:
                self._source.run("UPDATE memories SET indexed = change WHERE key = ?", (key,))
                self._remove_derived(key)
                self._write_derived(key, indexed, vectors)

    def forget_vectors(self) -> None:
        with self._whole():
            self._source.run("DELETE FROM vectors")
            self._source.run("DELETE FROM meta WHERE name IN ('model_id', 'dimension') OR name LIKE 'sidecar %'")
            self._source.run("INSERT OR REPLACE INTO meta VALUES ('space', ?)", (uuid.uuid4().hex,))
            self._next_change()
        self._space = None

    def delete(self, memory_id: str) -> None:
        key = self._key(memory_id)
        with self._whole():
            self._remove_derived(key)
            self._remove_tags(key)
            self._source.run("DELETE FROM links WHERE source = ?1 OR target = ?1", (memory_id,))
            self._source.run("DELETE FROM memories WHERE key = ?", (key,))
            self._source.run("INSERT INTO deletions VALUES (?, ?)", (key, self._next_change()))
            self._source.run("INSERT OR IGNORE INTO meta VALUES (?, ?)", (ERASURE, "pending"))
        self.deleted.append(key)

    def add_signal(self, signal: Signal, *, once: bool = False) -> bool:
        if signal.weight is None:
            raise InvalidInput("a stored signal carries the weight of its time")
        with self._whole():
            key = self._key(signal.memory_id)
            if once:
                place = (key, signal.type, signal.session)
                if self._source.run("SELECT 1 FROM counted WHERE key = ? AND type = ? AND session = ?", place):
                    return False
                self._source.run("INSERT INTO counted VALUES (?, ?, ?)", place)
            self._source.run(
                "INSERT INTO signals VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    signal.id,
                    key,
                    signal.type,
                    int(signal.positive),
                    signal.session,
                    signal.rater,
                    to_microseconds(signal.at),
                    signal.weight,
                ),
            )
        return True

    def set_aggregate(self, aggregate: SignalAggregate) -> None:
        if aggregate.positive is None or aggregate.negative is None or aggregate.last_rollup is None:
            raise InvalidInput("a stored aggregate carries the evidence and the time of its roll-up")
        self._source.run(
            f"INSERT OR REPLACE INTO aggregates (key, {COUNT_COLUMNS}, positive, negative, last_rollup) "  # noqa: S608
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                self._key(aggregate.memory_id),
                aggregate.explicit_positive,
                aggregate.explicit_negative,
                aggregate.usage_positive,
                aggregate.usage_negative,
                aggregate.outcome_positive,
                aggregate.outcome_negative,
                aggregate.positive,
                aggregate.negative,
                to_microseconds(aggregate.last_rollup),
            ),
        )

    def set_weights(self, change: WeightChange) -> None:
        numbers = cast("tuple[float, ...]", astuple(change.weights)[1:])
        self._source.run(
            f"INSERT INTO weight_history (at, signal_id, {WEIGHT_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
            (to_microseconds(change.at), change.signal_id, *numbers),
        )

    def roll_up(self, cutoff: datetime, at: datetime) -> int:
        limit = to_microseconds(cutoff)
        moved = cast(int, self._source.run("SELECT count(*) FROM signals WHERE at < ?", (limit,))[0][0])
        if moved:
            with self._whole():
                self._source.run(_ROLL_UP, (limit, to_microseconds(at)))
                self._source.run("DELETE FROM signals WHERE at < ?", (limit,))
        return moved

    def log_recall(self, recall: Recall) -> None:
        with self._whole():
            rows = self._source.run(
                "INSERT INTO recalls (id, at, query, session, embedder, tokens) "
                "VALUES (?, ?, ?, ?, ?, ?) RETURNING number",
                (recall.id, to_microseconds(recall.at), recall.query, recall.session, recall.embedder, recall.tokens),
            )
            for position, hit in enumerate(recall.delivered, start=1):
                place = (rows[0][0], position, self._key(hit.id))
                self._source.run(
                    "INSERT INTO recall_items VALUES (?, ?, ?, ?, ?, ?)",
                    (*place, int(hit.unproven), hit.relevance, legs_to_json(hit.legs)),
                )

    def link(self, link: Link) -> None:
        self._source.run("INSERT OR IGNORE INTO links VALUES (?, ?, ?)", (link.source, link.target, link.kind))

    def enqueue(self, job: Job) -> bool:
        if self._source.run("SELECT 1 FROM jobs WHERE kind = ? AND key = ?", (job.kind, job.key)):
            return False
        payload = json.dumps(dict(job.payload), sort_keys=True)
        self._source.run(
            "INSERT INTO jobs VALUES (?, ?, ?, ?, ?)",
            (job.kind, job.key, to_microseconds(job.due), payload, job.attempts),
        )
        return True

    def finish(self, job: Job) -> None:
        self._source.run("DELETE FROM jobs WHERE kind = ? AND key = ?", (job.kind, job.key))

    def _key(self, memory_id: str) -> int:
        rows = self._source.run("SELECT key FROM memories WHERE id = ?", (memory_id,))
        if not rows:
            raise MemoryNotFound(f"no memory {memory_id[:80]!r} in project {self._source.project[:80]!r}")
        return cast(int, rows[0][0])

    def _values(self, memory: Memory) -> Row:
        row = memory_row(memory)
        return (*row, memory.confidence, memory.fingerprint, checksum(row), self._next_change())

    def _next_change(self) -> int:
        """The number of this transaction in the bank's sequence of changes."""
        if not self.change:
            rows = self._source.run("UPDATE counters SET value = value + 1 WHERE name = 'change' RETURNING value")
            self.change = cast(int, rows[0][0])
        return self.change

    def _next_key(self) -> int:
        """A key that no memory ever had; with the number of this transaction when it has none yet."""
        if self.change:
            rows = self._source.run("UPDATE counters SET value = value + 1 WHERE name = 'key' RETURNING value")
            return cast(int, rows[0][0])
        rows = self._source.run("UPDATE counters SET value = value + 1 RETURNING name, value")
        numbers = {cast(str, name): cast(int, value) for name, value in rows}
        self.change = numbers["change"]
        return numbers["key"]

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """The statements of one write: all of them happen or none; when even that fails, the transaction does."""
        self._source.run("SAVEPOINT one_write")
        try:
            yield
        except BaseException as error:
            self.change, self._space = 0, None
            try:
                self._source.run("ROLLBACK TO one_write")
            except BankError as second:
                self._broken = error if isinstance(error, BankError) else second
            raise
        finally:
            if self._broken is None:
                self._source.run("RELEASE one_write")

    def _checked(self, memory: Memory, indexed: Indexed | None) -> dict[str, bytes]:
        """The bytes of each vector, once everything about the memory can be stored."""
        if memory.project != self._source.project:
            raise ScopeViolation(f"a memory of project {memory.project[:80]!r} does not belong into this bank")
        if indexed is None:
            return {}
        vectors: dict[str, bytes] = {}
        for leg, vector in indexed.vectors.items():
            if leg not in DENSE_LEGS:
                raise InvalidInput(f"there is no dense leg {leg!r}; the legs are {', '.join(DENSE_LEGS)}")
            row = numpy.ascontiguousarray(vector, dtype=numpy.float32)
            if row.ndim != 1 or not len(row) or not bool(numpy.isfinite(row).all()):
                raise InvalidInput("a vector is one row of finite numbers")
            vectors[leg] = row.tobytes()
        if len({len(raw) for raw in vectors.values()}) > 1:
            raise ModelMismatch("the vectors of one memory have different dimensions")
        for raw in vectors.values():
            self._check_space(indexed.model_id, len(raw) // numpy.dtype(numpy.float32).itemsize)
        return vectors

    def _write_tags(self, key: int, memory: Memory) -> None:
        for tag in dict.fromkeys(memory.tags):
            self._source.run("INSERT INTO memory_tags VALUES (?, ?)", (tag, key))

    def _remove_tags(self, key: int) -> None:
        """Removes the tags of the memory as it is stored now: there is no index by memory."""
        self._source.run(
            "DELETE FROM memory_tags WHERE key = ?1 "
            "AND tag IN (SELECT j.value FROM memories AS m, json_each(m.tags) AS j WHERE m.key = ?1)",
            (key,),
        )

    def _write_derived(self, key: int, indexed: Indexed, vectors: Mapping[str, bytes]) -> None:
        self._source.run("INSERT INTO memory_text (rowid, text) VALUES (?, ?)", (key, indexed.text))
        for leg, raw in vectors.items():
            name = vector_id(key, leg)
            self._source.run("INSERT INTO vectors VALUES (?, ?, ?)", (name, raw, checksum((name, raw))))

    def _remove_derived(self, key: int) -> None:
        first = LEGS_PER_KEY * key
        self._source.run("DELETE FROM memory_text WHERE rowid = ?", (key,))
        self._source.run("DELETE FROM vectors WHERE id >= ? AND id < ?", (first, first + LEGS_PER_KEY))

    def _check_space(self, model_id: str, dimension: int) -> None:
        """Refuses vectors of another model or dimension than the bank's (DESIGN D11)."""
        if self._space is None:
            names = self._source.run("SELECT name, value FROM meta WHERE name IN ('model_id', 'dimension')")
            self._space = {cast(str, name): cast(str, value) for name, value in names}
        wanted = {"model_id": model_id, "dimension": str(dimension)}
        if self._space == wanted:
            return
        if self._space and self._source.run("SELECT 1 FROM vectors LIMIT 1"):
            raise ModelMismatch(
                f"the bank's vectors come from {self._space['model_id']} ({self._space['dimension']} dimensions), "
                f"not from {model_id} ({dimension})"
            )
        for name, value in wanted.items():
            self._source.run("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))
        self._space = wanted
