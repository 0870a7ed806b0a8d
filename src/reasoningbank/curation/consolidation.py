"""Put one memory in the place of several that say nearly the same, and take it apart again.

Undoing erases the consolidated memory with its links and the copies of its sources' evidence, and gives each source its
state back. Nothing else of a source was ever changed, so when nothing happened since, the bank's export is what it was,
byte for byte.

Evidence that came since speaks of the text that was shown. It goes whole to the source whose text that was, when the
memory held it word for word; a model's text stands for all its sources alike, so every signal is divided equally among
them, the first ones taking the billionths that are left over. Either way the weights that move add up to exactly those
that came. So do rolled-up counts, whose numbers go to the first source. What was reported about an archived source
itself has stayed with it all along. Deliveries that came since are added to the usage count of the kept source, or of
the first one; sessions that corroborated the memory become origins of those that inherit.

A consolidated memory that was edited since is a memory of its own: it is archived with all its evidence, and nothing
moves. One that went into a further consolidation can only be undone after that one, one in quarantine after its
release.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from pydantic import BaseModel, Field

from reasoningbank.curation.clusters import sources_below
from reasoningbank.errors import ContextExceeded, InvalidInput, MalformedAnswer, MemoryNotFound, StoreBusy
from reasoningbank.llm.exchange import exchange
from reasoningbank.llm.prompts import prompt
from reasoningbank.llm.token_count import count_tokens
from reasoningbank.llm.window import is_small
from reasoningbank.memories.admission import TASK, admit, prepare
from reasoningbank.memories.claims import check_claim
from reasoningbank.memories.evidence import (
    added,
    believed,
    counts_once,
    from_text,
    is_copy,
    is_nothing,
    less,
    to_text,
    unite,
)
from reasoningbank.memories.standing import PRINCIPAL
from reasoningbank.memories.states import sources_of
from reasoningbank.safety.injection import find_markup, is_about_memory, verdict
from reasoningbank.safety.quotation import fence, quote
from reasoningbank.safety.stored_text import clean_line, reveal, safe_texts
from reasoningbank.storage.store import Store, Transaction
from reasoningbank.types.belief import Belief
from reasoningbank.types.consolidation import (
    CONSOLIDATED_FROM,
    CONSOLIDATED_INTO,
    CONSOLIDATION,
    ConsolidatedMemory,
    Merge,
    SimilarityCluster,
    UndoReport,
    is_consolidated,
)
from reasoningbank.types.memory import CONSOLIDATED, MAX_TAGS, UNDONE, Cause, Memory, State, new_id
from reasoningbank.types.ports import Embedder, LanguageModel
from reasoningbank.types.recall import Filter
from reasoningbank.types.records import Link
from reasoningbank.types.session import Origin
from reasoningbank.types.signal import COUNTERS, Signal, SignalAggregate
from reasoningbank.types.standing import INHERITED, Standing, least_of

MOST_MATERIAL = 60_000
"""Characters of sources that a model is shown; longer ones are not cut, but the best source is kept word for word."""
_TEMPERATURE = 0.0
_MOST_CLAIMS = 40
_MOST_TAGS = 8
_REFUSED = "Nothing was changed; the next run asks again."


class Claim(BaseModel):
    """One statement of the merged memory and the numbers of the sources that make it."""

    text: str
    sources: list[int]


class MergedAnswer(BaseModel):
    """Give the merged memory, claim by claim."""

    title: str
    description: str
    claims: list[Claim] = Field(max_length=_MOST_CLAIMS)
    outcome: str
    tags: list[str] = []
    attribution: str = ""


def merge(cluster: SimilarityCluster, model: LanguageModel | None) -> Merge:
    """Return the text that stands for a cluster.

    Without a model, for sources of the same text, and for sources too long to be shown whole, also to this model, it is
    the best source's.

    Raises:
        ModelUnavailable, BudgetExhausted: When there was no answer.
        MalformedAnswer: When the answer is none, or says what the sources do not; nothing is repaired.
    """
    sources = [reveal(memory) for memory in cluster.members]
    shown = material(sources)
    same = len({memory.fingerprint for memory in sources}) == 1
    if model is None or same or len(shown) > MOST_MATERIAL:
        return verbatim(sources)
    asked = prompt("merge", shown, short=is_small(model))
    try:
        found = exchange(model, asked, MergedAnswer, temperature=_TEMPERATURE)
    except ContextExceeded:
        return verbatim(sources)
    return checked(found.answer, sources, model=found.model, label=asked.label)


def best(sources: Sequence[Memory]) -> Memory:
    """Return the source that is believed most surely, then the one used most, then the oldest."""
    return min(sources, key=lambda each: (-each.belief.lower_bound, -each.usage_count, each.created_at, each.id))


def verbatim(sources: Sequence[Memory]) -> Merge:
    """Return the best source's text, word for word."""
    kept = best(sources)
    number = [memory.id for memory in sources].index(kept.id) + 1
    return Merge(
        title=kept.title,
        description=kept.description,
        content=kept.content,
        type="deduplicated",
        tags=kept.tags,
        category=kept.category,
        verbatim=kept.id,
        attribution=f"The text of source {number} of {len(sources)}; the others are its evidence.",
    )


