"""Taking over a shared file: everything through the gate, evidence as a union, nothing believed that is not shown.

A memory that is new here comes with its prior and the evidence in the file, and says that it was shared. Of one that
is here already, the text is replaced only by a later version, and evidence that is new here is added: each signal by
its id once, and one that counts once per session (DESIGN D5) only when this session has not said so here. So trust
moves only by evidence that can be read in the file, and every movement is reported.

Counts that were rolled up no longer name their signals. They are taken over with a memory that is new here; for one
that is here already they may hold what was counted here too, so they are left. For the same reason a signal that is
older than what has been rolled up here is left, and reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from reasoningbank.domain.belief import Belief
from reasoningbank.domain.changes import EDITED, Cause
from reasoningbank.domain.memory import Memory
from reasoningbank.domain.sharing import SHARED, Moved, Refused, ShareReport
from reasoningbank.domain.signal import RECENT_DAYS, Signal, SignalAggregate
from reasoningbank.engine.consolidating.union import counts_once
from reasoningbank.engine.distilling.signs import find_markup, is_about_memory
from reasoningbank.engine.gate import memory_danger
from reasoningbank.engine.guarding.carrying import note_import
from reasoningbank.engine.hygiene import safe_line
from reasoningbank.engine.index import check_space
from reasoningbank.engine.sharing.files import ORIGINAL
from reasoningbank.engine.sharing.reading import Shared, SharedFile
from reasoningbank.errors import InvalidMemory
from reasoningbank.memories.admission import Ready, admit, clean, prepare, supersede
from reasoningbank.ports import Embedder, Link, Store, Transaction

_BATCH = 64


def take_over(store: Store, embedder: Embedder, shared: SharedFile, *, at: datetime) -> ShareReport:
    """Stores what is new of a shared file, in one transaction.

    Args:
        store: The bank of the file's scope.
        embedder: The one that the bank's vectors come from.
        shared: The file.
        at: When: the log of states says that what is new here came then.

    Raises:
        ModelMismatch: When the bank was built with another embedder; nothing was stored.
    """
    check_space(store, embedder)
    refused: list[Refused] = []
    records: list[Shared] = []
    for record in shared.records:
        admitted = _admitted(record, store.scope.project)
        if isinstance(admitted, Refused):
            refused.append(admitted)
        else:
            records.append(admitted)
    known = store.many([record.memory.id for record in records])
    fresh = [record for record in records if _is_news(record.memory, known.get(record.memory.id))]
    ready = _prepared([record.memory for record in fresh], embedder)
    report = ShareReport(files=(shared.path,), memories=len(shared.records), refused=tuple(refused))
    with store.transaction() as transaction:
        for record in records:
            here = known.get(record.memory.id)
            here = None if here is None else transaction.get(here.id)
            if here is not None and here.state == "quarantined":
                report += ShareReport(refused=(Refused(id=here.id, reason="it is quarantined here"),))
            elif here is None:
                report += _added(transaction, record, ready[record.memory.id], at=at)
                note_import(transaction, transaction.get(record.memory.id), (), at=at)
            else:
                report += _merged(transaction, record, ready.get(here.id), at=at)
    return report


def _added(transaction: Transaction, record: Shared, ready: Ready, *, at: datetime) -> ShareReport:
    memory = record.memory
    for twin in transaction.same_text(memory.fingerprint):
        transaction.link(Link(source=memory.id, target=twin, kind="same_text"))
    memory = admit(transaction, ready, at=at)
    belief = memory.belief
    if record.rolled_up is not None:
        transaction.set_aggregate(record.rolled_up)
        belief = replace(belief, positive=record.rolled_up.positive or 0, negative=record.rolled_up.negative or 0)
    belief, signals = _with_evidence(transaction, belief, record.signals)
    if belief != memory.belief:
        transaction.update_state(replace(memory, belief=belief))
    _link(transaction, record)
    return ShareReport(added=(memory.id,), signals=signals)


def _merged(transaction: Transaction, record: Shared, ready: Ready | None, *, at: datetime) -> ShareReport:
    here = transaction.get(record.memory.id)
    report = ShareReport()
    changed = here
    if _is_news(record.memory, here) and ready is not None:
        changed = replace(
            record.memory,
            belief=here.belief,
            state=here.state,
            consolidation_id=here.consolidation_id,
            usage_count=here.usage_count,
            last_used=here.last_used,
            created_at=here.created_at,
            provenance={**here.provenance, **record.memory.provenance},
        )
        report += ShareReport(updated=(here.id,))
    elif not _same_text(record.memory, here) and record.memory.version >= here.version:
        report += ShareReport(conflicts=(here.id,))
    known = {signal.id for signal in transaction.signals(here.id)}
    since = _counted_until(transaction.aggregate(here.id))
    missing = [signal for signal in record.signals if signal.id not in known]
    late = [signal for signal in missing if since is not None and signal.at <= since]
    belief, signals = _with_evidence(
        transaction, here.belief, [signal for signal in missing if since is None or signal.at > since]
    )
    if ready is not None and changed != here:
        changed = replace(changed, belief=belief)
        supersede(transaction, replace(ready, memory=changed), cause=Cause(at=at, kind=EDITED, by=SHARED))
    elif belief != here.belief:
        transaction.update_state(replace(here, belief=belief))
    linked = _link(transaction, record)
    if belief.score != here.confidence:
        report += ShareReport(moved=(Moved(id=here.id, before=here.confidence, after=belief.score),))
    if late:
        report += ShareReport(
            messages=(f"{here.id}: {len(late)} pieces of evidence are older than what was counted up here.",)
        )
    if not (signals or linked or report.updated or report.conflicts):
        report += ShareReport(unchanged=(here.id,))
    return report + ShareReport(signals=signals)


def _with_evidence(transaction: Transaction, belief: Belief, signals: Sequence[Signal]) -> tuple[Belief, int]:
    """The belief with every signal that could be added, and how many these are."""
    added = 0
    for signal in signals:
        if transaction.add_signal(signal, once=counts_once(signal)):
            belief = belief.with_evidence(positive=signal.positive, weight=signal.weight or 0)
            added += 1
    return belief, added


def _link(transaction: Transaction, record: Shared) -> int:
    known = {
        (link.kind, link.target) for link in transaction.links(record.memory.id) if link.source == record.memory.id
    }
    missing = [link for link in record.links if link not in known]
    for kind, target in missing:
        transaction.link(Link(source=record.memory.id, target=target, kind=kind))
    return len(missing)


def _admitted(record: Shared, project: str) -> Shared | Refused:
    """The record as it may be stored: clean, without secrets, marked as shared; or why it may not."""
    memory = record.memory
    try:
        safe = clean(replace(memory, project=project))
    except InvalidMemory as error:
        return Refused(id=memory.id, reason=error.message)
    if danger := memory_danger(safe):
        return Refused(id=memory.id, reason=f"it {danger}")
    if markup := find_markup(safe.title, safe.description, safe.content):
        return Refused(id=memory.id, reason=markup)
    if is_about_memory(safe.title, safe.content):
        return Refused(id=memory.id, reason="it is about the memory that lessons are kept in")
    provenance = {name: safe_line(value[:2_000]) for name, value in memory.provenance.items()}
    provenance |= {"source": SHARED, ORIGINAL: provenance.get("source", SHARED)}
    counts = record.rolled_up
    return replace(
        record,
        memory=replace(safe, provenance=provenance),
        signals=tuple(replace(each, project=project, session=safe_line(each.session)) for each in record.signals),
        rolled_up=None if counts is None else replace(counts, project=project),
    )


def _is_news(memory: Memory, here: Memory | None) -> bool:
    """Whether it is new here, or a later version with another text."""
    return here is None or (memory.version > here.version and not _same_text(memory, here))


def _same_text(one: Memory, other: Memory) -> bool:
    fields = ("title", "description", "content", "outcome", "tags", "category")
    return all(getattr(one, name) == getattr(other, name) for name in fields)


def _counted_until(aggregate: SignalAggregate) -> datetime | None:
    """Up to when evidence was rolled up here; None when none was."""
    return None if aggregate.last_rollup is None else aggregate.last_rollup - timedelta(days=RECENT_DAYS)


def _prepared(memories: Sequence[Memory], embedder: Embedder) -> dict[str, Ready]:
    made: dict[str, Ready] = {}
    for start in range(0, len(memories), _BATCH):
        batch = memories[start : start + _BATCH]
        ready = prepare(batch, embedder, origin="import")
        made |= zip([memory.id for memory in batch], ready, strict=True)
    return made
