"""The gate: what a text says once its disguise is taken off, and whether that is an order instead of a lesson (D10)."""

from reasoningbank.engine.gate.danger import find_danger
from reasoningbank.engine.gate.holding import HELD, held, set_held, why_held

__all__ = ["HELD", "find_danger", "held", "set_held", "why_held"]
