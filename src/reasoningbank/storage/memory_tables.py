"""Memories, what is derived from them, their earlier versions, links and changes of state."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from json.encoder import encode_basestring
from typing import cast

from reasoningbank.errors import InvalidInput, MemoryNotFound, ModelMismatch, ScopeViolation
from reasoningbank.storage.connection import RowSource, damaged_vectors
from reasoningbank.storage.rows import (
    ALL_ROWS,
    LEGS_PER_KEY,
    Mapped,
    Row,
    Value,
    checksum,
    decoding,
    from_microseconds,
    owned,
    proven,
    read_record,
    to_microseconds,
    vector_id,
)
from reasoningbank.storage.unit import Unit
from reasoningbank.types.consolidation import CONSOLIDATION
from reasoningbank.types.memory import (
    OUTCOMES,
    STATES,
    Cause,
    Erasure,
    Memory,
    Order,
    StateChange,
    changed_state,
    check_same_texts,
)
from reasoningbank.types.recall import VECTOR_LEGS, Filter
from reasoningbank.types.records import Indexed, Link, MemoryCounts
from reasoningbank.types.standing import CONFIRMED, ENTERED, INHERITED, VOUCHED

TABLES = """
CREATE TABLE memories (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    outcome TEXT NOT NULL,
    category TEXT NOT NULL,
    state TEXT NOT NULL,
    tags TEXT NOT NULL,
    prior INTEGER NOT NULL,
    positive INTEGER NOT NULL,
    negative INTEGER NOT NULL,
    confidence REAL NOT NULL,
    usage_count INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    consolidation_id TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    last_used INTEGER,
    version INTEGER NOT NULL,
    fingerprint BLOB NOT NULL,
    checksum BLOB NOT NULL,
    born INTEGER NOT NULL,
    change INTEGER NOT NULL,
    indexed INTEGER NOT NULL,
    title TEXT NOT NULL,
    description TEXT NOT NULL,
    content TEXT NOT NULL,
    provenance TEXT NOT NULL,
    text TEXT NOT NULL
);
CREATE INDEX memories_by_change ON memories (change) WHERE change <> born;
CREATE INDEX memories_by_fingerprint ON memories (fingerprint);

CREATE TABLE vectors (id INTEGER PRIMARY KEY, vector BLOB NOT NULL, checksum BLOB NOT NULL);

CREATE TABLE deletions (key INTEGER PRIMARY KEY, change INTEGER NOT NULL);
CREATE INDEX deletions_by_change ON deletions (change);

CREATE TABLE revisions (
    key INTEGER NOT NULL REFERENCES memories ON DELETE CASCADE,
    version INTEGER NOT NULL,
    memory TEXT NOT NULL,
    checksum BLOB NOT NULL,
    PRIMARY KEY (key, version)
);

CREATE TABLE links (
    source TEXT NOT NULL,
    target TEXT NOT NULL,
    kind TEXT NOT NULL,
    PRIMARY KEY (source, target, kind)
);
CREATE INDEX links_by_target ON links (target);
"""

CHANGE_TABLES = """
CREATE TABLE state_changes (
    number INTEGER PRIMARY KEY,
    memory INTEGER NOT NULL REFERENCES memories ON DELETE CASCADE,
    at INTEGER NOT NULL,
    reference TEXT NOT NULL,
    body TEXT NOT NULL,
    checksum BLOB NOT NULL
);
CREATE INDEX state_changes_by_memory ON state_changes (memory);
CREATE INDEX state_changes_by_reference ON state_changes (reference) WHERE reference <> '';

CREATE TABLE erasures (
    number INTEGER PRIMARY KEY,
    created_at INTEGER NOT NULL,
    at INTEGER NOT NULL,
    checksum BLOB NOT NULL
);
"""

CONTEXT_COLUMNS = """
ALTER TABLE memories ADD COLUMN context_start INTEGER NOT NULL DEFAULT 0;
ALTER TABLE memories ADD COLUMN context_words INTEGER NOT NULL DEFAULT 0;
"""
"""Where in a memory's words those of its description stand."""

CHANGES_SINCE = "changes since"
"""The entry of ``meta`` with the microseconds since when the log is complete; none when it always was."""

MEMORIES = Mapped(
    Memory,
    "id, title, description, content, outcome, category, state, tags, prior, positive, negative, usage_count, tokens, "
    "provenance, consolidation_id, created_at, updated_at, last_used, version",
)

