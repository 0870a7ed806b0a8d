"""Everything that can be written to one bank file, all of it inside one transaction."""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import astuple, replace
from datetime import datetime
from typing import cast

import numpy

from reasoningbank.errors import (
    BankError,
    InvalidInput,
    MemoryNotFound,
    ModelMismatch,
    ScopeViolation,
    StoreClosed,
    StoreError,
)
from reasoningbank.storage.connection import ConnectionSource
from reasoningbank.storage.documents import DocumentWrites
from reasoningbank.storage.exposures import ExposureWrites
from reasoningbank.storage.graph_writes import GraphWrites
from reasoningbank.storage.learning_writes import LearningWrites
from reasoningbank.storage.queue import QueueWrites
from reasoningbank.storage.reads import AGGREGATE_COLUMNS, WEIGHT_COLUMNS
from reasoningbank.storage.rows import (
    LEGS_PER_KEY,
    MEMORY_COLUMNS,
    WORDS_WORTH,
    Row,
    Value,
    checksum,
    legs_to_json,
    memory_row,
    to_microseconds,
    vector_id,
)
from reasoningbank.storage.standing import Standing, Standings
from reasoningbank.storage.state_changes import ChangeWrites
from reasoningbank.storage.vector_search import unit_vector
from reasoningbank.types.memory import Cause, Memory, changed_state, check_same_texts
from reasoningbank.types.recall import VECTOR_LEGS, Recall
from reasoningbank.types.records import Indexed, Link, WeightChange, WordsWorth
from reasoningbank.types.scope import Membership
from reasoningbank.types.signal import COUNTERS, ProjectWeights, Signal, SignalAggregate, SignalType

ERASURE = "erasure"
"""Name in the bank's ``meta`` table as long as deleted memories may have left traces in its files."""
MEMBERSHIP = "membership"
"""Under this name it holds which team and org the project belongs to."""
_WRITTEN = f"{MEMORY_COLUMNS}, confidence, fingerprint, checksum, change"
_PLACES = ", ".join("?" * (_WRITTEN.count(",") + 1))
_ANY_VECTOR = (
    "SELECT 1 FROM vectors UNION ALL SELECT 1 FROM trace_vectors UNION ALL SELECT 1 FROM document_vectors "
    "UNION ALL SELECT 1 FROM graph_vectors LIMIT 1"
)
_INSERT = f"INSERT INTO memories ({_WRITTEN}, key, born, indexed, text) VALUES ({_PLACES}, ?, ?, ?, ?)"  # noqa: S608
_REINDEX = "UPDATE memories SET (indexed, text, context_start, context_words) = (change, ?, ?, ?) WHERE key = ?"
_SET_CONTEXT = "UPDATE memories SET (context_start, context_words) = (?, ?) WHERE key = ?"
_UPDATE = f"UPDATE memories SET ({_WRITTEN}) = ({_PLACES}) WHERE key = ?"  # noqa: S608 - constant columns
_SUMS = {name: f"sum(type = '{name.split('_')[0]}' AND positive = {name.endswith('positive'):d})" for name in COUNTERS}
_LATER = "max(coalesce({0}, excluded.{0}), coalesce(excluded.{0}, {0}))"
_ROLL_UP = f"""
INSERT INTO aggregates (key, {AGGREGATE_COLUMNS})
SELECT key, {", ".join(_SUMS.values())}, sum(iif(positive, weight, 0)), sum(iif(positive, 0, weight)), ?2,
    max(iif(type = 'disuse', NULL, at)), max(iif(type = 'disuse', at, NULL))
FROM signals WHERE at < ?1 GROUP BY key
ON CONFLICT (key) DO UPDATE SET
    {", ".join(f"{name} = {name} + excluded.{name}" for name in (*COUNTERS, "positive", "negative"))},
    last_rollup = excluded.last_rollup,
    last_activity = {_LATER.format("last_activity")},
    last_disuse = {_LATER.format("last_disuse")}
"""  # noqa: S608 - constant columns


