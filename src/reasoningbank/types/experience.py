"""Experience search (seed 002): how a search was run, what came of it, and which strategies it taught."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

from reasoningbank.types.memory import new_id
from reasoningbank.types.recall import Hit
from reasoningbank.types.session import Verdict
from reasoningbank.types.standing import Standing

SearchMode = Literal["semantic", "session_recovery", "knowledge_lookup"]
"""semantic: everything; session_recovery: nothing that was made of others, newest first; knowledge_lookup: only the
categories of knowledge."""
SEARCH_MODES: tuple[SearchMode, ...] = ("semantic", "session_recovery", "knowledge_lookup")
KNOWLEDGE_CATEGORIES: tuple[str, ...] = ("decision", "critique", "proposal", "directive", "knowledge", "procedure")
"""The categories that a knowledge lookup answers from."""
TraceState = Literal["waiting", "extracted", "nothing"]
"""waiting: no strategy was extracted yet; extracted: one was; nothing: there is none to extract."""
COMPARED_TRACES = 10_000
"""A query is compared with so many of the newest traces."""
COSINE_DIGITS = 6
"""A cosine of traces is rounded to what single precision can tell apart, so that an equal query has exactly 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """One search as it was run. Traces are kept apart from memories and are never recalled as such.

    Attributes:
        query: The query, secrets removed.
        approach: Name of the search strategy that was applied.
        details: Its parameters as they were applied: mode, legs, limit, filters.
        outcome: How the task ended that the search was for; unknown until somebody reports it.
        results: Ids of the memories that were shown, the strategies of similar searches last.
        strategies: Ids of the memories that were extracted from it.
        session: The session it was run for.
        milliseconds: How long the search took.
        state: How far the extraction of a strategy from it has come.
        failure_reason: Why it failed, in words; empty otherwise.
    """

    query: str
    approach: str
    details: Mapping[str, str]
    outcome: Verdict = "unknown"
    results: tuple[str, ...] = ()
    strategies: tuple[str, ...] = ()
    session: str = ""
    milliseconds: int = 0
    state: TraceState = "waiting"
    failure_reason: str = ""
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    id: str = field(default_factory=new_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """A strategy extracted from one execution (seed 002 ``extract_strategy``).

    Attributes:
        extraction_model: The language model's name; empty for the structured default, which is not a lesson.
    """

    title: str
    description: str
    content: str
    extraction_model: str = ""
    prompt: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RelevantStrategy:
    """A strategy that similar searches taught, as it is offered for a prompt.

    Attributes:
        similarity: Cosine of this query and the nearest query it was learned from.
        supported: How many traces taught it.
        standing: Where it comes from and what became of it.
        claim: What it is shown as that is no more than a claim; empty for what stands higher.
    """

    id: str
    title: str
    description: str
    content: str
    confidence: float
    similarity: float
    supported: int
    standing: Standing = "claim"
    claim: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reasoning:
    """How an experience search was run and what it drew on.

    Attributes:
        strategy_used: Name of the search strategy that was applied.
        learned_from: How many distinct strategies are listed.
        outcome: unknown: that something was found does not make the task a success.
        message: Why no strategy is listed; empty otherwise.
    """

    strategy_used: str
    learned_from: int
    outcome: Verdict
    execution_time_ms: int
    relevant_strategies: tuple[RelevantStrategy, ...] = ()
    message: str = ""
    trace_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperienceAnswer:
    """The answer to an experience search: the same shape for hits, no hits and errors."""

    results: tuple[Hit, ...]
    reasoning: Reasoning
