"""Distil lessons from a session with a language model, and store all of them or none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from reasoningbank.errors import InvalidInput
from reasoningbank.llm.exchange import exchange_within
from reasoningbank.llm.token_count import count_tokens
from reasoningbank.memories.admission import Ready, admit, prepare
from reasoningbank.memories.similarity import NEIGHBOURS, cosine_similarity, is_near
from reasoningbank.memories.standing import PRINCIPAL, speaker
from reasoningbank.safety.quotation import clip
from reasoningbank.safety.stored_text import safe_line
from reasoningbank.sessions.corroboration import corroborate
from reasoningbank.sessions.digest import DIGEST_TOKENS, MIN_TOKENS, digest
from reasoningbank.sessions.validation import examine, is_hearsay
from reasoningbank.storage.store import Store, Transaction
from reasoningbank.types.belief import DISTILLED_CONFIDENCE, Belief
from reasoningbank.types.blank import is_blank
from reasoningbank.types.consolidation import is_consolidated
from reasoningbank.types.memory import SUPERSEDED, Cause, Memory
from reasoningbank.types.ports import Embedder, LanguageModel
from reasoningbank.types.recall import CONTENT_LEG, Filter
from reasoningbank.types.records import Indexed, TrajectoryEntry
from reasoningbank.types.session import (
    DO_INSTEAD,
    MAX_CONTRAST_ITEMS,
    MAX_ITEMS,
    RECIPE,
    SUPERSEDED_AT,
    Item,
    Judgement,
    Origin,
    Refusal,
    Trajectory,
    Verdict,
)

TEMPERATURE = 1.0
"""What the paper extracts at (appendix A)."""
CONTRAST_TOKENS = 24_000
"""Most tokens of all records together that are contrasted."""
WENT_WRONG = "What went wrong: "

_PROMPTS: dict[Verdict, str] = {"success": "distil_success", "failure": "distil_failure", "partial": "distil_partial"}


_STEPS: dict[str, JsonValue] = {"maxItems": 10}
_TAGS: dict[str, JsonValue] = {"maxItems": 5}
"""So that a small model that a grammar leads does not fill a list for ever; longer ones are read all the same."""


class _Answer(BaseModel):
    """In the schema every field is required, even where the reader forgives that one is missing."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)
    items_of_answer: ClassVar[frozenset[str]] = frozenset()


class FoundStrategy(_Answer):
    """A way that worked. Texts that are missing are empty here and refused by the validator, one item at a time."""

    title: str = Field(default="", description="A short name.")
    description: str = Field(default="", description="When to use it, and when not to; one sentence.")
    content: str = Field(default="", description="What to do and why it works; one to three sentences.")
    steps: list[int] = Field(default=[], description="Numbers of the steps that show it.", json_schema_extra=_STEPS)
    tags: list[str] = Field(default=[], description="Up to five lower-case words.", json_schema_extra=_TAGS)


class FoundLesson(_Answer):
    """A mistake and what prevents it."""

    title: str = Field(default="", description="A short name of the mistake.")
    description: str = Field(default="", description="In which situation it threatens, and in which not; one sentence.")
    what_went_wrong: str = Field(default="", description="What was done or overlooked, and what came of it.")
    do_instead: str = Field(default="", description="What prevents it; empty when the session does not show it.")
    steps: list[int] = Field(default=[], description="Numbers of the steps that show it.", json_schema_extra=_STEPS)
    tags: list[str] = Field(default=[], description="Up to five lower-case words.", json_schema_extra=_TAGS)


class Lessons(_Answer):
    """The answer about a session; about one of two parts both lists must be there, even when they are empty."""

    items_of_answer: ClassVar[frozenset[str]] = frozenset({"strategies", "lessons"})
    strategies: list[FoundStrategy] = Field(json_schema_extra={"maxItems": MAX_ITEMS})
    lessons: list[FoundLesson] = Field(json_schema_extra={"maxItems": MAX_ITEMS})


class SuccessLessons(_Answer):
    """The answer about a session that succeeded; a grammar of it cannot name a mistake."""

    items_of_answer: ClassVar[frozenset[str]] = frozenset({"strategies"})
    strategies: list[FoundStrategy] = Field(json_schema_extra={"maxItems": MAX_ITEMS})


