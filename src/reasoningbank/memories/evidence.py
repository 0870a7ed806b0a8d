"""How ratings, outcomes and use become evidence, each counted once (DESIGN D4, D5).

Being shown is not evidence. Use is counted when a session ends that did not fail (module ``credit``), and all of it on
one memory weighs less than one rating.

A candidate below the threshold of the proven list is believed by one voice more for each independent principal that
spoke for it with a rating or an outcome. A principal is independent when the bank showed the memory to one of its
sessions, or when one of them taught the same lesson by itself, and when it is not the one that the memory was learned
from. Everything else that agents say for it, use and the votes of sessions that never saw it included, is one voice
together: so one principal, under whatever names and however often it votes, never makes a candidate proven, and none
alone takes away what a person stands by (module ``voices``). What a person says always counts.

A signal of a source is copied to the consolidated memory with its frozen weight and time; the source keeps its own, so
that an undo finds it as it was. Two sources that one search delivered in one session got a usage signal each: that was
one delivery, so of each session only the oldest signal of a type and direction is copied, as long as it is one of those
that count once (usage; stability; outcomes that name a session; ratings of agents). Rolled-up counts no longer name
their sessions and are added up.

The consolidated memory then has exactly the confidence of the formula: its prior is chosen so that prior and evidence
give it. Where no prior can, because the evidence is too strong for it, the evidence decides and the confidence is the
nearest that the evidence allows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from reasoningbank.memories.standing import independent, settled, voices_of
from reasoningbank.memories.states import refuse_quarantined, sources_of
from reasoningbank.memories.voices import excess, is_held, is_limited, is_silenced, room_for
from reasoningbank.storage.store import StoreReader, Transaction
from reasoningbank.types.argument import check_flag
from reasoningbank.types.belief import MIN_CONFIDENCE, PRIOR_STRENGTH, UNIT, Belief, to_units
from reasoningbank.types.consolidation import consolidated_confidence, is_consolidated
from reasoningbank.types.memory import PROVEN, STATES, TAKEN_BACK, Cause, Memory, OutcomeReport, Rating
from reasoningbank.types.recall import Filter
from reasoningbank.types.records import Given, WeightChange
from reasoningbank.types.session import Verdict
from reasoningbank.types.signal import (
    AGENTS,
    COUNTERS,
    LEARNING_WINDOW_HOURS,
    RECENT_DAYS,
    SIGNAL_TYPES,
    ProjectWeights,
    Rater,
    Signal,
    SignalAggregate,
    SignalType,
    Witness,
    later,
    replay,
)
from reasoningbank.types.standing import ECHO_OF


def granted(transaction: Transaction, weights: ProjectWeights, votes: Sequence[tuple[Memory, Signal]]) -> list[Signal]:
    """Return each signal with as much of its weight as still counts; nothing changes for one that is not limited.

    Args:
        transaction: Where they are written.
        weights: The project's.
        votes: Memories, each with a signal for it or against it; no memory twice.
    """
    limited = [memory for memory, signal in votes if is_limited(signal)]
    if not limited:
        return [signal for _, signal in votes]
    voices = voices_of(transaction, limited, *(signal.session for _, signal in votes))
    voice = max(to_units(weights.weight_for(kind)) for kind in SIGNAL_TYPES)
    counted = []
    for memory, signal in votes:
        if memory.id not in voices:
            counted.append(signal)
            continue
        if signal.positive and ECHO_OF in memory.provenance:
            counted.append(replace(signal, weight=0))  # what speaks for it speaks for what it repeats
            continue
        room = room_for(memory, signal, voices[memory.id], voice)
        counted.append(replace(signal, weight=min(signal.weight or 0, room)))
    return counted


_KEPT = (*COUNTERS[:6], "positive", "negative", *COUNTERS[6:])
"""The order of the numbers in a memory's provenance: what an earlier version wrote is the beginning of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Union:
    """The evidence of several memories.

    Attributes:
        signals: Copies for the consolidated memory, oldest first.
        aggregate: The rolled-up counts of all sources; None when nothing was rolled up.
        total: All of it as counts: what ``undo`` subtracts to find what came since.
    """

    signals: tuple[Signal, ...]
    aggregate: SignalAggregate | None
    total: SignalAggregate


