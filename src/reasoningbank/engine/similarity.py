"""The cosine of two vectors (seed 004 ``CosineSimilarity``)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy
from numpy.typing import NDArray


def cosine_similarity(
    first: Sequence[float] | NDArray[numpy.float32], second: Sequence[float] | NDArray[numpy.float32]
) -> float:
    """(A . B) / (|A| |B|) in double precision, from -1 to 1.

    Returns 0.0 for empty vectors, vectors of different lengths and vectors of length zero, as seed 004 does.
    """
    left = numpy.asarray(first, dtype=numpy.float64)
    right = numpy.asarray(second, dtype=numpy.float64)
    if left.size == 0 or left.shape != right.shape:
        return 0.0
    largest = float(numpy.abs(left).max()), float(numpy.abs(right).max())
    if 0.0 in largest:
        return 0.0
    left, right = left / largest[0], right / largest[1]
    cosine = float(left @ right) / (float(numpy.linalg.norm(left)) * float(numpy.linalg.norm(right)))
    return max(-1.0, min(1.0, cosine))