class FailureLessons(_Answer):
    """The answer about a session that failed; a grammar of it cannot name a way that worked."""

    items_of_answer: ClassVar[frozenset[str]] = frozenset({"lessons"})
    lessons: list[FoundLesson] = Field(json_schema_extra={"maxItems": MAX_ITEMS})


class RunStrategy(FoundStrategy):
    """A way that worked, and the run that shows it."""

    run: int = Field(default=-1, description="Number of a run that succeeded and shows it.")


class RunLesson(FoundLesson):
    """A mistake, and the run that shows it."""

    run: int = Field(default=-1, description="Number of a run that failed and shows it.")


class ContrastLessons(_Answer):
    """The answer about several runs of one task."""

    items_of_answer: ClassVar[frozenset[str]] = frozenset({"strategies", "lessons"})
    strategies: list[RunStrategy] = Field(json_schema_extra={"maxItems": MAX_CONTRAST_ITEMS})
    lessons: list[RunLesson] = Field(json_schema_extra={"maxItems": MAX_CONTRAST_ITEMS})


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """Hold what a model found, as it was read and before it was examined.

    Attributes:
        items: Strategies and lessons, in the order of the answer; empty when there is nothing to learn.
        model: The model that answered; empty when none was asked.
        prompt: Name and version of the prompt; empty when none was sent.
        runs: For each item the index of the run it was learned from; only zeros for a single session.
    """

    items: tuple[Item, ...]
    model: str = ""
    prompt: str = ""
    runs: tuple[int, ...] = ()


def extract(
    trajectory: Trajectory, judgement: Judgement, model: LanguageModel, *, limit: int = MAX_ITEMS
) -> Extraction:
    """Ask the model what the session teaches, at temperature 1 as the paper does.

    A session without steps and without an answer teaches nothing, and no model is asked. More items than the limit are
    given back too: the validator refuses and keeps them.

    Args:
        trajectory: The session.
        judgement: How it ended; its rationale is part of what the model reads.
        model: The language model.
        limit: Most items that are wanted.

    Raises:
        InvalidInput: When it is unknown how the session ended.
        ModelUnavailable, MalformedAnswer, BudgetExhausted: When there is no usable answer; nothing was learned.
    """
    name = prompt_name(judgement.verdict)
    if not trajectory.steps and not trajectory.final_answer.strip():
        return Extraction(items=())

    def material(tokens: int) -> str:
        return digest(trajectory, judgement, tokens=tokens)

    found = exchange_within(
        model,
        name,
        material,
        answer_shape(judgement.verdict),
        most=DIGEST_TOKENS,
        least=MIN_TOKENS,
        addition=_limited(limit, MAX_ITEMS),
        temperature=TEMPERATURE,
    )
    items = items_in(found.answer)
    return Extraction(items=items, model=found.model, prompt=found.asked.label, runs=(0,) * len(items))


