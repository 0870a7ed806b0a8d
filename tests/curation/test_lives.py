"""Any life of a memory: what decay does to it holds whatever else happens to it."""

from __future__ import annotations

import tempfile
from datetime import timedelta
from pathlib import Path

from hypothesis import given
from hypothesis import settings as run_settings
from hypothesis import strategies as st

from curation.aged_banks import DAY, EXACT, MONTH, made, told
from promises import promise
from reasoningbank.testing import FrozenClock

WAYS = ("helpful", "unhelpful", "worked", "failed", "stood", "reverted", "edit", "roll up", "reopen", "prune")


@promise("lifecycle:stopped")
@promise("lifecycle:replay")
@promise("lifecycle:step")
@promise("lifecycle:months")
@run_settings(max_examples=40)
@given(
    confidence=st.sampled_from([0.0, 0.2, 0.6, 0.8, 1.0]),
    life=st.lists(st.tuples(st.integers(0, 100), st.sampled_from(WAYS)), max_size=12),
)
def test_decay_never_raises_never_passes_the_floor_and_never_touches_an_active_month(
    confidence: float, life: list[tuple[int, str]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        clock, url = FrozenClock(), f"memory://{Path(folder).name}"
        bank = made(Path(folder), clock, url=url)
        memory = told(bank, confidence=confidence)
        active, months = [clock.now()], 0
        for number, (days, way) in enumerate(life):
            clock.advance(days * DAY)
            before = bank.get(memory.id)
            bank.curation.decay()
            after = bank.get(memory.id)
            floor = max(confidence / 2, 0.01)
            assert min(before.confidence, floor) - EXACT <= after.confidence <= before.confidence
            assert bank.curation.decay().decayed == ()
            if way in {"helpful", "unhelpful"}:
                bank.feedback(memory.id, helpful=way == "helpful")
            elif way in {"worked", "failed"}:
                bank.outcome(memory.id, succeeded=way == "worked", session=str(number))
            elif way in {"stood", "reverted"}:
                bank.curation.report_stability(memory.id, reverted=way == "reverted", commit=f"{number:07x}")
            elif way == "edit":
                bank.update(memory.id, description=f"When {number}.")
            elif way == "roll up":
                bank.admin.roll_up()
            elif way == "reopen":
                bank = made(Path(folder), clock, url=url)
            elif bank.curation.prune().pruned:
                assert clock.now() - active[-1] >= 90 * DAY
                assert after.confidence < 0.3
                bank.update(memory.id, state="active")
                active.append(clock.now())
            if way not in {"roll up", "reopen", "prune"}:
                active.append(clock.now())
            assert bank.admin.check().problems == ()
        for signal in bank._context.store().evidence.signals(memory.id):
            if signal.type == "disuse":
                months += 1
                last = max(moment for moment in active if moment < signal.at)
                assert (signal.at - last) % MONTH == timedelta(0)
                assert signal.at <= clock.now()
        assert months <= (clock.now() - active[0]) // MONTH
