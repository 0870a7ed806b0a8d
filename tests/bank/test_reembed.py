"""Moving a bank to another embedder."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.errors import ModelMismatch
from reasoningbank.settings import Settings
from reasoningbank.testing import HashingEmbedder
from reasoningbank.types.experience import Trace


@promise(
    "transfer:reembed",
    "A bank can be moved to another embedder in one step, until which its old vectors serve; nothing is mixed and no "
    "evidence lost, and what was written meanwhile has its new vector too.",
    source="DESIGN D11",
)
def test_a_bank_moves_to_another_embedder_with_all_its_evidence(open_local_bank: Callable[..., Bank]) -> None:
    bank = open_local_bank()
    ids = [
        bank.record(
            title=f"Lesson {number}", content=f"Retry {number} times.", description="On a timeout", outcome="success"
        ).id
        for number in range(150)
    ]
    bank.feedback(ids[0], helpful=True)
    believed = {memory.id: memory.belief for memory in bank.memories.list()}
    settings = Settings(home=bank._context.settings.home)
    with Bank.open(tenant="acme", project="shop", embedder=HashingEmbedder(), settings=settings) as other:
        with pytest.raises(ModelMismatch):
            other.search("retry")
        seen: list[tuple[int, int]] = []

        def meanwhile(done: int, total: int) -> None:
            # The old vectors serve, and what is written now gets its vector of the new model at the end.
            assert bank.search("how often to retry on a timeout").memories
            if not seen:
                late.append(bank.record(title="Late kiwi", content="Peel the kiwi.", outcome="success").id)
                believed[late[0]] = bank.get(late[0]).belief
            seen.append((done, total))

        late: list[str] = []
        assert other.admin.reembed(progress=meanwhile) == 151
        assert [memory.id for memory in other.search("Late kiwi: peel the kiwi").memories][:1] == late
        assert seen[-1] == (150, 150)
        assert {memory.id: memory.belief for memory in other.memories.list()} == believed
        assert other.search("Lesson 7 Retry 7 times").memories
        assert other.admin.check().problems == ()
    with pytest.raises(ModelMismatch):
        bank.search("retry")
    assert bank.admin.reembed() == 151
    assert bank.search("how often to retry on a timeout").memories


@promise(
    "learning:reembed",
    "Re-embedding gives traces new vectors too, and every query finds its trace again.",
    source="memoria H18",
)
@promise(
    "memoria:H18",
    "Another model fails loudly; re-embedding restores every known-item probe.",
    source="spec/memoria_haios H18",
)
def test_traces_move_with_the_bank_and_every_one_is_found_again(open_local_bank: Callable[..., Bank]) -> None:
    bank = open_local_bank()
    bank.record(title="Lesson", content="Retry.", outcome="success")
    queries = [f"how often to retry the step {number} of the deployment" for number in range(70)]
    store = bank._context.store()
    with store.transaction() as transaction:
        for number, vector in enumerate(bank.embedder.embed_queries(queries)):
            trace = Trace(id=f"s{number}", query=queries[number], approach="fused", details={})
            transaction.sessions.keep_trace(trace, vector, bank.embedder.model_id)
    settings = Settings(home=bank._context.settings.home)
    with Bank.open(tenant="acme", project="shop", embedder=HashingEmbedder(), settings=settings) as other:
        moved = other._context.store()
        with pytest.raises(ModelMismatch):
            moved.search.similar_traces(other.embedder.embed_queries(queries[:1])[0], limit=1)
        assert other.admin.reembed() == 1
        assert other.admin.check().problems == ()
        for number, vector in enumerate(other.embedder.embed_queries(queries)):
            equal = {trace.id for trace, cosine in moved.search.similar_traces(vector, limit=9) if cosine == 1.0}
            assert f"s{number}" in equal
