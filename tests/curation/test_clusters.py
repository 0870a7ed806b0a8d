"""Clusters: every pair is similar, nothing that could join is left apart, and all of it through the vector index."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from curation.similar_lessons import LESSONS
from opened_banks import OpenBank
from promises import promise
from reasoningbank.curation.clusters import MOST_MEMBERS, find_similar
from reasoningbank.errors import InvalidInput, ModelMismatch
from reasoningbank.memories.similarity import least_cosine
from reasoningbank.storage import open_storage
from reasoningbank.storage.sqlite_memory import ProcessStorage
from reasoningbank.storage.store import Store
from reasoningbank.storage.store_search import close_pairs
from reasoningbank.testing import HashingEmbedder
from reasoningbank.types.consolidation import CONSOLIDATION, SimilarityCluster
from reasoningbank.types.memory import Memory, Outcome, State
from reasoningbank.types.ports import Embedder
from reasoningbank.types.recall import CONTENT_LEG
from reasoningbank.types.records import Indexed
from reasoningbank.types.scope import Scope
from reasoningbank.types.session import RECIPE, Step, Trajectory
from recorded_memories import said

SCOPE = Scope(tenant="acme", project="shop")


def unit(rows: NDArray[numpy.float32]) -> NDArray[numpy.float32]:
    """Rows of length one."""
    scaled: NDArray[numpy.float32] = rows / numpy.linalg.norm(rows, axis=1, keepdims=True)
    return scaled


def fan(degrees: list[float]) -> NDArray[numpy.float32]:
    """Vectors of the plane at these angles: the cosine of two is that of the angle between them."""
    angles = numpy.radians(numpy.array(degrees))
    return numpy.stack([numpy.cos(angles), numpy.sin(angles)], axis=1).astype(numpy.float32)


def fill(store: Store, vectors: NDArray[numpy.float32], **of: object) -> list[Memory]:
    """One memory per vector; ``of`` holds lists of fields."""
    made = []
    with store.transaction() as transaction:
        for number, vector in enumerate(vectors):
            fields = {name: values[number] for name, values in of.items()}  # type: ignore[index]
            memory = replace(
                Memory(id=f"m{number:05}", project=SCOPE.project, title="t", content="c", outcome="success"), **fields
            )
            transaction.memories.insert(memory, Indexed(text="", model_id="test", vectors={CONTENT_LEG: vector}))
            made.append(memory)
    return made


def names(clusters: tuple[SimilarityCluster, ...]) -> list[list[str]]:
    """The members' ids."""
    return [sorted(cluster.ids) for cluster in clusters]


