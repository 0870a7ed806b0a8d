"""Sessions: what each agent did, how it was judged and why, what it taught, and what was refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from reasoningbank.errors import InvalidInput, MemoryNotFound
from reasoningbank.operations.composed import captured_session
from reasoningbank.types.session import PROGRESS, VERDICTS
from reasoningbank.web.dashboard.pages import Done

if TYPE_CHECKING:
    from reasoningbank.bank import Bank
    from reasoningbank.types.memory import Memory
    from reasoningbank.web.dashboard.pages import PageRequest, PageValues

PAGE = 50
_MOST_STEPS = 200
"""Steps of a session on one page."""
_REFUSALS = 100


def listed(bank: Bank, asked: PageRequest) -> PageValues:
    """Read where each session stands."""
    state = next((known for known in PROGRESS if known == asked.text("state")), None)
    found = bank.sessions.states(state=state, limit=0)
    pages = max(1, -(-len(found) // PAGE))
    number = min(asked.whole("page", 1, most=10**6, least=1), pages)
    return {
        "sessions": found[(number - 1) * PAGE : number * PAGE],
        "count": len(found),
        "state": state or "",
        "states": PROGRESS,
        "number": number,
        "pages": pages,
    }


def one(bank: Bank, asked: PageRequest) -> PageValues:
    """Read a session with its steps, its judgements, and what it was shown, taught and refused."""
    found = captured_session(bank, asked.path["id"])
    steps = list(enumerate(found.trajectory.steps))
    pages = max(1, -(-len(steps) // _MOST_STEPS))
    number = min(asked.whole("page", 1, most=10**6, least=1), pages)
    evidence: dict[int, list[object]] = {}
    for fact in found.trajectory.evidence:
        if fact.step is not None:
            evidence.setdefault(fact.step, []).append(fact)
    return {
        "session": found.trajectory,
        "judgements": list(reversed(found.judgements)),
        "steps": steps[(number - 1) * _MOST_STEPS : number * _MOST_STEPS],
        "evidence": evidence,
        "taught": _existing(bank, [origin.memory_id for origin in bank.sessions.taught(found.trajectory.id)]),
        "shown": _existing(bank, found.trajectory.memories),
        "refusals": bank.distillation.refusals(trajectory=found.trajectory.id),
        "verdicts": list(VERDICTS),
        "number": number,
        "pages": pages,
    }


def refusals(bank: Bank, _: PageRequest) -> PageValues:
    """Read the lessons that were not stored, and why."""
    return {"refusals": bank.distillation.refusals(limit=_REFUSALS)}


def verdict(bank: Bank, asked: PageRequest) -> Done:
    """Say how a session ended; a person's word stands above all evidence."""
    wanted = next((known for known in VERDICTS if known == asked.text("verdict")), None)
    if wanted is None:
        raise InvalidInput(f"a session ended as {', '.join(VERDICTS)}", hint="Choose one of them.")
    bank.sessions.verdict(asked.path["id"], wanted, note=asked.text("note"))
    said = f"Your verdict counts: {wanted}."
    if wanted == "unknown":
        said = "Noted: nobody knows how it ended. It speaks neither for nor against what the session was shown."
    return Done(to=f"sessions/{asked.path['id']}", said=said)


def _existing(bank: Bank, names: Sequence[str]) -> list[Memory]:
    """Return those of these memories that still exist."""
    found = []
    for name in names:
        try:
            found.append(bank.get(name))
        except MemoryNotFound:
            continue
    return found
