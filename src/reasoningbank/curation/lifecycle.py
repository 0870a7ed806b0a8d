"""Decay of what is not used, and archiving of what is neither used nor believed.

Both read the bank in pages that hold only what decides, and write a page in one transaction. What a page is told to do
is decided inside its transaction, so that two processes at once, or a process that is killed and begins again, do the
same as one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from fractions import Fraction

from reasoningbank.memories.evidence import from_text, proven
from reasoningbank.memories.states import existing
from reasoningbank.memories.voices import is_held
from reasoningbank.settings import Settings
from reasoningbank.storage.store import Store, Transaction
from reasoningbank.types.belief import MIN_CONFIDENCE, PRIOR_STRENGTH, UNIT, Belief
from reasoningbank.types.consolidation import CONSOLIDATION
from reasoningbank.types.lifecycle import (
    MONTH,
    Decayed,
    DecayReport,
    DecayRules,
    Pruned,
    PruneReport,
    PruneRules,
    by_person,
    disuse_weight,
    floor_of,
    months_between,
)
from reasoningbank.types.memory import KEPT_FOR, PROVEN, PRUNED, WITHDRAWN, Cause
from reasoningbank.types.recall import Filter
from reasoningbank.types.records import Idle
from reasoningbank.types.signal import Signal

PAGE = 500
"""Memories that one transaction looks at: it holds the bank's lock for a fraction of a second."""


def decay_rules(settings: Settings) -> DecayRules:
    """Return the rules of decay that the settings give."""
    return DecayRules(step=settings.decay_step, floor=settings.decay_floor, recorded=settings.decay_recorded)


def prune_rules(settings: Settings) -> PruneRules:
    """Return the rules of pruning that the settings give."""
    return PruneRules(below=settings.prune_below, after_days=settings.prune_after_days)


@dataclass(slots=True)
class _Decay:
    decayed: list[Decayed]
    examined: int = 0
    recorded: int = 0


def decay(
    store: Store, rules: DecayRules, *, at: datetime, dry_run: bool = False, higher: DecayRules | None = None
) -> DecayReport:
    """Give every memory a disuse signal for each full month without activity that it has none for.

    A signal bears the time at which its month was full, not the time of the run, and its weight follows from the belief
    at that time: a run after a year gives what twelve monthly runs would have given, and a second run gives nothing.

    Args:
        store: The bank.
        rules: The step, the floor, and whether memories that a person recorded take part.
        at: The present.
        dry_run: Only says what would be done.
        higher: The rules of what a person stands by and what is confirmed; None for the same.
    """
    if rules.step == 0.0:
        return DecayReport(dry_run=dry_run)
    done = _Decay([])

    def one(transaction: Transaction | None, page: Sequence[Idle]) -> None:
        due: dict[str, tuple[Sequence[Signal], Belief]] = {}
        for each in page:
            done.examined += 1
            own = rules if higher is None or not is_held(each) else higher
            if by_person(each.provenance) and not own.recorded:
                done.recorded += 1
                continue
            signals, belief = _disuse(store.scope.project, each, own, at)
            if signals:
                due[each.id] = signals, belief
                done.decayed.append(
                    Decayed(
                        memory_id=each.id,
                        months=len(signals),
                        unused_since=each.active,
                        previous_confidence=each.belief.score,
                        new_confidence=belief.score,
                    )
                )
        if transaction is not None and due:
            _write(transaction, due)

    _paged(store, one, before=at - MONTH, below=None, dry_run=dry_run)
    return DecayReport(decayed=tuple(done.decayed), examined=done.examined, recorded=done.recorded, dry_run=dry_run)


def prune(
    store: Store, rules: PruneRules, *, at: datetime, dry_run: bool = False, higher: PruneRules | None = None
) -> PruneReport:
    """Archive memories below a confidence that were not active for so many days; none is deleted.

    The log of the bank keeps the reason. What a person makes active again counts as active from then on.

    Args:
        store: The bank.
        rules: The confidence and the days.
        at: The present.
        dry_run: Only says what would be done.
        higher: The rules of what a person stands by and what is confirmed, no harsher than the others; None for the
            same.
    """
    pruned: list[Pruned] = []

    def one(transaction: Transaction | None, page: Sequence[Idle]) -> None:
        for each in page:
            own = rules if higher is None or not is_held(each) else higher
            if each.belief.score >= own.below or at - each.active < timedelta(days=own.after_days):
                continue
            reason = (
                f"Confidence {each.belief.score:.3f} is below {own.below:g}, and it has not been used, rated or "
                f"changed since {each.active:%Y-%m-%d} ({(at - each.active).days} days)."
            )
            pruned.append(
                Pruned(memory_id=each.id, confidence=each.belief.score, unused_since=each.active, reason=reason)
            )
            if transaction is not None:
                archived = replace(transaction.memories.get(each.id), state="archived")
                transaction.memories.update_state(archived, cause=Cause(at=at, kind=PRUNED, reason=reason))

    _paged(store, one, before=at - timedelta(days=rules.after_days), below=rules.below, dry_run=dry_run)
    return PruneReport(pruned=tuple(pruned), dry_run=dry_run)


