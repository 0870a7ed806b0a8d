"""Banks whose memories grow old, and memories that an agent recorded."""

from __future__ import annotations

import random
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

from reasoningbank.bank import Bank
from reasoningbank.settings import Settings
from reasoningbank.testing import FrozenClock, HashingEmbedder
from reasoningbank.types.memory import Memory

DAY = timedelta(days=1)


MONTH = timedelta(days=30)


EXACT = 1e-9


def made(
    home: Path,
    clock: FrozenClock,
    *,
    project: str = "shop",
    url: str | None = None,
    embedder: str = "",
    settings: Mapping[str, object] | None = None,
) -> Bank:
    """A bank with these settings."""
    return Bank.open(
        url,
        tenant="acme",
        project=project,
        embedder=embedder or HashingEmbedder(256),
        settings=Settings(home=home, **(settings or {})),  # type: ignore[arg-type]  # names of settings
        clock=clock,
        chance=random.Random(7),
        session="here",
    )


def told(bank: Bank, content: str = "Retry with backoff.", **more: object) -> Memory:
    """A memory that an agent recorded: it decays."""
    fields: dict[str, object] = {"title": "A lesson", "outcome": "success", "source": "mcp", **more}
    return bank.record(content=content, **fields)  # type: ignore[arg-type]  # arguments of record


def exported(bank: Bank, directory: Path, name: str = "export.jsonl") -> str:
    """The text of the bank's export."""
    target = directory / name
    target.unlink(missing_ok=True)
    bank.admin.export(target)
    return target.read_text(encoding="utf-8")
