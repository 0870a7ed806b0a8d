"""Any sentence model in a local folder, as the ONNX exports of sentence-transformers lay it out."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy
from numpy.typing import NDArray

from reasoningbank.embedding.session import Encode, Loaded, OnnxEmbedder, open_session
from reasoningbank.embedding.tokens import from_json
from reasoningbank.errors import ConfigurationError, ModelError, ModelMissing

_LONGEST = 512


def folder_embedder(folder: Path, *, dimension: int | None = None) -> OnnxEmbedder:
    """The model of a folder with ``model.onnx`` (or ``onnx/model.onnx``) and ``tokenizer.json``.

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
        return Loaded(from_json(content, limit=longest), _encoder(model, first=first))

    identity = f"{folder.resolve().name}-{digest}/{size}"
    return OnnxEmbedder(name=f"onnx:{folder}", model_id=identity, dimension=size, load=load)


def _encoder(model: Path, *, first: bool) -> Encode:
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
