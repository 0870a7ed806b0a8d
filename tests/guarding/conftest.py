"""Banks over the real store for quarantine and time, where meanings are words (HashingEmbedder)."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from reasoningbank.bank import Bank
from reasoningbank.settings import Settings
from reasoningbank.storage.store import Store
from reasoningbank.testing import FrozenClock, HashingEmbedder
from reasoningbank.types.consolidation import ConsolidationOptions
from reasoningbank.types.memory import Memory, State

OpenBank = Callable[..., Bank]
FORCED = ConsolidationOptions(force_all=True, similarity_threshold=0.7)
TEXTS = (
    "Close the file before it is moved away",
    "Close the file before it is moved",
    "Close the file before it is moved around",
)
"""Three lessons that are one to the embedder."""
OTHER = "Pin every dependency in the lock file of the service"


@pytest.fixture
def clock() -> FrozenClock:
    """A clock that moves when it is told to."""
    return FrozenClock()


@pytest.fixture(params=["sqlite", "memory"])
def open_bank(request: pytest.FixtureRequest, tmp_path: Path, clock: FrozenClock) -> Iterator[OpenBank]:
    """Opens banks of both stores that share the place and the clock, and closes them."""
    opened: list[Bank] = []

    def open_one(project: str = "shop", *, session: str = "here", home: str = "home") -> Bank:
        bank = Bank.open(
            f"memory://{tmp_path.name}-{home}" if request.param == "memory" else None,
            tenant="acme",
            project=project,
            embedder=HashingEmbedder(256),
            settings=Settings(home=tmp_path / home),
            clock=clock,
            chance=random.Random(7),
            session=session,
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


def said(bank: Bank, content: str, *, title: str = "A lesson", outcome: str = "success", **more: object) -> Memory:
    """A recorded memory."""
    return bank.record(title=title, content=content, outcome=outcome, **more)  # type: ignore[arg-type]


def exported(bank: Bank, directory: Path) -> bytes:
    """The bytes of the bank's export."""
    target = directory / "export.jsonl"
    bank.admin.export(target)
    return target.read_bytes()


def states(bank: Bank, *memory_ids: str) -> list[State]:
    """The states of these memories."""
    return [bank.get(memory_id).state for memory_id in memory_ids]


def store_of(bank: Bank) -> Store:
    """The bank's store."""
    return bank._context.store()


def later(clock: FrozenClock, days: float = 1.0) -> None:
    """Moves the clock on."""
    clock.advance(timedelta(days=days))
