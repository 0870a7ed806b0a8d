"""ReasoningBank: memory for agents, with a confidence that evidence has earned.

The public API. Names are imported when they are first used, so that ``import reasoningbank`` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reasoningbank.aio import AsyncBank
    from reasoningbank.bank import Bank
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
    from reasoningbank.graph.render import to_cypher, to_d3, to_llm_context, to_mermaid
    from reasoningbank.jobs.schedule import ConsolidationScheduler
    from reasoningbank.jobs.worker import WorkReport
    from reasoningbank.memories.similarity import cosine_similarity
    from reasoningbank.search.query import DEFAULT_SEARCH_LIMIT
    from reasoningbank.settings import Settings
    from reasoningbank.types.belief import DISTILLED_CONFIDENCE, EXPLICIT_RECORD_CONFIDENCE, MIN_CONFIDENCE, Belief
    from reasoningbank.types.consolidation import ConsolidationOptions, ConsolidationResult, SimilarityCluster
    from reasoningbank.types.conversation import (
        Conversation,
        ConversationReport,
        QuestionAnswer,
        QuestionPlan,
        Workflow,
    )
    from reasoningbank.types.experience import ExperienceAnswer, Reasoning, RelevantStrategy, Strategy, Trace
    from reasoningbank.types.graph import Edge, Node, weight_band
    from reasoningbank.types.graph_search import (
        Action,
        GraphAnswer,
        GraphFilter,
        GraphImport,
        Lesson,
        LessonAnswer,
        LessonWeights,
        Occurrence,
        Preference,
        Source,
    )
    from reasoningbank.types.lifecycle import (
        DecayReport,
        DecayRules,
        PruneReport,
        PruneRules,
        StabilityCheck,
        StabilityReport,
    )
    from reasoningbank.types.matts import Rollout, Scaled, Task
    from reasoningbank.types.memory import Event, Health, ImportReport, Memory, OutcomeReport, Rating, Stats
    from reasoningbank.types.promotion import GeneralText, Promotion, PromotionCandidate, Reference, ShareReport
    from reasoningbank.types.recall import Brief, Filter, Hit, Leg, Recall, SessionCredit, SessionOutcome
    from reasoningbank.types.scope import Membership, Scope
    from reasoningbank.types.session import (
        Captured,
        CaptureReport,
        DistilReport,
        Evidence,
        Item,
        Judgement,
        Origin,
        Refusal,
        SessionSummary,
        Step,
        Trajectory,
    )
    from reasoningbank.types.signal import ProjectWeights, Signal, SignalAggregate, compute_confidence
    from reasoningbank.types.uplift import UpliftReport
    from reasoningbank.types.walk import GraphContext, WalkParameters, WalkPath, WalkResult

__version__ = "0.1.0"

_PLACES = {
    "Action": "types.graph_search",
    "AsyncBank": "aio",
    "Bank": "bank",
    "BankError": "errors",
    "Belief": "types.belief",
    "Brief": "types.recall",
    "CaptureReport": "types.session",
    "Captured": "types.session",
    "ConsolidationOptions": "types.consolidation",
    "ConsolidationResult": "types.consolidation",
    "ConsolidationScheduler": "jobs.schedule",
    "Conversation": "types.conversation",
    "ConversationReport": "types.conversation",
    "DEFAULT_SEARCH_LIMIT": "search.query",
    "DISTILLED_CONFIDENCE": "types.belief",
    "DecayReport": "types.lifecycle",
    "DecayRules": "types.lifecycle",
    "DistilReport": "types.session",
    "EXPLICIT_RECORD_CONFIDENCE": "types.belief",
    "Edge": "types.graph",
    "Event": "types.memory",
    "Evidence": "types.session",
    "ExperienceAnswer": "types.experience",
    "Filter": "types.recall",
    "GeneralText": "types.promotion",
    "GraphAnswer": "types.graph_search",
    "GraphContext": "types.walk",
    "GraphFilter": "types.graph_search",
    "GraphImport": "types.graph_search",
    "Health": "types.memory",
    "Hit": "types.recall",
    "ImportReport": "types.memory",
    "InvalidInput": "errors",
    "Item": "types.session",
    "Judgement": "types.session",
    "Leg": "types.recall",
    "Lesson": "types.graph_search",
    "LessonAnswer": "types.graph_search",
    "LessonWeights": "types.graph_search",
    "MIN_CONFIDENCE": "types.belief",
    "Membership": "types.scope",
    "Memory": "types.memory",
    "MemoryNotFound": "errors",
    "MissingTenantError": "errors",
    "ModelError": "errors",
    "Node": "types.graph",
    "Occurrence": "types.graph_search",
    "Origin": "types.session",
    "OutcomeReport": "types.memory",
    "PolicyError": "errors",
    "Preference": "types.graph_search",
    "ProjectWeights": "types.signal",
    "Promotion": "types.promotion",
    "PromotionCandidate": "types.promotion",
    "PruneReport": "types.lifecycle",
    "PruneRules": "types.lifecycle",
    "QuestionAnswer": "types.conversation",
    "QuestionPlan": "types.conversation",
    "Rating": "types.memory",
    "Reasoning": "types.experience",
    "Recall": "types.recall",
    "Reference": "types.promotion",
    "Refusal": "types.session",
    "RelevantStrategy": "types.experience",
    "Rollout": "types.matts",
    "Scaled": "types.matts",
    "Scope": "types.scope",
    "SessionCredit": "types.recall",
    "SessionOutcome": "types.recall",
    "SessionSummary": "types.session",
    "Settings": "settings",
    "ShareReport": "types.promotion",
    "Signal": "types.signal",
    "SignalAggregate": "types.signal",
    "SimilarityCluster": "types.consolidation",
    "Source": "types.graph_search",
    "StabilityCheck": "types.lifecycle",
    "StabilityReport": "types.lifecycle",
    "Stats": "types.memory",
    "Step": "types.session",
    "StoreError": "errors",
    "Strategy": "types.experience",
    "Task": "types.matts",
    "Trace": "types.experience",
    "Trajectory": "types.session",
    "TrajectoryNotFound": "errors",
    "UpliftReport": "types.uplift",
    "WalkParameters": "types.walk",
    "WalkPath": "types.walk",
    "WalkResult": "types.walk",
    "WorkReport": "jobs.worker",
    "Workflow": "types.conversation",
    "compute_confidence": "types.signal",
    "cosine_similarity": "memories.similarity",
    "to_cypher": "graph.render",
    "to_d3": "graph.render",
    "to_llm_context": "graph.render",
    "to_mermaid": "graph.render",
    "weight_band": "types.graph",
}

__all__ = [
    "DEFAULT_SEARCH_LIMIT",
    "DISTILLED_CONFIDENCE",
    "EXPLICIT_RECORD_CONFIDENCE",
    "MIN_CONFIDENCE",
    "Action",
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
    "Conversation",
    "ConversationReport",
    "DecayReport",
    "DecayRules",
    "DistilReport",
    "Edge",
    "Event",
    "Evidence",
    "ExperienceAnswer",
    "Filter",
    "GeneralText",
    "GraphAnswer",
    "GraphContext",
    "GraphFilter",
    "GraphImport",
    "Health",
    "Hit",
    "ImportReport",
    "InvalidInput",
    "Item",
    "Judgement",
    "Leg",
    "Lesson",
    "LessonAnswer",
    "LessonWeights",
    "Membership",
    "Memory",
    "MemoryNotFound",
    "MissingTenantError",
    "ModelError",
    "Node",
    "Occurrence",
    "Origin",
    "OutcomeReport",
    "PolicyError",
    "Preference",
    "ProjectWeights",
    "Promotion",
    "PromotionCandidate",
    "PruneReport",
    "PruneRules",
    "QuestionAnswer",
    "QuestionPlan",
    "Rating",
    "Reasoning",
    "Recall",
    "Reference",
    "Refusal",
    "RelevantStrategy",
    "Rollout",
    "Scaled",
    "Scope",
    "SessionCredit",
    "SessionOutcome",
    "SessionSummary",
    "Settings",
    "ShareReport",
    "Signal",
    "SignalAggregate",
    "SimilarityCluster",
    "Source",
    "StabilityCheck",
    "StabilityReport",
    "Stats",
    "Step",
    "StoreError",
    "Strategy",
    "Task",
    "Trace",
    "Trajectory",
    "TrajectoryNotFound",
    "UpliftReport",
    "WalkParameters",
    "WalkPath",
    "WalkResult",
    "WorkReport",
    "Workflow",
    "__version__",
    "compute_confidence",
    "cosine_similarity",
    "to_cypher",
    "to_d3",
    "to_llm_context",
    "to_mermaid",
    "weight_band",
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