def unite(reader: StoreReader, sources: Sequence[Memory], memory_id: str) -> Union:
    """Return the evidence of all sources, for a memory with this id."""
    project = sources[0].project
    signals = sorted(
        (signal for source in sources for signal in reader.evidence.signals(source.id)),
        key=lambda each: (each.at, each.id),
    )
    once: set[tuple[str, str, bool]] = set()
    kept: list[Signal] = []
    for signal in signals:
        place = (signal.type, signal.session, signal.positive)
        if counts_once(signal):
            if place in once:
                continue
            once.add(place)
        kept.append(replace(signal, id=copy_of(signal, memory_id), memory_id=memory_id))
    kept = _voiced(reader, kept, sources)
    kept = _bounded(kept, sources, signals)
    total = SignalAggregate(memory_id=memory_id, project=project, positive=0, negative=0)
    for source in sources:
        total = added(total, reader.evidence.aggregate(source.id))
    aggregate = total if total.last_rollup is not None else None
    for signal in kept:
        total = total.add(signal)
    return Union(signals=tuple(kept), aggregate=aggregate, total=total)


def _voiced(reader: StoreReader, kept: Sequence[Signal], sources: Sequence[Memory]) -> list[Signal]:
    """Return the copies with one voice for and one against of each principal, and of all that are not independent.

    What was said of copies of one text by one client would else count once for each of them.
    """
    voices = voices_of(reader, sources)
    free = {
        name
        for source in sources
        for name in independent(source, [*voices[source.id].signals, *voices[source.id].rolled], voices[source.id])
    } - {
        voices[source.id].principal(name)
        for source in sources
        for name in (source.provenance.get("session", ""), *(each.session for each in voices[source.id].origins))
    }
    known = voices[sources[0].id]
    weights = reader.evidence.weights()
    voice = max(to_units(weights.weight_for(kind)) for kind in SIGNAL_TYPES)
    left: dict[tuple[str, bool], int] = {}
    counted = []
    for signal in kept:
        if is_limited(signal) and signal.type != "usage":
            speaker = known.principal(signal.session)
            place = (speaker if speaker in free else "", signal.positive)
            room = left.get(place, voice)
            signal = replace(signal, weight=min(signal.weight or 0, room))
            left[place] = room - (signal.weight or 0)
        counted.append(signal)
    return counted


def _bounded(kept: Sequence[Signal], sources: Sequence[Memory], signals: Sequence[Signal]) -> list[Signal]:
    """Return the copies with no more usage in all than one memory may have, or than one source has."""
    room = MOST_USAGE
    for source in sources:
        own = (each.weight or 0 for each in signals if each.memory_id == source.id and each.type == "usage")
        room = max(room, sum(own))
    bounded = []
    for signal in kept:
        if signal.type == "usage":
            signal = replace(signal, weight=min(signal.weight or 0, room))
            room -= signal.weight or 0
        bounded.append(signal)
    return bounded


def counts_once(signal: Signal) -> bool:
    """Return whether a second signal of its type and session is not counted (DESIGN D5).

    A commit counts once, whichever source was tied to it; a month without use is each source's own.
    """
    if signal.type in {"usage", "stability"}:
        return True
    if signal.type == "disuse":
        return False
    return bool(signal.session) if signal.type == "outcome" else signal.rater == "agent"


def copy_of(signal: Signal, memory_id: str) -> str:
    """Return the id of the copy that a memory has of a signal."""
    return f"{memory_id}/{hashlib.blake2b(signal.id.encode(), digest_size=12).hexdigest()}"


def is_copy(signal: Signal) -> bool:
    """Return whether a consolidated memory has the signal from one of its sources; all others came since."""
    return signal.id.startswith(f"{signal.memory_id}/")


def believed(sources: Sequence[Memory], total: SignalAggregate) -> Belief:
    """Return the belief whose evidence is the union and whose score is the formula's, or the nearest that there is."""
    wanted = consolidated_confidence([each.confidence for each in sources], [each.usage_count for each in sources])
    if any(each.standing == "claim" for each in sources):  # that a claim was made again does not make it surer
        wanted = min(wanted, max(each.confidence for each in sources))
    positive, negative = total.positive or 0, total.negative or 0
    prior = round(wanted * (PRIOR_STRENGTH * UNIT + positive + negative)) - positive
    return Belief(prior=min(PRIOR_STRENGTH * UNIT, max(0, prior)), positive=positive, negative=negative)


def added(first: SignalAggregate, second: SignalAggregate) -> SignalAggregate:
    """Return both counts together, with the later roll-up."""
    return _combined(first, second, 1)


def less(first: SignalAggregate, second: SignalAggregate) -> SignalAggregate:
    """Return the first counts without the second."""
    return _combined(first, second, -1)


