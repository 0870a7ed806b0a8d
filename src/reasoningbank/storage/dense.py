"""Keeps the vectors and filter columns of one bank file in step with it, and answers dense searches."""

from __future__ import annotations

import hashlib
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, cast

import numpy
from numpy.typing import NDArray

from reasoningbank.domain.recall import DENSE_LEGS, Filter
from reasoningbank.errors import InvalidInput, ModelMismatch, StoreCorrupt, StoreError
from reasoningbank.ports import Vector
from reasoningbank.storage.columns import COLUMNS_SQL, Columns
from reasoningbank.storage.failures import decoding
from reasoningbank.storage.locking import BankLock
from reasoningbank.storage.rows import LEGS_PER_KEY, Row, Value, checksum, vector_id
from reasoningbank.storage.scan import SNAPSHOT_MIN_ROWS, LegMatrix
from reasoningbank.storage.snapshot import SUFFIX, Header, erase_keys, read_snapshot, remove_unfinished, write_snapshot

VECTORS_SQL = (
    "SELECT v.id, v.vector, v.checksum FROM memories AS m JOIN vectors AS v ON v.id = ?1 * m.key + ?2 "
    "WHERE m.change > ?3 AND m.indexed > ?3 ORDER BY m.key"
)
NAMED_VECTORS_SQL = (
    "SELECT v.id, v.vector, v.checksum FROM memories AS m JOIN vectors AS v ON v.id = ?1 * m.key + ?2 "
    "WHERE m.indexed <= ?3 AND m.key IN (SELECT value FROM json_each(?4)) ORDER BY m.key"
)
WITHOUT_VECTOR_SQL = (
    "SELECT m.key FROM memories AS m WHERE m.change > ?3 AND m.indexed > ?3 "
    "AND NOT EXISTS (SELECT 1 FROM vectors AS v WHERE v.id = ?1 * m.key + ?2)"
)
STATE_SQL = "SELECT 'change', value FROM counters WHERE name = 'change' UNION ALL SELECT name, value FROM meta"
SIDECAR_NAME = "sidecar {}"
"""Under this name the bank's ``meta`` table holds the token of a leg's current sidecar."""
RETRY_SECONDS = 60.0
"""After a sidecar could not be written, no further attempt is made for this long."""
_BATCH = 4_096

Register = Callable[[str, str, int], bool]
"""Says in the bank which sidecar is the current one (name, token, change); False when that cannot be done now."""


class Reader(Protocol):
    """Runs one query of a consistent read and gives its rows."""

    def __call__(self, sql: str, values: Sequence[Value] = ()) -> Sequence[Row]:
        """All rows of the query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """What the bank says of itself in one consistent read.

    Attributes:
        bank: The bank's identifier, and how often all its vectors were made anew.
    """

    bank: str
    change: int
    model: tuple[str, int] | None
    tokens: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The memories that meet a condition, after one change of the bank.

    Attributes:
        documents: How many memories the bank holds.
        keys: The keys of all memories, ascending.
        mask: Which of them meet the condition.
    """

    change: int
    documents: int
    keys: NDArray[numpy.int64]
    mask: NDArray[numpy.bool_]

    def holds(self, keys: NDArray[numpy.int64]) -> NDArray[numpy.bool_]:
        """Which of these keys, all of them known, meet the condition."""
        found: NDArray[numpy.bool_] = self.mask[numpy.searchsorted(self.keys, keys)]
        return found


