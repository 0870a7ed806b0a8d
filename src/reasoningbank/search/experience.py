"""Experience search (seed 002): searches that learn from how earlier, similar searches ended.

The paper embeds the task alone, takes the k most similar earlier tasks (k = 1) and injects everything learned from
them. It has no threshold and injects the nearest task however far it is; here a task below the relevance floor brings
nothing.

In the original the chosen strategy was only named and never applied (spec/memoria_haios 7.2, row H11). Here a plan says
which legs propose memories, how many are shown and which are left out; a trace keeps it as it was applied.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice

from reasoningbank.errors import InvalidInput
from reasoningbank.memories.vectors import TASK
from reasoningbank.safety.text import reveal
from reasoningbank.search.fusion import FLOOR, calibration_of, fuse
from reasoningbank.storage.store import Store, Transaction
from reasoningbank.types.experience import KNOWLEDGE_CATEGORIES, SEARCH_MODES, RelevantStrategy, SearchMode, Trace
from reasoningbank.types.memory import Memory, Outcome
from reasoningbank.types.ports import Vector
from reasoningbank.types.recall import CONTENT_LEG, DESCRIPTION_LEG, LEGS, LEXICAL_LEG, TASK_LEG, Filter, Hit, Leg
from reasoningbank.types.records import Job, LexicalMatches
from reasoningbank.types.session import Verdict

MAX_EXPERIENCES = 20
_ITEMS_PER_EXPERIENCE = 10
_LEAST_CANDIDATES = 50


def experiences(
    store: Store, vector: Vector, condition: Filter, *, count: int, model_id: str, floor: float = FLOOR
) -> tuple[Hit, ...]:
    """Return the items of the experiences whose tasks are closest, one experience after the other.

    An experience is one task in one session: several attempts at it, as MaTTS makes them, are one experience.

    Args:
        store: Where to look.
        vector: The task's vector.
        condition: What an item must be.
        count: Most experiences, at most ``MAX_EXPERIENCES``.
        model_id: The vector space.
        floor: The least relevance of a task.
    """
    wanted = min(count, MAX_EXPERIENCES)
    if wanted <= 0:
        return ()
    near = store.search.nearest(TASK_LEG, vector, condition, max(_LEAST_CANDIDATES, wanted * _ITEMS_PER_EXPERIENCE))
    relevant = {
        one.id: one.relevance
        for one in fuse(
            {one.id: one.score for one in near},
            {},
            LexicalMatches(documents=store.memories.count(condition)),
            model_id=model_id,
            floor=floor,
        )
    }
    ranks = {one.id: Leg(rank=rank, score=one.score) for rank, one in enumerate(near, start=1)}
    memories = store.memories.many(list(relevant))
    groups: dict[tuple[str, str], list[Memory]] = {}
    for memory in (memories[one] for one in ranks if one in memories):
        experience = _experience(memory)
        if experience in groups or len(groups) < wanted:
            groups.setdefault(experience, []).append(memory)
    hits: dict[str, Hit] = {}
    for items in groups.values():
        first = items[0].id
        for memory in _whole(store, items, condition):
            legs = {TASK_LEG: ranks.get(memory.id, ranks[first])}
            relevance = relevant.get(memory.id, relevant[first])
            hits.setdefault(memory.id, Hit(memory=reveal(memory), relevance=relevance, legs=legs))
    return tuple(hits.values())


def _experience(memory: Memory) -> tuple[str, str]:
    """Return what makes an experience: one task in one session, however many attempts were made at it."""
    provenance = memory.provenance
    source = provenance.get("session") or provenance.get("trajectory") or memory.id
    return source, provenance.get(TASK, memory.id)


def _whole(store: Store, items: Sequence[Memory], condition: Filter) -> Iterator[Memory]:
    """Yield all that an experience taught, in the order of learning, also what it only confirmed."""
    trajectories = dict.fromkeys(memory.provenance.get("trajectory", "") for memory in items)
    taught = dict.fromkeys(
        origin.memory_id for one in trajectories if one for origin in store.sessions.origins(trajectory=one)
    )
    found = store.memories.many(list(taught))
    yield from (found[one] for one in taught if one in found and condition.accepts(found[one]))
    yield from (memory for memory in items if memory.id not in taught)


def unproven_apart(hits: tuple[Hit, ...], min_confidence: float) -> tuple[tuple[Hit, ...], tuple[Hit, ...]]:
    """Return the proven and the unproven hits, each in their order; all of them are shown (DESIGN D6)."""
    proven = tuple(hit for hit in hits if hit.confidence >= min_confidence)
    rest = tuple(replace(hit, unproven=True) for hit in hits if hit.confidence < min_confidence)
    return proven, rest


RECOVERED_PER_HIT = 3
"""A session is recovered from so many times as many relevant memories as are shown, the newest of them first."""


def checked_mode(mode: str) -> SearchMode:
    """Return the mode of this name.

    Raises:
        InvalidInput: When there is none.
    """
    for known in SEARCH_MODES:
        if mode == known:
            return known
    raise InvalidInput(f"a mode is one of {', '.join(SEARCH_MODES)}, not {str(mode)[:80]!r}")


def restricted(mode: SearchMode, condition: Filter) -> Filter:
    """Return the condition with what the mode asks for; stores apply it inside every leg."""
    if mode == "session_recovery":
        return replace(condition, consolidated=False)
    if mode == "knowledge_lookup":
        return replace(condition, categories=KNOWLEDGE_CATEGORIES)
    return condition


def room(mode: SearchMode, limit: int) -> int:
    """Return how many relevant memories are looked for, so that the best by the mode's order are among them."""
    return RECOVERED_PER_HIT * limit if mode == "session_recovery" else limit


