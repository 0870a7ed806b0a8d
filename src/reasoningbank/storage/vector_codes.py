"""One bit for each number of a vector: what tells of many vectors which few are worth an exact comparison (DESIGN D3).

A bit says whether a number is above the mean of its column. Vectors that are close share most of their bits, so those
with the fewest other bits hold the closest ones, and they alone are compared exactly. That is a pass over a
thirty-second of the bytes. Codes are made when a process first searches a large leg, from vectors that were verified.
"""

from __future__ import annotations

from functools import cached_property

import numpy
from numpy.typing import NDArray

CODED_FROM = 50_000
"""With fewer vectors in a leg all of them are compared exactly: it takes less than 7 ms."""
_LEAST = 1_000
_PER_HIT = 20
_SHARE = 32
"""One of so many vectors is compared exactly, and at least ``_LEAST`` or ``_PER_HIT`` for each hit that is wanted."""
_MOST = 4
"""When more than one vector in so many would be compared, comparing all of them is as fast."""
_AT_ONCE = 16_384


class VectorCodes:
    """The codes of a matrix of vectors.

    Args:
        matrix: One vector in each row.
    """

    def __init__(self, matrix: NDArray[numpy.float32]) -> None:
        self._matrix = matrix

    @cached_property
    def _coded(self) -> tuple[NDArray[numpy.float32], NDArray[numpy.uint64]]:
        """Return the mean vector, and the codes: all first words of the codes, then all second ones and so on."""
        rows = len(self._matrix)
        middle: NDArray[numpy.float32] = self._matrix.mean(axis=0, dtype=numpy.float64).astype(numpy.float32)
        codes = numpy.empty((len(_code(middle, middle)), rows), dtype=numpy.uint64)
        for start in range(0, rows, _AT_ONCE):
            codes[:, start : start + _AT_ONCE] = _code(self._matrix[start : start + _AT_ONCE], middle).T
        return middle, codes

    def distances(self, vector: NDArray[numpy.float32]) -> NDArray[numpy.uint16]:
        """Return in how many bits the code of each row is another one than that of a vector."""
        middle, codes = self._coded
        found = numpy.zeros(codes.shape[1], dtype=numpy.uint16)
        for words, word in zip(codes, _code(vector, middle), strict=True):
            found += numpy.bitwise_count(words ^ word)
        return found


def enough_for(limit: int, rows: int) -> int | None:
    """Return how many of so many vectors to compare exactly for so many hits; None when all should be."""
    wanted = max(_LEAST, _PER_HIT * limit, rows // _SHARE)
    return wanted if rows >= CODED_FROM and is_few(wanted, rows) else None


def is_few(wanted: int, rows: int) -> bool:
    """Return whether to compare so many vectors one by one is faster than to compare all."""
    return wanted * _MOST <= rows


def closest(distances: NDArray[numpy.uint16], keep: NDArray[numpy.bool_], wanted: int) -> NDArray[numpy.intp]:
    """Return the rows to keep that have the least distances: the wanted ones and all that equal the last of them."""
    among = numpy.bincount(distances[keep])
    reached = int(numpy.searchsorted(among.cumsum(), wanted))
    rows: NDArray[numpy.intp] = numpy.flatnonzero(keep & (distances <= reached))
    return rows


def compared(matrix: NDArray[numpy.float32], vector: NDArray[numpy.float32]) -> NDArray[numpy.float32]:
    """Return the inner products of rows: that of a row is the same whatever other rows there are."""
    products: NDArray[numpy.float32] = numpy.einsum("ij,j->i", matrix, vector)
    return products


def _code(vectors: NDArray[numpy.float32], middle: NDArray[numpy.float32]) -> NDArray[numpy.uint64]:
    """Return the codes of one vector or several, filled up to whole words with bits that all have."""
    bits = numpy.packbits(vectors > middle, axis=-1)
    lacking = -bits.shape[-1] % 8
    if lacking:
        bits = numpy.pad(bits, [(0, 0)] * (bits.ndim - 1) + [(0, lacking)])
    return numpy.ascontiguousarray(bits).view(numpy.uint64)
