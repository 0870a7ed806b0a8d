"""The weights of the two packaged models, read out of their files without copying what can stay mapped."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy
from numpy.typing import NDArray

Floats = NDArray[numpy.float32]
Bytes = NDArray[numpy.int8]

_TYPES = {1: numpy.dtype("<f4"), 3: numpy.dtype("i1"), 7: numpy.dtype("<i8"), 9: numpy.dtype("?")}


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderWeights:
    """What an encoder needs beside its graph.

    Attributes:
        words: Token embeddings in 8 bits, (vocabulary, hidden), mapped from the file.
        word_scales: (vocabulary, groups): the scale of each group of ``hidden / groups`` neighbours.
        positions: What is added to the token at each position, token type included: (longest text, hidden).
        matrices: The graph's initialisers by name, as ``graph.encoder_weights`` lists them.
    """

    words: Bytes
    word_scales: Floats
    positions: Floats
    matrices: Mapping[str, NDArray[numpy.generic]]

    def embed(self, ids: NDArray[numpy.int64]) -> Floats:
        """The sum of token, position and type embeddings: ids (batch, tokens) to (batch, tokens, hidden)."""
        groups = self.word_scales.shape[1]
        rows = self.words[ids].astype(numpy.float32)
        grouped = rows.reshape(*ids.shape, groups, -1)
        grouped *= self.word_scales[ids][..., None]
        rows += self.positions[: ids.shape[1]]
        return rows


def read_minilm(path: Path, *, block: int) -> EncoderWeights:
    """The weights of all-MiniLM-L6-v2 as int8 ONNX: one scale per output, which every block of it repeats.

    The file's matrices are (inputs, outputs) with nameless numbers, in the order query, key, value, attention output,
    inner, output of each layer.
    """
    tensors = _onnx_initializers(path)
    quantised = [name.removesuffix("_q") for name in tensors if name.startswith("val_") and name.endswith("_q")]
    source = "inner.encoder.layer"
    matrices: dict[str, NDArray[numpy.generic]] = {}

    def norm(name: str, origin: str) -> None:
        matrices[f"{name}.gain"] = numpy.array(tensors[f"{origin}.weight"])
        matrices[f"{name}.bias"] = numpy.array(tensors[f"{origin}.bias"])

    norm("norm", "inner.embeddings.LayerNorm")
    parts = {
        "query": "attention.self.query",
        "key": "attention.self.key",
        "value": "attention.self.value",
        "attention": "attention.output.dense",
        "inner": "intermediate.dense",
        "output": "output.dense",
    }
    for number, name in enumerate(quantised):
        layer, part = number // len(parts), list(parts)[number % len(parts)]
        values, scales = tensors[f"{name}_q"], tensors[f"{name}_scale"]
        inputs, outputs = values.shape
        matrices[f"layer{layer}.{part}.weight"] = _shifted(values.T).reshape(outputs, inputs // block, block)
        matrices[f"layer{layer}.{part}.scale"] = numpy.repeat(scales.reshape(outputs, 1), inputs // block, axis=1)
        matrices[f"layer{layer}.{part}.bias"] = numpy.array(tensors[f"{source}.{layer}.{parts[part]}.bias"])
    for layer in range(len(quantised) // len(parts)):
        norm(f"layer{layer}.attention.norm", f"{source}.{layer}.attention.output.LayerNorm")
        norm(f"layer{layer}.output.norm", f"{source}.{layer}.output.LayerNorm")
    embeddings = "inner.embeddings"
    positions = (
        tensors[f"{embeddings}.position_embeddings.weight_q"].astype(numpy.float32)
        * tensors[f"{embeddings}.position_embeddings.weight_scale"]
    )
    return EncoderWeights(
        words=tensors[f"{embeddings}.word_embeddings.weight_q"],
        word_scales=tensors[f"{embeddings}.word_embeddings.weight_scale"],
        positions=positions + tensors[f"{embeddings}.token_type_embeddings.weight"][0],
        matrices=matrices,
    )


def read_granite(path: Path) -> tuple[EncoderWeights, bytes]:
    """The weights of granite-embedding-30m-english and its tokenizer's JSON, out of an ``HMSEMB01`` pack.

    The pack: 8 bytes of magic, the header's length as a little-endian 64-bit number, the header (JSON), the
    tokenizer, the tensors one after another. An int8 tensor is its values and then its float32 scales, one per 64
    neighbours of a row; float32 tensors are plain. Positions count from 2 (RoBERTa).
    """
    content = numpy.memmap(path, dtype=numpy.uint8, mode="r")
    length = int(content[8:16].view("<u8")[0])
    header = json.loads(content[16 : 16 + length].tobytes())
    offset = 16 + length + header["tokenizer_len"]
    tokenizer = content[16 + length : offset].tobytes()
    plain: dict[str, Floats] = {}
    quantised: dict[str, tuple[Bytes, Floats]] = {}
    for entry in header["tensors"]:
        name, shape, end = entry["name"], entry["shape"], offset + entry["len"]
        part = content[offset:end]
        if entry["dtype"] == "i8":
            values, scales = _split(part, shape, entry["group"])
            quantised[name] = (values, scales)
        else:
            plain[name] = numpy.frombuffer(part.tobytes(), dtype="<f4").reshape(shape)
        offset = end
    hidden = header["arch"]["hidden"]
    matrices: dict[str, NDArray[numpy.generic]] = {"norm.gain": plain["emb_ln.w"], "norm.bias": plain["emb_ln.b"]}

    def matrix(name: str, origin: str, rows: slice) -> None:
        values, scales = (array[rows] for array in quantised[f"{origin}.w"])
        outputs, groups = scales.shape
        matrices[f"{name}.weight"] = _shifted(values).reshape(outputs, groups, -1)
        matrices[f"{name}.scale"] = numpy.ascontiguousarray(scales)
        matrices[f"{name}.bias"] = numpy.array(plain[f"{origin}.b"][rows])

    for layer in range(header["arch"]["layers"]):
        for number, part in enumerate(("query", "key", "value")):
            matrix(f"layer{layer}.{part}", f"l{layer}.qkv", slice(number * hidden, (number + 1) * hidden))
        for part, origin in (("attention", "ao"), ("inner", "f1"), ("output", "f2")):
            matrix(f"layer{layer}.{part}", f"l{layer}.{origin}", slice(None))
        for part, origin in (("attention", "aln"), ("output", "fln")):
            matrices[f"layer{layer}.{part}.norm.gain"] = plain[f"l{layer}.{origin}.w"]
            matrices[f"layer{layer}.{part}.norm.bias"] = plain[f"l{layer}.{origin}.b"]
    words, word_scales = quantised["word_emb"]
    weights = EncoderWeights(
        words=words,
        word_scales=word_scales,
        positions=plain["pos_emb"][header["arch"]["position_offset"] :] + plain["type_emb"][0],
        matrices=matrices,
    )
    return weights, tokenizer


def _split(part: NDArray[numpy.uint8], shape: list[int], group: int) -> tuple[Bytes, Floats]:
    rows, columns = shape
    size = rows * columns
    scales = numpy.frombuffer(part[size:].tobytes(), dtype="<f4").reshape(rows, columns // group)
    return part[:size].view(numpy.int8).reshape(rows, columns), scales


def _shifted(values: Bytes) -> NDArray[numpy.uint8]:
    return numpy.ascontiguousarray(values).view(numpy.uint8) ^ numpy.uint8(0x80)


def _onnx_initializers(path: Path) -> dict[str, NDArray[numpy.generic]]:
    content = numpy.memmap(path, dtype=numpy.uint8, mode="r")
    tensors = {}
    for field, start, end in _fields(content, 0, len(content)):
        if field != 7:
            continue
        for inner, first, last in _fields(content, start, end):
            if inner == 5:
                name, array = _tensor(content, first, last)
                tensors[name] = array
    return tensors


def _tensor(content: NDArray[numpy.uint8], start: int, end: int) -> tuple[str, NDArray[numpy.generic]]:
    name, element, shape, raw = "", 1, [], content[start:start]
    for field, first, last in _fields(content, start, end):
        if field == 1:
            shape.append(_variable(content, first)[0])
        elif field == 2:
            element = _variable(content, first)[0]
        elif field == 8:
            name = content[first:last].tobytes().decode()
        elif field == 9:
            raw = content[first:last]
    kind = _TYPES[element]
    if kind.itemsize > 1:
        return name, numpy.frombuffer(raw.tobytes(), dtype=kind).reshape(shape)
    return name, raw.view(kind).reshape(shape)


def _fields(content: NDArray[numpy.uint8], start: int, end: int) -> Iterator[tuple[int, int, int]]:
    while start < end:
        tag, start = _variable(content, start)
        wire = tag & 7
        if wire == 2:
            size, start = _variable(content, start)
            yield tag >> 3, start, start + size
            start += size
        else:
            after = _variable(content, start)[1] if wire == 0 else start + (8 if wire == 1 else 4)
            yield tag >> 3, start, after
            start = after


def _variable(content: NDArray[numpy.uint8], start: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = int(content[start])
        start += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, start
        shift += 7