def ordered(mode: SearchMode, hits: Sequence[Hit], limit: int) -> tuple[Hit, ...]:
    """Return the hits to show, best first; a session that is recovered shows its newest first."""
    if mode == "session_recovery":
        hits = sorted(hits, key=lambda hit: (hit.memory.created_at, hit.relevance), reverse=True)
    return tuple(hits[:limit])


EXTRACT = "extract_strategy"
"""The kind of job that extracts a strategy from the trace that is its key."""
_LATEST = 20


def decide(transaction: Transaction, trace: Trace, outcome: Verdict, *, reason: str, at: datetime) -> Trace:
    """Set a trace's outcome and has its strategy extracted, once for each outcome.

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


MOST_JUDGED = 10
"""So many similar searches decide how the next one is run (seed 002)."""
_CREDIT: Mapping[Verdict, float] = {"success": 1.0, "partial": 0.5, "failure": 0.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How a search is run.

    Attributes:
        name: What the answer calls it.
        legs: The legs that propose memories; the task leg alone means whole experiences.
        limit: Most memories that are shown.
        outcome: Only memories of this outcome; None for both.
    """

    name: str
    legs: tuple[str, ...] = LEGS
    limit: int = 10
    outcome: Outcome | None = None

    @property
    def whole_experiences(self) -> bool:
        """Whether it looks for like tasks and brings everything learned from them."""
        return self.legs == (TASK_LEG,)

    @property
    def details(self) -> dict[str, str]:
        """The parameters as a trace keeps them."""
        return {"legs": ",".join(self.legs), "limit": str(self.limit), "outcome": self.outcome or "any"}


DEFAULT = Plan(name="default_hybrid")
PLANS: tuple[Plan, ...] = (
    DEFAULT,
    Plan(name="similar_tasks", legs=(TASK_LEG,)),
    Plan(name="exact_words", legs=(LEXICAL_LEG,)),
    Plan(name="meaning_only", legs=(CONTENT_LEG, DESCRIPTION_LEG)),
    Plan(name="warnings_only", outcome="failure"),
)
"""The plans in the order in which they are tried: the first that nothing speaks against."""


