"""Moving a bank to another embedder."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from reasoningbank.bank import Bank
from reasoningbank.errors import ModelMismatch
from reasoningbank.settings import Settings
from reasoningbank.testing import HashingEmbedder


@pytest.mark.promise("transfer:reembed")
def test_a_bank_moves_to_another_embedder_with_all_its_evidence(open_bank: Callable[..., Bank]) -> None:
    bank = open_bank()
    ids = [
        bank.record(
            title=f"Lesson {number}", content=f"Retry {number} times.", description="On a timeout", outcome="success"
        ).id
        for number in range(150)
    ]
    bank.feedback(ids[0], helpful=True)
    believed = {memory.id: memory.belief for memory in bank.list()}
    settings = Settings(home=bank._settings.home)
    with Bank.open(tenant="acme", project="shop", embedder=HashingEmbedder(), settings=settings) as other:
        with pytest.raises(ModelMismatch):
            other.search("retry")
        seen: list[tuple[int, int]] = []
        assert other.reembed(progress=lambda done, total: seen.append((done, total))) == 150
        assert seen[-1] == (150, 150)
        assert {memory.id: memory.belief for memory in other.list()} == believed
        assert other.search("Lesson 7 Retry 7 times").memories
        assert other.check().problems == ()
    with pytest.raises(ModelMismatch):
        bank.search("retry")
    assert bank.reembed() == 150
    assert bank.search("how often to retry on a timeout").memories
