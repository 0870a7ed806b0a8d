"""ONNX models written byte by byte, so that neither the ``onnx`` package nor a file is needed.

Field numbers are those of ``onnx.proto`` (ONNX IR version 10, operator set 17 with the operators of ONNX Runtime).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence

FLOAT = 1
"""ONNX element type of float32."""

UINT8 = 2
"""ONNX element type of uint8."""

MICROSOFT = "com.microsoft"
"""Domain of ONNX Runtime's own operators."""

_EXTERNAL = 1
_ATTRIBUTE_FLOAT = 1
_ATTRIBUTE_INT = 2
_ATTRIBUTE_INTS = 7
_SIGNED = 1 << 64


def model(
    *,
    nodes: Iterable[bytes],
    constants: Iterable[bytes],
    inputs: Mapping[str, Sequence[str | int]],
    outputs: Mapping[str, Sequence[str | int]],
) -> bytes:
    """A serialised model.

    Args:
        nodes: From ``node``, in the order of evaluation.
        constants: From ``scalar`` and ``external``.
        inputs: The float32 inputs and their sizes; a word is a size that is free.
        outputs: The float32 outputs, likewise.
    """
    graph = b"".join(
        [
            *(_message(1, part) for part in nodes),
            _text(2, "graph"),
            *(_message(5, constant) for constant in constants),
            *(_message(11, _value(name, sizes)) for name, sizes in inputs.items()),
            *(_message(12, _value(name, sizes)) for name, sizes in outputs.items()),
        ]
    )
    versions = [_number(2, 17), _text(1, MICROSOFT) + _number(2, 1)]
    return b"".join([_number(1, 10), _message(7, graph), *(_message(8, version) for version in versions)])


def node(
    operator: str,
    inputs: Iterable[str],
    outputs: Iterable[str],
    *,
    domain: str = "",
    numbers: Mapping[str, int] | None = None,
    floats: Mapping[str, float] | None = None,
    lists: Mapping[str, Sequence[int]] | None = None,
) -> bytes:
    """One operator and its attributes; an input named "" is left out."""
    attributes = [
        _text(1, name) + _number(3, value) + _number(20, _ATTRIBUTE_INT) for name, value in (numbers or {}).items()
    ]
    attributes += [
        _text(1, name) + _tag(2, 5) + struct.pack("<f", value) + _number(20, _ATTRIBUTE_FLOAT)
        for name, value in (floats or {}).items()
    ]
    attributes += [
        _text(1, name) + b"".join(_number(8, value) for value in values) + _number(20, _ATTRIBUTE_INTS)
        for name, values in (lists or {}).items()
    ]
    return b"".join(
        [
            *(_text(1, name) for name in inputs),
            *(_text(2, name) for name in outputs),
            _text(4, operator),
            *(_message(5, attribute) for attribute in attributes),
            _text(7, domain),
        ]
    )


def scalar(name: str, element: int, content: bytes) -> bytes:
    """A constant without dimensions, its bytes little-endian."""
    return _number(2, element) + _text(8, name) + _message(9, content)


def external(name: str, element: int, dimensions: Iterable[int]) -> bytes:
    """A constant whose content is handed to ONNX Runtime beside the model."""
    location = _text(1, "location") + _text(2, "memory")
    return b"".join(
        [
            *(_number(1, size) for size in dimensions),
            _number(2, element),
            _text(8, name),
            _message(13, location),
            _number(14, _EXTERNAL),
        ]
    )


def _value(name: str, sizes: Sequence[str | int]) -> bytes:
    encoded = [_text(2, size) if isinstance(size, str) else _number(1, size) for size in sizes]
    tensor = _number(1, FLOAT) + _message(2, b"".join(_message(1, size) for size in encoded))
    return _text(1, name) + _message(2, _message(1, tensor))


def _tag(field: int, wire: int) -> bytes:
    return _variable(field << 3 | wire)


def _number(field: int, value: int) -> bytes:
    return _tag(field, 0) + _variable(value)


def _text(field: int, value: str) -> bytes:
    return _message(field, value.encode())


def _message(field: int, content: bytes) -> bytes:
    return _tag(field, 2) + _variable(len(content)) + content


def _variable(value: int) -> bytes:
    encoded = bytearray()
    value %= _SIGNED
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
