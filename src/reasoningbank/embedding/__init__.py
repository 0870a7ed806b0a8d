"""Texts become vectors: local models out of packages, local folders, fastembed, remote endpoints."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from reasoningbank.errors import ConfigurationError

if TYPE_CHECKING:
    from reasoningbank.ports import Embedder

__all__ = ["EMBEDDERS", "open_embedder"]

EMBEDDERS = ("local", "minilm")
"""The names ``open_embedder`` knows; "local" is the default model."""


def open_embedder(
    name: str,
    *,
    cache: Path,
    url: str | None = None,
    key: str | None = None,
    dimension: int | None = None,
    timeout: float = 30.0,
) -> Embedder:
    """The embedder of this name. Nothing heavy is imported and no weights are read until a text is embedded.

    Args:
        name: One of ``EMBEDDERS``.
        cache: Directory for what is derived from the weights; made when needed.

    Raises:
        ConfigurationError: No embedder has this name.
    """
    from reasoningbank.embedding import local

    if name in {"local", "minilm"}:
        return local.minilm(cache=cache)
    raise ConfigurationError(f"No embedder is named {name!r}.", hint=f"Use one of: {', '.join(EMBEDDERS)}.")
