"""AsyncBank has the methods of Bank, with the same arguments, answers and errors."""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path

import pytest

from reasoningbank.aio import AsyncBank
from reasoningbank.bank import Bank
from reasoningbank.errors import MissingTenantError
from reasoningbank.settings import Settings
from reasoningbank.testing import HashingEmbedder


def public(kind: type) -> dict[str, object]:
    """The public members of a class, inherited ones included."""
    return {name: getattr(kind, name) for name in dir(kind) if not name.startswith("_")}


@pytest.mark.promise("async:parity")
def test_the_two_banks_have_the_same_methods_and_signatures() -> None:
    synchronous, asynchronous = public(Bank), public(AsyncBank)
    assert synchronous.keys() == asynchronous.keys()
    for name, method in synchronous.items():
        twin = asynchronous[name]
        if isinstance(method, property):
            assert isinstance(twin, property)
            continue
        assert callable(method)
        assert callable(twin)
        ours, theirs = inspect.signature(method), inspect.signature(twin)
        assert list(ours.parameters.values()) == list(theirs.parameters.values()), name
        assert ours.return_annotation == theirs.return_annotation, name
        assert inspect.iscoroutinefunction(twin), name


@pytest.mark.promise("async:works")
def test_the_asynchronous_bank_does_what_the_other_does(tmp_path: Path) -> None:
    async def live() -> None:
        settings = Settings(home=tmp_path)
        with pytest.raises(MissingTenantError):
            await AsyncBank.open(tenant="", project="p", embedder=HashingEmbedder(), settings=settings)
        async with await AsyncBank.open(tenant="t", project="p", embedder=HashingEmbedder(), settings=settings) as bank:
            memories = await asyncio.gather(
                *(bank.record(title=f"Lesson {n}", content=f"Content {n}.", outcome="success") for n in range(10))
            )
            assert await bank.count() == 10
            rating = await bank.feedback(memories[0].id, helpful=True)
            assert (await bank.get(memories[0].id)).confidence == rating.new_confidence

    asyncio.run(live())
