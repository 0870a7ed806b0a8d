"""A sentence model on one thread of ONNX Runtime, and the token ids that it reads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from reasoningbank.batches import Batches
from reasoningbank.embedding.query_vectors import QueryVectors
from reasoningbank.embedding.runtime import onnx_runtime
from reasoningbank.errors import BankError, ModelError, ModelMissing

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from reasoningbank.embedding.encoder import Array
    from reasoningbank.embedding.runtime import InferenceSession

TokenIds = tuple[int, ...]
"""One text as token ids, special tokens included, cut to the model's length."""


class TextTokenizer:
    """Cuts texts to a number of tokens; the same text always gives the same ids. Safe to use from several threads."""

    def __init__(self, tokenizer: Tokenizer, *, limit: int) -> None:
        tokenizer.no_padding()
        tokenizer.enable_truncation(max_length=limit)
        self._tokenizer = tokenizer

    def encode(self, texts: Sequence[str]) -> list[TokenIds]:
        """Return token ids of each text, in the order given; an empty text has its two special tokens only.

        A lone surrogate, which no UTF-8 text can hold, counts as a question mark.
        """
        return [tuple(self._tokenizer.encode(_encodable(text)).ids) for text in texts]


def bert_uncased(*, limit: int) -> TextTokenizer:
    """Return the WordPiece tokenizer of BERT base uncased (Devlin et al., 2018), vocabulary out of this package.

    Args:
        limit: Longest sequence in tokens, [CLS] and [SEP] included.
    """
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    text = (files("reasoningbank.embedding") / "data" / "bert_uncased_vocabulary.txt").read_text(encoding="utf-8")
    vocabulary = {token: number for number, token in enumerate(text.rstrip("\n").split("\n"))}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100))  # noqa: S106
    tokenizer.normalizer = normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=True
    )
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair=None,
        special_tokens=[("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])],
    )
    tokenizer.decoder = decoders.WordPiece(prefix="##")
    return TextTokenizer(tokenizer, limit=limit)


def from_json(content: bytes, *, limit: int) -> TextTokenizer:
    """Return the tokenizer that the content of a ``tokenizer.json`` describes.

    Args:
        content: The JSON.
        limit: Longest sequence in tokens, special tokens included.

    Raises:
        ModelMissing: It describes no tokenizer.
    """
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_buffer(content)
    except ValueError as error:
        raise ModelMissing(f"The model's tokenizer is not usable: {str(error)[:300]}") from error
    return TextTokenizer(tokenizer, limit=limit)


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


Encode = Callable[["NDArray[numpy.int64]"], "NDArray[numpy.float32]"]
"""Token ids (batch, tokens), all of one length, to vectors (batch, dimension) of any length."""

_GROUP_TOKENS = 2048
_AT_ONCE = 16
"""Questions of so many threads run together; a batch of more takes longer than anybody wants to wait."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model that is in memory and ready to run: its tokenizer, and what makes vectors of token ids."""

    tokenizer: TextTokenizer
    encode: Encode


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
        self._used = time.monotonic()
        self._lock = threading.Lock()
        questions: Batches[Sequence[str], NDArray[numpy.float32]] = Batches(self._embed_each, most=_AT_ONCE)
        self._questions = QueryVectors(questions.of)

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

    def embed_queries(self, texts: Sequence[str]) -> NDArray[numpy.float32]:
        """Return vectors of questions: shape (len(texts), dimension), unit rows; the model treats questions as texts.

        Questions that threads ask at the same time run together; one that was asked lately is not embedded again.

        Raises:
            ModelMissing: The model cannot be loaded.
            ModelError: The model gave something that is not a vector.
        """
        return self._questions.of(texts)

    def embed_documents(self, texts: Sequence[str]) -> NDArray[numpy.float32]:
        """Return vectors of texts to be found: shape (len(texts), dimension), unit rows.

        An empty text has the vector of the model's special tokens alone; a text beyond the model's length is cut.

        Raises:
            ModelMissing: The model cannot be loaded.
            ModelError: The model gave something that is not a vector.
        """
        return self._embed(texts)

    def load(self) -> None:
        """Load the model now, so that the first text does not wait; a second time does nothing.

        Raises:
            ModelMissing: The model cannot be loaded.
        """
        self._model()

    def unload_unused(self, seconds: float) -> bool:
        """Let go of the weights when no text has been embedded for so long; the next text loads them again.

        Returns:
            True when there was something to let go of.
        """
        with self._lock:
            unused = self._loaded is not None and time.monotonic() - self._used > seconds
            if unused:
                self._loaded = None
            return unused

    def _model(self) -> Loaded:
        with self._lock:
            self._used = time.monotonic()
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded

    def _embed_each(self, lists: Sequence[Sequence[str]]) -> list[NDArray[numpy.float32]]:
        rows = self._embed([text for texts in lists for text in texts])
        ends = list(accumulate(len(texts) for texts in lists))
        return [rows[end - len(texts) : end] for texts, end in zip(lists, ends, strict=True)]

    def _embed(self, texts: Sequence[str]) -> NDArray[numpy.float32]:
        import numpy

        result = numpy.empty((len(texts), self._dimension), dtype=numpy.float32)
        if not texts:
            return result
        model = self._model()
        sequences = model.tokenizer.encode(texts)
        for group in _same_length(sequences):
            ids = numpy.array([sequences[number] for number in group], dtype=numpy.int64)
            try:
                pooled = model.encode(ids)
            except BankError:
                raise
            except Exception as error:
                raise ModelError(f"The model {self._model_id} failed: {str(error)[:300]}") from error
            if pooled.shape != (len(group), self._dimension):
                raise ModelError(f"The model {self._model_id} gave vectors of shape {pooled.shape[1:]}.")
            result[group] = unit_rows(pooled, self._model_id)
        return result


def unit_rows(rows: NDArray[numpy.float32], source: str) -> NDArray[numpy.float32]:
    """Return the rows divided by their Euclidean length.

    Args:
        rows: Shape (count, dimension).
        source: The model, for the error.

    Raises:
        ModelError: A row is zero or not finite, so that it has no direction.
    """
    import numpy

    lengths = numpy.sqrt(numpy.einsum("ij,ij->i", rows, rows, dtype=numpy.float64))
    if not (numpy.isfinite(lengths).all() and (lengths > 0).all()):
        raise ModelError(f"The model {source} gave a vector without a direction.")
    units: NDArray[numpy.float32] = (rows / lengths[:, None]).astype(numpy.float32)
    return units


def open_session(model: Path | bytes, *, constants: Mapping[str, Array] | None = None) -> InferenceSession:
    """Return an ONNX Runtime session on one thread of the CPU that keeps little memory.

    The arena and the memory pattern are off: they keep the largest activation of the past resident and brought no
    speed.

    Args:
        model: The graph's file or bytes.
        constants: What the graph declares as external, handed over in memory.

    Raises:
        ModelMissing: ONNX Runtime is not installed or does not accept the graph.
    """
    try:
        onnxruntime = onnx_runtime()
    except ImportError as error:
        raise ModelMissing("ONNX Runtime is not installed.", hint="Install it: `pip install onnxruntime`.") from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False
    options.enable_mem_pattern = False
    options.log_severity_level = 4
    if constants:
        values = [onnxruntime.OrtValue.ortvalue_from_numpy(array) for array in constants.values()]
        options.add_external_initializers(list(constants), values)
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