MEMORY_COLUMNS = f"{MEMORIES.columns}, checksum, key"
"""The tables that a memory is read from by its id."""
MEMORY_WIDTH = MEMORIES.count + 2

CONSOLIDATED_SQL = (
    f"CASE WHEN m.provenance <> replace(replace(m.provenance, '{{\"{CONSOLIDATION}\": ', ''), "
    f"', \"{CONSOLIDATION}\": ', '') THEN 1 ELSE 0 END"
)
"""True when a memory ``m`` was made of others: its provenance, as JSON is written here, has the key."""

ERASURES = Mapped(Erasure, "created_at, at")

_HIGHER = (
    f'"{VOUCHED}": ',
    f'"{CONFIRMED}": ',
    f'"{ENTERED}": "person"',
    f'"{INHERITED}": "confirmed"',
    f'"{INHERITED}": "vouched"',
)
"""What the provenance of a memory holds, as JSON is written here, that stands higher than a claim or a recipe."""
_UNCONFIRMED = " AND ".join(f"m.provenance = replace(m.provenance, '{each}', '')" for each in _HIGHER)
"""True for a memory ``m`` whose standing is below confirmed: see ``standing_in``."""
_ORDERED: Mapping[Order, str] = {
    "recorded": "m.key",
    "newest": "m.key DESC",
    "confidence": "m.confidence DESC, m.key",
    "shown": "m.usage_count DESC, m.key",
    "changed": "m.updated_at DESC, m.key DESC",
}

_WRITTEN = f"{MEMORIES.columns}, confidence, fingerprint, checksum, change"

_PLACES = ", ".join("?" * (_WRITTEN.count(",") + 1))

_INSERT = (
    f"INSERT INTO memories ({_WRITTEN}, key, born, indexed, text, context_start, context_words) "  # noqa: S608
    f"VALUES ({_PLACES}, ?, ?, ?, ?, ?, ?)"
)

_INSERT_VECTORS = "INSERT INTO vectors VALUES (?, ?, ?)"

_INSERT_CHANGES = "INSERT INTO state_changes VALUES (?, ?, ?, ?, ?, ?)"

_REINDEX = "UPDATE memories SET (indexed, text, context_start, context_words) = (change, ?, ?, ?) WHERE key = ?"

_UPDATE = f"UPDATE memories SET ({_WRITTEN}) = ({_PLACES}) WHERE key = ?"  # noqa: S608 - constant columns


def _value_of(name: str, place: int) -> str:
    """Return the value of a column at a place of a list; a list of NULL alone has no type of its own."""
    return f"CAST(v.column{place} AS INTEGER)" if name == "last_used" else f"v.column{place}"


_UPDATE_EACH = (
    f"UPDATE memories SET ({_WRITTEN}) = "  # noqa: S608 - constant columns
    f"({', '.join(_value_of(name, number + 1) for number, name in enumerate(_WRITTEN.split(', ')))}) "
    f"FROM (VALUES ({_PLACES}, ?, ?)) AS v WHERE memories.key = v.column{_WRITTEN.count(',') + 2} "
    f"AND memories.checksum = v.column{_WRITTEN.count(',') + 3} RETURNING memories.key"
)

_BATCH = 500

_TORN = (
    (
        f"SELECT id FROM memories WHERE {LEGS_PER_KEY} * key NOT IN (SELECT id FROM vectors)",  # noqa: S608 - a constant
        "memory {!r} has no text index or no vector",
    ),
    (
        f"SELECT id FROM vectors WHERE id / {LEGS_PER_KEY} NOT IN (SELECT key FROM memories)",  # noqa: S608 - a constant
        "vector number {!r} belongs to no memory",
    ),
)


