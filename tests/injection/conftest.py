"""Banks over the real store and the real embedder for what agents are shown."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reasoningbank.bank import Bank
from reasoningbank.embedding import open_embedder
from reasoningbank.settings import Settings
from reasoningbank.testing import FrozenClock
from reasoningbank.types.ports import Embedder

OpenBank = Callable[..., Bank]


@pytest.fixture(scope="session")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> Embedder:
    """The default embedder, loaded once for all tests."""
    return open_embedder("local", cache=tmp_path_factory.mktemp("models"))


@pytest.fixture
def clock() -> FrozenClock:
    """A clock that moves when it is told to."""
    return FrozenClock()


@pytest.fixture
def open_bank(tmp_path: Path, embedder: Embedder, clock: FrozenClock) -> Iterator[OpenBank]:
    """Opens banks that share the data directory, the embedder and the clock, and closes them."""
    opened: list[Bank] = []

    def open_one(tenant: str = "acme", project: str = "shop") -> Bank:
        bank = Bank.open(
            tenant=tenant,
            project=project,
            embedder=embedder,
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
    """One bank of tenant acme, project shop."""
    return open_bank()


@pytest.fixture(scope="session")
def open_fresh(tmp_path_factory: pytest.TempPathFactory, embedder: Embedder) -> Callable[[], Bank]:
    """Opens an empty bank in a data directory of its own, for tests that need many."""

    def open_one() -> Bank:
        settings = Settings(home=tmp_path_factory.mktemp("fresh"))
        return Bank.open(tenant="acme", project="shop", embedder=embedder, settings=settings, chance=random.Random(7))

    return open_one
