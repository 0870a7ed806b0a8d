"""Public parts for tests of code that uses ReasoningBank: stand-ins that behave the same at every run."""

from reasoningbank.testing.doubles import FrozenClock, HashingEmbedder

__all__ = ["FrozenClock", "HashingEmbedder"]
