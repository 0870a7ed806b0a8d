"""Which sessions are held out, and what each of them met (docs/decisions/0014)."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from reasoningbank.errors import StoreBusy, StoreFull, StoreUnavailable
from reasoningbank.memories.standing import said_in
from reasoningbank.storage.store import Store, Transaction
from reasoningbank.types.experience import Trace
from reasoningbank.types.memory import STATES
from reasoningbank.types.recall import Filter
from reasoningbank.types.records import Job
from reasoningbank.types.scope import Scope
from reasoningbank.types.session import Verdict
from reasoningbank.types.signal import Rater
from reasoningbank.types.uplift import Exposure, How, Shown

_HASH_BYTES = 8
_WHOLE = 1 << (8 * _HASH_BYTES)

EXTRACT = "extract_strategy"
"""The kind of job that extracts a strategy from the trace that is its key."""

_LATEST = 20
_AT_ONCE = 200


def draw(scope: Scope, session: str) -> float:
    """Return a number in [0, 1) that belongs to the session: the same in every process, and even over sessions.

    It is a keyed hash of tenant, project and session, so that the same session name in another project is drawn by
    itself. A session is held out when the number is below the share: with a larger share the same ones stay held out.
    """
    key = hashlib.blake2b(f"{scope.tenant}\x00{scope.project}".encode("utf-8", "surrogatepass")).digest()
    digest = hashlib.blake2b(
        session.encode("utf-8", "surrogatepass"), key=key, digest_size=_HASH_BYTES, person=b"rbank hold-out"
    ).digest()
    return int.from_bytes(digest, "big") / _WHOLE


def drawn(known: Exposure | None, scope: Scope, session: str, *, share: float, at: datetime) -> Exposure:
    """Return the session's exposure once something is to be injected: the one that is kept, or a new one, drawn now.

    A session keeps what it was drawn to be, whatever the share is later.
    """
    known = known or Exposure(session=session, at=at)
    if known.eligible:
        return known
    return replace(known, eligible=True, share=share, held_out=draw(scope, session) < share)


def met(exposure: Exposure, memory_ids: Iterable[str], how: How, *, tokens: int = 0) -> Exposure:
    """Return the exposure after the session has met these memories; one that was withheld and then shown was shown."""
    shown = {one.memory_id: one for one in exposure.shown}
    for memory_id in memory_ids:
        known = shown.get(memory_id)
        if known is None:
            shown[memory_id] = Shown(memory_id=memory_id, how=how)
        elif known.how == "withheld" and how != "withheld":
            shown[memory_id] = replace(known, how=how)
    return replace(exposure, shown=tuple(shown.values()), tokens=exposure.tokens + tokens)


def note_injection(
    transaction: Transaction,
    exposure: Exposure,
    memory_ids: Iterable[str],
    *,
    tokens: int,
    among: Collection[str] | None = None,
) -> None:
    """Keep that these memories were injected, or withheld when the session is held out.

    Args:
        transaction: Where it is written.
        exposure: The session's, drawn (``drawn``).
        memory_ids: The memories.
        tokens: What the session reads of them.
        among: The memories that the exposure is about, these among them; None when it is whole.
    """
    how: How = "withheld" if exposure.held_out else "injected"
    exposed = met(exposure, memory_ids, how, tokens=0 if exposure.held_out else tokens)
    transaction.deliveries.expose(exposed, among=among)


def note_search(
    transaction: Transaction, known: Exposure, memory_ids: Iterable[str], *, among: Collection[str] | None = None
) -> None:
    """Keep that the session was shown these memories because it asked.

    Args:
        transaction: Where it is written.
        known: The session's exposure.
        memory_ids: The memories.
        among: The memories that the exposure is about, these among them; None when it is whole.
    """
    changed = met(known, memory_ids, "asked")
    if changed != known:
        transaction.deliveries.expose(changed, among=among)


def note_read(transaction: Transaction, session: str, memory_ids: Iterable[str], *, at: datetime) -> None:
    """Keep that a session has read these memories without a search, as files; those that are gone are passed over.

    Args:
        transaction: Where it is written.
        session: As it is named there.
        memory_ids: The memories.
        at: When.
    """
    place, known = said_in(transaction, session), transaction.memories.many(tuple(memory_ids))
    if known:
        note_search(transaction, transaction.deliveries.exposure(place) or Exposure(session=place, at=at), known)


def note_given(store: Store, reader: str, memory_ids: Collection[str] | None, *, at: datetime) -> None:
    """Keep that an agent was given these texts without a search, as what a search delivers is kept (DESIGN D5).

    It is evidence for none of them. What the reader records later and says nearly the same is then an echo. A bank that
    cannot be written to is read all the same.

    Args:
        store: The bank.
        reader: The transport that reads.
        memory_ids: The memories; None for all that the bank holds.
        at: When.
    """
    if memory_ids is None:
        memory_ids = [
            memory.id for batch in store.memories.batches(Filter(states=STATES), size=_AT_ONCE) for memory in batch
        ]
    if not memory_ids or store.deliveries.has_read(reader, memory_ids):
        return
    with suppress(StoreFull, StoreUnavailable, StoreBusy):
        store.write_together(lambda transaction: transaction.deliveries.log_read(reader, memory_ids, at))


def note_session(transaction: Transaction, session: str, *, succeeded: bool, rater: Rater) -> None:
    """Keep how a session ended that met memories; an agent does not take back what a person has said."""
    known = transaction.deliveries.exposure(session)
    if known is None or (known.said_by == "human" and rater == "agent"):
        return
    transaction.deliveries.expose(replace(known, succeeded=succeeded, said_by=rater))


def note_memories(transaction: Transaction, session: str, ends: Mapping[str, bool]) -> None:
    """Keep what a session has reported about memories that it met; the last report about one counts."""
    known = transaction.deliveries.exposure(session) if session else None
    if known is None:
        return
    shown = tuple(replace(one, succeeded=ends[one.memory_id]) if one.memory_id in ends else one for one in known.shown)
    if shown != known.shown:
        transaction.deliveries.expose(replace(known, shown=shown))


def decide(transaction: Transaction, trace: Trace, outcome: Verdict, *, reason: str, at: datetime) -> Trace:
    """Set a trace's outcome and have its strategy extracted, once for each outcome.

    Another outcome takes back what the trace taught: it no longer counts for that strategy, and is extracted from
    again. The memory itself stays, with the evidence it has.
    """
    decided = replace(trace, outcome=outcome, failure_reason="" if outcome == "success" else reason)
    job = Job(kind=EXTRACT, key=trace.id, due=at)
    if outcome != trace.outcome:
        decided = replace(decided, state="waiting", strategies=())
        transaction.jobs.finish(job)
    transaction.sessions.update_trace(decided)
    if decided.state == "waiting" and outcome != "unknown":
        transaction.jobs.enqueue(job)
    return decided


def decide_served(transaction: Transaction, memory_id: str, *, session: str, succeeded: bool, at: datetime) -> int:
    """Set the outcome of this session's searches that delivered the memory; return how many there were."""
    if not session:
        return 0
    served = [
        trace for trace in transaction.sessions.traces(session=session, limit=_LATEST) if memory_id in trace.results
    ]
    for trace in served:
        reason = "" if succeeded else "The task that used what was found has failed."
        decide(transaction, trace, "success" if succeeded else "failure", reason=reason, at=at)
    return len(served)
