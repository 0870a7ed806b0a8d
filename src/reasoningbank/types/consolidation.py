"""Consolidation: several memories that say nearly the same become one, and can become several again (seed 004).

Confidence of what is consolidated (spec/contextd 1.4), with c the sources' confidences and u how often each was used:

    base  = sum(c (u + 1)) / sum(u + 1)
    bonus = (1 - min(std(c) / 0.5, 1)) min(n / 10, 1) 0.1      for n >= 2 sources, std of the population
    confidence = base + bonus, kept in [0, 1]; 0.6 for no source at all
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Annotated, Literal

from reasoningbank.errors import InvalidInput
from reasoningbank.types.annotation import check_fields
from reasoningbank.types.argument import Between, Share
from reasoningbank.types.belief import DISTILLED_CONFIDENCE
from reasoningbank.types.memory import Memory, Outcome

ConsolidationType = Literal["merged", "deduplicated", "synthesized"]
"""How one memory came of several.

deduplicated: the best source's text, word for word; merged: a model's text whose claims come from one source each or
from several; synthesized: a model's text whose every claim stands in at least two sources.
"""
CONSOLIDATION = "consolidation"
"""The entry of a memory's provenance that says how it was consolidated; only a consolidation writes it."""
SIMILARITY_THRESHOLD = 0.8
CONSOLIDATION_WINDOW = timedelta(hours=24)
CONTRADICTS = "contradicts"
"""The kind of link between two memories of nearly the same text and opposite outcome."""
CONSOLIDATED_FROM = "consolidated_from"
"""The kind of link from a consolidated memory to each of its sources."""
CONSOLIDATED_INTO = "consolidated_into"
"""The kind of link from a source to the memory it was consolidated into."""
_WIDEST = 0.5
_MANY = 10
_BONUS = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationOptions:
    """How a run goes.

    Attributes:
        similarity_threshold: Two memories are similar when their cosine is above this, from 0 to 1. It is on the scale
            of all-MiniLM; for a model with closer cosines a higher one is taken. Below the default an agent merges
            near-duplicates alone.
        max_clusters_per_run: Most clusters that are merged, the closest first; 0 for all.
        dry_run: Say what would be done; ask no model and write nothing.
        force_all: Runs although the last run was less than a window ago, and merges again what was undone, unless an
            agent asks.
        window: How long a run that went well keeps the next one away.
    """

    similarity_threshold: Share = SIMILARITY_THRESHOLD
    max_clusters_per_run: Annotated[int, Between(0)] = 0
    dry_run: bool = False
    force_all: bool = False
    window: timedelta = CONSOLIDATION_WINDOW

    def __post_init__(self) -> None:
        check_fields(self)
        if self.window < timedelta(0):
            raise InvalidInput("the window cannot be negative")


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarityCluster:
    """Memories of one outcome whose every pair is similar.

    Attributes:
        members: At least two, oldest first.
        centroid_vector: The mean of their vectors, as plain numbers.
        average_similarity: The mean cosine of all pairs.
        min_similarity: The least cosine of all pairs; above the threshold.
    """

    members: tuple[Memory, ...]
    centroid_vector: tuple[float, ...] = ()
    average_similarity: float = 0.0
    min_similarity: float = 0.0

    @property
    def ids(self) -> tuple[str, ...]:
        """The members' ids, oldest first."""
        return tuple(memory.id for memory in self.members)

    @property
    def outcome(self) -> Outcome:
        """The outcome that all members have."""
        return self.members[0].outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidatedMemory:
    """A memory that stands for several.

    Attributes:
        memory: The memory itself; its id is the consolidation's.
        source_ids: The memories it was made of, archived.
        consolidation_type: How it was made.
        source_attribution: What each source gave to it, in words.
    """

    memory: Memory
    source_ids: tuple[str, ...]
    consolidation_type: ConsolidationType
    source_attribution: str = ""

    @property
    def id(self) -> str:
        """The memory's id, which ``undo`` takes."""
        return self.memory.id


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """A memory that several went into, beside them.

    Attributes:
        memory: The memory; its id is the consolidation's.
        sources: What it was made of, as it is now, oldest first; erased ones are gone.
    """

    memory: Memory
    sources: tuple[Memory, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction:
    """Two memories of nearly the same text and opposite outcome: they are shown together and never averaged."""

    success: str
    failure: str
    similarity: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationResult:
    """Hold what a run did.

    Attributes:
        created_memories: Ids of the consolidated memories; in a dry run ``dry-run-cluster-`` and a number from 1.
        archived_memories: Ids of their sources; in a dry run of those that would be archived.
        skipped_count: Members of clusters that were not merged, because the model or a check refused.
        total_processed: Members of all clusters that were looked at.
        duration: How long it took.
        contradictions: Pairs of nearly the same text and opposite outcome, the closest first.
        messages: One sentence per cluster that was not merged, and why nothing was done when the window is open.
    """

    created_memories: tuple[str, ...] = ()
    archived_memories: tuple[str, ...] = ()
    skipped_count: int = 0
    total_processed: int = 0
    duration: timedelta = timedelta(0)
    contradictions: tuple[Contradiction, ...] = ()
    messages: tuple[str, ...] = ()

    def __add__(self, other: ConsolidationResult) -> ConsolidationResult:
        """Return both runs as one."""
        return ConsolidationResult(
            created_memories=self.created_memories + other.created_memories,
            archived_memories=self.archived_memories + other.archived_memories,
            skipped_count=self.skipped_count + other.skipped_count,
            total_processed=self.total_processed + other.total_processed,
            duration=self.duration + other.duration,
            contradictions=self.contradictions + other.contradictions,
            messages=self.messages + other.messages,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoReport:
    """Hold what undoing a consolidation did.

    Attributes:
        consolidation_id: The memory that stood for the others.
        restored: Its sources, which are what they were before.
        moved_signals: How many pieces of evidence that came since went to the sources.
        kept: True when the memory was edited since and is therefore archived instead of erased.
    """

    consolidation_id: str
    restored: tuple[str, ...]
    moved_signals: int = 0
    kept: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """The text of a consolidated memory, not yet stored.

    Attributes:
        type: How it was made.
        verbatim: For a deduplication the id of the source whose text it is; empty for a model's text.
        attribution: What each source gave to it.
        model: The language model; empty without one.
        prompt: Name and version of the prompt.
    """

    title: str
    description: str
    content: str
    type: ConsolidationType
    tags: tuple[str, ...] = ()
    category: str = ""
    verbatim: str = ""
    attribution: str = ""
    model: str = ""
    prompt: str = ""
    extra: Mapping[str, str] = field(default_factory=dict)


def consolidated_confidence(confidences: Sequence[float], usage_counts: Sequence[int]) -> float:
    """Return the confidence of what was made of sources (the formula above).

    Args:
        confidences: Of each source.
        usage_counts: How often each was delivered.
    """
    if not confidences:
        return DISTILLED_CONFIDENCE
    weights = [count + 1 for count in usage_counts]
    pairs = zip(confidences, weights, strict=True)
    base = math.fsum(confidence * weight for confidence, weight in pairs) / sum(weights)
    if len(confidences) == 1:
        return min(1.0, max(0.0, base))
    mean = math.fsum(confidences) / len(confidences)
    deviation = math.sqrt(math.fsum((each - mean) ** 2 for each in confidences) / len(confidences))
    consensus = 1.0 - min(deviation / _WIDEST, 1.0)
    bonus = consensus * min(len(confidences) / _MANY, 1.0) * _BONUS
    return min(1.0, max(0.0, base + bonus))


def is_consolidated(memory: Memory) -> bool:
    """Return whether the memory was made of others; said by its provenance alone, never by its words."""
    return CONSOLIDATION in memory.provenance
