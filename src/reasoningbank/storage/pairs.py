"""Every close pair of a leg's vectors, exactly, without comparing all of them in full.

The cosines of all pairs are one matrix product; 100,000 vectors of 384 numbers would need four tera-operations of it.
The vectors are therefore turned first so that a quarter of their coordinates carries most of their length. With x = (p,
r), p those coordinates and r the rest, x . y = p . q + r . s <= p . q + |r| |s| (Cauchy and Schwarz), which again is an
inner product, of a quarter of the length. Only pairs whose bound is above the threshold are compared in full, and a
block of which too many are is multiplied in full. No pair is missed: the bound has room for the rounding of float32.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy
from numpy.typing import NDArray

_ROWS, _COLUMNS = 1_024, 4_096
_SHARE = 4
"""The bound takes one of so many coordinates."""
_LEAST_ROWS, _LEAST_DIMENSION = 4_096, 128
"""Below these a matrix is multiplied in full."""
_SAMPLE = 8_192
_ROUNDING = 1e-4
_MOST_COMPARED = 0.004
"""A block with more pairs than this share above the bound is multiplied in full: gathering them would cost more."""
_PATIENCE = 8
"""So many more blocks may be without the bound's help than with it, before it is given up."""


class RowPairs(NamedTuple):
    """Pairs of rows, the first row always below the second, and their cosines."""

    first: NDArray[numpy.int32]
    second: NDArray[numpy.int32]
    scores: NDArray[numpy.float32]


def close_pairs(matrix: NDArray[numpy.float32], threshold: float, limit: int) -> RowPairs:
    """Return the pairs of rows whose cosine is above the threshold, closest first, then by their rows.

    Args:
        matrix: Unit rows.
        threshold: Pairs at it are not above it.
        limit: Most pairs; when there are more, the closest stay.
    """
    kept = _Kept(threshold, limit)
    for found in _above(matrix, kept):
        kept.add(found)
    return kept.sorted()


class _Kept:
    """The closest pairs so far; the bar rises with the worst of them once there are too many."""

    def __init__(self, threshold: float, limit: int) -> None:
        self.bar = threshold
        self._limit = max(0, limit)
        self._parts: list[RowPairs] = []
        self._count = 0

    def add(self, found: RowPairs) -> None:
        """Take further pairs; forgets the least close ones when there are twice as many as wanted."""
        if len(found.scores):
            self._parts.append(found)
            self._count += len(found.scores)
        if self._count > 2 * self._limit:
            best = self.sorted()
            self._parts, self._count = [best], len(best.scores)
            if self._count:
                self.bar = max(self.bar, float(best.scores[-1]))

    def sorted(self) -> RowPairs:
        """Return the closest pairs, closest first."""
        if not self._parts:
            empty = numpy.empty(0, dtype=numpy.int32)
            return RowPairs(empty, empty, numpy.empty(0, dtype=numpy.float32))
        first, second, scores = (numpy.concatenate(columns) for columns in zip(*self._parts, strict=True))
        order = numpy.lexsort((second, first, -scores))[: self._limit]
        return RowPairs(first[order], second[order], scores[order])


def _above(matrix: NDArray[numpy.float32], kept: _Kept) -> Iterator[RowPairs]:
    """Yield the pairs above the bar as it stands, block by block; a bound that does not help is no longer asked for."""
    rows = len(matrix)
    bounded = _bounded(matrix) if rows >= _LEAST_ROWS and matrix.shape[1] >= _LEAST_DIMENSION else None
    helped = 0
    for top in range(0, rows, _ROWS):
        for left in range(top - top % _COLUMNS, rows, _COLUMNS):
            found = None if bounded is None else _bounded_block(matrix, bounded, top, left, kept.bar)
            helped += 1 if found is not None else -1
            if helped < -_PATIENCE:
                bounded = None
            yield found or _whole_block(matrix, top, left, kept.bar)


def _bounded_block(
    matrix: NDArray[numpy.float32], bounded: NDArray[numpy.float32], top: int, left: int, bar: float
) -> RowPairs | None:
    """Return the pairs of a block, compared one by one where their bound allows it.

    None when too many would have to be.
    """
    possible = bounded[top : top + _ROWS] @ bounded[left : left + _COLUMNS].T > bar - _ROUNDING
    if numpy.count_nonzero(possible) > _MOST_COMPARED * possible.size:
        return None
    upper, lower = _ordered(possible, top, left)
    return _chosen(upper, lower, numpy.einsum("ij,ij->i", matrix[upper], matrix[lower], dtype=numpy.float32), bar)


def _whole_block(matrix: NDArray[numpy.float32], top: int, left: int, bar: float) -> RowPairs:
    product = matrix[top : top + _ROWS] @ matrix[left : left + _COLUMNS].T
    upper, lower = _ordered(product > bar, top, left)
    return _chosen(upper, lower, product[upper - top, lower - left], bar)


def _ordered(where: NDArray[numpy.bool_], top: int, left: int) -> tuple[NDArray[numpy.intp], NDArray[numpy.intp]]:
    """Return the rows of a block's pairs, each pair once."""
    upper, lower = numpy.divmod(numpy.flatnonzero(where), where.shape[1])
    upper, lower = upper + top, lower + left
    once = upper < lower
    return upper[once], lower[once]


def _chosen(
    upper: NDArray[numpy.intp], lower: NDArray[numpy.intp], scores: NDArray[numpy.float32], bar: float
) -> RowPairs:
    scores = numpy.minimum(scores, numpy.float32(1.0))
    close = scores > bar
    return RowPairs(upper[close].astype(numpy.int32), lower[close].astype(numpy.int32), scores[close])


def _bounded(matrix: NDArray[numpy.float32]) -> NDArray[numpy.float32]:
    """Return rows that bound the matrix's inner products from above: main coordinates and the rest's length."""
    kept = matrix.shape[1] // _SHARE - 1
    sample = matrix[:: max(1, len(matrix) // _SAMPLE)].astype(numpy.float64)
    _, directions = numpy.linalg.eigh(sample.T @ sample)
    main = numpy.ascontiguousarray(directions[:, -kept:], dtype=numpy.float32)
    bounded = numpy.empty((len(matrix), kept + 1), dtype=numpy.float32)
    numpy.matmul(matrix, main, out=bounded[:, :kept])
    lengths = numpy.einsum("ij,ij->i", bounded[:, :kept], bounded[:, :kept])
    whole = numpy.einsum("ij,ij->i", matrix, matrix)
    bounded[:, kept] = numpy.sqrt(numpy.maximum(whole - lengths, 0.0))
    return bounded
