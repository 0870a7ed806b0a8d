"""A derived sidecar file: one leg's vectors as a matrix that several processes map into memory (DESIGN D3).

It holds nothing that the bank file does not hold. It is written whole, renamed into place and verified row by row when
it is mapped; a file that is missing, foreign, torn or changed is built again from the bank.

Layout: 4,096 bytes of header (JSON, padded), then ``rows`` keys (int64), ``rows`` checks (uint64), and the matrix
(rows x dimension, float32). The check of a row is the wrapping sum of its bytes as 64-bit words, mixed with its key.
"""

from __future__ import annotations

import json
import mmap
import os
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy
from numpy.typing import NDArray

HEADER_BYTES = 4_096
FORMAT = 1
_MIX = numpy.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What a snapshot belongs to, and up to which change of the bank it is complete."""

    bank: str
    leg: str
    model_id: str
    dimension: int
    rows: int
    change: int
    format: int = FORMAT


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A mapped and verified sidecar: ``matrix[i]`` is the vector of the memory of ``keys[i]``, keys ascending."""

    header: Header
    keys: NDArray[numpy.int64]
    matrix: NDArray[numpy.float32]


def row_checks(keys: NDArray[numpy.int64], matrix: NDArray[numpy.float32]) -> NDArray[numpy.uint64]:
    """One word per row that changes when the row or its key changes."""
    width = matrix.shape[1]
    padded = matrix if width % 2 == 0 else numpy.pad(matrix, ((0, 0), (0, 1)))
    words = numpy.ascontiguousarray(padded).view(numpy.uint64)
    sums: NDArray[numpy.uint64] = words.sum(axis=1, dtype=numpy.uint64)
    mixed: NDArray[numpy.uint64] = sums ^ (keys.astype(numpy.uint64) * _MIX)
    return mixed


def write_snapshot(path: Path, header: Header, keys: NDArray[numpy.int64], matrix: NDArray[numpy.float32]) -> None:
    """Writes the file beside its place and renames it into place, readable by its owner alone."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".new")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(json.dumps(asdict(header)).encode().ljust(HEADER_BYTES))
            file.write(keys.tobytes())
            file.write(row_checks(keys, matrix).tobytes())
            matrix.tofile(file)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def read_snapshot(path: Path, *, bank: str, leg: str, model_id: str, dimension: int) -> Snapshot | None:
    """Maps the file when it is whole and belongs to this bank, leg and model; None when it must be built again."""
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size < HEADER_BYTES:
                return None
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError:
        return None
    header = _header(mapped[:HEADER_BYTES])
    expected = (bank, leg, model_id, dimension, FORMAT)
    if header is None or (header.bank, header.leg, header.model_id, header.dimension, header.format) != expected:
        return None
    rows = header.rows
    if rows < 0 or len(mapped) != HEADER_BYTES + rows * (16 + 4 * dimension):
        return None
    keys = numpy.frombuffer(mapped, dtype=numpy.int64, count=rows, offset=HEADER_BYTES)
    checks = numpy.frombuffer(mapped, dtype=numpy.uint64, count=rows, offset=HEADER_BYTES + 8 * rows)
    matrix = numpy.frombuffer(
        mapped, dtype=numpy.float32, count=rows * dimension, offset=HEADER_BYTES + 16 * rows
    ).reshape(rows, dimension)
    if bool((numpy.diff(keys) <= 0).any()) or not bool((row_checks(keys, matrix) == checks).all()):
        return None
    return Snapshot(header=header, keys=keys, matrix=matrix)


def erase_keys(path: Path, keys: Sequence[int]) -> None:
    """Overwrites the vectors of these keys with zeros, so that a deleted memory leaves none behind."""
    if not path.exists():
        return
    with path.open("r+b") as file:
        header = _header(file.read(HEADER_BYTES))
        if header is None:
            return
        held = numpy.frombuffer(file.read(8 * header.rows), dtype=numpy.int64)
        width = 4 * header.dimension
        changed = False
        for position in numpy.flatnonzero(numpy.isin(held, numpy.array(keys, dtype=numpy.int64))).tolist():
            start = HEADER_BYTES + 16 * header.rows + position * width
            file.seek(start)
            if not any(file.read(width)):
                continue
            changed = True
            zeros = numpy.zeros((1, header.dimension), dtype=numpy.float32)
            file.seek(start)
            file.write(zeros.tobytes())
            file.seek(HEADER_BYTES + 8 * header.rows + 8 * position)
            file.write(row_checks(held[position : position + 1], zeros).tobytes())
        if changed:
            file.flush()
            os.fsync(file.fileno())


def _header(raw: bytes) -> Header | None:
    try:
        fields = json.loads(raw.decode("utf-8").strip())
        return Header(**fields)
    except (ValueError, TypeError):
        return None
