"""The result of a search and of a briefing: what was found, why, and what it costs to read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

from reasoningbank.errors import InvalidInput
from reasoningbank.types.belief import EXPLICIT_RECORD_CONFIDENCE
from reasoningbank.types.consolidation import is_consolidated
from reasoningbank.types.memory import Memory, Outcome, OutcomeReport, State, new_id
from reasoningbank.types.scope import Level
from reasoningbank.types.session import DistilReport
from reasoningbank.types.standing import Standing

CONTENT_LEG = "content"
"""The dense leg over title and content."""
DESCRIPTION_LEG = "description"
"""The dense leg over the description: when the memory applies."""
TASK_LEG = "task"
"""The dense leg over the task that a distilled memory came from; only the search by experience uses it."""
LEXICAL_LEG = "lexical"
"""BM25 over all text and tags."""
DENSE_LEGS: tuple[str, ...] = (CONTENT_LEG, DESCRIPTION_LEG)
"""The dense legs of the fused search."""
VECTOR_LEGS: tuple[str, ...] = (CONTENT_LEG, DESCRIPTION_LEG, TASK_LEG)
"""Every leg that a memory may have a vector in."""
LEGS: tuple[str, ...] = (CONTENT_LEG, DESCRIPTION_LEG, LEXICAL_LEG)
Fit = Literal["strong", "fair", "weak", ""]
"""Words for a memory's fit to a query: of strong ones nine in ten have to do with it, of fair ones over half, of weak
ones about one in ten (docs/explanation/search.md). Empty where nothing was compared, or scores are of another kind.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Hold what a memory must be to be considered; applied inside every leg, before its best are taken.

    Attributes:
        outcome: Only this outcome.
        tags: All of these tags.
        states: Any of these states.
        category: Only this category.
        categories: Any of these categories; None for all.
        consolidated: Only memories that were made of others, or only those that were not; None for all.
        min_confidence: At least this confidence.
        below_confidence: Less than this confidence.
        created_after, created_before: Creation time, inclusive and exclusive.
    """

    outcome: Outcome | None = None
    tags: tuple[str, ...] = ()
    states: tuple[State, ...] = ("active", "candidate")
    category: str | None = None
    categories: tuple[str, ...] | None = None
    consolidated: bool | None = None
    min_confidence: float | None = None
    below_confidence: float | None = None
    created_after: datetime | None = None
    created_before: datetime | None = None

    def __post_init__(self) -> None:
        for moment in (self.created_after, self.created_before):
            if moment is not None and moment.tzinfo is None:
                raise InvalidInput("times must carry a time zone", hint="Use for example datetime.now(timezone.utc).")

    def accepts(self, memory: Memory) -> bool:
        """Return whether a memory is what the filter asks for; stores answer the same inside their legs."""
        confidence, made = memory.confidence, memory.created_at
        return (
            memory.state in self.states
            and self.outcome in {None, memory.outcome}
            and self.category in {None, memory.category}
            and (self.categories is None or memory.category in self.categories)
            and self.consolidated in {None, is_consolidated(memory)}
            and (self.min_confidence is None or confidence >= self.min_confidence)
            and (self.below_confidence is None or confidence < self.below_confidence)
            and (self.created_after is None or made >= self.created_after)
            and (self.created_before is None or made < self.created_before)
            and all(tag in memory.tags for tag in self.tags)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Leg:
    """Where one memory stood in one leg: rank from 1, and the leg's own score (cosine, or BM25)."""

    rank: int
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One memory of an answer, with the reason it is there.

    Attributes:
        memory: The memory as it is now.
        relevance: How well it fits the query, from 0 to 1, independent of confidence.
        fit: The same in a word that means the same in banks of any size.
        legs: Rank and score in every leg that found it.
        unproven: True when it is below the confidence asked for and was drawn by Thompson sampling (DESIGN D6).
        duplicates: Ids of memories with the same text that this hit stands for.
        scope: Where it is known: in the project itself, its team or its org.
        conflicts: Ids of memories of wider scopes that say the opposite and gave way to it.
        disputed_by: Ids of claims that say the opposite of what a person vouches for or evidence has confirmed.
    """

    memory: Memory
    relevance: float
    fit: Fit = ""
    legs: Mapping[str, Leg]
    unproven: bool = False
    duplicates: tuple[str, ...] = ()
    scope: Level = "project"
    conflicts: tuple[str, ...] = ()
    disputed_by: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The memory's id."""
        return self.memory.id

    @property
    def title(self) -> str:
        """The memory's title."""
        return self.memory.title

    @property
    def description(self) -> str:
        """When the memory applies."""
        return self.memory.description

    @property
    def content(self) -> str:
        """Return what to do, or what to avoid."""
        return self.memory.content

    @property
    def outcome(self) -> Outcome:
        """Return success for a strategy, failure for an anti-pattern."""
        return self.memory.outcome

    @property
    def confidence(self) -> float:
        """The memory's confidence when the search ran; of a claim at most what a record begins with.

        What its own client and sessions that never saw it say for a claim makes it no surer than somebody's word.
        """
        confidence = self.memory.confidence
        return min(confidence, EXPLICIT_RECORD_CONFIDENCE) if self.standing == "claim" else confidence

    @property
    def standing(self) -> Standing:
        """Where the memory comes from and what became of it."""
        return self.memory.standing

    @property
    def tags(self) -> tuple[str, ...]:
        """The memory's tags."""
        return self.memory.tags

    @property
    def interval(self) -> tuple[float, float]:
        """The 90 % credible interval of the confidence."""
        return self.memory.belief.interval()


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """The answer to one search.

    Attributes:
        memories: Proven hits, best first.
        unproven: Hits below the confidence asked for, offered so that they can be tested.
        query: The query, secrets removed.
        session: The session the delivery counts for.
        embedder: Name of the embedder that was used.
        tokens: Tokens of all texts delivered.
        message: One sentence: what was found, or that nothing relevant is known.
        warnings: What could not be done, for example logging the delivery on a full disk.
    """

    memories: tuple[Hit, ...] = ()
    unproven: tuple[Hit, ...] = ()
    query: str = ""
    session: str = ""
    embedder: str = ""
    tokens: int = 0
    message: str = ""
    warnings: tuple[str, ...] = ()
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    id: str = field(default_factory=new_id)

    @property
    def count(self) -> int:
        """How many proven memories were found."""
        return len(self.memories)

    @property
    def delivered(self) -> tuple[Hit, ...]:
        """Everything that was shown, proven first."""
        return self.memories + self.unproven


