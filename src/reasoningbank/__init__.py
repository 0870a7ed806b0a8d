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
    from reasoningbank.domain.conversation import Conversation, ConversationReport
    from reasoningbank.domain.experience import ExperienceAnswer, Reasoning, RelevantStrategy, Strategy, Trace
    from reasoningbank.domain.graph import Edge, Node, weight_band
    from reasoningbank.domain.graph_search import GraphAnswer, GraphFilter, GraphImport
    from reasoningbank.domain.learning import (
        Captured,
        CaptureReport,
        DistilReport,
        Item,
        Origin,
        Refusal,
        SessionSummary,
    )
    from reasoningbank.domain.lesson import Lesson, LessonAnswer
    from reasoningbank.domain.lifecycle import (
        DecayReport,
        DecayRules,
        PruneReport,
        PruneRules,
        StabilityCheck,
        StabilityReport,
    )
    from reasoningbank.domain.memory import Memory
    from reasoningbank.domain.question import QuestionAnswer, QuestionPlan
    from reasoningbank.domain.recall import Filter, Hit, Leg, Recall
    from reasoningbank.domain.reminders import Action, Occurrence, Preference, Source
    from reasoningbank.domain.scaling import Rollout, Scaled, Task
    from reasoningbank.domain.scope import Membership, Scope
    from reasoningbank.domain.sharing import GeneralText, Promotion, PromotionCandidate, Reference, ShareReport
    from reasoningbank.domain.signal import ProjectWeights, Signal, SignalAggregate, compute_confidence
    from reasoningbank.domain.trajectory import Evidence, Judgement, Step, Trajectory
    from reasoningbank.domain.uplift import UpliftReport
    from reasoningbank.domain.walk import GraphContext, WalkParameters, WalkPath, WalkResult
    from reasoningbank.domain.workflow import Workflow
    from reasoningbank.engine.graph.context import to_llm_context
    from reasoningbank.engine.graph.cypher_query import to_cypher
    from reasoningbank.engine.graph.drawing import to_d3, to_mermaid
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
    from reasoningbank.evaluating import ConfidenceEvaluator
    from reasoningbank.jobs import WorkReport
    from reasoningbank.scheduling import ConsolidationScheduler
    from reasoningbank.settings import Settings

__version__ = "0.1.0"

_PLACES = {
    "Action": "domain.reminders",
    "AsyncBank": "async_bank",
    "Bank": "bank",
    "BankError": "errors",
    "Belief": "domain.belief",
    "Brief": "domain.briefing",
    "CaptureReport": "domain.learning",
    "Captured": "domain.learning",
    "ConfidenceEvaluator": "evaluating",
    "ConsolidationOptions": "domain.consolidation",
    "ConsolidationResult": "domain.consolidation",
    "ConsolidationScheduler": "scheduling",
    "Conversation": "domain.conversation",
    "ConversationReport": "domain.conversation",
    "DEFAULT_SEARCH_LIMIT": "bank",
    "DISTILLED_CONFIDENCE": "domain.belief",
    "DecayReport": "domain.lifecycle",
    "DecayRules": "domain.lifecycle",
    "DistilReport": "domain.learning",
    "EXPLICIT_RECORD_CONFIDENCE": "domain.belief",
    "Edge": "domain.graph",
    "Event": "domain.answers",
    "Evidence": "domain.trajectory",
    "ExperienceAnswer": "domain.experience",
    "Filter": "domain.recall",
    "GeneralText": "domain.sharing",
    "GraphAnswer": "domain.graph_search",
    "GraphContext": "domain.walk",
    "GraphFilter": "domain.graph_search",
    "GraphImport": "domain.graph_search",
    "Health": "domain.answers",
    "Hit": "domain.recall",
    "ImportReport": "domain.answers",
    "InvalidInput": "errors",
    "Item": "domain.learning",
    "Judgement": "domain.trajectory",
    "Leg": "domain.recall",
    "Lesson": "domain.lesson",
    "LessonAnswer": "domain.lesson",
    "MIN_CONFIDENCE": "domain.belief",
    "Membership": "domain.scope",
    "Memory": "domain.memory",
    "MemoryNotFound": "errors",
    "MissingTenantError": "errors",
    "ModelError": "errors",
    "Node": "domain.graph",
    "Occurrence": "domain.reminders",
    "Origin": "domain.learning",
    "OutcomeReport": "domain.answers",
    "PolicyError": "errors",
    "Preference": "domain.reminders",
    "ProjectWeights": "domain.signal",
    "Promotion": "domain.sharing",
    "PromotionCandidate": "domain.sharing",
    "PruneReport": "domain.lifecycle",
    "PruneRules": "domain.lifecycle",
    "QuestionAnswer": "domain.question",
    "QuestionPlan": "domain.question",
    "Rating": "domain.answers",
    "Reasoning": "domain.experience",
    "Recall": "domain.recall",
    "Reference": "domain.sharing",
    "Refusal": "domain.learning",
    "RelevantStrategy": "domain.experience",
    "Rollout": "domain.scaling",
    "Scaled": "domain.scaling",
    "Scope": "domain.scope",
    "SessionOutcome": "domain.briefing",
    "SessionSummary": "domain.learning",
    "Settings": "settings",
    "ShareReport": "domain.sharing",
    "Signal": "domain.signal",
    "SignalAggregate": "domain.signal",
    "SimilarityCluster": "domain.consolidation",
    "Source": "domain.reminders",
    "StabilityCheck": "domain.lifecycle",
    "StabilityReport": "domain.lifecycle",
    "Stats": "domain.answers",
    "Step": "domain.trajectory",
    "StoreError": "errors",
    "Strategy": "domain.experience",
    "Task": "domain.scaling",
    "Trace": "domain.experience",
    "Trajectory": "domain.trajectory",
    "TrajectoryNotFound": "errors",
    "UpliftReport": "domain.uplift",
    "WalkParameters": "domain.walk",
    "WalkPath": "domain.walk",
    "WalkResult": "domain.walk",
    "WorkReport": "jobs",
    "Workflow": "domain.workflow",
    "compute_confidence": "domain.signal",
    "cosine_similarity": "engine.similarity",
    "to_cypher": "engine.graph.cypher_query",
    "to_d3": "engine.graph.drawing",
    "to_llm_context": "engine.graph.context",
    "to_mermaid": "engine.graph.drawing",
    "weight_band": "domain.graph",
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
    "ConfidenceEvaluator",
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
