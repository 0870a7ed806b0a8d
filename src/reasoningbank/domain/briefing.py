"""What an agent is shown at the start of its work, and what the end of that work says about it."""

from __future__ import annotations

from dataclasses import dataclass

from reasoningbank.domain.answers import OutcomeReport
from reasoningbank.domain.learning import DistilReport
from reasoningbank.domain.recall import Hit

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
class SessionOutcome:
    """What the end of a session did to the memories that were shown in it.

    Attributes:
        session: The session.
        succeeded: How it ended.
        credited: One report per memory whose confidence has moved.
        unchanged: Ids of shown memories that this session had reported an outcome for before.
        learned: What the branch's own account taught, when it gave one.
    """

    session: str
    succeeded: bool
    credited: tuple[OutcomeReport, ...] = ()
    unchanged: tuple[str, ...] = ()
    learned: DistilReport | None = None
