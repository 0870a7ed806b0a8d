"""One transaction: where its statements go, what is written whole or not at all, and what it knows of the bank."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, cast

from reasoningbank.errors import BankError, InvalidInput, MemoryNotFound, ModelMismatch, StoreClosed, StoreError
from reasoningbank.storage.connection import RowSource, Writer
from reasoningbank.storage.rows import WEIGHT_COLUMNS, Row, Value, current_weights, decoding, upsert
from reasoningbank.types.ports import Vector
from reasoningbank.types.signal import ProjectWeights

COPIES = "copies"
"""Name in ``meta`` of what was deleted and may still be in copies of the bank that nobody has asked for."""
ERASURE = "erasure"
"""Name in the bank's ``meta`` table as long as deleted memories may have left traces in its files."""
_PUT_META = upsert("meta", "name, value", "name")
_ANY_VECTOR = (
    "SELECT 1 FROM vectors UNION ALL SELECT 1 FROM trace_vectors UNION ALL SELECT 1 FROM document_vectors "
    "UNION ALL SELECT 1 FROM graph_vectors LIMIT 1"
)
_STANDING_SQL = f"""
    (SELECT value FROM counters WHERE name = 'change'), (SELECT value FROM counters WHERE name = 'key'),
    (SELECT value FROM meta WHERE name = 'model_id'), (SELECT value FROM meta WHERE name = 'dimension'),
    {WEIGHT_COLUMNS}
FROM (SELECT 1 AS one) AS bank
LEFT JOIN weight_history ON number = (SELECT max(number) FROM weight_history)
"""  # noqa: S608 - constant columns


class BankStanding(NamedTuple):
    """The bank as the last transaction left it.

    Attributes:
        schema: How many migrations the file has had.
        change: The number of the last transaction that changed memories.
        key: The last key given out.
        space: The model and the dimension of the bank's vectors; empty when it has none yet.
        weights: The project's current weights.
    """

    schema: int
    change: int
    key: int
    space: Mapping[str, str]
    weights: ProjectWeights


class Standings:
    """The standing that one connection knows; good for as long as nobody else has written."""

    def __init__(self) -> None:
        self._known: tuple[Writer, int, BankStanding] | None = None

    @property
    def model_id(self) -> str | None:
        """The vector space that was seen last; None when there was none."""
        return None if self._known is None else self._known[2].space.get("model_id")

    def read(self, source: Writer) -> BankStanding:
        """Return the standing at the beginning of a write transaction of this connection."""
        known = self._known
        if known is not None and known[0] is source and known[1] == source.state:
            return known[2]
        self._known = None
        with decoding("the bank"):
            version, change, key, model_id, dimension, *weights = source.run(
                f"SELECT {source.schema_sql}, {_STANDING_SQL}"
            )[0]
            space = {"model_id": str(model_id), "dimension": str(dimension)} if model_id is not None else {}
            return BankStanding(
                schema=int(cast(int, version)),
                change=int(cast(int, change)),
                key=int(cast(int, key)),
                space=space,
                weights=current_weights(source.project, tuple(weights)),
            )

    def keep(self, source: Writer, standing: BankStanding) -> None:
        """Take the standing that this connection has just committed, or reads now."""
        self._known = (source, source.state, standing)


class _Ended:
    """The source of a transaction that is over, or was never begun."""

    def __init__(self, project: str) -> None:
        self.project = project

    def run(self, sql: str, values: Sequence[Value] = ()) -> Sequence[Row]:  # noqa: ARG002 - as the port has it
        raise _over()

    def run_each(self, sql: str, rows: Sequence[Row]) -> Sequence[Row]:  # noqa: ARG002 - as the port has it
        return self.run(sql)


def digest_of(name: str) -> str:
    """Return what stands for a name that must not be kept."""
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()


def _over() -> StoreClosed:
    return StoreClosed("the transaction has ended", hint="Write inside the block of store.transaction().")


class _Whole:
    """The statements of one write: all of them happen or none; when even that fails, the transaction does.

    The first write needs no savepoint: when it fails, the transaction begins anew. Nor does a write that is a part of
    another one.
    """

    __slots__ = ("_before", "_first", "_inside", "_unit")

    def __init__(self, unit: Unit) -> None:
        self._unit = unit

    def __enter__(self) -> None:
        self._inside = self._unit._writing
        if not self._inside:
            self._first, self._before = self._unit._begin_write()
            self._unit._writing = True

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if not self._inside:
            self._unit._writing = False
            self._unit._end_write(self._first, self._before, error)


class _Progress(NamedTuple):
    """Hold what a transaction goes back to when one of its writes fails."""

    change: int
    last_key: int
    space: Mapping[str, str]
    weights: ProjectWeights | None
    noted: bool
    said: bool
    unindexed: _Unindexed | None


class _Unindexed(NamedTuple):
    """Rows of one table that were stored, and whose words are not in its index yet."""

    table: str
    first: int
    last: int


_MOST_UNINDEXED = 1_000


