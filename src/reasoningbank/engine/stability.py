"""What became of the code that a lesson is tied to, as evidence about the lesson (seed 001 ``OnCodeStability``).

A lesson is tied to a commit when a session that taught it kept that commit, or when the lesson names it. Only
strategies are looked at: that the commits of a failed session stand says nothing about the warning learned from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from reasoningbank.domain.belief import to_units
from reasoningbank.domain.lifecycle import STABILITY_SHARE, StabilityReport, commit_key
from reasoningbank.domain.memory import Memory
from reasoningbank.domain.recall import Filter
from reasoningbank.domain.signal import Rater, Signal
from reasoningbank.errors import TrajectoryNotFound
from reasoningbank.ports import Store, StoreReader, Transaction

_PAGE = 500
_NAME = re.compile(r"[0-9a-f]{6,40}")
_NAMED = re.compile(r"(?<![0-9A-Za-z_/.#-])(?=[0-9a-f]*[a-f])(?=[0-9a-f]*[0-9])[0-9a-f]{7,40}(?![0-9A-Za-z_/-])")


def report_stability(
    transaction: Transaction,
    memory_id: str,
    *,
    reverted: bool,
    commit: str,
    session: str,
    rater: Rater,
    at: datetime,
) -> StabilityReport:
    """Stores that a commit has stood or was reverted: each once per memory and commit.

    The weight is two thirds of an explicit rating's at that time, as +0.2 is of the seed's +0.3.

    Args:
        transaction: Where it is written.
        memory_id: The memory that is tied to the commit.
        reverted: Whether it was reverted.
        commit: Its name, whole or cut; empty when it is not known: then it counts once per session.
        session: Who says so.
        rater: Whether a person or a program does.
        at: When.
    """
    memory = transaction.get(memory_id)
    weight = round(STABILITY_SHARE * to_units(transaction.weights().weight_for("explicit")))
    place = commit_key(commit) or session
    signal = Signal(
        memory_id=memory.id,
        project=memory.project,
        type="stability",
        positive=not reverted,
        session=f"{place} reverted" if reverted else place,
        rater=rater,
        at=at,
        weight=weight,
    )
    counted = not _known(transaction, memory.id, signal.session) and transaction.add_signal(signal, once=True)
    believed = memory
    if counted:
        belief = memory.belief.with_evidence(positive=not reverted, weight=weight)
        believed = replace(memory, belief=belief)
        transaction.update_state(believed)
    return _reported(memory, believed, commit=commit, reverted=reverted, counted=counted, weight=weight)


def foreseen(store: Store, memory: Memory, *, reverted: bool, commit: str) -> StabilityReport:
    """What ``report_stability`` would do."""
    weight = round(STABILITY_SHARE * to_units(store.weights().weight_for("explicit")))
    place = f"{commit_key(commit)} reverted" if reverted else commit_key(commit)
    known = _known(store, memory.id, place)
    belief = memory.belief if known else memory.belief.with_evidence(positive=not reverted, weight=weight)
    return _reported(
        memory, replace(memory, belief=belief), commit=commit, reverted=reverted, counted=not known, weight=weight
    )


def _known(reader: StoreReader, memory_id: str, place: str) -> bool:
    """Whether it was counted here, or in the bank that the memory was imported from."""
    return reader.counted(memory_id, "stability", place) or any(
        signal.type == "stability" and signal.session == place for signal in reader.signals(memory_id)
    )


def ties(store: StoreReader) -> Mapping[str, Sequence[str]]:
    """The commits that each recallable strategy is tied to, by memory id; a commit of one memory once."""
    kept: dict[str, tuple[str, ...]] = {}
    found: dict[str, dict[str, str]] = {}
    taught: dict[str, list[str]] = {}
    for origin in store.origins():
        taught.setdefault(origin.memory_id, []).append(origin.trajectory)
    for memory in _strategies(store):
        names = list(_NAMED.findall(f"{memory.title}\n{memory.description}\n{memory.content}"))
        for trajectory in taught.get(memory.id, ()):
            if trajectory not in kept:
                kept[trajectory] = _kept(store, trajectory)
            names += kept[trajectory]
        for name in names:
            tied = found.setdefault(memory.id, {})
            key = commit_key(name)
            tied[key] = max(tied.get(key, ""), name, key=len)
    return {memory_id: tuple(tied.values()) for memory_id, tied in found.items()}


def _kept(store: StoreReader, trajectory: str) -> tuple[str, ...]:
    """The commits that a session made and kept; none when it is no longer there."""
    try:
        evidence = store.trajectory(trajectory).evidence
    except TrajectoryNotFound:
        return ()
    return tuple(
        fact.name for fact in evidence if fact.kind == "commit" and fact.positive and _NAME.fullmatch(fact.name)
    )


def _strategies(store: StoreReader) -> Iterator[Memory]:
    condition, offset = Filter(outcome="success"), 0
    while page := store.page(condition, limit=_PAGE, offset=offset):
        yield from page
        offset += len(page)


def _reported(
    memory: Memory, believed: Memory, *, commit: str, reverted: bool, counted: bool, weight: int
) -> StabilityReport:
    fate = "was reverted" if reverted else "has stood"
    named = f"Commit {commit}" if commit else "The code"
    message = f"{named} {fate}: not counted, for that was known."
    if counted:
        direction = "fell" if reverted else "rose"
        message = (
            f"{named} {fate}: confidence {direction} from {memory.confidence:.3f} to {believed.confidence:.3f} "
            f"(stability evidence of weight {weight / 1e9:.3f})."
        )
    return StabilityReport(
        memory_id=memory.id,
        reverted=reverted,
        commit=commit,
        previous_confidence=memory.confidence,
        new_confidence=believed.confidence,
        counted=counted,
        message=message,
    )
