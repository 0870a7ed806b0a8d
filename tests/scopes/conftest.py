"""Banks of several projects, teams and orgs over the real store and one embedder."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reasoningbank.bank import Bank
from reasoningbank.embedding import open_embedder
from reasoningbank.settings import Settings
from reasoningbank.testing import FrozenClock
from reasoningbank.types.ports import Embedder, LanguageModel

OpenBank = Callable[..., Bank]


@pytest.fixture(scope="session")
def meaning(tmp_path_factory: pytest.TempPathFactory) -> Embedder:
    """The default embedder, loaded once."""
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
def open_bank(home: Path, meaning: Embedder, clock: FrozenClock) -> Iterator[OpenBank]:
    """Opens banks that share the data directory, the embedder and the clock, and closes them."""
    opened: list[Bank] = []

    def open_one(
        project: str = "shop",
        *,
        team: str = "payments",
        org: str = "globex",
        tenant: str = "acme",
        embedder: Embedder | None = None,
        model: LanguageModel | None = None,
        url: str | None = None,
        session: str | None = None,
    ) -> Bank:
        bank = Bank.open(
            url,
            tenant=tenant,
            project=project,
            team=team,
            org=org,
            embedder=embedder or meaning,
            model=model,
            settings=Settings(home=home),
            clock=clock,
            chance=random.Random(7),
            session=session,
        )
        opened.append(bank)
        return bank

    yield open_one
    for bank in opened:
        bank.close()