def contrast(
    runs: Sequence[tuple[Trajectory, Judgement]], model: LanguageModel, *, limit: int = MAX_CONTRAST_ITEMS
) -> Extraction:
    """Ask the model what several runs of one task teach when they are compared, each shown with its judgement.

    Each item is attributed to one run, so that it is examined against that run's verdict and its steps: the run that
    the model names, or when it names none that exists, the first whose verdict can have taught it.

    Raises:
        InvalidInput: When there is no run.
        ModelUnavailable, MalformedAnswer, BudgetExhausted: When there is no usable answer; nothing was learned.
    """
    if not runs:
        raise InvalidInput("there is no run to compare")

    def material(tokens: int) -> str:
        share = max(MIN_TOKENS, min(DIGEST_TOKENS, tokens // len(runs)))
        return "\n".join(
            f"RUN {number}, judged {judgement.verdict}\n{digest(trajectory, judgement, tokens=share)}"
            for number, (trajectory, judgement) in enumerate(runs)
        )

    answer = exchange_within(
        model,
        "contrast",
        material,
        ContrastLessons,
        most=CONTRAST_TOKENS,
        least=MIN_TOKENS * len(runs),
        addition=_limited(limit, MAX_CONTRAST_ITEMS),
        temperature=TEMPERATURE,
    )
    answered = answer.answer
    found = [(_strategy(each), _source(each.run, runs, {"success", "partial"})) for each in answered.strategies]
    found += [(_lesson(each), _source(each.run, runs, {"failure", "partial"})) for each in answered.lessons]
    return Extraction(
        items=tuple(item for item, _ in found),
        model=answer.model,
        prompt=answer.asked.label,
        runs=tuple(run for _, run in found),
    )


def items_in(answer: Lessons | SuccessLessons | FailureLessons) -> tuple[Item, ...]:
    """Return the items of an answer: strategies, then lessons."""
    if isinstance(answer, SuccessLessons):
        return (*map(_strategy, answer.strategies),)
    if isinstance(answer, FailureLessons):
        return (*map(_lesson, answer.lessons),)
    return (*map(_strategy, answer.strategies), *map(_lesson, answer.lessons))


def answer_shape(verdict: Verdict) -> type[Lessons] | type[SuccessLessons] | type[FailureLessons]:
    """Return what a model or an agent is to answer about a session that ended so."""
    if verdict == "success":
        return SuccessLessons
    return FailureLessons if verdict == "failure" else Lessons


def prompt_name(verdict: Verdict) -> str:
    """Return the prompt for sessions that ended so.

    Raises:
        InvalidInput: When it is unknown how the session ended: then there is nothing to learn from it yet.
    """
    name = _PROMPTS.get(verdict)
    if name is None:
        raise InvalidInput(
            "a session that ended unknown teaches nothing yet", hint="Judge it first, or say how it ended."
        )
    return name


def _limited(limit: int, usual: int) -> str:
    return "" if limit == usual else f"Only the first {limit} items in all are kept."


def _source(named: int, runs: Sequence[tuple[Trajectory, Judgement]], verdicts: set[Verdict]) -> int:
    if 0 <= named < len(runs):
        return named
    fitting = (number for number, (_, judgement) in enumerate(runs) if judgement.verdict in verdicts)
    return next(fitting, 0)


def _strategy(found: FoundStrategy) -> Item:
    return Item(
        title=found.title,
        description=found.description,
        content=found.content,
        outcome="success",
        tags=tuple(found.tags),
        steps=tuple(found.steps),
    )


def _lesson(found: FoundLesson) -> Item:
    return Item(
        title=found.title,
        description=found.description,
        content=lesson_content(found.what_went_wrong, found.do_instead),
        outcome="failure",
        tags=tuple(found.tags),
        steps=tuple(found.steps),
    )


def lesson_content(what_went_wrong: str, do_instead: str) -> str:
    """Return the content of a preventive lesson: what went wrong and, when that is known, what to do instead."""
    said = ((WENT_WRONG, what_went_wrong), (DO_INSTEAD, do_instead))
    return "\n".join(f"{label}{text.strip()}" for label, text in said if not is_blank(text))


MAX_TASK = 2_000
"""Most characters of the source task that a memory keeps; the search by experience compares with them."""
Examination = Callable[..., tuple[tuple[Item, ...], tuple[Refusal, ...]]]
"""What divides items into those that may be stored and those that may not, called as ``examine`` is."""
EVIDENT_JUDGES = frozenset({"evidence", "user"})
"""Judges whose word counts as evidence; a language model's or the agent's own never promotes a memory alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """Hold what became of one trajectory's items.

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
    check: Examination = examine,
) -> Learned:
    """Examine what a trajectory taught, store what is new, corroborates what is known, keep what is refused.

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
        again: Add to what was learned of this trajectory before, as when an agent answers item by item; a
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
        entry = transaction.sessions.entry(trajectory.id)
        if not again and _is_over(entry, judgement):
            return _learned_before(transaction, store, trajectory.id)
        earlier = transaction.sessions.origins(trajectory=trajectory.id)
        taught = sum(
            origin.kind == "distilled"
            and origin.model != RECIPE
            and origin.at >= judgement.at
            and not is_consolidated(transaction.memories.get(origin.memory_id))
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
                counts = judgement.judge in EVIDENT_JUDGES and not is_hearsay(twin, trajectory)
                corroborate(transaction, twin, origin, trajectory, counts=counts, at=at)
            elif len(new) + taught >= limit:
                unkept.append(
                    _refusal(candidate, origin, f"at most {limit} items are kept of one trajectory", many=True)
                )
            else:
                admit(transaction, candidate.ready, at=at)
                transaction.sessions.add_origin(origin)
                new.append(candidate)
        retire(transaction, trajectory, earlier, [*known, *(each.ready.memory.id for each in new)], model=model, at=at)
        kept = {_words_of(refusal) for refusal in transaction.sessions.refusals(trajectory=trajectory.id)}
        for refusal in unkept:
            if _words_of(refusal) not in kept:
                transaction.sessions.refuse(refusal)
        transaction.sessions.mark_distilled(trajectory.id, at)
    return Learned(
        memories=tuple(candidate.ready.memory for candidate in new),
        corroborated=tuple(dict.fromkeys(known)),
        refused=tuple(unkept),
    )


def retire(
    transaction: Transaction,
    trajectory: Trajectory,
    earlier: Sequence[Origin],
    learned: Sequence[str],
    *,
    model: str,
    at: datetime,
) -> None:
    """Archive what the same model had learned of a shorter state of the session, when it was not learned again.

    What anybody has said something about, or another session has taught too, stays.
    """
    superseded = trajectory.metadata.get(SUPERSEDED_AT)
    if superseded is None:
        return
    moment = datetime.fromisoformat(superseded)
    for origin in earlier:
        if origin.kind != "distilled" or origin.at > moment or origin.model != safe_line(model):
            continue
        memory = transaction.memories.get(origin.memory_id)
        untouched = not memory.belief.positive and not memory.belief.negative and memory.state == "candidate"
        if untouched and memory.id not in learned and len(transaction.sessions.origins(memory_id=memory.id)) == 1:
            cause = Cause(at=at, kind=SUPERSEDED, reason="A longer capture of its session did not teach it again.")
            transaction.memories.update_state(replace(memory, state="archived"), cause=cause)


def _is_over(entry: TrajectoryEntry, judgement: Judgement) -> bool:
    """Return whether others have distilled the trajectory since it was judged so, or know better how it ended."""
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
        # Who distils may be handed another client's session: what it makes of that is in its own words.
        PRINCIPAL: speaker(),
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
    """Return an examined item as a memory that still has to prove itself."""
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
    """Return the memory that says already what a new one says: the same text, else the closest near-duplicate.

    Args:
        store: Where to look.
        transaction: The transaction in which the new one would be stored.
        memory: The new one.
        indexed: What is derived from it.
    """
    condition = Filter(outcome=memory.outcome)
    for memory_id in transaction.memories.same_text(memory.fingerprint):
        twin = transaction.memories.get(memory_id)
        if twin.outcome == memory.outcome and twin.state in condition.states:
            return twin
    if store.model_id != indexed.model_id:
        return None
    for scored in store.search.nearest(CONTENT_LEG, indexed.vectors[CONTENT_LEG], condition, NEIGHBOURS):
        known = transaction.memories.get(scored.id)
        if is_near(memory, known, scored.score, indexed.model_id):
            return known
    return None


def _held(transaction: Transaction, memory: Memory) -> str | None:
    """Return the memory in quarantine that has this very text: it does not come back by being learned again."""
    for memory_id in transaction.memories.same_text(memory.fingerprint):
        known = transaction.memories.get(memory_id)
        if known.state == "quarantined" and known.outcome == memory.outcome:
            return memory_id
    return None


def _near(candidate: _Candidate, other: _Candidate) -> bool:
    cosine = cosine_similarity(candidate.ready.indexed.vectors[CONTENT_LEG], other.ready.indexed.vectors[CONTENT_LEG])
    return is_near(candidate.ready.memory, other.ready.memory, cosine, candidate.ready.indexed.model_id)


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
    origins = transaction.sessions.origins(trajectory=trajectory_id)
    origins = [origin for origin in origins if origin.model != RECIPE]
    taught = store.memories.many([origin.memory_id for origin in origins if origin.kind == "distilled"])
    return Learned(
        memories=tuple(taught.values()),
        corroborated=tuple(origin.memory_id for origin in origins if origin.kind == "corroborated"),
        refused=tuple(reversed(transaction.sessions.refusals(trajectory=trajectory_id))),
    )
