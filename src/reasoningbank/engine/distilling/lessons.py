"""From examined items to memories: everything that one trajectory taught is stored together or not at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from reasoningbank.domain.belief import DISTILLED_CONFIDENCE, Belief
from reasoningbank.domain.consolidation import is_consolidated
from reasoningbank.domain.learning import MAX_ITEMS, Item, Origin, Refusal
from reasoningbank.domain.memory import Memory
from reasoningbank.domain.recall import CONTENT_LEG, Filter
from reasoningbank.domain.trajectory import Judgement, Trajectory
from reasoningbank.engine.consolidating.writing import sources_of
from reasoningbank.engine.distilling.hearsay import is_hearsay
from reasoningbank.engine.distilling.near import NEIGHBOURS, is_near
from reasoningbank.engine.distilling.quoting import clip
from reasoningbank.engine.distilling.validate import examine
from reasoningbank.engine.evidence import report_outcome
from reasoningbank.engine.hygiene import safe_line
from reasoningbank.engine.similarity import cosine_similarity
from reasoningbank.engine.tokens import count_tokens
from reasoningbank.memories.admission import Ready, admit, prepare
from reasoningbank.ports import Embedder, Indexed, Store, TrajectoryEntry, Transaction

MAX_TASK = 2_000
"""Most characters of the source task that a memory keeps; the search by experience compares with them."""
Check = Callable[..., tuple[tuple[Item, ...], tuple[Refusal, ...]]]
"""What divides items into those that may be stored and those that may not, called as ``examine`` is."""
EVIDENT_JUDGES = frozenset({"evidence", "user"})
"""Judges whose word counts as evidence; a language model's or the agent's own never promotes a memory alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """What became of one trajectory's items.

    Attributes:
        memories: New memories.
        corroborated: Ids of memories that say the same already.
        refused: Items that were not stored, with the reason.
    """

    memories: tuple[Memory, ...] = ()
    corroborated: tuple[str, ...] = ()
    refused: tuple[Refusal, ...] = ()


@dataclass(frozen=True, slots=True)
class _Candidate:
    item: Item
    ready: Ready