def is_nothing(aggregate: SignalAggregate) -> bool:
    """Return whether it counts nothing."""
    return not any(getattr(aggregate, name) for name in (*COUNTERS, "positive", "negative"))


def to_text(aggregate: SignalAggregate) -> str:
    """Count and sums as they are kept in a memory's provenance."""
    return json.dumps([getattr(aggregate, name) for name in _KEPT])


def from_text(text: str, memory_id: str, project: str) -> SignalAggregate:
    """Return the inverse of ``to_text``."""
    numbers = dict(zip(_KEPT, json.loads(text), strict=False))
    return SignalAggregate(memory_id=memory_id, project=project, **numbers)


def _combined(first: SignalAggregate, second: SignalAggregate, sign: int) -> SignalAggregate:
    counts = {
        name: (getattr(first, name) or 0) + sign * (getattr(second, name) or 0)
        for name in (*COUNTERS, "positive", "negative")
    }
    combined: SignalAggregate = replace(first, **counts)  # type: ignore[arg-type]  # the keys are the counters alone
    return replace(
        combined,
        last_rollup=later(first.last_rollup, second.last_rollup),
        last_activity=later(first.active_at, second.active_at),
        last_disuse=later(first.last_disuse, second.last_disuse),
    )


_SILENCED = "Not counted: what this session or its client says does not count while a person holds it in quarantine."


def rate(
    transaction: Transaction, memory_id: str, *, helpful: bool, session: str, rater: Rater, at: datetime
) -> Rating:
    """Store an explicit rating, lets the project learn from it, and move the belief.

    A human's ratings all count; an agent's count once per memory and session. The weight is the project's weight
    before it learns from this rating.

    Raises:
        MemoryQuarantined: When the memory is in quarantine and an agent rates it.
    """
    memory = transaction.memories.get(memory_id)
    if rater == "agent":
        refuse_quarantined(transaction, memory, "an agent's rating of it does not count.")
    weights = transaction.evidence.weights()
    signal = _signal(memory, "explicit", check_flag(helpful, "helpful"), session, rater, at, weights)
    if rater == "agent" and session and is_silenced(transaction, session):
        return Rating(
            memory_id=memory_id,
            helpful=helpful,
            previous_confidence=memory.confidence,
            new_confidence=memory.confidence,
            counted=False,
            message=_SILENCED,
        )
    wanted = signal.weight
    (signal,) = granted(transaction, weights, [(memory, signal)])
    predictions = _uncredited_predictions(transaction, memory_id, at)
    if not transaction.evidence.add_signal(signal, once=rater == "agent"):
        return Rating(
            memory_id=memory_id,
            helpful=helpful,
            previous_confidence=memory.confidence,
            new_confidence=memory.confidence,
            counted=False,
            message=f"Not counted: session {session!r} has rated this memory before.",
        )
    learned = weights.learn_from_feedback(helpful, predictions)
    if learned != weights:
        transaction.evidence.set_weights(WeightChange(at=at, weights=learned, signal_id=signal.id))
    believed = _believe(transaction, memory, signal)
    word = "helpful" if helpful else "unhelpful"
    return Rating(
        memory_id=memory_id,
        helpful=helpful,
        previous_confidence=memory.confidence,
        new_confidence=believed.confidence,
        counted=True,
        message=f"Rated {word}: {_movement(memory, believed, signal)}.{_why_less(memory, signal, wanted)}",
    )


def report_outcome(
    transaction: Transaction,
    memory_id: str,
    *,
    succeeded: bool,
    session: str,
    rater: Witness,
    at: datetime,
    shared_by: int = 1,
    previous: Memory | None = None,
) -> OutcomeReport:
    """Store how a task ended that used the memory: once per memory and session; without a session every time.

    Args:
        transaction: Where it is written.
        memory_id: The memory.
        succeeded: How the task ended.
        session: The task.
        rater: Who says so.
        at: When.
        shared_by: How many memories share the weight of the outcome in equal parts.
        previous: The memory as it was before what this outcome replaces was taken back; None when it replaces nothing.

    Raises:
        MemoryQuarantined: When the memory is in quarantine and an agent reports.
    """
    memory = transaction.memories.get(memory_id)
    check_flag(succeeded, "succeeded")
    if rater in AGENTS:
        refuse_quarantined(transaction, memory, "an agent's outcome does not count for it.")
    if rater in AGENTS and session and is_silenced(transaction, session):
        return _unchanged(memory, succeeded, _SILENCED)
    weights = transaction.evidence.weights()
    signal = _signal(memory, "outcome", succeeded, session, rater, at, weights)
    wanted = (signal.weight or 0) // shared_by
    signal = replace(signal, weight=wanted)
    (signal,) = granted(transaction, weights, [(memory, signal)])
    if not transaction.evidence.add_signal(signal, once=bool(session)):
        return OutcomeReport(
            memory_id=memory_id,
            succeeded=succeeded,
            recorded=False,
            previous_confidence=memory.confidence,
            new_confidence=memory.confidence,
            message=f"Not recorded: session {session!r} has reported an outcome for this memory before.",
        )
    believed = _believe(transaction, memory, signal)
    word = "success" if succeeded else "failure"
    return OutcomeReport(
        memory_id=memory_id,
        succeeded=succeeded,
        recorded=True,
        previous_confidence=(previous or memory).confidence,
        new_confidence=believed.confidence,
        message=f"Task {word} recorded: {_movement(previous or memory, believed, signal)}."
        f"{_why_less(memory, signal, wanted)}",
    )


