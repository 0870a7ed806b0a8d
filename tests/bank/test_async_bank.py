"""AsyncBank has the methods of Bank, with the same arguments, answers and errors."""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path

import pytest

from promises import promise
from reasoningbank.aio import AsyncBank
from reasoningbank.bank import Bank
from reasoningbank.errors import MissingTenantError
from reasoningbank.settings import Settings
from reasoningbank.testing import HashingEmbedder

INTERNAL = {
    "distilled", "embed_few", "fresh", "handlers", "judged", "latest", "learned", "note_pending", "pending", "question",
    "queue_due", "store",
}  # fmt: skip
"""What resources offer each other and no user calls."""


def public(kind: object) -> dict[str, object]:
    """The public members of an object's class, without what resources offer each other."""
    names = (name for name in dir(type(kind)) if not name.startswith("_"))
    return {name: getattr(type(kind), name) for name in names if name not in INTERNAL}


@promise("async:parity", "AsyncBank and Bank have the same methods and signatures.", source="issue Bank")
def test_the_two_banks_have_the_same_methods_and_signatures() -> None:
    with Bank.open("memory://", tenant="t", project="p", embedder=HashingEmbedder()) as bank:
        twin = AsyncBank(bank)
        resources = {name for name in vars(bank) if not name.startswith("_")}
        assert len(resources) >= 14
        assert resources == {name for name in vars(twin) if not name.startswith("_")}
        for ours, theirs in [(bank, twin), *((getattr(bank, name), getattr(twin, name)) for name in sorted(resources))]:
            _check_same(public(ours), public(theirs))


def _check_same(synchronous: dict[str, object], asynchronous: dict[str, object]) -> None:
    assert synchronous.keys() == asynchronous.keys()
    for name, method in synchronous.items():
        twin = asynchronous[name]
        if isinstance(method, property):
            assert isinstance(twin, property)
            continue
        assert callable(method)
        assert callable(twin)
        assert inspect.signature(method) == inspect.signature(twin), name
        assert inspect.iscoroutinefunction(twin), name


@promise("async:works", "AsyncBank does what Bank does, many calls at once.", source="issue Bank")
def test_the_asynchronous_bank_does_what_the_other_does(tmp_path: Path) -> None:
    async def live() -> None:
        settings = Settings(home=tmp_path)
        with pytest.raises(MissingTenantError):
            await AsyncBank.open(tenant="", project="p", embedder=HashingEmbedder(), settings=settings)
        async with await AsyncBank.open(tenant="t", project="p", embedder=HashingEmbedder(), settings=settings) as bank:
            memories = await asyncio.gather(
                *(bank.record(title=f"Lesson {n}", content=f"Content {n}.", outcome="success") for n in range(10))
            )
            assert await bank.memories.count() == 10
            rating = await bank.feedback(memories[0].id, helpful=True)
            assert (await bank.get(memories[0].id)).confidence == rating.new_confidence

    asyncio.run(live())
