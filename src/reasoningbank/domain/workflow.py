"""A workflow: a conversation with its turns, as a program that answers a user drives it step by step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, get_args

WorkflowStatus = Literal["running", "waiting_for_input", "completed", "failed", "cancelled"]
WORKFLOW_STATUSES: tuple[WorkflowStatus, ...] = get_args(WorkflowStatus)
EventKind = Literal["progress", "memories", "status", "error", "complete"]
EVENT_KINDS: tuple[EventKind, ...] = get_args(EventKind)
FINAL_EVENTS: frozenset[EventKind] = frozenset({"memories", "complete"})
"""What who wants only results is sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowEvent:
    """Something that happened in a workflow.

    Attributes:
        cursor: Its number in the workflow, from 1, without gaps; what comes later has a higher one.
        kind: One of ``EVENT_KINDS``.
        payload: A JSON object.
        at: When it happened.
    """

    cursor: int
    kind: EventKind
    payload: Mapping[str, object]
    at: datetime

    @property
    def final(self) -> bool:
        """Whether it is a result and not only news about the way to it."""
        return self.kind in FINAL_EVENTS


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A turn that has ended; it never changes.

    Attributes:
        message_id: The turn's id.
        user_input: What the user asked.
        clarification_question, clarification: What was asked back, and the user's answer; empty when nothing was.
        answer, reasoning: What was answered, and why.
        tool_calls: What was called for it, as JSON objects.
        at: When it ended.
    """

    message_id: str
    user_input: str
    answer: str
    clarification_question: str = ""
    clarification: str = ""
    reasoning: str = ""
    tool_calls: tuple[Mapping[str, object], ...] = ()
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow:
    """A conversation and the turn that is under way.

    Attributes:
        id: The workflow's id; also the ``conv_id`` of what is remembered of it.
        status: ``running`` until the turn is answered; ``waiting_for_input`` while a question back is open.
        message_id: The id of the turn under way, or of the last one.
        user_input: What the user asked in it.
        clarification_question: The question back; empty when there was none.
        clarification: The user's answer to it.
        searched: Whether the memories of the turn have been found.
        until: Until when whoever searches has time; later another may take the search up.
        user, role: Who asks.
        turns: Turns that have ended, the oldest first; the last 20 of them.
        events: What happened, the oldest first; the last 200 of it.
        cursor: The number of the last event.
    """

    id: str
    status: WorkflowStatus
    message_id: str
    user_input: str
    clarification_question: str = ""
    clarification: str = ""
    searched: bool = False
    until: datetime | None = None
    user: str = ""
    role: str = ""
    turns: tuple[Turn, ...] = ()
    events: tuple[WorkflowEvent, ...] = field(default=())
    cursor: int = 0

    def after(self, cursor: int, *, final_only: bool = False) -> tuple[WorkflowEvent, ...]:
        """The events later than a cursor; of these only the results when only they are wanted."""
        return tuple(each for each in self.events if each.cursor > cursor and (each.final or not final_only))