class MemoryTables:
    """Memories and everything that is a part of one.

    Args:
        source: Where the rows come from.
        unit: The transaction that writes; outside of one every write is refused.
    """

    def __init__(self, source: RowSource, unit: Unit) -> None:
        self._source = source
        self._unit = unit

    def get(self, memory_id: str) -> Memory:
        """Return the memory; raises MemoryNotFound."""
        found = self.many([memory_id])
        if memory_id not in found:
            raise MemoryNotFound(f"no memory {memory_id[:80]!r} in project {self._source.project[:80]!r}")
        return found[memory_id]

    def many(self, memory_ids: Collection[str], *, texts: Collection[bytes] = ()) -> Mapping[str, Memory]:
        """Return the memories of these ids that exist, and those that have one of these fingerprints, oldest first."""
        if not memory_ids and not texts:
            return {}
        also = f"OR fingerprint IN ({', '.join('?' * len(texts))}) ORDER BY key" if texts else ""
        rows = self._source.run(
            f"SELECT {MEMORY_COLUMNS} FROM memories "  # noqa: S608 - constant columns
            f"WHERE id IN (SELECT value FROM texts_in(?)) {also}",
            (json.dumps(list(memory_ids)), *texts),
        )
        return memories_of(self._source.project, rows, self._unit)

    def page(self, condition: Filter, *, limit: int, offset: int, order: Order = "recorded") -> Sequence[Memory]:
        """Return memories in the order they were stored, or in another one; limit 0 means all."""
        where, values = condition_sql(condition)
        rows = self._source.run(
            f"SELECT {MEMORIES.columns}, checksum FROM memories AS m "  # noqa: S608 - constant clauses
            f"WHERE {where} ORDER BY {_ORDERED[order]} LIMIT ? OFFSET ?",
            (*values, limit or ALL_ROWS, offset),
        )
        return [self._memory(row) for row in rows]

    def batches(self, condition: Filter, *, size: int) -> Iterator[Sequence[Memory]]:
        """Yield memories in the order they were stored, so many at once; each batch is read when it is asked for."""
        where, values = condition_sql(condition)
        statement = (
            f"SELECT {MEMORIES.columns}, checksum, key FROM memories AS m "  # noqa: S608 - constant clauses
            f"WHERE {where} AND m.key > ? ORDER BY m.key LIMIT ?"
        )
        last = -1
        while rows := self._source.run(statement, (*values, last, size)):
            last = cast(int, rows[-1][-1])
            yield [self._memory(row) for row in rows]

    def newest(self, condition: Filter, limit: int) -> Sequence[Memory]:
        """Return so many memories that were stored last, oldest first."""
        where, values = condition_sql(condition)
        rows = self._source.run(
            f"SELECT {MEMORIES.columns}, checksum FROM memories AS m "  # noqa: S608 - constant clauses
            f"WHERE {where} ORDER BY m.key DESC LIMIT ?",
            (*values, limit),
        )
        return [self._memory(row) for row in reversed(rows)]

    def count(self, condition: Filter) -> int:
        """Return how many memories meet the condition."""
        where, values = condition_sql(condition)
        rows = self._source.run(f"SELECT count(*) FROM memories AS m WHERE {where}", values)  # noqa: S608 - constant
        return cast(int, rows[0][0])

    def unconfirmed(self, *, limit: int) -> tuple[Sequence[Memory], int]:
        """Return recallable memories that nobody has confirmed, the most shown first, and how many there are in all.

        Args:
            limit: Most memories; 0 means all.
        """
        where, values = condition_sql(Filter())
        # Only keys are sorted and counted: a bank of 100,000 memories is read once, and not their texts.
        found = self._source.run(
            "SELECT m.id, count(*) OVER () FROM memories AS m "  # noqa: S608 - constant clauses
            f"WHERE {where} AND {_UNCONFIRMED} ORDER BY m.usage_count DESC, m.created_at, m.id LIMIT ?",
            (*values, limit or ALL_ROWS),
        )
        memories = self.many([cast(str, row[0]) for row in found])
        return [memories[cast(str, row[0])] for row in found], cast(int, found[0][1]) if found else 0

    def tally(self, *, proven: float) -> MemoryCounts:
        """Count all memories by state and by outcome, and of the recallable ones those of a confidence, in one pass.

        Args:
            proven: From this confidence on.
        """
        sums = [f"m.state = '{state}'" for state in STATES] + [f"m.outcome = '{outcome}'" for outcome in OUTCOMES]
        states = ", ".join(f"'{state}'" for state in Filter().states)
        sums += [f"m.state IN ({states})", f"m.state IN ({states}) AND m.confidence >= ?"]
        columns = ", ".join(f"coalesce(sum(CASE WHEN {each} THEN 1 ELSE 0 END), 0)" for each in sums)
        (row,) = self._source.run(f"SELECT count(*), {columns} FROM memories AS m", (proven,))  # noqa: S608 - constant
        every, *counts = (cast(int, value) for value in row)
        return MemoryCounts(
            memories=every,
            by_state=dict(zip(STATES, counts, strict=False)),
            by_outcome=dict(zip(OUTCOMES, counts[len(STATES) :], strict=False)),
            recallable=counts[-2],
            proven=counts[-1],
        )

    def same_text(self, fingerprint: bytes) -> Sequence[str]:
        """Return ids of memories with this fingerprint, oldest first."""
        rows = self._source.run("SELECT id FROM memories WHERE fingerprint = ? ORDER BY key", (fingerprint,))
        return [cast(str, row[0]) for row in rows]

    def revisions(self, memory_id: str) -> Sequence[Memory]:
        """Return the memory's earlier versions, oldest first."""
        rows = self._source.run(
            "SELECT r.memory, r.checksum FROM revisions AS r JOIN memories AS m ON m.key = r.key "
            "WHERE m.id = ? ORDER BY r.version",
            (memory_id,),
        )
        return [self._revision(row) for row in rows]

    def revisions_of(self, memory_ids: Collection[str]) -> Mapping[str, Sequence[Memory]]:
        """Return the earlier versions of those of these memories that have any, oldest first."""
        found: dict[str, list[Memory]] = {}
        rows = self._source.run(
            "SELECT m.id, r.memory, r.checksum FROM memories AS m JOIN revisions AS r ON r.key = m.key "
            "WHERE m.id IN (SELECT value FROM texts_in(?)) ORDER BY r.key, r.version",
            (json.dumps(list(memory_ids)),),
        )
        for row in rows:
            found.setdefault(cast(str, row[0]), []).append(self._revision(row[1:]))
        return found

    def links(self, memory_id: str) -> Sequence[Link]:
        """Return relations from or to the memory."""
        rows = self._source.run(
            "SELECT source, target, kind FROM links WHERE source = ? OR target = ? ORDER BY source, target, kind",
            (memory_id, memory_id),
        )
        return [Link(source=cast(str, row[0]), target=cast(str, row[1]), kind=cast(str, row[2])) for row in rows]

    def links_from(self, memory_ids: Collection[str]) -> Sequence[Link]:
        """Return relations from these memories."""
        rows = self._source.run(
            "SELECT source, target, kind FROM links WHERE source IN (SELECT value FROM texts_in(?)) "
            "ORDER BY source, target, kind",
            (json.dumps(list(memory_ids)),),
        )
        return [Link(source=cast(str, row[0]), target=cast(str, row[1]), kind=cast(str, row[2])) for row in rows]

    def changes(
        self,
        *,
        memory_id: str | None = None,
        reference: str | None = None,
        since: datetime | None = None,
        referring: bool = False,
    ) -> Sequence[StateChange]:
        """Change of states in the order they were written.

        Args:
            memory_id: Only this memory's.
            reference: Only those that belong to this consolidation or quarantine.
            since: Only those strictly later.
            referring: Only those that belong to a consolidation or a quarantine, whichever: most belong to none.
        """
        conditions, values = ["1 = 1"], list[Value]()
        if memory_id is not None:
            conditions.append("memory = (SELECT key FROM memories WHERE id = ?)")
            values.append(memory_id)
        if reference is not None:
            conditions.append("reference = ?")
            values.append(reference)
        if referring:
            conditions.append("reference <> ''")
        if since is not None:
            conditions.append("at > ?")
            values.append(to_microseconds(since))
        rows = self._source.run(
            "SELECT number, memory, at, reference, body, checksum FROM state_changes "  # noqa: S608 - constant clauses
            f"WHERE {' AND '.join(conditions)} ORDER BY number",
            values,
        )
        return [_change(row) for row in rows]

    def changes_of(self, memory_ids: Collection[str]) -> Mapping[str, Sequence[StateChange]]:
        """Return the changes of the states of those of these memories that have any, in the order they were written."""
        found: dict[str, list[StateChange]] = {}
        rows = self._source.run(
            "SELECT m.id, c.number, c.memory, c.at, c.reference, c.body, c.checksum FROM memories AS m "
            "JOIN state_changes AS c ON c.memory = m.key WHERE m.id IN (SELECT value FROM texts_in(?)) "
            "ORDER BY c.number",
            (json.dumps(list(memory_ids)),),
        )
        for row in rows:
            found.setdefault(cast(str, row[0]), []).append(_change(row[1:]))
        return found

    def erasures(self, *, since: datetime) -> Sequence[Erasure]:
        """Return when memories were erased, strictly later than ``since``, in the order they were.

        Nothing else is known.
        """
        rows = self._source.run(
            "SELECT number, created_at, at, checksum FROM erasures WHERE at > ? ORDER BY number",
            (to_microseconds(since),),
        )
        return [_erasure(proven("an erasure", row[:3], row[3])) for row in rows]

    def changes_since(self) -> datetime | None:
        """Return since when every change of a state is logged; None when it always was."""
        rows = self._source.run("SELECT value FROM meta WHERE name = ?", (CHANGES_SINCE,))
        if not rows:
            return None
        with decoding("the beginning of the log of state changes"):
            return from_microseconds(int(cast(str, rows[0][0])))

    def insert(self, memory: Memory, indexed: Indexed) -> None:
        """Store a new memory with everything derived from it."""
        self.insert_all([(memory, indexed)])

    def insert_all(self, entries: Sequence[tuple[Memory, Indexed]]) -> None:
        """Store new memories in this order, each with everything derived from it; all of them or none."""
        with self._unit.whole():
            for start in range(0, len(entries), _BATCH):
                self._insert(entries[start : start + _BATCH])

    def update(
        self, memory: Memory, indexed: Indexed | None = None, *, revision: bool = False, cause: Cause | None = None
    ) -> None:
        """Replace a memory; with ``indexed`` also what is derived; with ``revision`` the old version is kept.

        A new state, or another memory that it went into, is logged with its cause; without one as a change that
        happens at the real time.
        """
        self._put_memory(memory, indexed, revision=revision, cause=cause)

    def update_state(self, memory: Memory, *, revision: bool = False, cause: Cause | None = None) -> None:
        """Replace a memory as ``update`` does, but for its texts: those stay as they are stored.

        Raises:
            InvalidInput: When a text of the memory is not the stored one; nothing was changed.
        """
        self._put_memory(memory, None, revision=revision, cause=cause, same_texts=True)

    def update_states(self, changes: Sequence[tuple[Memory, Memory]]) -> None:
        """Replace memories as ``update_state`` does, each from what was read of it in this transaction to the new one.

        Raises:
            InvalidInput: When a stored memory is another one than was read; nothing was changed.
        """
        for before, after in changes:
            check_same_texts(before, after)
            self._checked(after, None)
        with self._unit.whole():
            keys = self._unit.all_keys([after.id for _, after in changes])
            rows = [(*self._values(new), keys[new.id], checksum(MEMORIES.row(old))) for old, new in changes]
            updated = self._source.run_each(_UPDATE_EACH, rows) if rows else ()
            if len(updated) != len(rows):
                raise InvalidInput("a memory is not as it was read", hint="Read it in the transaction that changes it.")
            logged = [(keys[new.id], changed_state(old, new, None)) for old, new in changes]
            self._log([(key, change) for key, change in logged if change is not None])

    def delete(self, memory_id: str, *, at: datetime | None = None) -> None:
        """Erase the memory and all that hangs on it; raise MemoryNotFound.

        That a memory was erased ``at`` this time, None for the real one, is logged, and not which one it was.
        """
        key = self._unit.key(memory_id)
        with self._unit.whole():
            self._note_erased(key, at)
            self._remove_derived(key)
            self._source.run("DELETE FROM links WHERE source = ? OR target = ?", (memory_id, memory_id))
            self._source.run("DELETE FROM memories WHERE key = ?", (key,))
            self._source.run("INSERT INTO deletions VALUES (?, ?)", (key, self._unit.say_change()))
            self._unit.note_erasure()
            self._unit.note_erased("memory", memory_id)
        self._unit.note_deletion(memory_id, key)

    def note(self, change: StateChange) -> None:
        """Log what is said of a memory's state without changing it; raise MemoryNotFound."""
        self.note_all([change])

    def note_all(self, changes: Sequence[StateChange]) -> None:
        """Log several changes in this order as ``note`` does; all of them or none.

        Raises:
            MemoryNotFound: When one is of a memory that does not exist.
        """
        if not changes:
            return
        keys = self._unit.all_keys(dict.fromkeys(change.memory_id for change in changes))
        with self._unit.whole():
            self._log([(keys[change.memory_id], change) for change in changes])
            self._unit.note_change()

    def link(self, link: Link) -> None:
        """Store a relation; a second time changes nothing."""
        self._source.run(
            "INSERT INTO links VALUES (?, ?, ?) ON CONFLICT DO NOTHING", (link.source, link.target, link.kind)
        )

    def problems(self) -> list[str]:
        """Return every defect: rows that are not whole, and beliefs that do not follow from their evidence."""
        return [*self._torn(), *damaged_vectors(self._source, "vectors", "id", "vector number")]

    def column_problems(self, expected: Mapping[str, tuple[float, bytes]]) -> list[str]:
        """Return which memories have another confidence and fingerprint in their filter columns than these."""
        rows = self._source.run(
            "SELECT id, confidence, fingerprint FROM memories WHERE id IN (SELECT value FROM texts_in(?))",
            (json.dumps(list(expected)),),
        )
        derived = {row[0]: row[1:] for row in rows}
        return [
            f"the filter columns of memory {memory_id} are not what they are derived from"
            for memory_id, columns in expected.items()
            if derived.get(memory_id) != columns
        ]

    def _torn(self) -> list[str]:
        """Return rows that belong together and are not all there."""
        return [message.format(row[0]) for statement, message in _TORN for row in self._source.run(statement)]

    def _revision(self, row: Row) -> Memory:
        with decoding("an earlier version"):
            values: Row = tuple(json.loads(cast(str, row[0])))
        return memory_from(self._source.project, values, row[1])

    def _memory(self, row: Row) -> Memory:
        return memory_from(self._source.project, row[: MEMORIES.count], row[MEMORIES.count])

    def _put_memory(
        self, memory: Memory, indexed: Indexed | None, *, revision: bool, cause: Cause | None, same_texts: bool = False
    ) -> None:
        with self._unit.whole():
            key = self._unit.key(memory.id)
            vectors = self._checked(memory, indexed)
            before = self.get(memory.id)
            if same_texts:
                check_same_texts(before, memory)
            if revision:
                old = MEMORIES.row(before)
                self._source.run(
                    "INSERT INTO revisions VALUES (?, ?, ?, ?)",
                    (key, old[-1], json.dumps(old, ensure_ascii=False), checksum(old)),
                )
            if indexed is not None:
                self._remove_derived(key)
            self._source.run(_UPDATE, (*self._values(memory), key))
            if (change := changed_state(before, memory, cause)) is not None:
                self._log([(key, change)])
            if indexed is not None:
                self._source.run(_REINDEX, (indexed.text, *indexed.context, key))
                self._unit.index_words("memories", key, key)
                self._source.run_each(_INSERT_VECTORS, _vector_rows(key, vectors))

    def _insert(self, entries: Sequence[tuple[Memory, Indexed]]) -> None:
        """Store a few new memories inside of a whole write."""
        rows: list[Row] = []
        vectors: list[Row] = []
        keys: list[int] = []
        change = self._unit.next_change()
        for memory, indexed in entries:
            raw = self._checked(memory, indexed)
            keys.append(key := self._unit.next_key())
            rows.append((*self._values(memory), key, change, change, indexed.text, *indexed.context))
            vectors += _vector_rows(key, raw)
        self._source.run_each(_INSERT, rows)
        self._unit.index_words("memories", keys[0], keys[-1])
        self._source.run_each(_INSERT_VECTORS, vectors)
        self._unit.learn((memory.id, key) for (memory, _), key in zip(entries, keys, strict=True))

    def _values(self, memory: Memory) -> Row:
        row = MEMORIES.row(memory)
        return (*row, memory.confidence, memory.fingerprint, checksum(row), self._unit.say_change())

    def _checked(self, memory: Memory, indexed: Indexed | None) -> dict[str, bytes]:
        """Return the bytes of each vector, once everything about the memory can be stored."""
        if memory.project != self._source.project:
            raise ScopeViolation(f"a memory of project {memory.project[:80]!r} does not belong in this bank")
        if indexed is None:
            return {}
        from reasoningbank.storage.vector_file import unit_vector

        vectors: dict[str, bytes] = {}
        dimension = 0
        for leg, vector in indexed.vectors.items():
            if leg not in VECTOR_LEGS:
                raise InvalidInput(f"there is no dense leg {leg!r}; the legs are {', '.join(VECTOR_LEGS)}")
            row = unit_vector(vector)
            if vectors and len(row) != dimension:
                raise ModelMismatch("the vectors of one memory have different dimensions")
            vectors[leg], dimension = row.tobytes(), len(row)
        if vectors:
            self._unit.check_space(indexed.model_id, dimension)
        return vectors

    def _remove_derived(self, key: int) -> None:
        """Remove what is derived, before the text changes: the text index finds its terms in it."""
        first = LEGS_PER_KEY * key
        self._unit.forget_words("memories", key)
        self._source.run("DELETE FROM vectors WHERE id >= ? AND id < ?", (first, first + LEGS_PER_KEY))

    def _log(self, changes: Sequence[tuple[int, StateChange]]) -> None:
        """Log changes of memories, each given with the memory's key."""
        if not changes:
            return
        rows: list[Row] = []
        first = self._unit.next_number("state_changes")
        for number, (key, change) in enumerate(changes, first):
            kept, text = owned(change)
            row: Row = (number, key, to_microseconds(kept.at), kept.reference, text)
            rows.append((*row, checksum(row)))
        self._source.run_each(_INSERT_CHANGES, rows)

    def _note_erased(self, key: int, at: datetime | None) -> None:
        moment = to_microseconds(at or datetime.now(UTC))
        made = self._source.run("SELECT created_at FROM memories WHERE key = ?", (key,))[0][0]
        row: Row = (self._unit.next_number("erasures"), made, moment)
        self._source.run("INSERT INTO erasures VALUES (?, ?, ?, ?)", (*row, checksum(row)))