PROJECT_SCOPE = "project"
"""The scope of a memory of the project itself."""
HELD_OUT = "held out"
"""Why a session that is held out is not shown what others would be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BriefItem:
    """One memory that is shown.

    Attributes:
        hit: The memory, secrets removed, and how relevant it is; without a task its relevance is 0.
        scope: Where it is known: ``project`` for the project's own.
    """

    hit: Hit
    scope: str = PROJECT_SCOPE


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """One memory that was considered and is not shown.

    Attributes:
        id: The memory.
        reason: One of ``budget``, ``limit``, ``near-duplicate of ID``, ``same text as ID``, ``shown before in this
            session``, ``held out``.
    """

    id: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """The best memories for an agent's context within a token budget.

    Attributes:
        text: Quoted evidence between the marks of ``domain/echo.py``; empty when nothing is worth showing.
        tokens: cl100k tokens of the text; never above the budget.
        items: What the text shows, in its order.
        left_out: What was considered and is not shown, best first. What lies below the relevance floor was not
            considered.
        session: What the delivery counts for; its outcome credits exactly the items.
        message: One sentence: what is shown, or that nothing is.
        warnings: What could not be done, for example logging the delivery on a full disk.
    """

    text: str = ""
    tokens: int = 0
    items: tuple[BriefItem, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    session: str = ""
    message: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCredit:
    """Hold what the end of one session counts for one memory now.

    Attributes:
        succeeded: True when it speaks for the memory, False when against it.
        previous_confidence: The confidence without this session's end and use.
        new_confidence: The confidence that the memory has.
    """

    memory_id: str
    succeeded: bool
    previous_confidence: float
    new_confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOutcome:
    """Hold what the end of a session did to the memories that were shown in it.

    Attributes:
        session: The session.
        succeeded: How it ended.
        credited: One report per memory whose confidence has moved.
        unchanged: Ids of shown memories that this session had reported an outcome for before.
        quarantined: Ids of shown memories that are in quarantine, so that an agent's word does not count for them.
        learned: What the branch's own account taught, when it gave one.
        judged: Ids of the session's trajectories whose verdict a person's report is.
        counted: How things stand after this call, whoever said it when: each memory for which the session's end counts,
            with the confidence that it would have without the session and the one that it has.
        known: False when no session of this name was shown anything here or is captured: then nothing was kept.
    """

    session: str
    succeeded: bool
    credited: tuple[OutcomeReport, ...] = ()
    unchanged: tuple[str, ...] = ()
    quarantined: tuple[str, ...] = ()
    learned: DistilReport | None = None
    judged: tuple[str, ...] = ()
    counted: tuple[SessionCredit, ...] = ()
    known: bool = True

    @property
    def credits(self) -> tuple[Mapping[str, str | float | bool], ...]:
        """The memories for which the session's end counts now: for or against them, from what to what."""
        return tuple(
            {
                "memory_id": one.memory_id,
                "succeeded": one.succeeded,
                "previous_confidence": one.previous_confidence,
                "new_confidence": one.new_confidence,
            }
            for one in self.counted
        )


FITTING = 0.5
"""A memory fits a question when it is at least as likely relevant as not.

Then it answers it, a session has used it, and how the session ended counts for it.
"""
BRANCH_SHARE = 0.2
"""Which part of a context's budget a branch of it may spend on memories."""