_COUNT = "INSERT INTO counted VALUES (?, ?, ?) ON CONFLICT DO NOTHING RETURNING key"
_Before = tuple[int, int, Mapping[str, str], ProjectWeights, bool, bool]
"""Change, last key, space and weights before a write; whether the transaction was noted and a memory says so."""


class _Whole:
    """The statements of one write: all of them happen or none; when even that fails, the transaction does.

    The first write needs no savepoint: when it fails, the transaction begins anew. Nor does a write that is a part of
    another one.
    """

    __slots__ = ("_before", "_first", "_inside", "_writes")

    def __init__(self, writes: Writes) -> None:
        self._writes = writes

    def __enter__(self) -> None:
        self._inside = self._writes._writing
        if not self._inside:
            self._first, self._before = self._writes._begin_write()
            self._writes._writing = True

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if not self._inside:
            self._writes._writing = False
            self._writes._end_write(self._first, self._before, error)


class _Ended:
    """The source of a transaction that is over."""

    def __init__(self, project: str) -> None:
        self.project = project

    def run_each(self, sql: str, rows: Sequence[Row]) -> Sequence[Row]:  # noqa: ARG002 - as the port has it
        return self.run(sql)

    def run(self, sql: str, values: Sequence[Value] = ()) -> Sequence[Row]:  # noqa: ARG002 - as the port has it
        raise StoreClosed("the transaction has ended", hint="Write inside the block of store.transaction().")


