"""The models of the ``fastembed`` package, for those with a network: weights are downloaded on first use."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy
from numpy.typing import NDArray

from reasoningbank.embedding.runtime import fastembed_model
from reasoningbank.embedding.session import unit_rows
from reasoningbank.errors import ConfigurationError, ModelError, ModelMismatch, ModelMissing

if TYPE_CHECKING:
    from reasoningbank.embedding.runtime import TextEmbedding


class FastEmbedder:
    """A model of ``fastembed``, which treats questions and texts differently where the model wants it.

    Promises of the ``Embedder`` port. Constructing it imports nothing; asking for the dimension imports ``fastembed``
    when none was given; embedding downloads the weights into the cache. Safe to use from several threads.

    Args:
        model: The model's name in ``fastembed``, for example ``BAAI/bge-small-en-v1.5``.
        cache: Directory of the downloaded weights.
        dimension: Length of the vectors; by default what ``fastembed`` says of the model.
    """

    def __init__(self, *, model: str, cache: Path, dimension: int | None = None) -> None:
        self._name = model
        self._cache = cache
        self._dimension = dimension
        self._model: TextEmbedding | None = None
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """``fastembed:MODEL``, the name a user chooses it by."""
        return f"fastembed:{self._name}"

    @property
    def model_id(self) -> str:
        """The vector space: model and dimension.

        Raises:
            ModelMissing: The extra ``fastembed`` is not installed.
            ConfigurationError: It does not know the model.
        """
        return f"fastembed:{self._name}/{self.dimension}"

    @property
    def dimension(self) -> int:
        """Length of every vector; raises as ``model_id``."""
        if self._dimension is None:
            library = _library()
            sizes = {entry["model"]: entry["dim"] for entry in library.list_supported_models()}
            if self._name not in sizes:
                raise ConfigurationError(
                    f"fastembed knows no model {self._name!r}.",
                    hint="`TextEmbedding.list_supported_models()` of fastembed lists them.",
                )
            self._dimension = int(sizes[self._name])
        return self._dimension

    def embed_queries(self, texts: Sequence[str]) -> NDArray[numpy.float32]:
        """Vectors of questions: shape (len(texts), dimension), unit rows.

        Raises:
            ModelMissing: The extra is not installed, or the weights can be neither found nor downloaded.
            ModelMismatch: The model's vectors have another dimension than was given.
            ModelError: The model failed.
        """
        return self._rows(texts, queries=True)

    def embed_documents(self, texts: Sequence[str]) -> NDArray[numpy.float32]:
        """Vectors of texts to be found: shape (len(texts), dimension), unit rows; raises as ``embed_queries``."""
        return self._rows(texts, queries=False)

    def _rows(self, texts: Sequence[str], *, queries: bool) -> NDArray[numpy.float32]:
        if not texts:
            return numpy.empty((0, self.dimension), dtype=numpy.float32)
        model = self._loaded()
        clean = [text.encode("utf-8", "replace").decode() for text in texts]
        try:
            found: Iterable[NDArray[numpy.float32]] = model.query_embed(clean) if queries else model.embed(clean)
            rows = numpy.asarray(list(found), dtype=numpy.float32)
        except Exception as error:
            raise ModelError(f"The model {self.name} failed: {str(error)[:300]}") from error
        if rows.shape != (len(texts), self.dimension):
            raise ModelMismatch(f"The model {self.name} gave vectors of shape {rows.shape[1:]}, not {self.dimension}.")
        return unit_rows(rows, self.name)

    def _loaded(self) -> TextEmbedding:
        with self._lock:
            if self._model is None:
                library = _library()
                try:
                    self._model = library(self._name, cache_dir=str(self._cache / "fastembed"), threads=1)
                except Exception as error:
                    raise ModelMissing(
                        f"fastembed cannot load {self._name!r}: {str(error)[:300]}",
                        hint="Its weights are downloaded on first use: check the name and the network.",
                    ) from error
            return self._model


def _library() -> type[TextEmbedding]:
    try:
        return fastembed_model()
    except ImportError as error:
        raise ModelMissing(
            "The package fastembed is not installed.", hint="Install it with `pip install 'reasoningbank[fastembed]'`."
        ) from error
