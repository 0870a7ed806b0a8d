"""ReasoningBank: memory for agents, believed as far as evidence goes.

The public API. Names are imported when they are first used, so that ``import reasoningbank`` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reasoningbank.async_bank import AsyncBank
    from reasoningbank.bank import DEFAULT_SEARCH_LIMIT, Bank
    from reasoningbank.domain.answers import Event, Health, ImportReport, OutcomeReport, Rating, Stats
    from reasoningbank.domain.belief import (
        DISTILLED_CONFIDENCE,
        EXPLICIT_RECORD_CONFIDENCE,
        MIN_CONFIDENCE,
        Belief,
    )
    from reasoningbank.domain.briefing import Brief, SessionOutcome
    from reasoningbank.domain.consolidation import ConsolidationOptions, ConsolidationResult, SimilarityCluster
    from reasoningbank.domain.experience import ExperienceAnswer, Reasoning, RelevantStrategy, Strategy, Trace
    from reasoningbank.domain.learning import (
        Captured,
        CaptureReport,
        DistilReport,
        Item,
        Origin,
        Refusal,
        SessionSummary,
    )
    from reasoningbank.domain.memory import Memory
    from reasoningbank.domain.recall import Filter, Hit, Leg, Recall
    from reasoningbank.domain.scaling import Rollout, Scaled, Task
    from reasoningbank.domain.scope import Scope
    from reasoningbank.domain.signal import ProjectWeights, Signal, SignalAggregate, compute_confidence
    from reasoningbank.domain.trajectory import Evidence, Judgement, Step, Trajectory
    from reasoningbank.engine.similarity import cosine_similarity
    from reasoningbank.errors import (
        BankError,
        InvalidInput,
        MemoryNotFound,
        MissingTenantError,
        ModelError,
        PolicyError,
        StoreError,
        TrajectoryNotFound,
    )
    from reasoningbank.jobs import WorkReport
    from reasoningbank.scheduling import ConsolidationScheduler
    from reasoningbank.settings import Settings

__version__ = "0.1.0"

_PLACES = {
    "AsyncBank": "async_bank",
    "Bank": "bank",
    "BankError": "errors",
    "Belief": "domain.belief",
    "Brief": "domain.briefing",
    "CaptureReport": "domain.learning",
    "Captured": "domain.learning",
    "ConsolidationOptions": "domain.consolidation",
    "ConsolidationResult": "domain.consolidation",
    "ConsolidationScheduler": "scheduling",
    "DEFAULT_SEARCH_LIMIT": "bank",
    "DISTILLED_CONFIDENCE": "domain.belief",
    "DistilReport": "domain.learning",
    "EXPLICIT_RECORD_CONFIDENCE": "domain.belief",
    "Event": "domain.answers",
    "Evidence": "domain.trajectory",
    "ExperienceAnswer": "domain.experience",
    "Filter": "domain.recall",
    "Health": "domain.answers",
    "Hit": "domain.recall",
    "ImportReport": "domain.answers",
    "InvalidInput": "errors",
    "Item": "domain.learning",
    "Judgement": "domain.trajectory",
    "Leg": "domain.recall",
    "MIN_CONFIDENCE": "domain.belief",
    "Memory": "domain.memory",
    "MemoryNotFound": "errors",
    "MissingTenantError": "errors",
    "ModelError": "errors",
    "Origin": "domain.learning",
    "OutcomeReport": "domain.answers",
    "PolicyError": "errors",
    "ProjectWeights": "domain.signal",
    "Rating": "domain.answers",
    "Reasoning": "domain.experience",
    "Recall": "domain.recall",
    "Refusal": "domain.learning",
    "RelevantStrategy": "domain.experience",
    "Rollout": "domain.scaling",
    "Scaled": "domain.scaling",
    "Scope": "domain.scope",
    "SessionOutcome": "domain.briefing",
    "SessionSummary": "domain.learning",
    "Settings": "settings",
    "Signal": "domain.signal",
    "SignalAggregate": "domain.signal",
    "SimilarityCluster": "domain.consolidation",
    "Stats": "domain.answers",
    "Step": "domain.trajectory",
    "StoreError": "errors",
    "Strategy": "domain.experience",
    "Task": "domain.scaling",
    "Trace": "domain.experience",
    "Trajectory": "domain.trajectory",
    "TrajectoryNotFound": "errors",
    "WorkReport": "jobs",
    "compute_confidence": "domain.signal",
    "cosine_similarity": "engine.similarity",
}

__all__ = [
    "DEFAULT_SEARCH_LIMIT",
    "DISTILLED_CONFIDENCE",
    "EXPLICIT_RECORD_CONFIDENCE",
    "MIN_CONFIDENCE",
    "AsyncBank",
    "Bank",
    "BankError",
    "Belief",
    "Brief",
    "CaptureReport",
    "Captured",
    "ConsolidationOptions",
    "ConsolidationResult",
    "ConsolidationScheduler",
    "DistilReport",
    "Event",
    "Evidence",
    "ExperienceAnswer",
    "Filter",
    "Health",
    "Hit",
    "ImportReport",
    "InvalidInput",
    "Item",
    "Judgement",
    "Leg",
    "Memory",
    "MemoryNotFound",
    "MissingTenantError",
    "ModelError",
    "Origin",
    "OutcomeReport",
    "PolicyError",
    "ProjectWeights",
    "Rating",
    "Reasoning",
    "Recall",
    "Refusal",
    "RelevantStrategy",
    "Rollout",
    "Scaled",
    "Scope",
    "SessionOutcome",
    "SessionSummary",
    "Settings",
    "Signal",
    "SignalAggregate",
    "SimilarityCluster",
    "Stats",
    "Step",
    "StoreError",
    "Strategy",
    "Task",
    "Trace",
    "Trajectory",
    "TrajectoryNotFound",
    "WorkReport",
    "__version__",
    "compute_confidence",
    "cosine_similarity",
]


def __getattr__(name: str) -> object:
    place = _PLACES.get(name)
    if place is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(importlib.import_module(f"{__name__}.{place}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