def _vector_rows(key: int, vectors: Mapping[str, bytes]) -> list[Row]:
    """Return the rows of a memory's vectors, each with its checksum."""
    named = [(vector_id(key, leg), raw) for leg, raw in vectors.items()]
    return [(*row, checksum(row)) for row in named]


def _change(row: Row) -> StateChange:
    name = "a state change"
    return read_record(StateChange, proven(name, row[:5], row[5])[4], name)


def _erasure(row: Row) -> Erasure:
    with decoding("an erasure"):
        return ERASURES.record(row[1:])


def memory_from(project: str, row: Row, stored: Value) -> Memory:
    """Return the memory of a row.

    Raises:
        StoreCorrupt: When the row is not what was written.
    """
    name = f"memory {str(row[0])[:80]!r}" if row else "a memory"
    proven(name, row, stored)
    with decoding(name):
        return MEMORIES.record(row, project=project)


def memories_of(project: str, rows: Sequence[Row], unit: Unit) -> dict[str, Memory]:
    """Return the memories of rows of MEMORY_COLUMNS by their ids; a transaction learns their keys.

    Raises:
        StoreCorrupt: When a row is not what was written.
    """
    unit.learn((cast(str, row[0]), cast(int, row[-1])) for row in rows)
    return {cast(str, row[0]): memory_from(project, row[: MEMORIES.count], row[MEMORIES.count]) for row in rows}


