"""Sessions: what an agent did, what proves how it ended, and what was learned from it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Literal

from reasoningbank.errors import InvalidInput
from reasoningbank.types.memory import Outcome, new_id
from reasoningbank.types.signal import Witness

Verdict = Literal["success", "failure", "partial", "unknown"]
EvidenceKind = Literal[
    "exit_code", "test_run", "repair", "commit", "submission", "user_verdict", "last_word", "admission"
]

CAPTURE, DISTILL = "capture", "distill"
"""The kinds of jobs that capture the file of their payload, and that distill the trajectory that is their key."""
CREDIT = "credit"
"""The kind of job that settles what the session of the trajectory that is its key was shown."""
RECIPES = "recipes"
"""The kind of job that makes the recipes of the trajectory that is its key where no model is; else ``DISTILL`` does."""
AGENT, TEMPLATE, USER = "agent", "template", "user"
"""Judges of a session and distillers of its lessons that are not a language model."""
QUIET = timedelta(minutes=10)
"""A session that nobody ended has ended when nothing was heard of it for so long."""
SUPERSEDED_AT = "superseded_at"
"""Entry of a trajectory's metadata: when a longer capture last took the place of a shorter one."""
SUMMARY_SOURCE = "compaction"
"""The source of a trajectory that is a client's summary of what it compacted."""
SaidBy = Literal["person", "session", "model", "evidence", ""]
"""The source of how a session ended: a person, its own agent, a language model, its evidence; empty for none."""
CURSOR_SESSION, TOOL_OUTCOME = "cursor_session", "tool_outcome"
"""The types of the lines that our hooks add to a copy of Cursor's transcript: whose it is, and what a command did."""
VERDICTS: tuple[Verdict, ...] = ("success", "failure", "partial", "unknown")
SYSTEM_PROMPT = "system_prompt"
"""Entry of a trajectory's metadata: the rules that its agent was given, redacted and clipped."""
EVIDENCE_KINDS: tuple[EvidenceKind, ...] = (
    "exit_code",
    "test_run",
    "repair",
    "commit",
    "submission",
    "user_verdict",
    "last_word",
    "admission",
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
        """Return whether the action reported an error or a non-zero exit status."""
        return bool(self.error) or self.exit_code not in {None, 0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A fact that tells how a session ended, and where it was seen.

    Attributes:
        kind: What sort of fact; one of ``EVIDENCE_KINDS``.
        positive: True when it speaks for success.
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
        metadata: Further facts as texts, for example the working directory, the agent's ``system_prompt`` or how much
            was cut.
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
            raise InvalidInput(f"verdict must be one of {', '.join(VERDICTS)}, not {str(self.verdict)[:80]!r}")
        if not 0.0 <= self.probability <= 1.0:
            raise InvalidInput(f"a probability is a number from 0 to 1, not {self.probability!r}")
        if self.at.tzinfo is None:
            raise InvalidInput("times must carry a time zone", hint="Use for example datetime.now(timezone.utc).")


RefusalReason = Literal[
    "about_memory",
    "no_trigger",
    "restated_task",
    "retold",
    "no_action",
    "only_names",
    "markup",
    "too_long",
    "too_many",
    "incomplete",
    "no_such_step",
    "wrong_outcome",
    "instruction",
    "same_text",
]
"""Why a distilled item was not stored.

about_memory: it is about the memory system itself; no_trigger: it does not say when it applies; retold: it tells what
happened instead of what to do; no_action: it is advice that fits every task; restated_task: it says
the task again; only_names: it names only files, ids or runs; markup: stray fences, tags or role marks; too_long and
too_many: beyond the bounds; incomplete: a field is missing or empty; no_such_step: it rests only on steps that the
session does not have; wrong_outcome: a session that failed cannot teach a strategy that worked; instruction: it
instructs the reading agent instead of informing it (DESIGN D10);
same_text: an earlier item of the same trajectory says the same.
"""
RECIPE = "recipe"
"""What stands for the model, and as the source of the memory, where no model was asked: the session shows it itself."""
OriginKind = Literal["distilled", "corroborated"]
MAX_ITEMS = 3
"""Most items of one trajectory (paper, appendix A)."""
MAX_CONTRAST_ITEMS = 5
"""Most items of k trajectories that are contrasted (paper, appendix A)."""
DO_INSTEAD = "Do instead: "
"""What stands before the advice of an anti-pattern."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One lesson as a distiller proposes it, not yet admitted.

    Attributes:
        title: What it is about, one line.
        description: When it applies.
        content: What to do, or what to avoid and what to do instead.
        outcome: success for a strategy, failure for a preventive lesson.
        tags: Labels.
        steps: Indexes of the steps it was learned from.
    """

    title: str
    description: str
    content: str
    outcome: Outcome
    tags: tuple[str, ...] = ()
    steps: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """An item that was not stored, kept with the reason for that."""

    trajectory: str
    reason: RefusalReason
    detail: str
    title: str = ""
    description: str = ""
    content: str = ""
    model: str = ""
    prompt: str = ""
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    id: str = field(default_factory=new_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """A trajectory that taught a memory, or taught it again.

    Attributes:
        kind: distilled when the memory was made from it, corroborated when it said the same later.
        steps: Indexes of the steps that were learned from.
        model: The language model, ``agent``, ``template`` or ``recipe``.
        prompt: Name and version of the prompt; empty when there was none.
    """

    memory_id: str
    trajectory: str
    kind: OriginKind
    session: str = ""
    steps: tuple[int, ...] = ()
    model: str = ""
    prompt: str = ""
    at: datetime = field(default_factory=lambda: datetime.now(UTC))


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSummary:
    """A finished session in its agent's own words (seed 004 ``SessionSummary``).

    Attributes:
        outcome: success, failure, or partial.
        task: What was to be done.
        approach: How it was done.
        result: What came of it; for a partial session what worked and what did not.
        avoid: For a failed or partial session, what not to do again; empty takes the approach of a failure.
        duration: How long it took; None when it is not known.
        completed_at: When it ended; None when it is not known.
    """

    session_id: str
    project_id: str
    outcome: Verdict
    task: str
    approach: str
    result: str = ""
    avoid: str = ""
    tags: tuple[str, ...] = ()
    duration: timedelta | None = None
    completed_at: datetime | None = None

    def __post_init__(self) -> None:
        for name, text in (("session ID", self.session_id), ("project ID", self.project_id)):
            if not text.strip():
                raise InvalidInput(f"a session summary needs a {name}")
        if self.outcome not in {"success", "failure", "partial"}:
            raise InvalidInput(
                f"a session ends as success, failure or partial, not {str(self.outcome)[:80]!r}",
                hint="When it is not known how the session ended, there is nothing to learn from it yet.",
            )
        for name, text in (("task", self.task), ("approach", self.approach)):
            if not text.strip():
                raise InvalidInput(f"a session summary needs its {name}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """One trajectory of a capture, and what the evidence in it says.

    Attributes:
        duplicate: True when it was known already.
        secrets: How many secrets were replaced in it.
    """

    id: str
    task: str
    steps: int
    verdict: Verdict
    probability: float
    evidence: tuple[Evidence, ...]
    duplicate: bool = False
    secrets: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureReport:
    """Hold what a capture stored.

    Attributes:
        captured: How many trajectories were stored.
        duplicates: How many were known already and added nothing.
        skipped_lines: How many lines or entries could not be read.
        trajectories: All of them, known ones included.
        problems: One sentence per thing that was skipped, with its place; at most a hundred.
    """

    captured: int
    duplicates: int
    skipped_lines: int
    trajectories: tuple[Captured, ...]
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DistilReport:
    """Hold what was made of trajectories.

    Attributes:
        distilled: Ids of new memories.
        corroborated: Ids of memories that were known and found again.
        refused: Items that were not stored, with the reason.
        pending: How many trajectories of the bank still wait to be distilled.
        messages: One sentence per trajectory that could not be distilled now.
    """

    distilled: tuple[str, ...] = ()
    corroborated: tuple[str, ...] = ()
    refused: tuple[Refusal, ...] = ()
    pending: int = 0
    messages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEnd:
    """How a session ended as far as it is known now: what counts for what it was shown.

    Attributes:
        verdict: How it ended.
        rater: ``human`` when a person says so; ``session`` when nothing was observed, and its agent alone says so.
        decided: Whether anybody ever said that it succeeded or failed: then something may have been credited that a
            verdict which says nothing takes back.
    """

    verdict: Verdict = "unknown"
    rater: Witness = "agent"
    decided: bool = False


SessionStage = Literal["queued", "captured", "waiting", "distilled"]
"""Where a session stands.

queued: its transcript waits to be read; captured: it is stored, and may still go on, or a worker or server is about to
make its recipes; waiting: it has ended, what needs no model was done, and it was not distilled; distilled: all there is
to learn of it was learned.
"""
PROGRESS: tuple[SessionStage, ...] = ("queued", "captured", "waiting", "distilled")


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionState:
    """Where one session stands on its way from a transcript to lessons.

    Attributes:
        state: ``queued``, ``captured``, ``waiting`` or ``distilled``.
        reason: What it waits for, or what came of it.
        id: The trajectory; empty while it is queued.
        session: The client's name for it; empty when it has none or is queued.
        task: What it was asked to do; while it is queued the name of its transcript.
        steps: How many steps it has.
        verdict: How it ended, as far as that is known.
        judge: Who has judged it last, by name; empty when nobody has.
        said_by: Whose word the verdict is.
        shown: How many memories hooks, searches and tools have shown it.
        taught: How many memories it taught, or taught again.
        at: When it began; while it is queued when it is to be read.
    """

    state: SessionStage
    reason: str
    id: str = ""
    session: str = ""
    task: str = ""
    steps: int = 0
    verdict: Verdict = "unknown"
    judge: str = ""
    said_by: SaidBy = ""
    shown: int = 0
    taught: int = 0
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
