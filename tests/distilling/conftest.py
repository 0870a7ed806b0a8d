"""Real stores with trajectories that wait to be distilled."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from distilling.sessions import SCOPE
from reasoningbank.embedding import open_embedder
from reasoningbank.storage import open_storage
from reasoningbank.storage.store import Store
from reasoningbank.types.ports import Embedder


@pytest.fixture(scope="session")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> Embedder:
    """The default embedder, loaded once for all tests."""
    return open_embedder("local", cache=tmp_path_factory.mktemp("models"))


@pytest.fixture(params=["sqlite", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """An empty store of tenant acme, project shop, of each kind."""
    storage = open_storage(f"memory:{tmp_path.name}" if request.param == "memory" else None, home=tmp_path)
    opened = storage.open(SCOPE)
    yield opened
    opened.close()
