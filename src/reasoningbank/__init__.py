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
    from reasoningbank.domain.memory import Memory
    from reasoningbank.domain.recall import Filter, Hit, Leg, Recall
    from reasoningbank.domain.scope import Scope
    from reasoningbank.domain.signal import ProjectWeights, Signal, SignalAggregate, compute_confidence
    from reasoningbank.domain.trajectory import Evidence, Step, Trajectory
    from reasoningbank.engine.similarity import cosine_similarity
    from reasoningbank.errors import (
        BankError,
        InvalidInput,
        MemoryNotFound,
        MissingTenantError,
        ModelError,
        PolicyError,
        StoreError,
    )
    from reasoningbank.settings import Settings

__version__ = "0.1.0"

_PLACES = {
    "AsyncBank": "async_bank",
    "Bank": "bank",
    "BankError": "errors",
    "Belief": "domain.belief",
    "DEFAULT_SEARCH_LIMIT": "bank",
    "DISTILLED_CONFIDENCE": "domain.belief",
    "EXPLICIT_RECORD_CONFIDENCE": "domain.belief",
    "Event": "domain.answers",
    "Evidence": "domain.trajectory",
    "Filter": "domain.recall",
    "Health": "domain.answers",
    "Hit": "domain.recall",
    "ImportReport": "domain.answers",
    "InvalidInput": "errors",
    "Leg": "domain.recall",
    "MIN_CONFIDENCE": "domain.belief",
    "Memory": "domain.memory",
    "MemoryNotFound": "errors",
    "MissingTenantError": "errors",
    "ModelError": "errors",
    "OutcomeReport": "domain.answers",
    "PolicyError": "errors",
    "ProjectWeights": "domain.signal",
    "Rating": "domain.answers",
    "Recall": "domain.recall",
    "Scope": "domain.scope",
    "Settings": "settings",
    "Signal": "domain.signal",
    "SignalAggregate": "domain.signal",
    "Stats": "domain.answers",
    "Step": "domain.trajectory",
    "StoreError": "errors",
    "Trajectory": "domain.trajectory",
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
    "Event",
    "Evidence",
    "Filter",
    "Health",
    "Hit",
    "ImportReport",
    "InvalidInput",
    "Leg",
    "Memory",
    "MemoryNotFound",
    "MissingTenantError",
    "ModelError",
    "OutcomeReport",
    "PolicyError",
    "ProjectWeights",
    "Rating",
    "Recall",
    "Scope",
    "Settings",
    "Signal",
    "SignalAggregate",
    "Stats",
    "Step",
    "StoreError",
    "Trajectory",
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
