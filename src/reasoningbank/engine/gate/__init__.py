"""The gate: what a text says once its disguise is taken off, and whether that is an order instead of a lesson (D10)."""

from reasoningbank.engine.gate.danger import find_danger
from reasoningbank.engine.gate.holding import AGENT_SOURCES, HELD, held, set_held, why_held
from reasoningbank.engine.gate.verdicts import document_danger, graph_danger, memory_danger, texts_of, verdict

__all__ = [
    "AGENT_SOURCES",
    "HELD",
    "document_danger",
    "find_danger",
    "graph_danger",
    "held",
    "memory_danger",
    "set_held",
    "texts_of",
    "verdict",
    "why_held",
]
