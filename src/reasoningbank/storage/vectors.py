"""Which vectors a bank takes: those that have a direction, at unit length."""

from __future__ import annotations

import numpy

from reasoningbank.errors import InvalidInput
from reasoningbank.ports import Vector

UNIT_TOLERANCE = 1e-4
"""A vector whose length is that close to 1 is kept to the bit."""


def unit_vector(vector: Vector) -> Vector:
    """The vector as a bank keeps it: one row of unit length in single precision.

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