def erase_withdrawn(store: Store, *, at: datetime) -> tuple[str, ...]:
    """Erase what an agent deleted a month ago and nobody has brought back since; return which."""
    erased: list[str] = []
    for change in store.memories.changes(reference=WITHDRAWN):
        if at - change.at < KEPT_FOR:
            continue
        with store.transaction() as transaction:
            memory = existing(transaction, change.memory_id)
            last = transaction.memories.changes(memory_id=change.memory_id)[-1:]
            if memory is not None and memory.state == "archived" and last == [change]:
                transaction.memories.delete(memory.id, at=at)
                erased.append(memory.id)
    return tuple(erased)


def activate(store: Store, *, at: datetime) -> tuple[str, ...]:
    """Make every candidate active whose evidence has reached the threshold; return which.

    A rating or an outcome does so at once; this finds what came to its evidence otherwise.
    """
    reached = Filter(states=("candidate",), min_confidence=MIN_CONFIDENCE)
    if not store.memories.count(reached):
        return ()
    found: list[str] = []
    with store.transaction() as transaction:
        for memory in transaction.memories.page(reached, limit=0, offset=0):
            transaction.memories.update_state(proven(memory), cause=Cause(at=at, kind=PROVEN))
            found.append(memory.id)
    return tuple(found)


def started_at(belief: Belief, provenance: dict[str, str], memory_id: str) -> Fraction:
    """Return the confidence that a memory began with.

    A consolidated one began with the union of its sources' evidence.
    """
    positive = negative = 0
    if CONSOLIDATION in provenance:
        union = from_text(provenance.get("evidence", "[]"), memory_id, "-")
        positive, negative = union.positive or 0, union.negative or 0
    return Fraction(belief.prior + positive, PRIOR_STRENGTH * UNIT + positive + negative)


def _disuse(project: str, each: Idle, rules: DecayRules, at: datetime) -> tuple[list[Signal], Belief]:
    """Return the signals of the months that are due, and the belief after them."""
    rested = each.active if each.disused is None else max(each.active, each.disused)
    if at - rested < MONTH:
        return [], each.belief
    floor = floor_of(started_at(each.belief, dict(each.provenance), each.id), rules.floor)
    belief, signals = each.belief, list[Signal]()
    for moment in months_between(rested, at):
        weight = disuse_weight(belief, rules.step, floor)
        if weight == 0:
            break
        belief = belief.with_evidence(positive=False, weight=weight)
        signals.append(
            Signal(memory_id=each.id, project=project, type="disuse", positive=False, at=moment, weight=weight)
        )
    return signals, belief


def _write(transaction: Transaction, due: Mapping[str, tuple[Sequence[Signal], Belief]]) -> None:
    stored = transaction.memories.many(due)
    transaction.evidence.add_signals([signal for signals, _ in due.values() for signal in signals])
    transaction.memories.update_states(
        [(stored[memory_id], replace(stored[memory_id], belief=belief)) for memory_id, (_, belief) in due.items()]
    )


def _paged(
    store: Store,
    work: Callable[[Transaction | None, Sequence[Idle]], None],
    *,
    before: datetime,
    below: float | None,
    dry_run: bool,
) -> None:
    """Call the work with page after page of idle memories; each page has its own transaction, a dry run has none."""
    after = ""
    while True:
        if dry_run:
            page = store.evidence.idle(before, below=below, after=after, limit=PAGE)
            work(None, page)
        else:
            with store.transaction() as transaction:
                page = transaction.evidence.idle(before, below=below, after=after, limit=PAGE)
                work(transaction, page)
        if len(page) < PAGE:
            return
        after = page[-1].id
