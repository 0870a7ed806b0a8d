"""A language model of random weights in a file, made on the spot: it knows nothing, but a real server runs it.

The file is GGUF, version 3, with the llama architecture: one layer, 32 dimensions, and the first tokens of the cl100k
vocabulary with their merges, so that a real tokenizer counts about a third more than ours.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy
from numpy.typing import NDArray

from reasoningbank.llm.token_count import _encoding

VOCABULARY = 3_000
_WIDTH, _INNER, _HEADS = 32, 64, 2
_ALIGNMENT = 32
_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "<|im_start|>assistant\n"
)
Value = str | int | float | bool | Sequence[str] | Sequence[int]


def write_random_model(path: Path, *, context: int = 32_768, seed: int = 1) -> Path:
    """Write the model and return its path."""
    tokens, merges = _vocabulary()
    special = ["<|im_start|>", "<|im_end|>"]
    facts: dict[str, Value] = {
        "general.architecture": "llama",
        "general.name": "random",
        "llama.context_length": context,
        "llama.embedding_length": _WIDTH,
        "llama.block_count": 1,
        "llama.feed_forward_length": _INNER,
        "llama.attention.head_count": _HEADS,
        "llama.attention.head_count_kv": _HEADS,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.rope.dimension_count": _WIDTH // _HEADS,
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "llama-bpe",
        "tokenizer.ggml.tokens": [*tokens, *special],
        "tokenizer.ggml.token_type": [1] * len(tokens) + [3] * len(special),
        "tokenizer.ggml.merges": merges,
        "tokenizer.ggml.bos_token_id": len(tokens),
        "tokenizer.ggml.eos_token_id": len(tokens) + 1,
        "tokenizer.ggml.add_bos_token": False,
        "tokenizer.chat_template": _TEMPLATE,
    }
    chance = numpy.random.default_rng(seed)
    words = len(tokens) + len(special)
    shapes: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (words, _WIDTH),
        "output_norm.weight": (_WIDTH,),
        "output.weight": (words, _WIDTH),
        "blk.0.attn_norm.weight": (_WIDTH,),
        "blk.0.attn_q.weight": (_WIDTH, _WIDTH),
        "blk.0.attn_k.weight": (_WIDTH, _WIDTH),
        "blk.0.attn_v.weight": (_WIDTH, _WIDTH),
        "blk.0.attn_output.weight": (_WIDTH, _WIDTH),
        "blk.0.ffn_norm.weight": (_WIDTH,),
        "blk.0.ffn_gate.weight": (_INNER, _WIDTH),
        "blk.0.ffn_up.weight": (_INNER, _WIDTH),
        "blk.0.ffn_down.weight": (_WIDTH, _INNER),
    }
    tensors = {name: chance.standard_normal(shape, dtype=numpy.float32) for name, shape in shapes.items()}
    _write(path, facts, tensors)
    return path


def _vocabulary() -> tuple[list[str], list[str]]:
    """Return the first tokens of our vocabulary as GPT-2 writes them, and the merges that make them."""
    encoding = _encoding()
    letters = _letters()
    ranks = {encoding.decode_single_token_bytes(rank): rank for rank in range(VOCABULARY)}

    def written(token: bytes) -> str:
        return "".join(letters[byte] for byte in token)

    merges = []
    for token, rank in ranks.items():
        if len(token) > 1:
            first, second = _parts(token, rank, ranks)
            merges.append(f"{written(first)} {written(second)}")
    return [written(token) for token in ranks], merges


def _parts(token: bytes, rank: int, ranks: Mapping[bytes, int]) -> list[bytes]:
    """Return the two tokens that a token is merged from: what byte pair encoding makes of it with lower ranks."""
    parts = [bytes([byte]) for byte in token]
    while len(parts) > 2:
        best = min((ranks.get(parts[index] + parts[index + 1], rank), index) for index in range(len(parts) - 1))
        parts[best[1] : best[1] + 2] = [parts[best[1]] + parts[best[1] + 1]]
    return parts


def _letters() -> dict[int, str]:
    """Return GPT-2's printable character of each byte."""
    plain = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in plain]
    return {byte: chr(byte) for byte in plain} | {byte: chr(256 + place) for place, byte in enumerate(others)}


def _write(path: Path, facts: Mapping[str, Value], tensors: Mapping[str, NDArray[numpy.float32]]) -> None:
    with path.open("wb") as file:
        file.write(b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(facts)))
        for key, value in facts.items():
            file.write(_text(key) + _value(value))
        offset = 0
        for name, tensor in tensors.items():
            dimensions = tuple(reversed(tensor.shape))
            file.write(_text(name) + struct.pack(f"<I{len(dimensions)}Q", len(dimensions), *dimensions))
            file.write(struct.pack("<IQ", 0, offset))
            offset += -(-tensor.nbytes // _ALIGNMENT) * _ALIGNMENT
        for tensor in tensors.values():
            file.write(b"\x00" * (-file.tell() % _ALIGNMENT))
            file.write(tensor.tobytes())
        file.write(b"\x00" * (-file.tell() % _ALIGNMENT))


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _value(value: Value) -> bytes:
    if isinstance(value, bool):
        return struct.pack("<I?", 7, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + _text(value)
    if isinstance(value[0], str):
        return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(_text(str(each)) for each in value)
    return struct.pack(f"<IIQ{len(value)}i", 9, 5, len(value), *value)
