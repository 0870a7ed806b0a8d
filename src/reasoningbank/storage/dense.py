"""Keeps the vectors and filter columns of one bank file in step with it, and answers dense searches."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol, cast

import numpy
from numpy.typing import NDArray

from reasoningbank.domain.recall import DENSE_LEGS, Filter
from reasoningbank.errors import StoreCorrupt, StoreUnavailable
from reasoningbank.ports import Vector
from reasoningbank.storage.columns import COLUMNS_SQL, Columns
from reasoningbank.storage.locking import BankLock
from reasoningbank.storage.rows import Row, Value, checksum
from reasoningbank.storage.scan import SNAPSHOT_MIN_ROWS, LegMatrix
from reasoningbank.storage.snapshot import Header, erase_keys, read_snapshot, write_snapshot

VECTORS_SQL = "SELECT key, vector, checksum FROM vectors WHERE leg = ? AND change > ? ORDER BY key"
_BATCH = 4_096


class Reader(Protocol):
    """Runs one query of a consistent read and gives its rows."""

    def __call__(self, sql: str, values: Sequence[Value] = ()) -> Sequence[Row]:
        """All rows of the query."""


class DenseIndex:
    """The dense legs of one bank, refreshed from the bank's change counter before every search."""

    def __init__(self, directory: Path, *, bank: str) -> None:
        self._directory = directory
        self._bank = bank
        self._lock = threading.Lock()
        self._snapshot_lock = BankLock(directory.with_name(directory.name + ".lock"))
        self._columns = Columns()
        self._legs: dict[str, LegMatrix] = {}
        self._change = -1
        self._model: tuple[str, int] | None = None

    def search(
        self, read: Reader, leg: str, vector: Vector, condition: Filter, limit: int
    ) -> Sequence[tuple[int, float]]:
        """Keys and inner products of the best memories of a leg that meet the condition."""
        with self._lock:
            self._refresh(read)
            matrix = self._legs.get(leg)
            if matrix is None or limit <= 0:
                return ()
            tagged = self._tagged(read, condition.tags)
            keys, scores = matrix.search(vector, self._columns.mask(condition, tagged), limit)
        return list(zip(keys.tolist(), scores.tolist(), strict=True))

    def similarities(self, read: Reader, leg: str, vector: Vector, keys: Sequence[int]) -> Mapping[int, float]:
        """The inner product with each of these keys that has a vector in the leg."""
        with self._lock:
            self._refresh(read)
            matrix = self._legs.get(leg)
            if matrix is None:
                return {}
            rows = {key: row for key in keys if (row := matrix.vector(key)) is not None}
            if not rows:
                return {}
            scores = numpy.stack(list(rows.values())) @ vector
        return dict(zip(rows, scores.tolist(), strict=True))

    def vector(self, read: Reader, leg: str, key: int) -> Vector | None:
        """A copy of one memory's vector."""
        with self._lock:
            self._refresh(read)
            matrix = self._legs.get(leg)
            row = None if matrix is None else matrix.vector(key)
            return None if row is None else row.copy()

    def erase(self, read: Reader, keys: Sequence[int]) -> None:
        """Overwrites deleted memories' vectors in the sidecar files with zeros."""
        with self._lock:
            self._refresh(read)
            for leg in self._legs:
                self._erase(leg, keys)

    def close(self) -> None:
        """Lets go of the mapped files."""
        with self._lock:
            self._legs.clear()
            self._change = -1
            self._columns = Columns()
            self._snapshot_lock.close()

    def _refresh(self, read: Reader) -> None:
        change = cast(int, read("SELECT value FROM counters WHERE name = 'change'")[0][0])
        if change == self._change:
            return
        model = self._read_model(read)
        if change < self._change or model != self._model:
            self._columns, self._legs, self._change, self._model = Columns(), {}, -1, model
        gone = [cast(int, row[0]) for row in read("SELECT key FROM deletions WHERE change > ?", (self._change,))]
        self._columns.apply(read(COLUMNS_SQL, (self._change,)), gone)
        if model is not None:
            for leg in DENSE_LEGS:
                self._refresh_leg(read, leg, gone, change)
        self._change = change

    def _refresh_leg(self, read: Reader, leg: str, gone: list[int], change: int) -> None:
        assert self._model is not None
        model_id, dimension = self._model
        since = self._change
        matrix = self._legs.get(leg)
        if matrix is None:
            snapshot = read_snapshot(self._path(leg), bank=self._bank, leg=leg, model_id=model_id, dimension=dimension)
            if snapshot is not None and snapshot.header.change > change:
                snapshot = None
            since = -1 if snapshot is None else snapshot.header.change
            matrix = self._legs[leg] = LegMatrix(dimension, snapshot)
            matrix.place(self._columns)
            gone = [cast(int, row[0]) for row in read("SELECT key FROM deletions")]
        if matrix.forget(gone):
            self._erase(leg, gone)
        rows = read(VECTORS_SQL, (leg, since))
        for start in range(0, len(rows), _BATCH):
            batch = rows[start : start + _BATCH]
            keys = numpy.array([row[0] for row in batch], dtype=numpy.int64)
            matrix.append(keys, _decoded(batch, dimension), self._columns)
        if matrix.tail_rows > max(SNAPSHOT_MIN_ROWS, matrix.snapshot_rows // 4):
            self._write(
                leg,
                matrix,
                Header(
                    bank=self._bank,
                    leg=leg,
                    model_id=model_id,
                    dimension=dimension,
                    rows=matrix.live_rows,
                    change=change,
                ),
            )

    def _write(self, leg: str, matrix: LegMatrix, header: Header) -> None:
        """Writes the leg's next snapshot, when no other process is at it and the disk has room, and maps it."""
        try:
            with self._snapshot_lock.held_if_free() as free:
                if not free:
                    return
                keys, vectors = matrix.compact()
                write_snapshot(self._path(leg), header, keys, vectors)
        except (OSError, StoreUnavailable):
            # The sidecar is derived: without it the rows stay in memory and searches answer the same.
            return
        snapshot = read_snapshot(
            self._path(leg), bank=self._bank, leg=leg, model_id=header.model_id, dimension=header.dimension
        )
        if snapshot is not None and snapshot.header == header:
            self._legs[leg] = LegMatrix(header.dimension, snapshot)
            self._legs[leg].place(self._columns)

    def _erase(self, leg: str, keys: Sequence[int]) -> None:
        try:
            with self._snapshot_lock.held():
                erase_keys(self._path(leg), keys)
        except OSError:
            self._path(leg).unlink(missing_ok=True)

    def _path(self, leg: str) -> Path:
        assert self._model is not None
        space = hashlib.sha256(self._model[0].encode()).hexdigest()[:12]
        return self._directory / f"{leg}-{space}.vectors"

    def _tagged(self, read: Reader, tags: Sequence[str]) -> NDArray[numpy.int64] | None:
        if not tags:
            return None
        keys: set[int] | None = None
        for tag in tags:
            found = {cast(int, row[0]) for row in read("SELECT key FROM memory_tags WHERE tag = ?", (tag,))}
            keys = found if keys is None else keys & found
        return numpy.array(sorted(keys or ()), dtype=numpy.int64)

    @staticmethod
    def _read_model(read: Reader) -> tuple[str, int] | None:
        meta = dict(cast(Sequence[tuple[str, str]], read("SELECT name, value FROM meta")))
        if "model_id" not in meta:
            return None
        return meta["model_id"], int(meta["dimension"])


def _decoded(rows: Sequence[Row], dimension: int) -> NDArray[numpy.float32]:
    matrix = numpy.empty((len(rows), dimension), dtype=numpy.float32)
    for number, (key, vector, stored) in enumerate(rows):
        if checksum((key, vector)) != stored:
            raise StoreCorrupt(f"the vector of memory number {key!r} does not hold what was written to it")
        matrix[number] = numpy.frombuffer(cast(bytes, vector), dtype=numpy.float32)
    return matrix
