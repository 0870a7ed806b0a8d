"""AsyncBank has the methods of Bank, with the same arguments, answers and errors."""

from __future__ import annotations

import asyncio
import inspect
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

import pytest

from promises import promise
from reasoningbank.aio import AsyncBank, AsyncPast
from reasoningbank.bank import Bank
from reasoningbank.curation.snapshot import Past
from reasoningbank.errors import InvalidInput, MissingTenantError, ReadOnlyBank
from reasoningbank.memories.memories import Memories
from reasoningbank.settings import Settings
from reasoningbank.testing import HashingEmbedder


def public(kind: object) -> dict[str, object]:
    """The public members of an object's class, without its resources."""
    members = {name: getattr(type(kind), name) for name in dir(type(kind)) if not name.startswith("_")}
    return {name: each for name, each in members.items() if not isinstance(each, cached_property)}


@promise("async:parity", "AsyncBank and Bank have the same methods and signatures.", source="issue Bank")
def test_the_two_banks_have_the_same_methods_and_signatures() -> None:
    with Bank.open("memory://", tenant="t", project="p", embedder=HashingEmbedder()) as bank:
        twin = AsyncBank(bank)
        made_when_asked_for = {name for name, each in vars(Bank).items() if isinstance(each, cached_property)}
        resources = {name for name in made_when_asked_for if not name.startswith("_")}
        assert len(resources) >= 14
        assert resources == {name for name in vars(twin) if not name.startswith("_")}
        missing = missing_lines(bank, twin)
        assert not missing, "these lines are missing in src/reasoningbank/aio.py:\n" + "\n".join(missing)
        for ours, theirs in [(bank, twin), *((getattr(bank, name), getattr(twin, name)) for name in sorted(resources))]:
            _check_same(public(ours), public(theirs))


def missing_lines(bank: Bank, twin: AsyncBank) -> list[str]:
    """What has to be written into aio.py, line by line."""
    resources = sorted(name for name in vars(bank) if not name.startswith("_"))
    return [
        f"{type(theirs).__name__}: {name} = awaited({type(ours).__name__}.{name})"
        for ours, theirs in [(bank, twin), *((getattr(bank, name), getattr(twin, name)) for name in resources)]
        for name in sorted(public(ours).keys() - public(theirs).keys())
    ]


@promise("async:parity")
def test_a_method_without_its_twin_is_named_with_the_line_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Memories, "widest", Memories.count, raising=False)
    with Bank.open("memory://", tenant="t", project="p", embedder=HashingEmbedder()) as bank:
        assert missing_lines(bank, AsyncBank(bank)) == ["AsyncMemories: widest = awaited(Memories.widest)"]


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


@promise(
    "async:past",
    "`await bank.at(moment)` gives the bank as it stood then with the same methods, awaited.",
    source="issue 10",
)
def test_the_bank_as_it_stood_is_read_with_awaited_methods(tmp_path: Path) -> None:
    async def live() -> None:
        settings = Settings(home=tmp_path)
        async with await AsyncBank.open(tenant="t", project="p", embedder=HashingEmbedder(), settings=settings) as bank:
            made = await bank.record(title="Retry flaky calls", content="Back off, then retry.", outcome="success")
            then = datetime.now(UTC)
            await bank.update(made.id, content="Give up at once.")
            past = await bank.at(then)
            assert past.moment == then
            assert (await past.get(made.id)).memory.content == "Back off, then retry."
            assert [each.memory.id for each in await past.list(limit=1)] == [made.id]
            assert await past.count() == 1
            assert [hit.id for hit in (await past.search("retry flaky calls")).delivered] == [made.id]
            assert isinstance(await past.notes(), tuple)
            with pytest.raises(ReadOnlyBank, match="record is not a verb of it"):
                past.record(title="x")
            with pytest.raises(InvalidInput, match="has not come yet"):
                await bank.at("2999-01-01")

    asyncio.run(live())


@promise("async:parity")
def test_the_view_of_a_moment_has_the_same_methods_and_signatures() -> None:
    names = {name for name in vars(Past) if not name.startswith("_")}
    assert names == {name for name in vars(AsyncPast) if not name.startswith("_")}
    for name in names - {"moment", "notes"}:
        assert inspect.signature(getattr(Past, name)) == inspect.signature(getattr(AsyncPast, name)), name
        assert inspect.iscoroutinefunction(getattr(AsyncPast, name)), name
