"""An ONNX sentence model on one or two threads of ONNX Runtime."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy
from numpy.typing import NDArray

from reasoningbank.errors import ModelError, ModelMissing

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

    from reasoningbank.embedding.tokens import TextTokenizer, TokenIds

Pooling = Literal["mean", "cls", "none"]
"""How token vectors become one: their mean, the first one, or the graph has pooled them itself."""

_GROUP_TOKENS = 2048


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model that is in memory and ready to run.

    Attributes:
        tokenizer: Makes the token ids the session takes.
        session: Takes ``input_ids`` and, when its graph names them, ``attention_mask`` and ``token_type_ids``; its
            first output is (batch, tokens, dimension), or (batch, dimension) when the pooling is "none".
        pooling: How token vectors become one.
    """

    tokenizer: TextTokenizer
    session: InferenceSession
    pooling: Pooling


class OnnxEmbedder:
    """A local sentence-embedding model, loaded when the first text is embedded.

    Promises of the ``Embedder`` port, and: constructing it reads no file; name, model id and dimension are known
    before it is loaded; one text has one vector, whatever else is in the batch, because only texts of the same number
    of tokens run together and nothing is padded; several threads may use it at once.
    """

    def __init__(self, *, name: str, model_id: str, dimension: int, load: Callable[[], Loaded]) -> None:
        self._name = name
        self._model_id = model_id
        self._dimension = dimension
        self._load = load
        self._loaded: Loaded | None = None
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """The name a user chooses it by."""
        return self._name

    @property
    def model_id(self) -> str:
        """Identifies the vector space."""
        return self._model_id

    @property
    def dimension(self) -> int:
        """Length of every vector."""
        return self._dimension

    @property
    def is_loaded(self) -> bool:
        """Whether the weights are in memory."""
        return self._loaded is not None

    def embed_queries(self, texts: Sequence[str]) -> NDArray[numpy.float32]:
        """Vectors of questions: shape (len(texts), dimension), unit rows; the model treats questions as texts.

        Raises:
            ModelMissing: The model cannot be loaded.
            ModelError: The model gave something that is not a vector.
        """
        return self._embed(texts)

    def embed_documents(self, texts: Sequence[str]) -> NDArray[numpy.float32]:
        """Vectors of texts to be found: shape (len(texts), dimension), unit rows.

        An empty text has the vector of the model's special tokens alone; a text beyond the model's length is cut.

        Raises:
            ModelMissing: The model cannot be loaded.
            ModelError: The model gave something that is not a vector.
        """
        return self._embed(texts)

    def load(self) -> None:
        """Loads the model now, so that the first text does not wait; a second time does nothing.

        Raises:
            ModelMissing: The model cannot be loaded.
        """
        self._model()

    def _model(self) -> Loaded:
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded

    def _embed(self, texts: Sequence[str]) -> NDArray[numpy.float32]:
        result = numpy.empty((len(texts), self._dimension), dtype=numpy.float32)
        if not texts:
            return result
        model = self._model()
        sequences = model.tokenizer.encode(texts)
        for group in _same_length(sequences):
            pooled = _run(model, [sequences[number] for number in group])
            if pooled.shape != (len(group), self._dimension):
                raise ModelError(f"The model {self._model_id} gave vectors of shape {pooled.shape[1:]}.")
            result[group] = unit_rows(pooled, self._model_id)
        return result


def unit_rows(rows: NDArray[numpy.float32], source: str) -> NDArray[numpy.float32]:
    """The rows divided by their Euclidean length.

    Args:
        rows: Shape (count, dimension).
        source: The model, for the error.

    Raises:
        ModelError: A row is zero or not finite, so that it has no direction.
    """
    lengths = numpy.sqrt(numpy.einsum("ij,ij->i", rows, rows, dtype=numpy.float64))
    if not (numpy.isfinite(lengths).all() and (lengths > 0).all()):
        raise ModelError(f"The model {source} gave a vector without a direction.")
    units: NDArray[numpy.float32] = (rows / lengths[:, None]).astype(numpy.float32)
    return units


def open_session(
    model: Path | bytes, *, threads: int = 1, initializers: dict[str, NDArray[numpy.generic]] | None = None
) -> InferenceSession:
    """An ONNX Runtime session on the CPU that keeps little memory.

    The arena and the memory pattern are off: they keep the largest activation of the past resident. No thread spins
    while it waits.

    Args:
        model: The graph's file or bytes.
        threads: Threads inside one operator.
        initializers: Weights that the graph declares as external and that are handed over in memory.

    Raises:
        ModelMissing: ONNX Runtime is not installed or does not accept the graph.
    """
    try:
        import onnxruntime
    except ImportError as error:
        raise ModelMissing(
            "ONNX Runtime is not installed.", hint="Install it with `pip install onnxruntime`."
        ) from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.enable_cpu_mem_arena = False
    options.enable_mem_pattern = False
    options.log_severity_level = 4
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if initializers:
        values = [onnxruntime.OrtValue.ortvalue_from_numpy(array) for array in initializers.values()]
        options.add_external_initializers(list(initializers), values)
    source = model if isinstance(model, bytes) else str(model)
    try:
        return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise ModelMissing(f"ONNX Runtime cannot load the model: {str(error)[:300]}") from error


def _same_length(sequences: Sequence[TokenIds]) -> Iterator[list[int]]:
    by_length: dict[int, list[int]] = {}
    for number, sequence in enumerate(sequences):
        by_length.setdefault(len(sequence), []).append(number)
    for length, numbers in by_length.items():
        size = max(1, _GROUP_TOKENS // length)
        for start in range(0, len(numbers), size):
            yield numbers[start : start + size]


def _run(model: Loaded, sequences: Sequence[TokenIds]) -> NDArray[numpy.float32]:
    ids = numpy.array(sequences, dtype=numpy.int64)
    available = {
        "input_ids": ids,
        "attention_mask": numpy.ones_like(ids),
        "token_type_ids": numpy.zeros_like(ids),
    }
    wanted = [node.name for node in model.session.get_inputs()]
    try:
        output = model.session.run(None, {name: available[name] for name in wanted})[0]
    except KeyError as error:
        raise ModelError(f"The model's graph wants an input {error} that is not known here.") from error
    except Exception as error:
        raise ModelError(f"ONNX Runtime failed: {str(error)[:300]}") from error
    vectors = numpy.asarray(output, dtype=numpy.float32)
    if model.pooling == "none" or vectors.ndim != 3:
        return vectors
    if model.pooling == "cls":
        return vectors[:, 0, :]
    mean: NDArray[numpy.float32] = vectors.mean(axis=1, dtype=numpy.float32)
    return mean
