"""Banks of three sizes, filled once per run, and the figures of one run side by side."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import corpus
from reasoningbank.domain.scope import Scope
from reasoningbank.ports import Store
from reasoningbank.storage import open_storage

SIZES = (1_000, 10_000, 100_000)


@pytest.fixture(scope="session")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[int, Store]]:
    """One store per size, with descriptions."""
    home = tmp_path_factory.mktemp("benchmark")
    opened = {size: filled(home, size) for size in SIZES}
    yield opened
    for store in opened.values():
        store.close()


def filled(home: Path, size: int) -> Store:
    """A store with that many memories, its sidecar written."""
    from reasoningbank.domain.recall import Filter

    store = open_storage(None, home=home).open(Scope(tenant="bench", project=f"memories-{size}"))
    corpus.fill(store, size, described=True)
    for leg in ("content", "description"):
        store.nearest(leg, corpus.vectors(1, 9)[0], Filter(), 1)
    return store