def material(sources: Sequence[Memory]) -> str:
    """Return the sources as quoted data (DESIGN D10)."""
    records = [
        f"SOURCE {number}, outcome {memory.outcome}, confidence {memory.confidence:.2f}, used {memory.usage_count}x\n"
        f"title\n{quote(memory.title)}applies\n{quote(memory.description)}content\n{quote(memory.content)}"
        f"tags\n{quote(', '.join(memory.tags))}"
        for number, memory in enumerate(sources, start=1)
    ]
    return fence(f"{len(sources)} memories", "\n".join(records))


def checked(answer: MergedAnswer, sources: Sequence[Memory], *, model: str, label: str) -> Merge:
    """Return the merged text, once every claim of it stands in the sources that it names.

    Raises:
        MalformedAnswer: When one does not, a source is behind no claim, the outcome is another one, or the texts may
            not be stored.
    """
    if answer.outcome != sources[0].outcome:
        raise _refusal(f"its outcome is not that of its sources, {sources[0].outcome}")
    claims = [Claim(text=claim.text.strip(), sources=sorted(set(claim.sources))) for claim in answer.claims]
    if not claims:
        raise _refusal("it claims nothing")
    known = range(1, len(sources) + 1)
    for number, claim in enumerate(claims, start=1):
        if not claim.text or not claim.sources:
            raise _refusal(f"claim {number} is empty or names no source")
        if any(source not in known for source in claim.sources):
            raise _refusal(f"claim {number} names a source that does not exist")
        problem = check_claim(claim.text, [_whole(sources[source - 1]) for source in claim.sources])
        if problem:
            raise _refusal(f"claim {number} {problem}")
    unused = set(known) - {source for claim in claims for source in claim.sources}
    if unused:
        raise _refusal(f"source {min(unused)} is behind no claim")
    everything = [_whole(memory) for memory in sources]
    for name, text in (("title", answer.title), ("description", answer.description)):
        problem = check_claim(text, everything) if text.strip() else ""
        if problem:
            raise _refusal(f"the {name} {problem}")
    own_tags = {tag.casefold(): tag for memory in sources for tag in memory.tags}
    named = [own_tags[tag.strip().casefold()] for tag in answer.tags if tag.strip().casefold() in own_tags]
    categories = {memory.category for memory in sources}
    admitted = safe_texts(
        answer.title,
        answer.description,
        "\n".join(claim.text for claim in claims),
        tuple(dict.fromkeys(named or list(own_tags.values())))[: min(_MOST_TAGS, MAX_TAGS)],
        categories.pop() if len(categories) == 1 else "",
    )
    _check_form(admitted.title, admitted.description, admitted.content)
    if danger := verdict(admitted.title, admitted.description, admitted.content, *admitted.tags, admitted.category):
        raise _refusal(f"it {danger}")
    shared = all(len(claim.sources) > 1 for claim in claims)
    return Merge(
        title=admitted.title,
        description=admitted.description,
        content=admitted.content,
        type="synthesized" if shared else "merged",
        tags=admitted.tags,
        category=admitted.category,
        attribution=clean_line(answer.attribution)[:500] or _attribution(claims),
        model=clean_line(model),
        prompt=label,
        extra={"claims": ";".join(",".join(map(str, claim.sources)) for claim in claims)},
    )


