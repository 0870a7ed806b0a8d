"""Texts become vectors: local models out of packages, local folders, fastembed, remote endpoints; and rerankers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from reasoningbank.errors import ConfigurationError

if TYPE_CHECKING:
    from reasoningbank.settings import Settings
    from reasoningbank.types.ports import Embedder, Reranker

__all__ = ["EMBEDDERS", "configured_embedder", "configured_reranker", "open_embedder"]

EMBEDDERS = ("local", "granite", "minilm", "local+minilm", "onnx:FOLDER", "fastembed:MODEL", "openai:MODEL")
"""The names ``open_embedder`` knows; "local" is the default, granite. Capitals stand for what the user fills in."""
_PACKAGED = ("local", "granite", "minilm", "local+minilm")


def configured_embedder(settings: Settings, *, name: str | None = None) -> Embedder:
    """Return the embedder that the settings name.

    Args:
        settings: The configuration.
        name: Another one instead, with the same address, key and dimension.

    Raises:
        ConfigurationError: No embedder has this name, or a setting does not fit it.
        ModelMissing: A folder named by ``onnx:`` holds no model.
    """
    return open_embedder(
        name or settings.embedder,
        cache=settings.home / "models",
        url=settings.embedder_url or None,
        key=settings.embedder_key or None,
        dimension=settings.embedder_dimension or None,
        timeout=settings.embedder_timeout,
    )


def configured_reranker(settings: Settings) -> Reranker | None:
    """Return the reranker that the settings name; None for none. No model library is imported and nothing sent yet.

    Raises:
        ConfigurationError: No reranker has this name, or a setting does not fit it.
    """
    if not settings.reranker:
        return None
    from reasoningbank.embedding.rerankers import open_reranker

    return open_reranker(
        settings.reranker,
        cache=settings.home / "models",
        url=settings.reranker_url or None,
        key=settings.reranker_key or None,
        timeout=settings.reranker_timeout,
        paid_calls=settings.paid_calls,
    )


def open_embedder(
    name: str,
    *,
    cache: Path,
    url: str | None = None,
    key: str | None = None,
    dimension: int | None = None,
    timeout: float = 30.0,
) -> Embedder:
    """Return the embedder of this name. No model library is imported and no weights are read until a text is embedded.

    Args:
        name: One of ``EMBEDDERS``.
        cache: Directory for what is remembered or downloaded about weights; made when needed.
        url: Base URL of a remote endpoint, for example ``https://api.openai.com/v1``; only for ``openai:``.
        key: Bearer token of the endpoint; only for ``openai:``.
        dimension: Length of the vectors: needed for ``openai:``; elsewhere, when given, it must be the model's.
        timeout: Seconds one attempt at the endpoint may take; only for ``openai:``.

    Raises:
        ConfigurationError: No embedder has this name, or an argument does not fit it.
        ModelMissing: A folder named by ``onnx:`` holds no model.
    """
    kind, colon, model = name.partition(":")
    if kind == "openai" and model:
        from reasoningbank.embedding.remote import RemoteEmbedder

        return RemoteEmbedder(model=model, url=url, dimension=dimension, key=key, timeout=timeout)
    if kind == "onnx" and model:
        from reasoningbank.embedding.models import folder_embedder

        return folder_embedder(Path(model), dimension=dimension)
    if kind == "fastembed" and model:
        from reasoningbank.embedding.models import FastEmbedder

        return FastEmbedder(model=model, cache=cache, dimension=dimension)
    if colon or name not in _PACKAGED:
        raise ConfigurationError(f"No embedder is named {name[:80]!r}.", hint=f"Use one of: {', '.join(EMBEDDERS)}.")
    from reasoningbank.embedding import models as local

    packaged: Embedder
    if name == "local+minilm":
        from reasoningbank.embedding.together import both

        packaged = both(local.granite(cache=cache), local.minilm(cache=cache))
    elif name == "minilm":
        packaged = local.minilm(cache=cache)
    else:
        packaged = local.granite(cache=cache)
    if dimension is not None and dimension != packaged.dimension:
        raise ConfigurationError(f"The embedder {name!r} has {packaged.dimension} dimensions, not {dimension}.")
    return packaged
