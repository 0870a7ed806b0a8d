"""Clusters among 100,000 memories of 384 dimensions in the real store, of which a fifth are near-duplicates."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path

import corpus
import numpy
import pytest
from numpy.typing import NDArray
from pytest_benchmark.fixture import BenchmarkFixture

from reasoningbank.curation.clusters import find_similar, with_centroids
from reasoningbank.storage import open_storage
from reasoningbank.storage.store import Store
from reasoningbank.types.consolidation import SimilarityCluster
from reasoningbank.types.recall import CONTENT_LEG
from reasoningbank.types.scope import Scope

MEMORIES = 100_000
MOST_SECONDS = 60.0
"""On two cores."""
THRESHOLD = 0.8
_COPIED = 5
_BATCH = 5_000


def near_duplicates(count: int) -> NDArray[numpy.float32]:
    """Vectors whose lengths fade from coordinate to coordinate, as those of text do; one in five is another's like."""
    numbers = numpy.random.default_rng(11)
    fading = (1.0 / numpy.arange(1, corpus.DIMENSION + 1) ** 0.4).astype(numpy.float32)
    rows = corpus.unit(numbers.standard_normal((count, corpus.DIMENSION)).astype(numpy.float32) * fading)
    like, other = numbers.integers(0, count, count // _COPIED), numbers.integers(0, count, count // _COPIED)
    noise = numbers.standard_normal((len(like), corpus.DIMENSION)).astype(numpy.float32)
    rows[like] = corpus.unit(rows[other] + 0.02 * noise)
    return numpy.ascontiguousarray(rows, dtype=numpy.float32)


@pytest.mark.timeout(1_200)
def test_a_hundred_thousand_memories_are_clustered_in_a_minute(
    benchmark: BenchmarkFixture, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Processor time of all threads is asserted: on idle cores no run takes longer."""
    vectors = near_duplicates(MEMORIES)
    store = open_storage(None, home=tmp_path).open(Scope(tenant="bench", project="bench"))
    made = enumerate(corpus.memories(MEMORIES, described=False))
    for _ in range(0, MEMORIES, _BATCH):
        with store.transaction() as transaction:
            for _, (number, (memory, indexed)) in zip(range(_BATCH), made, strict=False):
                transaction.memories.insert(
                    memory, dataclasses.replace(indexed, vectors={CONTENT_LEG: vectors[number]})
                )
    used = time.process_time()
    clusters, contradictions = benchmark.pedantic(clustered, args=(store,), rounds=1, iterations=1)
    used = time.process_time() - used
    store.close()
    members = sum(len(each.members) for each in clusters)
    with capsys.disabled():
        print(f"\n{len(clusters)} clusters of {members} memories, {contradictions} contradictions: {used:.1f} CPU s")
    assert len(clusters) > MEMORIES // 20
    assert used < MOST_SECONDS


def clustered(store: Store) -> tuple[tuple[SimilarityCluster, ...], int]:
    """The clusters with their centroids, and how many pairs contradict each other."""
    found = find_similar(store, THRESHOLD)
    return with_centroids(store, found.clusters), len(found.contradictions)