def _check_form(title: str, description: str, content: str) -> None:
    """Refuse what no distilled lesson may hold either."""
    if not title or not content:
        raise _refusal("its title or content says nothing")
    if markup := find_markup(title, description, content):
        raise _refusal(markup)
    if is_about_memory(title, content):
        raise _refusal("it is about the memory that lessons are kept in")


def _attribution(claims: Sequence[Claim]) -> str:
    parts = [f"claim {number} from {_listed(claim.sources)}" for number, claim in enumerate(claims, start=1)]
    return ", ".join(parts)[:500]


def _listed(numbers: Sequence[int]) -> str:
    return f"{'source' if len(numbers) == 1 else 'sources'} {' and '.join(map(str, numbers))}"


def _whole(memory: Memory) -> str:
    return "\n".join((memory.title, memory.description, memory.content, " ".join(memory.tags)))


def _refusal(reason: str) -> MalformedAnswer:
    return MalformedAnswer(f"the merged memory was refused: {reason}", hint=_REFUSED)


RECALLABLE: tuple[State, ...] = Filter().states


def put_together(
    store: Store, embedder: Embedder, cluster: SimilarityCluster, text: Merge, *, at: datetime
) -> ConsolidatedMemory:
    """Store the consolidated memory with the union of the evidence and archive its sources, linked both ways.

    The sources keep their texts, times, versions and evidence; only their state and ``consolidation_id`` change.

    Raises:
        InvalidMemory: When the text looks like a prompt injection and is not a source's; nothing was stored.
        StoreBusy: When a source was changed or set aside since the cluster was found; nothing was stored.
        ModelMismatch: When the bank was built with another embedder; nothing was stored.
    """
    memory = _unbelieved(cluster.members, text, at)
    if len({member.standing == "claim" for member in cluster.members}) > 1:
        raise InvalidInput(
            "claims are not merged with what a person vouches for or evidence has confirmed",
            hint="They are shown beside it; a person approves a claim with `rbank review`.",
        )
    (ready,) = prepare([memory], embedder, origin="consolidation", known=cluster.members)
    with store.transaction() as transaction:
        sources = [_unchanged(transaction, member) for member in cluster.members]
        united = unite(transaction, sources, memory.id)
        memory = replace(
            memory,
            belief=believed(sources, united.total),
            usage_count=sum(source.usage_count for source in sources),
            last_used=max((source.last_used for source in sources if source.last_used is not None), default=None),
            provenance={**ready.memory.provenance, **_record(sources), "evidence": to_text(united.total)},
        )
        memory = admit(transaction, replace(ready, memory=memory), at=at)
        if united.aggregate is not None:
            transaction.evidence.set_aggregate(united.aggregate)
        for signal in united.signals:
            if not transaction.evidence.add_signal(signal, once=counts_once(signal)):
                transaction.evidence.add_signal(signal)
        for source in sources:
            transaction.memories.link(Link(source=memory.id, target=source.id, kind=CONSOLIDATED_FROM))
            transaction.memories.link(Link(source=source.id, target=memory.id, kind=CONSOLIDATED_INTO))
            for origin in _origins(transaction, source, at):
                transaction.sessions.add_origin(replace(origin, memory_id=memory.id))
            transaction.memories.update_state(
                replace(source, state="archived", consolidation_id=memory.id),
                cause=Cause(at=at, kind=CONSOLIDATED, reference=memory.id),
            )
    return ConsolidatedMemory(
        memory=memory,
        source_ids=tuple(source.id for source in sources),
        consolidation_type=text.type,
        source_attribution=text.attribution,
    )


def _origins(transaction: Transaction, source: Memory, at: datetime) -> Sequence[Origin]:
    """Return what taught a source, so that the same session cannot count as a further, independent one.

    A source that was recorded has no trajectory; its own id stands for one.
    """
    origins = transaction.sessions.origins(memory_id=source.id)
    session = source.provenance.get("session", "")
    if origins or not session:
        return origins
    return (Origin(memory_id=source.id, trajectory=source.id, kind="corroborated", session=session, at=at),)