def condition_sql(condition: Filter) -> tuple[str, list[Value]]:
    """Return the WHERE clause of a filter over ``memories AS m``, with its values bound apart."""
    clauses: list[str] = ["1 = 1"]
    values: list[Value] = []
    if {*condition.states} != {*STATES}:
        clauses.append("m.state IN (SELECT value FROM texts_in(?))")
        values.append(json.dumps(condition.states))
    comparisons: tuple[tuple[str, Value], ...] = (
        ("m.outcome = ?", condition.outcome),
        ("m.category = ?", condition.category),
        ("m.confidence >= ?", condition.min_confidence),
        ("m.confidence < ?", condition.below_confidence),
        ("m.created_at >= ?", _moment(condition.created_after)),
        ("m.created_at < ?", _moment(condition.created_before)),
    )
    for clause, value in comparisons:
        if value is not None:
            clauses.append(clause)
            values.append(value)
    if condition.categories is not None:
        clauses.append("m.category IN (SELECT value FROM texts_in(?))")
        values.append(json.dumps(condition.categories))
    if condition.consolidated is not None:
        clauses.append(f"{CONSOLIDATED_SQL} = ?")
        values.append(int(condition.consolidated))
    for tag in condition.tags:
        clauses.append(
            "m.tags <> replace(m.tags, ?, '') AND EXISTS (SELECT 1 FROM texts_in(m.tags) AS t WHERE t.value = ?)"
        )
        values += [encode_basestring(tag), tag]
    return " AND ".join(clauses), values


def _moment(moment: datetime | None) -> int | None:
    return None if moment is None else to_microseconds(moment)
