"""Banks for what memory is worth: the real store, a hashing embedder, a clock that stands still until it is moved."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reasoningbank.bank import Bank
from reasoningbank.settings import Settings
from reasoningbank.testing import FrozenClock, HashingEmbedder

OpenBank = Callable[..., Bank]


@pytest.fixture
def clock() -> FrozenClock:
    """A clock that moves when it is told to."""
    return FrozenClock()


@pytest.fixture
def open_bank(tmp_path: Path, clock: FrozenClock) -> Iterator[OpenBank]:
    """Opens banks that share the data directory and the clock, and closes them."""
    opened: list[Bank] = []

    def open_one(holdout: float = 0.0, project: str = "shop", **parts: object) -> Bank:
        bank = Bank.open(
            tenant="acme",
            project=project,
            embedder=HashingEmbedder(),
            settings=Settings(home=tmp_path / "home", holdout=holdout),
            clock=clock,
            chance=random.Random(7),
            **parts,  # type: ignore[arg-type]  # what a test adds
        )
        opened.append(bank)
        return bank

    yield open_one
    for bank in opened:
        bank.close()
