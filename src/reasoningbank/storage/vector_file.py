"""A derived sidecar file: one leg's vectors as a matrix that several processes map into memory (DESIGN D3).

It holds nothing that the bank file does not hold. It is written whole, renamed into place and verified row by row when
it is mapped; a file that is missing, foreign, torn, changed or not the one that the bank names is built again.

Layout: 4,096 bytes of header (JSON, padded), then ``rows`` keys (int64), ``rows`` checks (uint64), and the matrix
(rows x dimension, float32). The check of a row is the wrapping sum of its bytes as 64-bit words, mixed with its key.
The header ends with a hash of its own fields; its token is also in the bank, written before the file was.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy
from numpy.typing import NDArray

from reasoningbank.errors import InvalidInput
from reasoningbank.system import user_id
from reasoningbank.types.ports import Vector

HEADER_BYTES = 4_096
FORMAT = 2
SUFFIX = ".vectors"
_MIX = numpy.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """Hold what a snapshot belongs to, and up to which change of the bank it is complete.

    Attributes:
        token: The name under which the bank knows exactly this file.
    """

    bank: str
    leg: str
    model_id: str
    dimension: int
    rows: int
    change: int
    token: str
    format: int = FORMAT

    @property
    def facts(self) -> Mapping[str, str]:
        """What the bank's ``meta`` table says, by name, as long as it is the bank and the model of this file."""
        bank, _, space = self.bank.partition(" ")
        return {"bank": bank, "space": space, "model_id": self.model_id, "dimension": str(self.dimension)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A mapped and verified sidecar: ``matrix[i]`` is the vector of the memory of ``keys[i]``, keys ascending.

    Attributes:
        erased: Rows whose vector was overwritten with zeros because its memory was deleted.
    """

    header: Header
    keys: NDArray[numpy.int64]
    matrix: NDArray[numpy.float32]
    erased: NDArray[numpy.int64]


def row_checks(keys: NDArray[numpy.int64], matrix: NDArray[numpy.float32]) -> NDArray[numpy.uint64]:
    """Return one word per row that changes when the row or its key changes."""
    width = matrix.shape[1]
    padded = matrix if width % 2 == 0 else numpy.pad(matrix, ((0, 0), (0, 1)))
    words = numpy.ascontiguousarray(padded).view(numpy.uint64)
    sums: NDArray[numpy.uint64] = words.sum(axis=1, dtype=numpy.uint64)
    mixed: NDArray[numpy.uint64] = sums ^ (keys.astype(numpy.uint64) * _MIX)
    return mixed


def write_snapshot(path: Path, header: Header, keys: NDArray[numpy.int64], matrix: NDArray[numpy.float32]) -> None:
    """Write the file beside its place and rename it into place, readable by its owner alone.

    Files that an interrupted write has left behind are removed; the caller holds the lock of the directory.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    remove_unfinished(path.parent)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".new")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(_sealed(header))
            file.write(keys.tobytes())
            file.write(row_checks(keys, matrix).tobytes())
            matrix.tofile(file)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def remove_unfinished(directory: Path) -> None:
    """Remove what an interrupted write has left behind."""
    for left in directory.glob(f"*{SUFFIX}*.new"):
        left.unlink(missing_ok=True)


def read_header(path: Path) -> Header | None:
    """Return what the file says that it belongs to; None when it is not whole."""
    if not _is_ours(path):
        return None
    try:
        with path.open("rb") as file:
            return _header(file.read(HEADER_BYTES), os.fstat(file.fileno()).st_size)
    except OSError:
        return None


def read_snapshot(path: Path) -> Snapshot | None:
    """Map the file when it is whole; None when it must be built again."""
    if not _is_ours(path):
        return None
    try:
        with path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError):
        return None
    header = _header(mapped[:HEADER_BYTES], len(mapped))
    if header is None:
        return None
    dimension = header.dimension
    rows = header.rows
    keys = numpy.frombuffer(mapped, dtype=numpy.int64, count=rows, offset=HEADER_BYTES)
    checks = numpy.frombuffer(mapped, dtype=numpy.uint64, count=rows, offset=HEADER_BYTES + 8 * rows)
    matrix = numpy.frombuffer(
        mapped, dtype=numpy.float32, count=rows * dimension, offset=HEADER_BYTES + 16 * rows
    ).reshape(rows, dimension)
    if bool((numpy.diff(keys) <= 0).any()) or not bool((row_checks(keys, matrix) == checks).all()):
        return None
    blank = numpy.flatnonzero(checks == keys.astype(numpy.uint64) * _MIX)
    erased = blank[~matrix[blank].any(axis=1)]
    return Snapshot(header=header, keys=keys, matrix=matrix, erased=erased.astype(numpy.int64))