def count_delivery(transaction: Transaction, memories: Iterable[Memory], *, at: datetime) -> None:
    """Count that each memory was delivered, as it was read in the transaction.

    That is not evidence, and no confidence changes.
    """
    changes = [(each, replace(each, usage_count=each.usage_count + 1, last_used=at)) for each in memories]
    if changes:
        transaction.memories.update_states(changes)


MOST_USAGE = UNIT // 4
"""What all usage on one memory weighs together at most: less than one rating, whatever the project has learned.

A rating weighs 0.7 / (0.7 + usage + outcome), and the two others are below 1: more than 0.259.
"""


def settle_outcome(
    transaction: Transaction,
    memory_id: str,
    *,
    verdict: Verdict,
    session: str,
    rater: Witness,
    at: datetime,
    shared_by: int = 1,
) -> OutcomeReport:
    """Credit a memory with how a session ended that was shown it; it replaces what was counted for this session.

    Success speaks for the memory, failure against it, and anything else says nothing: then what was counted is taken
    back. What a person has said is replaced by a person alone. In quarantine only a person's word changes what counts.

    Args:
        transaction: Where it is written.
        memory_id: The memory.
        verdict: How the session ended.
        session: The session.
        rater: Who says so; the ``session`` where nobody but its agent does.
        at: When.
        shared_by: How many memories share the weight of the outcome in equal parts.
    """
    memory = transaction.memories.get(memory_id)
    succeeded = verdict == "success"
    known = transaction.evidence.given(memory_id, "outcome", session)
    said = verdict in {"success", "failure"}
    if memory.state == "quarantined" and rater in AGENTS:
        return _unchanged(memory, succeeded, "Not counted: the memory is in quarantine.")
    if known is None and not said:
        return _unchanged(memory, succeeded, "Nothing is counted: it is not known how the session ended.")
    if known is not None:
        if known.rater == "human" and rater in AGENTS:
            return _unchanged(memory, succeeded, "Not counted: a person has said how the session ended.")
        if said and known.positive == succeeded and known.rater == rater:
            return _unchanged(memory, succeeded, "Not counted: the session has ended so before.")
        if _is_inherited(transaction, memory, known) or not transaction.evidence.take_back(memory_id, known):
            return _unchanged(memory, succeeded, "Not counted: this session was counted for good before.")
        before = _without(transaction, memory, known, at)
        if not said:
            return OutcomeReport(
                memory_id=memory_id,
                succeeded=False,
                recorded=True,
                previous_confidence=memory.confidence,
                new_confidence=before.confidence,
                message="Taken back: it is no longer known how the session ended.",
            )
    return report_outcome(
        transaction,
        memory_id,
        succeeded=succeeded,
        session=session,
        rater=rater,
        at=at,
        shared_by=shared_by,
        previous=None if known is None else memory,
    )


