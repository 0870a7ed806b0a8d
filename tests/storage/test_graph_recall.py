"""What a real HNSW graph in Qdrant and in pgvector finds, against an exact comparison, under every filter."""

from __future__ import annotations

import itertools
import json
import os
import time
import urllib.request
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from postgres_servers import shared_server
from promises import promise
from reasoningbank.storage import open_storage
from reasoningbank.storage.index_port import BankPlace, Near
from reasoningbank.storage.indexed import Beside
from reasoningbank.storage.postgres_schema import prepare_database
from reasoningbank.storage.sqlite_memory import ProcessStorage
from reasoningbank.storage.store import Store
from reasoningbank.types.recall import CONTENT_LEG, Filter
from reasoningbank.types.records import Indexed
from reasoningbank.types.scope import Scope
from storage.contract.base import lesson
from vector_servers import shared_qdrant

SCOPE = Scope(tenant="acme", project="shop")
WIDTH, TOP, SCORES, LEAST = 32, 10, 1e-3, 0.98
SHORT, LONG = 600, 20_000
_numbers = itertools.count()
FILTERS = st.builds(
    Filter,
    outcome=st.sampled_from([None, "success", "failure"]),
    tags=st.sampled_from([(), ("few",), ("some",)]),
    category=st.sampled_from([None, "network"]),
)


def beside_qdrant(folder: Path) -> tuple[Store, Callable[[], None]]:
    """A bank beside Qdrant, and what waits until that has built its graph."""
    name = f"graph{os.getpid()}x{next(_numbers)}"
    vectors = f"{shared_qdrant().url}/{name}?timeout=60"
    store = open_storage(f"sqlite:///{folder}/banks", home=folder, vectors=vectors).open(SCOPE)
    collection = f"http://{shared_qdrant().address}/collections/{name}_{WIDTH}"

    def built() -> None:
        body = json.dumps({"optimizers_config": {"indexing_threshold": 10}}).encode()
        headers = {"Content-Type": "application/json"}
        urllib.request.urlopen(urllib.request.Request(collection, body, headers, method="PATCH")).read()
        until = time.monotonic() + 240
        while True:
            with urllib.request.urlopen(collection) as answer:
                said = json.load(answer)["result"]
            if said["status"] == "green" and said["indexed_vectors_count"]:
                return
            assert time.monotonic() < until, said
            time.sleep(0.2)

    return store, built


def beside_pgvector(folder: Path) -> tuple[Store, Callable[[], None]]:
    """A bank in PostgreSQL beside pgvector, whose graph grows with each vector."""
    server = shared_server()
    url = prepare_database(server.url(server.created()), dimension=WIDTH).url
    return open_storage(url, home=folder, vectors="pgvector").open(SCOPE), lambda: None


@promise(
    "vectors:graph-recall",
    "With a real HNSW graph in Qdrant or pgvector the best ten of the index and of a search are at least 98 in 100 of "
    "the exact best ten, under every filter, with the same scores to a thousandth.",
    source="issue 15 Hypothesis",
)
@pytest.mark.parametrize("engine", [beside_qdrant, beside_pgvector])
def test_a_graph_finds_what_an_exact_comparison_finds(
    engine: Callable[[Path], tuple[Store, Callable[[], None]]],
    tmp_path: Path,
    torture: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    size = LONG if torture else SHORT
    if not torture:
        monkeypatch.setattr("reasoningbank.storage.pgvector_index.MOST_COMPARED", 100)
    store, built = engine(tmp_path)
    vectors = numpy.random.default_rng(1).normal(size=(size, WIDTH)).astype(numpy.float32)
    vectors /= numpy.linalg.norm(vectors, axis=1, keepdims=True)
    with closing(store), closing(ProcessStorage().open(SCOPE)) as exact:
        for each in (exact, store):
            for start in range(0, size, 2_000):
                with each.transaction() as transaction:
                    for number in range(start, min(size, start + 2_000)):
                        memory = replace(
                            lesson(f"m{number}"),
                            outcome="failure" if number % 3 else "success",
                            category="network" if number % 5 else "",
                            tags=(("few",) if number % 40 == 0 else ()) + (("some",) if number % 4 == 0 else ()),
                        )
                        derived = Indexed(text="", model_id="random/32", vectors={CONTENT_LEG: vectors[number]})
                        transaction.memories.insert(memory, derived)
        keeper = store.index
        assert isinstance(keeper, Beside)
        keeper.reconcile()
        built()
        recalls: list[float] = []
        named_first: list[float] = []

        @settings(max_examples=100 if torture else 25, suppress_health_check=list(HealthCheck), deadline=None)
        @given(condition=FILTERS, seed=st.integers(0, 999))
        def alike(condition: Filter, seed: int) -> None:
            query = numpy.random.default_rng(seed).normal(size=WIDTH).astype(numpy.float32)
            query /= numpy.linalg.norm(query)
            wanted = exact.search.nearest(CONTENT_LEG, query, condition, TOP)
            found = store.search.nearest(CONTENT_LEG, query, condition, TOP)
            names = {each.id for each in wanted}
            assert len(found) == len(names)
            if not names:
                return
            recalls.append(len({each.id for each in found} & names) / len(names))
            scores = {each.id: each.score for each in wanted}
            assert all(abs(each.score - scores[each.id]) <= SCORES for each in found if each.id in scores)
            near = Near(leg=CONTENT_LEG, vector=query, condition=condition, limit=TOP)
            _, [named] = keeper.index.near(BankPlace(SCOPE, WIDTH), [near])
            named_first.append(len({f"m{key - 1}" for key in named.keys} & names) / len(names))

        alike()
        assert sum(recalls) / len(recalls) >= LEAST
        assert sum(named_first) / len(named_first) >= LEAST
        assert keeper.usable and not keeper.failure
