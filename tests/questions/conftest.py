"""Banks with and without a scripted language model, and one finished conversation."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from reasoningbank.bank import Bank
from reasoningbank.settings import Settings
from reasoningbank.testing import FrozenClock, HashingEmbedder
from reasoningbank.types.ports import LanguageModel

OpenBank = Callable[..., Bank]


@pytest.fixture
def clock() -> FrozenClock:
    """A clock that moves when it is told to."""
    return FrozenClock()


@pytest.fixture
def open_bank(tmp_path: Path, clock: FrozenClock) -> Iterator[OpenBank]:
    """Opens banks that share the data directory and the clock, and closes them."""
    opened: list[Bank] = []

    def open_one(model: LanguageModel | None = None, project: str = "shop") -> Bank:
        bank = Bank.open(
            tenant="acme",
            project=project,
            embedder=HashingEmbedder(),
            model=model,
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
    """A bank without a language model."""
    return open_bank()


@pytest.fixture
def told() -> Mapping[str, object]:
    """A finished conversation that tells its own sources, actions, answer, preference and lesson."""
    return {
        "conv_id": "2026-09-01_SHOP_C1",
        "user_id": "dana",
        "user_role": "VP Supply",
        "messages": [
            {"role": "user", "content": "Why did bottled water run out in Riverton in July?"},
            {"role": "assistant", "content": "I will join sales with the weather feed."},
            {
                "role": "assistant",
                "content": "The heat wave doubled demand and the reorder point ignored the forecast.",
            },
        ],
        "sources": [
            {
                "text": "Daily sales of bottled water by shop",
                "source_type": "csv",
                "doc_pointer": "data/water_sales.csv",
                "relevant_parts": "rows of July",
                "tags": ["water", "sales"],
            }
        ],
        "actions": [
            {
                "text": "Joined sales with the weather feed by day",
                "parameters": "SELECT s.day, s.units, w.high\nFROM sales s JOIN weather w USING (day)",
                "status": "complete",
                "uses": ["source-1"],
            }
        ],
        "rests_on": ["action-1"],
        "edges": [
            {
                "source": "source-1",
                "target": "answer",
                "text": "The July rows of the sales show the jump in demand that the answer explains.",
                "weight": 0.7,
                "tags": ["evidence"],
            }
        ],
        "preferences": [{"preference_type": "report_style", "text": "Tables, no pie charts."}],
        "lesson": {
            "key_lesson": "Set reorder points from the weather forecast before a heat wave.",
            "context_to_prefer": "When demand for drinks depends on the weather.",
            "tags": ["water", "forecast"],
            "link_nodes": ["answer", "source-1"],
        },
    }
