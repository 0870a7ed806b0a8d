"""Several local models as one: their vectors side by side, so that a cosine is the weighted mean of theirs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from reasoningbank.embedding.onnx_session import unit_rows

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    from reasoningbank.embedding.onnx_session import OnnxEmbedder


class TogetherEmbedder:
    """Embeds with every model and puts the vectors side by side.

    Promises of the ``Embedder`` port, and those of its parts: constructing it reads no file, and several threads may
    use it at once. A text costs what it costs in all parts.

    Args:
        name: The name a user chooses it by.
        parts: The models, each with its share of the cosine.
    """

    def __init__(self, *, name: str, parts: Sequence[tuple[OnnxEmbedder, float]]) -> None:
        whole = sum(share for _, share in parts)
        self._name = name
        self._parts = [(model, math.sqrt(share / whole)) for model, share in parts]

    @property
    def name(self) -> str:
        """The name a user chooses it by."""
        return self._name

    @property
    def model_id(self) -> str:
        """The vector space: the models in their order, and the dimension of all together."""
        models = "+".join(model.model_id.rpartition("/")[0] for model, _ in self._parts)
        return f"{models}/{self.dimension}"

    @property
    def dimension(self) -> int:
        """Length of every vector."""
        return sum(model.dimension for model, _ in self._parts)

    def embed_queries(self, texts: Sequence[str]) -> NDArray[numpy.float32]:
        """Return vectors of questions: shape (len(texts), dimension), unit rows.

        Raises:
            ModelMissing: A model cannot be loaded.
            ModelError: A model gave something that is not a vector.
        """
        return self._beside([model.embed_queries(texts) * length for model, length in self._parts])

    def embed_documents(self, texts: Sequence[str]) -> NDArray[numpy.float32]:
        """Return vectors of texts to be found: shape (len(texts), dimension), unit rows.

        Raises as ``embed_queries``.
        """
        return self._beside([model.embed_documents(texts) * length for model, length in self._parts])

    def load(self) -> None:
        """Load the models now, so that the first text does not wait; a second time does nothing.

        Raises:
            ModelMissing: A model cannot be loaded.
        """
        for model, _ in self._parts:
            model.load()

    def unload_unused(self, seconds: float) -> bool:
        """Let go of weights when no text has been embedded for so long; return whether there was something."""
        gone = [model.unload_unused(seconds) for model, _ in self._parts]
        return any(gone)

    def _beside(self, rows: Sequence[NDArray[numpy.float32]]) -> NDArray[numpy.float32]:
        import numpy

        return unit_rows(numpy.hstack(rows), self.model_id)


def both(granite: OnnxEmbedder, minilm: OnnxEmbedder) -> TogetherEmbedder:
    """Return the two packaged models as one of 768 dimensions, each with half of the cosine."""
    return TogetherEmbedder(name="local+minilm", parts=[(granite, 0.5), (minilm, 0.5)])
