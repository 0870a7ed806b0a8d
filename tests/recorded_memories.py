"""Memories that a test records in a bank, and what it reads of them afterwards."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from reasoningbank.bank import Bank
from reasoningbank.storage.store import Store
from reasoningbank.testing import FrozenClock
from reasoningbank.types.memory import Memory, State


def said(bank: Bank, content: str, *, title: str = "A lesson", outcome: str = "success", **more: object) -> Memory:
    """A recorded memory."""
    return bank.record(title=title, content=content, outcome=outcome, **more)  # type: ignore[arg-type]


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


def states(bank: Bank, *memory_ids: str) -> list[State]:
    """The states of these memories."""
    return [bank.get(memory_id).state for memory_id in memory_ids]


def store_of(bank: Bank) -> Store:
    """The bank's store."""
    return bank._context.store()


def later(clock: FrozenClock, days: float = 1.0) -> None:
    """Moves the clock on."""
    clock.advance(timedelta(days=days))
