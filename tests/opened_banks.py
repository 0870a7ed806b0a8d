"""Banks that a test opens one after another over the same data directory, and that are closed after it."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from reasoningbank.bank import Bank
from reasoningbank.settings import Settings
from reasoningbank.types.ports import Clock

OpenBank = Callable[..., Bank]
PARTS = frozenset(inspect.signature(Bank.open).parameters)


@contextmanager
def opening(home: Path, clock: Clock, **usual: object) -> Iterator[OpenBank]:
    """Give a function that opens a project's bank; close what it opened.

    It takes the arguments of ``Bank.open``, which stand before the usual ones, and settings by their names. Sessions
    are remembered in the graph only where a test asks for it: else every script of a model would need a line more.
    """
    opened: list[Bank] = []

    def open_one(project: str = "shop", **given: object) -> Bank:
        wanted: dict[str, Any] = {"tenant": "acme", "clock": clock, "chance": random.Random(7)} | usual | given
        settings = {name: wanted.pop(name) for name in list(wanted) if name not in PARTS}
        if settings or "settings" not in wanted:
            assert "settings" not in wanted, "settings are given whole or by their names"
            wanted["settings"] = Settings(home=home, **{"graph_from_sessions": "never"} | settings)
        bank = Bank.open(project=project, **wanted)
        opened.append(bank)
        return bank

    yield open_one
    for bank in opened:
        bank.close()