def learn(
    store: Store,
    embedder: Embedder,
    trajectory: Trajectory,
    judgement: Judgement,
    items: Sequence[Item],
    *,
    model: str,
    prompt: str,
    session: str,
    at: datetime,
    confidence: float = DISTILLED_CONFIDENCE,
    limit: int = MAX_ITEMS,
    again: bool = True,
    check: Check = examine,
) -> Learned:
    """Examines what a trajectory taught, stores what is new, corroborates what is known, keeps what is refused.

    All of it, and the note that the trajectory is distilled, is one transaction: a crash loses it whole, and the same
    items a second time add nothing. Whether a lesson is known is looked up inside that transaction, so of two workers
    one stores it and the other corroborates it.

    What is in quarantine word for word is refused.

    A near-duplicate (module ``near``) is not stored. Its memory gets this trajectory as a further origin; and once per
    session a positive outcome, when this session is independent of the memory (it neither taught it nor was shown it,
    nor only read it in a tool's answer) and a fact or a person, not a model, judged how it ended (DESIGN D6).

    Args:
        store: Where the trajectory is kept.
        embedder: The bank's embedder.
        trajectory: What the items were learned from, as stored.
        judgement: How it ended.
        items: What was proposed, in order of worth.
        model: The language model, ``agent`` or ``template``.
        prompt: Name and version of the prompt; empty when there was none.
        session: The session's name; empty when it has none, then nothing is corroborated with a signal.
        at: The time.
        confidence: Of new memories; 0.6 for all that is distilled, failures too (seeds 000 and 004).
        limit: Most items of this trajectory since it was judged so, those of earlier calls included.
        again: Whether to add to what was learned of this trajectory before, as when an agent answers item by item; a
            worker that repeats a job passes False, and then nothing changes when it was distilled since the judgement,
            or judged anew: the newer judgement has a job of its own.
        check: Divides the items; another one than ``examine`` is for evaluations of what it is worth.

    Returns:
        What this call found; without ``again`` what had been stored before, when nothing changes.

    Raises:
        TrajectoryNotFound: When the store does not hold the trajectory; nothing was stored.
        ModelMismatch: When the bank was built with another embedder; nothing was stored.
    """
    proposed, refused = check(items, trajectory, judgement.verdict, limit=limit, model=model, prompt=prompt, at=at)
    memories = [
        _memory(store.scope.project, item, trajectory, model=model, prompt=prompt, session=session, at=at, c=confidence)
        for item in proposed
    ]
    ready = prepare(memories, embedder, origin="model")
    candidates = [_Candidate(item, each) for item, each in zip(proposed, ready, strict=True)]
    with store.transaction() as transaction:
        entry = transaction.entry(trajectory.id)
        if not again and _is_over(entry, judgement):
            return _learned_before(transaction, store, trajectory.id)
        earlier = transaction.origins(trajectory=trajectory.id)
        taught = sum(
            origin.kind == "distilled"
            and origin.at >= judgement.at
            and not is_consolidated(transaction.get(origin.memory_id))
            for origin in earlier
        )
        new: list[_Candidate] = []
        known: list[str] = []
        unkept = list(refused)
        for candidate in candidates:
            origin = _origin(candidate, trajectory, model=model, prompt=prompt, session=session, at=at)
            if any(_near(candidate, other) for other in new):
                unkept.append(_refusal(candidate, origin, "an earlier item of this trajectory says nearly the same"))
            elif (held := _held(transaction, candidate.ready.memory)) is not None:
                unkept.append(_refusal(candidate, origin, f"the same text is in quarantine as {held}"))
            elif (twin := twin_of(store, transaction, candidate.ready.memory, candidate.ready.indexed)) is not None:
                known.append(twin.id)
                _corroborate(transaction, twin, origin, trajectory, judgement, at)
            elif len(new) + taught >= limit:
                unkept.append(
                    _refusal(candidate, origin, f"at most {limit} items are kept of one trajectory", many=True)
                )
            else:
                admit(transaction, candidate.ready, at=at)
                transaction.add_origin(origin)
                new.append(candidate)
        kept = {_words_of(refusal) for refusal in transaction.refusals(trajectory=trajectory.id)}
        for refusal in unkept:
            if _words_of(refusal) not in kept:
                transaction.refuse(refusal)
        transaction.mark_distilled(trajectory.id, at)
    return Learned(
        memories=tuple(candidate.ready.memory for candidate in new),
        corroborated=tuple(dict.fromkeys(known)),
        refused=tuple(unkept),
    )


def _is_over(entry: TrajectoryEntry, judgement: Judgement) -> bool:
    """Whether others have distilled the trajectory since it was judged so, or know better how it ended."""
    if entry.distilled is not None and entry.distilled >= judgement.at:
        return True
    newest = entry.judgement
    return newest is not None and newest.verdict != "unknown" and newest.at > judgement.at


def _memory(
    project: str, item: Item, trajectory: Trajectory, *, model: str, prompt: str, session: str, at: datetime, c: float
) -> Memory:
    provenance = {
        "source": "distilled",
        "session": session,
        "trajectory": trajectory.id,
        "task": clip(trajectory.task.strip(), MAX_TASK)[:MAX_TASK],
        "steps": ",".join(map(str, item.steps)),
        "model": safe_line(model),
        "prompt": prompt,
        "in_context": ",".join(trajectory.memories),
    }
    kept = {key: text for key, text in provenance.items() if text}
    return candidate_memory(project, item, kept, at=at, confidence=c)


def candidate_memory(
    project: str, item: Item, provenance: Mapping[str, str], *, at: datetime, confidence: float = DISTILLED_CONFIDENCE
) -> Memory:
    """An examined item as a memory that still has to prove itself."""
    return Memory(
        project=project,
        title=item.title,
        description=item.description,
        content=item.content,
        outcome=item.outcome,
        tags=item.tags,
        state="candidate",
        belief=Belief.starting_at(confidence),
        tokens=count_tokens(f"{item.title}\n{item.description}\n{item.content}"),
        provenance=provenance,
        created_at=at,
        updated_at=at,
    )


