"""The ONNX graph of a six-layer BERT encoder over 8-bit weights, written byte by byte.

Both local models are post-norm BERT encoders of one shape, so one graph serves both. It starts after the embedding
tables, which are looked up in the mapped file, and it computes with ``MatMulNBits``: weights stay in 8 bits with a
scale per block, and every row of activations is quantised by itself, so that a text's vector does not depend on its
neighbours in a batch (unlike ``DynamicQuantizeLinear``, whose scale spans the whole tensor). Writing the graph needs
neither the ``onnx`` package nor a file: the weights are declared as external and handed over in memory.

Field numbers are those of ``onnx.proto`` (ONNX IR version 10).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

_FLOAT = 1
_UINT8 = 2
_EXTERNAL = 1
_ATTRIBUTE_FLOAT = 1
_ATTRIBUTE_INT = 2
_MICROSOFT = "com.microsoft"
_INT8_COMPUTE = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderShape:
    """The sizes of an encoder.

    Attributes:
        hidden: Length of a token's vector.
        inner: Width of the feed-forward layer.
        layers: Number of layers.
        heads: Attention heads; divide ``hidden``.
        block: Weights that share one scale, along the input; divides ``hidden`` and ``inner``.
        epsilon: Of every layer normalisation.
    """

    hidden: int = 384
    inner: int = 1536
    layers: int = 6
    heads: int = 12
    block: int = 64
    epsilon: float = 1e-12


def encoder_graph(shape: EncoderShape) -> bytes:
    """The serialised model: ``embedded`` (batch, tokens, hidden) float32 to ``encoded`` of the same shape.

    Its weights are external initialisers, named by ``encoder_weights``.
    """
    nodes = [_normalise("embedded", "norm", "layer0.input", shape)]
    for layer in range(shape.layers):
        nodes += _layer(layer, shape)
    nodes[-1] = _skip_normalise(shape.layers - 1, "output", "encoded", shape)
    graph = b"".join(
        [
            *(_message(1, node) for node in nodes),
            _text(2, "encoder"),
            *(_message(5, _external(name, *kind)) for name, kind in encoder_weights(shape).items()),
            _message(11, _value("embedded", shape)),
            _message(12, _value("encoded", shape)),
        ]
    )
    versions = [_number(2, 17), _text(1, _MICROSOFT) + _number(2, 1)]
    return b"".join([_number(1, 10), _message(7, graph), *(_message(8, version) for version in versions)])


def encoder_weights(shape: EncoderShape) -> Mapping[str, tuple[int, tuple[int, ...]]]:
    """Every weight of the graph: its name to its ONNX element type (1 float32, 2 uint8) and its shape.

    A matrix (outputs, inputs) is stored as ``NAME.weight`` (outputs, blocks, block) with 128 for zero, and
    ``NAME.scale`` (outputs, blocks).
    """
    hidden, inner, block = shape.hidden, shape.inner, shape.block
    weights: dict[str, tuple[int, tuple[int, ...]]] = {}

    def matrix(name: str, outputs: int, inputs: int) -> None:
        weights[f"{name}.weight"] = (_UINT8, (outputs, inputs // block, block))
        weights[f"{name}.scale"] = (_FLOAT, (outputs, inputs // block))
        weights[f"{name}.bias"] = (_FLOAT, (outputs,))

    def norm(name: str) -> None:
        weights[f"{name}.gain"] = (_FLOAT, (hidden,))
        weights[f"{name}.bias"] = (_FLOAT, (hidden,))

    norm("norm")
    for layer in range(shape.layers):
        for part in ("query", "key", "value", "attention"):
            matrix(f"layer{layer}.{part}", hidden, hidden)
        norm(f"layer{layer}.attention.norm")
        matrix(f"layer{layer}.inner", inner, hidden)
        matrix(f"layer{layer}.output", hidden, inner)
        norm(f"layer{layer}.output.norm")
    return weights


def _layer(layer: int, shape: EncoderShape) -> list[bytes]:
    prefix = f"layer{layer}"
    hidden, inner = shape.hidden, shape.inner
    return [
        *(_matrix(f"{prefix}.input", f"{prefix}.{part}", hidden, hidden, shape) for part in ("query", "key", "value")),
        _node(
            "MultiHeadAttention",
            [f"{prefix}.{part}.result" for part in ("query", "key", "value")],
            [f"{prefix}.attended"],
            domain=_MICROSOFT,
            numbers={"num_heads": shape.heads},
        ),
        _matrix(f"{prefix}.attended", f"{prefix}.attention", hidden, hidden, shape),
        _skip_normalise(layer, "attention", f"{prefix}.middle", shape),
        _matrix(f"{prefix}.middle", f"{prefix}.inner", inner, hidden, shape),
        _node("Gelu", [f"{prefix}.inner.result"], [f"{prefix}.active"], domain=_MICROSOFT),
        _matrix(f"{prefix}.active", f"{prefix}.output", hidden, inner, shape),
        _skip_normalise(layer, "output", f"layer{layer + 1}.input", shape),
    ]


def _matrix(source: str, name: str, outputs: int, inputs: int, shape: EncoderShape) -> bytes:
    return _node(
        "MatMulNBits",
        [source, f"{name}.weight", f"{name}.scale", "", "", f"{name}.bias"],
        [f"{name}.result"],
        domain=_MICROSOFT,
        numbers={
            "K": inputs,
            "N": outputs,
            "bits": 8,
            "block_size": shape.block,
            "accuracy_level": _INT8_COMPUTE,
        },
    )


def _normalise(source: str, name: str, result: str, shape: EncoderShape) -> bytes:
    return _node(
        "LayerNormalization",
        [source, f"{name}.gain", f"{name}.bias"],
        [result],
        floats={"epsilon": shape.epsilon},
    )


def _skip_normalise(layer: int, part: str, result: str, shape: EncoderShape) -> bytes:
    skip = f"layer{layer}.input" if part == "attention" else f"layer{layer}.middle"
    name = f"layer{layer}.{part}"
    return _node(
        "SkipLayerNormalization",
        [f"{name}.result", skip, f"{name}.norm.gain", f"{name}.norm.bias"],
        [result],
        domain=_MICROSOFT,
        floats={"epsilon": shape.epsilon},
    )


def _node(
    operator: str,
    inputs: Iterable[str],
    outputs: Iterable[str],
    *,
    domain: str = "",
    numbers: Mapping[str, int] | None = None,
    floats: Mapping[str, float] | None = None,
) -> bytes:
    attributes = [
        _text(1, name) + _number(3, value) + _number(20, _ATTRIBUTE_INT) for name, value in (numbers or {}).items()
    ]
    attributes += [
        _text(1, name) + _tag(2, 5) + struct.pack("<f", value) + _number(20, _ATTRIBUTE_FLOAT)
        for name, value in (floats or {}).items()
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


def _external(name: str, element: int, dimensions: tuple[int, ...]) -> bytes:
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


def _value(name: str, shape: EncoderShape) -> bytes:
    sizes = [_text(2, "batch"), _text(2, "tokens"), _number(1, shape.hidden)]
    tensor = _number(1, _FLOAT) + _message(2, b"".join(_message(1, size) for size in sizes))
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
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
