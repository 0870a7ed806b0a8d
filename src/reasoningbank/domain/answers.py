"""What the bank's verbs answer with, besides memories and recalls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from reasoningbank.domain.graph_search import LeftOut


@dataclass(frozen=True, slots=True, kw_only=True)
class Rating:
    """What a rating did.

    Attributes:
        counted: False when this session had rated this memory before: evidence is counted once.
        message: One sentence that says how the confidence moved and why.
    """

    memory_id: str
    helpful: bool
    previous_confidence: float
    new_confidence: float
    counted: bool
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeReport:
    """What a reported task outcome did.

    Attributes:
        recorded: False when this session had reported on this memory before.
        message: One sentence that says how the confidence moved and why.
    """

    memory_id: str
    succeeded: bool
    recorded: bool
    previous_confidence: float
    new_confidence: float
    message: str


EventKind = Literal["recorded", "edited", "state", "rolled_up", "explicit", "usage", "outcome", "stability", "disuse"]
"""state: what the bank does with it changed, such as its consolidation or quarantine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One thing that happened to a memory.

    Attributes:
        confidence: The confidence after it.
        detail: What happened, as a sentence.
        session: The session it came from, empty when none.
    """

    at: datetime
    kind: EventKind
    detail: str
    confidence: float
    session: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """Facts about one bank.

    Attributes:
        memories: All memories, whatever their state.
        by_state, by_outcome: The same, split.
        proven: Recallable memories at or above the confidence threshold.
        unproven: Recallable memories below it.
        weights: Normalised weights of explicit, usage and outcome signals.
        recalls: Searches among the latest hundred that delivered something, and the mean tokens they cost.
        last_confidence: Confidence of the first hit of this bank object's last search; 0 before (seed 004 ``Stats``).
        embedder: The embedder in use.
        model_id: The vector space of the stored vectors; empty for an empty bank.
    """

    tenant: str
    project: str
    memories: int
    by_state: Mapping[str, int]
    by_outcome: Mapping[str, int]
    proven: int
    unproven: int
    weights: Mapping[str, float]
    recalls: int
    mean_recall_tokens: float
    last_confidence: float
    embedder: str
    model_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What an import did.

    Attributes:
        imported: Ids that were stored.
        unchanged: Ids that were there already with the same text.
        conflicts: Ids that were there with another text; they were left as they are.
        left_out: Nodes, edges and documents that look like a prompt injection; they are not stored.
        quarantined: Ids out of ``imported`` whose text looks like a prompt injection: no search finds them.
    """

    imported: tuple[str, ...]
    unchanged: tuple[str, ...]
    conflicts: tuple[str, ...]
    left_out: tuple[LeftOut, ...] = ()
    quarantined: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """What a check of everything found.

    Attributes:
        facts: Versions, places and sizes, by name.
        problems: One sentence per defect, each with what to do; empty when everything is in order.
    """

    facts: Mapping[str, str]
    problems: tuple[str, ...]

    @property
    def healthy(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems
