"""Reads the constants of an ONNX file in place, without the ``onnx`` package."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy
from numpy.typing import NDArray

Array = NDArray[numpy.float32] | NDArray[numpy.uint8] | NDArray[numpy.int8]
Raw = NDArray[numpy.uint8]

_GRAPH = 7
_INITIALIZER = 5
_FLOAT = 1
_INT8 = 3


def read_constants(path: Path) -> dict[str, Array]:
    """The float32 and int8 initialisers of a model by name, in the file's order; int8 ones stay mapped from the file.

    Raises:
        OSError: The file cannot be read.
    """
    content = numpy.memmap(path, dtype=numpy.uint8, mode="r")
    constants: dict[str, Array] = {}
    for field, start, end in _fields(content, 0, len(content)):
        if field == _GRAPH:
            for inner, first, last in _fields(content, start, end):
                if inner == _INITIALIZER:
                    constants |= _tensor(content, first, last)
    return constants


def _tensor(content: Raw, start: int, end: int) -> dict[str, Array]:
    name, element, sizes, raw = "", 0, [], content[:0]
    for field, first, last in _fields(content, start, end):
        if field == 1:
            sizes.append(_variable(content, first)[0])
        elif field == 2:
            element = _variable(content, first)[0]
        elif field == 8:
            name = content[first:last].tobytes().decode()
        elif field == 9:
            raw = content[first:last]
    if element == _FLOAT:
        return {name: numpy.frombuffer(raw.tobytes(), dtype=numpy.float32).reshape(sizes)}
    if element == _INT8:
        return {name: raw.view(numpy.int8).reshape(sizes)}
    return {}


def _fields(content: Raw, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    while start < end:
        tag, start = _variable(content, start)
        wire = tag & 7
        if wire == 2:
            size, start = _variable(content, start)
            after = start + size
        elif wire == 0:
            after = _variable(content, start)[1]
        else:
            after = start + (8 if wire == 1 else 4)
        yield tag >> 3, start, after
        start = after


def _variable(content: Raw, start: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = int(content[start])
        start += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, start
        shift += 7