class DenseIndex:
    """The dense legs of one bank, refreshed from the bank's change counter before every search.

    Every method must make the first read of its read transaction itself: it holds the index's lock while doing so,
    which keeps the states that it sees in order.
    """

    def __init__(self, directory: Path, *, lock: BankLock, register: Register) -> None:
        self._directory = directory
        self._files = lock
        self._register = register
        self._lock = threading.Lock()
        self._retry = 0.0
        self._forget()

    def search(
        self, read: Reader, leg: str, vector: Vector, condition: Filter, limit: int
    ) -> Sequence[tuple[int, float]]:
        """Keys and inner products of the best memories of a leg that meet the condition."""
        query = _question(vector)
        with self._lock:
            matrix = self._refreshed(read, leg, len(query))
            if matrix is None or limit <= 0:
                return ()
            tagged = self._tagged(read, condition.tags)
            keys, scores = matrix.search(query, self._columns.mask(condition, tagged), limit)
        return list(zip(keys.tolist(), scores.tolist(), strict=True))

    def similarities(
        self, read: Reader, leg: str, vector: Vector, keys: Callable[[], Sequence[int]]
    ) -> Mapping[int, float]:
        """The inner product with each of these keys that has a vector in the leg."""
        query = _question(vector)
        with self._lock:
            matrix = self._refreshed(read, leg, len(query))
            return {} if matrix is None else matrix.similarities(query, numpy.array(keys(), dtype=numpy.int64))

    def vector(self, read: Reader, leg: str, key: Callable[[], int | None]) -> Vector | None:
        """A copy of one memory's vector."""
        with self._lock:
            matrix = self._refreshed(read, leg)
            number = key()
            row = None if matrix is None or number is None else matrix.vector(number)
            return None if row is None else row.copy()

    def selection(self, read: Reader, condition: Filter) -> Selection:
        """Which memories meet the condition, in the state that ``read`` sees."""
        with self._lock:
            self._refreshed(read, "")
            tagged = self._tagged(read, condition.tags)
            return Selection(
                change=self._state.change,
                documents=self._columns.living,
                keys=self._columns.keys,
                mask=self._columns.mask(condition, tagged),
            )

    def _forget(self) -> None:
        self._columns = Columns()
        self._legs: dict[str, LegMatrix] = {}
        self._state = _State(bank="", change=-1, model=None, tokens={})

    def _refreshed(self, read: Reader, leg: str, dimension: int | None = None) -> LegMatrix | None:
        try:
            with decoding("the bank"):
                self._refresh(read)
        except BaseException:
            self._forget()
            raise
        model = self._state.model
        if model is not None and dimension not in (None, model[1]):
            raise ModelMismatch(f"the bank's vectors have {model[1]} dimensions, the query's {dimension}")
        return self._legs.get(leg)

    def _refresh(self, read: Reader) -> None:
        state = _read_state(read)
        if (state.bank, state.change, state.model) == (self._state.bank, self._state.change, self._state.model):
            return
        if state.change < self._state.change or (state.bank, state.model) != (self._state.bank, self._state.model):
            self._forget()
        since = self._state.change
        gone = [cast(int, row[0]) for row in read("SELECT key FROM deletions WHERE change > ?", (since,))]
        self._columns.apply(read(COLUMNS_SQL, (since,)), gone)
        if state.model is not None:
            for leg in DENSE_LEGS:
                self._refresh_leg(read, leg, gone, since, state)
        self._state = state

    def _refresh_leg(self, read: Reader, leg: str, gone: list[int], since: int, state: _State) -> None:
        assert state.model is not None
        dimension = state.model[1]
        matrix = self._legs.get(leg)
        if matrix is None:
            matrix, since = self._loaded(read, leg, state)
            gone = []
        matrix.forget(gone)
        if since >= 0:
            matrix.forget([cast(int, row[0]) for row in read(WITHOUT_VECTOR_SQL, (*_place(leg), since))])
        self._append(matrix, read(VECTORS_SQL, (*_place(leg), since)), dimension)
        if matrix.tail_rows > max(SNAPSHOT_MIN_ROWS, matrix.snapshot_rows // 4):
            matrix = self._written(leg, matrix, state)
        self._legs[leg] = matrix

    def _loaded(self, read: Reader, leg: str, state: _State) -> tuple[LegMatrix, int]:
        """The leg's sidecar, and the change from which on the bank is to be read; all of it without a sidecar."""
        assert state.model is not None
        model_id, dimension = state.model
        path = self._path(leg, model_id)
        token = state.tokens.get(SIDECAR_NAME.format(path.name))
        snapshot = None
        if token is not None:
            snapshot = read_snapshot(
                path, bank=state.bank, leg=leg, model_id=model_id, dimension=dimension, token=token
            )
        if snapshot is None or snapshot.header.change > state.change:
            return LegMatrix(dimension, None), -1
        matrix = LegMatrix(dimension, snapshot)
        matrix.place(self._columns)
        since = snapshot.header.change
        if len(snapshot.erased):
            named = (*_place(leg), since, str(snapshot.keys[snapshot.erased].tolist()))
            self._append(matrix, read(NAMED_VECTORS_SQL, named), dimension)
        return matrix, since

    def _append(self, matrix: LegMatrix, rows: Sequence[Row], dimension: int) -> None:
        for start in range(0, len(rows), _BATCH):
            batch = rows[start : start + _BATCH]
            keys = numpy.array([row[0] for row in batch], dtype=numpy.int64) // LEGS_PER_KEY
            matrix.append(keys, _decoded(batch, dimension), self._columns)

    def _written(self, leg: str, matrix: LegMatrix, state: _State) -> LegMatrix:
        """Writes the leg's next sidecar and maps it; the given matrix when that cannot be done now."""
        assert state.model is not None
        model_id, dimension = state.model
        if time.monotonic() < self._retry:
            return matrix
        path = self._path(leg, model_id)
        token = uuid.uuid4().hex
        try:
            with self._files.held_if_free() as free:
                if not free or not self._register(SIDECAR_NAME.format(path.name), token, state.change):
                    return matrix
                keys, vectors = matrix.compact()
                header = Header(
                    bank=state.bank,
                    leg=leg,
                    model_id=model_id,
                    dimension=dimension,
                    rows=len(keys),
                    change=state.change,
                    token=token,
                )
                write_snapshot(path, header, keys, vectors)
        except (OSError, StoreError):
            # The sidecar is derived: without it the rows stay in memory and searches answer the same.
            self._retry = time.monotonic() + RETRY_SECONDS
            return matrix
        snapshot = read_snapshot(path, bank=state.bank, leg=leg, model_id=model_id, dimension=dimension, token=token)
        if snapshot is None:
            return matrix
        mapped = LegMatrix(dimension, snapshot)
        mapped.place(self._columns)
        return mapped

    def _path(self, leg: str, model_id: str) -> Path:
        return self._directory / f"{leg}-{hashlib.sha256(model_id.encode()).hexdigest()[:12]}{SUFFIX}"

    def _tagged(self, read: Reader, tags: Sequence[str]) -> NDArray[numpy.int64] | None:
        if not tags:
            return None
        keys: set[int] | None = None
        for tag in tags:
            found = {cast(int, row[0]) for row in read("SELECT key FROM memory_tags WHERE tag = ?", (tag,))}
            keys = found if keys is None else keys & found
        return numpy.array(sorted(keys or ()), dtype=numpy.int64)


def erase_vectors(directory: Path, lock: BankLock, keys: Sequence[int]) -> None:
    """Overwrites deleted memories' vectors in all sidecar files with zeros; what cannot be overwritten is removed."""
    if not directory.is_dir():
        return
    with suppress(StoreError), lock.held():
        remove_unfinished(directory)
        for path in directory.glob(f"*{SUFFIX}"):
            try:
                erase_keys(path, keys)
            except OSError:
                path.unlink(missing_ok=True)


def remove_vectors(directory: Path) -> None:
    """Removes all sidecar files; they are built again when they are needed."""
    with suppress(OSError):
        for path in directory.glob(f"*{SUFFIX}*"):
            path.unlink(missing_ok=True)


def _read_state(read: Reader) -> _State:
    values = dict(cast("Sequence[tuple[str, str]]", read(STATE_SQL)))
    model = (values["model_id"], int(values["dimension"])) if "model_id" in values else None
    bank = f"{values['bank']} {values.get('space', '')}"
    return _State(bank=bank, change=int(values["change"]), model=model, tokens=values)


def _question(vector: Vector) -> Vector:
    query: Vector = numpy.ascontiguousarray(vector, dtype=numpy.float32)
    if query.ndim != 1 or not bool(numpy.isfinite(query).all()):
        raise InvalidInput("a query's vector is one row of finite numbers")
    return query


def _place(leg: str) -> tuple[int, int]:
    """What makes a vector's id of a memory's key."""
    return LEGS_PER_KEY, vector_id(0, leg)


def _decoded(rows: Sequence[Row], dimension: int) -> NDArray[numpy.float32]:
    matrix = numpy.empty((len(rows), dimension), dtype=numpy.float32)
    for number, (name, vector, stored) in enumerate(rows):
        if checksum((name, vector)) != stored:
            raise StoreCorrupt(f"vector number {name!r} does not hold what was written to it")
        matrix[number] = numpy.frombuffer(cast(bytes, vector), dtype=numpy.float32)
    return matrix
