"""The fields of the answers about briefings, the same for the command line and MCP."""

from __future__ import annotations

from typing import TypedDict

from reasoningbank.domain.briefing import Brief, SessionOutcome

_DIGITS = 6


class BriefItemAnswer(TypedDict):
    """One memory that is shown."""

    id: str
    confidence: float
    scope: str
    outcome: str


class LeftOutAnswer(TypedDict):
    """One memory that was considered and is not shown, and why."""

    id: str
    reason: str


class BriefAnswer(TypedDict):
    """The block for an agent's context, what it costs, what it shows and what it leaves out."""

    text: str
    tokens: int
    items: list[BriefItemAnswer]
    left_out: list[LeftOutAnswer]
    session: str


class CreditAnswer(TypedDict):
    """One memory whose confidence has moved."""

    memory_id: str
    new_confidence: float


class SessionOutcomeAnswer(TypedDict):
    """What the end of a session did."""

    credited: list[CreditAnswer]


def brief_answer(brief: Brief) -> BriefAnswer:
    """The fields of a briefing."""
    return BriefAnswer(
        text=brief.text,
        tokens=brief.tokens,
        items=[
            BriefItemAnswer(
                id=item.hit.id,
                confidence=round(item.hit.confidence, _DIGITS),
                scope=item.scope,
                outcome=item.hit.outcome,
            )
            for item in brief.items
        ],
        left_out=[LeftOutAnswer(id=one.id, reason=one.reason) for one in brief.left_out],
        session=brief.session,
    )


def session_outcome_answer(report: SessionOutcome) -> SessionOutcomeAnswer:
    """The fields of a session's outcome."""
    return SessionOutcomeAnswer(
        credited=[
            CreditAnswer(memory_id=one.memory_id, new_confidence=round(one.new_confidence, _DIGITS))
            for one in report.credited
        ]
    )
