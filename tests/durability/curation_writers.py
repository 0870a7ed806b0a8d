"""Writers that curate a bank, and get killed: what each does, and what must hold then."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

from durability.writers import Report, Seen, Writer, by_name, check_sound, opened, step
from reasoningbank.bank import Bank
from reasoningbank.curation import lifecycle
from reasoningbank.testing import FrozenClock
from reasoningbank.types.consolidation import ConsolidationOptions
from recorded_memories import exported, said

FORCED = ConsolidationOptions(force_all=True, similarity_threshold=0.7)
GROUPS = 6
IDLE = 120
MONTHS = 6
MONTH = timedelta(days=31)
STEP = 0.05
"""What a month without use costs."""


# Consolidation, and its undoing


def _fill_to_merge(home: Path) -> None:
    with opened(home) as bank:
        for group in range(GROUPS):
            for number in range(3):
                said(bank, f"group {group} has the words w{group}a w{group}b w{group}c w{group}d and {number}")
        bank.feedback(bank.memories.list()[0].id, helpful=True)
        (home / "before.jsonl").write_bytes(exported(bank, home))


def _merge(home: Path, report: Report) -> None:
    with opened(home) as bank:
        report("ready")
        while True:
            with step(report, "merge"):
                made = bank.curation.consolidate(FORCED).created_memories
            with step(report, "undo"):
                for name in made:
                    bank.curation.undo(name)


def _check_merged(home: Path, seen: Seen) -> None:
    with opened(home) as bank:
        check_sound(bank)
        recallable = bank.memories.list(states=("active",), limit=0)
        made = [memory for memory in recallable if "consolidation" in memory.provenance]
        archived = bank.memories.list(states=("archived",), limit=0)
        assert {memory.consolidation_id for memory in archived} == {memory.id for memory in made}
        assert len(archived) == 3 * len(made)
        assert len(recallable) == 3 * GROUPS - 2 * len(made)
        if seen.pending is None:
            assert len(made) == (GROUPS if seen.done[-1:] == ["merge"] else 0), seen
        for memory in made:
            bank.curation.undo(memory.id)
        assert exported(bank, home) == (home / "before.jsonl").read_bytes()
        assert len(bank.curation.consolidate(FORCED).created_memories) == GROUPS
        check_sound(bank)


# Decay of what is not used


def _fill_to_decay(home: Path) -> None:
    for place in (home, home / "calm"):
        clock = FrozenClock()
        with opened(place, clock=clock) as bank:
            for number in range(IDLE):
                bank.record(title=f"Lesson {number}", content=f"Content {number}.", outcome="success", source="mcp")
    clock.advance(MONTHS * MONTH)
    with opened(home / "calm", clock=clock) as bank:
        bank.curation.decay()
        (home / "decayed.json").write_text(json.dumps(_decayed(bank)), encoding="utf-8")


def _decayed(bank: Bank) -> dict[str, list[float]]:
    """Confidence and number of months noticed of every memory, by its name."""
    signals = bank._context.store().evidence.signals
    found = by_name(bank.memories.list(limit=0))
    return {name: [memory.confidence, len(signals(memory.id))] for name, memory in found.items()}


def _decay(home: Path, report: Report) -> None:
    # Small pages, so that a run has many transactions to be killed between.
    lifecycle.PAGE = 8
    clock = FrozenClock()
    with opened(home, clock=clock) as bank:
        report("ready")
        for month in range(MONTHS):
            clock.advance(MONTH)
            with step(report, str(month)):
                bank.curation.decay()


def _check_decayed(home: Path, seen: Seen) -> None:
    clock = FrozenClock()
    clock.advance(MONTHS * MONTH)
    with opened(home, clock=clock) as bank:
        check_sound(bank)
        months = {round((0.8 - confidence) / STEP, 6) for confidence, _ in _decayed(bank).values()}
        assert months <= {len(seen.done), len(seen.maybe)}, f"{months}, {seen}"
        bank.curation.decay()
        assert _decayed(bank) == json.loads((home / "decayed.json").read_text(encoding="utf-8"))
        check_sound(bank)


CURATION_WRITERS = (
    Writer(name="consolidation and undo", prepare=_fill_to_merge, write=_merge, check=_check_merged, steps=2),
    Writer(name="decay", prepare=_fill_to_decay, write=_decay, check=_check_decayed),
)
