"""What agents recorded and nobody has confirmed, for a person to approve or to reject (DESIGN D16)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from reasoningbank.memories.admission import vouched_for
from reasoningbank.memories.evidence import rate
from reasoningbank.memories.standing import recorded_by
from reasoningbank.memories.states import refuse_quarantined
from reasoningbank.safety.stored_text import reveal
from reasoningbank.storage.store import Store, Transaction
from reasoningbank.types.memory import APPROVED, Cause, Memory
from reasoningbank.types.quarantine import ReviewItem


def waiting(store: Store, limit: int) -> tuple[list[ReviewItem], int]:
    """Return what waits for a person in a bank, that which was delivered most first, then the oldest; and how much.

    Args:
        store: The bank.
        limit: Most of them; 0 means all.
    """
    found, count = store.memories.unconfirmed(limit=limit)
    return [
        ReviewItem(memory=reveal(each), shown=each.usage_count, source=recorded_by(each.provenance)) for each in found
    ], count


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
