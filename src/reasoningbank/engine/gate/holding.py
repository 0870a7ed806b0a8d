"""What becomes of a memory whose text may be an attacker's: it is kept aside, or it has to prove itself."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from reasoningbank.domain.belief import DISTILLED_CONFIDENCE, Belief
from reasoningbank.domain.memory import Memory
from reasoningbank.engine.gate.addresses import find_address
from reasoningbank.engine.gate.verdicts import memory_danger, texts_of
from reasoningbank.engine.guarding.setting_aside import set_aside
from reasoningbank.ports import Transaction

HELD = "held"
"""The entry of a memory's provenance that says why it was kept aside when it came."""
DOUBTED = "doubted"
"""The entry of a memory's provenance that says why it began unproven though it was recorded."""
AGENT_SOURCES = frozenset({"mcp"})
"""Sources through which an agent records by itself, on the word of whatever it has read."""
ADVICE = (
    "Write down what was seen and what follows from it, not an order. A person who wants these words lets it go with "
    "`rbank release ID`."
)


def held(memory: Memory) -> Memory:
    """The memory as it may be stored.

    One whose text looks like a prompt injection is marked with the reason in its provenance; ``set_held`` puts it into
    quarantine, an archived one too: it can become active again without another look at its text. One that an agent has
    recorded and that names an address outside is a candidate that has to prove itself. Both begin at most at the
    confidence of what is distilled and keep their evidence; any other memory stays as it is.
    """
    if memory.state == "quarantined":
        return memory
    if reason := memory_danger(memory):
        return replace(_lowered(memory), provenance={**memory.provenance, HELD: reason})
    if HELD in memory.provenance:
        kept = {key: value for key, value in memory.provenance.items() if key != HELD}
        memory = replace(memory, provenance=kept)
    if memory.state == "archived":
        return memory
    if memory.provenance.get("source") in AGENT_SOURCES and (address := find_address(*texts_of(memory))):
        return replace(_lowered(memory), state="candidate", provenance={**memory.provenance, DOUBTED: address})
    return memory


def _lowered(memory: Memory) -> Memory:
    prior = min(memory.belief.prior, Belief.starting_at(DISTILLED_CONFIDENCE).prior)
    return replace(memory, belief=replace(memory.belief, prior=prior))


def set_held(transaction: Transaction, memory: Memory, *, at: datetime) -> Memory:
    """Puts a stored memory that ``held`` has marked into a quarantine of its own; returns it as it is then."""
    if memory.state == "quarantined" or HELD not in memory.provenance:
        return memory
    set_aside(transaction, [memory.id], reason=f"Its text {memory.provenance[HELD]}", at=at)
    return transaction.get(memory.id)


def why_held(memory: Memory) -> str:
    """What is told to whoever recorded a memory that was kept aside or doubted; empty for any other."""
    if memory.state == "quarantined" and (reason := memory.provenance.get(HELD, "")):
        return f"Kept aside, no search finds it: its text {reason}. {ADVICE}"
    if memory.state == "candidate" and (address := memory.provenance.get(DOUBTED, "")):
        return (
            f"Recorded as unproven with confidence {memory.confidence:.2f}, because it names {address!r}: it is proven "
            "once other sessions or a person confirm it."
        )
    return ""
