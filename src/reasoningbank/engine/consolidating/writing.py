"""Puts one memory in the place of several: all of it in one transaction, or nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from reasoningbank.domain.changes import CONSOLIDATED, Cause
from reasoningbank.domain.consolidation import (
    CONSOLIDATED_FROM,
    CONSOLIDATED_INTO,
    CONSOLIDATION,
    ConsolidatedMemory,
    Merge,
    SimilarityCluster,
)
from reasoningbank.domain.identity import new_id
from reasoningbank.domain.learning import Origin
from reasoningbank.domain.memory import Memory, State
from reasoningbank.domain.recall import Filter
from reasoningbank.engine.consolidating.clusters import sources_below
from reasoningbank.engine.consolidating.union import believed, counts_once, to_text, unite
from reasoningbank.engine.index import TASK
from reasoningbank.engine.tokens import count_tokens
from reasoningbank.errors import StoreBusy
from reasoningbank.memories.admission import admit, prepare
from reasoningbank.ports import Embedder, Link, Store, Transaction

RECALLABLE: tuple[State, ...] = Filter().states


def put_together(
    store: Store, embedder: Embedder, cluster: SimilarityCluster, text: Merge, *, at: datetime
) -> ConsolidatedMemory:
    """Stores the consolidated memory with the union of the evidence and archives its sources, linked both ways.

    The sources keep their texts, times, versions and evidence; only their state and ``consolidation_id`` change.

    Raises:
        InvalidMemory: When the text looks like a prompt injection and is no source's; nothing was stored.
        StoreBusy: When a source was changed or set aside since the cluster was found; nothing was stored.
        ModelMismatch: When the bank was built with another embedder; nothing was stored.
    """
    memory = _unbelieved(cluster.members, text, at)
    (ready,) = prepare([memory], embedder, origin="consolidation", known=cluster.members)
    with store.transaction() as transaction:
        sources = [_unchanged(transaction, member) for member in cluster.members]
        united = unite(transaction, sources, memory.id)
        memory = replace(
            memory,
            belief=believed(sources, united.total),
            usage_count=sum(source.usage_count for source in sources),
            last_used=max((source.last_used for source in sources if source.last_used is not None), default=None),
            provenance={**memory.provenance, **_record(sources), "evidence": to_text(united.total)},
        )
        memory = admit(transaction, replace(ready, memory=memory), at=at)
        if united.aggregate is not None:
            transaction.set_aggregate(united.aggregate)
        for signal in united.signals:
            if not transaction.add_signal(signal, once=counts_once(signal)):
                transaction.add_signal(signal)
        for source in sources:
            transaction.link(Link(source=memory.id, target=source.id, kind=CONSOLIDATED_FROM))
            transaction.link(Link(source=source.id, target=memory.id, kind=CONSOLIDATED_INTO))
            for origin in _origins(transaction, source, at):
                transaction.add_origin(replace(origin, memory_id=memory.id))
            transaction.update_state(
                replace(source, state="archived", consolidation_id=memory.id),
                cause=Cause(at=at, kind=CONSOLIDATED, reference=memory.id),
            )
    return ConsolidatedMemory(
        memory=memory,
        source_ids=tuple(source.id for source in sources),
        consolidation_type=text.type,
        source_attribution=text.attribution,
    )


def sources_of(memory: Memory) -> dict[str, State]:
    """The ids of a consolidated memory's sources and what state each was in; empty for any other memory."""
    found: Mapping[str, State] = json.loads(memory.provenance.get("sources", "{}"))
    return dict(found)


def _origins(transaction: Transaction, source: Memory, at: datetime) -> Sequence[Origin]:
    """What taught a source, so that the same session cannot count as a further, independent one.

    A source that was recorded has no trajectory; its own id stands for one.
    """
    origins = transaction.origins(memory_id=source.id)
    session = source.provenance.get("session", "")
    if origins or not session:
        return origins
    return (Origin(memory_id=source.id, trajectory=source.id, kind="corroborated", session=session, at=at),)


def _unbelieved(members: Sequence[Memory], text: Merge, at: datetime) -> Memory:
    """The memory as it will be but for its evidence."""
    provenance = {
        "source": "consolidated",
        CONSOLIDATION: text.type,
        "attribution": text.attribution,
        "verbatim": text.verbatim,
        "model": text.model,
        "prompt": text.prompt,
        **text.extra,
    }
    tasks = {member.provenance.get(TASK, "") for member in members}
    if len(tasks) == 1:
        provenance[TASK] = tasks.pop()
    return Memory(
        id=new_id(),
        project=members[0].project,
        title=text.title,
        description=text.description,
        content=text.content,
        outcome=members[0].outcome,
        tags=text.tags,
        category=text.category,
        state="active" if any(member.state == "active" for member in members) else "candidate",
        tokens=count_tokens(f"{text.title}\n{text.description}\n{text.content}"),
        provenance={key: value for key, value in provenance.items() if value},
        created_at=at,
        updated_at=at,
    )


def _record(sources: Sequence[Memory]) -> dict[str, str]:
    """What an undo and later clusters need to know of the sources."""
    return {
        "sources": json.dumps({source.id: source.state for source in sources}, ensure_ascii=False),
        "used": str(sum(source.usage_count for source in sources)),
        "stands_for": str(len(sources) + sum(sources_below(source) for source in sources)),
    }


def _unchanged(transaction: Transaction, member: Memory) -> Memory:
    """The member as it is now; its evidence may have grown, its text may not have changed."""
    current = transaction.get(member.id)
    if (
        current.version != member.version
        or current.state not in RECALLABLE
        or current.fingerprint != member.fingerprint
    ):
        raise StoreBusy(f"memory {member.id} was changed while it was being consolidated", hint="Run it again.")
    return current
