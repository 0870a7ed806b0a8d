"""The memory, the rules that every stored one obeys, and what operations on memories return (seed 004)."""

from __future__ import annotations

import hashlib
import re
import secrets
import time
import unicodedata
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Literal, get_args

from reasoningbank.errors import (
    EmptyContent,
    EmptyMemoryId,
    EmptyProjectId,
    EmptyTitle,
    InvalidInput,
    InvalidMemory,
    InvalidOutcome,
    TextTooLong,
)
from reasoningbank.types.argument import check_text
from reasoningbank.types.belief import EXPLICIT_RECORD_CONFIDENCE, Belief
from reasoningbank.types.standing import Standing, standing_in


def new_id() -> str:
    """Return a new UUIDv7 as text (RFC 9562): 48 bits of milliseconds, then 74 random bits."""
    milliseconds = time.time_ns() // 1_000_000
    value = (milliseconds & (2**48 - 1)) << 80
    value |= 0x7 << 76
    value |= secrets.randbits(12) << 64
    value |= 0b10 << 62
    value |= secrets.randbits(62)
    return str(uuid.UUID(int=value))


def new_session() -> str:
    """Return a name for a session that its caller did not name."""
    return f"session-{secrets.token_hex(6)}"


Outcome = Literal["success", "failure"]
State = Literal["candidate", "active", "archived", "quarantined"]

OUTCOMES: tuple[Outcome, ...] = ("success", "failure")
STATES: tuple[State, ...] = ("candidate", "active", "archived", "quarantined")
Order = Literal["recorded", "newest", "confidence", "shown", "changed"]
ORDERS: tuple[Order, ...] = get_args(Order)
"""How a list goes: as recorded, the newest, surest, most shown or last changed first."""

_ASCII_PUNCTUATION = bytes(code for code in range(128) if not chr(code).isalnum())

