"""Banks over the real store whose meanings are either words (HashingEmbedder) or the real local embedder."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from reasoningbank.bank import Bank
from reasoningbank.embedding import open_embedder
from reasoningbank.settings import Settings
from reasoningbank.testing import FrozenClock, HashingEmbedder
from reasoningbank.types.memory import Memory
from reasoningbank.types.ports import Embedder, LanguageModel

OpenBank = Callable[..., Bank]

LESSONS = (
    (
        "Retry flaky network calls",
        "When a network call fails now and then, retry it with exponential backoff and jitter, at most five times.",
    ),
    (
        "Retry network calls that fail now and then",
        "Retry a flaky network call with exponential backoff and a little jitter; give up after five attempts.",
    ),
    (
        "Back off when a network call is flaky",
        "A network call that fails now and then should be retried with exponential backoff and jitter, five times.",
    ),
)
"""Three lessons that say the same in other words."""
USES = ((0.8, 10), (0.7, 5), (0.9, 15))
"""Confidence and uses of the reviewed scenario: together 0.8554 (spec/contextd 1.4)."""


@pytest.fixture(scope="session")
def meaning(tmp_path_factory: pytest.TempPathFactory) -> Embedder:
    """The default embedder, loaded once."""
    return open_embedder("local", cache=tmp_path_factory.mktemp("models"))


@pytest.fixture
def clock() -> FrozenClock:
    """A clock that moves when it is told to."""
    return FrozenClock()


@pytest.fixture
def open_bank(tmp_path: Path, clock: FrozenClock) -> Iterator[OpenBank]:
    """Opens banks that share the data directory and the clock, and closes them."""
    opened: list[Bank] = []

    def open_one(
        project: str = "shop",
        *,
        embedder: Embedder | None = None,
        model: LanguageModel | None = None,
        url: str | None = None,
    ) -> Bank:
        bank = Bank.open(
            url,
            tenant="acme",
            project=project,
            embedder=embedder or HashingEmbedder(256),
            model=model,
            settings=Settings(home=tmp_path / "home"),
            clock=clock,
            chance=random.Random(7),
            session="here",
        )
        opened.append(bank)
        return bank

    yield open_one
    for bank in opened:
        bank.close()


def used(bank: Bank, memory: Memory, count: int) -> Memory:
    """The memory as if it had been delivered that often, without evidence."""
    changed = replace(memory, usage_count=count)
    with bank._context.store().transaction() as transaction:
        transaction.memories.update(changed)
    return changed


def exported(bank: Bank, directory: Path) -> bytes:
    """The bytes of the bank's export."""
    target = directory / "export.jsonl"
    bank.admin.export(target)
    return target.read_bytes()


def said(bank: Bank, content: str, *, title: str = "A lesson", outcome: str = "success", **more: object) -> Memory:
    """A recorded memory."""
    return bank.record(title=title, content=content, outcome=outcome, **more)  # type: ignore[arg-type]
