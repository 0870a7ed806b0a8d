"""Public parts for tests of code that uses ReasoningBank: stand-ins that behave the same, and the suite for stores."""

from reasoningbank.llm.paid import no_paid_calls
from reasoningbank.llm.scripted import ScriptedModel
from reasoningbank.testing.conformance import StoreConformance
from reasoningbank.testing.doubles import FrozenClock, HashingEmbedder
from reasoningbank.testing.replay import Asked, ReplayServer, Reply, completion

__all__ = [
    "Asked",
    "FrozenClock",
    "HashingEmbedder",
    "ReplayServer",
    "Reply",
    "ScriptedModel",
    "StoreConformance",
    "completion",
    "no_paid_calls",
]