def _inherited(members: Sequence[Memory], *, verbatim: bool) -> Standing:
    """Return the least standing of the sources; in other words than a source's nobody has vouched for it."""
    least = least_of(member.standing for member in members)
    return least if verbatim or least != "vouched" else "confirmed"


def _unbelieved(members: Sequence[Memory], text: Merge, at: datetime) -> Memory:
    """Return the memory as it will be but for its evidence."""
    provenance = {
        "source": "consolidated",
        INHERITED: _inherited(members, verbatim=bool(text.verbatim)),
        CONSOLIDATION: text.type,
        "attribution": text.attribution,
        "verbatim": text.verbatim,
        "model": text.model,
        "prompt": text.prompt,
        **text.extra,
    }
    for entry in ("session", PRINCIPAL):
        authors = {member.provenance.get(entry, "") for member in members}
        if len(authors) == 1:
            provenance[entry] = authors.pop()
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
    """Return what an undo and later clusters need to know of the sources."""
    return {
        "sources": json.dumps({source.id: source.state for source in sources}, ensure_ascii=False),
        "used": str(sum(source.usage_count for source in sources)),
        "stands_for": str(len(sources) + sum(sources_below(source) for source in sources)),
    }


def _unchanged(transaction: Transaction, member: Memory) -> Memory:
    """Return the member as it is now; its evidence may have grown, its text may not have changed."""
    current = transaction.memories.get(member.id)
    if (
        current.version != member.version
        or current.state not in RECALLABLE
        or current.fingerprint != member.fingerprint
    ):
        raise StoreBusy(f"memory {member.id} was changed while it was being consolidated", hint="Run it again.")
    return current


def take_apart(transaction: Transaction, consolidation_id: str, *, at: datetime) -> UndoReport:
    """Undo a consolidation inside a transaction, at a time that the log of states names.

    Raises:
        MemoryNotFound: When there is no such memory.
        InvalidInput: When it was not made by a consolidation, was undone before, went into a further one, or is in
            quarantine.
    """
    memory = transaction.memories.get(consolidation_id)
    states = sources_of(memory)
    if not is_consolidated(memory) or not states:
        raise InvalidInput(
            f"memory {consolidation_id[:80]!r} was not made by a consolidation",
            hint="Name a memory that `rbank consolidate` created.",
        )
    if memory.consolidation_id is not None:
        raise InvalidInput(
            f"memory {consolidation_id[:80]!r} went into {memory.consolidation_id}",
            hint=f"Undo {memory.consolidation_id} first.",
        )
    if memory.state == "quarantined":
        raise InvalidInput(
            f"memory {consolidation_id[:80]!r} is in quarantine",
            hint="Release it first; its sources that nothing is wrong with are visible meanwhile.",
        )
    cause = Cause(at=at, kind=UNDONE, reference=memory.id)
    sources = [
        source for name in states if (source := _existing(transaction, name)) and source.consolidation_id == memory.id
    ]
    if not sources:
        raise InvalidInput(
            f"no source of memory {consolidation_id[:80]!r} is left to be restored", hint="It was undone before."
        )
    restored = [
        replace(source, state=states[source.id] if source.state == "archived" else source.state, consolidation_id=None)
        for source in sources
    ]
    if memory.version > 1:
        for source in restored:
            transaction.memories.update_state(source, cause=cause)
        transaction.memories.update_state(replace(memory, state="archived"), cause=cause)
        return UndoReport(consolidation_id=memory.id, restored=tuple(each.id for each in restored), kept=True)
    moved = _moved(transaction, memory, restored)
    moved.origins = _taught_since(transaction, memory, restored)
    transaction.memories.delete(memory.id, at=at)
    for source in moved.sources:
        transaction.memories.update_state(source, cause=cause)
    for signal in moved.signals:
        if not (counts_once(signal) and transaction.evidence.add_signal(signal, once=True)):
            transaction.evidence.add_signal(signal)
    for aggregate in moved.aggregates:
        transaction.evidence.set_aggregate(aggregate)
    for origin in moved.origins:
        transaction.sessions.add_origin(origin)
    return UndoReport(
        consolidation_id=memory.id, restored=tuple(each.id for each in restored), moved_signals=moved.count
    )


