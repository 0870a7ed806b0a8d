"""Banks over real stores and the real embedder that learn with a scripted model, each in its own data directory."""

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
def home(tmp_path: Path) -> Path:
    """A data directory."""
    return tmp_path / "home"


@pytest.fixture
def clock() -> FrozenClock:
    """A clock that moves when it is told to."""
    return FrozenClock()


@pytest.fixture
def open_bank(home: Path, embedder: Embedder, clock: FrozenClock) -> Iterator[OpenBank]:
    """Opens banks that share the data directory and the clock, and closes them."""
    opened: list[Bank] = []

    def open_one(model: object = None, **given: object) -> Bank:
        settings = {
            "tenant": "acme",
            "project": "shop",
            "embedder": embedder,
            "settings": Settings(home=home),
            "clock": clock,
            "chance": random.Random(7),
            "session": "the bank's own",
        } | given
        bank = Bank.open(model=model, **settings)  # type: ignore[arg-type]  # the tests name its arguments freely
        opened.append(bank)
        return bank

    yield open_one
    for bank in opened:
        bank.close()
