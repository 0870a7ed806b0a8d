"""What happened in one session, and what proves how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

from reasoningbank.domain.identity import new_id
from reasoningbank.errors import InvalidInput

Verdict = Literal["success", "failure", "partial", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One turn of an agent: what it thought, did and saw."""

    thought: str = ""
    action: str = ""
    tool: str = ""
    observation: str = ""
    error: str = ""
    exit_code: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A fact that tells how a session ended, and where it was seen.

    Attributes:
        kind: exit_code, test_run, repair, commit or user_verdict.
        positive: Whether it speaks for success.
        detail: The fact in words.
        step: Index of the step it was seen in, None when it concerns the whole session.
    """

    kind: str
    positive: bool
    detail: str = ""
    step: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """One session: its task, its ordered steps and the evidence of how it ended. Immutable once stored."""

    task: str
    steps: tuple[Step, ...] = ()
    final_answer: str = ""
    evidence: tuple[Evidence, ...] = ()
    session: str = ""
    source: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    created_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    id: str = field(default_factory=new_id)

    def __post_init__(self) -> None:
        if not self.task.strip():
            raise InvalidInput("a trajectory needs the task it worked on")
