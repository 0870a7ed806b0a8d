"""What agents recorded and nobody has confirmed, for a person to approve or to reject (DESIGN D16)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from reasoningbank.memories.admission import vouched_for
from reasoningbank.memories.evidence import rate
from reasoningbank.memories.standing import PRINCIPAL
from reasoningbank.memories.states import refuse_quarantined
from reasoningbank.safety.stored_text import reveal
from reasoningbank.storage.store import Store, Transaction
from reasoningbank.types.memory import APPROVED, Cause, Memory
from reasoningbank.types.quarantine import ReviewItem
from reasoningbank.types.recall import Filter

_UNCONFIRMED = frozenset({"claim", "observed"})


def waiting(store: Store) -> list[ReviewItem]:
    """Return what waits for a person in a bank, that which was delivered most first, then the oldest."""
    found = [memory for memory in _all(store) if memory.standing in _UNCONFIRMED]
    ordered = sorted(found, key=lambda each: (-each.usage_count, each.created_at, each.id))
    return [ReviewItem(memory=reveal(each), shown=each.usage_count, source=_source_of(each)) for each in ordered]


def approve(transaction: Transaction, memory_id: str, *, session: str, at: datetime) -> Memory:
    """Let a person stand by a memory: it is vouched for, active, and rated as helpful; return it.

    Raises:
        MemoryQuarantined: When it is in quarantine: out of it leads only ``release``.
    """
    memory = transaction.memories.get(memory_id)
    refuse_quarantined(transaction, memory, "release it instead.")
    if memory.standing == "vouched":
        return memory
    rate(transaction, memory_id, helpful=True, session=session, rater="human", at=at)
    vouched = replace(vouched_for(transaction.memories.get(memory_id), "approved by a person"), state="active")
    cause = Cause(at=at, kind=APPROVED, reason="A person stands by it.", by=session)
    transaction.memories.update_state(vouched, cause=cause)
    return vouched


def _all(store: Store) -> Iterable[Memory]:
    return store.memories.page(Filter(), limit=0, offset=0)


def _source_of(memory: Memory) -> str:
    return memory.provenance.get(PRINCIPAL) or memory.provenance.get("session", "")
