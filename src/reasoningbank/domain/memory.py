"""The memory: one strategy or anti-pattern, and the rules every stored one obeys (seed 004)."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

from reasoningbank.domain.belief import EXPLICIT_RECORD_CONFIDENCE, Belief
from reasoningbank.domain.identity import new_id
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

Outcome = Literal["success", "failure"]
State = Literal["candidate", "active", "archived", "quarantined"]

OUTCOMES: tuple[Outcome, ...] = ("success", "failure")
STATES: tuple[State, ...] = ("candidate", "active", "archived", "quarantined")

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
    def fingerprint(self) -> bytes:
        """Equal for memories whose text is the same up to case, space and punctuation."""
        return fingerprint(self.title, self.description, self.content)


def validate(memory: Memory) -> None:
    """Checks every rule of seed 004 ``Validate`` and our bounds.

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
    """Returns the outcome when it is one of the two that exist.

    Raises:
        InvalidOutcome: For any other value; it is never taken for a success.
    """
    for known in OUTCOMES:
        if outcome == known:
            return known
    raise InvalidOutcome(f"outcome must be 'success' or 'failure', not {str(outcome)[:80]!r}")


def check_memory_id(memory_id: str) -> str:
    """Returns the id when it can name a memory.

    Raises:
        EmptyMemoryId: When it is empty or blank.
        InvalidInput: When it is too long or has characters that are not printable.
    """
    if not memory_id.strip():
        raise EmptyMemoryId("memory ID cannot be empty")
    if len(memory_id) > MAX_ID or not memory_id.isprintable():
        raise InvalidInput(f"a memory ID has at most {MAX_ID} printable characters")
    return memory_id


def _check_length(name: str, text: str, limit: int) -> None:
    if len(text) > limit:
        raise TextTooLong(f"the {name} has {len(text)} characters; the limit is {limit}")


def fingerprint(*texts: str) -> bytes:
    """A hash of the letters and digits alone, case-folded: 16 bytes, equal exactly for texts that read the same."""
    digest = hashlib.blake2b(digest_size=16)
    for text in texts:
        digest.update(_letters(text))
        digest.update(b"\x00")
    return digest.digest()


def _letters(text: str) -> bytes:
    if text.isascii():
        return text.encode("ascii").lower().translate(None, _ASCII_PUNCTUATION)
    folded = unicodedata.normalize("NFKC", text).casefold()
    return re.sub(r"[\W_]+", "", folded).encode("utf-8", "surrogatepass")