MAX_TITLE = 200
MAX_DESCRIPTION = 2_000
MAX_CONTENT = 20_000
MAX_TAG = 64
MAX_TAGS = 32
MAX_ID = 200
MAX_CATEGORY = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One strategy or anti-pattern.

    Attributes:
        id: A UUIDv7, or the caller's own identifier.
        project: The project it belongs to.
        title: What it is about, one line.
        description: When it applies; may be empty.
        content: What to do, or what to avoid.
        outcome: success (a strategy) or failure (an anti-pattern).
        tags: Labels, without repetition.
        category: One word for the kind of knowledge; may be empty.
        state: Only candidate and active memories are ever recalled.
        belief: The evidence for it.
        usage_count: How many times it was delivered by a search.
        tokens: Tokens of title, description and content as shown to an agent.
        provenance: Where it came from: surface, session, source.
        consolidation_id: The memory it was merged into.
        created_at, updated_at, last_used: Timezone-aware times; last_used is None until the first delivery.
        version: 1 for a new memory, one more for every edit.
    """

    project: str
    title: str
    content: str
    outcome: Outcome
    description: str = ""
    tags: tuple[str, ...] = ()
    category: str = ""
    state: State = "active"
    belief: Belief = field(default_factory=lambda: Belief.starting_at(EXPLICIT_RECORD_CONFIDENCE))
    usage_count: int = 0
    tokens: int = 0
    provenance: Mapping[str, str] = field(default_factory=dict)
    consolidation_id: str | None = None
    created_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    updated_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    last_used: datetime | None = None
    version: int = 1
    id: str = field(default_factory=new_id)

    def __post_init__(self) -> None:
        validate(self)

    @property
    def confidence(self) -> float:
        """The mean of the belief, from 0 to 1."""
        return self.belief.score

    @property
    def standing(self) -> Standing:
        """Return where the text comes from and what became of it."""
        return standing_in(self.provenance)

    @property
    def fingerprint(self) -> bytes:
        """Equal for memories whose text is the same up to case, space and punctuation."""
        return fingerprint(self.title, self.description, self.content)


def validate(memory: Memory) -> None:
    """Check every rule of seed 004 ``Validate`` and our bounds.

    Raises:
        InvalidInput: The subclass names the rule that is broken.
    """
    check_memory_id(memory.id)
    if not memory.project.strip():
        raise EmptyProjectId("project ID cannot be empty")
    if not memory.title.strip():
        raise EmptyTitle("memory title cannot be empty")
    if not memory.content.strip():
        raise EmptyContent("memory content cannot be empty")
    check_outcome(memory.outcome)
    if memory.state not in STATES:
        raise InvalidMemory(f"state must be one of {', '.join(STATES)}, not {memory.state!r}")
    if memory.usage_count < 0 or memory.version < 1:
        raise InvalidMemory("usage count cannot be negative and versions start at 1")
    _check_length("title", memory.title, MAX_TITLE)
    _check_length("description", memory.description, MAX_DESCRIPTION)
    _check_length("content", memory.content, MAX_CONTENT)
    _check_length("category", memory.category, MAX_CATEGORY)
    if len(memory.tags) > MAX_TAGS:
        raise InvalidMemory(f"a memory has at most {MAX_TAGS} tags, not {len(memory.tags)}")
    for tag in memory.tags:
        if not tag.strip():
            raise InvalidMemory("a tag cannot be empty")
        _check_length("tag", tag, MAX_TAG)
    for moment in (memory.created_at, memory.updated_at, memory.last_used):
        if moment is not None and moment.tzinfo is None:
            raise InvalidMemory("times must carry a time zone")


def check_outcome(outcome: str) -> Outcome:
    """Return the outcome when it is one of the two that exist.

    Raises:
        InvalidOutcome: For any other value; it is never taken for a success.
    """
    for known in OUTCOMES:
        if outcome == known:
            return known
    raise InvalidOutcome(f"outcome must be 'success' or 'failure', not {str(outcome)[:80]!r}")


def check_memory_id(memory_id: str, kind: str = "memory") -> str:
    """Return the id when it can name a memory, or what else has ids of this kind.

    Args:
        memory_id: The id.
        kind: What it names, for messages.

    Raises:
        EmptyMemoryId: When it is empty or blank.
        InvalidInput: When it is too long or has characters that are not printable.
    """
    if not check_text(memory_id, f"a {kind} ID").strip():
        hint = None if kind == "memory" else f"Pass the id of a {kind}, as the answers and lists have it."
        raise EmptyMemoryId(f"{kind} ID cannot be empty", hint=hint)
    if len(memory_id) > MAX_ID or not memory_id.isprintable():
        raise InvalidInput(f"a {kind} ID has at most {MAX_ID} printable characters")
    return memory_id


def _check_length(name: str, text: str, limit: int) -> None:
    if len(text) > limit:
        hint = "Shorten the tag: it is a word or two." if name == "tag" else None
        raise TextTooLong(f"the {name} has {len(text)} characters; the limit is {limit}", hint=hint)


@lru_cache(maxsize=16)
def fingerprint(*texts: str) -> bytes:
    """Return a 16-byte hash of the case-folded letters and digits: equal for texts that read the same.

    The last few are remembered: a memory that is stored is asked for its own several times.
    """
    letters = b"".join([_letters(text) + b"\x00" for text in texts])
    return hashlib.blake2b(letters, digest_size=16).digest()


def _letters(text: str) -> bytes:
    if text.isascii():
        return text.encode("ascii").lower().translate(None, _ASCII_PUNCTUATION)
    folded = unicodedata.normalize("NFKC", text).casefold()
    return re.sub(r"[\W_]+", "", folded).encode("utf-8", "surrogatepass")


EDITED, IMPORTED, CONSOLIDATED, UNDONE = "edited", "imported", "consolidated", "undone"
QUARANTINED, RELEASED, SURFACED, PARTED = "quarantined", "released", "surfaced", "parted"
PRUNED, PROVEN, SUPERSEDED = "pruned", "proven", "superseded"
TAKEN_BACK, WITHDRAWN = "taken-back", "withdrawn"
SILENCED, HEARD, APPROVED = "silenced", "heard", "approved"
KEPT_FOR = timedelta(days=30)
"""How long what an agent has deleted can be brought back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SilencedVote:
    """A piece of evidence that a quarantine of its session takes out of what counts.

    Attributes:
        id: Of the signal; empty when it was rolled up.
        type, positive, session, rater, at, weight: Of the signal; without ``at`` it was rolled up.
        once: It counts once for its memory and session.
        copied: A consolidated memory has it from a source.
    """

    id: str
    type: str
    positive: bool
    session: str
    rater: str
    at: str
    weight: int
    once: bool
    copied: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Why and when a memory's state is changed, as the one who changes it says it.

    Attributes:
        at: When, timezone-aware.
        kind: One word. edited, imported, consolidated and undone say what they say; quarantined and released begin and
            end a quarantine; surfaced: a source that is visible again because what it went into is in quarantine;
            parted: what it went into will not come back;
            withdrawn: an agent deleted it; silenced and heard: votes of a session in quarantine stop and begin to
            count again; any other word is another reason, such as pruned.
        reference: What the change belongs to: the id of a consolidation or of a quarantine.
        reason: The same for a person.
        by: Who did it; empty when the bank did it by itself.
        because: The ids of the memories that it was changed for; empty when it was chosen itself.
        votes: What stops to count.
    """

    at: datetime
    kind: str
    reference: str = ""
    reason: str = ""
    by: str = ""
    because: tuple[str, ...] = ()
    votes: tuple[SilencedVote, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StateChange:
    """One change of a memory's state, or a reason to keep it as it is.

    Attributes:
        memory_id: Whose.
        before: The state until then; None when it was not in the bank.
        after: The state since then.
        merged_before, merged_after: The memory it was consolidated into, until then and since then.
        at, kind, reference, reason, by, because, votes: As in ``Cause``.
    """

    memory_id: str
    at: datetime
    before: State | None
    after: State
    kind: str
    reference: str = ""
    reason: str = ""
    by: str = ""
    because: tuple[str, ...] = ()
    merged_before: str | None = None
    merged_after: str | None = None
    votes: tuple[SilencedVote, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """That a memory was erased: when it was made and when it went, and nothing else of it."""

    created_at: datetime
    at: datetime


def check_same_texts(before: Memory, after: Memory) -> None:
    """Refuse a change of state that would change a text as well.

    Raises:
        InvalidInput: When a text differs.
    """
    for name in ("title", "description", "content", "tags", "category"):
        if getattr(before, name) != getattr(after, name):
            raise InvalidInput(f"a change of state cannot change the {name} of memory {after.id[:80]!r}")


def changed_state(old: Memory, new: Memory, cause: Cause | None) -> StateChange | None:
    """Return what the log says of an update; None when neither the state nor what a memory went into has changed.

    Without a cause it is a change that happens now.
    """
    if (old.state, old.consolidation_id) == (new.state, new.consolidation_id):
        return None
    cause = cause or Cause(at=datetime.now(UTC), kind="changed")
    return change_of(old, new, cause)


def change_of(old: Memory, new: Memory, cause: Cause) -> StateChange:
    """Return the entry of the log for a memory that was so and is now so."""
    return StateChange(
        memory_id=new.id,
        at=cause.at,
        before=old.state,
        after=new.state,
        kind=cause.kind,
        reference=cause.reference,
        reason=cause.reason,
        by=cause.by,
        because=cause.because,
        votes=cause.votes,
        merged_before=old.consolidation_id,
        merged_after=new.consolidation_id,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Rating:
    """Hold what a rating did.

    Attributes:
        counted: False when this session had rated this memory before: evidence is counted once.
        message: One sentence that says how the confidence moved and why.
    """

    memory_id: str
    helpful: bool
    previous_confidence: float
    new_confidence: float
    counted: bool
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeReport:
    """Hold what a reported task outcome did.

    Attributes:
        recorded: False when this session had reported on this memory before.
        message: One sentence that says how the confidence moved and why.
    """

    memory_id: str
    succeeded: bool
    recorded: bool
    previous_confidence: float
    new_confidence: float
    message: str


EventKind = Literal["recorded", "edited", "state", "rolled_up", "explicit", "usage", "outcome", "stability", "disuse"]
"""state: what the bank does with it changed, such as its consolidation or quarantine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One thing that happened to a memory.

    Attributes:
        confidence: The confidence after it.
        detail: What happened, as a sentence.
        session: The session it came from, empty when none.
    """

    at: datetime
    kind: EventKind
    detail: str
    confidence: float
    session: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """How far evidence has moved one memory's confidence since a time.

    Attributes:
        id, title: Of the memory.
        before: The confidence that it would have without that evidence.
        after: The confidence that it has.
    """

    id: str
    title: str
    before: float
    after: float


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """Hold what has happened to the memories of a bank since a time.

    Attributes:
        since: The time.
        recorded: How many memories were recorded since then.
        newest: Those of them that were recorded last, the newest first.
        helped: How many memories evidence has raised since then.
        harmed: How many it has lowered.
        moves: The furthest that rose, then the furthest that fell.
    """

    since: datetime
    recorded: int = 0
    newest: tuple[Memory, ...] = ()
    helped: int = 0
    harmed: int = 0
    moves: tuple[Move, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """Facts about one bank.

    Attributes:
        memories: All memories, whatever their state.
        by_state, by_outcome: The same, split.
        proven: Recallable memories at or above the confidence threshold.
        unproven: Recallable memories below it.
        weights: Normalised weights of explicit, usage and outcome signals.
        recalls: Searches among the latest hundred that delivered something, and the mean tokens they cost.
        last_confidence: Confidence of the first memory of this bank object's last search; before one, of the last
            search that the bank has logged; 0 when it had no memory at the threshold (seed 004 ``Stats``).
        embedder: The embedder in use.
        model_id: The vector space of the stored vectors; empty for an empty bank.
    """

    tenant: str
    project: str
    memories: int
    by_state: Mapping[str, int]
    by_outcome: Mapping[str, int]
    proven: int
    unproven: int
    weights: Mapping[str, float]
    recalls: int
    mean_recall_tokens: float
    last_confidence: float
    embedder: str
    model_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """Hold what an import did.

    Attributes:
        imported: Ids that were stored.
        unchanged: Ids that were there already with the same text.
        conflicts: Ids that were there with another text; they were left as they are.
        left_out: Nodes, edges and documents that look like a prompt injection; they are not stored.
        quarantined: Ids out of ``imported`` whose text looks like a prompt injection: no search finds them.
        vouched: Whether a person stands by the file; else what came with it is a claim.
    """

    imported: tuple[str, ...]
    unchanged: tuple[str, ...]
    conflicts: tuple[str, ...]
    left_out: tuple[ImportOmission, ...] = ()
    quarantined: tuple[str, ...] = ()
    vouched: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """Hold what a repair took out of a damaged bank.

    Attributes:
        path: The new file, in the form of a backup; ``restore`` puts it in the place of the damaged one.
        recovered: Whole rows in it, by table.
        missing: Rows that are known to have been there and are not whole, by table; at least so many.
        held: Memories whose evidence was lost in part; their confidence stays, as a sum.
        pages: How many pages the damaged file has.
        damaged_pages: How many of them do not hold what was written to them.
        cut: Part of the file is gone, so that rows may be missing that nothing is left of to count them by.
        problems: One sentence per defect of the new file.
    """

    path: str
    recovered: Mapping[str, int]
    missing: Mapping[str, int]
    held: int
    pages: int
    damaged_pages: int
    cut: bool
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """Hold what a check of everything found.

    Attributes:
        facts: Versions, places and sizes, by name.
        problems: One sentence per defect, each with what to do; empty when everything is in order.
    """

    facts: Mapping[str, str]
    problems: tuple[str, ...]

    @property
    def healthy(self) -> bool:
        """Return whether nothing is wrong."""
        return not self.problems


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOmission:
    """A part of an import that was not stored, because it looks like a prompt injection.

    Attributes:
        kind: What it is.
        id: Its id; of a document its path and its key.
        reason: What it says that gives it away.
    """

    kind: Literal["node", "edge", "document"]
    id: str
    reason: str
