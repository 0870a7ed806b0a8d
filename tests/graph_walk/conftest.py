"""Stores and banks that hold the graph the package ships."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reasoningbank.bank import Bank
from reasoningbank.settings import Settings
from reasoningbank.storage import open_storage
from reasoningbank.storage.store import Store
from reasoningbank.testing import FrozenClock, HashingEmbedder
from reasoningbank.types.scope import Scope
from walked_graphs import put, shop

SCOPE = Scope(tenant="acme", project="shop")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store on disk."""
    opened = open_storage(None, home=tmp_path / "home").open(SCOPE)
    yield opened
    opened.close()


@pytest.fixture
def shop_store(store: Store) -> Store:
    """A store that holds the shipped graph."""
    put(store, shop())
    return store


@pytest.fixture
def clock() -> FrozenClock:
    """A clock that moves when it is told to."""
    return FrozenClock()


@pytest.fixture
def open_bank(tmp_path: Path, clock: FrozenClock) -> Iterator[Callable[[], Bank]]:
    """Opens banks over the same data directory, and closes them."""
    opened: list[Bank] = []

    def open_one() -> Bank:
        bank = Bank.open(
            tenant=SCOPE.tenant,
            project=SCOPE.project,
            embedder=HashingEmbedder(),
            settings=Settings(home=tmp_path / "home"),
            clock=clock,
        )
        opened.append(bank)
        return bank

    yield open_one
    for bank in opened:
        bank.close()


@pytest.fixture
def shop_bank(shop_store: Store, open_bank: Callable[[], Bank]) -> Bank:
    """A bank over the shipped graph."""
    shop_store.close()
    return open_bank()