def choose(similar: Sequence[tuple[Trace, float]], mode: SearchMode = "semantic") -> Plan:
    """Return the plan with the best expected outcome among similar searches; of equals the first.

    Each plan starts at one success in two. A similar search whose outcome is known adds its credit (success 1, partial
    1/2, failure 0), weighted by the cosine of the queries: ``(1 + sum(w c)) / (2 + sum(w))``.

    Args:
        similar: Traces with the cosine of their query and this one, nearest first; the nearest ``MOST_JUDGED`` of this
            mode whose outcome is known count.
        mode: What the search is for; searches of another mode say nothing about it.
    """
    judged = [
        (trace, cosine)
        for trace, cosine in similar
        if trace.outcome in _CREDIT and trace.details.get("mode", "semantic") == mode
    ][:MOST_JUDGED]
    return max(PLANS, key=lambda plan: (expectation(plan, judged), -PLANS.index(plan)))


def expectation(plan: Plan, similar: Sequence[tuple[Trace, float]]) -> float:
    """Return how often the plan is expected to lead to success, from 0 to 1."""
    judged = [
        (max(0.0, cosine), _CREDIT[trace.outcome])
        for trace, cosine in similar
        if trace.approach == plan.name and trace.outcome in _CREDIT
    ]
    return (1.0 + sum(weight * credit for weight, credit in judged)) / (2.0 + sum(weight for weight, _ in judged))


MOST_STRATEGIES = 3
NEIGHBOURS = 200
"""So many of the nearest searches are looked at: those that taught something must not be hidden behind repetitions."""
LEAST_NEARNESS = 0.5
"""A search counts as similar from here: the cosine above the background of unrelated texts, as a share of what is left.

For a model without a background that is a cosine of 0.5; the original had 0.8 and then 0.6 on another model.
"""
LEAST_CONFIDENCE = 0.5
"""A strategy begins at 0.6; below this it is not shown any more."""
NOISE = 2
"""Nor is one that so many more ratings call unhelpful than helpful, however often it was shown meanwhile (row H13)."""


def similar_traces(store: Store, vector: Vector, model_id: str) -> tuple[tuple[Trace, float], ...]:
    """Return the similar searches among the nearest ones, nearest first, each with its cosine."""
    background = calibration_of(model_id).background
    least = background + LEAST_NEARNESS * (1.0 - background)
    return tuple(
        (trace, cosine) for trace, cosine in store.search.similar_traces(vector, limit=NEIGHBOURS) if cosine >= least
    )


def relevant(store: Store, similar: Sequence[tuple[Trace, float]]) -> tuple[RelevantStrategy, ...]:
    """Return the distinct strategies that similar searches taught, at most three, the same text only once and no noise.

    Their order is that of nearness times confidence, so that a strategy that was found helpful stands before one that
    was not.
    """
    nearest: dict[str, float] = {}
    supported: dict[str, int] = {}
    for trace, cosine in similar:
        for memory_id in dict.fromkeys(trace.strategies):
            nearest.setdefault(memory_id, cosine)
            supported[memory_id] = supported.get(memory_id, 0) + 1
    memories = store.memories.many(list(nearest))
    shown: dict[bytes, RelevantStrategy] = {}
    for memory_id, cosine in nearest.items():
        memory = memories.get(memory_id)
        if memory is None or memory.state not in {"active", "candidate"} or memory.confidence < LEAST_CONFIDENCE:
            continue
        safe = reveal(memory)
        shown.setdefault(
            memory.fingerprint,
            RelevantStrategy(
                id=memory_id,
                title=safe.title,
                description=safe.description,
                content=safe.content,
                confidence=memory.confidence,
                similarity=cosine,
                supported=supported[memory_id],
            ),
        )
    best = sorted(shown.values(), key=lambda one: -one.similarity * one.confidence)
    return tuple(islice((one for one in best if not _is_noise(store, one.id)), MOST_STRATEGIES))


def _is_noise(store: Store, memory_id: str) -> bool:
    """Return whether people and agents have found it unhelpful more often than helpful, by ``NOISE`` at least."""
    rated = store.evidence.aggregate(memory_id)
    balance = rated.count("explicit", positive=False) - rated.count("explicit", positive=True)
    for signal in store.evidence.signals(memory_id):
        if signal.type == "explicit":
            balance += -1 if signal.positive else 1
    return balance >= NOISE
