"""How what a source recorded turned out, and what that weighs among claims."""

from __future__ import annotations

import pytest

from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.memories import source_trust
from reasoningbank.memories.source_trust import MOST, factor_of
from reasoningbank.memories.standing import speaking
from reasoningbank.types.memory import Memory

QUESTION = "retry the payment call"
LONG = "Wait with a delay that grows before the payment call is tried again, at most five times, and note each attempt"
SURFACES = ("mcp", "rest")
OTHERS = ("Prune figs", "Water the fern", "Sharpen a chisel", "Tune the fiddle", "Bake rye bread", "Fold the map")


def claim(bank: Bank, surface: str, title: str, content: str = "") -> Memory:
    """What a client of a surface records."""
    with speaking(f"client of {surface}"):
        return bank.record(title=title, content=content or title, outcome="success", source=surface, session=surface)


def tried(bank: Bank, memory: Memory, *, succeeded: bool, times: int = 4) -> None:
    """Tasks that used a memory end."""
    for number in range(times):
        bank.outcome(memory.id, succeeded=succeeded, session=f"{memory.id} {number}")


def found(bank: Bank) -> list[tuple[str, float, float]]:
    """Id, confidence and relevance of what a search finds."""
    return [(hit.id, hit.confidence, hit.relevance) for hit in bank.search(QUESTION, session="asked").memories]


@promise(
    "trust:source",
    "Of claims that answer about as well those come first whose source's earlier records turned out well: by surface "
    "and speaker, few outcomes say little. No confidence changes, what a person stands by keeps its place, and with "
    "one source the order is what it was.",
    source="issue Trust 9; DESIGN D16",
)
@pytest.mark.parametrize("bad", SURFACES)
def test_claims_of_a_source_that_failed_come_later(local_bank: Bank, monkeypatch: pytest.MonkeyPatch, bad: str) -> None:
    monkeypatch.setattr(source_trust, "MOST", 1.5)  # two texts of different words never answer exactly as well
    for number, title in enumerate(OTHERS):
        surface = SURFACES[number % 2]
        tried(local_bank, claim(local_bank, surface, title), succeeded=surface != bad)
    answers = {
        surface: claim(local_bank, surface, QUESTION, f"{LONG} {word}.").id
        for surface, word in zip(SURFACES, ("alpha", "bravo"), strict=True)
    }
    own = local_bank.record(title=QUESTION, content="Ask for an identifier.", outcome="success").id
    before = found(local_bank)
    local_bank.admin.roll_up()
    after = found(local_bank)
    good = next(surface for surface in SURFACES if surface != bad)
    places = {name: place for place, (name, *_) in enumerate(after)}
    assert places[own] < places[answers[good]] < places[answers[bad]]
    assert sorted(before) == sorted(after)
    assert local_bank.admin.check().problems == ()


@promise("trust:source")
def test_with_one_source_the_order_is_what_it_was(local_bank: Bank) -> None:
    for title in OTHERS:
        tried(local_bank, claim(local_bank, "mcp", title), succeeded=False)
    for word in ("alpha", "bravo", "charlie"):
        claim(local_bank, "mcp", QUESTION, f"Wait {word} before it.")
    before = found(local_bank)
    local_bank.admin.roll_up()
    assert found(local_bank) == before


@promise("trust:source")
def test_few_outcomes_say_little_and_many_are_bounded() -> None:
    provenance = {"source": "mcp"}
    usual = {"all": (50, 50)}
    assert factor_of(provenance, {}) == factor_of(provenance, usual) == 1.0
    factors = [factor_of(provenance, {**usual, "surface mcp": (0, bad)}) for bad in (1, 2, 20, 1000)]
    assert factors == sorted(factors, reverse=True)
    assert 0.98 < factors[0] < 1.0
    assert 1.0 / MOST <= factors[-1] < 0.93
    assert 1.08 < factor_of(provenance, {**usual, "surface mcp": (1000, 0)}) <= MOST