@pytest.fixture(params=["sqlite", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """An empty store of either kind."""
    storage = open_storage(None, home=tmp_path) if request.param == "sqlite" else ProcessStorage()
    opened: Store = storage.open(SCOPE)
    request.addfinalizer(opened.close)
    return opened


@promise("contextd:42", "Consolidation as specified.", source="spec/contextd row 42")
@promise(
    "consolidating:every-pair",
    "Every pair of a cluster is above the threshold, and no two clusters that are left could be joined.",
    source="issue 4",
)
def test_a_chain_of_neighbours_is_no_cluster(store: Store) -> None:
    """Each is near the next, the ends are far apart: the seed's own greedy way would put all three together."""
    fill(store, fan([0, 30, 60]))
    clusters = find_similar(store, 0.8).clusters
    assert names(clusters) == [["m00000", "m00001"]]


@promise("contextd:42")
def test_similar_ones_are_grouped_dissimilar_ones_are_not_and_few_are_none(store: Store) -> None:
    assert find_similar(store, 0.8).clusters == ()
    fill(store, fan([0, 5, 10, 90, 95, 200]))
    assert names(find_similar(store, 0.8).clusters) == [["m00003", "m00004"], ["m00000", "m00001", "m00002"]]
    assert find_similar(store, 1.0).clusters == ()


@promise("contextd:42")
def test_a_pair_exactly_at_the_threshold_is_apart(store: Store) -> None:
    fill(store, numpy.array([[1, 0], [0.5, 0.75**0.5], [1, 0]], dtype=numpy.float32))
    cosine = float(numpy.float32(0.5))
    assert names(find_similar(store, cosine).clusters) == [["m00000", "m00002"]]
    assert names(find_similar(store, cosine - 1e-4).clusters) == [["m00000", "m00001", "m00002"]]


@promise("contextd:43", "Consolidation as specified.", source="spec/contextd row 43")
def test_the_statistics_are_of_all_pairs(store: Store) -> None:
    fill(store, fan([0, 10, 30]))
    (cluster,) = find_similar(store, 0.8).clusters
    cosines = [numpy.cos(numpy.radians(angle)) for angle in (10, 20, 30)]
    assert cluster.min_similarity == pytest.approx(min(cosines), abs=1e-6)
    assert cluster.average_similarity == pytest.approx(sum(cosines) / 3, abs=1e-6)
    assert cluster.min_similarity <= cluster.average_similarity


@promise("contextd:43")
def test_the_centroid_is_the_mean_of_the_members_vectors(open_bank_in_session: OpenBank) -> None:
    bank = open_bank_in_session()
    made = [said(bank, "Close the file before it is moved away"), said(bank, "Close the file before it is moved")]
    (cluster,) = bank.curation.clusters(0.7)
    mean = numpy.mean([vector for memory in made if (vector := bank.memories.vector(memory.id)) is not None], axis=0)
    assert len(cluster.centroid_vector) == bank.embedder.dimension
    assert cluster.centroid_vector == pytest.approx(mean.tolist(), abs=1e-6)


@promise(
    "consolidating:one-outcome",
    "A cluster holds one outcome; opposite ones are reported as contradictions.",
    source="issue 4",
)
@promise("contextd:42")
def test_opposite_outcomes_are_never_in_one_cluster(store: Store) -> None:
    outcomes: list[Outcome] = ["success", "failure", "success", "failure"]
    fill(store, fan([0, 1, 2, 3]), outcome=outcomes)
    found = find_similar(store, 0.8)
    assert sorted(names(found.clusters)) == [["m00000", "m00002"], ["m00001", "m00003"]]
    assert {(each.success, each.failure) for each in found.contradictions} == {
        (f"m{one:05}", f"m{other:05}") for one in (0, 2) for other in (1, 3)
    }


@promise(
    "consolidating:recallable-only",
    "Archived and quarantined memories take no part in clusters.",
    source="issue 4",
)
def test_what_is_set_aside_takes_no_part(store: Store) -> None:
    states: list[State] = ["active", "archived", "quarantined", "candidate"]
    fill(store, fan([0, 1, 2, 3]), state=states)
    assert names(find_similar(store, 0.8).clusters) == [["m00000", "m00003"]]


@promise(
    "consolidating:no-drift",
    "A consolidated memory joins only what all its sources are similar to.",
    source="issue 4",
)
def test_a_consolidated_memory_joins_only_what_all_its_sources_are_like(store: Store) -> None:
    """m2 stands for m0 and m1 and is itself near m3; m0 is not."""
    provenance = [{}, {}, {CONSOLIDATION: "deduplicated", "stands_for": "2"}, {}, {}]
    fill(
        store,
        fan([0, 20, 20, 45, 15]),
        state=["archived", "archived", "active", "active", "active"],
        consolidation_id=["m00002", "m00002", None, None, None],
        provenance=provenance,
    )
    assert names(find_similar(store, 0.8).clusters) == [["m00002", "m00004"]]


@promise("consolidating:every-pair")
@settings(max_examples=60)
@given(st.data())
def test_clusters_are_whole_apart_and_cannot_grow(data: st.DataObject) -> None:
    """Complete linkage over random vectors: every pair above, no id twice, no two clusters that could join."""
    count = data.draw(st.integers(2, 40), label="memories")
    seed = data.draw(st.integers(0, 10_000), label="seed")
    threshold = data.draw(st.sampled_from([0.5, 0.8, 0.9]), label="threshold")
    numbers = numpy.random.default_rng(seed)
    centres = numbers.standard_normal((max(1, count // 5), 8))
    rows = centres[numbers.integers(0, len(centres), count)] + 0.4 * numbers.standard_normal((count, 8))
    vectors = unit(rows.astype(numpy.float32))
    opened = ProcessStorage().open(SCOPE)
    fill(opened, vectors)
    clusters = find_similar(opened, threshold).clusters
    cosines = vectors.astype(numpy.float64) @ vectors.T.astype(numpy.float64)
    groups = [[int(name[1:]) for name in cluster.ids] for cluster in clusters]
    inside = [member for group in groups for member in group]
    assert len(inside) == len(set(inside))
    for group in groups:
        assert all(cosines[one, other] > threshold - 1e-6 for one, other in combinations(group, 2))
        assert len(group) <= MOST_MEMBERS
    groups += [[number] for number in range(count) if number not in inside]
    for first, second in combinations(groups, 2):
        if len(first) + len(second) <= MOST_MEMBERS:
            assert min(cosines[one, other] for one in first for other in second) < threshold + 1e-6


@promise(
    "consolidating:through-the-index",
    "Close pairs come from blocked products with a bound; none is missed, and the closest stay when there are too "
    "many.",
    source="issue 4",
)
@settings(max_examples=5)
@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.3, 0.6]), st.sampled_from([0.6, 0.8, 0.95]))
def test_the_bounded_product_misses_no_pair(seed: int, fading: float, threshold: float) -> None:
    """Above its least size, against the full product; isotropic vectors, and some that fade as those of text do."""
    numbers = numpy.random.default_rng(seed)
    scale = 1.0 / numpy.arange(1, 145) ** fading
    rows = unit((numbers.standard_normal((4_500, 144)) * scale).astype(numpy.float32))
    rows[::9] = unit(rows[1::9][: len(rows[::9])] + 0.05 * numbers.standard_normal((500, 144)).astype(numpy.float32))
    found = close_pairs(rows, threshold, 3_000_000)
    product = numpy.triu(rows @ rows.T, 1)
    sure = set(zip(*(side.tolist() for side in numpy.nonzero(product > threshold + 1e-5)), strict=True))
    maybe = set(zip(*(side.tolist() for side in numpy.nonzero(product > threshold - 1e-5)), strict=True))
    pairs = list(zip(found.first.tolist(), found.second.tolist(), strict=True))
    assert len(pairs) == len(set(pairs))
    assert sure <= set(pairs) <= maybe
    assert (numpy.diff(found.scores) <= 0).all()


@promise("consolidating:through-the-index")
def test_with_too_many_pairs_the_closest_stay() -> None:
    rows = unit(numpy.random.default_rng(3).standard_normal((300, 3)).astype(numpy.float32))
    everything, some = close_pairs(rows, 0.2, 10**6), close_pairs(rows, 0.2, 500)
    assert len(some.scores) == 500
    assert some.scores.tolist() == everything.scores[:500].tolist()


@promise("contextd:42")
def test_without_the_banks_embedder_there_is_an_error_and_no_empty_answer(open_bank_in_session: OpenBank) -> None:
    bank = open_bank_in_session()
    said(bank, "Close the file before it is moved away")
    other = open_bank_in_session(embedder=HashingEmbedder(32))
    with pytest.raises(ModelMismatch):
        other.curation.clusters()
    with pytest.raises(InvalidInput):
        bank.curation.clusters(1.5)


@promise("contextd:42")
def test_real_meanings_are_told_apart(open_bank_in_session: OpenBank, local_embedder: Embedder) -> None:
    bank = open_bank_in_session(embedder=local_embedder)
    same = {said(bank, content, title=title).id for title, content in LESSONS}
    said(bank, "Store all times in UTC and convert them where they are shown.", title="Use UTC")
    said(bank, "Pin the versions of all dependencies in a lock file.", title="Pin dependencies")
    clusters = bank.curation.clusters(0.8)
    assert [set(cluster.ids) for cluster in clusters] == [same]


@promise(
    "consolidating:scale",
    "A threshold means the same for models whose cosines are closer, and is never weaker than it says.",
    source="issue 4",
)
@promise("contextd:42")
@given(st.floats(0, 1), st.floats(0, 1))
def test_a_threshold_is_never_weaker_than_it_says_and_keeps_its_order(one: float, other: float) -> None:
    for model in ("granite-embedding-30m", "all-MiniLM-L6-v2", "hashing/64", None):
        low, high = sorted((one, other))
        assert low <= least_cosine(low, model) <= least_cosine(high, model) <= 1.0
        assert (least_cosine(0.0, model), least_cosine(1.0, model)) == (0.0, 1.0)
    assert least_cosine(0.8, "granite-embedding-30m") == pytest.approx(0.91)
    assert least_cosine(one, "hashing/64") == one


@promise("consolidating:scale")
def test_lessons_of_one_subject_that_say_different_things_stay_apart(
    open_bank_in_session: OpenBank, local_embedder: Embedder
) -> None:
    """Their cosines are above 0.8 with the default embedder."""
    bank = open_bank_in_session(embedder=local_embedder)
    texts = (
        "When an API needs an access token, log in first and pass the token with every request.",
        "When an API answers 401, refresh the expired access token once and repeat the request.",
        "When an API pages its results, ask for pages until an empty one comes.",
    )
    made = [said(bank, text, title="Calling an API") for text in texts]
    first, second = (bank.memories.vector(memory.id) for memory in made[:2])
    assert first is not None
    assert second is not None
    assert float(first @ second) > 0.8
    assert bank.curation.clusters() == ()


@promise(
    "consolidating:recipes",
    "Recipes for different errors stay apart, however alike their words are.",
    source="issue 16",
)
def test_recipes_of_different_errors_stay_apart(open_bank_in_session: OpenBank, local_embedder: Embedder) -> None:
    bank = open_bank_in_session(embedder=local_embedder)
    for number in range(4):
        name = f"widget{number}"
        missing = f"Traceback (most recent call last):\n  import {name}\nModuleNotFoundError: No module named '{name}'"
        steps = (
            Step(action="python app.py", tool="Bash", observation=missing, exit_code=1),
            Step(action=f"pip install {name}", tool="Bash", observation=f"Successfully installed {name}", exit_code=0),
            Step(action="python app.py", tool="Bash", observation="ready", exit_code=0),
        )
        bank.sessions.keep(Trajectory(task="Start the app", session=f"session {number}", steps=steps))
    bank.jobs.work()
    recipes = [memory for memory in bank.memories.list() if memory.provenance["source"] == RECIPE]
    assert len(recipes) == 4
    first, second = (bank.memories.vector(memory.id) for memory in recipes[:2])
    assert first is not None
    assert second is not None
    assert float(first @ second) > 0.9
    assert bank.curation.clusters(0.8) == ()
