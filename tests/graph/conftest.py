"""Banks over the real store for the tests of the graph: with an embedder that knows words, and with the real one."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reasoningbank.bank import Bank
from reasoningbank.embedding import open_embedder
from reasoningbank.settings import Settings
from reasoningbank.testing import FrozenClock, HashingEmbedder
from reasoningbank.types.ports import Embedder

OpenBank = Callable[..., Bank]


@pytest.fixture
def clock() -> FrozenClock:
    """A clock that moves when it is told to."""
    return FrozenClock()


@pytest.fixture
def open_bank(tmp_path: Path, clock: FrozenClock) -> Iterator[OpenBank]:
    """Opens banks that share the data directory and the clock, and closes them."""
    opened: list[Bank] = []

    def open_one(project: str = "shop", embedder: Embedder | None = None) -> Bank:
        bank = Bank.open(
            tenant="acme",
            project=project,
            embedder=embedder or HashingEmbedder(),
            settings=Settings(home=tmp_path / "home"),
            clock=clock,
            chance=random.Random(7),
        )
        opened.append(bank)
        return bank

    yield open_one
    for bank in opened:
        bank.close()


@pytest.fixture
def bank(open_bank: OpenBank) -> Bank:
    """A bank."""
    return open_bank()


@pytest.fixture(scope="session")
def local_embedder(tmp_path_factory: pytest.TempPathFactory) -> Embedder:
    """The default embedder, loaded once for all tests."""
    return open_embedder("local", cache=tmp_path_factory.mktemp("models"))
