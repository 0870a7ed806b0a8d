"""Public parts for tests of code that uses ReasoningBank: stand-ins that behave the same at every run."""

from reasoningbank.llm.provider import no_paid_calls
from reasoningbank.llm.scripted import ScriptedModel
from reasoningbank.testing.doubles import FrozenClock, HashingEmbedder
from reasoningbank.testing.replay import Asked, ReplayServer, Reply, completion

__all__ = [
    "Asked",
    "FrozenClock",
    "HashingEmbedder",
    "ReplayServer",
    "Reply",
    "ScriptedModel",
    "completion",
    "no_paid_calls",
]