def settle_usage(transaction: Transaction, memory_id: str, *, used: bool, session: str, at: datetime) -> None:
    """Count once that a session used the memory, or take it back when it did not.

    The n-th use weighs the part 1 / (n * (n + 1)) of at most a quarter, so that no number of them outweighs a rating.
    What is in quarantine keeps what it has.
    """
    memory = transaction.memories.get(memory_id)
    if memory.state == "quarantined":
        return
    known = transaction.evidence.given(memory_id, "usage", session)
    if used == (known is not None) or (used and is_silenced(transaction, session)):
        return
    if known is not None:
        if _is_inherited(transaction, memory, known) or not transaction.evidence.take_back(memory_id, known):
            return
        _without(transaction, memory, known, at)
        return
    weights = transaction.evidence.weights()
    signal = _signal(memory, "usage", True, session, "agent", at, weights)
    number = 1 + transaction.evidence.aggregate(memory_id).usage_positive
    number += sum(each.type == "usage" and bool(each.weight) for each in transaction.evidence.signals(memory_id))
    signal = replace(signal, weight=min(signal.weight or 0, MOST_USAGE) // (number * (number + 1)))
    (signal,) = granted(transaction, weights, [(memory, signal)])
    transaction.evidence.add_signal(signal, once=True)
    _believe(transaction, memory, signal)


def _is_inherited(transaction: Transaction, memory: Memory, known: Given) -> bool:
    """Return whether a consolidated memory has the signal from a source: an undo has to find it there."""
    if not is_consolidated(memory):
        return False
    signals = transaction.evidence.signals(memory.id)
    return not any((each.type, each.session) == (known.type, known.session) and not is_copy(each) for each in signals)


def _unchanged(memory: Memory, succeeded: bool, message: str) -> OutcomeReport:
    return OutcomeReport(
        memory_id=memory.id,
        succeeded=succeeded,
        recorded=False,
        previous_confidence=memory.confidence,
        new_confidence=memory.confidence,
        message=message,
    )


def roll_up(transaction: Transaction, at: datetime) -> int:
    """Move signals older than thirty days into counts; no score changes (seed 000 FR-005c)."""
    return transaction.evidence.roll_up(at - timedelta(days=RECENT_DAYS), at)


def hold_evidence(transaction: Transaction, at: datetime) -> int:
    """Let every confidence follow from its evidence again, where a part of that is lost; return of how many memories.

    What a memory has earned and no stored signal says any more becomes a part of its rolled-up sums. Where the signals
    say more than the memory, it is the memory that is older, and its confidence is made of them.

    Args:
        transaction: Where it is written.
        at: When that is.
    """
    held = 0
    for memory in transaction.memories.page(Filter(states=STATES), limit=0, offset=0):
        aggregate, signals = transaction.evidence.aggregate(memory.id), transaction.evidence.signals(memory.id)
        said = replay(memory.belief.initial, aggregate, signals, transaction.evidence.weights())
        for_it, against = memory.belief.positive - said.positive, memory.belief.negative - said.negative
        if not for_it and not against:
            continue
        held += 1
        if for_it < 0 or against < 0:
            transaction.memories.update_state(replace(memory, belief=said))
            continue
        transaction.evidence.set_aggregate(
            replace(
                aggregate,
                positive=(aggregate.positive or 0) + for_it,
                negative=(aggregate.negative or 0) + against,
                last_rollup=aggregate.last_rollup or at,
            )
        )
    return held


def _signal(
    memory: Memory,
    signal_type: SignalType,
    positive: bool,
    session: str,
    rater: Witness,
    at: datetime,
    weights: ProjectWeights,
) -> Signal:
    return Signal(
        memory_id=memory.id,
        project=memory.project,
        type=signal_type,
        positive=positive,
        session=session,
        rater=rater,
        at=at,
        weight=to_units(weights.weight_for(signal_type)),
    )


def _uncredited_predictions(transaction: Transaction, memory_id: str, at: datetime) -> list[Signal]:
    """Return usage and outcome signals of the last day that no earlier rating has credited or debited."""
    recent = transaction.evidence.signals(memory_id, since=at - timedelta(hours=LEARNING_WINDOW_HOURS))
    predictions: list[Signal] = []
    for signal in recent:
        if signal.type == "explicit":
            predictions.clear()
        elif signal.type in {"usage", "outcome"}:
            predictions.append(signal)
    return predictions


def _believe(transaction: Transaction, memory: Memory, signal: Signal) -> Memory:
    belief = memory.belief.with_evidence(positive=signal.positive, weight=signal.weight or 0)
    believed = proven(bounded(transaction, replace(memory, belief=belief)))
    transaction.memories.update_state(believed, cause=Cause(at=signal.at, kind=PROVEN))
    return believed


def bounded(transaction: Transaction, memory: Memory, *, taken_back: Given | None = None) -> Memory:
    """Return a memory with the standing that its evidence gives it, and no more against it than one client may say.

    Every change of what agents say ends here, so that both follow from the evidence that there is, in whatever order it
    came. What is over is taken off the signals, the newest first, so that the confidence still follows from the log.

    Args:
        transaction: Where its evidence is.
        memory: The memory, with the belief that it has now.
        taken_back: The signal that has just been taken out of the log; None when none was.
    """
    memory = settled(transaction, memory, taken_back=taken_back)
    if not is_held(memory) or not memory.belief.negative:
        return memory
    known = voices_of(transaction, [memory])[memory.id]
    over = excess(memory, known)
    newest: list[Signal | Given] = [*sorted(known.signals, key=lambda each: (each.at, each.id), reverse=True)]
    for each in [*newest, *known.rolled]:
        taken = min(over, each.weight or 0)
        if not taken or each.positive or not is_limited(each):
            continue
        if not _lowered(transaction, memory.id, each, taken):
            continue
        over -= taken
        provenance = dict(memory.provenance)
        if "evidence" in provenance and _is_of_a_source(transaction, memory, each):
            united = from_text(provenance["evidence"], memory.id, memory.project)
            provenance["evidence"] = to_text(replace(united, negative=(united.negative or 0) - taken))
        belief = memory.belief.without_evidence(positive=False, weight=taken)
        memory = replace(memory, belief=belief, provenance=provenance)
    return memory


def _lowered(transaction: Transaction, memory_id: str, said: Signal | Given, by: int) -> bool:
    """Let what was said weigh less; return whether it was found."""
    left = (said.weight or 0) - by
    if isinstance(said, Signal):
        once = transaction.evidence.remove_signal(said)
        return transaction.evidence.add_signal(replace(said, weight=left), once=once)
    if not transaction.evidence.take_back(memory_id, said):
        return False
    transaction.evidence.add_rolled(memory_id, said._replace(weight=left))
    return True


def _is_of_a_source(transaction: Transaction, memory: Memory, said: Signal | Given) -> bool:
    """Return whether a merge has what was said from one of its sources."""
    if isinstance(said, Signal):
        return is_copy(said)
    return any(transaction.evidence.given(name, said.type, said.session) for name in sources_of(memory))


def proven(memory: Memory) -> Memory:
    """Return the memory as it is with its evidence: a candidate that has reached the threshold is active."""
    if memory.state == "candidate" and memory.confidence >= MIN_CONFIDENCE:
        return replace(memory, state="active")
    return memory


def unproven_again(transaction: Transaction, memory: Memory) -> Memory:
    """Return a memory below the threshold that evidence alone had made active as the candidate that it was."""
    if memory.state == "active" and memory.confidence < MIN_CONFIDENCE:
        changes = transaction.memories.changes(memory_id=memory.id)
        begun = [each for each in changes if each.before != each.after == "active"]
        if begun and (begun[-1].kind, begun[-1].before) == (PROVEN, "candidate"):
            return replace(memory, state="candidate")
    return memory


def _without(transaction: Transaction, memory: Memory, known: Given, at: datetime) -> Memory:
    """Store the memory without a signal that is taken back, and return it.

    A candidate that only such evidence had carried over the threshold is a candidate again below it. What was recorded
    active, or that a person has released, stays as it is.
    """
    belief = memory.belief.without_evidence(positive=known.positive, weight=known.weight or 0)
    left = bounded(transaction, replace(memory, belief=belief), taken_back=known)
    if known.positive:
        left = unproven_again(transaction, left)
    cause = Cause(at=at, kind=TAKEN_BACK) if left.state != memory.state else None
    transaction.memories.update_state(left, cause=cause)
    return left


def _movement(before: Memory, after: Memory, signal: Signal) -> str:
    weight = (signal.weight or 0) / 1e9
    why = f"({signal.type} evidence of weight {weight:.3f})"
    if after.confidence == before.confidence:
        return f"confidence stayed at {after.confidence:.3f} {why}"
    direction = "rose" if after.confidence > before.confidence else "fell"
    return f"confidence {direction} from {before.confidence:.3f} to {after.confidence:.3f} {why}"


def _why_less(memory: Memory, signal: Signal, wanted: int | None) -> str:
    """Return a sentence about a signal that weighs less than its type does; empty for any other."""
    if (signal.weight or 0) >= (wanted or 0):
        return ""
    if signal.positive and ECHO_OF in memory.provenance:
        return " It repeats what its session had been shown, and only a person's word counts for such a text."
    if signal.positive or not is_held(memory):
        return " One client has one voice for a memory, whatever its sessions are called."
    by = "A person stands by it" if memory.standing == "vouched" else "It is confirmed"
    return f" {by}: what one client says alone does not take it from what is proven; a person, or a second one, does."
