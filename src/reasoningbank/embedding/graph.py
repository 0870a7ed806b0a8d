"""The ONNX graph of a BERT encoder over 8-bit weights.

Both local models are post-norm BERT encoders of one shape, so one graph serves both. It starts after the embedding
tables, which are looked up in the mapped file. Before each matrix every token's activations are quantised by
themselves, x = absmax / 127 * (u - 128), and multiplied with the weights in integers. Compared with ONNX Runtime's
dynamic quantisation, whose scale spans the whole tensor, this keeps the quality of float32
(docs/decisions/0002-embedding-model.md) and makes a text's vector independent of the other texts in its batch. Both
sides are uint8, because the int8 product saturates on processors without VNNI: integers give the same sums everywhere.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass

from reasoningbank.embedding.onnx_writer import FLOAT, MICROSOFT, UINT8, external, model, node, scalar

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
    """The serialised model: ``embedded`` (batch, tokens, hidden) float32 to ``encoded`` of the same shape.

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
    """Every weight of the graph: its name to its ONNX element type (1 float32, 2 uint8) and its dimensions.

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