class Unit:
    """Hold what the tables of one transaction share. A write that is refused changes nothing, also when that is caught.

    Args:
        writer: The connection that writes; None for tables that are only read.
        standings: What the connection knows of the bank.
        project: The project of every memory.
    """

    def __init__(self, writer: Writer | None, standings: Standings, project: str) -> None:
        self.project = project
        self._writer = writer
        self._source: RowSource = _Ended(project) if writer is None else writer
        self._standings = standings
        self._schema = self._last_change = self._last_key = 0
        self._space: Mapping[str, str] = {}
        self._broken: BankError | None = None
        self._wrote = self._writing = self._noted = self._said = False
        self._known: dict[str, int] = {}
        self._last_numbers: dict[str, int] = {}
        self._unindexed: _Unindexed | None = None
        self.weights: ProjectWeights | None = None
        self.change = 0
        self.undone = 0
        self.traced = False
        self.deleted: list[int] = []
        self.erased = False
        self.erasures: list[tuple[str, str]] = []

    @property
    def changes_memories(self) -> bool:
        """Return whether a row of a memory was made, changed or deleted in the transaction."""
        return self._said

    @classmethod
    def outside(cls, project: str) -> Unit:
        """Return what tables outside of a transaction have: it refuses every write."""
        return cls(None, Standings(), project)

    def run(self, sql: str, values: Sequence[Value] = ()) -> Sequence[Row]:
        """Return all rows of one statement of the transaction."""
        self._wrote = self._wrote or not sql.lstrip().startswith("SELECT")
        return self._source.run(sql, values)

    def run_each(self, sql: str, rows: Sequence[Row]) -> Sequence[Row]:
        """Run one statement of the transaction with each of these rows of values."""
        self._wrote = True
        return self._source.run_each(sql, rows)

    def claim(self, sql: str, values: Sequence[Value]) -> Sequence[Row]:
        """Return the rows of a SELECT that no other transaction has claimed; until this one ends they are its own."""
        return self._live().claim(sql, values)

    def index_words(self, table: str, first: int, last: int) -> None:
        """Put the words of the rows whose keys are from the first to the last into the table's index.

        Rows that follow one another are put there together, at the latest before the transaction is committed: an index
        writes out what it holds after each statement. Nothing in a transaction searches for words.
        """
        self._live()
        self._wrote = True
        held = self._unindexed
        follows = held is not None and held.table == table and first == held.last + 1
        if held is not None and follows and last - held.first < _MOST_UNINDEXED:
            self._unindexed = held._replace(last=last)
            return
        self._index_held_words()
        self._unindexed = _Unindexed(table, first, last)

    def forget_words(self, table: str, key: int) -> None:
        """Take the words of a row out of the table's index; called before they change and before the row goes."""
        self._wrote = True
        self._index_held_words()
        self._live().forget_words(table, key)

    def _index_held_words(self) -> None:
        if self._unindexed is not None:
            table, first, last = self._unindexed
            self._live().index_words(table, first, last)
            self._unindexed = None

    def begin(self) -> int:
        """Begin the transaction; return how many migrations the file has had."""
        writer = self._held()
        writer.begin()
        standing = self._standings.read(writer)
        self._schema, self._last_change, self._last_key = standing.schema, standing.change, standing.key
        self._space, self.weights = standing.space, standing.weights
        self._wrote = False
        self._unindexed = None
        return self._schema

    def commit(self) -> None:
        """Make everything durable; nothing of it when a write failed half-way."""
        self.check_whole()
        writer = self._held()
        self._index_held_words()
        if self._noted and not self._said:
            self.run("UPDATE floors SET value = ? WHERE name = 'change' AND value < ?", (self.change, self.change))
        standing = BankStanding(
            schema=self._schema,
            change=self.change or self._last_change,
            key=self._last_key,
            space=self._space,
            weights=self.weights or ProjectWeights(project=self.project),
        )
        self._source.run("COMMIT")
        self._standings.keep(writer, standing)

    def end(self) -> None:
        """Make every further call fail: outside its block a write would not be protected by the lock."""
        self._source = _Ended(self.project)

    def check_whole(self) -> None:
        """Refuse to be committed when a write failed half-way."""
        if self._broken is not None:
            raise StoreError(
                f"a write of this transaction failed half-way, so nothing of it was stored: {self._broken}",
                hint=self._broken.hint,
            ) from self._broken

    def whole(self) -> AbstractContextManager[None]:
        """Return a block whose writes happen together or not at all, also when its error is caught."""
        return _Whole(self)

    def key(self, memory_id: str) -> int:
        """Return the key of a memory; raise MemoryNotFound."""
        return self.all_keys([memory_id])[memory_id]

    def all_keys(self, memory_ids: Collection[str]) -> Mapping[str, int]:
        """Return the key of each memory.

        Raises:
            MemoryNotFound: When one does not exist.
        """
        keys = self.keys(memory_ids)
        for memory_id in memory_ids:
            if memory_id not in keys:
                raise MemoryNotFound(f"no memory {memory_id[:80]!r} in project {self.project[:80]!r}")
        return keys

    def keys(self, memory_ids: Collection[str]) -> Mapping[str, int]:
        """Return the keys of those of these memories that exist."""
        missing = [memory_id for memory_id in memory_ids if memory_id not in self._known]
        if missing:
            rows = self.run(
                "SELECT id, key FROM memories WHERE id IN (SELECT value FROM texts_in(?))", (json.dumps(missing),)
            )
            self._known.update(cast("Sequence[tuple[str, int]]", rows))
        return {memory_id: self._known[memory_id] for memory_id in memory_ids if memory_id in self._known}

    def learn(self, keys: Iterable[tuple[str, int]]) -> None:
        """Take keys of memories that were read in the transaction."""
        if self._writer is not None:
            self._known.update(keys)

    def next_key(self) -> int:
        """Return the key of a new memory: none is given out twice."""
        self._last_key += 1
        return self._last_key

    def next_change(self) -> int:
        """Return the number of this transaction in the bank's sequence of changes."""
        if not self.change:
            self.change = self._last_change + 1
        return self.change

    def say_change(self) -> int:
        """Return the same for a row of a memory that keeps it."""
        self._said = True
        return self.next_change()

    def note_change(self) -> int:
        """Return the same for a transaction that perhaps changes no memory.

        When it is committed and no row of a memory says its number, a floor of the counter does.
        """
        self._noted = True
        return self.next_change()

    def note_deletion(self, memory_id: str, key: int) -> None:
        """Keep which memory was deleted, for what is derived from it elsewhere."""
        self._known.pop(memory_id, None)
        self.deleted.append(key)

    def note_trace(self) -> int:
        """Return the same for a search that is kept with its trace: it leaves sidecars of vectors to the next write."""
        self.traced = True
        return self.note_change()

    def note_erasure(self) -> None:
        """Say in the file that what was deleted may have left traces in it."""
        self.run("INSERT INTO meta VALUES (?, ?) ON CONFLICT DO NOTHING", (ERASURE, "pending"))
        self.erased = True

    def note_erased(self, kind: str, name: str, *, plain: bool = False) -> None:
        """Keep what was deleted, for copies of the bank: its kind and a digest of its name."""
        self.erasures.append((kind, name if plain else digest_of(name)))

    def put_meta(self, name: str, value: str) -> None:
        """Replace one of the bank's facts about itself."""
        self.run(_PUT_META, (name, value))

    def learn_number(self, table: str, last: int) -> None:
        """Take the last number of a table that was read in the transaction."""
        if self._writer is not None:
            self._last_numbers[table] = last

    def next_number(self, table: str) -> int:
        """Return the number of a new row."""
        if table in self._last_numbers:
            return self._last_numbers.pop(table) + 1
        rows = self.run(f"SELECT coalesce(max(number), 0) + 1 FROM {table}")  # noqa: S608 - constant tables
        return cast(int, rows[0][0])

    def vector(self, vector: Vector, model_id: str) -> bytes:
        """Return the bytes of a vector of the bank's model; raise ModelMismatch."""
        from reasoningbank.storage.vector_file import unit_vector

        if not model_id:
            raise InvalidInput("a vector needs the name of its model")
        row = unit_vector(vector)
        self.check_space(model_id, len(row))
        return row.tobytes()

    def check_space(self, model_id: str, dimension: int) -> None:
        """Refuse vectors of another model or dimension than the bank's (DESIGN D11)."""
        space = self._space
        wanted = {"model_id": model_id, "dimension": str(dimension)}
        if space == wanted:
            return
        if space and self.run(_ANY_VECTOR):
            raise ModelMismatch(
                f"the bank's vectors come from {space['model_id']} ({space['dimension']} dimensions), "
                f"not from {model_id} ({dimension})"
            )
        for name, value in wanted.items():
            self.put_meta(name, value)
        self._space = wanted

    def forget_space(self) -> None:
        """Let vectors of another model come."""
        self._space = {}

    def _live(self) -> Writer:
        """Return the writer as long as the transaction has not ended."""
        if self._source is not self._writer:
            raise _over()
        return self._held()

    def _held(self) -> Writer:
        if self._writer is None:
            raise StoreClosed("there is no transaction", hint="Write inside the block of store.transaction().")
        return self._writer

    def _begin_write(self) -> tuple[bool, _Progress]:
        """Return whether it is the first write of the transaction, and what to go back to when it fails."""
        self._held()
        first = not self._wrote
        if not first:
            self._source.run("SAVEPOINT one_write")
        return first, _Progress(
            self.change, self._last_key, self._space, self.weights, self._noted, self._said, self._unindexed
        )

    def _end_write(self, first: bool, before: _Progress, error: BaseException | None) -> None:
        if error is None:
            if not first:
                self._source.run("RELEASE one_write")
            return
        self.change, self._last_key, self._space = before.change, before.last_key, before.space
        self.weights, self._noted, self._said = before.weights, before.noted, before.said
        self._unindexed = before.unindexed
        self._known.clear()
        self._last_numbers.clear()
        self.undone += 1
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
        if self._held().in_transaction:
            self._source.run("ROLLBACK")
        self.begin()