def _origin(
    candidate: _Candidate, trajectory: Trajectory, *, model: str, prompt: str, session: str, at: datetime
) -> Origin:
    return Origin(
        memory_id=candidate.ready.memory.id,
        trajectory=trajectory.id,
        kind="distilled",
        session=session,
        steps=candidate.item.steps,
        model=safe_line(model),
        prompt=prompt,
        at=at,
    )


def twin_of(store: Store, transaction: Transaction, memory: Memory, indexed: Indexed) -> Memory | None:
    """The memory that says already what a new one says: the same text, else the closest near-duplicate.

    Args:
        store: Where to look.
        transaction: The transaction in which the new one would be stored.
        memory: The new one.
        indexed: What is derived from it.
    """
    condition = Filter(outcome=memory.outcome)
    for memory_id in transaction.same_text(memory.fingerprint):
        twin = transaction.get(memory_id)
        if twin.outcome == memory.outcome and twin.state in condition.states:
            return twin
    if store.model_id != indexed.model_id:
        return None
    for scored in store.nearest(CONTENT_LEG, indexed.vectors[CONTENT_LEG], condition, NEIGHBOURS):
        known = transaction.get(scored.id)
        if is_near(memory, known, scored.score, indexed.model_id):
            return known
    return None


def _held(transaction: Transaction, memory: Memory) -> str | None:
    """The memory in quarantine that has this very text: it does not come back by being learned again."""
    for memory_id in transaction.same_text(memory.fingerprint):
        known = transaction.get(memory_id)
        if known.state == "quarantined" and known.outcome == memory.outcome:
            return memory_id
    return None


def _near(candidate: _Candidate, other: _Candidate) -> bool:
    cosine = cosine_similarity(candidate.ready.indexed.vectors[CONTENT_LEG], other.ready.indexed.vectors[CONTENT_LEG])
    return is_near(candidate.ready.memory, other.ready.memory, cosine, candidate.ready.indexed.model_id)


def _corroborate(
    transaction: Transaction, twin: Memory, origin: Origin, trajectory: Trajectory, judgement: Judgement, at: datetime
) -> None:
    origins = transaction.origins(memory_id=twin.id)
    if any(known.trajectory == trajectory.id for known in origins):
        return
    sessions = {known.session for known in origins} | {twin.provenance.get("session", "")}
    transaction.add_origin(replace(origin, memory_id=twin.id, kind="corroborated"))
    unseen = not {twin.id, *sources_of(twin)} & set(trajectory.memories) and not any(
        signal.type == "usage" and signal.session == origin.session for signal in transaction.signals(twin.id)
    )
    heard = is_hearsay(twin, trajectory)
    independent = bool(origin.session) and origin.session not in sessions and unseen and not heard
    if independent and judgement.judge in EVIDENT_JUDGES:
        report_outcome(transaction, twin.id, succeeded=True, session=origin.session, rater="agent", at=at)


def _refusal(candidate: _Candidate, origin: Origin, detail: str, *, many: bool = False) -> Refusal:
    return Refusal(
        trajectory=origin.trajectory,
        reason="too_many" if many else "same_text",
        detail=detail,
        title=candidate.item.title,
        description=candidate.item.description,
        content=candidate.item.content,
        model=origin.model,
        prompt=origin.prompt,
        at=origin.at,
    )


def _words_of(refusal: Refusal) -> tuple[str, str, str, str]:
    return refusal.reason, refusal.title, refusal.description, refusal.content


def _learned_before(transaction: Transaction, store: Store, trajectory_id: str) -> Learned:
    origins = transaction.origins(trajectory=trajectory_id)
    taught = store.many([origin.memory_id for origin in origins if origin.kind == "distilled"])
    return Learned(
        memories=tuple(taught.values()),
        corroborated=tuple(origin.memory_id for origin in origins if origin.kind == "corroborated"),
        refused=tuple(reversed(transaction.refusals(trajectory=trajectory_id))),
    )
