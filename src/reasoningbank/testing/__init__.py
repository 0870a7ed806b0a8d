"""Public parts for tests of code that uses ReasoningBank: stand-ins that behave the same, and the suite for stores."""

from reasoningbank.testing.conformance import StoreConformance
from reasoningbank.testing.doubles import FrozenClock, HashingEmbedder

__all__ = ["FrozenClock", "HashingEmbedder", "StoreConformance"]
