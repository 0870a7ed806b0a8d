"""What happened in one session, what proves how it ended, and what was made of that."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

from reasoningbank.domain.identity import new_id
from reasoningbank.errors import InvalidInput

Verdict = Literal["success", "failure", "partial", "unknown"]
EvidenceKind = Literal["exit_code", "test_run", "repair", "commit", "submission", "user_verdict"]

VERDICTS: tuple[Verdict, ...] = ("success", "failure", "partial", "unknown")
EVIDENCE_KINDS: tuple[EvidenceKind, ...] = (
    "exit_code",
    "test_run",
    "repair",
    "commit",
    "submission",
    "user_verdict",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One turn of an agent: what it was told, thought, did and saw.

    Attributes:
        user: What a person said right before this turn; empty for most turns.
        thought: What the agent reasoned or said.
        action: What it did: a command, or the arguments of a tool.
        tool: The tool's name; empty for a turn without an action.
        observation: What the action answered.
        error: What went wrong, in the words of the tool; empty when nothing did.
        exit_code: The exit status of a command, None when there was none.
        actor: The sub-agent that took this turn; empty for the main agent.
    """

    thought: str = ""
    action: str = ""
    tool: str = ""
    observation: str = ""
    error: str = ""
    exit_code: int | None = None
    user: str = ""
    actor: str = ""

    @property
    def failed(self) -> bool:
        """Whether the action reported an error or a non-zero exit status."""
        return bool(self.error) or self.exit_code not in {None, 0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A fact that tells how a session ended, and where it was seen.

    Attributes:
        kind: What sort of fact; one of ``EVIDENCE_KINDS``.
        positive: Whether it speaks for success.
        detail: The fact in words.
        step: Index of the step it was seen in, None when it concerns the whole session.
        name: What was tried when it can be tried again: the test command, the repaired tool, the commit.
    """

    kind: EvidenceKind
    positive: bool
    detail: str = ""
    step: int | None = None
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """One session: its task, its ordered steps and the evidence of how it ended. Immutable once stored.

    Attributes:
        task: What the session was asked to do.
        steps: What happened, in order.
        final_answer: What the agent said last.
        evidence: Facts found in the steps, in order.
        session: The session's own id; empty when it has none.
        source: The format it was captured from, or ``api``.
        memories: Ids of the bank's memories that the agent was shown during it.
        metadata: Further facts as texts, for example the working directory or how much was cut.
        created_at: When the session began, or when it was captured.
    """

    task: str
    steps: tuple[Step, ...] = ()
    final_answer: str = ""
    evidence: tuple[Evidence, ...] = ()
    session: str = ""
    source: str = ""
    memories: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)
    created_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    id: str = field(default_factory=new_id)

    def __post_init__(self) -> None:
        if not self.task.strip():
            raise InvalidInput("a trajectory needs the task it worked on")
        if self.created_at.tzinfo is None:
            raise InvalidInput("times must carry a time zone", hint="Use for example datetime.now(timezone.utc).")

    @property
    def digest(self) -> str:
        """Equal for trajectories with the same session, task, steps and answer: 32 hexadecimal digits."""
        steps = [
            [step.user, step.thought, step.action, step.tool, step.observation, step.error, step.exit_code, step.actor]
            for step in self.steps
        ]
        text = json.dumps([self.session, self.task, steps, self.final_answer], ensure_ascii=True)
        return hashlib.blake2b(text.encode("ascii"), digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """How a session ended, as far as that can be known.

    Attributes:
        verdict: ``unknown`` when nothing decides it; an outage never becomes a failure.
        probability: How likely the task succeeded, from 0 to 1; 0.5 says nothing.
        rationale: Why, in a sentence or two.
        judge: ``evidence``, ``user``, ``agent``, or the name of the language model.
        evidence: The facts that were weighed.
    """

    verdict: Verdict
    probability: float
    rationale: str
    judge: str
    evidence: tuple[Evidence, ...] = ()
    at: datetime = field(default_factory=lambda: datetime.now(UTC))

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise InvalidInput(f"a verdict is one of {', '.join(VERDICTS)}, not {str(self.verdict)[:80]!r}")
        if not 0.0 <= self.probability <= 1.0:
            raise InvalidInput(f"a probability is a number from 0 to 1, not {self.probability!r}")
        if self.at.tzinfo is None:
            raise InvalidInput("times must carry a time zone", hint="Use for example datetime.now(timezone.utc).")