class Writes(LearningWrites, QueueWrites, ExposureWrites, ChangeWrites, DocumentWrites, GraphWrites):
    """The Transaction port over the connection that holds the bank's write lock.

    A write that is refused changes nothing, also when the caller catches the error and goes on.

    Args:
        source: The connection that writes.
        standings: What the connection knows of the bank.
    """

    def __init__(self, source: ConnectionSource, standings: Standings) -> None:
        super().__init__(source)
        self._standings = standings
        self._connection = source
        self._schema = self._last_change = self._last_key = self._unwritten = 0
        self._space: Mapping[str, str] = {}
        self._weights = ProjectWeights(project=source.project)
        self._broken: BankError | None = None
        self._writing = self._noted = self._said = False
        self._known: dict[str, int] = {}
        self.change = 0
        self.deleted: list[int] = []
        self.erased = False

    def begin(self) -> int:
        """Begin the transaction; return how many migrations the file has had."""
        self._source.run("BEGIN IMMEDIATE")
        standing = self._standings.read(self._connection)
        self._schema, self._last_change, self._last_key = standing.schema, standing.change, standing.key
        self._space, self._weights = standing.space, standing.weights
        self._unwritten = self._connection.connection.total_changes()
        return self._schema

    def commit(self) -> None:
        """Make everything durable; nothing of it when a write failed half-way."""
        self.check_whole()
        if self._noted and not self._said:
            self._source.run("UPDATE floors SET value = ?1 WHERE name = 'change' AND value < ?1", (self.change,))
        change = self.change or self._last_change
        standing = Standing(
            schema=self._schema, change=change, key=self._last_key, space=self._space, weights=self._weights
        )
        self._source.run("COMMIT")
        self._standings.keep(self._connection, standing)

    def end(self) -> None:
        """Make every further call fail: outside its block a write would not be protected by the lock."""
        self._source = _Ended(self._source.project)

    def check_whole(self) -> None:
        """Refuse to be committed when a write failed half-way."""
        if self._broken is not None:
            raise StoreError(
                f"a write of this transaction failed half-way, so nothing of it was stored: {self._broken}",
                hint=self._broken.hint,
            ) from self._broken

    def many(self, memory_ids: Sequence[str]) -> Mapping[str, Memory]:
        found = self._found(memory_ids)
        self._known.update((memory.id, key) for key, memory in found)
        return {memory.id: memory for _, memory in found}

    def weights(self) -> ProjectWeights:
        return self._weights

    def whole(self) -> AbstractContextManager[None]:
        """Return a block whose writes happen together or not at all, also when its error is caught."""
        return _Whole(self)

    def insert(self, memory: Memory, indexed: Indexed) -> None:
        with self._whole():
            vectors = self._checked(memory, indexed)
            self._last_key = key = self._last_key + 1
            change = self._next_change()
            self._source.run(_INSERT, (*self._values(memory), key, change, change, indexed.text))
            if any(indexed.context):
                self._source.run(_SET_CONTEXT, (*indexed.context, key))
            self._write_derived(key, indexed, vectors)

    def update(
        self, memory: Memory, indexed: Indexed | None = None, *, revision: bool = False, cause: Cause | None = None
    ) -> None:
        self._put_memory(memory, indexed, revision=revision, cause=cause)

    def update_state(self, memory: Memory, *, revision: bool = False, cause: Cause | None = None) -> None:
        self._put_memory(memory, None, revision=revision, cause=cause, same_texts=True)

    def _put_memory(
        self, memory: Memory, indexed: Indexed | None, *, revision: bool, cause: Cause | None, same_texts: bool = False
    ) -> None:
        with self._whole():
            key = self._key(memory.id)
            vectors = self._checked(memory, indexed)
            before = self.get(memory.id)
            if same_texts:
                check_same_texts(before, memory)
            if revision:
                old = memory_row(before)
                self._source.run(
                    "INSERT INTO revisions VALUES (?, ?, ?, ?)",
                    (key, old[-1], json.dumps(old, ensure_ascii=False), checksum(old)),
                )
            if indexed is not None:
                self._remove_derived(key)
            self._source.run(_UPDATE, (*self._values(memory), key))
            if (change := changed_state(before, memory, cause)) is not None:
                self._log(key, change)
            if indexed is not None:
                self._source.run(_REINDEX, (indexed.text, *indexed.context, key))
                self._write_derived(key, indexed, vectors)

    def update_states(self, changes: Sequence[tuple[Memory, Memory]]) -> None:
        for before, after in changes:
            check_same_texts(before, after)
            self._checked(after, None)
        with self._whole():
            keys = self._all_keys([after.id for _, after in changes])
            rows = [(*self._values(new), keys[new.id], checksum(memory_row(old))) for old, new in changes]
            updated = self._source.run_each(f"{_UPDATE} AND checksum = ? RETURNING key", rows) if rows else ()
            if len(updated) != len(rows):
                raise InvalidInput("a memory is not as it was read", hint="Read it in the transaction that changes it.")
            for old, new in changes:
                if (change := changed_state(old, new, None)) is not None:
                    self._log(keys[new.id], change)

    def forget_vectors(self) -> None:
        with self._whole():
            self._source.run("DELETE FROM vectors")
            self._source.run("DELETE FROM trace_vectors")
            self._source.run("DELETE FROM document_vectors")
            self._source.run("DELETE FROM graph_vectors")
            self._source.run("DELETE FROM meta WHERE name IN ('model_id', 'dimension') OR name LIKE 'sidecar %'")
            self._source.run("INSERT OR REPLACE INTO meta VALUES ('space', ?)", (uuid.uuid4().hex,))
            self._note_change()
            self._space = {}

    def delete(self, memory_id: str, *, at: datetime | None = None) -> None:
        key = self._key(memory_id)
        with self._whole():
            self._note_erased(key, at)
            self._remove_derived(key)
            self._source.run("DELETE FROM links WHERE source = ?1 OR target = ?1", (memory_id,))
            self._source.run("DELETE FROM memories WHERE key = ?", (key,))
            self._known.pop(memory_id, None)
            self._source.run("INSERT INTO deletions VALUES (?, ?)", (key, self._next_change()))
            self._said = True
            self._note_erasure()
        self.deleted.append(key)
        self.erased = True

    def add_signal(self, signal: Signal, *, once: bool = False) -> bool:
        with self._whole():
            if once and not self.count_once([signal.memory_id], signal.type, signal.session):
                return False
            self.add_signals([signal])
        return True

    def count_once(self, memory_ids: Collection[str], kind: SignalType, session: str) -> Sequence[str]:
        with self._whole():
            keys = self._all_keys(memory_ids)
            rows = [(key, kind, session) for key in keys.values()]
            fresh = {row[0] for row in self._source.run_each(_COUNT, rows)} if rows else set()
        return [memory_id for memory_id in keys if keys[memory_id] in fresh]

    def add_signals(self, signals: Sequence[Signal]) -> None:
        if any(signal.weight is None for signal in signals):
            raise InvalidInput("a stored signal carries the weight of its time")
        with self._whole():
            keys = self._all_keys([signal.memory_id for signal in signals])
            rows: list[Row] = [
                (
                    signal.id,
                    keys[signal.memory_id],
                    signal.type,
                    int(signal.positive),
                    signal.session,
                    signal.rater,
                    to_microseconds(signal.at),
                    signal.weight,
                )
                for signal in signals
            ]
            if rows:
                self._source.run_each("INSERT INTO signals VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)

    def set_aggregate(self, aggregate: SignalAggregate) -> None:
        if aggregate.positive is None or aggregate.negative is None or aggregate.last_rollup is None:
            raise InvalidInput("a stored aggregate carries the evidence and the time of its roll-up")
        self._source.run(
            f"INSERT OR REPLACE INTO aggregates (key, {AGGREGATE_COLUMNS}) "  # noqa: S608 - constant columns
            f"VALUES (?{', ?' * (AGGREGATE_COLUMNS.count(',') + 1)})",
            (
                self._key(aggregate.memory_id),
                *(int(getattr(aggregate, name)) for name in COUNTERS),
                aggregate.positive,
                aggregate.negative,
                to_microseconds(aggregate.last_rollup),
                None if aggregate.last_activity is None else to_microseconds(aggregate.last_activity),
                None if aggregate.last_disuse is None else to_microseconds(aggregate.last_disuse),
            ),
        )

    def set_weights(self, change: WeightChange) -> None:
        numbers = cast("tuple[float, ...]", astuple(change.weights)[1:])
        self._source.run(
            f"INSERT INTO weight_history (at, signal_id, {WEIGHT_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
            (to_microseconds(change.at), change.signal_id, *numbers),
        )
        self._weights = replace(change.weights, project=self._source.project)

    def set_membership(self, membership: Membership) -> None:
        self._source.run(
            "INSERT OR REPLACE INTO meta VALUES (?, ?)", (MEMBERSHIP, json.dumps([membership.team, membership.org]))
        )

    def set_words_worth(self, worth: WordsWorth) -> None:
        value = json.dumps([worth.factor, worth.model_id, worth.memories])
        self._source.run("INSERT OR REPLACE INTO meta VALUES (?, ?)", (WORDS_WORTH, value))

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
            keys = self._all_keys([hit.id for hit in recall.delivered])
            items: list[Row] = [
                (rows[0][0], position, keys[hit.id], int(hit.unproven), hit.relevance, legs_to_json(hit.legs))
                for position, hit in enumerate(recall.delivered, start=1)
            ]
            if items:
                self._source.run_each("INSERT INTO recall_items VALUES (?, ?, ?, ?, ?, ?)", items)

    def link(self, link: Link) -> None:
        self._source.run("INSERT OR IGNORE INTO links VALUES (?, ?, ?)", (link.source, link.target, link.kind))

    def _key(self, memory_id: str) -> int:
        return self._all_keys([memory_id])[memory_id]

    def _all_keys(self, memory_ids: Collection[str]) -> Mapping[str, int]:
        """Return the key of each memory.

        Raises:
            MemoryNotFound: When one does not exist.
        """
        keys = self._keys(memory_ids)
        for memory_id in memory_ids:
            if memory_id not in keys:
                raise MemoryNotFound(f"no memory {memory_id[:80]!r} in project {self._source.project[:80]!r}")
        return keys

    def _keys(self, memory_ids: Collection[str]) -> Mapping[str, int]:
        missing = [memory_id for memory_id in memory_ids if memory_id not in self._known]
        if missing:
            rows = self._source.run(
                "SELECT id, key FROM memories WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(missing),)
            )
            self._known.update(cast("Sequence[tuple[str, int]]", rows))
        return {memory_id: self._known[memory_id] for memory_id in memory_ids if memory_id in self._known}

    def _values(self, memory: Memory) -> Row:
        row = memory_row(memory)
        self._said = True
        return (*row, memory.confidence, memory.fingerprint, checksum(row), self._next_change())

    def _next_change(self) -> int:
        """Return the number of this transaction in the bank's sequence of changes."""
        if not self.change:
            self.change = self._last_change + 1
        return self.change

    def _note_change(self) -> int:
        """Return the same for a transaction that perhaps changes no memory.

        When it is committed and no row of a memory says its number, a floor of the counter does.
        """
        self._noted = True
        return self._next_change()

    def _note_erasure(self) -> None:
        self._source.run("INSERT OR IGNORE INTO meta VALUES (?, ?)", (ERASURE, "pending"))

    def _whole(self) -> _Whole:
        return _Whole(self)

    def _begin_write(self) -> tuple[bool, _Before]:
        """Return whether it is the first write of the transaction, and what to go back to when it fails."""
        first = self._connection.connection.total_changes() == self._unwritten
        if not first:
            self._source.run("SAVEPOINT one_write")
        return first, (self.change, self._last_key, self._space, self._weights, self._noted, self._said)

    def _end_write(self, first: bool, before: _Before, error: BaseException | None) -> None:
        if error is None:
            if not first:
                self._source.run("RELEASE one_write")
            return
        self.change, self._last_key, self._space, self._weights, self._noted, self._said = before
        self._known.clear()
        self._place = None
        try:
            self._undo(first)
        except BankError as second:
            self._broken = error if isinstance(error, BankError) else second
            self.end()

    def _undo(self, first: bool) -> None:
        if not first:
            self._source.run("ROLLBACK TO one_write")
            self._source.run("RELEASE one_write")
            return
        if self._connection.connection.in_transaction:
            self._source.run("ROLLBACK")
        self.begin()

    def _checked(self, memory: Memory, indexed: Indexed | None) -> dict[str, bytes]:
        """Return the bytes of each vector, once everything about the memory can be stored."""
        if memory.project != self._source.project:
            raise ScopeViolation(f"a memory of project {memory.project[:80]!r} does not belong into this bank")
        if indexed is None:
            return {}
        vectors: dict[str, bytes] = {}
        for leg, vector in indexed.vectors.items():
            if leg not in VECTOR_LEGS:
                raise InvalidInput(f"there is no dense leg {leg!r}; the legs are {', '.join(VECTOR_LEGS)}")
            vectors[leg] = unit_vector(vector).tobytes()
        if len({len(raw) for raw in vectors.values()}) > 1:
            raise ModelMismatch("the vectors of one memory have different dimensions")
        for raw in vectors.values():
            self._check_space(indexed.model_id, len(raw) // numpy.dtype(numpy.float32).itemsize)
        return vectors

    def _write_derived(self, key: int, indexed: Indexed, vectors: Mapping[str, bytes]) -> None:
        self._source.run("INSERT INTO memory_text (rowid, text) VALUES (?, ?)", (key, indexed.text))
        for leg, raw in vectors.items():
            name = vector_id(key, leg)
            self._source.run("INSERT INTO vectors VALUES (?, ?, ?)", (name, raw, checksum((name, raw))))

    def _remove_derived(self, key: int) -> None:
        """Remove what is derived, before the text changes: the text index finds its terms in it."""
        first = LEGS_PER_KEY * key
        self._source.run("DELETE FROM memory_text WHERE rowid = ?", (key,))
        self._source.run("DELETE FROM vectors WHERE id >= ? AND id < ?", (first, first + LEGS_PER_KEY))

    def _check_space(self, model_id: str, dimension: int) -> None:
        """Refuse vectors of another model or dimension than the bank's (DESIGN D11)."""
        space = self._space
        wanted = {"model_id": model_id, "dimension": str(dimension)}
        if space == wanted:
            return
        if space and self._source.run(_ANY_VECTOR):
            raise ModelMismatch(
                f"the bank's vectors come from {space['model_id']} ({space['dimension']} dimensions), "
                f"not from {model_id} ({dimension})"
            )
        for name, value in wanted.items():
            self._source.run("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))
        self._space = wanted