class _Moved:
    """The sources with what came since, and the evidence that goes to them."""

    def __init__(self, sources: Sequence[Memory]) -> None:
        self.sources = list(sources)
        self.signals: list[Signal] = []
        self.aggregates: list[SignalAggregate] = []
        self.origins: list[Origin] = []
        self.count = 0


def _moved(transaction: Transaction, memory: Memory, sources: Sequence[Memory]) -> _Moved:
    moved = _Moved(sources)
    heirs = _heirs(memory, sources)
    signals = transaction.evidence.signals(memory.id)
    fresh = [signal for signal in signals if not is_copy(signal)]
    for signal in fresh:
        _share(moved, signal, heirs)
    rolled = less(
        transaction.evidence.aggregate(memory.id), from_text(memory.provenance["evidence"], memory.id, memory.project)
    )
    for signal in signals:
        if is_copy(signal):
            rolled = rolled.add(signal)
    moved.count = len(fresh)
    if not is_nothing(rolled):
        _give(moved, rolled, transaction.evidence.aggregate(sources[heirs[0]].id), heirs[0])
        moved.count += sum(int(getattr(rolled, name)) for name in COUNTERS)
    _count_deliveries(moved, memory, heirs[0])
    return moved


def _heirs(memory: Memory, sources: Sequence[Memory]) -> list[int]:
    """Return the source whose text the memory had word for word, else all of them."""
    kept = memory.provenance.get("verbatim", "")
    return [number for number, source in enumerate(sources) if source.id == kept] or list(range(len(sources)))


def _taught_since(transaction: Transaction, memory: Memory, sources: Sequence[Memory]) -> list[Origin]:
    """Return the sessions that said the same since, as origins of the heirs; none corroborates a second time."""
    known = set(sources_of(memory))
    known |= {origin.trajectory for name in known for origin in transaction.sessions.origins(memory_id=name)}
    fresh = [origin for origin in transaction.sessions.origins(memory_id=memory.id) if origin.trajectory not in known]
    heirs = [sources[number].id for number in _heirs(memory, sources)]
    return [replace(origin, memory_id=heir) for origin in fresh for heir in heirs]


def _share(moved: _Moved, signal: Signal, heirs: Sequence[int]) -> None:
    """Divide a signal's weight among the heirs, to the last billionth; a part of nothing is left out."""
    whole, rest = divmod(signal.weight or 0, len(heirs))
    for place, number in enumerate(heirs):
        weight = whole + (1 if place < rest else 0)
        source = moved.sources[number]
        name = signal.id if place == 0 else new_id()
        moved.signals.append(replace(signal, id=name, memory_id=source.id, weight=weight))
        belief = source.belief.with_evidence(positive=signal.positive, weight=weight)
        moved.sources[number] = replace(source, belief=belief)


def _give(moved: _Moved, rolled: SignalAggregate, own: SignalAggregate, heir: int) -> None:
    source = moved.sources[heir]
    moved.aggregates.append(added(own, rolled))
    belief = Belief(
        prior=source.belief.prior,
        positive=source.belief.positive + (rolled.positive or 0),
        negative=source.belief.negative + (rolled.negative or 0),
    )
    moved.sources[heir] = replace(source, belief=belief)


def _count_deliveries(moved: _Moved, memory: Memory, heir: int) -> None:
    since = memory.usage_count - int(memory.provenance.get("used", "0"))
    if since > 0:
        source = moved.sources[heir]
        used = max((each for each in (source.last_used, memory.last_used) if each is not None), default=None)
        moved.sources[heir] = replace(source, usage_count=source.usage_count + since, last_used=used)


def _existing(transaction: Transaction, memory_id: str) -> Memory | None:
    try:
        return transaction.memories.get(memory_id)
    except MemoryNotFound:
        return None