def erase_keys(path: Path, keys: Sequence[int]) -> None:
    """Overwrite the vectors of these keys with zeros; a file that is not whole is removed."""
    size = path.stat().st_size
    with path.open("r+b") as file:
        header = _header(file.read(HEADER_BYTES), size)
        if header is None:
            path.unlink(missing_ok=True)
            return
        held = numpy.frombuffer(file.read(8 * header.rows), dtype=numpy.int64)
        width = 4 * header.dimension
        zeros = numpy.zeros((1, header.dimension), dtype=numpy.float32)
        positions = numpy.flatnonzero(numpy.isin(held, numpy.array(keys, dtype=numpy.int64))).tolist()
        for position in positions:
            file.seek(HEADER_BYTES + 16 * header.rows + position * width)
            file.write(zeros.tobytes())
            file.seek(HEADER_BYTES + 8 * header.rows + 8 * position)
            file.write(row_checks(held[position : position + 1], zeros).tobytes())
        if positions:
            file.flush()
            os.fsync(file.fileno())


def _is_ours(path: Path) -> bool:
    """Return whether nobody else could have put the file there."""
    try:
        directory, file = path.parent.lstat(), path.lstat()
    except OSError:
        return False
    user = user_id()
    if user is None:
        return True
    private = directory.st_mode & 0o170022 == 0o040000 and file.st_mode & 0o170022 == 0o100000
    return private and {directory.st_uid, file.st_uid} == {user}


def _sealed(header: Header) -> bytes:
    """Return the header's bytes, ending with a hash of its fields."""
    fields = asdict(header)
    return json.dumps({**fields, "seal": _seal(fields)}).encode().ljust(HEADER_BYTES)


def _seal(fields: dict[str, object]) -> str:
    return hashlib.blake2b(json.dumps(fields, sort_keys=True).encode(), digest_size=16).hexdigest()


def _header(raw: bytes, size: int) -> Header | None:
    """Return the header of a file of this size; None when it is damaged, or not the header of such a file."""
    try:
        fields = json.loads(raw.decode("utf-8").strip())
        if fields.pop("seal") != _seal(fields):
            return None
        header = Header(**fields)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    whole = size == HEADER_BYTES + header.rows * (16 + 4 * header.dimension)
    return header if header.format == FORMAT and whole else None


UNIT_TOLERANCE = 1e-4
"""A vector whose length is that close to 1 is kept to the bit."""


def unit_vector(vector: Vector) -> Vector:
    """Return the vector as a bank keeps it: one row of unit length in single precision.

    Raises:
        InvalidInput: When it is not one row of finite numbers, or has no direction because its length is zero.
    """
    usual = isinstance(vector, numpy.ndarray) and vector.dtype == numpy.float32 and vector.ndim == 1
    if usual and abs(float(vector.dot(vector)) - 1.0) <= UNIT_TOLERANCE:
        return vector.copy()
    try:
        row = numpy.array(vector, dtype=numpy.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput("a vector is one row of finite numbers") from error
    if row.ndim != 1 or not len(row) or not bool(numpy.isfinite(row).all()):
        raise InvalidInput("a vector is one row of finite numbers")
    largest = float(numpy.abs(row).max())
    if largest == 0.0:
        raise InvalidInput("a vector of length zero points nowhere", hint="Embed a text that has words.")
    length = float(numpy.linalg.norm(row / largest)) * largest
    if abs(length - 1.0) > UNIT_TOLERANCE:
        row = row / largest
        row /= numpy.linalg.norm(row)
    kept: Vector = row.astype(numpy.float32)
    return kept
