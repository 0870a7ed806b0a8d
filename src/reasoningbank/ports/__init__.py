"""The whole seam on one screen: what an adapter must do, and nothing else.

A ``Storage`` is a place with many banks; a ``Store`` is everything inside ONE scope, so that no query can reach into
another. Reads go straight to the store; everything that belongs together is written inside one ``Transaction``.
"""

from __future__ import annotations

from reasoningbank.ports.graph import GraphReader, GraphReads, GraphSearch, GraphText, GraphWrites, Pointer
from reasoningbank.ports.models import Clock, Completion, Embedder, LanguageModel, Prompt, Vector
from reasoningbank.ports.records import (
    Candidates,
    ClosePairs,
    Idle,
    Indexed,
    Job,
    LexicalMatches,
    LexicalTerm,
    Link,
    Pool,
    RecallEntry,
    RecallLog,
    Scored,
    StoreReport,
    TrajectoryEntry,
    WeightChange,
    WordsWorth,
)
from reasoningbank.ports.stores import Storage, Store, StoreReader, Transaction

__all__ = [
    "Candidates",
    "Clock",
    "ClosePairs",
    "Completion",
    "Embedder",
    "GraphReader",
    "GraphReads",
    "GraphSearch",
    "GraphText",
    "GraphWrites",
    "Idle",
    "Indexed",
    "Job",
    "LanguageModel",
    "LexicalMatches",
    "LexicalTerm",
    "Link",
    "Pointer",
    "Pool",
    "Prompt",
    "RecallEntry",
    "RecallLog",
    "Scored",
    "Storage",
    "Store",
    "StoreReader",
    "StoreReport",
    "TrajectoryEntry",
    "Transaction",
    "Vector",
    "WeightChange",
    "WordsWorth",
]
